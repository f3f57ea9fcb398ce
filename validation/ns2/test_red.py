"""RED against the stored runs of ns-2: no measure of any setting differs significantly."""

from __future__ import annotations

from red import MEASURES, SETTINGS, compared

from ackclock import stats


def test_red_is_that_of_ns2() -> None:
    """Ten settings, four measures each."""
    found = compared()
    assert len(found) == len(SETTINGS) * len(MEASURES) == 40
    p_values = [p for _, _, p in found.values() if p is not None]
    assert min(stats.holm(p_values)) > 0.05
    for (setting, measure), (ours, theirs, _) in found.items():
        assert abs(ours.value - theirs.value) <= 0.03 * abs(theirs.value), (setting, measure, ours, theirs)
