"""The finished runs of a study as a figure needs them: axes, and the values of a metric at each point."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ackclock.files import BadInput
from ackclock.metrics import RunMetric, numbers
from ackclock.plot.quantities import Axis, axis
from ackclock.study.axes import named
from ackclock.study.results import matching, same_outcome

if TYPE_CHECKING:
    from ackclock.study.store import Store

Point = tuple[tuple[str, str], ...]
"""A point: pairs of axis and label."""


@dataclass(frozen=True)
class StudyTable:
    """The finished runs of a study, by points."""

    title: str
    points: Mapping[Point, list[dict[str, Any]]]
    seeds_of: Mapping[Point, int]
    """The number of finished runs of each point, also where only the first counts."""

    @classmethod
    def read(cls, store: Store, where: Sequence[str] = ()) -> StudyTable:
        """Read the finished runs at the points that `where` selects (`AXIS=LABEL`). Raises BadInput.

        At a point where several seeds gave the same outcome, only the first run counts.
        """
        rows = store.outcomes().to_dicts()
        if not rows:
            raise BadInput(f"{store.folder}: no run has finished yet; run ackclock sweep first")
        labels = [json.loads(row["axes"]) for row in rows]
        keep = matching(where, labels)
        points: dict[Point, list[dict[str, Any]]] = {}
        for row, one, kept in zip(rows, labels, keep, strict=True):
            if kept:
                points.setdefault(tuple(one.items()), []).append(row)
        if not points:
            raise BadInput("--where: no point has all of these labels")
        rows_by_point = {
            p: rows_of_point[:1] if same_outcome(list(map(numbers, rows_of_point))) else rows_of_point
            for p, rows_of_point in points.items()
        }
        seeds_of = {p: len(rows_of_point) for p, rows_of_point in points.items()}
        return cls(store.about("title") or str(store.folder), rows_by_point, seeds_of)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """All runs."""
        return [row for rows_of_point in self.points.values() for row in rows_of_point]

    @cached_property
    def axes(self) -> dict[str, Axis]:
        """The axes that have more than one label here."""
        labels: dict[str, dict[str, None]] = {}
        for point in self.points:
            for name, label in point:
                labels.setdefault(name, {})[label] = None
        return {name: axis(name, list(axis_labels)) for name, axis_labels in labels.items() if len(axis_labels) > 1}

    @property
    def seeds(self) -> tuple[int, int]:
        """The smallest and the largest number of seeds of a point."""
        return min(self.seeds_of.values()), max(self.seeds_of.values())

    @property
    def equal_points(self) -> int:
        """The number of points at which several seeds gave the same outcome."""
        return sum(1 for point, rows in self.points.items() if len(rows) < self.seeds_of[point])

    def values(self, metric: RunMetric, *where: tuple[str, str], each: bool = False) -> list[float]:
        """The values of a metric at the points with these labels: one for each run, or with `each` for each flow."""
        numbers_of_runs: list[float] = []
        for point, rows_of_point in self.points.items():
            if all(pair in point for pair in where):
                for row in rows_of_point:
                    if each:
                        numbers_of_runs += metric.each(row)
                    elif (value := metric.value(row)) is not None:
                        numbers_of_runs.append(value)
        return numbers_of_runs

    def name_of(self, text: str, option: str) -> str:
        """The full name of a free axis from a part of it. Raises BadInput if it is unknown or ambiguous."""
        return named(text, list(self.axes), option)
