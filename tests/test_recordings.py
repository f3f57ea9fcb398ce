"""Recordings of other programs: own captures read again, damaged files, causes, models."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ackclock import Scenario, _core
from ackclock.apps.traces import Options, describe, is_recording, read_flow
from ackclock.apps.traces.cause import cause, sentences
from ackclock.apps.traces.controller import which
from ackclock.apps.traces.model import candidates, make, predict
from ackclock.base.files import BadInput
from ackclock.cli.app import main

PATH = """duration = "{seconds}s"
seed = 3
[[link]]
ends = ["s", "r"]
rate = "1Gbps"
delay = "0.2ms"
[[link]]
name = "l"
ends = ["r", "d"]
rate = "{mbps}Mbps"
delay = "{delay}ms"
queue = {queue}
{loss}
[[flow]]
name = "f"
from = "s"
to = "d"
tcp = {{ congestion_control = "{control}"{more} }}
"""
LOSS = 'loss = {{ kind = "bernoulli", rate = {rate} }}\nback = {{ loss = {{ kind = "none" }} }}'


def network(
    control: str = "cubic",
    *,
    mbps: float = 15,
    delay: float = 12,
    queue: str = '{ kind = "droptail", limit = "16p" }',
    loss: float = 0.0,
    seconds: float = 10,
    more: str = "",
) -> Scenario:
    losses = LOSS.format(rate=loss) if loss else ""
    text = PATH.format(seconds=seconds, mbps=mbps, delay=delay, queue=queue, loss=losses, control=control, more=more)
    return Scenario.parse(text)


def captured(tmp_path: Path, scenario: Scenario, place: str = "s") -> tuple[Path, dict[str, Any]]:
    """A capture of a run, and the flow's outcome."""
    result = scenario.run(captures=[place])
    file = tmp_path / "c.pcapng"
    file.write_bytes(result.captures[place])
    return file, result.outcome["flows"][0]


def drawn(number: int) -> Scenario:
    """One of many random networks."""
    draw = random.Random(4000 + number)
    mbps, delay = 10 ** draw.uniform(0.3, 2), 10 ** draw.uniform(0.5, 1.9)
    packets = max(8, int(mbps * 1e6 * 2e-3 * delay / 12e3 * 10 ** draw.uniform(-0.5, 0.6)))
    kind = draw.choice(["droptail", "droptail", "codel", "pie"])
    limit = packets if kind == "droptail" else max(packets, 1000)
    names = [entry["name"] for entry in json.loads(_core.catalog("controllers"))]
    usual = [name for name in names if name in CONTROLS]
    control = usual[number % len(usual)]
    queue = f'{{ kind = "{kind}", limit = "{limit}p" }}'
    return network(control, mbps=mbps, delay=delay, queue=queue, loss=draw.choice([0, 0, 0.001, 0.005]), seconds=6)


CONTROLS = {
    *("reno", "cubic", "bbr", "bbr3", "vegas", "illinois", "westwood_plus", "htcp", "bic", "veno", "hybla", "scalable"),
    *("yeah", "cdg", "copa", "compound", "highspeed", "westwood", "dctcp", "lp", "nv"),
}


@pytest.mark.parametrize("number", range(25))
def test_a_capture_of_a_run_gives_the_numbers_of_its_outcome(tmp_path: Path, number: int) -> None:
    file, flow = captured(tmp_path, drawn(number))
    seen = describe(file, Options())["flows"][0]
    assert seen["place"] == "sender"
    assert seen["retransmitted_packets"] == flow["retransmitted_packets"]
    assert seen["timeouts"] == flow["timeouts"]
    assert seen["sent_bytes"] == flow["sent_packets"] * 1448 if "sent_packets" in flow else True
    assert sum(seen["time_s"].values()) == pytest.approx(seen["duration_s"], abs=0.3)


def test_bytes_outstanding_are_those_of_the_trace(tmp_path: Path) -> None:
    """Up to the first loss; then a sender does not count what it has marked lost."""
    scenario = network("vegas", queue='{ kind = "droptail", limit = "300p" }')
    result = scenario.run(captures=["s"], trace="ack")
    nanoseconds = pl.col("time_s") * 1e9
    at, floor = nanoseconds.round().cast(pl.Int64).alias("at"), (nanoseconds + 1e-4).floor().cast(pl.Int64).alias("at")
    file = tmp_path / "c.pcapng"
    file.write_bytes(result.captures["s"])
    rows = read_flow(file, Options()).rows().with_columns(at)
    again = rows.filter(pl.col("event") == "sent_again")["time_s"]
    first = again[0] if len(again) else 10.0
    trace = result.trace.filter((pl.col("event") == "ack") & (pl.col("time_s") < first - 0.1)).with_columns(floor)
    ours = rows.join(trace.select("at", pl.col("in_flight").alias("traced")), on="at", how="inner")
    last = ours.group_by("at", maintain_order=True).last()
    equal = (last["in_flight"] - last["traced"]).abs() <= 1.001
    assert last.height > 200
    assert equal.mean() == 1.0


def test_the_reason_of_each_retransmission_has_its_evidence(tmp_path: Path) -> None:
    file, _ = captured(tmp_path, network("cubic"))
    recorded = read_flow(file, Options())
    answer = cause(recorded, 9.0, cut=True)
    assert answer["letter"] == "F1"
    said = "\n".join(sentences(answer))
    assert "SACK reports" in said
    assert "the queue was full (C1)" in said
    assert "factor 0." in said
    limit = cause(recorded, 0.1, cut=False)
    assert limit["what"] == "the congestion window limits the sender"
    with pytest.raises(BadInput, match="nothing reduced what is in flight"):
        cause(recorded, 0.01, cut=True)


def test_a_loss_without_a_queue_is_told_from_one_with_a_full_queue(tmp_path: Path) -> None:
    queue = '{ kind = "droptail", limit = "1000p" }'
    file, _ = captured(tmp_path, network("reno", queue=queue, loss=0.003, mbps=50))
    answer = cause(read_flow(file, Options()), 9.0, cut=True)
    assert any("C2" in text for text in answer["evidence"])


def test_a_timeout_is_one_only_if_the_outcome_has_one(tmp_path: Path) -> None:
    """A blackout of a second makes one; nothing else does."""
    gap = '{ kind = "droptail", limit = "50p" }'
    scenario = network("reno", queue=gap).source.text.replace(
        'name = "l"', 'name = "l"\nimpair = [{ kind = "blackout", times = [["4s", "5s"]] }]'
    )
    try:
        dark = Scenario.parse(scenario)
    except ValueError:
        pytest.fail("the scenario of the blackout is not valid")
    file, flow = captured(tmp_path, dark)
    seen = describe(file, Options())["flows"][0]
    assert flow["timeouts"] >= 1
    assert seen["timeouts"] == flow["timeouts"]
    assert cause(read_flow(file, Options()), 5.5, cut=True)["letter"].startswith("O1")


def test_limits_of_receiver_and_application(tmp_path: Path) -> None:
    queue = '{ kind = "droptail", limit = "500p" }'
    file, _ = captured(tmp_path, network("cubic", queue=queue, mbps=100, delay=40, more=", receive_window = 50"))
    seen = describe(file, Options())["flows"][0]
    assert seen["time_s"]["receive_window"] > 0.8 * sum(seen["time_s"].values())
    file, _ = captured(tmp_path, network("bbr3", seconds=10, delay=30))
    seen = describe(file, Options())["flows"][0]
    assert seen["time_s"]["pacing"] > 0.5 * sum(seen["time_s"].values())


def test_at_the_receiver_the_reasons_cannot_be_told(tmp_path: Path) -> None:
    file, flow = captured(tmp_path, network("cubic"), "d")
    about = describe(file, Options())
    seen = about["flows"][0]
    assert seen["place"] == "receiver"
    assert seen["time_s"] is None
    recorded = read_flow(file, Options())
    assert cause(recorded, 9.0, cut=False)["unknown"]
    with pytest.raises(BadInput, match="a model needs a capture at the sender"):
        make(recorded, "cubic")
    assert flow["retransmitted_packets"] > 0


def test_damaged_captures_are_read_as_far_as_they_go(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, _ = captured(tmp_path, network("cubic", seconds=3))
    whole = file.read_bytes()
    cut = tmp_path / "cut.pcapng"
    cut.write_bytes(whole[: len(whole) // 2 + 5])
    about = describe(cut, Options())
    assert about["flows"]
    assert "the file ends within a record" in about["missing"][0]
    zipped = tmp_path / "c.bin"
    zipped.write_bytes(gzip.compress(whole))
    assert describe(zipped, Options())["flows"] == describe(file, Options())["flows"]
    zipped.write_bytes(gzip.compress(whole)[:-2000])
    assert describe(zipped, Options())["flows"]
    draw = random.Random(5)
    for _ in range(200):
        changed = bytearray(whole[:20_000])
        for _ in range(draw.randrange(1, 30)):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        reader = _core.TraceReader(0, 0, None, None)
        try:
            reader.push(bytes(changed))
            json.loads(reader.finish())
        except ValueError:
            continue
    assert main(["read", str(cut)]) == 0
    assert "Missing: not read from byte" in capsys.readouterr().out


QLOG: list[dict[str, Any]] = [
    {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": {"vantage_point": {"type": "server"}}},
    {"time": 0, "name": "transport:packet_sent", "data": {"header": {"packet_number": 0}, "raw": {"length": 1200}}},
    {
        "time": 0.1,
        "name": "recovery:metrics_updated",
        "data": {"congestion_window": 12000, "bytes_in_flight": 1200, "smoothed_rtt": 50, "latest_rtt": 48},
    },
    {
        "time": 50,
        "name": "transport:packet_received",
        "data": {"header": {"packet_number": 0}, "frames": [{"frame_type": "ack", "acked_ranges": [[0, 0]]}]},
    },
    {"time": 60, "name": "recovery:packet_lost", "data": {"header": {"packet_number": 7}}},
    {"time": 61, "name": "recovery:congestion_state_updated", "data": {"new": "recovery"}},
]


@pytest.mark.parametrize("form", ["seq", "lines", "json", "fields"])
def test_dialects_of_qlog_give_one_record(tmp_path: Path, form: str) -> None:
    head, *events = QLOG
    file = tmp_path / "q"
    match form:
        case "seq":
            file.write_text("".join(f"\x1e{json.dumps(each)}\n" for each in QLOG))
        case "lines":
            file.write_text("".join(f"{json.dumps(each)}\n" for each in QLOG))
        case "json":
            file.write_text(json.dumps({"qlog_version": "0.3", "traces": [{**head["trace"], "events": events}]}))
        case _:
            names = ["relative_time", "category", "event_type", "data"]
            listed = [[round(e["time"] * 1000), *e["name"].split(":"), e["data"]] for e in events]
            trace = {"configuration": {"time_units": "us"}, "event_fields": names, "events": listed}
            file.write_text(json.dumps({"qlog_version": "draft-01", "traces": [trace]}))
    about = describe(file, Options())
    flow = about["flows"][0]
    assert (flow["sent_packets"], flow["lost_packets"], flow["windows"]) == (1, 1, 1)
    assert flow["first_cwnd_bytes"] == 12000
    assert flow["reductions"] == 1
    recorded = read_flow(file, Options())
    rows = recorded.rows()
    assert rows["event"].to_list() == ["sent", "metrics", "ack", "lost", "state"]
    assert cause(recorded, 1.0, cut=True)["what"] == "the sender entered recovery"


def test_qlogs_of_own_runs_give_the_numbers_of_the_outcome(tmp_path: Path) -> None:
    text = network("cubic").source.text.replace("tcp = {", "quic = {")
    result = Scenario.parse(text).run(qlog=True)
    flow = result.outcome["flows"][0]
    (sender, _), *_ = result.qlogs.values()
    file = tmp_path / "q.sqlog"
    file.write_text(sender)
    seen = describe(file, Options())["flows"][0]
    assert seen["lost_packets"] == flow["lost_packets"] if "lost_packets" in flow else seen["lost_packets"] > 0
    assert sum(seen["time_s"].values()) > 0


LOGS = {
    "ss": "Time: 0.0\nESTAB 0 0 10.0.0.1:5 10.0.0.2:6\n\t cubic wscale:7,7 rtt:20.5/3 cwnd:12 ssthresh:8 unacked:9 "
    "pacing_rate 4.5Mbps delivery_rate 4Mbps minrtt:20\nTime: 0.2\nESTAB 0 0 10.0.0.1:5 10.0.0.2:6\n"
    "\t cubic rtt:21/3 cwnd:13\n",
    "ping": "PING a (10.0.0.1) 56(84) bytes of data.\n64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=12.5 ms\n"
    "64 bytes from 10.0.0.1: icmp_seq=3 ttl=64 time=13 ms\n3 packets transmitted, 2 received\n",
    "iperf3": json.dumps(
        {
            "start": {"tcp_mss_default": 1448},
            "intervals": [
                {"streams": [{"start": 0, "bits_per_second": 9e6, "snd_cwnd": 14480, "rtt": 20000, "retransmits": 1}]}
            ],
            "end": {"sender_tcp_congestion": "cubic"},
        }
    ),
    "flent": json.dumps({"metadata": {"BATCH_NAME": None}, "x_values": [0, 1], "results": {"TCP download": [3, 4]}}),
    "probe": "x-1 [000] ..s. 12.5: tcp_probe: family=AF_INET src=10.0.0.1:5 dest=10.0.0.2:6 mark=0 snd_cwnd=10 "
    "ssthresh=2147483647 snd_wnd=29056 srtt=20000\n",
}


def test_logs_give_samples(tmp_path: Path) -> None:
    rows = {}
    for name, text in LOGS.items():
        file = tmp_path / name
        file.write_text(text)
        assert is_recording(file)
        rows[name] = read_flow(file, Options()).rows()
    assert rows["ss"]["time_s"].to_list() == [0.0, 0.2]
    assert rows["ss"]["cwnd"].to_list() == [12, 13]
    assert rows["ss"]["ssthresh"].to_list() == [8, None]
    assert rows["ss"]["pacing_bps"][0] == 4.5e6
    assert rows["ss"]["rtt_s"][0] == pytest.approx(0.0205)
    assert rows["ping"]["rtt_s"].to_list() == [0.0125, 0.013]
    assert rows["iperf3"]["cwnd"].to_list() == [10.0]
    assert rows["iperf3"]["delivery_bps"].to_list() == [9e6]
    assert rows["flent"]["delivery_bps"].to_list() == [3e6, 4e6]
    assert rows["probe"]["cwnd"].to_list() == [10.0]
    assert "ssthresh" not in rows["probe"].columns
    (tmp_path / "plain").write_text(LOGS["ss"].replace("Time: 0.0\n", "").replace("Time: 0.2\n", ""))
    assert "--every" in "".join(describe(tmp_path / "plain", Options())["missing"])
    assert read_flow(tmp_path / "plain", Options(every_s=0.5)).rows()["time_s"].to_list() == [0.0, 0.5]


def test_a_wrong_file_says_what_it_is_and_what_reads_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, _ = captured(tmp_path, network("reno", seconds=1))
    assert main(["run", str(file)]) == 2
    assert "packet capture (pcapng)" in capsys.readouterr().err
    for text, words in (("set ns [new Simulator]\n", "Tcl script"), ("hello", "no recording"), ("", "empty")):
        other = tmp_path / "other"
        other.write_text(text)
        assert main(["read", str(other)]) == 2
        said = capsys.readouterr().err
        assert words in said
        assert "Traceback" not in said
    assert main(["why", str(file), "--at", "0.5s", "--seed", "1"]) == 2
    assert main(["read", str(file), "--flow", "9"]) == 2
    assert main(["model", str(file)]) == 2
    assert "does not name its controller" in capsys.readouterr().err


@pytest.mark.parametrize("control", ["cubic", "reno"])
def test_the_model_of_a_clean_path_is_trusted_and_predicts(tmp_path: Path, control: str) -> None:
    scenario = network(control, seconds=20)
    file, _ = captured(tmp_path, scenario)
    model = make(read_flow(file, Options()), control)
    assert model.level == "trusted", model.reasons
    rate, low, high = model.path["rate_bps"]
    assert rate == pytest.approx(15e6, rel=0.01)
    assert low <= rate <= high
    assert model.path["buffer_packets"] == pytest.approx(16, abs=2)
    predicted = predict(model, ["bbr3"])["bbr3"]
    truth = Scenario.parse(scenario.source.text, {"flow.f.tcp.congestion_control": "bbr3"}).run().outcome["flows"][0]
    assert predicted["goodput_bps"][0] == pytest.approx(truth["goodput_bps"], rel=0.05)


def test_models_that_the_recording_does_not_support_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A queue that was never seen, and losses that leave the queue open."""
    big = '{ kind = "droptail", limit = "5000p" }'
    file, _ = captured(tmp_path, network("reno", mbps=500, delay=40, queue=big, more=", receive_window = 60"))
    out = tmp_path / "path.toml"
    assert main(["model", str(file), "--control", "reno", "-o", str(out)]) == 3
    assert out.read_text().startswith("# NOT TRUSTED: ")
    assert "not trusted" in capsys.readouterr().out
    file, _ = captured(tmp_path, network("bbr3", queue='{ kind = "codel", limit = "1000p" }', seconds=20))
    assert main(["model", str(file), "--control", "bbr3", "--try", "reno"]) in {2, 3}


def test_candidates_follow_from_what_was_seen() -> None:
    path = {"buffer_packets": 20, "buffer_at_least": False, "loss": [0.01, 0, 0], "rate_kind": "constant"}
    path |= {"policer": None, "lost": 50, "sent": 5000, "full": 0.4, "empty": 0.5}
    names = [candidate.name for candidate in candidates(path, "reno")]
    assert names[:3] == ["drop-tail", "drop-tail with random losses", "random losses"]
    assert "pie" in names
    assert [c.name for c in candidates(path | {"lost": 0}, "reno")] == ["drop-tail, at least"]
    assert "pie" not in [c.name for c in candidates(path | {"rate_kind": "varies"}, "reno")]


def test_read_writes_rows_and_a_figure_without_addresses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, _ = captured(tmp_path, network("cubic", seconds=3))
    monkeypatch.chdir(tmp_path)
    assert main(["read", file.name, "--out", "r.csv", "--plot", "f.svg", "--json"]) == 0
    json.loads(capsys.readouterr().out)
    for name in ("r.csv", "f.svg"):
        text = Path(name).read_text(encoding="utf-8")
        assert "10.0.0." not in text
        assert len(text) > 1000
    assert main(["plot", "r.csv", "--y", "in_flight", "--out", "p.svg"]) == 0


def test_the_rate_of_a_flow_becomes_the_rate_of_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link with the achieved rate of a flow carries as much; results of iperf3 are read as they are."""
    monkeypatch.chdir(tmp_path)
    scenario = Scenario.parse(
        PATH.format(
            seconds=6, mbps=8, delay=10, queue='{ kind = "droptail", limit = "50p" }', loss="", control="cubic", more=""
        )
    )
    (tmp_path / "c.pcapng").write_bytes(scenario.run(captures=["s"]).captures["s"])
    assert main(["read", "c.pcapng", "--rates", "steps.csv"]) == 0
    steps = pl.read_csv("steps.csv")
    late = steps.filter((pl.col("time_s") > 1) & (pl.col("time_s") < 5))["bps"].mean()
    assert isinstance(late, float)
    assert abs(late / 8e6 - 1500 / 1514 * 1448 / 1500) < 0.03
    rate = 'link.l.rate={ kind = "file", file = "FILE" }'
    result = {"intervals": [{"sum": {"start": at, "bits_per_second": 5e6}} for at in range(6)]}
    (tmp_path / "iperf.json").write_text(json.dumps(result))
    (tmp_path / "s.toml").write_text(
        PATH.format(
            seconds=6, mbps=8, delay=10, queue='{ kind = "droptail", limit = "50p" }', loss="", control="cubic", more=""
        )
    )
    for name, bps in (("steps.csv", late), ("iperf.json", 5e6)):
        outcome = Scenario.load("s.toml", [rate.replace("FILE", name)]).run().outcome
        assert abs(outcome["flows"][0]["goodput_bps"] / bps - 1) < 0.12
    assert main(["read", "c.pcapng", "--rates", "steps.txt"]) == 2


@pytest.mark.parametrize("control", ["cubic", "bic", "htcp", "hybla", "scalable", "veno", "illinois", "vegas"])
def test_the_controller_of_a_capture_is_told(tmp_path: Path, control: str) -> None:
    queue = '{ kind = "droptail", limit = "60p" }'
    file, _ = captured(tmp_path, network(control, queue=queue, mbps=20, delay=15, seconds=30, loss=0.0003))
    verdict = which(read_flow(file, Options()))
    assert verdict.names == [control], verdict
    own = verdict.candidates[0]
    assert own.part > 0.9
    if control == "cubic":
        assert verdict.factor == pytest.approx(0.7, abs=0.05)


def test_controllers_that_are_not_compared_are_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queue = '{ kind = "droptail", limit = "60p" }'
    for control in ("bbr3", "copa"):
        file, _ = captured(tmp_path, network(control, queue=queue, mbps=20, delay=15, seconds=20, loss=0.0003))
        verdict = which(read_flow(file, Options(at="sender")))
        assert verdict.names == []
    file, _ = captured(tmp_path, network("cubic", queue=queue, mbps=20, delay=15, seconds=20))
    without = [name for name in _core.identify_candidates() if name != "cubic"]
    assert which(read_flow(file, Options()), without).names == []
    assert main(["identify", str(file), "--controller"]) == 0
    assert "flow #1: cubic" in capsys.readouterr().out
    assert main(["identify", str(file), "--controller", "--candidates", "bbr3"]) == 2
    assert main(["identify", str(file), "--candidates", "reno"]) == 2
    short, _ = captured(tmp_path, network("cubic", queue=queue, mbps=20, delay=15, seconds=1))
    assert "too little" in which(read_flow(short, Options())).reason


def test_damaged_gzip_is_said_and_costs_little(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packed = gzip.compress(
        "".join(f"64 bytes from a: icmp_seq={n} ttl=64 time={n % 97}.0 ms\n" for n in range(40_000)).encode()
    )
    damaged = bytearray(b"".join([packed]))
    damaged[len(damaged) // 2] ^= 0x55
    for name, content, said in (
        ("cut", packed[:-4000], "is cut off"),
        ("flip", bytes(damaged), "is damaged before byte"),
    ):
        file = tmp_path / f"{name}.gz"
        file.write_bytes(content)
        about = describe(file, Options())
        assert any(said in text for text in about["missing"]), about["missing"]
        assert about["samples"] > 15_000
    capsys.readouterr()


def test_times_of_logs_count_from_the_first(tmp_path: Path) -> None:
    file = tmp_path / "ping.txt"
    lines = [f"[{1_700_000_000 + n}.5] 64 bytes from a: icmp_seq={n} ttl=64 time=10 ms" for n in range(5)]
    file.write_text("PING a (192.0.2.1) 56(84) bytes of data.\n" + "\n".join(lines) + "\n")
    assert read_flow(file, Options()).rows()["time_s"].to_list() == [0.0, 1.0, 2.0, 3.0, 4.0]
