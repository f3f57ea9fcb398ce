"""The outcome excludes the warm-up: the counters of a run are those of the warm-up plus those of the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ackclock import Scenario

NAMES = ("asymmetric", "dumbbell", "gateway", "iridium", "rcp", "starlink")
"""Scenarios of which a shorter run is the beginning of a longer one: not so where nodes move at random."""
COUNTS = ("delivered_bytes", "sent_packets", "acked_packets", "retransmitted_packets", "timeouts", "window_cuts")


def outcome(file: Path, duration: int, warmup: int = 0) -> dict[str, Any]:
    more = [f'duration="{duration}s"', *([f'warmup="{warmup}s"'] if warmup else [])]
    return Scenario.load(file, more).run(seed=1, audit=True).outcome


@pytest.mark.parametrize("name", NAMES)
def test_the_warm_up_and_the_rest_are_the_whole(root: Path, name: str) -> None:
    file = root / "scenarios" / f"{name}.toml"
    whole, early, late = (outcome(file, *times) for times in ((30,), (11,), (30, 11)))
    assert late["warmup_s"] == 11.0
    for all_, first, rest in zip(whole["flows"], early["flows"], late["flows"], strict=True):
        for key in COUNTS:
            if all_[key] is not None:
                assert rest[key] == all_[key] - first[key], key
        assert rest["goodput_bps"] == rest["delivered_bytes"] * 8 / 19
        if all_["mean_cwnd"] is not None:
            area = 30 * all_["mean_cwnd"] - 11 * (first["mean_cwnd"] or 0)
            assert rest["mean_cwnd"] == pytest.approx(area / 19, rel=1e-9)
    before = {link["name"]: link for link in early["links"]}
    for all_, rest in zip(whole["links"], late["links"], strict=True):
        first = before.get(all_["name"])
        if first is None:  # a satellite link that no packet had used
            assert rest["delivered_packets"] == all_["delivered_packets"]
            continue
        assert rest["delivered_packets"] == all_["delivered_packets"] - first["delivered_packets"]
        for reason, count in all_["dropped_packets"].items():
            assert rest["dropped_packets"][reason] == count - first["dropped_packets"][reason]
        for key in ("utilisation", "mean_queue_packets"):
            assert 19 * rest[key] + 11 * first[key] == pytest.approx(30 * all_[key], rel=1e-9, abs=1e-9), key
    if whole["radio"]:
        for key in ("offered_packets", "received_packets", "routing_packets"):
            assert late["radio"][key] == whole["radio"][key] - early["radio"][key]


def test_a_flow_that_ended_in_the_warm_up_has_no_goodput() -> None:
    text = """
    duration = "70s"
    warmup = "7s"
    [[link]]
    ends = ["a", "b"]
    rate = "10Mbps"
    delay = "10ms"
    [[flow]]
    from = "a"
    to = "b"
    bytes = "123457B"
    """
    (flow,) = Scenario.parse(text).run().outcome["flows"]
    assert flow["goodput_bps"] == flow["throughput_bps"] == 0.0
    assert flow["completion_s"] < 7


def test_the_warm_up_is_run_once(root: Path) -> None:
    file = root / "scenarios" / "dumbbell.toml"
    events = [outcome(file, 30, warmup)["engine"]["events"] for warmup in (0, 15)]
    assert events[1] == events[0] + 1
