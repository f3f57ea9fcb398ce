"""A single flow with any controller fills an empty path; wrong round-trip samples fail this test first."""

from __future__ import annotations

import itertools

import pytest

from ackclock import Scenario
from ackclock.apps.catalog import entries
from ackclock.base.files import BadInput

RATE_BPS, RTT_MS, LEAST = 20e6, 40, 0.9
EXCEPTIONS = {(entry["name"], limit["profile"]) for entry in entries("controllers") for limit in entry["limits"]}
"""Controllers and profiles (`ns2` with NewReno, `linux` with SACK) with less than 90 %; `ackclock list` says why."""
NEEDS_ROUTERS = {"rcp", "xcp"}
NEEDS_RACK = {"bbr", "bbr3", "c4", "copa", "ledbat", "ledbat_pp", "vivace", "policy", "swift", "timely"}
NEEDS_RECEIVER_TIME = {"ledbat", "lp", "sarbe"}


def utilisation(control: str, profile: str, timestamps: bool, delayed_ack: bool) -> float:
    """Utilisation of the bottleneck after ten seconds, with a buffer of one bandwidth-delay product."""
    tcp = {"congestion_control": control, "profile": profile, "timestamps": timestamps, "delayed_ack": delayed_ack}
    half = f"{RTT_MS / 2 - 1}ms"
    document = {
        "duration": "60s",
        "warmup": "10s",
        "tcp": {**tcp, "receive_window": 10_000},
        "link": [
            {"ends": ["s", "r"], "rate": "1Gbps", "delay": "1ms"},
            {"ends": ["r", "d"], "rate": "20Mbps", "delay": half, "queue": {"kind": "droptail", "limit": "1bdp"}},
        ],
        "flow": [{"name": "f", "from": "s", "to": "d"}],
    }
    links = Scenario.build(document).run().outcome["links"]
    return float(next(link["utilisation"] for link in links if link["name"] == "r->d"))


CONTROLLERS = [entry["name"] for entry in entries("controllers") if entry["name"] not in NEEDS_ROUTERS]


@pytest.mark.parametrize(
    ("control", "profile"),
    # These need the counts of the recovery of the profile linux.
    [
        (name, profile)
        for name in CONTROLLERS
        for profile in ("ns2", "linux")
        if profile == "linux" or name not in NEEDS_RACK
    ],
)
def test_a_controller_alone_fills_an_empty_path(control: str, profile: str) -> None:
    found = {}
    for timestamps, delayed_ack in itertools.product((False, True), repeat=2):
        if control in NEEDS_RECEIVER_TIME and profile == "linux" and not timestamps:
            continue  # refused: it needs the receiver's clock
        found[timestamps, delayed_ack] = utilisation(control, profile, timestamps, delayed_ack)
    if (control, profile) in EXCEPTIONS:
        assert min(found.values()) < LEAST, "the exception is no longer needed"
    else:
        assert min(found.values()) >= LEAST, found


def test_what_needs_the_counts_of_rack_has_its_recovery() -> None:
    """A flow that names another recovery itself is refused; of all others, advice says what it has instead."""
    text = """
    duration = "1s"
    link = [{ ends = ["s", "d"], rate = "20Mbps", delay = "5ms" }]
    [tcp]
    profile = "ns2"
    [[flow]]
    name = "f"
    from = "s"
    to = "d"
    tcp = { congestion_control = "bbr" }
    """
    scenario = Scenario.parse(text)
    assert scenario.run().outcome["flows"][0]["recovery"] == "rack"
    assert any('recovery = "rack" instead of "newreno"' in advice for advice in scenario.advice)
    with pytest.raises(ValueError, match='write recovery = "rack"'):
        Scenario.parse(text, ["flow.f.tcp.recovery=newreno"])


def test_what_needs_the_receivers_clock_is_refused() -> None:
    with pytest.raises((BadInput, ValueError), match="receiver's clock"):
        utilisation("sarbe", "linux", timestamps=False, delayed_ack=False)
