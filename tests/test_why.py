"""Explanation of a window change: the event, the packet, the rule that dropped it, the queue, the limit of the flow."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import polars as pl
import pytest

from ackclock import Scenario, ScenarioError
from ackclock.apps.why import budget, explain
from ackclock.base.files import BadInput
from ackclock.cli.app import main
from ackclock.explanation import Explanation
from ackclock.study import Store, Study, sweep
from ackclock.study.executors import Local

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
    drop = next(step for step in found.packet_events if step.event == "drop")
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
    assert found.packet_events[0].link == "a->r"
    assert found.packet_events[-1].link == "r->a (its ACK)"
    assert found.packet_events[-1].time_s == found.time_s
    # The sample that the controller was given is the time from first to last step.
    assert found.rtt_s == pytest.approx(found.packet_events[-1].time_s - found.packet_events[0].time_s, abs=1e-9)


@pytest.mark.parametrize(
    ("loss", "event", "reason"),
    [
        ('loss = { kind = "scripted", flow = "f", packets = [60] }', "dupack", "list"),
        ('loss = { kind = "scripted", flow = "f", packets = [60, 61, 62, 63, 64, 65, 66, 67, 68] }', "rto", "list"),
        ('loss = { kind = "bernoulli", rate = 0.3 }', "rto", "loss"),
    ],
)
def test_losses_and_timeouts(loss: str, event: str, reason: str) -> None:
    made = scenario('{ kind = "droptail", limit = "500p" }', loss + '\n[link.back]\nloss = { kind = "none" }')
    trace = made.run(trace="changes").trace
    at = trace.filter(trace["event"] == event)["time_s"][0]
    found = explain(made, at)
    assert (found.event, found.packet) == (event, found.acked + 1)
    assert [step.reason for step in found.packet_events if step.event == "drop"][-1] == reason
    assert found.queue is None


def test_marks() -> None:
    made = scenario('{ kind = "red", limit = "30p", ecn = true, mark_p = 2 }', options="ecn = true")
    found = explain(made, 12.0, cut=True)
    assert "echoes congestion: r->b marked packet" in found.cause
    assert found.queue is not None
    assert found.queue.total >= 5


def linux(queue: str, loss: str = "", options: str = "", flow: str = "") -> Scenario:
    """The scenario with the profile of Linux; `flow` adds keys to the flow."""
    text = TEXT.replace('profile = "ns2"\nreceive_window = 100', 'profile = "linux"').replace("{queue}", queue)
    return Scenario.parse(text.replace("{loss}", loss).replace("{options}", options) + flow)


def last_reduction(made: Scenario, until_s: float = 20.0) -> Explanation:
    """The last reduction by a loss, a mark or a timeout."""
    trace = made.run(trace="changes").trace
    begun = trace.filter(trace["cause"].is_in(["fast_retransmit", "ecn", "rto"]) & (trace["time_s"] <= until_s))
    found = explain(made, begun["time_s"][-1])
    assert found.change == begun["cause"][-1]
    return found


WIDE = '{ kind = "droptail", limit = "500p" }'


def test_a_full_queue_has_its_lengths() -> None:
    found = explain(scenario(), 15.0, cut=True)
    assert found.rule is not None
    assert found.queue is not None
    assert found.rule.values["packets"] == found.rule.values["packet_limit"] == 20 == found.queue.total - 1
    assert found.rule.words == "the queue was full: 20 of 20 packets waited, not counting the one in transmission"
    assert found.rule.words in found.cause
    found = explain(scenario('{ kind = "droptail", limit = "20kB" }'), 15.0, cut=True)
    assert found.rule is not None
    assert 20_000 - 1040 < found.rule.values["bytes"] <= found.rule.values["byte_limit"] == 20_000


@pytest.mark.parametrize("ecn", [False, True])
def test_red_has_its_probability(ecn: bool) -> None:
    red = (
        f'{{ kind = "red", limit = "60p", min = "5p", max = "15p", max_p = 0.1, ecn = {str(ecn).lower()}, mark_p = 2 }}'
    )
    found = explain(scenario(red, options=f"ecn = {str(ecn).lower()}"), 12.0, cut=True)
    assert found.rule is not None
    assert found.rule.kind == "red"
    values = found.rule.values
    assert values["probability"] == pytest.approx(0.1 * (values["average"] - 5) / 10, abs=1e-12)
    assert values["probability"] <= values["spread_probability"] <= 1
    assert "RED: average " in found.cause
    assert " packets, between 5 and 15, probability 0.0" in found.cause
    assert found.change == ("ecn" if ecn else "fast_retransmit")


@pytest.mark.parametrize("kind", ["codel", "fq_codel"])
@pytest.mark.parametrize("ecn", [False, True])
def test_codel_has_its_sojourn_time(kind: str, ecn: bool) -> None:
    queue = f'{{ kind = "{kind}", limit = "1000p", ecn = {str(ecn).lower()} }}'
    found = last_reduction(linux(queue, options=f"ecn = {str(ecn).lower()}"))
    assert found.rule is not None
    assert found.rule.kind == "codel"
    values = found.rule.values
    here = [step for step in found.packet_events if step.link == "r->b"]
    arrived = next(step for step in here if step.event == "enqueued")
    assert values["sojourn_s"] == pytest.approx(found.rule.time_s - arrived.time_s, abs=1e-9)
    assert values["sojourn_s"] > values["target_s"] == 0.005
    assert values["above_s"] >= 0.1 - 1e-9
    assert values["number"] >= 1
    assert any(step.reason == "aqm" for step in here) != ecn
    assert found.queue is not None
    assert 1 <= found.queue.total < 30  # dropped packets do not count


@pytest.mark.parametrize(
    ("kind", "options", "rule"),
    [
        ("pie", "", "pie"),
        ("pie", "ecn = true", "pie"),
        ("fq_pie", "", "pie"),
        ("fq_pie", "ecn = true", "pie"),
        ("dualpi2", "", "dualpi2"),
        ("dualpi2", "ecn = true", "dualpi2"),
    ],
)
def test_probabilities_from_the_delay(kind: str, options: str, rule: str) -> None:
    ecn = ", ecn = true" if options and kind != "dualpi2" else ""
    found = last_reduction(linux(f'{{ kind = "{kind}", limit = "1000p"{ecn} }}', options=options))
    assert found.rule is not None
    assert found.rule.kind == rule
    assert 0 < found.rule.values["probability"] < 0.5
    assert found.rule.values["target_s"] == 0.015
    assert found.change == ("ecn" if options else "fast_retransmit")


def test_the_longest_queue_is_shortened() -> None:
    found = last_reduction(linux('{ kind = "fq_codel", limit = "12p", target = "500ms" }'))
    assert found.rule is not None
    assert found.rule.kind == "longest_queue"
    assert found.rule.values["packets"] == 13 == found.rule.values["packet_limit"] + 1


@pytest.mark.parametrize(
    ("loss", "kind", "words"),
    [
        ('{ kind = "bernoulli", rate = 0.02 }', "loss", "bernoulli: loss probability 0.02"),
        (
            '{ kind = "gilbert_elliott", p = 0.01, r = 0.3, loss_bad = 0.5 }',
            "loss",
            "gilbert_elliott in its bad state: loss probability 0.5",
        ),
        ('{ kind = "policer", rate = "1Mbps", burst = "20kB" }', "policer", "the policer had tokens for"),
        ('{ kind = "blackout", times = [["3s", "4s"]] }', "blackout", "a blackout until 4 s"),
        ('{ kind = "scripted", flow = "f", packets = [90] }', "scripted", "a scripted loss lists it"),
    ],
)
def test_impairments_are_named(loss: str, kind: str, words: str) -> None:
    found = last_reduction(scenario(WIDE, f'loss = {loss}\n[link.back]\nloss = {{ kind = "none" }}'))
    assert found.rule is not None
    assert found.rule.kind == kind
    assert found.rule.words.startswith(words)
    assert words in found.cause
    assert found.queue is None
    if kind == "policer":
        assert found.rule.values["tokens"] < found.rule.values["size"]


def test_two_loss_processes_are_both_named() -> None:
    losses = '[{ kind = "bernoulli", rate = 0.02 }, { kind = "gilbert_elliott", p = 0.01, r = 0.3, loss_bad = 0.5 }]'
    found = last_reduction(scenario(WIDE, f'loss = {losses}\n[link.back]\nloss = {{ kind = "none" }}'))
    assert found.rule is not None
    assert "bernoulli: loss probability 0.02, or gilbert_elliott in its " in found.rule.words


def test_a_step_of_recovery_leads_to_its_loss() -> None:
    made = linux('{ kind = "codel", limit = "1000p" }')
    trace = made.run(trace="changes").trace
    step = trace.filter(trace["cause"] == "recovery").row(-1, named=True)
    begun = trace.filter((trace["cause"] == "fast_retransmit") & (trace["time_s"] < step["time_s"])).row(-1, named=True)
    found = explain(made, step["time_s"], cut=True)
    assert found.change == "recovery"
    assert f"it began at {begun['time_s']:.6f} s: " in found.cause
    assert (found.packet, found.rule) == (begun["ack"] + 1, explain(made, begun["time_s"]).rule)


@pytest.mark.parametrize(
    ("made", "at_s", "kind", "words"),
    [
        (linux(WIDE, options="receive_window = 20"), 12.0, "receive_window", "the receive window of 20 segments"),
        (scenario(WIDE, options="max_cwnd = 15"), 12.0, "max_cwnd", "max_cwnd bounds it to 15 segments"),
        (linux(WIDE, flow='writes = [["0s", "20kB"], ["15s", "5kB"]]'), 12.0, "application", "(0 of "),
        (linux(WIDE, flow='bytes = "50kB"'), 12.0, "complete", "all data was acknowledged at 0."),
        (scenario(WIDE), 0.03, "handshake", "no packet is acknowledged yet"),
        (scenario(loss='loss = { kind = "blackout", times = [["3s", "4s"]] }'), 3.9, "no_acks", "since 3."),
        (linux(WIDE, flow='tcp = { congestion_control = "vegas" }'), 12.0, "window", "vegas does not change it"),
    ],
)
def test_what_limits_a_flow_whose_window_does_not_change(made: Scenario, at_s: float, kind: str, words: str) -> None:
    found = explain(made, at_s)
    assert found.limit is not None
    assert (found.limit.kind, words in found.limit.words) == (kind, True), found.limit
    assert found.limit.unchanged_s == pytest.approx(at_s - found.time_s)
    assert found.lines[-1].startswith(f"{at_s:.6f} s  cwnd unchanged for ")
    # A reduction is explained without it, and so is a window that has just changed.
    assert explain(made, found.time_s).limit is None


def test_recovery_keeps_the_window() -> None:
    losses = 'loss = { kind = "scripted", flow = "f", packets = [60, 62, 64, 66, 68] }\n'
    losses += '[link.back]\nloss = { kind = "none" }'
    made = scenario(WIDE, losses, options='recovery = "sack"')
    trace = made.run(trace="ack").trace
    times = trace.filter(trace["phase"] == "recovery")["time_s"]
    limit = explain(made, 0.1 * times[0] + 0.9 * times[-1]).limit
    assert limit is not None
    assert limit.kind == "recovery"
    assert "fast recovery is under way" in limit.words


def test_causes_stand_in_the_trace() -> None:
    made = linux(
        '{ kind = "droptail", limit = "20p" }',
        'loss = { kind = "blackout", times = [["9s", "11s"]] }',
    )
    trace = made.run(trace="ack").trace
    causes = set(trace["cause"].drop_nulls())
    assert {"fast_retransmit", "rto", "recovery"} <= causes
    fell = trace.filter(trace["cwnd"].diff() < 0)
    assert fell.height > 10
    assert fell["cause"].null_count() == 0
    grew = trace.filter((trace["cwnd"].diff() > 0) & (trace["ssthresh"] == trace["ssthresh"].shift(1)))
    assert grew.filter(grew["phase"] == "open")["cause"].null_count() == grew.filter(grew["phase"] == "open").height
    idle = linux(WIDE, flow='writes = [["0s", "200kB"], ["10s", "200kB"]]').run(trace="changes").trace
    assert idle.filter((idle["cause"] == "restart") & (idle["time_s"] > 10)).height == 1


def test_a_run_of_a_study(tmp_path: Path) -> None:
    axes = '[sweep]\n"link.l.queue.limit" = ["15p", "20p"]\nseed = [4, 5]\n'
    text = TEXT.replace("{queue}", '{ kind = "droptail", limit = "5p" }').replace("{loss}", "").replace("{options}", "")
    study = Study.parse(text + axes, ["duration=9s"])
    folder = tmp_path / "study"
    with Store.create(folder) as store:
        sweep(study, store, Local(1))
        runs = list(store.runs())
    wanted = next(run for run in runs if run["seed"] == 5 and "20p" in run["axes"].values())
    command = [sys.executable, "-m", "ackclock.cli", "why", str(folder), "--at", "8s", "--cut"]
    done = subprocess.run(
        [*command, "--run", wanted["run_id"][:12], "--json"], capture_output=True, text=True, check=True
    )
    alone = explain(scenario(), 8.0, seed=5, cut=True)
    assert json.loads(done.stdout)["time_s"] == alone.time_s
    for more, message in (
        ([], "select a run of the study with --run"),
        (["--run", "nothing"], "--run: nothing is no run of the plan"),
        (["--run", ""], "is the prefix of 4 identities"),
        (["--run", wanted["run_id"], "--seed", "3"], "omit --seed and --set"),
    ):
        refused = subprocess.run([*command, *more], capture_output=True, text=True, check=False)
        assert refused.returncode == 2
        assert message in " ".join(refused.stderr.split())


def test_the_keys_of_the_json() -> None:
    found = json.loads(explain_json(scenario(), 15.0))
    assert list(found)[:11] == [
        "flow", "control", "time_s", "event", "phase", "cwnd", "ssthresh", "rtt_s", "in_flight", "acked", "cause",
    ]  # fmt: skip
    assert {"packet", "packet_events", "queue", "rule", "limit", "change", "lines"} <= set(found)
    assert set(found["packet_events"][0]) == {"time_s", "link", "event", "reason", "waited_s", "transmission"}
    assert set(found["queue"]) == {"link", "time_s", "packets"}


def explain_json(made: Scenario, at_s: float) -> str:
    """The JSON of the command for a reduction."""
    return json.dumps(asdict(explain(made, at_s, cut=True)))


def test_what_cannot_be_explained_is_told() -> None:
    with pytest.raises(BadInput, match="the run lasts from 0 to 20 s"):
        explain(scenario(), 30.0)
    with pytest.raises(BadInput, match="there is no TCP or QUIC flow g; there are f"):
        explain(scenario(), 3.0, flow="g")
    with pytest.raises(BadInput, match=r"no event reduced f's window until 0\.01 s"):
        explain(scenario(), 0.01, flow="f", cut=True)


def test_the_command(root: Path) -> None:
    command = [sys.executable, "-m", "ackclock.cli", "why", str(root / "scenarios" / "dumbbell_ns2.toml"), "--at", "8s"]
    done = subprocess.run([*command, "--cut"], capture_output=True, text=True, check=True)
    assert "cubic (cubic): cwnd fell: 42.974 to 30.0818 segments" in done.stdout
    assert " packets: " in done.stdout
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["flow"] == "reno"


def test_a_wait_for_a_shared_channel_counts_the_transmissions_of_others() -> None:
    scenario = Scenario.load("@wifi", ["duration=6s", "warmup=1s"])
    found = explain(scenario, 5.0, flow="camera")
    waits = [step for step in found.packet_events if step.transmission is not None]
    assert waits
    assert all(step.link.split()[0] in {"ap->camera", "camera->ap"} for step in waits)
    transmissions = scenario.run(packets=True).transmissions
    for step in waits:
        assert step.transmission
        link, arrived = step.link.split()[0], step.time_s - (step.waited_s or 0.0)
        sent = transmissions.filter(pl.col("begin_s") == step.transmission.begin_s, pl.col("link") == link).row(
            0, named=True
        )
        assert sent["end_s"] >= step.time_s
        assert (sent["packets"], sent["attempt"], 1.0) == (
            step.transmission.packets,
            step.transmission.attempt,
            step.transmission.share,
        )
        before = transmissions.filter(pl.col("begin_s") >= arrived, pl.col("begin_s") < sent["begin_s"])
        assert step.transmission.others == before.filter(pl.col("link") != link).height
        assert step.transmission.earlier == before.filter(pl.col("link") == link).height
    assert any("released by a PPDU of" in line and "of other links" in line for line in found.lines)


def test_an_explanation_names_the_transport_block() -> None:
    found = explain(Scenario.load("@lte", ["duration=6s"]), at_s=1.5)
    blocks = [step.transmission for step in found.packet_events if step.transmission is not None]
    assert blocks
    assert {block.kind for block in blocks} == {"block"}
    assert all(0 < block.share <= 1 and block.attempt >= 1 for block in blocks)
    assert any("% of the cell" in line for line in found.lines)


def test_a_run_keeps_the_causes_of_its_reductions() -> None:
    scenario = Scenario.load("@dumbbell", ["duration=6s"])
    result = scenario.run(trace="ack", packets=True, causes=1000)
    assert result.causes
    assert all(cause.cwnd[1] < cause.cwnd[0] for cause in result.causes)
    assert [cause.time_s for cause in result.causes] == sorted(cause.time_s for cause in result.causes)
    last = result.causes[-1]
    asked = explain(scenario, last.time_s, flow=last.flow, cut=True)
    assert (asked.time_s, asked.cause, asked.packet_events) == (last.time_s, last.cause, last.packet_events)
    assert len(scenario.run(trace="ack", packets=True, causes=2).causes) == 2
    with pytest.raises(ScenarioError, match="causes: needs trace"):
        scenario.run(causes=1)


CALL = """
duration = "5s"
[[link]]
ends = ["a", "b"]
rate = "6Mbps"
delay = "20ms"
queue = { kind = "droptail", limit = "60kB" }
[[flow]]
name = "call"
from = "a"
to = "b"
app = { kind = "frames", rate = "3Mbps" }
[[flow]]
name = "download"
from = "a"
to = "b"
start = "1s"
"""


def test_the_budget_of_a_message_adds_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each part of a frame's time beside a download, in the order of the parts; the command prints them."""
    told = budget(Scenario.parse(CALL), "call:100")
    assert sum(part for _, part in told.parts) == pytest.approx(told.total_s, abs=1e-9)
    assert told.message["bytes"] == 12_500
    assert {"in the queue of a->b", "in transmission", "in flight"} <= {what for what, _ in told.parts}
    file = tmp_path / "call.toml"
    file.write_text(CALL)
    assert main(["why", str(file), "--message", "call:100"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("message 100 of call: 12,500 bytes, from 3.333333 s to ")
    assert len(lines) == 1 + len(told.parts)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--message", "call"], "such as call:213"),
        (["--message", "call:999"], "has no message 999"),
        (["--message", "none:1"], "has no message 1"),
        (["--message", "call:149"], "is unfinished"),
        (["--message", "call:1", "--at", "2s"], "--at: has no meaning with --message"),
        ([], "--at: is missing"),
    ],
)
def test_questions_about_messages_that_have_no_answer(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each says what is wrong, with status 2."""
    file = tmp_path / "call.toml"
    file.write_text(CALL)
    assert main(["why", str(file), *options]) == 2
    assert message in capsys.readouterr().err
