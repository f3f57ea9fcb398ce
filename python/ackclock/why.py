"""Which event moved a window, with the chain behind it: ACK, loss, the packet's fate, the queue."""

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
    """Who was at a link at a moment: packets by flow, the one in transmission included."""

    link: str
    time_s: float
    packets: dict[str, int]

    @property
    def total(self) -> int:
        """Packets there, of all flows."""
        return sum(self.packets.values())


@dataclass(frozen=True)
class Step:
    """Something that happened to a packet."""

    time_s: float
    link: str
    event: str
    reason: str | None
    waited_s: float | None = None


@dataclass
class Explanation:
    """A change of a window and what is behind it. Windows in segments, times in simulated seconds."""

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
    """The packet that it is about: the one acknowledged, lost, or marked."""
    journey: list[Step] = field(default_factory=list)
    """What happened to that packet, every copy of it, up to the change."""
    queue: Queue | None = None
    """The queue that dropped or marked it."""

    def sentences(self) -> Iterator[str]:
        """The chain, a line each, from the change back to its cause."""
        before, after = self.cwnd
        verb = "fell" if after < before else "rose" if after > before else "stayed, the threshold moved"
        change = f"cwnd {verb}: {before:.6g} to {after:.6g} segments"
        if self.event == "start":
            change = f"cwnd begins at {after:.6g} segments"
        yield f"{self.time_s:.6f} s  {self.flow} ({self.control}): {change}"
        threshold = f"ssthresh {_show(self.ssthresh[0])} to {_show(self.ssthresh[1])}"
        yield f"  {threshold}, {self.in_flight:g} in flight, phase {self.phase}"
        yield f"  {self.cause}"
        if not self.journey and self.packet is not None:
            yield "    (on no wire: packets by radio are not followed)"
        for step in self.journey:
            waited = "" if step.waited_s is None else f" after {1e3 * step.waited_s:.3f} ms there"
            what = step.event if step.reason is None else f"{step.event} ({step.reason})"
            yield f"    {step.time_s:.6f} s  {step.link}: {what}{waited}"
        if self.queue is not None:
            by_flow = ", ".join(f"{n} of {flow}" for flow, n in self.queue.packets.items()) or "none"
            yield f"  at {self.queue.link} at {self.queue.time_s:.6f} s: {self.queue.total} packets there: {by_flow}"


def _finite(value: float | None) -> float | None:
    return None if value is None or math.isinf(value) else value


def _show(threshold: float | None) -> str:
    return "infinite" if threshold is None else f"{threshold:.6g}"


def explain(
    scenario: Scenario, at_s: float, *, flow: str | None = None, seed: int | None = None, cut: bool = False
) -> Explanation:
    """Run a scenario up to `at_s` and explain the last change of a window by then; with `cut` the last fall.

    `flow` names whose; otherwise the TCP flow whose window changed last. Raises BadInput if there is none.
    """
    import polars as pl

    from ackclock import frames

    if not 0 <= at_s <= scenario.duration_s:
        raise BadInput(f"--at: the run lasts from 0 to {scenario.duration_s:g} s")
    result = scenario.run(seed=seed, trace="ack", packets=True, until_s=at_s)
    names = {f["name"]: f["control"] for f in result.outcome["flows"] if f["kind"] == "tcp"}
    if not names:
        raise BadInput("there is no TCP flow, so no window")
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
        raise BadInput(f"--at: nothing {'reduced' if cut else 'moved'} {whose} by {at_s:g} s")
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
        found.cause = "the controller's own timer"
    elif found.event == "handoff":
        found.cause = "an end of the flow came under hand-off, or it was over"
    elif found.event == "rto":
        _lost(found, packets, f"the retransmission timer expired; packet {found.acked + 1} was not acknowledged")
    elif found.event == "dupack":
        _lost(found, packets, f"a duplicate ACK says that packet {found.acked + 1} is missing")
    elif fell and not _marked(found, packets):
        missing = _journey(packets, found.flow, found.acked + 1, found.time_s, both_ways=False)
        if found.phase == "recovery" and any(step.event == "drop" for step in missing):
            _lost(found, packets, f"with the ACK of packet {found.acked} packet {found.acked + 1} counts as lost")
        else:
            # The trace has no word for it: a partial ACK deflates, a recovery ends, a law such as Vegas's draws back.
            found.cause = (
                f"the ACK of packet {found.acked} came; recovery or the controller lowered the window, without a loss"
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
    """What became of the first packet that is not acknowledged."""
    import polars as pl

    found.packet = found.acked + 1
    found.journey = _journey(packets, found.flow, found.packet, found.time_s, both_ways=False)
    drops = [step for step in found.journey if step.event == "drop"]
    if not drops:
        echo = _of(packets, found.flow, "ack").filter(pl.col("event") == "drop")
        late = "; no copy of it was dropped on a wire: it, or its ACKs, came late or were lost by radio"
        found.cause = cause + (f"; {echo.height} of the flow's ACKs were dropped so far" if echo.height else late)
        return
    last = drops[-1]
    ago, word = 1e3 * (found.time_s - last.time_s), drop_reasons().get(last.reason or "", last.reason)
    found.cause = f"{cause}: {last.link} dropped it {ago:.3f} ms before ({word})"
    if last.reason == "queue":
        found.queue = _queue(packets, last.link, last.time_s)


def _marked(found: Explanation, packets: pl.DataFrame) -> bool:
    """Whether a mark that was echoed explains the fall; told if so."""
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
    """What happened to a packet before a moment: what is sent in answer to the change is not behind it."""
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
        word = {"enqueue": "taken", "depart": "sent", "deliver": "arrived"}.get(row["event"], row["event"])
        kind = " (its ACK)" if row["kind"] == "ack" else ""
        steps.append(Step(row["time_s"], row["link"] + kind, word, row["reason"], waited))
    return steps


def _queue(packets: pl.DataFrame, link: str, time_s: float) -> Queue:
    """Who had been taken by a link and not left it."""
    import polars as pl

    here = packets.filter((pl.col("link") == link) & (pl.col("time_s") <= time_s))
    signs = pl.when(pl.col("event") == "enqueue").then(1).when(pl.col("event") == "depart").then(-1).otherwise(0)
    counts = here.with_columns(signs.alias("n")).group_by("flow", maintain_order=True).agg(pl.col("n").sum())
    return Queue(link, time_s, {flow: n for flow, n in counts.iter_rows() if n > 0})
