"""Explanation of a window change: the event, the packet's fate, the queue."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ackclock import Scenario
from ackclock.files import BadInput
from ackclock.why import explain

TEXT = """
duration = "20s"
[tcp]
profile = "ns2"
receive_window = 100
{options}
[[link]]
ends = ["a", "r"]
rate = "100Mbps"
delay = "1ms"
[[link]]
name = "l"
ends = ["r", "b"]
rate = "2Mbps"
delay = "20ms"
queue = {queue}
{loss}
[[flow]]
name = "f"
from = "a"
to = "b"
"""


def scenario(queue: str = '{ kind = "droptail", limit = "20p" }', loss: str = "", options: str = "") -> Scenario:
    return Scenario.parse(TEXT.replace("{queue}", queue).replace("{loss}", loss).replace("{options}", options))


def test_a_queue_that_was_full() -> None:
    found = explain(scenario(), 15.0, cut=True)
    assert found.event == "dupack"
    assert found.cwnd[1] < found.cwnd[0]
    assert found.packet == found.acked + 1
    drop = next(step for step in found.journey if step.event == "drop")
    assert (drop.link, drop.reason) == ("r->b", "queue")
    assert drop.time_s < found.time_s
    # Twenty packets wait, and one is in transmission.
    assert found.queue is not None
    assert (found.queue.link, found.queue.total, list(found.queue.packets)) == ("r->b", 21, ["f"])


def test_an_ack_that_let_it_grow() -> None:
    made = scenario()
    trace = made.run(trace="changes").trace
    grew = (
        (trace["cwnd"].diff() > 0) & (trace["event"] == "ack") & (trace["time_s"] < 10) & trace["rtt_s"].is_not_null()
    )
    last = trace.filter(grew).row(-1, named=True)
    found = explain(made, last["time_s"])
    assert (found.time_s, found.cwnd[1], found.acked) == (last["time_s"], last["cwnd"], last["ack"])
    assert found.cwnd[1] > found.cwnd[0]
    assert found.journey[0].link == "a->r"
    assert found.journey[-1].link == "r->a (its ACK)"
    assert found.journey[-1].time_s == found.time_s
    # The sample that the controller was given is the time from first to last step.
    assert found.rtt_s == pytest.approx(found.journey[-1].time_s - found.journey[0].time_s, abs=1e-9)


@pytest.mark.parametrize(
    ("loss", "event", "reason"),
    [
        ('loss = { kind = "list", flow = "f", packets = [60] }', "dupack", "list"),
        ('loss = { kind = "list", flow = "f", packets = [60, 61, 62, 63, 64, 65, 66, 67, 68] }', "rto", "list"),
        ('loss = { kind = "bernoulli", rate = 0.3 }', "rto", "loss"),
    ],
)
def test_losses_and_timeouts(loss: str, event: str, reason: str) -> None:
    made = scenario('{ kind = "droptail", limit = "500p" }', loss + '\n[link.back]\nloss = { kind = "none" }')
    trace = made.run(trace="changes").trace
    at = trace.filter(trace["event"] == event)["time_s"][0]
    found = explain(made, at)
    assert (found.event, found.packet) == (event, found.acked + 1)
    assert [step.reason for step in found.journey if step.event == "drop"][-1] == reason
    assert found.queue is None


def test_marks() -> None:
    made = scenario('{ kind = "red", limit = "30p", ecn = true, mark_p = 2 }', options="ecn = true")
    found = explain(made, 12.0, cut=True)
    assert "echoes congestion: r->b marked packet" in found.cause
    assert found.queue is not None
    assert found.queue.total >= 5


def test_what_cannot_be_explained_is_told() -> None:
    with pytest.raises(BadInput, match="the run lasts from 0 to 20 s"):
        explain(scenario(), 30.0)
    with pytest.raises(BadInput, match="there is no TCP flow g; there are f"):
        explain(scenario(), 3.0, flow="g")
    with pytest.raises(BadInput, match=r"no event reduced f's window until 0\.01 s"):
        explain(scenario(), 0.01, flow="f", cut=True)


def test_the_command(root: Path) -> None:
    command = [sys.executable, "-m", "ackclock.cli", "why", str(root / "scenarios" / "dumbbell.toml"), "--at", "8s"]
    done = subprocess.run([*command, "--cut"], capture_output=True, text=True, check=True)
    assert "cubic (cubic): cwnd fell: 42.974 to 30.0818 segments" in done.stdout
    assert " packets: " in done.stdout
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["flow"] == "reno"
