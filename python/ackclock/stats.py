"""Statistics of repeated runs: intervals, paired comparisons, ratios, several claims at once, warm-up.

Intervals are 95 % by default. Formulas and test values: docs/specs/metrics.md section 4. scipy is used where possible.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its interval; `low` and `high` are None if there are too few values for one (n < 2)."""

    value: float
    low: float | None
    high: float | None
    n: int

    def scaled(self, factor: float) -> Estimate:
        """The estimate in another unit: value and interval times `factor`, which must be above zero."""
        low, high = (None if x is None else factor * x for x in (self.low, self.high))
        return Estimate(factor * self.value, low, high, self.n)

    @property
    def half_width(self) -> float | None:
        """Half the interval's width."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    def text(self, digits: int) -> str:
        """The value and the half width with so many decimals: "9.60 ± 0.02"; the value alone without an interval."""
        half = self.half_width
        return f"{self.value:.{digits}f}" + ("" if half is None else f" ± {half:.{digits}f}")


@cache
def student(n: int, level: float = LEVEL) -> float:
    """Half-width of the interval of a mean of `n` normal values (at least 2), in standard errors: Student's t."""
    from scipy.special import stdtrit  # scipy.stats has the same quantile, and takes half a second to import

    return float(stdtrit(n - 1, (1 + level) / 2))


def mean(values: Sequence[float], level: float = LEVEL) -> Estimate:
    """Mean with Student's t interval; NaN if there are no values."""
    x = np.asarray(values, dtype=float)
    n = len(x)
    if n == 0:
        return Estimate(math.nan, None, None, 0)
    centre = float(x.mean())
    if n == 1:
        return Estimate(centre, None, None, 1)
    half = float(student(n, level) * x.std(ddof=1) / math.sqrt(n))
    return Estimate(centre, centre - half, centre + half, n)


def prediction(values: Sequence[float], level: float = LEVEL) -> tuple[float, float]:
    """The interval in which one more value lies with probability `level`: mean +- t s sqrt(1 + 1/n), for normal values.

    Infinite for fewer than two values.
    """
    e = mean(values, level)
    if e.half_width is None:
        return -math.inf, math.inf
    half = e.half_width * math.sqrt(e.n + 1)  # that of the mean is t s / sqrt(n)
    return e.value - half, e.value + half


def within(values: Sequence[float], least: float = -math.inf, most: float = math.inf, level: float = LEVEL) -> Estimate:
    """Mean of values that lie between two bounds, with Student's t interval truncated at the bounds.

    For 3 to 10 values the coverage of the truncated interval is 0.88 to 0.89, that of a bootstrap 0.67 to 0.85.
    """
    e = mean(values, level)
    if e.low is None or e.high is None:
        return e
    return Estimate(e.value, max(e.low, min(least, e.value)), min(e.high, max(most, e.value)), e.n)


def same(values: Sequence[float]) -> bool:
    """Whether two or more values are equal, apart from rounding errors of sums in different order."""
    return len(values) > 1 and math.isclose(min(values), max(values), rel_tol=1e-12, abs_tol=1e-15)


def geometric(logarithms: Sequence[float], level: float = LEVEL) -> Estimate:
    """Geometric mean and interval of ratios that are given as logarithms."""
    logs = mean(logarithms, level)
    low, high = (None if x is None else math.exp(x) for x in (logs.low, logs.high))
    return Estimate(math.exp(logs.value), low, high, logs.n)


def over_runs(
    values: Sequence[float],
    least: float = -math.inf,
    most: float = math.inf,
    *,
    by_logarithm: bool = False,
    level: float = LEVEL,
) -> Estimate:
    """Mean of a metric over runs with its interval, which lies between the metric's bounds.

    `by_logarithm`: geometric mean, with Student's t interval of the logarithms, for percentiles of times and slowdowns:
    for 5 to 30 runs its coverage is 0.93 to 0.97. If a value is zero or less, as without it.
    """
    if by_logarithm and len(values) and min(values) > 0:
        return geometric([math.log(x) for x in values], level)
    return within(values, least, most, level)


def median_ranks(n: int, level: float = LEVEL) -> tuple[int, int] | None:
    """The ranks, from 1, of the two of `n` sorted values between which their median lies with probability `level`.

    They are as close as possible and as far from both ends; None if all values are too few.
    """
    from scipy.special import bdtr

    low = next((k for k in range((n + 1) // 2, 0, -1) if 1 - 2 * float(bdtr(k - 1, n, 0.5)) >= level), None)
    return None if low is None else (low, n + 1 - low)


def median(values: Sequence[float], level: float = LEVEL) -> Estimate:
    """Median with the interval between two of the values by their ranks, which assumes no distribution.

    NaN if there are no values; no interval for fewer than six at 95 %.
    """
    ordered = sorted(values)
    if not ordered:
        return Estimate(math.nan, None, None, 0)
    ranks = median_ranks(len(ordered), level)
    low, high = (None, None) if ranks is None else (ordered[rank - 1] for rank in ranks)
    return Estimate(float(np.median(ordered)), low, high, len(ordered))


@dataclass(frozen=True, slots=True)
class Paired:
    """Differences a - b under common random numbers.

    `wilcoxon` is the p-value of the signed-rank test, a check on the interval (None if every difference is zero);
    `variance_ratio` is the variance of an unpaired comparison divided by that of the paired one.
    """

    difference: Estimate
    wilcoxon: float | None
    variance_ratio: float | None


def paired(a: Sequence[float], b: Sequence[float], level: float = LEVEL) -> Paired:
    """Compare two lists whose i-th entries had the same seed. Raises ValueError if the lengths differ."""
    x, y = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if len(x) != len(y):
        raise ValueError(f"paired lists of {len(x)} and {len(y)} values")
    d = x - y
    p = signed_rank(d.tolist())
    spread = float(d.var(ddof=1)) if len(d) > 1 else 0.0
    gain = float(x.var(ddof=1) + y.var(ddof=1)) / spread if spread > 0 else None
    return Paired(mean(d.tolist(), level), p, gain)


def ratio(a: Sequence[float], b: Sequence[float], level: float = LEVEL) -> Estimate:
    """Geometric mean of a_i / b_i with its interval, by the logarithms of the ratios.

    If a value is zero or less, its logarithm does not exist. The result is then the ratio of the means, with a
    bootstrap interval over pairs.
    """
    x, y = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if len(x) != len(y):
        raise ValueError(f"paired lists of {len(x)} and {len(y)} values")
    if len(x) == 0:
        return Estimate(math.nan, None, None, 0)
    if np.all(x > 0) and np.all(y > 0):
        logs = mean(np.log(x / y).tolist(), level)
        return Estimate(
            math.exp(logs.value),
            None if logs.low is None else math.exp(logs.low),
            None if logs.high is None else math.exp(logs.high),
            logs.n,
        )
    total = float(y.mean())
    if total == 0:
        return Estimate(math.nan, None, None, len(x))
    return bootstrap(lambda u, v: float(u.mean() / v.mean()) if v.mean() != 0 else math.nan, x, y, level=level)


def ratio_or_equal(a: Sequence[float], b: Sequence[float], level: float = LEVEL) -> Estimate:
    """`ratio`; 1 without an interval where all values of both lists are zero."""
    equal = len(a) > 0 and not any(a) and not any(b)
    return Estimate(1.0, None, None, len(a)) if equal else ratio(a, b, level)


def contrasts(a: Sequence[float], b: Sequence[float], bound: float = 1.0) -> list[float]:
    """Values of pairs that are above zero where a_i / b_i is above the bound, to test the ratio.

    They are log(a_i / b_i) - log(bound), or a_i - bound * b_i in all pairs if any value is zero or less.
    """
    pairs = list(zip(a, b, strict=True))
    if all(x > 0 and y > 0 for x, y in pairs):
        return [math.log(x / y) - math.log(bound) for x, y in pairs]
    return [x - bound * y for x, y in pairs]


def bootstrap(
    statistic: Callable[..., float], *samples: np.ndarray, level: float = LEVEL, resamples: int = 10_000
) -> Estimate:
    """A statistic with its percentile bootstrap interval; samples are drawn together (paired)."""
    from scipy import stats

    value, n = statistic(*samples), len(samples[0])
    if n < 2 or all(np.ptp(sample) == 0 for sample in samples):
        return Estimate(value, value if n > 1 else None, value if n > 1 else None, n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)  # some resamples have no value: no interval
        result = stats.bootstrap(
            samples,
            statistic,
            paired=True,
            vectorized=False,
            n_resamples=resamples,
            confidence_level=level,
            method="percentile",
            rng=np.random.default_rng(0),
        )
    low, high = (None if math.isnan(end) else float(end) for end in result.confidence_interval)
    return Estimate(value, low, high, n)


def p_value(values: Sequence[float], reference: float) -> float | None:
    """Two-sided t test against the reference; None for fewer than two values, 0 or 1 where all are equal."""
    from scipy import stats

    x = np.asarray(values, dtype=float)
    if len(x) < 2:
        return None
    if np.ptp(x) == 0:
        return float(x[0] == reference)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # values that differ by rounding errors alone
        return float(stats.ttest_1samp(x, reference).pvalue)


def difference(a: Sequence[float], b: Sequence[float], level: float = LEVEL) -> Estimate:
    """Mean of `a` minus mean of `b`, two independent lists, with Welch's interval; n is that of the shorter list."""
    from scipy import stats

    x, y = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    n = min(len(x), len(y))
    if n == 0:
        return Estimate(math.nan, None, None, 0)
    value = float(x.mean() - y.mean())
    if n == 1:
        return Estimate(value, None, None, 1)
    if np.ptp(x) == 0 and np.ptp(y) == 0:
        return Estimate(value, value, value, n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # values that differ by rounding errors alone
        ends = stats.ttest_ind(x, y, equal_var=False).confidence_interval(level)
    return Estimate(value, float(ends.low), float(ends.high), n)


def _above_and_below(
    values: Sequence[float], low: float, high: float, others: Sequence[float] | None
) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """One-sided p-values that the mean is above `low` and below it, and the same of `high`; None for too few values.

    With `others`, an independent list, the mean of `values` minus that of `others` is tested (Welch).
    """
    from scipy import stats

    x = np.asarray(values, dtype=float)
    y = None if others is None else np.asarray(others, dtype=float)
    if len(x) < 2 or (y is not None and len(y) < 2):
        return None
    if np.ptp(x) == 0 and (y is None or np.ptp(y) == 0):
        constant = float(x[0] - (0.0 if y is None else y[0]))
        return (float(constant < low), float(constant >= low)), (float(constant <= high), float(constant > high))
    p_values = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # values that differ by rounding errors alone
        for bound in (low, high):
            if y is None:
                above = float(stats.ttest_1samp(x, bound, alternative="greater").pvalue)
            else:
                above = float(stats.ttest_ind(x - bound, y, equal_var=False, alternative="greater").pvalue)
            p_values.append((above, 1.0 - above))
    return p_values[0], p_values[1]


def equivalence(
    values: Sequence[float], low: float, high: float, others: Sequence[float] | None = None
) -> float | None:
    """Two one-sided t tests that the mean lies between `low` and `high`: the larger p-value.

    With `others`, an independent list, the mean of `values` minus that of `others` is tested (Welch).
    """
    tests = _above_and_below(values, low, high, others)
    return None if tests is None else max(tests[0][0], tests[1][1])


def outside(values: Sequence[float], low: float, high: float, others: Sequence[float] | None = None) -> float | None:
    """The p-value of a mean outside `low` to `high`: below 0.05 if and only if the 95 % interval lies outside.

    `others` as for `equivalence`.
    """
    tests = _above_and_below(values, low, high, others)
    return None if tests is None else min(1.0, 2 * min(tests[0][1], tests[1][0]))


def signed_rank(values: Sequence[float], reference: float = 0.0) -> float | None:
    """Wilcoxon's signed-rank test against the reference; None where nothing differs from it."""
    from scipy import stats

    d = np.asarray(values, dtype=float) - reference
    return float(stats.wilcoxon(d).pvalue) if len(d) > 1 and np.any(d != 0) else None


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: p-values that may be compared with the level as if there were one test."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = highest
    return adjusted


def false_discovery(p_values: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's correction: of the tests below a level q, the expected false fraction is at most q."""
    from scipy import stats

    return [float(p) for p in stats.false_discovery_control(p_values)] if p_values else []


def corrected(
    p_values: Sequence[float | None], correction: Callable[[Sequence[float]], list[float]]
) -> list[float | None]:
    """P-values after `holm` or `false_discovery` over those that exist; a test without one has None."""
    adjusted = iter(correction([p for p in p_values if p is not None]))
    return [None if p is None else next(adjusted) for p in p_values]


def mser(series: Sequence[float], batch: int = 5) -> int:
    """Number of leading values of a series to discard as warm-up: MSER-5 (White 1997).

    The number minimises the squared standard error of the remaining values, computed on means of `batch` values. It
    is at most half of the series.
    """
    x = np.asarray(series, dtype=float)
    groups = len(x) // batch
    if groups < 4:
        return 0
    means = x[: groups * batch].reshape(groups, batch).mean(axis=1)
    errors = [float(means[d:].var() / (groups - d)) for d in range(groups // 2)]
    return int(np.argmin(errors)) * batch


def jain(values: Sequence[float]) -> float:
    """Jain's fairness index, 1/n to 1; NaN if all are zero."""
    x = np.asarray(values, dtype=float)
    squares = float((x * x).sum())
    return float(x.sum()) ** 2 / (len(x) * squares) if squares > 0 else math.nan
