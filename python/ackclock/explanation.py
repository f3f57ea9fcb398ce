"""The explanation of a window change: the event, the packet and its path, the rule that dropped it, the queue."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Queue:
    """The packets of each flow at a link at one time, including the packet in transmission."""

    link: str
    time_s: float
    packets: dict[str, int]

    @property
    def total(self) -> int:
        """Packets of all flows."""
        return sum(self.packets.values())


@dataclass(frozen=True)
class Transmission:
    """The PPDU or the transport block at whose end the receiver released a packet.

    The packet arrived in this one or, if it was held for order, in an earlier one.
    """

    kind: str
    """ppdu, block."""
    begin_s: float
    packets: int
    """Its packets; of a block also parts of packets."""
    attempt: int
    """The number of its attempt, from 1; of a PPDU the highest one of its packets."""
    share: float
    """The part of the channel that it took while it lasted."""
    others: int
    """Transmissions of other links over the channel since the packet came to the link, before this one began."""
    earlier: int
    """Those of the same link."""
    words: str
    """The same in words."""


@dataclass(frozen=True)
class Step:
    """One event of a packet at a link."""

    time_s: float
    link: str
    event: str
    reason: str | None
    waited_s: float | None = None
    transmission: Transmission | None = None
    """Of a packet that left a Wi-Fi channel or a cell."""


@dataclass(frozen=True)
class Rule:
    """The rule of a queue or an impairment that dropped or marked a packet."""

    kind: str
    """full, longest_queue, red, codel, ce_threshold, pie, dualpi2, low_latency, policer, loss, blackout, scripted."""
    link: str
    time_s: float
    values: dict[str, float]
    """The values that decided, such as `average` and `probability` of RED; times end in `_s`."""
    words: str
    """One sentence."""


@dataclass(frozen=True)
class Prevention:
    """The action of a change (docs/what-if.md) that keeps the packet, or leaves it unmarked."""

    at_s: float
    """When the drop or the mark was decided."""
    action: str
    """keep_next or unmark_next."""
    link: str
    packet: int


@dataclass(frozen=True)
class Limit:
    """What limits a flow while its window does not change."""

    kind: str
    """handshake, complete, no_acks, recovery, application, receive_window, max_cwnd, pacing, window, other."""
    unchanged_s: float
    """Time since the last change of the window."""
    words: str
    """One sentence."""


@dataclass
class Explanation:
    """A change of a window and its cause. Windows are in segments, times in simulated seconds."""

    flow: str
    control: str
    time_s: float
    event: str
    phase: str
    cwnd: tuple[float, float]
    ssthresh: tuple[float | None, float | None]
    """None for infinite."""
    rtt_s: float | None
    in_flight: float
    acked: int
    cause: str
    """One sentence."""
    change: str | None = None
    """The cause of a reduction or its undo, as in the column `cause` of the window trace; None for growth."""
    packet: int | None = None
    """The packet that caused the change: the one acknowledged, lost, or marked."""
    packet_events: list[Step] = field(default_factory=list)
    """The events of that packet, of all its copies, up to the change."""
    rule: Rule | None = None
    """The rule that dropped or marked it."""
    queue: Queue | None = None
    """The queue that dropped or marked it."""
    prevention: Prevention | None = None
    """What takes the drop or the mark back; None for a growth, without one, or if it cannot be taken back."""
    limit: Limit | None = None
    """What limits the flow since, if the window has not changed for longer than a round trip."""
    lines: list[str] = field(default_factory=list)
    """All of it in words."""

    @classmethod
    def from_json(cls, text: str) -> Explanation:
        """Create an explanation from the core's JSON."""
        data: dict[str, Any] = json.loads(text)
        for key, kind in {"rule": Rule, "queue": Queue, "prevention": Prevention, "limit": Limit}.items():
            data[key] = None if data[key] is None else kind(**data[key])
        data["packet_events"] = [
            Step(**step | {"transmission": step["transmission"] and Transmission(**step["transmission"])})
            for step in data["packet_events"]
        ]
        data["cwnd"], data["ssthresh"] = tuple(data["cwnd"]), tuple(data["ssthresh"])
        return cls(**data)

    def sentences(self) -> Iterator[str]:
        """The explanation, line by line, from the change back to its cause."""
        yield from self.lines
