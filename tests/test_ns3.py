"""Controllers beside those of ns-3 (validation/ns3): one flow with random losses, and one that fills a buffer."""

from __future__ import annotations

import statistics
import sys
from functools import cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "validation" / "ns3"))
from ns3_runs import KEYS, NETWORKS, ours, theirs


@cache
def ratios(network: str, control: str) -> tuple[float, float]:
    """Goodput and mean window here over those of ns-3, means over its seeds."""
    here, there = ours(network, control), theirs(network, control)
    goodput, window = (statistics.mean(a[k] for a in here) / statistics.mean(b[k] for b in there) for k in KEYS)
    return goodput, window


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("control", ["TcpLinuxReno", "TcpHtcp", "TcpScalable"])
def test_goodput_and_window_agree(network: str, control: str) -> None:
    assert list(ratios(network, control)) == pytest.approx([1, 1], abs=0.1)


@pytest.mark.parametrize(
    ("network", "control"), [("losses", "TcpLp"), ("losses", "TcpIllinois"), ("buffer", "TcpYeah")]
)
def test_goodput_agrees(network: str, control: str) -> None:
    assert ratios(network, control)[0] == pytest.approx(1, abs=0.1)


def test_illinois_follows_its_curve_and_ns3_does_not() -> None:
    """Without random losses the mean window is 70 segments by the growth of the paper (docs/specs/controllers-2.md)."""
    [of_ns3] = [row["mean_cwnd"] for row in theirs("buffer", "TcpIllinois")]
    assert ratios("buffer", "TcpIllinois")[1] * of_ns3 == pytest.approx(70.2, rel=0.05)
    assert of_ns3 < 0.85 * 70.2
