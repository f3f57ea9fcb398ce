"""Explanation of a window change: the event, the ACK or loss, the packet's fate, the queue."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ackclock.experiment import Scenario
from ackclock.files import BadInput
from ackclock.models import drop_reasons

if TYPE_CHECKING:
    import polars as pl


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
class Step:
    """One event of a packet at a link."""

    time_s: float
    link: str
    event: str
    reason: str | None
    waited_s: float | None = None


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
    packet: int | None = None
    """The packet that caused the change: the one acknowledged, lost, or marked."""
    journey: list[Step] = field(default_factory=list)
    """The events of that packet, of all its copies, up to the change."""
    queue: Queue | None = None
    """The queue that dropped or marked it."""

    def sentences(self) -> Iterator[str]:
        """The explanation, line by line, from the change back to its cause."""
        before, after = self.cwnd
        verb = "fell" if after < before else "rose" if after > before else "unchanged, ssthresh changed"
        change = f"cwnd {verb}: {before:.6g} to {after:.6g} segments"
        if self.event == "start":
            change = f"cwnd starts at {after:.6g} segments"
        yield f"{self.time_s:.6f} s  {self.flow} ({self.control}): {change}"
        threshold = f"ssthresh {_show(self.ssthresh[0])} to {_show(self.ssthresh[1])}"
        yield f"  {threshold}, {self.in_flight:g} in flight, phase {self.phase}"
        yield f"  {self.cause}"
        if not self.journey and self.packet is not None:
            yield "    (no link events: packets over radio are not traced)"
        for step in self.journey:
            waited = "" if step.waited_s is None else f" {1e3 * step.waited_s:.3f} ms after its arrival"
            what = step.event if step.reason is None else f"dropped ({step.reason})"
            yield f"    {step.time_s:.6f} s  {step.link}: {what}{waited}"
        if self.queue is not None:
            by_flow = ", ".join(f"{n} of {flow}" for flow, n in self.queue.packets.items()) or "none"
            yield f"  queue of {self.queue.link} at {self.queue.time_s:.6f} s: {self.queue.total} packets: {by_flow}"


def _finite(value: float | None) -> float | None:
    return None if value is None or math.isinf(value) else value


def _show(threshold: float | None) -> str:
    return "infinite" if threshold is None else f"{threshold:.6g}"


def explain(
    scenario: Scenario, at_s: float, *, flow: str | None = None, seed: int | None = None, cut: bool = False
) -> Explanation:
    """Run a scenario up to `at_s` and explain the last change of a window; with `cut`, the last reduction.

    `flow` selects the flow; the default is the TCP flow whose window changed last. Raises BadInput if there is no
    such change.
    """
    import polars as pl

    from ackclock import frames

    if not 0 <= at_s <= scenario.duration_s:
        raise BadInput(f"--at: the run lasts from 0 to {scenario.duration_s:g} s")
    result = scenario.run(seed=seed, trace="ack", packets=True, until_s=at_s)
    names = {f["name"]: f["control"] for f in result.outcome["flows"] if f["kind"] == "tcp"}
    if not names:
        raise BadInput("the scenario has no TCP flow and so no congestion window")
    if flow is not None and flow not in names:
        raise BadInput(f"--flow: there is no TCP flow {flow}; there are {', '.join(list(names)[:12])}")
    trace = frames.changes(result.trace.filter(pl.col("time_s") <= at_s))
    moved = trace.with_columns(
        pl.col("cwnd").shift(1).over("flow").alias("cwnd_before"),
        pl.col("ssthresh").shift(1).over("flow").alias("ssthresh_before"),
    )
    if flow is not None:
        moved = moved.filter(pl.col("flow") == flow)
    if cut:
        moved = moved.filter(pl.col("cwnd") < pl.col("cwnd_before"))
    if moved.is_empty():
        whose = f"{flow}'s window" if flow else "a window"
        raise BadInput(f"--at: no event {'reduced' if cut else 'changed'} {whose} until {at_s:g} s")
    row = moved.row(-1, named=True)
    packets = result.packets.filter(pl.col("time_s") <= row["time_s"])
    return _explain(row, names[row["flow"]], packets)


def _explain(row: dict[str, Any], control: str, packets: pl.DataFrame) -> Explanation:
    found = Explanation(
        flow=row["flow"],
        control=control,
        time_s=row["time_s"],
        event=row["event"],
        phase=row["phase"],
        cwnd=(row["cwnd_before"] if row["cwnd_before"] is not None else row["cwnd"], row["cwnd"]),
        ssthresh=(_finite(row["ssthresh_before"]), _finite(row["ssthresh"])),
        rtt_s=row["rtt_s"],
        in_flight=row["in_flight"],
        acked=row["ack"],
        cause="",
    )
    fell = found.cwnd[1] < found.cwnd[0]
    if found.event == "start":
        found.cause = "the flow started"
    elif found.event == "timer":
        found.cause = "the controller's timer expired"
    elif found.event == "handoff":
        found.cause = "a hand-off began or ended at one end of the flow"
    elif found.event == "rto":
        _lost(found, packets, f"the retransmission timer expired; packet {found.acked + 1} was not acknowledged")
    elif found.event == "dupack":
        _lost(found, packets, f"a duplicate ACK indicates that packet {found.acked + 1} is missing")
    elif fell and not _marked(found, packets):
        missing = _journey(packets, found.flow, found.acked + 1, found.time_s, both_ways=False)
        if found.phase == "recovery" and any(step.event == "drop" for step in missing):
            _lost(found, packets, f"after the ACK of packet {found.acked}, packet {found.acked + 1} is considered lost")
        else:
            # The trace does not record the cause: a partial ACK deflated the window, recovery ended, or an algorithm
            # such as Vegas reduced it.
            found.cause = (
                f"the ACK of packet {found.acked} arrived; recovery or the controller reduced the window without a loss"
            )
    elif not fell:
        rtt = "no sample" if found.rtt_s is None else f"round-trip time {1e3 * found.rtt_s:.3f} ms"
        slow = "slow start" if found.cwnd[0] < (found.ssthresh[0] or float("inf")) else "congestion avoidance"
        found.cause = f"the ACK of packet {found.acked} arrived ({rtt}; {slow})"
        found.packet = found.acked
        found.journey = _journey(packets, found.flow, found.acked, float("inf"), both_ways=True)
    return found


def _of(packets: pl.DataFrame, flow: str, kind: str) -> pl.DataFrame:
    import polars as pl

    return packets.filter((pl.col("flow") == flow) & (pl.col("kind") == kind))


def _lost(found: Explanation, packets: pl.DataFrame, cause: str) -> None:
    """Explain a loss by the events of the first unacknowledged packet."""
    import polars as pl

    found.packet = found.acked + 1
    found.journey = _journey(packets, found.flow, found.packet, found.time_s, both_ways=False)
    drops = [step for step in found.journey if step.event == "drop"]
    if not drops:
        echo = _of(packets, found.flow, "ack").filter(pl.col("event") == "drop")
        late = "; no link dropped a copy of it: the packet or its ACKs arrived late or were lost over radio"
        found.cause = cause + (f"; {echo.height} of the flow's ACKs were dropped so far" if echo.height else late)
        return
    last = drops[-1]
    ago, word = 1e3 * (found.time_s - last.time_s), drop_reasons().get(last.reason or "", last.reason)
    found.cause = f"{cause}: {last.link} dropped it {ago:.3f} ms before ({word})"
    if last.reason == "queue":
        found.queue = _queue(packets, last.link, last.time_s)


def _marked(found: Explanation, packets: pl.DataFrame) -> bool:
    """Whether an echoed ECN mark explains the reduction. If so, fill in the explanation."""
    import polars as pl

    data = _of(packets, found.flow, "data").filter(pl.col("marked") & (pl.col("event") == "deliver"))
    data = data.filter((pl.col("seq") <= found.acked) & (pl.col("time_s") > found.time_s - 2 * (found.rtt_s or 1.0)))
    if data.is_empty():
        return False
    found.packet = int(data["seq"][-1])
    found.journey = _journey(packets, found.flow, found.packet, found.time_s, both_ways=False)
    here = (
        _of(packets, found.flow, "data").filter((pl.col("seq") == found.packet) & pl.col("marked")).row(0, named=True)
    )
    found.cause = f"the ACK of packet {found.acked} echoes congestion: {here['link']} marked packet {found.packet}"
    found.queue = _queue(packets, here["link"], here["time_s"])
    return True


def _journey(packets: pl.DataFrame, flow: str, seq: int, before_s: float, *, both_ways: bool) -> list[Step]:
    """Events of a packet before `before_s`; packets sent in response to the change are not part of its cause."""
    import polars as pl

    kinds = ["data", "ack"] if both_ways else ["data"]
    own = packets.filter((pl.col("flow") == flow) & (pl.col("seq") == seq) & pl.col("kind").is_in(kinds))
    own = own.filter(pl.col("time_s") < before_s)
    steps: list[Step] = []
    came: dict[str, float] = {}
    for row in own.iter_rows(named=True):
        waited = None
        if row["event"] == "enqueue":
            came[row["link"]] = row["time_s"]
        elif row["event"] == "depart":
            waited = row["time_s"] - came.get(row["link"], row["time_s"])
        word = {"enqueue": "enqueued", "depart": "transmitted", "deliver": "delivered"}.get(row["event"], row["event"])
        kind = " (its ACK)" if row["kind"] == "ack" else ""
        steps.append(Step(row["time_s"], row["link"] + kind, word, row["reason"], waited))
    return steps


def _queue(packets: pl.DataFrame, link: str, time_s: float) -> Queue:
    """Packets of each flow that a link had enqueued and not yet sent."""
    import polars as pl

    here = packets.filter((pl.col("link") == link) & (pl.col("time_s") <= time_s))
    signs = pl.when(pl.col("event") == "enqueue").then(1).when(pl.col("event") == "depart").then(-1).otherwise(0)
    counts = here.with_columns(signs.alias("n")).group_by("flow", maintain_order=True).agg(pl.col("n").sum())
    return Queue(link, time_s, {flow: n for flow, n in counts.iter_rows() if n > 0})
