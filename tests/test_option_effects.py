"""Every TCP option, alone: it changes the packets in some network, or the scenario says that it has no effect."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from ackclock import Scenario, ScenarioError
from ackclock.base.models import models

NETWORKS = {
    "losses": """
        queue = { kind = "droptail", limit = "25p" }
        loss = [
            { kind = "scripted", flow = "f", segments = [[20, 1], [21, 1], [60, 1], [61, 1], [61, 2], [140, 1],
              [300, 1], [302, 1], [304, 1], [306, 1], [700, 1], [701, 1], [701, 2], [701, 3]] },
            { kind = "bernoulli", rate = 0.01 },
        ]""",
    "reordering": 'loss = { kind = "jitter", max = "20ms" }\nqueue = { kind = "droptail", limit = "25p" }',
    "copies": 'loss = { kind = "duplicate", rate = 0.05 }\nqueue = { kind = "droptail", limit = "25p" }',
    "marks": 'queue = { kind = "red", limit = "60p", ecn = true }',
    "l4s": 'queue = { kind = "dualpi2" }',
    "outage": 'loss = { kind = "blackout", times = [["2s", "5s"]] }\nqueue = { kind = "droptail", limit = "25p" }',
    "far": 'loss = [{ kind = "bernoulli", rate = 0.01 }, { kind = "blackout", times = [["3s", "5s"]] }]',
    "quick_start": 'router = { kind = "quick_start" }\nqueue = { kind = "droptail", limit = "100p" }',
}
VALUES: dict[str, list[Any]] = {
    "recovery": ["reno", "sack"], "mss": [700], "header": [60], "ack_size": [90], "receive_window": [7],
    "initial_window": [4], "initial_ssthresh": [8], "max_cwnd": [6], "max_burst": [1], "gso_max_segs": [2],
    "syn": [False],     "delay_growth": [True, False], "delayed_ack": [True, False], "ack_delay": ["5ms"],
    "ack_delay_max": ["160ms", "41ms"],
    "quick_acks": [0, 100], "ack_every": [4], "ack_compression": [True, False], "moderate_rcvbuf": [True, False],
    "limited_transmit": [False], "sack": [False], "dsack": [True, False], "sack_blocks": [1],
    "reordering_window": ["static", "none"], "tail_loss_probe": [False], "reduction": ["at_once", "prr_6937_crb"],
    "reduce_from": ["flight"], "undo": [[], ["dsack"], ["timestamps"]], "rto_estimator": ["linux", "rfc6298"],
    "timer": ["linux"], "validation": ["rfc7661", "none"], "idle_restart": ["none", "rfc5681"], "min_rto": ["1s"],
    "max_rto": ["400ms"], "initial_rto": ["300ms"], "clock_tick": ["100ms", "0s"],
    "clock_phase": ["1ms", "3ms", "5ms", "7ms", "9ms"],
    "timestamps": [True, False], "timestamp_quantum": ["0s", "10ms"], "clock_rtt": [True],
    "integer_windows": [True, False], "impatient": [False], "partial_deflation": [False],
    "fast_retransmit_after_rto": [True], "ecn": [True], "ecn_feedback": ["per_packet", "accurate"],
    "accecn_option": [False], "l4s": [True], "abe": [True],
    "pacing": [True], "pacing_gain": [[3.0, 1.5]], "tso": [True], "pacing_shift": [7], "small_queues": [True],
    "gro": [True], "short_segments": [True, False], "quick_start": ["2Mbps"], "quick_start_window": [20],
}  # fmt: skip
"""Values of each option, other than the default of a profile."""
CONTROLLERS = {"clock_rtt": "vegas"}
"""The controller with which an option is tried that concerns its round-trip samples; otherwise the default."""
COMPANIONS: dict[str, dict[str, Any]] = {
    "ecn_feedback": {"ecn": True},
    "accecn_option": {"ecn": True, "ecn_feedback": "accurate"},
    "l4s": {"ecn": True},
}
"""Options that a refusal asks for, with which the option is tried then."""


def test_every_option_is_here() -> None:
    """`resume` and `jump` concern the start of a flow: tests/test_startup.py."""
    [options] = [table["params"] for table in models("keys") if table["name"] == "tcp"]
    assert {one["name"] for one in options} - {"profile", "congestion_control", "resume", "jump"} == VALUES.keys()


def text(network: str, options: dict[str, Any]) -> str:
    tcp = ", ".join(f"{key} = {json.dumps(value)}" for key, value in options.items())
    delay = "300ms" if network == "far" else "20ms"
    return f"""
        duration = "8s"
        [[link]]
        ends = ["s", "r"]
        rate = "100Mbps"
        delay = "1ms"
        queue = {{ kind = "droptail", limit = "1000p" }}
        [[link]]
        ends = ["r", "d"]
        rate = "5Mbps"
        delay = "{delay}"
        {NETWORKS[network]}
        [[flow]]
        name = "f"
        from = "s"
        to = "d"
        writes = [["0s", "300.3kB"], ["1.2s", "900kB"], ["5.5s", "2MB"]]
        tcp = {{ {tcp} }}
        [[flow]]
        name = "g"
        from = "s"
        to = "d"
        start = "0.3s"
    """


@cache
def fingerprint(network: str, options: str) -> str:
    return Scenario.parse(text(network, json.loads(options))).run(seed=3, fingerprint=True).fingerprint


def differs(network: str, base: dict[str, Any], option: dict[str, Any]) -> bool:
    with_option = Scenario.parse(text(network, base | option)).run(seed=3, fingerprint=True).fingerprint
    return with_option != fingerprint(network, json.dumps(base))


@pytest.mark.parametrize("profile", ["linux", "ns2"])
@pytest.mark.parametrize("key", VALUES)
def test_an_option_alone_has_an_effect_or_says_that_it_has_none(key: str, profile: str) -> None:
    base: dict[str, Any] = {"profile": profile}
    if key in CONTROLLERS:
        base["congestion_control"] = CONTROLLERS[key]
    told = []
    for value in VALUES[key]:
        try:
            advice = Scenario.parse(text("losses", base | {key: value})).advice
        except ScenarioError as error:
            told.append(str(error))
            continue
        told += [line for line in advice if f".{key}: has no effect" in line]
        if any(differs(network, base, {key: value}) for network in NETWORKS):
            return
    assert told, f"{key} changes nothing, and nothing says so"
    assert all(".tcp." in line for line in told)


@pytest.mark.parametrize("key", COMPANIONS)
def test_an_option_has_an_effect_with_what_a_refusal_asks_for(key: str) -> None:
    base = {"profile": "linux", **COMPANIONS[key]}
    assert any(differs(network, base, {key: value}) for network in NETWORKS for value in VALUES[key])


@pytest.mark.parametrize(
    "control", [one["name"] for one in models("controllers") if not one["name"].startswith("policy")]
)
def test_lists_of_controllers_in_needs_are_complete(control: str) -> None:
    """An option that names controllers has no effect with the others."""
    if {"router_rate", "router_feedback"} & {
        *next(one["needs"] for one in models("controllers") if one["name"] == control)
    }:
        return
    base = {"congestion_control": control, "ecn": True}
    for option in ({"gso_max_segs": 1}, {"abe": True}):
        [key] = option
        advice = Scenario.parse(text("marks", base | option)).advice
        if any(f".{key}: has no effect" in line for line in advice):
            assert not any(differs(network, base, option) for network in ("marks", "losses")), key
