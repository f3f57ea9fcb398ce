"""Which metrics of a suite changed between two controllers, or two versions of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ackclock import stats
from ackclock.files import BadInput
from ackclock.suite.measures import METRICS
from ackclock.suite.result import SuiteResult

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
    """Of the difference (paired t test), after Benjamini and Hochberg's correction over all metrics compared."""
    verdict: Verdict
    """worse or better; other where neither way is better; missing where `b` lacks the metric or a seed of it.

    same where no difference is shown, or a small one.
    """


def changes_between(a: SuiteResult, b: SuiteResult, tolerance: float = 0.01, level: float = 0.05) -> list[Change]:
    """Compare what both have, paired by seed: common random numbers.

    A metric changed where the difference is certain and more than `tolerance` of the larger mean. Of those called so a
    part of `level` at most is expected to be chance; what is equal under every seed, as all is where nothing
    changed, is never called so. Raises BadInput if the two are not of one suite under the same seeds.
    """
    if a.metadata.suite != b.metadata.suite:
        raise BadInput(f"{a.folder} is of the suite {a.metadata.suite}, {b.folder} of {b.metadata.suite}")
    if a.metadata.quick != b.metadata.quick:
        raise BadInput(f"one of {a.folder} and {b.folder} is quick, the other is not: run both alike")
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
    p_values = [stats.p_value(d, 0.0) for d in differences]
    # One seed alone decides nothing; what is equal everywhere needs no test.
    corrected = iter(stats.false_discovery([p for p in p_values if p is not None]))
    found = []
    for ((situation, point, metric), was, now), d, raw in zip(pairs, differences, p_values, strict=True):
        p = None if raw is None else next(corrected)
        mean_a, mean_b = (sum(x) / len(x) for x in (was, now))
        large = abs(mean_b - mean_a) > tolerance * max(abs(mean_a), abs(mean_b))
        verdict: Verdict = "same"
        if p is not None and p < level and large:
            way = METRICS[metric].better * (mean_b - mean_a)
            verdict = "better" if way > 0 else "worse" if way < 0 else "other"
        found.append(Change(situation, point, metric, mean_a, mean_b, stats.mean(d), p, verdict))
    nothing = stats.Estimate(float("nan"), None, None, 0)
    for (situation, point, metric), had in before.items():
        if had.keys() - after.get((situation, point, metric), {}).keys():
            mean_a = sum(had.values()) / len(had)
            found = [c for c in found if (c.situation, c.point, c.metric) != (situation, point, metric)]
            found.append(Change(situation, point, metric, mean_a, None, nothing, None, "missing"))
    return found
