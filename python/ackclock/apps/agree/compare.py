"""Tests of equivalence between a substrate and the reference: one row for each metric, with a verdict."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ackclock import stats
from ackclock.apps.agree.metrics import DISTANCE, DISTANCE_CAP, DISTANCE_FLOOR, Metric, distance

Verdict = Literal["agrees", "differs", "undecided", "not compared"]
Test = Literal["ratio", "difference", "distance", "both 0", "deterministic", "none"]
LEVEL = 0.05
"""Level of every test, after Holm's correction over the metrics of a comparison."""
MOST_PART = 0.25
"""Largest relative region. Where the absolute bound of a metric is larger, the difference is tested instead."""


@dataclass(frozen=True)
class Row:
    """A metric on a substrate, compared with the reference.

    `value` is the ratio to the reference, the difference in the metric's unit, or the distance of distributions, by
    `test`. `low90` to `high90` and `low95` to `high95` are its intervals, `low` to `high` is the region of agreement.
    `reference` and `compared` are the means over the runs, in the metric's unit.
    """

    metric: str
    test: Test
    verdict: Verdict
    reference: float | None = None
    compared: float | None = None
    value: float | None = None
    low90: float | None = None
    high90: float | None = None
    low95: float | None = None
    high95: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    """Pairs of runs; runs of the substrate if they are not paired."""
    n_reference: int = 0
    p_agrees: float | None = None
    """p-value of the two one-sided tests, after Holm's correction."""
    p_differs: float | None = None
    """p-value of a value outside the region, after Holm's correction."""
    reason: str = ""
    known: str | None = None
    """Identity of the known difference that explains a verdict `differs`."""
    suspected: str | None = None
    """Identity of the entry that describes a finding whose cause is open."""


def compare(metric: Metric, a: Mapping[int, float | None], b: Mapping[int, float | None], *, paired: bool) -> Row:
    """Compare the values of a metric by seed: `a` on the reference, `b` on the substrate. p-values are uncorrected.

    With `paired`, only seeds that have a value on both are used, and each pair gives one ratio.
    """
    seeds = [seed for seed in a if a[seed] is not None and (not paired or b.get(seed) is not None)]
    others = seeds if paired else [seed for seed in b if b[seed] is not None]
    x = [float(a[seed] or 0) for seed in seeds]
    y = [float(b[seed] or 0) for seed in others]
    if not x or not y:
        return Row(metric.name, "none", "not compared", _mean(x), _mean(y), reason="no run has a value")
    row = Row(metric.name, "none", "undecided", _mean(x), _mean(y), n=len(y), n_reference=len(x))
    if not any(x) and not any(y):
        return replace(row, test="both 0", verdict="agrees", reason="both 0")
    mean = sum(x) / len(x)
    wide = max(metric.part, metric.least / mean if mean > 0 else math.inf)
    if min(*x, *y) > 0 and wide <= MOST_PART:
        return _ratio(row, x, y, wide, paired=paired)
    width = max(metric.part * mean, metric.least)
    zero = "a value is 0" if min(*x, *y) <= 0 else "the values are small"
    row = replace(row, test="difference", low=-width, high=width, reason=f"{zero}: difference instead of ratio")
    return _tested(row, x, y, paired=paired)


def compare_distributions(
    a: Mapping[int, np.ndarray], b: Mapping[int, np.ndarray], *, paired: bool, metric: str = DISTANCE
) -> Row:
    """Compare distributions by seed with Kolmogorov and Smirnov's distance (`metrics.distance`).

    The bound is the 95th percentile of the distances between two seeds of the reference, at least 0.05 and at most
    0.15. The values are the distances of the pairs. Without pairs there is no verdict: the distance between runs of
    different seeds includes that of the seeds; it is given as the mean over all runs of the reference.
    """
    a = {seed: values for seed, values in a.items() if len(values)}
    b = {seed: values for seed, values in b.items() if len(values)}
    if paired:
        distances = [distance(a[seed], b[seed]) for seed in a if seed in b]
    else:
        distances = [
            float(np.mean([distance(windows_a, values) for windows_a in a.values()])) for values in b.values() if a
        ]
    if not distances:
        return Row(metric, "none", "not compared", reason="no run has a window")
    between = [distance(a[i], a[j]) for i, j in itertools.combinations(a, 2)]
    bound = min(max(DISTANCE_FLOOR, float(np.quantile(between, 0.95)) if between else 0.0), DISTANCE_CAP)
    row = Row(metric, "distance", "undecided", n=len(distances), n_reference=len(a), low=0.0, high=bound)
    row = replace(row, reference=_mean(between), compared=_mean(distances))
    if not paired:
        return replace(row, value=_mean(distances), verdict="not compared", reason="runs are not paired")
    if len(distances) > 1 and stats.same(distances):
        distances = distances[:1]
    if len(distances) == 1:
        return _single(replace(row, value=distances[0]), deterministic=row.n > 1)
    narrow, wide = stats.mean(distances, 0.90), stats.mean(distances, 0.95)
    row = replace(row, value=wide.value, low90=narrow.low, high90=narrow.high, low95=wide.low, high95=wide.high)
    return replace(
        row, p_agrees=stats.equivalence(distances, -1.0, bound), p_differs=stats.outside(distances, -1.0, bound)
    )


def judge(rows: Sequence[Row]) -> list[Row]:
    """The rows with Holm's correction over those that were tested, and with their verdicts."""
    tested = [row for row in rows if row.p_agrees is not None and row.p_differs is not None]
    agrees = iter(stats.holm([row.p_agrees for row in tested if row.p_agrees is not None]))
    differs = iter(stats.holm([row.p_differs for row in tested if row.p_differs is not None]))
    judged = []
    for row in rows:
        if row.p_agrees is None or row.p_differs is None:
            judged.append(row)
            continue
        p_agrees, p_differs = next(agrees), next(differs)
        verdict: Verdict = "agrees" if p_agrees < LEVEL else "differs" if p_differs < LEVEL else "undecided"
        judged.append(replace(row, p_agrees=p_agrees, p_differs=p_differs, verdict=verdict))
    return judged


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _ratio(row: Row, x: Sequence[float], y: Sequence[float], part: float, *, paired: bool) -> Row:
    """Test the mean of the logarithms of the ratios; the results are converted back to ratios."""
    row = replace(row, test="ratio", low=math.log(1 - part), high=math.log(1 + part))
    row = _tested(row, [math.log(v) for v in x], [math.log(v) for v in y], paired=paired)
    names = ("value", "low90", "high90", "low95", "high95", "low", "high")
    ends: dict[str, Any] = {name: None if (end := getattr(row, name)) is None else math.exp(end) for name in names}
    return replace(row, **ends)


def _tested(row: Row, x: Sequence[float], y: Sequence[float], *, paired: bool) -> Row:
    """Test that the mean of y - x lies within the row's region."""
    low, high = row.low, row.high
    assert low is not None
    assert high is not None
    if stats.same(x) and stats.same(y):
        return _single(replace(row, value=y[0] - x[0]), deterministic=True)
    if len(y) < 2 or len(x) < 2:
        return _single(replace(row, value=sum(y) / len(y) - sum(x) / len(x)), deterministic=False)
    if paired:
        values, others = [v - u for u, v in zip(x, y, strict=True)], None
        narrow, wide = (stats.mean(values, level) for level in (0.90, 0.95))
    else:
        values, others = list(y), list(x)
        narrow, wide = (stats.difference(values, others, level) for level in (0.90, 0.95))
    row = replace(row, value=wide.value, low90=narrow.low, high90=narrow.high, low95=wide.low, high95=wide.high)
    p_agrees = stats.equivalence(values, low, high, others)
    p_differs = stats.outside(values, low, high, others)
    return replace(row, p_agrees=p_agrees, p_differs=p_differs)


def _single(row: Row, *, deterministic: bool) -> Row:
    """A row with one value: if every seed gave the same, it decides; otherwise nothing is decided."""
    assert row.value is not None
    assert row.low is not None
    assert row.high is not None
    if not deterministic:
        return replace(row, reason="fewer than two runs")
    verdict: Verdict = "agrees" if row.low <= row.value <= row.high else "differs"
    return replace(row, verdict=verdict, n=1, n_reference=1, reason="deterministic: every seed gave this value")
