"""Controllers beside those of ns-3 (validation/ns3): one flow with random losses, and one that fills a buffer."""

from __future__ import annotations

import json
import statistics
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ackclock import Scenario

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "validation" / "ns3"))
from ns3_runs import NETWORKS, RESULTS

OURS: dict[str, Any] = {
    "TcpLinuxReno": "reno",
    "TcpIllinois": "illinois",
    "TcpHtcp": "htcp",
    "TcpScalable": "scalable",
    "TcpYeah": "yeah",
    "TcpLp": {"kind": "lp", "variant": "linux"},
}


@cache
def ratios(network: str, control: str) -> tuple[float, float]:
    """Goodput and mean window here over those of ns-3, means over its seeds."""
    rows = [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if (row["network"], row["control"]) == (network, control)]
    values = NETWORKS[network]
    back: dict[str, Any] = {"loss": [], "queue": {"kind": "droptail", "limit": "1000p"}}
    link = {"ends": ["a", "b"], "rate": f"{values['rate']:.0f}bps", "delay": f"{values['delay']}s", "back": back}
    link["queue"] = {"kind": "droptail", "limit": f"{values['queue']}p"}
    if values["loss"]:
        link["loss"] = {"kind": "bernoulli", "rate": values["loss"]}
    tcp = {"congestion_control": OURS[control], "timestamps": True, "delayed_ack": False}
    scenario = Scenario.build(
        {
            "duration": f"{values['time']}s",
            "warmup": f"{values['warmup']}s",
            "tcp": tcp,
            "link": [link],
            "flow": [{"name": "f", "from": "a", "to": "b"}],
        }
    )
    flows = [scenario.run(seed=row["seed"]).outcome["flows"][0] for row in rows]
    goodput, window = (
        statistics.mean(flow[key] for flow in flows) / statistics.mean(row[key] for row in rows)
        for key in ("goodput_bps", "mean_cwnd")
    )
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
    rows = [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]
    [theirs] = [row["mean_cwnd"] for row in rows if (row["network"], row["control"]) == ("buffer", "TcpIllinois")]
    ours = ratios("buffer", "TcpIllinois")[1] * theirs
    assert ours == pytest.approx(70.2, rel=0.05)
    assert theirs < 0.85 * 70.2
