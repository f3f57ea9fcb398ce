"""802.11 and AODV against ns-2.35: the stored runs of single effects, and of moving nodes."""

from __future__ import annotations

from statistics import mean

import pytest
from radio import CHAINS, CROWDS, MOVING, NEIGHBOURS, PAIRS, Case, compared


def off(cases: list[Case]) -> dict[str, float]:
    """Relative difference of our mean throughput from that of ns-2."""
    found = compared(cases)
    pairs = {case.name: found[case.name, "throughput_kbps"] for case in cases}
    return {name: ours.value / theirs.value - 1 for name, (ours, theirs, _) in pairs.items()}


@pytest.mark.parametrize(
    ("cases", "tolerance"),
    [(PAIRS, 0.01), (NEIGHBOURS, 0.03), (CROWDS, 0.03), (CHAINS, 0.05)],
    ids=["pairs", "neighbours", "crowds", "chains"],
)
def test_single_effects_are_those_of_ns2(cases: list[Case], tolerance: float) -> None:
    """Two saturated stations within 1 %, hidden and exposed pairs and many stations within 3 %, chains within 5 %."""
    found = off(cases)
    assert len(found) == len(cases)
    assert all(abs(by) < tolerance for by in found.values()), found


@pytest.mark.parametrize("nodes", [10, 20, 30, 40, 50])
def test_moving_nodes_deliver_what_ns2s_do(nodes: int) -> None:
    """Over three movement files: throughput and delivery ratio within 5 %, routing load within 20 %."""
    cases = [case for case in MOVING if case.nodes == nodes]
    found = compared(cases)
    assert len(cases) == 3
    for measure, tolerance in (("throughput_kbps", 0.05), ("delivery_ratio", 0.05), ("routing_load", 0.20)):
        pairs = [found[case.name, measure] for case in cases]
        ours, theirs = mean(pair[0].value for pair in pairs), mean(pair[1].value for pair in pairs)
        assert abs(ours / theirs - 1) < tolerance, (nodes, measure, ours, theirs)
