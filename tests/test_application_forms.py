"""Closed forms of applications in whole runs: loops, players, pages, slowdown under processor sharing."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from ackclock import Scenario
from ackclock.cli.app import main

LINK = """
duration = "{duration}"
[[link]]
ends = ["server", "phone"]
rate = "{rate}"
delay = "{delay}"
{more}
[[flow]]
name = "f"
from = "server"
to = "phone"
{transport}
app = {app}
"""
RENO = (
    'tcp = { congestion_control = "reno", delayed_ack = false, validation = "none", idle_restart = "none", '
    "initial_window = 1000 }"
)


def outcome(app: str, **values: str) -> dict[str, Any]:
    """The outcome of the application of the first flow."""
    text = LINK.format(
        **{"duration": "60s", "rate": "10Mbps", "delay": "20ms", "more": "", "transport": RENO} | values, app=app
    )
    application: dict[str, Any] = Scenario.parse(text).run(seed=1, audit=True).outcome["flows"][0]["app"]
    return application


@pytest.mark.parametrize(("outstanding", "think"), [(1, 0.1), (4, 0.05), (1, 0.0), (20, 0.01)])
def test_a_closed_loop_has_the_rate_of_its_time_or_of_the_link(outstanding: int, think: float) -> None:
    """N requests under way: N over ideal time and think time, at most the link's rate."""
    app = f'{{ kind = "requests", response = "14480B", think = "{think}s", outstanding = {outstanding} }}'
    of = outcome(app)
    ideal_s = 0.04 + (352 + 10 * 1500) * 8 / 10e6
    most = 10e6 / (8 * 10 * 1500)
    assert of["requests_per_s"] == pytest.approx(min(outstanding / (ideal_s + think), most), rel=0.01)


def test_a_player_between_two_rates_uses_the_link() -> None:
    """Mean bit rate within 5 % of the payload that the link carries, once the buffer is full."""
    ladder = '["300kbps", "750kbps", "1.2Mbps", "1.85Mbps", "2.85Mbps", "4.3Mbps"]'
    app = f'{{ kind = "video", ladder = {ladder}, length = "3000s" }}'
    of = outcome(app, duration="1200s", rate="2.4Mbps")
    late = [chunk["bitrate_bps"] for chunk in of["chunk_log"] if chunk["asked_s"] > 100]
    assert sum(late) / len(late) == pytest.approx(2.4e6 * 1448 / 1500, rel=0.05)
    assert of["stalls"] == 0


def test_a_player_below_the_lowest_rate_stalls_for_the_rest_of_the_time() -> None:
    """The ratio of stalls is 1 - C / r0."""
    of = outcome('{ kind = "video", ladder = ["1Mbps", "2Mbps"], length = "3000s" }', duration="1200s", rate="600kbps")
    assert of["rebuffer_ratio"] == pytest.approx(1 - 600e3 * 1448 / 1500 / 1e6, abs=0.02)


@pytest.mark.parametrize("segments", [5, 10, 11, 30, 31, 70, 150])
def test_a_page_of_one_object_takes_the_rounds_of_slow_start(segments: int) -> None:
    """Two round trips, one more for each window after the first, and the segments of the last window."""
    tcp = RENO.replace("initial_window = 1000", "initial_window = 10")
    app = f'{{ kind = "page", objects = [["{1448 * segments}B"]], tls = false }}'
    of = outcome(app, rate="100Gbps", transport=tcp, duration="5s")
    rounds = 2 + math.ceil(math.log2(segments / 10 + 1)) - 1
    assert of["p50_page_s"] == pytest.approx(0.04 * rounds, abs=1e-4)


def test_short_segments_are_what_is_written() -> None:
    """A request for 300 bytes sends 352 bytes."""
    text = LINK.format(
        duration="10s",
        rate="10Mbps",
        delay="20ms",
        more="",
        transport=RENO,
        app='{ kind = "requests", response = "300B" }',
    )
    flow = Scenario.parse(text).run(seed=1).outcome["flows"][0]
    packets = flow["app"]["finished"]
    assert flow["delivered_bytes"] == 300 * packets
    assert flow["throughput_bps"] * 10 / 8 == 352 * packets


@pytest.mark.nightly
def test_large_flows_have_the_slowdown_of_processor_sharing() -> None:
    """fq_codel, Poisson arrivals at load 0.6, `web_search`, 1 Gb/s: flows above 1 MB have 1 / (1 - load), +-10 %."""
    text = """
duration = "20s"
[[link]]
ends = ["a", "b"]
rate = "1Gbps"
delay = "50us"
queue = { kind = "fq_codel" }
[[traffic]]
name = "t"
from = "a"
to = "b"
load = "579Mbps"
sizes = "web_search"
tcp = { congestion_control = "cubic", pacing = true }
"""
    slowdowns = []
    for seed in range(1, 21):
        flows = Scenario.parse(text).run(seed=seed).outcome["flows"]
        slowdowns += [flow["slowdown"] for flow in flows if flow["transfer_bytes"] > 1e6 and flow.get("slowdown")]
    assert sum(slowdowns) / len(slowdowns) == pytest.approx(2.5, rel=0.1)


@pytest.mark.parametrize("kind", ["rate", "on_off", "requests", "page", "video", "frames"])
def test_a_new_scenario_can_have_an_application(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`ackclock new mine --app KIND` writes a scenario that runs."""
    monkeypatch.chdir(tmp_path)
    assert main(["new", "mine", "--app", kind]) == 0
    flows = Scenario.load(tmp_path / "mine.toml").run(until_s=12).outcome["flows"]
    assert flows[1]["app"]["kind"] == kind
    assert main(["new", "other", "--app", "pages"]) == 2
    assert "there are rate, on_off, requests, page, video, frames" in capsys.readouterr().err
