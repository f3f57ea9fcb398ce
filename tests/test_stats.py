"""Statistics against hand-computed and published values (docs/specs/metrics.md section 5)."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from ackclock import stats


def test_interval_of_ten_values_with_deviation_one() -> None:
    x = np.array([-1.0, 1.0] * 5)
    e = stats.mean((x / x.std(ddof=1)).tolist())
    assert e.n == 10
    assert e.value == pytest.approx(0.0)
    assert e.half_width == pytest.approx(0.71531, abs=1e-4)  # the table's t is 2.262


def test_too_few_values_have_no_interval() -> None:
    assert stats.mean([3.0]) == stats.Estimate(3.0, None, None, 1)
    assert math.isnan(stats.mean([]).value)
    assert stats.mean([2.0, 2.0, 2.0]).half_width == 0.0


def test_paired_differences_use_the_common_errors() -> None:
    rng = np.random.default_rng(1)
    common = rng.normal(0, 10, 30)
    a, b = common + 1.0 + rng.normal(0, 0.1, 30), common + rng.normal(0, 0.1, 30)
    found = stats.paired(a.tolist(), b.tolist())
    assert found.difference.low is not None
    assert 0.9 < found.difference.low < 1.0 < (found.difference.high or 0) < 1.1
    assert found.wilcoxon is not None
    assert found.wilcoxon < 1e-6
    assert found.variance_ratio is not None
    assert found.variance_ratio > 1000
    assert stats.paired([1.0, 2.0], [1.0, 2.0]).wilcoxon is None
    with pytest.raises(ValueError, match="2 and 1"):
        stats.paired([1.0, 2.0], [1.0])


def test_ratios() -> None:
    # Logarithms of 2 and 8 have mean ln 4.
    e = stats.ratio([2.0, 8.0], [1.0, 1.0])
    assert e.value == pytest.approx(4.0)
    half = 12.706205 * math.log(2)  # t(1, 0.975) times the standard error ln 2
    assert e.low == pytest.approx(4 * math.exp(-half), rel=1e-5)
    # With a zero: the ratio of the means, by bootstrap.
    e = stats.ratio([0.0, 2.0, 4.0, 2.0], [1.0, 1.0, 1.0, 1.0])
    assert e.value == pytest.approx(2.0)
    assert e.low is not None
    assert e.high is not None
    assert 0.5 <= e.low < 2.0 < e.high <= 3.5


def test_a_ratio_without_an_interval_has_none_and_says_nothing() -> None:
    """Some samples of the pairs have the mean 0 below the line."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        e = stats.ratio([5.0, 5.0, 5.0], [0.0, 0.0, 1.0])
    assert (e.value, e.low, e.high) == (15.0, None, None)


def test_bootstrap_covers() -> None:
    rng = np.random.default_rng(2)
    hits = 0
    for _ in range(60):
        e = stats.bootstrap(lambda x: float(x.mean()), rng.normal(5.0, 1.0, 25), resamples=400)
        hits += bool(e.low is not None and e.high is not None and e.low <= 5.0 <= e.high)
    assert hits >= 50  # 57 expected


def test_holm() -> None:
    # Holm's own steps: 0.01 x 4, 0.02 x 3, 0.03 x 2, 0.04 x 1, made monotone.
    assert stats.holm([0.02, 0.01, 0.04, 0.03]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert stats.holm([0.6, 0.7]) == [1.0, 1.0]
    assert stats.holm([]) == []


def test_a_correction_leaves_out_tests_without_a_p_value() -> None:
    assert stats.corrected([0.02, None, 0.01], stats.holm) == pytest.approx([0.02, None, 0.02])
    assert stats.corrected([None], stats.false_discovery) == [None]


def test_contrasts_are_zero_where_the_ratio_is_the_bound() -> None:
    assert stats.contrasts([2.0, 8.0], [1.0, 2.0], 2.0) == pytest.approx([0.0, math.log(2)])
    assert stats.contrasts([2.0, 0.0], [1.0, 2.0], 2.0) == [0.0, -4.0]  # a zero has no logarithm
    assert stats.contrasts([3.0, 0.0], [1.0, 2.0]) == [2.0, -2.0]


def test_a_ratio_of_zeros_is_one() -> None:
    assert stats.ratio_or_equal([0.0, 0.0], [0.0, 0.0]) == stats.Estimate(1.0, None, None, 2)
    assert stats.ratio_or_equal([2.0, 8.0], [1.0, 1.0]) == stats.ratio([2.0, 8.0], [1.0, 1.0])
    assert math.isnan(stats.ratio_or_equal([], []).value)


def test_p_values() -> None:
    values = [1.0, 1.1, 0.9, 1.05]
    far = stats.p_value(values, 0.0)
    assert far is not None
    assert far < 0.001
    assert stats.p_value(values, float(np.mean(values))) == pytest.approx(1.0)
    assert (stats.p_value([2.0, 2.0], 1.0), stats.p_value([2.0, 2.0], 2.0)) == (0.0, 1.0)
    assert stats.p_value([2.0], 1.0) is None
    inside = stats.equivalence(values, 0.5, 1.5)
    assert inside is not None
    assert inside < 0.01
    assert (stats.equivalence(values, 1.2, 1.5) or 0) > 0.9
    assert stats.equivalence([2.0, 2.0], 1.0, 3.0) == 0.0
    assert (stats.signed_rank([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]) or 1) == pytest.approx(2 / 64)  # all of six above
    assert stats.signed_rank([1.0, 1.0], 1.0) is None


def test_mser_cuts_a_start_and_leaves_a_steady_series() -> None:
    rng = np.random.default_rng(3)
    steady = rng.normal(10, 1, 1000)
    assert stats.mser(steady.tolist()) <= 250
    ramp = np.concatenate([np.linspace(0, 10, 200) + rng.normal(0, 1, 200), steady])
    assert 150 <= stats.mser(ramp.tolist()) <= 320
    assert stats.mser([1.0, 2.0, 3.0]) == 0


def test_jain() -> None:
    assert stats.jain([10, 10, 20]) == pytest.approx(0.888889, abs=1e-6)
    assert math.isnan(stats.jain([0, 0]))


def test_two_lists_without_pairs() -> None:
    # Means 5 and 3, variances 2.5 and 1; the degrees of freedom by Welch and Satterthwaite.
    a, b = [3.0, 4.0, 5.0, 6.0, 7.0], [2.0, 3.0, 4.0]
    error = math.sqrt(2.5 / 5 + 1 / 3)
    freedom = (2.5 / 5 + 1 / 3) ** 2 / ((2.5 / 5) ** 2 / 4 + (1 / 3) ** 2 / 2)
    found = stats.difference(a, b)
    assert found.value == 2.0
    assert freedom == pytest.approx(5.88, abs=0.01)
    assert found.half_width == pytest.approx(2.459 * error, rel=0.001)
    assert found.n == 3
    assert stats.difference([1.0, 1.0], [3.0, 3.0]).half_width == 0.0
    assert stats.difference([1.0], [3.0, 4.0]).low is None


def test_inside_outside_and_the_intervals() -> None:
    rng = np.random.default_rng(3)
    for others in (None, rng.normal(0, 1, 9).tolist()):
        for shift in (0.0, 0.4, 0.9, 1.4, 2.5):
            values = (shift + rng.normal(0, 0.6, 8)).tolist()
            narrow, wide = (
                stats.mean(values, level) if others is None else stats.difference(values, others, level)
                for level in (0.90, 0.95)
            )
            assert narrow.low is not None
            assert narrow.high is not None
            assert wide.low is not None
            assert wide.high is not None
            inside = stats.equivalence(values, -1.0, 1.0, others)
            beyond = stats.outside(values, -1.0, 1.0, others)
            assert inside is not None
            assert beyond is not None
            assert (inside < 0.05) == (narrow.low > -1 and narrow.high < 1)
            assert (beyond < 0.05) == (wide.low > 1 or wide.high < -1)
    assert stats.outside([2.0, 2.0], 1.0, 3.0) == 1.0
    assert stats.outside([4.0, 4.0], 1.0, 3.0) == 0.0
    assert stats.outside([4.0], 1.0, 3.0) is None
