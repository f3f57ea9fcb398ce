"""Sack1 with a plain sink and with a SACK sink, against the stored runs of ns-2."""

from __future__ import annotations

import pytest
from sinks import CASES, Case, compare


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_agrees_with_ns2(case: Case) -> None:
    """Every row and every total agrees."""
    found = compare(case)
    assert found.violations == 0
    assert found.totals == {key: (theirs, theirs) for key, (theirs, _) in found.totals.items()}
    assert found.same == found.rows
