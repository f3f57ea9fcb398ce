"""Prague and DualPI2 within bounds of what was measured on Linux (docs/validation-l4s.md)."""

from __future__ import annotations

import json

import pytest
from networks import HERE, Pair, factor, pairs, ratio, run

DUAL_PI2 = [
    (50, "prague 10, cubic 10", 1.25),
    (50, "prague 20, cubic 20", 1.25),
    (50, "prague 80, cubic 80", 1.25),
    (50, "prague 80, cubic 20", 1.25),
    (50, "prague 20, cubic 80", 1.45),
    (50, "prague 10, cubic 160", 1.3),
    (50, "prague 160, cubic 10", 1.25),
    (50, "prague 20, prague 20", 1.05),
    (50, "cubic 20, cubic 20", 1.25),
    (10, "prague 10, cubic 10", 1.5),
    (10, "prague 80, cubic 80", 1.4),
    (10, "prague 20, cubic 80", 1.7),
]


def pair(table: str, queue: str, rate_mbps: int, name: str) -> Pair:
    return next(pair for pair in pairs(table, queue, rate_mbps) if pair.cell.name == name)


def beside(published: Pair) -> float:
    """By what factor ours differs."""
    return factor(published.ratio, ratio(run(published.cell.scenario())))


@pytest.mark.parametrize(("rate_mbps", "name", "bound"), DUAL_PI2)
def test_shares_behind_dualpi2_are_those_measured(rate_mbps: int, name: str, bound: float) -> None:
    assert beside(pair("rtt", "dualpi2", rate_mbps, name)) < bound


def test_two_prague_flows_of_different_paths_are_less_equal_than_measured() -> None:
    """A known difference: a change of it is worth a look at the page."""
    published = pair("rtt", "dualpi2", 50, "prague 20, prague 10")
    ours = ratio(run(published.cell.scenario(), (1, 2)))
    assert 1.5 < published.ratio / ours < 2.6


@pytest.mark.parametrize("queue", ["fq_codel(1q)", "pie", "red(400000b)"])
def test_prague_takes_nearly_all_behind_a_classic_discipline(queue: str) -> None:
    published = pair("rfc3168", queue, 50, "prague 20, cubic-ecn 20")
    assert published.ratio > 20
    assert beside(published) < 1.6


@pytest.mark.parametrize("name", ["prague 10, cubic 10", "prague 160, cubic 10"])
def test_a_fair_queue_gives_equal_shares(name: str) -> None:
    assert beside(pair("rtt", "fq_codel", 50, name)) < 1.03


def test_the_router_of_issue_21() -> None:
    assert beside(pair("issue21", "dualpi2", 100, "prague 60, cubic 60")) < 1.4


def test_the_stored_results_are_those_of_the_networks() -> None:
    rows = json.loads((HERE / "results.json").read_text())
    row = next(row for row in rows if (row["queue"], row["senders"]) == ("dualpi2", "prague 10, cubic 10"))
    published = pair("rtt", "dualpi2", row["rate_mbps"], row["senders"])
    assert run(published.cell.scenario(), (1,))[0] == pytest.approx(row["goodputs_mbps"][0], abs=1e-3)
