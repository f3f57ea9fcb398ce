"""Runs that are advanced, copied and changed: what happens if something changes (docs/what-if.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ackclock import _core
from ackclock._core import ScenarioError
from ackclock.base.assignment import Assignment
from ackclock.base.controllers import one_process
from ackclock.base.files import BadInput
from ackclock.base.refusal import refused
from ackclock.base.text import say
from ackclock.result import Result, Trace
from ackclock.scenario import Scenario

if TYPE_CHECKING:
    import polars as pl


Progress = Callable[[float], object]


_said: set[str] = set()
"""Why runs could not be copied: each reason is printed once."""


def picoseconds(time: str | float) -> int:
    """A time such as "8s", or in seconds, in picoseconds. Raises BadInput."""
    if isinstance(time, str):
        try:
            return _core.picoseconds(time)
        except ValueError as error:
            raise BadInput(f"at: {error}") from None
    if not 0 <= time < 1e7:
        raise BadInput(f"at: {time} is not a time from 0 on, in seconds")
    return round(time * 1e12)


def changed(scenario: Scenario, at: str | float, *, name: str = "", **change: Any) -> Scenario:
    """The scenario with one more `[[change]]`, such as `changed(scenario, "8s", set={"link.l.rate": "5Mbps"})`.

    Parameters
    ----------
    scenario
        The scenario.
    at
        When: "8s", or seconds.
    name
        Name of the change; default: what_if, what_if2, ... The random streams of what it starts depend on it.
    change
        The other keys of the table: `set`, a mapping from keys as for `--set` to values; or `do` with its keys.

    Raises
    ------
    ScenarioError
        If something cannot change, with the key.
    BadInput
        If `at` is no time.

    """
    return _changed(scenario, picoseconds(at), change, name)


def _changed(scenario: Scenario, at_ps: int, change: Mapping[str, Any], name: str = "") -> Scenario:
    taken = set(scenario._parsed.changes)
    if name in taken:
        raise BadInput(f'name: a change is called "{name}" already')
    names = (f"what_if{number if number > 1 else ''}" for number in range(1, len(taken) + 2))
    name = name or next(name for name in names if name not in taken)
    try:
        table = {"at": f"{at_ps}ps", **change}
        return scenario.with_overrides([Assignment(("change", name), table, f"change.{name}", of_text=False)])
    except ScenarioError as error:
        key = error.key.removeprefix(f"change.{name}")
        if key == error.key:
            raise
        raise refused(key.removeprefix(".set").removeprefix(".") or "change", error.message) from None


class World:
    """A run in progress. Its result is that of the scenario with the changes that it was given."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        seed: int | None = None,
        trace: Trace = "off",
        packets: bool = False,
        audit: bool = False,
        fingerprint: bool = False,
        within_s: float | None = None,
        changes: Sequence[Scenario] = (),
    ) -> None:
        """Begin a run of `scenario`; the options are those of `Scenario.run`.

        `within_s` records packets from this time on. `changes` are scenarios with changes to come, if they are known:
        a change of a link needs the link built for it, and otherwise the beginning runs again at the first one.
        """
        self.scenario = scenario
        self._options: dict[str, Any] = {"seed": seed, "trace": trace, "packets": packets, "within_s": within_s}
        self._options |= {"audit": audit, "fingerprint": fingerprint}
        self._changes = [change._parsed for change in changes]
        self._parsed = _core.prepared_for(scenario._parsed, self._changes)
        self._run = _core.World(self._parsed, **self._options)

    @property
    def now_s(self) -> float:
        """Simulated time so far, seconds."""
        return self._run.now_ps / 1e12

    @property
    def windows(self) -> dict[str, float]:
        """The congestion window of each flow now, segments."""
        return {name: cwnd for name, cwnd, _ in self._run.windows()}

    def advance(self, to: str | float, progress: Progress | None = None) -> None:
        """Process all events before `to` ("8s", or seconds), and none at that time. Raises BadInput if it is past."""
        self._advance(picoseconds(to), progress)

    def _advance(self, to_ps: int, progress: Progress | None = None) -> None:
        if to_ps < self._run.now_ps:
            raise BadInput(f"the run is at {self.now_s:g} s and cannot go back; copy it (fork) before it advances")
        with one_process():
            self._run.advance(to_ps, progress)

    def fork(self) -> World:
        """A second run in the state of this one. What cannot be copied runs again from the start, said once."""
        copy = World.__new__(World)
        copy.scenario, copy._options, copy._changes, copy._parsed = (
            self.scenario, self._options, self._changes, self._parsed
        )  # fmt: skip
        try:
            copy._run = self._run.fork()
        except NotImplementedError as reason:
            if str(reason) not in _said:
                _said.add(str(reason))
                say(f"ackclock: {reason}; the run begins again for each copy", error=True)
            copy._restart(self._run.now_ps)
        return copy

    def _restart(self, at_ps: int) -> None:
        self._run = _core.World(self._parsed, **self._options)
        with one_process():
            self._run.advance(at_ps)

    def set(self, key: str, value: Any) -> None:
        """Change the value of a key, as for `--set`, from now on. Raises ScenarioError if it cannot change."""
        self.change(set={key: value})

    def change(self, *, name: str = "", **change: Any) -> None:
        """Apply a `[[change]]` now: `set`, a mapping, or `do` with its keys. Raises ScenarioError."""
        self.adopt(_changed(self.scenario, self._run.now_ps, change, name))

    def adopt(self, scenario: Scenario) -> None:
        """Continue as a run of `scenario`, which differs by changes from now on."""
        at_ps = self._run.now_ps
        self.scenario = scenario
        self._parsed = _core.prepared_for(scenario._parsed, self._changes)
        if not self._run.adopt(self._parsed):
            self._restart(at_ps)

    def finish(self, progress: Progress | None = None) -> Result:
        """Run to the end. The run cannot be used after it."""
        with one_process():
            finished = self._run.finish(progress)
        return Result(finished)


@dataclass(frozen=True)
class Difference:
    """Where two runs differ first."""

    time_s: float
    what: str
    """packet or window."""
    words: str
    """One sentence."""


def first_difference(first: Result, second: Result) -> Difference | None:
    """The first packet event or row of the window trace that one result has and the other has not.

    None if there is none. The runs were made with `packets=True` and `trace="ack"`, from equal beginnings.
    """
    differences = [
        Difference(*row)
        for row in (
            _first_row("packet", first.packets, second.packets, _packet_words),
            _first_row("window", first.trace, second.trace, _window_words),
        )
        if row is not None
    ]
    return min(differences, key=lambda difference: difference.time_s, default=None)


def _first_row(
    what: str, first: pl.DataFrame, second: pl.DataFrame, words: Callable[[dict[str, Any]], str]
) -> tuple[float, str, str] | None:
    import polars as pl

    rows = min(len(first), len(second))
    columns = [name for name in first.columns if name in second.columns]
    unequal = pl.Series([False]).new_from_index(0, rows)
    for name in columns:
        one, other = first[name][:rows], second[name][:rows]
        if one.dtype != other.dtype or not isinstance(one.dtype, (pl.Float64, pl.Boolean)):
            one, other = one.cast(pl.String), other.cast(pl.String)
        unequal |= one.ne_missing(other)
    row = unequal.arg_max() if unequal.any() else rows
    if row is None or (row >= len(first) and row >= len(second)):
        return None
    candidates = [frame.row(row, named=True) for frame in (first, second) if row < len(frame)]
    earliest = min(candidates, key=lambda entry: entry["time_s"])
    side = "without" if earliest is candidates[0] and row < len(first) else "with"
    return earliest["time_s"], what, f"{words(earliest)} ({side} the change)"


def _packet_words(row: dict[str, Any]) -> str:
    events = {
        "enqueue": "enters the queue of",
        "drop": "is dropped at",
        "depart": "leaves",
        "deliver": "reaches the end of",
    }
    kind = "ACK of packet" if str(row["kind"]) == "ack" else "packet"
    return f"{kind} {row['seq']} of {row['flow']} {events.get(str(row['event']), row['event'])} {row['link']}"


def _window_words(row: dict[str, Any]) -> str:
    return f"the window of {row['flow']} is {row['cwnd']:.6g} segments"


@dataclass(frozen=True)
class Row:
    """A value of the outcome without and with the change."""

    kind: str
    """flows or links."""
    of: str
    """Name of the flow or link."""
    name: str
    unit: str
    base: float | None
    changed: float | None

    @property
    def relative(self) -> float | None:
        """The change as a part of the value without it."""
        if self.base is None or self.changed is None or self.base == 0:
            return None
        return self.changed / self.base - 1


FLOW_VALUES = (
    ("goodput_bps", "goodput", "b/s"),
    ("mean_rtt_s", "mean round-trip time", "s"),
    ("mean_cwnd", "mean window", "segments"),
    ("retransmitted_packets", "retransmitted packets", ""),
    ("timeouts", "timeouts", ""),
    ("completion_s", "completion", "s"),
)
LINK_VALUES = (
    ("utilisation", "utilisation", ""),
    ("mean_queue_packets", "mean queue", "packets"),
    ("dropped_packets", "dropped packets", ""),
)


def rows(base: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[Row]:
    """The values of two outcomes that differ: flows, then links."""
    for kind, values in (("flows", FLOW_VALUES), ("links", LINK_VALUES)):
        for one, two in zip(base[kind], other[kind], strict=True):
            for key, name, unit in values:
                before, after = _number(one.get(key)), _number(two.get(key))
                if before != after:
                    yield Row(kind, one["name"], name, unit, before, after)


def _number(value: Any) -> float | None:
    return sum(value.values()) if isinstance(value, dict) else value


@dataclass(frozen=True)
class WhatIf:
    """A run without and with a change."""

    scenario: Scenario
    """With the change."""
    at_s: float
    base: Result
    changed: Result

    @property
    def first_difference(self) -> Difference | None:
        """Where the runs differ first; None if the change has no effect."""
        return first_difference(self.base, self.changed)

    @property
    def rows(self) -> list[Row]:
        """The values of the outcome that differ."""
        return list(rows(self.base.outcome, self.changed.outcome))


def what_if(
    scenario: Scenario,
    at: str | float,
    change: Mapping[str, Any],
    *,
    seed: int | None = None,
    whole: bool = False,
    progress: Progress | None = None,
) -> WhatIf:
    """Run a scenario without and with a change at one time; what is before it runs once.

    `change` is as for `changed`; `whole` records packets from the start, not from `at` on. Raises as `changed`.
    """
    at_ps = picoseconds(at)
    after = _changed(scenario, at_ps, change)
    world = World(
        scenario, seed=seed, trace="ack", packets=True, within_s=None if whole else at_ps / 1e12, changes=[after]
    )  # fmt: skip
    world._advance(at_ps, progress)
    branch = world.fork()
    branch.adopt(after)
    return WhatIf(after, at_ps / 1e12, world.finish(progress), branch.finish(progress))


class Tree(Mapping[str, Result]):
    """The results of branches by name; "base" is the run without a change."""

    def __init__(self, results: Mapping[str, Result]) -> None:
        self._results = dict(results)

    def __getitem__(self, name: str) -> Result:
        return self._results[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def diff(self, first: str, second: str) -> tuple[Difference | None, list[Row]]:
        """The first difference of two branches, and the values of their outcomes that differ.

        The first difference needs `packets=True` and `trace="ack"`; without them it is None.
        """
        one, two = self[first], self[second]
        return first_difference(one, two), list(rows(one.outcome, two.outcome))


def branch(
    scenario: Scenario,
    at: str | float,
    branches: Mapping[str, Mapping[str, Any]],
    *,
    seed: int | None = None,
    trace: Trace = "off",
    packets: bool = False,
) -> Tree:
    """Run a scenario, and from `at` on once more for each branch, whose keys and values are set then.

    Raises ScenarioError if something cannot change,
    BadInput for a branch called "base".
    """
    if "base" in branches:
        raise BadInput('branches: "base" is the run without a change; choose another name')
    at_ps = picoseconds(at)
    named = {name: _changed(scenario, at_ps, {"set": dict(values)}) for name, values in branches.items()}
    world = World(scenario, seed=seed, trace=trace, packets=packets, changes=list(named.values()))
    world._advance(at_ps)
    results: dict[str, Result] = {}
    for name, after in named.items():
        copy = world.fork()
        copy.adopt(after)
        results[name] = copy.finish()
    return Tree({"base": world.finish(), **results})
