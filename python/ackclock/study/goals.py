"""Bounds that a user sets for metrics of a study, and which of its points keep them: `call.p95_queueing < 30ms`.

A goal is met at a point if the whole 95 % interval over the seeds keeps the bound, not met if none of it does, and
undecided otherwise. A point with a single seed has no interval, so it decides nothing.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ackclock import stats
from ackclock.base.axes import Point, axis_words, named
from ackclock.base.files import BadInput
from ackclock.base.si import prefixed, value
from ackclock.base.tables import Column
from ackclock.base.units import quantity
from ackclock.draw.table import StudyTable
from ackclock.metrics import RunMetric, metric
from ackclock.metrics.registry import ALIASES, METRICS

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
Verdict = Literal["met", "not met", "undecided"]


@dataclass(frozen=True)
class Goal:
    """A bound of a metric."""

    text: str
    name: str
    """The metric as the user names it."""
    metric: RunMetric
    sign: str
    bound: float
    """In the SI unit of the metric."""

    @property
    def more(self) -> bool:
        """Whether more is better."""
        return self.sign.startswith(">")

    def verdict(self, e: stats.Estimate, *, equal: bool) -> Verdict:
        """Whether an estimate keeps the bound; `equal`: several seeds gave this value, which is then exact."""
        keeps = OPERATORS[self.sign]
        if equal:
            return "met" if keeps(e.value, self.bound) else "not met"
        if e.low is None or e.high is None:
            return "undecided"
        ends = keeps(e.low, self.bound), keeps(e.high, self.bound)
        return "met" if all(ends) else "undecided" if any(ends) else "not met"


def goal(text: str, table: StudyTable) -> Goal:
    """Read a goal: METRIC, or FLOW.METRIC or LINK.METRIC, with <, <=, > or >= and a value. Raises BadInput."""
    match = re.fullmatch(r"\s*(.+?)\s*(<=|>=|<|>)\s*([^<>=]+)", text)
    if match is None or match[1].endswith("-"):
        raise BadInput(f"--goal {text}: must be METRIC < VALUE, such as 'call.p95_queueing < 30ms'")
    name, sign, bound = match.groups()
    try:
        measured = _metric(name, table.rows)
        if all(measured.value(row) is None for row in table.rows):
            raise BadInput(f"no run has a value of {name}")
        return Goal(text, name, measured, sign, quantity(bound, measured.unit))
    except (BadInput, ValueError) as error:
        raise BadInput(f"--goal {text}: {error}") from None


def _metric(name: str, rows: Sequence[dict[str, Any]]) -> RunMetric:
    """A metric of the registry of one flow or link, or what `metric` reads."""
    owner, _, short = name.rpartition(".")
    registered = METRICS.get(ALIASES.get(short, short))
    if owner and registered is not None and registered.of == "flow":
        return metric(short, rows, flows=_flows(owner, rows))
    if owner and registered is not None and registered.of == "link":
        return metric(short, rows, link=owner)
    return metric(name, rows)


def _flows(name: str, rows: Sequence[dict[str, Any]]) -> list[str]:
    """The flow of this name, or those that a `count` (name0, name1, ...) or `connections` (name/0, ...) have made."""
    names = dict.fromkeys(flow["name"] for row in rows for flow in row["flows"])
    numbered = [each for each in names if re.fullmatch(rf"{re.escape(name)}/?\d+", each)]
    return [name] if name in names or not numbered else numbered


@dataclass(frozen=True)
class Extreme:
    """The value of a metric at the best or the worst condition of a label."""

    condition: str
    """The labels of the other axes."""
    estimate: stats.Estimate


Range = tuple[Extreme, Extreme] | None
"""The best and the worst condition; None if no run has a value."""


@dataclass(frozen=True)
class LabelRow:
    """A label of the axis that is judged: in how many conditions it meets all goals, and its ranges."""

    label: str
    counts: Mapping[Verdict, int]
    ranges: Sequence[Range]
    """By each goal."""

    @property
    def conditions(self) -> int:
        """The number of conditions."""
        return sum(self.counts.values())


@dataclass(frozen=True)
class Judgement:
    """Which labels of an axis meet the goals, over the conditions that the other axes make."""

    axis: str
    goals: Sequence[Goal]
    rows: Sequence[LabelRow]
    others: Mapping[str, Sequence[str]]
    """The labels of the other axes, which make the conditions."""
    seeds: tuple[int, int]
    """The smallest and the largest number of seeds of a point."""

    @property
    def conditions(self) -> int:
        """The largest number of conditions of a label."""
        return max(row.conditions for row in self.rows)


def judge(table: StudyTable, texts: Sequence[str], per: str | None = None) -> Judgement:
    """Judge the labels of an axis by goals; without `per`, of the first axis with several labels.

    Every condition counts: a combination of labels of the other axes at which the study has runs. Raises BadInput.
    """
    goals = [goal(text, table) for text in texts]
    axis = axis_of(table, per)
    rows = []
    for label, points in points_of(table, axis).items():
        counts: dict[Verdict, int] = {"met": 0, "not met": 0, "undecided": 0}
        for point in points:
            counts[_together([_verdict(each, table, point) for each in goals])] += 1
        ranges = [range_of(table, points, axis, each.metric, more=each.more) for each in goals]
        rows.append(LabelRow(label, counts, ranges))
    others = {name: labels for name, labels in table.labels.items() if name != axis}
    return Judgement(axis, goals, rows, others, table.seeds)


def axis_of(table: StudyTable, per: str | None) -> str:
    """The axis of this name, or the first one with several labels; empty if there is none. Raises BadInput."""
    if per is not None:
        return named(per, list(table.labels), "--per")
    return next(iter(table.labels), "")


def points_of(table: StudyTable, axis: str) -> dict[str, list[Point]]:
    """The planned points of each label of an axis; without an axis, all points."""
    points = table.planned or list(table.points)
    if not axis:
        return {"": list(points)}
    return {label: [point for point in points if (axis, label) in point] for label in table.labels[axis]}


def estimate_at(table: StudyTable, point: Point, measured: RunMetric) -> stats.Estimate | None:
    """The mean of a metric over the seeds of a point; None if no run has a value."""
    values = [x for run in table.points.get(point, ()) if (x := measured.value(run)) is not None]
    return measured.estimate(values) if values else None


def range_of(table: StudyTable, points: Sequence[Point], axis: str, measured: RunMetric, *, more: bool) -> Range:
    """The best and the worst value of a metric over points, with the labels of the axes other than `axis`."""
    values = []
    for point in points:
        others = [labelled(name, text) for name, text in point if name != axis and name in table.labels]
        if (e := estimate_at(table, point, measured)) is not None:
            values.append(Extreme(", ".join(others), e))
    if not values:
        return None
    values.sort(key=lambda entry: entry.estimate.value, reverse=more)
    return values[0], values[-1]


def labelled(axis: str, label: str) -> str:
    """A label of a condition; a number without a unit has the name of its axis before it."""
    return f"{axis_words(axis)} {label}" if re.fullmatch(r"[-+.\deE]+", label) else label


def _verdict(goal: Goal, table: StudyTable, point: Point) -> Verdict:
    e = estimate_at(table, point, goal.metric)
    if e is None:
        return "undecided"
    return goal.verdict(e, equal=len(table.points[point]) < table.seeds_of[point])


def _together(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict of several goals: not met if one is not, undecided if one is."""
    if "not met" in verdicts:
        return "not met"
    return "undecided" if "undecided" in verdicts else "met"


def heading(judgement: Judgement) -> str:
    """The goals, the number of conditions and what makes them, and the seeds, in a sentence."""
    few, many = judgement.seeds
    seeds = f"{few if few == many else f'{few} to {many}'} seed{'' if many == 1 else 's'} each"
    axes = "; ".join(f"{axis_words(name)} {', '.join(labels)}" for name, labels in judgement.others.items())
    text = f"goal: {' and '.join(each.text for each in judgement.goals)}, in {judgement.conditions} "
    return f"{text}condition{'' if judgement.conditions == 1 else 's'}{f' ({axes})' if axes else ''}, {seeds}"


def range_text(measured: RunMetric, extremes: Range) -> str:
    """The best and the worst value of a metric with the worst condition, such as `0.6 to 2.2 ms (flows 16)`."""
    if extremes is None:
        return "-"
    best, worst = extremes
    factor, unit = prefixed(measured.unit, [best.estimate.value, worst.estimate.value])
    ends = worst.estimate
    half = (
        f" ± {value(factor * (ends.half_width or 0.0), 2)}"
        if ends.low is not None and ends.high is not None and ends.high > ends.low
        else ""
    )
    where = f" ({worst.condition})" if worst.condition else ""
    if best == worst:
        return f"{value(factor * ends.value)}{half} {unit}".rstrip() + where
    return f"{value(factor * best.estimate.value)} to {value(factor * ends.value)}{half} {unit}".rstrip() + where


def scope(judgement: Judgement, not_modelled: str) -> str:
    """What the judgement is about: the labels that were tried, and what the study says that it does not model."""
    labels = f"the {len(judgement.rows)} labels of {axis_words(judgement.axis)} that were tried"
    parts = [f"This is about {labels if judgement.axis else 'the study as a whole'}"]
    return "; ".join([*parts, *([f"not modelled: {not_modelled}"] if not_modelled else [])]) + "."


def not_modelled(scenario: str) -> str:
    """What the comments at the head of a scenario's text say after "Not modelled:"; empty without such a line."""
    for line in scenario.splitlines():
        if line.strip() and not line.startswith("#"):
            break
        words, _, rest = line.removeprefix("#").strip().partition(":")
        if words.lower() == "not modelled":
            return rest.strip().rstrip(".")
    return ""


def columns(judgement: Judgement) -> list[Column]:
    """The judgement as columns of a table: counts, then best and worst value of each goal with the worst condition."""
    rows = judgement.rows
    parts = [Column(axis_words(judgement.axis) or "study", [row.label or "all" for row in rows], key=True)]
    parts.append(Column("met", [f"{row.counts['met']} of {row.conditions}" for row in rows]))
    parts += [Column(verdict, [str(row.counts[verdict]) for row in rows]) for verdict in ("not met", "undecided")]
    for number, each in enumerate(judgement.goals):
        ranges = [row.ranges[number] for row in rows]
        unit = each.metric.unit
        for head, end in (("best", 0), ("worst", 1)):
            parts.append(Column(f"{each.name}: {head}", [pair and pair[end].estimate for pair in ranges], unit))
        parts.append(Column("worst condition", [pair[1].condition if pair else "" for pair in ranges]))
    return parts


def as_json(judgement: Judgement) -> dict[str, Any]:
    """The judgement as JSON data, in SI units."""

    def extreme(entry: Extreme) -> dict[str, Any]:
        return {
            "condition": entry.condition,
            "value": entry.estimate.value,
            "low": entry.estimate.low,
            "high": entry.estimate.high,
            "n": entry.estimate.n,
        }

    return {
        "axis": judgement.axis,
        "goals": [
            {"goal": each.text, "metric": each.metric.name, "unit": each.metric.unit, "bound": each.bound}
            for each in judgement.goals
        ],
        "conditions": dict(judgement.others),
        "rows": [
            {
                "label": row.label,
                **{verdict.replace(" ", "_"): number for verdict, number in row.counts.items()},
                "ranges": [
                    None if pair is None else {"best": extreme(pair[0]), "worst": extreme(pair[1])}
                    for pair in row.ranges
                ],
            }
            for row in judgement.rows
        ],
    }
