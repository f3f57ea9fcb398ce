"""Compares our sender and receiver with the recordings of those of Linux 6.18 (README.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from ackclock.apps.replay.case import case_scenario, play_case
from ackclock.apps.replay.comparison import Difference, difference, unfold
from ackclock.apps.replay.form import Line, identity, read
from ackclock.apps.replay.player import play
from ackclock.scenario import Scenario

HERE = Path(__file__).parent

CAUSES = {
    "slow-start-ack-1.cubic": "ACKs exactly 2 ms apart: HyStart's train of ACKs holds in exact time and ends in a "
    "kernel, whose clock reads some microseconds more",
    "slow-start-ack-2.cubic": "as slow-start-ack-1.cubic",
    "cubic-20ms-b2": "as slow-start-ack-1.cubic: a service time of exactly 2 ms",
    "flow0043": "segments of one burst leave a kernel microseconds apart, so that one that is lost in exact time waits "
    "for the reordering timer",
    "flow0075": "HyStart's train of ACKs: the smallest round-trip time of the kernel is 0.2 ms larger (its handshake), "
    "and the limit is half of it",
    "flow0142": "as flow0075",
    "flow0092": "the retransmission timeout, rounded up to 4 ms, decides whether an unused window shrinks",
    "flow0133": "as flow0092",
    "cubic-blackout": "retransmission timers of the kernel expire up to 12 % late (timer wheel): the repair begins "
    "later",
    "reno-blackout": "as cubic-blackout",
    "reno-nosack": "the recording application ran out of written data in long recoveries; its portions of 45 segments "
    "are not in the scenario, only their limit",
    "cubic-nosack": "as reno-nosack",
    "reno-paced": "the kernel's pacing timer wakes late and shortens the next gap; ours is exact",
    "reno-random1": "windows of 3 segments: a timer of the kernel decides one of 41 events",
}
"""Why a recording and our sender differ, where the cause is known."""


ESTIMATE = (
    "the receiver's estimate of the round-trip time, which decides when its window grows, and with it which ACKs are "
    "not delayed: the kernel takes it from the timestamp echoes of the data, ours from when the data was sent"
)
UNREAD = "our application reads at once, and the window that ours advertises limits nobody"

RECEIVER_CAUSES = {
    "compression-0": ESTIMATE,
    "window_growth-6": ESTIMATE,
    "random-75": ESTIMATE,
    "random-78": ESTIMATE,
    "random-92": ESTIMATE,
    "segment_size-8": "how much memory a segment of 4,000 bytes occupies, and with it the limit of the window, depends "
    "on the driver of the network device",
    "segment_size-10": "as segment_size-8, for 8,948 bytes",
    "not_read-1": UNREAD,
    "not_read-2": UNREAD,
    "not_read-3": UNREAD,
    "not_read-4": UNREAD,
    "not_read-5": UNREAD,
}
"""Why the ACKs of a recorded receiver and ours differ."""


@dataclass(frozen=True)
class Exchange:
    """A script, flow or vector, and how it compares."""

    name: str
    category: str
    exact: bool
    same_segments: bool
    first: Difference | None


def exchanges(name: str) -> Iterator[Exchange]:
    """The lines of `vectors`, `scripts` or `flows`, compared."""
    for line in read(HERE / f"{name}.jsonl.gz"):
        ours = play(line, guided=True)
        first = difference(line, ours)
        same = first is None or (
            "answers" in line and [a[:2] for a in unfold(line) if a[1]] == [a[:2] for a in unfold(ours) if a[1]]
        )
        yield Exchange(
            identity(line), str(line.get("category", line.get("cc", ""))), line.get("exact", True), same, first
        )


def receivers() -> Iterator[Exchange]:
    """The scripts of a receiver, compared."""
    for line in read(HERE / "receiver.jsonl.gz"):
        first = difference(line, play(line, guided=True))
        yield Exchange(identity(line), line["category"], line["exact"], first is None, first)


@dataclass(frozen=True)
class Case:
    """A closed-loop case: totals and loss events of the kernel (first of three repeats) and ours."""

    name: str
    exact: bool
    kernel: Line
    ours: Line

    @property
    def events(self) -> tuple[list[list[int]], list[list[int]]]:
        """The loss events of both: state, window before, threshold after."""
        return list(self.kernel["loss_events"]), [event[1:] for event in self.ours["loss_events"]]

    @property
    def equal_events(self) -> bool:
        """Whether all loss events are equal."""
        return self.events[0] == self.events[1]

    @property
    def near_events(self) -> bool:
        """Whether the loss events are equal but for one segment of window."""
        kernel, ours = self.events
        return len(kernel) == len(ours) and all(
            a[0] == b[0] and abs(a[1] - b[1]) <= 1 and abs(a[2] - b[2]) <= 1 for a, b in zip(kernel, ours, strict=True)
        )

    @property
    def goodput(self) -> float:
        """Our goodput relative to the nearest repeat of the kernel, less one."""
        return float(min((self.ours["goodput_bytes"] / n - 1 for n in self.kernel["goodput_bytes"]), key=abs))

    @property
    def retransmitted(self) -> int:
        """Our retransmissions less those of the nearest repeat."""
        return int(min((self.ours["retransmitted"] - n for n in self.kernel["retransmitted"]), key=abs))

    @property
    def timeouts(self) -> int:
        """Our timeouts less those of the nearest repeat."""
        return int(min((self.ours["timeouts"] - n for n in self.kernel["timeouts"]), key=abs))

    @property
    def exactly(self) -> bool:
        """Whether loss events, retransmissions and timeouts are equal."""
        return self.equal_events and not self.retransmitted and not self.timeouts

    @property
    def agrees(self) -> bool:
        """The bounds for CUBIC: windows within a segment, retransmissions within 2 or 3 %, goodput within 0.3 %.

        With random losses the goodput may differ by 1 %.
        """
        goodput = 0.01 if "random" in self.name else 0.003
        few = abs(self.retransmitted) <= max(2, 0.03 * self.kernel["retransmitted"][0])
        return self.near_events and few and not self.timeouts and abs(self.goodput) <= goodput


def bbr_agrees(case: Case) -> bool:
    """The bounds for BBR, whose kernel draws phases at random: goodput within 2 %, retransmissions within 20 %."""
    few = abs(case.retransmitted) <= max(2, 0.2 * case.kernel["retransmitted"][0])
    return abs(case.goodput) <= 0.02 and few


@dataclass(frozen=True)
class Gains:
    """The parts of the time at each pacing gain of BBR: the kernel's recording beside 30 of our seeds."""

    name: str
    kernel: dict[str, float]
    seeds: list[dict[str, float]]

    @property
    def differences(self) -> list[float]:
        """The largest difference over all gains for each seed, percentage points."""
        gains = set(self.kernel).union(*self.seeds)
        return [100 * max(abs(seed.get(g, 0) - self.kernel.get(g, 0)) for g in gains) for seed in self.seeds]

    @property
    def agree(self) -> bool:
        """Whether the median seed is within five points."""
        return median(self.differences) <= 5


def shares(line: Line, seed: int) -> dict[str, float]:
    """Our parts, from the gain after the first ACK of data and every eighth one after it, as it was recorded."""
    run = Scenario.parse(case_scenario(line)).run(seed=seed, trace="ack")
    rows = run.trace.select("time_s", "pacing_gain").rows()
    end, sampled = rows[-1][0], rows[2::8]
    times: Counter[str] = Counter()
    for (begin, gain), (until, _) in zip(sampled, [*sampled[1:], (end, 0)], strict=True):
        times[f"{gain:.2f}"] += until - begin
    return {gain: time / times.total() for gain, time in times.items()}


def bbr_gains(seeds: int = 30) -> Iterator[Gains]:
    """The cases of BBR with their pacing gains."""
    for line in read(HERE / "cases.jsonl.gz"):
        if line["cc"] == "bbr":
            found = [shares(line, seed) for seed in range(1, seeds + 1)]
            yield Gains(line["name"], line["recorded"]["pacing_gains"], found)


BBR_CAUSES = {
    "bbr-idle": "the application pauses for 1 to 6 s; the phase of the cycle at that time, drawn at random, counts for "
    "the whole pause",
    "bbr-tail": "as bbr-idle: 14 samples in 24 s, nine writes, pauses of 2 to 3 s",
}
"""Why the pacing gains of a case and those of our median seed differ by more than five points."""


def cases(controllers: tuple[str, ...] = ("reno", "cubic")) -> Iterator[Case]:
    """The closed-loop cases of these controllers."""
    for line in read(HERE / "cases.jsonl.gz"):
        if line["cc"] in controllers:
            yield Case(line["name"], line["recorded"]["exact"], line["recorded"], play_case(line))
