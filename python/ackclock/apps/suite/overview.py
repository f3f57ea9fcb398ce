"""The first screen of a suite's page: a controller against others in every situation, by four aspects."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ackclock import stats
from ackclock.apps.suite.measures import SUITE_METRICS
from ackclock.apps.suite.result import SuiteResult
from ackclock.apps.suite.situation import Situation
from ackclock.base.si import value

Values = Mapping[tuple[str, str, str], Mapping[int, float]]
"""Values by seed for each (situation, point, metric)."""


@dataclass(frozen=True)
class Aspect:
    """A group of columns: its name, what its numbers mean, and the metrics that stand for it, first choice first."""

    name: str
    words: str
    metrics: tuple[str, ...]
    points: bool = False
    """Numbers are differences in percentage points, not ratios."""


ASPECTS = (
    Aspect(
        "throughput",
        "ratio; of completion times, the ratio of speeds",
        ("goodput", "completion", "utilisation", "requests", "bitrate"),
    ),
    Aspect(
        "delay",
        "ratio",
        ("p95_queueing", "queueing", "p95_completion", "p95_slowdown", "page_load", "p99_frame_delay"),
    ),
    Aspect("loss", "difference in percentage points", ("loss", "drop_rate", "rebuffer", "frames_on_time"), points=True),
    Aspect(
        "fairness, others",
        "ratio; of completion times, the ratio of speeds",
        ("rivals_kept", "rivals_completion", "rivals_p95_queueing", "rivals_frames_on_time", "jain", "share"),
    ),
)
SPEEDS = {"completion", "rivals_completion"}
"""Times, whose ratios are drawn as ratios of speeds, so that more is better."""


@dataclass(frozen=True)
class Cell:
    """A controller against another one, in a situation and an aspect."""

    metric: str
    estimate: stats.Estimate
    """Geometric mean of the ratios over points and seeds, or mean of the differences, with its 95 % interval."""
    text: str
    tone: float
    """From -1 (worse) to 1 (better); 0 if the interval contains no difference, or if neither direction is better."""
    sure: bool
    """Whether the interval excludes that there is no difference."""

    @property
    def words(self) -> str:
        """Metric, value and interval."""
        metric = SUITE_METRICS[self.metric]
        e = self.estimate
        ends = "" if e.low is None or e.high is None else f" [{value(e.low)}, {value(e.high)}]"
        return f"{metric.words}: {self.text}{ends}"


def cell(aspect: Aspect, situation: Situation, tested: Values, other: Values) -> Cell | None:
    """Compare two controllers by the first metric of an aspect that both have in a situation, paired by seed."""
    for name in aspect.metrics:
        pairs_by_seed = _pairs(situation.id, name, tested, other)
        if pairs_by_seed:
            metric = SUITE_METRICS[name]
            by_seed = [_one(name, pairs, aspect.points) for pairs in pairs_by_seed.values()]
            e = stats.mean(by_seed) if aspect.points else stats.geometric(by_seed)
            nothing = 0.0 if aspect.points else 1.0
            sure = e.low is not None and e.high is not None and not e.low <= nothing <= e.high
            better = 1 if name in SPEEDS else metric.better
            strength = e.value / 2 if aspect.points else math.log2(e.value)
            tone = max(-1.0, min(1.0, better * strength)) if sure else 0.0
            return Cell(name, e, _text(e.value, aspect.points), tone, sure)
    return None


def _pairs(situation: str, metric: str, tested: Values, other: Values) -> dict[int, list[tuple[float, float]]]:
    """Pairs (own, other) of a metric over the points, by seed; only seeds that every point has."""
    keys = [key for key in tested if key[0] == situation and key[2] == metric and key in other]
    seeds = set.intersection(*(tested[key].keys() & other[key].keys() for key in keys)) if keys else set()
    return {seed: [(tested[key][seed], other[key][seed]) for key in keys] for seed in sorted(seeds)}


def _one(metric: str, pairs: Sequence[tuple[float, float]], points: bool) -> float:
    """The mean difference, or the mean logarithm of the ratios, over the points of a seed.

    Values below the least noticeable one count as that, so that ratios of tiny values do not matter.
    """
    if points:
        return sum(a - b for a, b in pairs) / len(pairs)
    least = SUITE_METRICS[metric].negligible
    sign = -1 if metric in SPEEDS else 1
    return sign * sum(math.log(max(a, least) / max(b, least)) for a, b in pairs) / len(pairs)


def _text(x: float, points: bool) -> str:
    if points:
        return "0" if abs(x) < 0.05 else f"{x:+.1f}" if abs(x) < 9.95 else f"{x:+.0f}"
    return f"{x:.2f}" if x < 10 else f"{x:.0f}"


@dataclass(frozen=True)
class HeatMap:
    """A row for each situation, a column for each aspect and other controller."""

    names: list[str]
    aspects: list[Aspect]
    rows: list[tuple[Situation, list[list[Cell | None]]]]

    def count(self, name: str) -> tuple[int, int, int]:
        """Numbers of cells against a controller: better, worse, all."""
        place = self.names.index(name)
        cells = [cell_of for _, groups in self.rows for group in groups if (cell_of := group[place]) is not None]
        return sum(c.tone > 0 for c in cells), sum(c.tone < 0 for c in cells), len(cells)


def heat_map(situations: Sequence[Situation], result: SuiteResult, others: Mapping[str, SuiteResult]) -> HeatMap:
    """Compare a result with others. Situations and aspects without any number are omitted."""
    tested = result.values()
    values = {name: other.values() for name, other in others.items()}
    rows = []
    for situation in situations:
        groups = [[cell(aspect, situation, tested, values[name]) for name in others] for aspect in ASPECTS]
        if any(one_cell is not None for group in groups for one_cell in group):
            rows.append((situation, groups))
    filled = [number for number in range(len(ASPECTS)) if any(any(groups[number]) for _, groups in rows)]
    table = [(situation, [groups[number] for number in filled]) for situation, groups in rows]
    return HeatMap(list(others), [ASPECTS[number] for number in filled], table)


def headline(situation: Situation) -> str | None:
    """The metric by which a situation is drawn as a small multiple."""
    order = ("share", "jain", "goodput", "p95_queueing", "completion", "utilisation")
    return next((metric for metric in order if metric in situation.metrics), None)
