"""Closed forms of delay-based controllers (docs/specs/controllers-2.md has the table)."""

from __future__ import annotations

from typing import Any

import pytest

from ackclock import Scenario


def outcome(
    controls: dict[str, Any], rate: str, delay: str, limit: str, span_s: tuple[float, float], late_s: float = 0.0
) -> Any:
    """Flows behind one drop-tail queue, measured over a span; the second flow starts later."""
    tcp = {"delayed_ack": False}
    flows = [
        {"name": name, "from": "x", "to": "y", "start": f"{late_s * n}s", "tcp": {**tcp, "congestion_control": control}}
        for n, (name, control) in enumerate(controls.items())
    ]
    link = {"ends": ["x", "y"], "rate": rate, "delay": delay, "queue": {"kind": "droptail", "limit": limit}}
    link["back"] = {"queue": {"kind": "droptail", "limit": "100000p"}}
    document = {"warmup": f"{span_s[0]}s", "duration": f"{span_s[1]}s", "delays": True, "link": [link], "flow": flows}
    return Scenario.build(document).run().outcome


@pytest.mark.parametrize("delta", [0.5, 0.1])
def test_copa_keeps_its_queue(delta: float) -> None:
    """The oscillation has a mean queue of 1.25/delta segments."""
    [link, _] = outcome({"f": {"kind": "copa", "delta": delta}}, "12Mbps", "50ms", "1000p", (20, 120))["links"]
    assert link["mean_queue_packets"] == pytest.approx(1.25 / delta, rel=0.15)
    assert link["utilisation"] > 0.99


@pytest.mark.parametrize(("mode", "least", "most"), [("default", 0.0, 0.12), ("auto", 0.25, 0.75)])
def test_copa_competes_with_reno_where_it_may(mode: str, least: float, most: float) -> None:
    controls = {"f": {"kind": "copa", "mode": mode}, "g": "reno"}
    mine, other = (flow["goodput_bps"] for flow in outcome(controls, "12Mbps", "50ms", "2bdp", (60, 120))["flows"])
    assert least < mine / (mine + other) < most


@pytest.mark.parametrize(("control", "low_ms", "high_ms"), [("ledbat", 97, 103), ("ledbat_pp", 50, 62)])
def test_ledbat_keeps_its_target(control: str, low_ms: float, high_ms: float) -> None:
    [flow] = outcome({"f": control}, "10Mbps", "25ms", "1000p", (100, 300))["flows"]
    assert low_ms < 1e3 * (flow["mean_delay_s"] - 0.0262) < high_ms


@pytest.mark.parametrize("control", ["ledbat", "ledbat_pp"])
def test_ledbat_yields_to_reno(control: str) -> None:
    """A buffer of 240 ms: the target is below it."""
    result = outcome({"f": control, "g": "reno"}, "10Mbps", "25ms", "200p", (60, 120))
    mine, other = (flow["goodput_bps"] for flow in result["flows"])
    assert mine / (mine + other) < 0.03


@pytest.mark.parametrize(("control", "low", "high"), [("ledbat", 1.8, 100.0), ("ledbat_pp", 0.7, 1.4)])
def test_a_second_flow_takes_the_queue_for_the_base_delay(control: str, low: float, high: float) -> None:
    """LEDBAT's advantage of the latecomer, which LEDBAT++ does not have."""
    result = outcome({"f": control, "g": control}, "10Mbps", "25ms", "1000p", (65, 120), late_s=20)
    first, second = (flow["goodput_bps"] for flow in result["flows"])
    assert low < second / first < high


def test_yeah_drains_its_queue_without_a_loss() -> None:
    [link, _] = outcome({"f": "yeah"}, "50Mbps", "50ms", "120p", (40, 120))["links"]
    assert link["queue_drops"] == 0
    assert link["mean_queue_packets"] == pytest.approx(54, abs=6)
