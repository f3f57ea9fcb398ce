"""TCP beside ns-3 (validation/ns3): one flow with random losses, one that fills a buffer, flows over Wi-Fi."""

from __future__ import annotations

import statistics
import sys
from functools import cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "validation" / "ns3"))
import wifi_runs
from ns3_runs import KEYS, NETWORKS, ours, theirs


@cache
def ratios(network: str, control: str) -> tuple[float, float]:
    """Goodput and mean window here over those of ns-3, means over its seeds."""
    here, there = ours(network, control), theirs(network, control)
    goodput, window = (statistics.mean(a[k] for a in here) / statistics.mean(b[k] for b in there) for k in KEYS)
    return goodput, window


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("control", ["TcpLinuxReno", "TcpHtcp", "TcpLedbat"])
def test_goodput_and_window_agree(network: str, control: str) -> None:
    assert list(ratios(network, control)) == pytest.approx([1, 1], abs=0.1)


@pytest.mark.parametrize(
    ("network", "control"),
    [
        ("losses", "TcpCubic"),
        ("losses", "TcpLp"),
        ("losses", "TcpIllinois"),
        ("losses", "TcpScalable"),
        ("buffer", "TcpYeah"),
    ],
)
def test_goodput_agrees(network: str, control: str) -> None:
    assert ratios(network, control)[0] == pytest.approx(1, abs=0.1)


def test_illinois_follows_its_curve_and_ns3_does_not() -> None:
    """Without random losses the mean window is 70 segments by the growth of the paper (docs/specs/controllers-2.md)."""
    [of_ns3] = [row["mean_cwnd"] for row in theirs("buffer", "TcpIllinois")]
    assert ratios("buffer", "TcpIllinois")[1] * of_ns3 == pytest.approx(70.2, rel=0.05)
    assert of_ns3 < 0.85 * 70.2


@cache
def over_wifi(network: str) -> dict[str, float]:
    """The measures here over those of ns-3, means over three seeds; `rate`: of the goodput of all flows."""
    there = wifi_runs.theirs(network)[:3]
    here = wifi_runs.ours(network, there)
    both = [wifi_runs.measures(network, rows) for rows in (here, there)]
    ratios = {name: statistics.mean(both[0][name]) / statistics.mean(values) for name, values in both[1].items()}
    rates = [statistics.mean(sum(row["goodput_bps"]) for row in rows) for rows in (here, there)]
    return ratios | {"rate": rates[0] / rates[1]}


@pytest.mark.parametrize("network", ["one download", "ten downloads"])
def test_downloads_over_wifi_agree(network: str) -> None:
    """Rates, round-trip times, aggregation. ns-3 counts packets in transmission in its queue (docs/specs/wifi.md)."""
    for name, ratio in over_wifi(network).items():
        assert ratio == pytest.approx(1, abs=0.12), name


@pytest.mark.parametrize("network", ["three downloads, one upload", "three uploads, one slow"])
def test_the_whole_rate_over_wifi_agrees(network: str) -> None:
    assert over_wifi(network)["rate"] == pytest.approx(1, abs=0.1)


def test_a_slow_station_over_wifi_agrees() -> None:
    assert over_wifi("three uploads, one slow")["slow upload, Mb/s"] == pytest.approx(1, abs=0.12)
