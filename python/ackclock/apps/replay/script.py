"""Plays scripts: writes and ACKs at given times."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from ackclock._core import ScriptedSender
from ackclock.apps.replay.form import Line, identity, scenario_text, tcp_options, whole
from ackclock.base.files import BadInput

SCALED_WINDOW = 1_000_000
"""The receiver's window, segments, where a recording does not give it."""
EARLY_US = 1500
"""How much earlier than ours a recorded timer may expire: our timers are exact, and its clock has an error."""


def slack_us(wait_us: float) -> float:
    """How much later than its time a kernel's timer of `wait_us` may expire (a timer wheel with 250 Hz)."""
    return 9_000 if wait_us < 252_000 else 44_000 if wait_us < 2_020_000 else 270_000


@dataclass
class Script:
    """A script being played."""

    line: Line
    guided: bool
    sender: ScriptedSender = field(init=False)
    mss: int = field(init=False)
    answers: list[Line] = field(default_factory=list)
    start: dict[str, Any] = field(default_factory=dict)
    shown: dict[str, Any] = field(default_factory=dict)
    high: int = 0
    stamps: list[tuple[int, int, float]] = field(default_factory=list)
    """For each transmission its first byte, its end and its time in milliseconds."""
    echo_ms: float = 0.0
    window: int | None = None

    def __post_init__(self) -> None:
        """Create the sender and complete the handshake."""
        options = self.line["options"]
        self.mss = options["mss"]
        self.sender = ScriptedSender(scenario_text(tcp_options(options)))
        self.sender.start(0.0)
        self.sender.transmitted()

    def play(self) -> Line:
        """Play the script. Returns its answers in the recorded form."""
        line, events = self.line, self.line["events"]
        kernel = [
            (answer["in"], answer["t"][0] if isinstance(answer["t"], list) else answer["t"])
            for answer in line.get("answers", [])
        ]
        if not any(event["do"] == "established" for event in events):
            self.handshake(line["options"]["handshake_us"])
        self.start = whole(self.sender.state())
        self.shown = dict(self.start)
        before = 0.0
        for index, event in enumerate(events):
            if not before <= event["t"] < math.inf:
                raise BadInput(f"{identity(line)}, event {index}: its time {event['t']} is before {before}")
            before = event["t"]
            stamps = self.kernel_timers(kernel, index)
            self.run_timers(event["t"], stamps)
            self.apply(index, event)
        last = max((at for _, at in kernel), default=0)
        end = line.get("end", max([last] + [event["t"] for event in events]))
        self.run_timers(end, self.kernel_timers(kernel, len(events)))
        return {"id": identity(line), "start": self.start, "answers": self.answers}

    @staticmethod
    def kernel_timers(kernel: list[tuple[int, float]], index: int) -> list[float]:
        """Times of the recorded timers between input `index - 1` and input `index`."""
        place, timers = -1, []
        for number, at in kernel:
            if number >= 0:
                place = number
            elif place == index - 1:
                timers.append(at)
        return timers

    def handshake(self, at_us: float) -> None:
        """Acknowledge the SYN."""
        # The window of a SYN is not scaled (RFC 7323), so the first ACK after it changes the window.
        active = any(event["do"] == "established" for event in self.line["events"])
        self.window = 65535 // self.mss if active else None
        self.sender.ack(at_us, 1, [], False, 0.0, self.window)

    def run_timers(self, until_us: float, recorded: list[float]) -> None:
        """Let timers expire before `until_us`: at their time, or, guided, at the recorded times."""
        recorded = list(recorded) if self.guided else []
        now = 0.0
        while (due := self.sender.timer_us()) is not None and due < until_us:
            silent = self.sender.state().get("timer_is_silent", False)
            at = due
            if self.guided and not silent:
                wait = due - max(now, self.answers[-1]["t"][0] if self.answers else 0.0)
                if recorded and due <= recorded[0] + EARLY_US:
                    at = max(recorded.pop(0), due) if due > recorded[0] else recorded.pop(0)
                elif not recorded and due + slack_us(wait) >= until_us:
                    return
            self.sender.fire(at)
            now = at
            self.answer(-1, at, only_if_sent=True)

    def apply(self, index: int, event: Line) -> None:
        """Play one input."""
        at, do = event["t"], event["do"]
        if do == "established":
            self.handshake(at)
        if do in ("write", "established"):
            self.sender.write(at, self.segments(event, event["bytes"]))
        elif do != "ack":
            raise BadInput(f"{identity(self.line)}, event {index}: unknown do {do!r}; known: write, ack, established")
        else:
            blocks = [(self.segments(event, a) + 1, self.segments(event, b) + 1) for a, b in event.get("sack", [])]
            window = event.get("win", self.line["options"].get("win"))
            if window is None and self.window is not None:
                window = SCALED_WINDOW
            elif window is not None:
                window = (window << self.line["options"].get("wscale", 10)) // self.mss
            ece = bool(event.get("ece"))
            self.sender.ack(at, self.segments(event, event["ack"]) + 1, blocks, ece, self.echo(event) * 1000.0, window)
        self.answer(index, at)

    def segments(self, event: Line, count: int) -> int:
        """A number of bytes as whole segments."""
        if count < 0 or count % self.mss:
            raise BadInput(
                f"{identity(self.line)}, event at {event['t']}: {count} bytes are not whole segments of {self.mss}"
            )
        return count // self.mss

    def echo(self, event: Line) -> float:
        """The timestamp echo of an ACK, milliseconds: as given, or that of the newest segment that it covers."""
        if "echo_ms" in event:
            return float(event["echo_ms"])
        if "of" in event:
            first, times = event["of"]
            self.echo_ms = [ms for start, _, ms in self.stamps if start == first][times]
        else:
            hits = [ms for _, end, ms in self.stamps if end == event["ack"]]
            self.echo_ms = hits[0] if hits else self.echo_ms
        return self.echo_ms

    def answer(self, index: int, at_us: float, *, only_if_sent: bool = False) -> None:
        """Record what the sender transmitted and what changed."""
        sent = []
        for _, segment, cwr in self.sender.transmitted():
            first = (segment - 1) * self.mss
            if segment == 0:
                continue
            sent.append([first, first + self.mss, ("r" if first < self.high else "") + ("c" if cwr else "")])
            self.high = max(self.high, first + self.mss)
            self.stamps.append((first, first + self.mss, at_us // 1000))
        if only_if_sent and not sent:
            return
        state = whole(self.sender.state())
        changed = {key: value for key, value in state.items() if self.shown.get(key) != value}
        self.shown = state
        self.answers.append({"in": index, "t": [round(at_us), round(at_us)], "sent": sent, "info": changed})
