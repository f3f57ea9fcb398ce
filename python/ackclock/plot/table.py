"""The finished runs of a study as a figure needs them: axes, and the values of a metric at each point."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ackclock.files import BadInput
from ackclock.metrics import RunMetric, numbers
from ackclock.plot.quantities import Axis, axis
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

    @classmethod
    def read(cls, store: Store, where: Sequence[str] = ()) -> StudyTable:
        """Read the finished runs at the points that `where` selects (`AXIS=LABEL`). Raises BadInput.

        At a point where several seeds gave the same outcome, only the first run counts.
        """
        rows = store.outcomes().to_dicts()
        if not rows:
            raise BadInput(f"{store.folder}: no run has finished yet; run ackclock sweep first")
        labels = [json.loads(row["axes"]) for row in rows]
        names = list(dict.fromkeys(name for one in labels for name in one))
        keep = matching([_full(text, names) for text in where], labels)
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
        return cls(store.about("title") or str(store.folder), rows_by_point)

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
        """The smallest and the largest number of runs of a point."""
        counts = [len(rows_of_point) for rows_of_point in self.points.values()]
        return min(counts), max(counts)

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


def named(text: str, names: Sequence[str], option: str) -> str:
    """The axis with this name, or the only axis whose name has this part. Raises BadInput."""
    if text in names:
        return text
    rules: tuple[Callable[[str], bool], ...] = (
        lambda name: name.rpartition(".")[2] == text,
        lambda name: text in name.replace(",", ".").replace(" ", "").split("."),
        lambda name: text.casefold() in name.casefold(),
    )
    for fits in rules:
        matches = [name for name in names if fits(name)]
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise BadInput(
                f"{option} {text}: several axes have this part: {', '.join(matches)}; write more of the name"
            )
    near = difflib.get_close_matches(text, names, 1)
    hint = f"there are {', '.join(names)}" if names else "the study has no axis with several labels here"
    raise BadInput(
        f"{option} {text}: there is no such axis; " + (f"did you mean {near[0]}? T{hint[1:]}" if near else hint)
    )


def _full(text: str, names: Sequence[str]) -> str:
    """`AXIS=LABEL` with the axis's full name."""
    part, equals, label = text.partition("=")
    return f"{named(part.strip(), names, '--where')}={label}" if equals else text
