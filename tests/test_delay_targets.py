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


@pytest.mark.parametrize(("rate", "delay"), [("20Mbps", "20ms"), ("1Gbps", "500us")])
def test_nv_keeps_its_pad_in_the_queue(rate: str, delay: str) -> None:
    """Until it renews its smallest round-trip time, 3.75 s after the start at the earliest."""
    [link, _] = outcome({"f": "nv"}, rate, delay, "1000p", (2, 3.7))["links"]
    assert link["mean_queue_packets"] == pytest.approx(10, abs=1)
    assert link["utilisation"] > 0.99


def test_lp_yields_to_reno() -> None:
    controls = {"f": {"kind": "lp", "variant": "paper"}, "g": "reno"}
    mine, other = (flow["goodput_bps"] for flow in outcome(controls, "10Mbps", "25ms", "60p", (30, 120))["flows"])
    assert mine / (mine + other) < 0.03


def call(control: Any, *, download: bool) -> float:
    """The part of a call's frames that arrive: 3 Mb/s by 30 frames a second over 6 Mb/s and 40 ms, with delayed ACKs.

    A CUBIC download runs from 2 to 4 s.
    """
    link = {"ends": ["a", "b"], "rate": "6Mbps", "delay": "20ms", "queue": {"kind": "droptail", "limit": "60kB"}}
    writes = [[f"{n / 30:.6f}s", "12500B"] for n in range(900)]
    flows: list[dict[str, Any]] = [
        {"name": "call", "from": "a", "to": "b", "writes": writes, "tcp": {"congestion_control": control}}
    ]
    if download:
        flows.append({"name": "download", "from": "a", "to": "b", "start": "2s", "stop": "4s"})
    result = Scenario.build({"duration": "31s", "link": [link], "flow": flows}).run().outcome
    return float(result["flows"][0]["delivered_bytes"]) / (12_500 * len(writes))


@pytest.mark.parametrize("download", [False, True])
def test_lp_carries_a_call_and_comes_back_after_a_download(download: bool) -> None:
    """Its own frames and delayed ACKs are no congestion; by Linux's extremes with clocks that agree they are."""
    assert call("lp", download=download) > 0.99
    assert call({"kind": "lp", "variant": "linux"}, download=download) < 0.5


def test_an_lp_window_of_one_segment_grows_again() -> None:
    """Delayed ACKs kept it there for good: 1 % of the path."""
    assert outcome_with_delayed_acks("lp")["links"][0]["utilisation"] > 0.75


def outcome_with_delayed_acks(control: str) -> Any:
    """One flow alone over 20 Mb/s and 40 ms, a buffer of one bandwidth-delay product, after ten seconds."""
    link = {"ends": ["x", "y"], "rate": "20Mbps", "delay": "20ms", "queue": {"kind": "droptail", "limit": "1bdp"}}
    link["back"] = {"queue": {"kind": "droptail", "limit": "10000p"}}
    flow = {"name": "f", "from": "x", "to": "y", "tcp": {"congestion_control": control, "receive_window": 10_000}}
    return Scenario.build({"warmup": "10s", "duration": "60s", "link": [link], "flow": [flow]}).run().outcome


def data_centre(control: Any, flows: int) -> Any:
    """Flows over three links of 10 Gb/s with a round-trip time of 16 us, after 20 ms."""
    wire = {"rate": "10Gbps", "delay": "2us", "queue": {"kind": "droptail", "limit": "2000p"}}
    links = [{"name": "b", "ends": ["x", "y"], **wire}]
    for n in range(flows):
        links += [{"ends": [f"s{n}", "x"], **wire}, {"ends": ["y", f"d{n}"], **wire}]
    return Scenario.build(
        {
            "duration": "40ms",
            "warmup": "20ms",
            "tcp": {"congestion_control": control, "delayed_ack": False},
            "link": links,
            "flow": [{"name": f"f{n}", "from": f"s{n}", "to": f"d{n}", "start": f"{50 * n}us"} for n in range(flows)],
        }
    ).run().outcome  # fmt: skip


@pytest.mark.parametrize(("flows", "target_us"), [(1, 31.2), (8, 40.1), (32, 50.9)])
def test_swift_keeps_its_target(flows: int, target_us: float) -> None:
    """The target at the mean windows of 25.9, 4.5 and 1.6 segments. Many flows exceed it by their reductions' delay."""
    result = data_centre({"kind": "swift", "hops": 3}, flows)
    rtts = [1e6 * flow["mean_rtt_s"] for flow in result["flows"]]
    assert 0.99 * target_us < sum(rtts) / flows < 1.2 * target_us
    goodputs = [flow["goodput_bps"] for flow in result["flows"]]
    assert sum(goodputs) ** 2 / flows / sum(x * x for x in goodputs) > 0.99
    assert result["links"][0]["utilisation"] > 0.99
    assert result["links"][0]["queue_drops"] == 0


@pytest.mark.parametrize("flows", [1, 8, 32])
def test_timely_stays_below_its_largest_delay(flows: int) -> None:
    result = data_centre("timely", flows)
    assert result["links"][0]["utilisation"] > 0.85
    assert result["links"][0]["queue_drops"] == 0
    assert all(flow["mean_rtt_s"] < 100e-6 for flow in result["flows"])
