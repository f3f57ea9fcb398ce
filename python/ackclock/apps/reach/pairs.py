"""Repeated emulations of a program, or of two programs in pairs: the order, the seeds, the values of a network.

The two programs A and B run in the order A B B A; the runs of a pair have the same seed. A run in which the network did
not follow the clock is made again; after `ATTEMPTS` attempts it is missing.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ackclock import stats
from ackclock.apps.reach import crossing, gates
from ackclock.apps.reach.results import ATTEMPTS
from ackclock.base.files import BadInput

LETTERS = "AB"
"""The names of the programs."""
UNITS = {"elapsed": "s", "goodput": "b/s", "bytes": "B", "delay": "s"}
"""SI units of values, by the end of their names without a direction or a link; others are numbers."""
SHOWN = ("elapsed", "goodput", "loss", "p50_delay", "p95_delay", "p99_delay", "p95_queue")
"""The values that a table shows, besides those of the program and those of gates."""


class ProgramFailed(Exception):
    """A program did not end as it should, or no packet crossed: repeats would measure nothing."""

    def __init__(self, reason: str, output: str = "") -> None:
        super().__init__(reason)
        self.output = output
        """The last lines of what the programs have printed."""


@dataclass(frozen=True)
class Job:
    """A run that is to be made: the program (0 is A, 1 is B), the number of its repeat, the seed."""

    side: int
    repeat: int
    seed: int


@dataclass(frozen=True)
class Attempt:
    """What one emulation has given."""

    values: Mapping[str, float]
    reasons: Sequence[str] = ()
    """Why it is not valid."""


@dataclass(frozen=True)
class Trial:
    """A run with its repetitions."""

    job: Job
    attempts: int
    values: Mapping[str, float] | None
    """None if no attempt was valid."""
    reasons: Sequence[str] = ()
    """Why the last attempt was not valid."""


def jobs(sides: int, repeats: int, seed: int) -> Iterator[Job]:
    """The runs in their order: A B B A A B ..., or one program again and again; a repeat has one seed."""
    for repeat in range(repeats):
        order = range(sides) if repeat % 2 == 0 else reversed(range(sides))
        yield from (Job(side, repeat, seed + repeat) for side in order)


def run(job: Job, attempt: Callable[[Job], Attempt]) -> Trial:
    """Make a run, in a few attempts if it is not valid. Raises what `attempt` raises."""
    for number in range(1, ATTEMPTS + 1):
        result = attempt(job)
        if not result.reasons:
            return Trial(job, number, result.values)
    return Trial(job, ATTEMPTS, None, result.reasons)


@dataclass
class NetworkRuns:
    """The runs of a network."""

    network: str
    trials: list[Trial] = field(default_factory=list)

    def names(self, sides: int) -> list[str]:
        """The names of values that every program has had, the short ones first."""
        had = [
            dict.fromkeys(name for trial in self.trials if trial.job.side == side for name in trial.values or ())
            for side in range(sides)
        ]
        names = [name for name in had[0] if all(name in other for other in had)]
        return list(dict.fromkeys([*(name for name in SHORT if self.full_name(name) in names), *names]))

    def _whole(self, name: str) -> str | None:
        """The value that a short name stands for: of the direction with most bytes, of the longest queue, both of A."""
        first = [trial.values for trial in self.trials if trial.values is not None and trial.job.side == 0]
        if not first:
            return None
        if name in BY_DIRECTION:
            totals = {d: sum(values.get(f"bytes_{d}", 0.0) for values in first) for d in crossing.DIRECTIONS}
            return f"{name}_{max(totals, key=lambda d: totals[d])}"
        means: dict[str, float] = {}
        for values in first:
            for key, value in values.items():
                if key.startswith("mean_queue["):
                    means[key] = means.get(key, 0.0) + value
        longest = max(means, key=lambda key: means[key], default=None)
        return None if longest is None else f"{name}{longest.removeprefix('mean_queue')}"

    def full_name(self, name: str) -> str:
        """A name with its direction or link; names of programs and full names as they are."""
        whole = self._whole(name) if name in SHORT and not self._of_program(name) else None
        return whole or name

    def _of_program(self, name: str) -> bool:
        return any(name in (trial.values or ()) for trial in self.trials)

    def values(self, name: str, side: int) -> dict[int, float]:
        """The values of a program by repeat, without those that are missing."""
        key = self.full_name(name)
        return {
            trial.job.repeat: trial.values[key]
            for trial in self.trials
            if trial.job.side == side and trial.values is not None and key in trial.values
        }

    def pairs(self, name: str) -> tuple[list[float], list[float]]:
        """The values of A and B at the repeats that have both."""
        a, b = self.values(name, 0), self.values(name, 1)
        both = sorted(a.keys() & b.keys())
        return [a[i] for i in both], [b[i] for i in both]

    def ratio(self, name: str) -> stats.Estimate:
        """B over A over pairs; 1 where all values are zero."""
        a, b = self.pairs(name)
        return stats.ratio_or_equal(b, a)

    def shown(self, sides: int, more: Sequence[str] = ()) -> list[str]:
        """The names that a table shows: the usual ones, those of the programs, and `more`."""
        every = self.names(sides)
        own = [name for name in every if not _is_measured(name) and name not in SHORT]
        return list(dict.fromkeys(name for name in (*SHOWN, *own, *more) if name in every))

    def label(self, name: str) -> str:
        """A name with the direction or the link that it stands for."""
        whole = self.full_name(name)
        return name if whole == name else f"{name} ({whole.removeprefix(name).strip('_[]')})"

    def check(self, of_task: Sequence[gates.Gate], sides: int) -> None:
        """Raise BadInput if programs have run, and one of them has no value for a gate."""
        if not all(self.valid(side) for side in range(sides)):
            return
        names = self.names(sides)
        for gate in of_task:
            if gate.name not in names:
                near = difflib.get_close_matches(gate.name, names, 1)
                hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
                raise BadInput(f"--gate {gate}: A and B have no such value; {hint}")

    def valid(self, side: int) -> int:
        """The number of valid runs of a program."""
        return sum(trial.values is not None for trial in self.trials if trial.job.side == side)

    @property
    def complete(self) -> int:
        """The number of repeats in which A and B were valid."""
        valid = [{t.job.repeat for t in self.trials if t.job.side == side and t.values is not None} for side in (0, 1)]
        return len(valid[0] & valid[1])

    @property
    def missing(self) -> list[Trial]:
        """The runs that were not valid."""
        return [trial for trial in self.trials if trial.values is None]


BY_DIRECTION = ("goodput", "bytes", "loss", "p50_delay", "p95_delay", "p99_delay")
"""Values of each direction: `goodput_forward`, `goodput_back`."""
BY_LINK = ("mean_queue", "p50_queue", "p95_queue", "p99_queue")
"""Values of each link that have a short name: `p95_queue[a->b]`."""
SHORT = (*BY_DIRECTION, *BY_LINK)


def _is_measured(name: str) -> bool:
    """Whether a value is one of the network's."""
    return name == "elapsed" or name.endswith(tuple(f"_{d}" for d in crossing.DIRECTIONS)) or "[" in name


def unit(name: str) -> str:
    """The SI unit of a value."""
    stem = name.partition("[")[0]
    for direction in crossing.DIRECTIONS:
        stem = stem.removesuffix(f"_{direction}")
    return UNITS.get(stem.rpartition("_")[2], "") if stem in SHORT or _is_measured(name) else ""
