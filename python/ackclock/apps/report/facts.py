"""What the folder of a study says of its runs: what was planned, what ended, what failed."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ackclock.base.axes import Point, axis_words, labels_of
from ackclock.base.files import BadInput
from ackclock.base.shipped import argument
from ackclock.study.plan import ON, VIRTUAL
from ackclock.study.store import Store

TIME = re.compile(r" at [\d.e+-]+ s(?=:)")
"""The time of a failure in its message."""
MOST_FAILURES = 8
"""Reasons of failures that a report lists."""


@dataclass(frozen=True)
class Failure:
    """Why runs have failed."""

    reason: str
    points: Sequence[str]
    """The labels of the points, each once."""
    runs: int


@dataclass(frozen=True)
class StudyFacts:
    """The plan of a study and what became of it."""

    seeds: Mapping[Point, Sequence[int]]
    """The planned seeds of each point."""
    missing: int
    """Planned runs without an outcome."""
    failures: Sequence[Failure]
    engine: str
    """The engine of the runs."""
    command: str
    """What makes them again."""

    @property
    def runs(self) -> int:
        """The number of runs with an outcome."""
        return sum(map(len, self.seeds.values())) - self.missing

    @cached_property
    def axes(self) -> dict[str, list[str]]:
        """The labels of each axis that has several, without that of the substrates."""
        return {axis: labels for axis, labels in labels_of(self.seeds).items() if axis != ON}

    @cached_property
    def substrates(self) -> list[str]:
        """What carried the flows: `tcp` if the plan names nothing else."""
        return list(dict.fromkeys(dict(point).get(ON, "tcp") for point in self.seeds))

    @property
    def real_time(self) -> bool:
        """Whether runs took place in real time, where no two are equal."""
        return any(substrate not in VIRTUAL for substrate in self.substrates)

    @property
    def notes(self) -> list[str]:
        """What is missing, and why."""
        notes = []
        if self.missing:
            notes.append(f"{self.missing:,} of the planned runs have no outcome; the tables are without them.")
        for failure in self.failures[:MOST_FAILURES]:
            where = f" at {'; '.join(failure.points[:3])}" if any(failure.points) else ""
            more = f" and {len(failure.points) - 3} more points" if len(failure.points) > 3 else ""
            notes.append(f"{failure.runs} run{'s' if failure.runs > 1 else ''} failed{where}{more}: {failure.reason}")
        return notes


def of_store(store: Store) -> StudyFacts:
    """Read the plan and the failures of a store. Raises BadInput."""
    plan = store.plan()
    seeds: dict[Point, list[int]] = {}
    points: dict[str, Point] = {}
    for run_id, seed, axes in plan:
        point = tuple(axes.items())
        seeds.setdefault(point, []).append(seed)
        points[run_id] = point
    grouped: dict[str, list[Point]] = {}
    for run_id, error in store.failures():
        grouped.setdefault(reason_of(error), []).append(points[run_id])
    failures = [
        Failure(reason, list(dict.fromkeys(map(_labels, of_reason))), len(of_reason))
        for reason, of_reason in grouped.items()
    ]
    return StudyFacts(seeds, store.missing(), failures, store.about("engine") or "", _command(store, seeds))


def reason_of(error: str) -> str:
    """The first line of an error, without the time, which differs from run to run."""
    return TIME.sub("", error.splitlines()[0]) if error else "no reason is known"


def _labels(point: Point) -> str:
    return ", ".join(f"{axis_words(axis)} {label}" for axis, label in point)


def _command(store: Store, seeds: Mapping[Point, Sequence[int]]) -> str:
    """The command of the sweep, with what `--until` added as a number of seeds; of a link, without it."""
    words = ["ackclock", "sweep", argument(store.about("file") or "")]
    try:
        for assignment in json.loads(store.about("set") or "[]"):
            words += ["--set", str(assignment)]
    except (ValueError, TypeError):
        raise BadInput(f"{store.folder}: is damaged (its set)") from None
    substrates = list(dict.fromkeys(dict(point).get(ON, "tcp") for point in seeds))
    words += ["--on", ",".join(substrates)] if substrates != ["tcp"] else []
    counts = Counter(map(len, seeds.values()))
    words += ["--until", "METRIC:PERCENT"] if len(counts) > 1 else []
    return shlex.join([*words, "--out", str(store.folder)])
