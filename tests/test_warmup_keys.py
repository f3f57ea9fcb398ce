"""Every value of an outcome under a warm-up: each key of the schema says here what it is after one.

A key that is in the schema and not in a table below fails the first test, so that a new value is classified, and the
second one then compares it with what two runs give without a warm-up.
"""

from __future__ import annotations

from typing import Any

import pytest

from ackclock import Scenario
from ackclock.base.models import schema

DURATION, WARMUP = 12, 5
NAMES = {"name", "kind", "transport", "control", "recovery", "access"}
"""What identifies a flow or a link."""
SUMS = {
    "flows": {
        "delivered_bytes", "active_s", "sent_packets", "acked_packets", "retransmitted_packets", "timeouts",
        "window_cuts", "persistent_congestion", "ce_marks", "dropped_packets", "marked_packets", "limited_s",
    },
    "links": {"delivered_packets", "marked_packets", "queue_drops"},
}  # fmt: skip
"""Values of the whole are those of the warm-up plus those of the rest."""
OVER_TIME = {
    "flows": {"goodput_bps", "throughput_bps", "mean_cwnd", "mean_ssthresh"},
    "links": {"utilisation", "mean_queue_packets"},
}
"""Means over time: weighted by the durations."""
OF_THE_WHOLE = {
    "flows": {
        "final_cwnd", "final_ssthresh", "min_rtt_s", "min_delay_s", "completion_s", "base_delay_s", "connection_error",
        "connection_lost", "connection_lost_s", "ideal_s", "slowdown", "transfer_bytes",
    },
    "links": set(),
}  # fmt: skip
"""Values of the whole run also with a warm-up."""
OF_PACKETS = {
    "flows": {
        "mean_rtt_s", "mean_delay_s", "mean_gap_s", "jitter1_s", "jitter2_s", "delivery_ratio", "p50_delay_s",
        "p95_delay_s", "p99_delay_s",
    },
    "links": {"mean_sojourn_s", "drop_rate", "p95_sojourn_s"},
}  # fmt: skip
"""Means and quantiles over the packets of the rest."""
PARTS = {
    "flows": {"app", "back", "observed", "resume"},
    "links": {"dropped_packets", "wifi", "cell", "grants", "low_latency", "delay"},
}
"""Tables of their own: crates/lab/tests/warmup.rs compares those of links, attached.rs that of attached flows.
What a start with saved values did (tests/test_startup.py) is of the whole run. Of an application those messages count
that start after the warm-up (crates/lab/src/simulation/apps/outcome.rs)."""
KINDS = (SUMS, OVER_TIME, OF_THE_WHOLE, OF_PACKETS, PARTS)
TEXT = """
delays = true
[[link]]
name = "l"
ends = ["a", "b"]
rate = "4Mbps"
delay = "20ms"
queue = { kind = "red", limit = "60p", ecn = true }
loss = "0.5%"
[[flow]]
name = "tcp"
from = "a"
to = "b"
tcp = { ecn = true, initial_ssthresh = 30 }
[[flow]]
name = "late"
from = "a"
to = "b"
start = "3s"
bytes = "500kB"
[[flow]]
name = "quic"
from = "a"
to = "b"
quic = { ecn = true }
[[flow]]
name = "udp"
from = "b"
to = "a"
udp = { rate = "100kbps" }
"""


def keys(table: str) -> set[str]:
    outcome = schema("outcome")
    name = {"flows": "FlowOutcome", "links": "LinkOutcome"}[table]
    return set(outcome["$defs"][name]["properties"])


@pytest.mark.parametrize("table", ["flows", "links"])
def test_every_key_is_classified_once(table: str) -> None:
    classified = [key for kind in KINDS for key in kind[table]]
    assert sorted(classified) == sorted(keys(table) - NAMES)


def outcome(duration: int, warmup: int = 0) -> dict[str, Any]:
    more = [f"duration={duration}s", *([f"warmup={warmup}s"] if warmup else [])]
    # A seed with which no median falls into the same bucket with and without the warm-up.
    return Scenario.parse(TEXT, more).run(seed=4).outcome


@pytest.fixture(scope="module")
def runs() -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    return outcome(DURATION), outcome(WARMUP), outcome(DURATION, WARMUP)


def differences(whole: Any, before: Any) -> Any:
    """What a sum, or each sum of a table, is after the warm-up."""
    return {key: whole[key] - before.get(key, 0) for key in whole} if isinstance(whole, dict) else whole - before


@pytest.mark.parametrize("table", ["flows", "links"])
def test_values_after_a_warm_up(table: str, runs: tuple[dict[str, Any], ...]) -> None:
    whole, early, late = (run[table] for run in runs)
    seen: set[str] = set()
    for all_, first, rest in zip(whole, early, late, strict=True):
        assert rest.keys() == all_.keys()
        for key, value in rest.items():
            place = f"{rest['name']}.{key}"
            seen |= {key} if value is not None else set()
            if key in NAMES or key in OF_THE_WHOLE[table]:
                assert value == all_[key], place
            elif key in SUMS[table] and all_[key] is not None:
                before = first[key] or ({} if isinstance(value, dict) else 0)
                assert value == pytest.approx(differences(all_[key], before), abs=1e-12), place
            elif key in OVER_TIME[table] and all_[key] is not None:
                area = DURATION * all_[key] - WARMUP * (first[key] or 0)
                assert value == pytest.approx(area / (DURATION - WARMUP), rel=1e-9, abs=1e-9), place
            elif key in OF_PACKETS[table]:
                # A value that is left as that of the whole run is wrong wherever the parts differ.
                unequal = (
                    value is not None and first[key] is not None and abs(first[key] - all_[key]) > 0.02 * all_[key]
                )
                assert not unequal or value != all_[key], place
    missing = keys(table) - seen - {"access", "wifi", "cell", "grants", "low_latency", "delay"}
    missing -= {"connection_error", "connection_lost", "connection_lost_s"}
    # Of applications, attached flows and starts with saved values, which the network does not have.
    missing -= {"app", "back", "observed", "resume", "dropped_packets", "marked_packets"}
    assert not missing, "the network gives these keys no value, so nothing is compared"


def test_means_over_packets_have_their_weights(runs: tuple[dict[str, Any], ...]) -> None:
    whole, early, late = (run["links"][0] for run in runs)
    sent = [one["delivered_packets"] for one in (whole, early, late)]
    mean = (sent[0] * whole["mean_sojourn_s"] - sent[1] * early["mean_sojourn_s"]) / sent[2]
    assert late["mean_sojourn_s"] == pytest.approx(mean, rel=0.02)  # packets in flight at the border
