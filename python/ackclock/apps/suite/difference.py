"""Which metrics of a suite changed between two controllers, or two versions of one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ackclock import stats
from ackclock.apps.suite.measures import SUITE_METRICS
from ackclock.apps.suite.result import SuiteResult
from ackclock.base.files import BadInput

Verdict = Literal["worse", "better", "other", "missing", "same"]


@dataclass(frozen=True)
class Change:
    """A metric of one situation, before (`a`) and after (`b`)."""

    situation: str
    point: str
    metric: str
    a: float
    b: float | None
    difference: stats.Estimate
    """b - a over the seeds, paired; 95 % interval."""
    p: float | None
    """p-value of the difference (paired t test), after Benjamini and Hochberg's correction over all metrics."""
    verdict: Verdict
    """One of: worse; better; other (neither direction is better); missing (`b` lacks the metric or one of its seeds).

    same: no significant difference, or a difference within the tolerance.
    """

    @property
    def ratio(self) -> stats.Estimate:
        """Mean after over mean before, with the interval of the difference.

        Values below the least noticeable one (`Metric.least`) count as that, so that ratios of tiny values are 1.
        """
        least = SUITE_METRICS[self.metric].negligible
        before = max(self.a, least)
        d = self.difference
        value, low, high = (None if x is None else max(self.a + x, least) / before for x in (d.value, d.low, d.high))
        return stats.Estimate(1.0 if value is None else value, low, high, d.n)

    @property
    def size(self) -> float:
        """The logarithm of the ratio, without its sign: 1 for a factor of two."""
        return 0.0 if self.b is None else abs(math.log2(self.ratio.value))


def largest(changes: Sequence[Change], most: int = 10) -> list[Change]:
    """The largest significant changes, by `Change.size`: of each metric of a situation, the largest over its points."""
    ranked = sorted((c for c in changes if c.verdict in {"better", "worse", "other"}), key=lambda c: -c.size)
    first: dict[tuple[str, str], Change] = {}
    for change in ranked:
        first.setdefault((change.situation, change.metric), change)
    return list(first.values())[:most]


def changes_between(
    a: SuiteResult, b: SuiteResult, tolerance: float = 0.01, level: float = 0.05, *, same_form: bool = True
) -> list[Change]:
    """Compare the metrics that both results have, paired by seed (common random numbers).

    A metric counts as changed if the difference is significant and larger than `tolerance` times the larger mean. The
    expected fraction of false changes is at most `level`. A metric that is equal for every seed never counts as
    changed. Raises BadInput if the two results are not of the same suite or, with `same_form`, if only one of them is
    a quick run. Without `same_form`, the seeds that both have are compared.
    """
    if a.metadata.suite != b.metadata.suite:
        raise BadInput(f"{a.folder} is of the suite {a.metadata.suite}, {b.folder} of {b.metadata.suite}")
    if same_form and a.metadata.quick != b.metadata.quick:
        raise BadInput(f"only one of {a.folder} and {b.folder} is a --quick run; run both with or both without --quick")
    before, after = a.values(), b.values()
    pairs = []
    for key in before.keys() & after.keys():
        seeds = sorted(before[key].keys() & after[key].keys())
        if seeds:
            pairs.append((key, [before[key][s] for s in seeds], [after[key][s] for s in seeds]))
    if not pairs:
        raise BadInput(f"{a.folder} and {b.folder} have no metric in common")
    order = {key: i for i, key in enumerate(before)}
    pairs.sort(key=lambda pair: order[pair[0]])
    differences = [[y - x for x, y in zip(was, now, strict=True)] for _, was, now in pairs]
    # A metric with a single seed has no p-value and cannot count as changed.
    p_values = stats.corrected([stats.p_value(d, 0.0) for d in differences], stats.false_discovery)
    changes = []
    for ((situation, point, metric), was, now), d, p in zip(pairs, differences, p_values, strict=True):
        mean_a, mean_b = (sum(x) / len(x) for x in (was, now))
        large = abs(mean_b - mean_a) > tolerance * max(abs(mean_a), abs(mean_b))
        verdict: Verdict = "same"
        if p is not None and p < level and large:
            improvement = SUITE_METRICS[metric].better * (mean_b - mean_a)
            verdict = "better" if improvement > 0 else "worse" if improvement < 0 else "other"
        changes.append(Change(situation, point, metric, mean_a, mean_b, stats.mean(d), p, verdict))
    nothing = stats.Estimate(float("nan"), None, None, 0)
    for (situation, point, metric), had in before.items():
        if had.keys() - after.get((situation, point, metric), {}).keys():
            mean_a = sum(had.values()) / len(had)
            changes = [c for c in changes if (c.situation, c.point, c.metric) != (situation, point, metric)]
            changes.append(Change(situation, point, metric, mean_a, None, nothing, None, "missing"))
    return changes
