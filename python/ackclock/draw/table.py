"""The finished runs of a study as a figure needs them: axes, and the values of a metric at each point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ackclock.base.axes import Point, labels_of, named
from ackclock.draw.quantities import Axis, axis
from ackclock.metrics import RunMetric


@dataclass(frozen=True)
class StudyTable:
    """The finished runs of a study, by points."""

    title: str
    points: Mapping[Point, list[dict[str, Any]]]
    seeds_of: Mapping[Point, int]
    """The number of finished runs of each point, also where only the first counts."""
    planned: Sequence[Point] = ()
    """The points of the plan, also those without a finished run; none: those of `points`."""

    @property
    def labels(self) -> dict[str, list[str]]:
        """The labels of each axis of the plan that has several."""
        return labels_of(self.planned or self.points)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """All runs."""
        return [row for rows_of_point in self.points.values() for row in rows_of_point]

    @cached_property
    def axes(self) -> dict[str, Axis]:
        """The axes that have more than one label here."""
        return {name: axis(name, labels) for name, labels in labels_of(self.points).items()}

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
