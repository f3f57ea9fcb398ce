"""QUIC flows: the same controller in Python and in Rust, TCP flows over QUIC, TLS, sizes, qlogs, captures, refusals."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import polars as pl
import pytest

from ackclock import Scenario, ScenarioError
from ackclock.apps.agree.page import render
from ackclock.cli.app import main

Command = Callable[..., "CompletedProcess[str]"]

TEXT = """
title = "t"
duration = "5s"
[[link]]
name = "x"
ends = ["s", "d"]
rate = "20Mbps"
delay = "10ms"
queue = { kind = "droptail", limit = "40p" }
[[flow]]
name = "q"
from = "s"
to = "d"
"""
LOSSY = """
title = "lossy"
duration = "2s"
[[link]]
name = "x"
ends = ["s", "d"]
rate = "1Gbps"
delay = "50ms"
loss = { kind = "bernoulli", rate = 0.5 }
back = { loss = { kind = "none" } }
[[flow]]
name = "q"
from = "s"
to = "d"
quic = { initial_window = 8000, pacing = "none" }
"""
"""A receive buffer with more gaps than the stack accepts: it closes the connection."""
QUIC = TEXT + 'quic = { congestion_control = "reno" }\n'
TCP = TEXT + 'tcp = { congestion_control = "reno", recovery = "sack", timestamps = false }\n'


def scenario(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "s.toml"
    path.write_text(text)
    return path


def test_reno_in_python_is_reno_on_quic(root: Path) -> None:
    reno = runpy.run_path(str(root / "examples/reno.py"))["Reno"]
    rust = Scenario.parse(QUIC).run(fingerprint=True, trace="ack", audit=True)
    python = Scenario.parse(QUIC, controllers={"q": reno}).run(fingerprint=True, trace="ack", audit=True)
    assert rust.fingerprint == python.fingerprint
    assert rust.violations == python.violations == []
    flows = [run.outcome["flows"][0] | {"control": ""} for run in (rust, python)]
    assert flows[0] == flows[1]
    assert flows[0]["window_cuts"] > 3
    columns = ["time_s", "cwnd", "ssthresh", "ack", "in_flight", "phase"]
    assert rust.trace.select(columns).equals(python.trace.select(columns))


def test_tcp_flows_run_over_quic(tmp_path: Path, ackclock: Command) -> None:
    file = scenario(tmp_path, TCP)
    done = ackclock("run", file, "--on", "quic", "--json")
    assert done.returncode == 0, done.stderr
    assert "which are ignored: recovery, timestamps" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    outcome = json.loads(done.stdout)
    [flow] = outcome["flows"]
    assert (flow["kind"], flow["transport"], flow["control"]) == ("quic", "quic", "reno")
    simulated = Scenario.load(file).run().outcome
    assert (outcome["substrate"], simulated["substrate"]) == ("quic", "tcp")
    tcp = simulated["flows"][0]
    assert "transport" not in tcp
    assert flow["throughput_bps"] == pytest.approx(tcp["throughput_bps"], rel=0.05)
    assert set(flow) - set(tcp) == {"transport", "persistent_congestion", "ce_marks", "connection_error"}
    with pytest.raises(ValueError, match='the transport is "quic", not "sctp"'):
        Scenario.load(file).over("sctp")


def test_what_quic_cannot_provide_is_refused(tmp_path: Path, ackclock: Command) -> None:
    file = scenario(tmp_path, QUIC.replace('"reno"', '"xcp"'))
    done = ackclock("run", file)
    assert done.returncode == 2
    assert "flow.q.quic.congestion_control: xcp needs the feedback of routers" in done.stderr
    xcp = 'router = { kind = "xcp" }\n[[flow]]'
    with pytest.raises(ScenarioError, match=r"flow\.q\.quic\.congestion_control: xcp needs") as refused:
        Scenario.parse(TCP.replace("[[flow]]", xcp).replace('"reno"', '"xcp"')).over("quic")
    assert refused.value.unmet_need
    with pytest.raises(ScenarioError, match=r"no-such-controller"):
        Scenario.parse(QUIC, ["flow.q.quic.congestion_control=no-such-controller"])


def test_qlogs_are_json_text_sequences(tmp_path: Path, ackclock: Command) -> None:
    file, folder = scenario(tmp_path, QUIC), tmp_path / "logs"
    done = ackclock("run", file, "--qlog", folder)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["q-receiver.sqlog", "q-sender.sqlog"]
    records = [json.loads(line) for line in (folder / "q-sender.sqlog").read_text().split("\x1e") if line.strip()]
    assert records[0]["qlog_version"] == "0.3"
    some = tmp_path / "some"
    assert ackclock("run", file, "--qlog", some, "--qlog-events", "recovery:metrics_updated, transport").returncode == 0
    text = (some / "q-sender.sqlog").read_text()
    selected = [json.loads(line) for line in text.split("\x1e") if line.strip()]
    expected = [r for r in records[1:] if r["name"] == "recovery:metrics_updated" or r["name"].startswith("transport:")]
    assert selected == [records[0], *expected]
    assert len(expected) < len(records) - 1
    assert "must be a category or an event" in ackclock("run", file, "--qlog", some, "--qlog-events", "a b").stderr
    assert "add --qlog FOLDER" in ackclock("run", file, "--qlog-events", "recovery").stderr
    names = {record["name"] for record in records[1:]}
    assert any(name.endswith("packet_sent") for name in names), names
    assert any(name.endswith("packet_lost") for name in names), names
    times = [record["time"] for record in records[1:]]
    assert times == sorted(times)
    trace = tmp_path / "t.parquet"
    refused = ackclock("run", scenario(tmp_path, TCP), "--qlog", folder, "--trace", trace)
    assert not trace.exists()
    assert refused.returncode == 2
    assert "the scenario has no QUIC flow" in refused.stderr


def test_captures_have_the_bytes_of_datagrams(tmp_path: Path) -> None:
    run = Scenario.parse(QUIC).run(captures=["s->d"])
    capture = run.captures["s->d"]
    outcome = run.outcome
    sent = outcome["links"][0]["delivered_packets"] * 1400
    assert len(capture) > 0.9 * sent, "the payload of datagrams is in the file"
    # The first datagram is an Initial packet of version 1 in 1,200 bytes or more (RFC 9000 section 14.1).
    first = capture.index(bytes([0x00, 0x00, 0x00, 0x01]), capture.index(b"\x45\x00"))
    assert capture[first - 1] & 0xC0 == 0xC0


def test_why_and_a_study_of_controllers(tmp_path: Path, ackclock: Command) -> None:
    file = scenario(tmp_path, QUIC)
    cut = ackclock("why", file, "--at", "5s", "--cut")
    assert cut.returncode == 0, cut.stderr
    assert "packets were declared lost" in cut.stdout
    assert "s->d dropped datagram" in cut.stdout
    sweep = '[sweep]\n"flow.q.quic.congestion_control" = ["reno", { kind = "vegas", alpha = 3 }]\n'
    study = scenario(tmp_path, QUIC + sweep)
    done = ackclock("sweep", study, "--out", tmp_path / "out", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["done"] == 2
    table = ackclock("results", tmp_path / "out")
    assert table.returncode == 0, table.stderr
    assert "vegas" in table.stdout


def test_check_shows_the_values_of_a_quic_flow(tmp_path: Path, ackclock: Command) -> None:
    done = ackclock("check", scenario(tmp_path, QUIC), "--json")
    assert done.returncode == 0, done.stderr
    [flow] = json.loads(done.stdout)["flows"]
    assert (flow["kind"], flow["control"], flow["packet_bytes"]) == ("quic", "reno", 1500)
    assert flow["base_rtt_s"] == pytest.approx(0.0206, rel=0.01)


@pytest.mark.parametrize("size", [1200, 7000, 8972, 16_384, 20_000, 65_527])
def test_datagrams_of_every_size_use_the_link(size: int) -> None:
    queue = f"{max(150_000 // size, 12)}p"
    scenario = Scenario.parse(QUIC, [f"flow.q.quic.max_datagram_size={size}", f"link.x.queue.limit={queue}"])
    outcome = scenario.run(audit=True).outcome
    assert outcome["links"][0]["utilisation"] > 0.97  # with the handshake and slow start
    late = Scenario.parse(scenario.text, [*scenario.overrides, "warmup=2s"]).run().outcome
    assert late["links"][0]["utilisation"] > 0.99


@pytest.mark.parametrize("mss", [8948, 30_000])
def test_jumbo_frames_run_over_quic(mss: int) -> None:
    set_ = [f"flow.q.tcp.mss={mss}", "flow.q.tcp.header=52", "duration=10s"]
    tcp = Scenario.parse(TCP, set_)
    outcomes = [scenario.run().outcome for scenario in (tcp, tcp.over("quic"))]
    used = [outcome["links"][0]["utilisation"] for outcome in outcomes]
    assert used[1] == pytest.approx(used[0], abs=0.03)


@pytest.mark.parametrize(("kind", "text"), [("tcp", TCP), ("quic", QUIC)])
def test_a_largest_window_below_one_is_refused(tmp_path: Path, ackclock: Command, kind: str, text: str) -> None:
    file = scenario(tmp_path, text)
    for value in ("0.5", "0.999", "-1"):
        done = ackclock("run", file, "--set", f"flow.q.{kind}.max_cwnd={value}")
        assert done.returncode == 2
        assert f"flow.q.{kind}.max_cwnd: {value} is not" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    for value in ("0", "1", "2.5"):
        outcome = Scenario.parse(text, [f"flow.q.{kind}.max_cwnd={value}"]).run().outcome
        assert outcome["flows"][0]["delivered_bytes"] > 0


def test_a_lost_connection_is_reported(tmp_path: Path, ackclock: Command) -> None:
    file = scenario(tmp_path, LOSSY)
    done = ackclock("run", file, "--json")
    assert done.returncode == 0
    [flow] = json.loads(done.stdout)["flows"]
    assert "too many gaps in stream buffer (receiver, at 0." in flow["connection_error"]
    assert done.stderr == f"ackclock: flow q lost its connection: {flow['connection_error']}\n"
    assert "lost its connection" in ackclock("run", file).stderr
    assert "has lost its connection" in ackclock("run", file, "--audit").stderr
    whole = Scenario.parse(QUIC).run().outcome["flows"][0]
    assert whole["connection_error"] is None
    study = scenario(tmp_path, LOSSY + '[sweep]\n"link.x.loss.rate" = [0, 0.5]\nseed = [1, 2]\n')
    assert ackclock("sweep", study, "--out", tmp_path / "out").returncode == 0
    table = ackclock("results", tmp_path / "out").stdout
    assert table.count("! link.x.loss.rate = 0.5, seed ") == 2
    assert "flow q lost its connection: " in table
    assert ackclock("results", tmp_path / "out", "--export", tmp_path / "runs.csv").returncode == 0
    lost = pl.read_csv(tmp_path / "runs.csv")["q.connection_error"]
    assert (lost.null_count(), len(lost)) == (2, 4)


def test_agree_does_not_compare_lost_connections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = LOSSY.replace("quic = { initial_window = 8000", "tcp = { initial_window = 8000, receive_window = 10000")
    file = scenario(tmp_path, text.replace(', pacing = "none"', ""))
    options = ["--on", "tcp,quic", "--seeds", "2", "--set", 'quic.pacing="none"', "--out", "r"]
    assert main(["agree", str(file), *options]) == 0
    document = json.loads((tmp_path / "r" / "agree.json").read_text())
    quic = document["controllers"][0]["substrates"]["quic"]
    assert quic["runs"] == 0
    assert [one["seed"] for one in quic["invalid"]] == [1, 2]
    assert quic["invalid"][0]["reasons"][0].startswith("flow q lost its connection: ")
    assert "lost its connection" in render(document)


def test_tls_runs_in_scenarios() -> None:
    tls = Scenario.parse(QUIC, ["flow.q.quic.tls=true"])
    runs = [tls.run(fingerprint=True, audit=True) for _ in range(2)]
    # The second handshake is as large as the first: no session is resumed.
    assert runs[0].fingerprint == runs[1].fingerprint
    assert runs[0].violations == []
    plain = Scenario.parse(QUIC).run().outcome["flows"][0]
    flow = runs[0].outcome["flows"][0]
    assert flow["goodput_bps"] == pytest.approx(plain["goodput_bps"], rel=0.01)
    assert flow["connection_error"] is None
    with pytest.raises(ScenarioError, match=r"needs the receiver's clock"):
        Scenario.parse(QUIC.replace('"reno"', '"sarbe"'), ["flow.q.quic.tls=true"])
