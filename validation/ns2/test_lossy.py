"""Lossy links against the stored runs of ns-2."""

from __future__ import annotations

import pytest
from lossy import CASES, MEASURES, compared
from reference import Compared

from ackclock import stats

Found = dict[tuple[str, str], Compared]


@pytest.fixture(scope="module")
def found() -> Found:
    """Ours beside the stored runs."""
    return compared()


def test_reno_with_ecn_and_beside_udp_is_that_of_ns2(found: Found) -> None:
    """Eight cases, three measures each: no difference is significant; measures without variance are equal."""
    reno = {key: value for key, value in found.items() if ", reno," in key[0]}
    assert len(reno) == 8 * len(MEASURES)
    assert min(stats.holm([p for _, _, p in reno.values() if p is not None])) > 0.05
    assert all(ours.value == theirs.value for ours, theirs, p in reno.values() if p is None)


def test_westwood_plus_is_that_of_ns2_up_to_one_percent(found: Found) -> None:
    """Goodput within 4 %. Above, ns-2's TCP/Linux repairs lost retransmissions for which ours needs a timeout."""
    cases = [case.name for case in CASES if case.kind == "linux-westwood" and case.loss <= 0.01]
    assert len(cases) == 5
    for name in cases:
        ours, theirs, _ = found[name, "goodput_mbps"]
        assert abs(ours.value / theirs.value - 1) < 0.04, (name, ours, theirs)
