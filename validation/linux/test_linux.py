"""Our sender and receiver against recordings of Linux 6.18. Figures and exceptions are in docs/validation-linux.md."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from statistics import mean

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from agreement import (
    BBR_CAUSES,
    CAUSES,
    HERE,
    RECEIVER_CAUSES,
    Case,
    Exchange,
    bbr_agrees,
    bbr_gains,
    cases,
    exchanges,
    receivers,
)
from bbr_codel import networks, ours, recorded
from linux_report import PAGE, receiver_summary, summary

from ackclock import Scenario
from ackclock.apps.replay.comparison import difference
from ackclock.apps.replay.form import read
from ackclock.apps.replay.player import play
from ackclock.base.files import BadInput


@pytest.fixture(scope="module")
def found() -> list[Case]:
    return list(cases())


def share(lines: list[Exchange]) -> float:
    return sum(line.first is None for line in lines) / len(lines)


def test_random_networks_agree_in_every_transmission_and_counter() -> None:
    vectors = list(exchanges("vectors"))
    assert len(vectors) == 496
    assert share(vectors) >= 0.99


def test_scripts_agree() -> None:
    exact = [line for line in exchanges("scripts") if line.exact]
    assert len(exact) == 159
    assert share(exact) >= 0.95
    assert {line.name for line in exact if line.first} <= CAUSES.keys()


def test_flows_agree() -> None:
    exact = [line for line in exchanges("flows") if line.exact]
    assert len(exact) == 132
    assert {line.name for line in exact if line.first} <= CAUSES.keys()
    assert sum(line.same_segments for line in exact) >= 0.90 * len(exact)
    assert share(exact) >= 0.85


def test_the_receiver_sends_the_acks_of_the_kernel() -> None:
    lines = list(receivers())
    exact = [line for line in lines if line.exact]
    assert (len(lines), len(exact)) == (315, 287)
    differing = {line.name for line in exact if line.first}
    assert differing <= RECEIVER_CAUSES.keys()
    assert share(exact) >= 0.95
    read = [line for line in exact if line.category != "not_read"]
    assert share(read) >= 0.97
    assert receiver_summary(lines) in PAGE.read_text()


def test_a_changed_ack_is_named() -> None:
    line = next(line for line in read(HERE / "receiver.jsonl.gz") if line["id"] == "many_holes-3")
    ours = play(line, guided=True)
    assert difference(line, ours) is None
    changed = next(answer for answer in line["answers"] if answer["acks"][0][1])
    changed["acks"][0][1] = [[0, 1460]]
    assert "acks: expected [[" in str(difference(line, ours))


def test_reno_repeats_the_loss_events_of_the_kernel(found: list[Case]) -> None:
    exact = [case for case in found if case.exact and case.name.startswith("reno")]
    assert len(exact) == 21
    assert {case.name for case in exact if not case.exactly} <= {"reno-nosack"}


def test_cubic_agrees_within_a_segment(found: list[Case]) -> None:
    cubic = [case for case in found if case.name.startswith("cubic")]
    assert len(cubic) == 35
    assert {case.name for case in cubic if not case.agrees} <= CAUSES.keys()


def test_bbr_agrees_in_its_totals() -> None:
    bbr = list(cases(("bbr",)))
    assert len(bbr) == 12
    assert [case.name for case in bbr if not bbr_agrees(case)] == []


def test_bbr_spends_its_time_at_the_pacing_gains_of_the_kernel() -> None:
    """The median of five seeds is within five points, or the cause is known."""
    found = list(bbr_gains(seeds=5))
    assert len(found) == 12
    assert {case.name for case in found if not case.agree} <= BBR_CAUSES.keys()


@pytest.mark.parametrize("number", [3, 7, 8, 9, 10])
def test_bbr_behind_codel_has_the_goodput_and_the_drops_of_a_live_kernel(number: int) -> None:
    """With a receive buffer that does not limit the kernel in its Startup, where the round-trip time is long."""
    live, model = recorded(number, "large") or recorded(number), ours(networks()[number])
    goodput = mean(row["goodput_mbps"] for row in recorded(number))
    assert mean(row["goodput_mbps"] for row in model) == pytest.approx(goodput, rel=0.005)
    drops = mean(row["dropped"] for row in live)
    assert mean(row["dropped"] for row in model) == pytest.approx(drops, rel=0.2)


def test_behind_codel_the_delayed_acks_decide_about_the_drops_of_bbr() -> None:
    """A known difference: with delayed ACKs ours has two modes, of which the kernel shows the other one."""
    network = networks()[18]
    drops = mean(row["dropped"] for row in recorded(18))
    assert mean(row["dropped"] for row in ours(network)) < 0.6 * drops
    scenario = Scenario.parse(network.text, ["tcp.delayed_ack=false"])
    undelayed = [sum(scenario.run(seed=seed).outcome["links"][0]["dropped_packets"].values()) for seed in (1, 2, 3)]
    assert mean(undelayed) == pytest.approx(drops, rel=0.1)


def test_a_changed_recording_is_named_with_its_first_difference() -> None:
    line = next(line for line in read(HERE / "scripts.jsonl.gz") if line["id"] == "limited-transmit-1.reno")
    ours = play(line, guided=True)
    assert difference(line, ours) is None
    line["answers"][1]["sent"] = [[99000, 100000, ""]]
    assert re.match(r"answer 1 \(input 1 at .* ms\): sent: expected \[\[99000", str(difference(line, ours)))


def test_the_page_has_these_figures(found: list[Case]) -> None:
    assert summary(found) in PAGE.read_text()


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({"seq": -1000}, "byte -1000 begins no segment"),
        ({"seq": 0, "ecn": "zz"}, "unknown ecn 'zz'; known: not, ect, ce"),
    ],
)
def test_a_segment_that_is_none_is_refused(event: dict[str, object], message: str) -> None:
    line = {"id": "x", "role": "receiver", "options": {"mss": 1000}, "events": [{"t": 1, "do": "data"} | event]}
    with pytest.raises(BadInput, match=f"^x, event at 1: {message}$"):
        play(line)
