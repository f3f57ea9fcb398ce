"""ns-2.35's deterministic traces as tests. `DIFFERENT` lists the intended differences."""

from __future__ import annotations

import pytest
from cases import Case, cases, compare

ALL = list(cases())

# In these cases, a packet arrives at the bottleneck at the same time at which a transmission ends. Both simulators
# process the two events in the order in which they were scheduled. ns-2's clock is a double, however, and two sums
# of the same time sometimes differ in the last bit, which changes the order. All later events then differ.
# The value is the number of rows that agree before.
DIFFERENT = {
    "vegas c04": 167,
    "vegas c02 (fine clock)": 80,
}


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_agrees_with_ns2(case: Case) -> None:
    """Every row and every total agrees, within the tolerances of the reference's report."""
    found = compare(case)
    assert found.violations == 0
    theirs, ours = found.first_drop
    if theirs is None:
        assert ours is None
    else:
        assert ours == pytest.approx(theirs, abs=1e-5)
    if case.name in DIFFERENT:
        # The run differs from this row on. If the first difference is elsewhere, the entry is out of date.
        assert found.head == DIFFERENT[case.name]
        return
    assert found.same == found.rows
    assert found.totals == {key: (value, value) for key, (value, _) in found.totals.items()}


def test_every_case_is_there() -> None:
    """Five algorithms; eight cases with the coarse clock, six with the fine one."""
    assert len(ALL) == 5 * (8 + 6)
    assert {case.name for case in ALL} >= set(DIFFERENT)
