"""The record of a controller's states, the columns of pacing and application, and impairments that begin in a run."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from ackclock import Result, Scenario, ScenarioError
from ackclock.base.models import models

NETWORK = """
duration = "8s"
[tcp]
congestion_control = "bbr3"
[[link]]
name = "l"
ends = ["a", "b"]
rate = "20Mbps"
delay = "20ms"
queue = { kind = "droptail", limit = "2bdp" }
[[flow]]
name = "f"
from = "a"
to = "b"
"""
JITTER = '{ kind = "jitter", min = "0ms", max = "5ms" }'
UNORDERED = '{ kind = "jitter", min = "0ms", max = "5ms", order = false }'
REORDER = '{ kind = "reorder", rate = 0.01, by = "5ms" }'
DELAY = '{ kind = "delay", steps = [["0s", "10ms"]] }'


SENDS = """
duration = "6s"
[[link]]
name = "l"
ends = ["a", "b"]
rate = "20Mbps"
delay = "20ms"
"""
FLOW = '[[flow]]\nname = "f"\nfrom = "a"\nto = "b"\nudp = { rate = "15Mbps" }\n'


def changed(*changes: tuple[str, str]) -> Scenario:
    """A source of packets over a link whose impairments change."""
    tables = [f'[[change]]\nat = "{at}"\nset = {{ "link.l.loss" = {loss} }}\n' for at, loss in changes]
    return Scenario.parse(SENDS + FLOW + "".join(tables))


@pytest.mark.parametrize("over", ["tcp", "quic"])
@pytest.mark.parametrize("control", ["bbr", "bbr3", "c4"])
def test_transitions_are_a_chain_and_agree_with_the_trace(control: str, over: str) -> None:
    scenario = Scenario.parse(NETWORK, [f"tcp.congestion_control={control}", "duration=12s"])
    result = (scenario.over("quic") if over == "quic" else scenario).run(trace="ack")
    names = next(entry["states"] for entry in models("controllers") if entry["name"] == control)
    rows = result.states.rows(named=True)
    assert len(rows) > 3
    assert rows[0]["from"] == names[0]
    assert all(one["to"] == after["from"] and one["time_s"] <= after["time_s"] for one, after in pairwise(rows))
    assert all(row["why"] and row["flow"] == "f" for row in rows)
    # The last transition up to a row of the trace gives the state that the row has.
    column = {"bbr": "mode", "bbr3": "state", "c4": "c4_state"}[control]
    trace = result.trace.filter(pl.col(column).is_not_null())
    times = np.array([row["time_s"] for row in rows])
    last = np.searchsorted(times, trace["time_s"].to_numpy(), "right") - 1
    states = [names.index(rows[i]["to"]) if i >= 0 else 0 for i in last]
    assert trace[column].cast(int).to_list() == states


def test_states_that_last_no_time_are_recorded() -> None:
    rows = Scenario.parse(NETWORK).run(trace="ack").states.rows()
    assert [(row[2], row[3], row[4]) for row in rows[:3]] == [
        ("startup", "drain", "full"),
        ("drain", "down", "drained"),
        ("down", "cruise", "drained"),
    ]
    assert rows[1][0] == rows[2][0]


def test_without_a_trace_and_without_states_there_is_no_record() -> None:
    assert Scenario.parse(NETWORK).run().states.is_empty()
    assert Scenario.parse(NETWORK, ["tcp.congestion_control=reno"]).run(trace="ack").states.is_empty()


def test_a_controller_that_takes_over_has_a_record_of_its_own() -> None:
    change = '[[change]]\nat = "2s"\nset = { "flow.f.tcp.congestion_control" = "bbr" }\n'
    rows = Scenario.parse(NETWORK + change).run(trace="ack").states.rows(named=True)
    assert {row["to"] for row in rows if row["time_s"] > 2} <= {"startup", "drain", "probe_bw", "probe_rtt"}
    assert next(row for row in rows if row["time_s"] > 2)["from"] == "startup"


def test_a_fork_goes_on_with_the_record() -> None:
    whole = Scenario.parse(NETWORK).run(trace="ack", threads=1)
    assert Scenario.parse(NETWORK).run(trace="ack", threads=2).states.equals(whole.states)


def test_pacing_rate_and_application_limit_are_columns_of_every_trace() -> None:
    writes = ", ".join(f'["{10 * n}ms", "5kB"]' for n in range(400))
    limited = Scenario.parse(NETWORK, [f"flow.f.writes=[{writes}]"]).run(trace="ack").trace
    late = limited.filter(pl.col("time_s") > 1)
    assert late["app_limited"].to_numpy().mean() > 0.9
    greedy = Scenario.parse(NETWORK).run(trace="ack").trace.filter((pl.col("time_s") > 1) & (pl.col("time_s") < 4))
    assert not greedy["app_limited"].any()
    gain = greedy["pacing_bps"] / (greedy["bw"] * greedy["pacing_gain"])
    assert gain.to_numpy() == pytest.approx(0.99, rel=1e-6)
    reno = Scenario.parse(NETWORK, ["tcp.congestion_control=reno"]).run(trace="ack").trace
    assert reno["pacing_bps"].null_count() == reno["app_limited"].null_count() == len(reno)


def arrivals(run: Result) -> pl.DataFrame:
    """The packets that arrive over the link: nothing is sent twice."""
    return run.packets.filter((pl.col("event") == "deliver") & (pl.col("link") == "a->b"))


@pytest.mark.parametrize("loss", [JITTER, UNORDERED, REORDER, DELAY])
def test_delays_begin_and_end_during_a_run(loss: str) -> None:
    """The audit holds, nothing changes before, and delays or the order after."""
    run = changed(("2s", loss), ("4s", '"none"')).run(packets=True, audit=True)
    assert not run.violations
    plain = changed().run(packets=True)
    early = pl.col("time_s") < 2
    assert arrivals(run).filter(early).equals(arrivals(plain).filter(early))
    falls = arrivals(run).filter(pl.col("seq").diff() < 0)["time_s"].to_list()
    if loss in {JITTER, DELAY}:
        assert falls == []  # the order is kept, also at the end of the impairment
        longer = arrivals(run)["time_s"].to_numpy() - arrivals(plain)["time_s"].to_numpy()[: len(arrivals(run))]
        times = arrivals(run)["time_s"].to_numpy()
        assert longer[(times > 2.1) & (times < 4)].mean() > 0.001
        assert longer[times > 4.1].max() == 0
    else:
        assert falls
        assert all(2 <= time < 4.2 for time in falls)


def test_an_impairment_of_the_scenario_can_end_too() -> None:
    run = Scenario.parse(
        f'{SENDS}loss = {JITTER}\n{FLOW}[[change]]\nat = "2s"\nset = {{ "link.l.loss" = "none" }}\n'
    ).run(packets=True, audit=True)
    assert not run.violations
    assert arrivals(run)["seq"].is_sorted()


def test_duplicates_and_stalls_cannot_begin() -> None:
    for loss in ('{ kind = "duplicate", rate = 0.1 }', '{ kind = "stall", times = [["3s", "4s"]] }'):
        with pytest.raises(ScenarioError, match="duplicates and stalls cannot begin or end during a run"):
            changed(("2s", loss))


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [("receive_window", 50, "receive window"), ("congestion_control", "cubic", "controller")],
)
def test_what_a_quic_flow_cannot_change_is_refused_before_the_run(key: str, value: object, what: str) -> None:
    """It ended the program."""
    change = f'[[change]]\nat = "2s"\nset = {{ "flow.f.tcp.{key}" = {json.dumps(value)} }}\n'
    with pytest.raises(ScenarioError, match=f"the {what} of a QUIC flow cannot change during a run") as refused:
        Scenario.parse(NETWORK + change).over("quic")
    assert refused.value.unmet_need


def test_cubic_does_not_count_the_time_in_which_an_unused_window_grows_again() -> None:
    """RFC 9438 section 4.2: 20 s at 50 of 289 segments are not on the curve."""
    text = """
duration = "27s"
[tcp]
congestion_control = { kind = "cubic", arithmetic = "rfc9438" }
initial_ssthresh = 300
[[link]]
name = "l"
ends = ["a", "b"]
rate = "1Gbps"
delay = "50ms"
loss = { kind = "scripted", flow = "f", segments = [[3000, 1]] }
[[flow]]
name = "f"
from = "a"
to = "b"
"""
    writes = [["0s", "10526960B"], *([f"{4 + n / 10}s", "72400B"] for n in range(200)), ["24s", "500MB"]]
    trace = Scenario.parse(text, [f"flow.f.writes={json.dumps(writes)}"]).run(trace="ack").trace
    at = {time: trace.filter(pl.col("time_s") <= time).row(-1, named=True) for time in (4.3, 26.0)}
    assert at[4.3]["w_max"] == pytest.approx(308.9, abs=0.1)
    assert at[26.0]["cwnd"] < at[4.3]["w_max"] + 1  # it was 14 segments more
