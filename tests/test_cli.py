"""The command line, as documented and as the contract requires."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from conftest import without_cost

Run = Callable[..., "subprocess.CompletedProcess[str]"]

SMALL = """
duration = "5s"
[[link]]
name = "bottleneck"
ends = ["a", "b"]
rate = "1Mbps"
delay = "10ms"
queue = { kind = "droptail", limit = "7p" }
[[flow]]
name = "f"
from = "a"
to = "b"
tcp = { profile = "ns2", congestion_control = "reno", recovery = "newreno", receive_window = 100 }
"""

FLOW_KEYS = [
    "name",
    "kind",
    "control",
    "recovery",
    "goodput_bps",
    "throughput_bps",
    "delivered_bytes",
    "sent_packets",
    "acked_packets",
    "retransmitted_packets",
    "timeouts",
    "window_cuts",
    "mean_cwnd",
    "mean_ssthresh",
    "final_cwnd",
    "final_ssthresh",
    "mean_rtt_s",
    "min_rtt_s",
    "mean_delay_s",
    "mean_gap_s",
    "jitter1_s",
    "jitter2_s",
    "delivery_ratio",
    "completion_s",
]
LINK_KEYS = [
    "name",
    "delivered_packets",
    "dropped_packets",
    "marked_packets",
    "utilisation",
    "mean_queue_packets",
    "mean_sojourn_s",
]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def test_json_is_the_outcome_and_nothing_else(ackclock: Run) -> None:
    done = ackclock("run", "scenarios/dumbbell.toml", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    outcome = json.loads(done.stdout)
    top = [
        "title",
        "seed",
        "duration_s",
        "version",
        "substrate",
        "flows",
        "links",
        "radio",
        "satellite",
        "fairness",
        "engine",
    ]
    assert sorted(outcome) == sorted(top)
    # The contract's keys in its order, then our additional keys.
    ours = ["active_s", "base_delay_s", "min_delay_s", "p50_delay_s", "p95_delay_s", "p99_delay_s", "limited_s"]
    assert list(outcome["flows"][0]) == [*FLOW_KEYS, *ours]
    assert list(outcome["links"][0]) == [*LINK_KEYS, "queue_drops", "drop_rate"]
    assert [flow["name"] for flow in outcome["flows"]] == ["reno", "vegas", "cubic"]
    assert [link["name"] for link in outcome["links"]][:2] == ["s1->r1", "r1->s1"]
    assert outcome["engine"]["packet_hops"] == sum(link["delivered_packets"] for link in outcome["links"])
    assert outcome["radio"] is None
    assert outcome["satellite"] is None


def test_the_scenario_of_the_contract_runs(ackclock: Run) -> None:
    done = ackclock("run", "scenarios/asymmetric.toml", "--json")
    outcome = json.loads(done.stdout)
    assert outcome["title"] == "Vegas on an asymmetric path, two reverse FTP flows"
    assert [flow["kind"] for flow in outcome["flows"]] == ["tcp", "udp"]
    losses = {link["name"]: link["dropped_packets"]["loss"] for link in outcome["links"]}
    assert losses["r1->r2"] > 0
    assert losses["r2->r1"] == 0


def test_seed_and_set(ackclock: Run, small: Path) -> None:
    one = json.loads(ackclock("run", small, "--json", "--seed", "5").stdout)
    assert one["seed"] == 5
    fast = [
        "--set",
        "link.bottleneck.rate=2Mbps",
        "--set",
        "flow.f.tcp.congestion_control=cubic",
        "--set",
        "duration=2s",
    ]
    other = json.loads(ackclock("run", small, "--json", *fast).stdout)
    assert (other["duration_s"], other["flows"][0]["control"]) == (2.0, "cubic")
    assert other["flows"][0]["goodput_bps"] > 1e6


def test_files(ackclock: Run, small: Path, tmp_path: Path) -> None:
    names = {"--trace": "t.parquet", "--packets": "p.parquet", "--pcap": "c.pcapng", "--plot": "f.svg"}
    options = [part for key, name in names.items() for part in (key, str(tmp_path / name))]
    done = ackclock("run", small, "--audit", *options)
    assert done.returncode == 0, done.stderr
    assert "bottleneck" not in done.stderr
    trace = pl.read_parquet(tmp_path / "t.parquet")
    assert trace.columns == [
        "time_s",
        "flow",
        "event",
        "cwnd",
        "ssthresh",
        "ack",
        "rtt_s",
        "in_flight",
        "phase",
        "cause",
        "pacing_bps",
        "app_limited",
    ]
    assert trace.row(0) == (0.0, "f", "start", 1.0, 100.0, -1, None, 1.0, "open", None) or trace["cwnd"][0] == 1.0
    assert trace["time_s"].is_sorted()
    # Each row is a change of window or threshold, and each change has a row.
    pairs = trace.select("cwnd", "ssthresh").rows()
    assert all(a != b for a, b in itertools.pairwise(pairs))
    plain = tmp_path / "plain.parquet"
    assert ackclock("run", small, "--trace", plain).returncode == 0
    assert pl.read_parquet(plain).equals(trace)
    every = tmp_path / "every.parquet"
    assert ackclock("run", small, "--trace", every, "--trace-every", "ack").returncode == 0
    assert len(pl.read_parquet(every)) > len(trace)
    packets = pl.read_parquet(tmp_path / "p.parquet")
    assert packets.schema == pl.Schema(
        {
            "time_s": pl.Float64,
            "link": pl.String,
            "event": pl.String,
            "reason": pl.String,
            "flow": pl.String,
            "kind": pl.String,
            "seq": pl.Int64,
            "size": pl.Int32,
            "marked": pl.Boolean,
        }
    )
    assert packets["time_s"].is_sorted()
    assert packets.row(0) == (0.0, "a->b", "enqueue", None, "f", "data", 0, 40, False)
    assert set(packets.filter(pl.col("event") == "drop")["reason"]) == {"queue"}
    assert (tmp_path / "c.pcapng").read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"
    assert "<svg" in (tmp_path / "f.svg").read_text()
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        [*names.values(), "small.toml", "plain.parquet", "every.parquet"]
    )


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["run", "nope.toml"], "nope.toml: No such file or directory"),
        (["run", "{small}", "--set", "tcp.receive_windw=3"], "tcp.receive_windw: unknown key; did you mean"),
        (["run", "{small}", "--set", "flow.g.tcp.receive_window=3"], 'there is no "g" here'),
        (["run", "{small}", "--seed", "-1"], "not a whole number"),
        (["run", "{small}", "--seed", "1.5"], "not a whole number"),
        (["run", "{small}", "--trace", "/nowhere/t.parquet"], "the folder /nowhere does not exist"),
        (["run", "{small}", "--plot", "f.gif"], "must end in .svg, .pdf, .png or .eps"),
        (
            ["run", "{small}", "--trace", "x.parquet", "--packets", "x.parquet"],
            "two outputs go to the same file",
        ),
        (["run", "{small}", "--set", "sweep={ seed = [1, 2] }"], "a study of many runs"),
        (["run"], "requires an argument"),
        (["fly"], "Unknown command"),
        (["list", "planets"], "Invalid value"),
        (["run", "{small}", "--bogus"], "Unknown option"),
        (["run", "{folder}"], "Is a directory"),
        (["check", "{small}", "nope.toml"], "nope.toml: No such file"),
        (["bench", "0"], "whole numbers of at least 1"),
    ],
)
def test_bad_input_is_one_line_and_status_2(ackclock: Run, small: Path, arguments: list[str], message: str) -> None:
    filled = [a.replace("{small}", str(small)).replace("{folder}", str(small.parent)) for a in arguments]
    before = sorted(small.parent.iterdir())
    done = ackclock(*filled)
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr
    assert sorted(small.parent.iterdir()) == before


def test_broken_files(ackclock: Run, tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    for content in (b"\xff\xfe", b"duration = ", b"[[[", b"", SMALL.replace('"1Mbps"', "1").encode()):
        bad.write_bytes(content)
        for command in ("run", "check"):
            done = ackclock(command, bad)
            assert done.returncode == 2
            assert "bad.toml" in done.stderr
            # An empty file lacks a duration and a network.
            assert len(done.stderr.strip().splitlines()) == (1 if content else 2)


TAU = 'tcp = { congestion_control = { kind = "westwood", tau = 0.5 } }'
OUTPUTS = {"--trace": b"parquet", "--plot": b"svg", "--pcap": b"pcapng"}


def test_check_and_list(ackclock: Run, root: Path) -> None:
    every = (path for path in (root / "scenarios").rglob("*.toml") if path.name != "regression.toml")
    scenarios = sorted(str(path.relative_to(root)) for path in every)
    assert ackclock("check", *scenarios).returncode == 0
    listed = json.loads(ackclock("list", "scenarios", "--json").stdout)
    assert [entry["name"] for entry in listed] == scenarios
    assert all(entry["summary"] for entry in listed)
    controllers = json.loads(ackclock("list", "controllers", "--json").stdout)
    assert {"reno", "vegas", "cubic"} <= {entry["name"] for entry in controllers}
    for kind in ("controllers", "recoveries", "queues", "losses", "scenarios", "papers"):
        assert ackclock("list", kind).returncode == 0
    assert "alpha = 1 segments" in ackclock("list", "controllers").stdout
    queues = ackclock("list", "queues").stdout
    assert "limit (required): packets, bytes or bandwidth-delay products" in queues
    assert 'mean_packet = "1000B":' in queues


def test_numbers_without_a_unit_are_taken_with_advice(ackclock: Run, small: Path) -> None:
    """run, check, sweep and why print one line of advice; the run equals that of the file with units."""
    queue = 'queue={ kind = "red", limit = "50p", mean_packet = %s }'
    control = 'flow.f.tcp.congestion_control={ kind = "westwood", tau = %s }'
    outcomes = []
    for tau, size in (("0.5", "500"), ('"500ms"', '"500B"')):
        sets = ["--set", control % tau, "--set", f"link.bottleneck.{queue % size}"]
        done = ackclock("run", small, *sets, "--json")
        assert done.returncode == 0, done.stderr
        outcomes.append(without_cost(json.loads(done.stdout)))
        advice = [line for line in done.stderr.splitlines() if "advice" in line]
        if tau == "0.5":
            assert len(advice) == 1
            assert 'mean_packet: 500 has no unit and is taken in bytes: write "500B" (1 more place)' in advice[0]
        else:
            assert not advice
    assert outcomes[0] == outcomes[1]
    text = small.read_text(encoding="utf-8").replace(
        'control = "reno"', 'control = { kind = "rcp_plus", capacity = 2000000 }'
    )
    small.write_text(text, encoding="utf-8")
    for command, *more in (("check",), ("sweep", "--out", small.parent / "out"), ("why", "--at", "1s")):
        said = ackclock(command, small, *more).stderr
        assert f"{small}:{len(text.splitlines())}: flow.f.tcp.congestion_control.capacity: 2000000 has no unit" in said
        assert 'write "2Mbps"' in said
    # The advice spells each number so that it is parsed back exactly; a number without such a text is unchanged.
    for number, better in (("1.5", None), ("1234567", '"1234567bps"'), ("2000000000", '"2Gbps"')):
        small.write_text(text.replace("2000000", number), encoding="utf-8")
        said = ackclock("check", small).stderr
        assert (better is None and not said) or f"write {better}" in said
    many = "".join(f'[[flow]]\nfrom = "a"\nto = "b"\n{TAU}\n' for _ in range(150))
    small.write_text(small.read_text(encoding="utf-8").replace("[[flow]]", many + "[[flow]]", 1), encoding="utf-8")
    assert "(150 more places)" in ackclock("check", small).stderr


def test_names_of_files_need_not_be_utf_8(ackclock: Run, small: Path, tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"out\xff")
    folder.mkdir()
    files = {option: folder / os.fsdecode(b"x\xff." + ending) for option, ending in OUTPUTS.items()}
    done = ackclock("run", small, *(str(word) for pair in files.items() for word in pair))
    assert done.returncode == 0, done.stderr
    assert ackclock("sweep", small, "--out", folder / "study").returncode == 0
    files["export"] = folder / os.fsdecode(b"t\xff.csv")
    assert ackclock("results", folder / "study", "--export", files["export"]).returncode == 0
    assert all(path.stat().st_size > 0 for path in files.values())
    odd = os.fsdecode(b"m\xff")
    control = f'flow.f.tcp.congestion_control={{ python = "{odd}.py:Mine" }}'
    for command in (
        ("run", small, "--set", control),
        ("sweep", small, "--set", control, "--out", folder / "more"),
        ("run", small, "--pcap", f"{odd}=x.pcapng"),
        ("orbit", "scenarios/iridium.toml", "--from", odd, "--to", "boston"),
        ("suite", "tcpeval", "--control", f"{odd}.py:Mine", "--out", folder / "suite"),
    ):
        done = ackclock(*command)
        assert done.returncode == 2
        assert "not UTF-8" in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_every_scenario_runs_clean(ackclock: Run, root: Path) -> None:
    for path in (root / "scenarios").glob("*.toml"):
        duration = "100s" if "[[change]]" in path.read_text(encoding="utf-8") else "10s"  # after its changes
        done = ackclock("run", path, "--audit", "--json", "--set", f"duration={duration}", "--set", "warmup=0s")
        assert done.returncode == 0, f"{path}: {done.stderr}"


def test_interrupt(small: Path) -> None:
    """Ctrl-C ends a long run at once; nothing is written."""
    target, running = small.parent / "t.parquet", small.parent / "running"
    # A file written by the controller shows that the run has begun; the test needs no fixed delay.
    code = "from pathlib import Path\nfrom ackclock import Controller\nclass Mine(Controller):\n"
    code += f"    cwnd, ssthresh = 2.0, 9.0\n    def __init__(self, flow): Path({str(running)!r}).touch()\n"
    code += "".join(f"    def {name}(self, event): ...\n" for name in ("on_ack", "on_congestion", "on_rto"))
    (small.parent / "mine.py").write_text(code)
    command = [str(Path(sys.executable).parent / "ackclock"), "run", str(small), "--set", "duration=2000000s"]
    command += [
        "--set",
        f'flow.f.tcp.congestion_control={{python="{small.parent / "mine.py"}:Mine"}}',
        "--trace",
        str(target),
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ)
    while not running.exists() and process.poll() is None:
        time.sleep(0.05)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert err.strip().splitlines()[-1] == "ackclock: interrupted; nothing was written"
    assert not target.exists()


@pytest.mark.parametrize("place", ["__init__", "module"])
@pytest.mark.parametrize("command", [["run"], ["sweep", "--out", "out"], ["why", "--at", "1s"]])
def test_interrupt_while_a_controller_is_made(small: Path, place: str, command: list[str]) -> None:
    """A controller that never ends its set-up, in Python code: the interpreter raises there."""
    running, code = small.parent / "running", "from pathlib import Path\n"
    loop = f"Path({str(running)!r}).touch()\n{{0}}while True: pass\n"
    mine = "class Mine:\n    cwnd = ssthresh = 2.0\n"
    for name in ("on_ack", "on_congestion", "on_rto", "set_window"):
        mine += f"    def {name}(self, event): ...\n"
    if place == "module":
        code += loop.format("") + mine
    else:
        code += mine + f"    def __init__(self, flow):\n        {loop.format(' ' * 8)}"
    (small.parent / "mine.py").write_text(code)
    whole = [sys.executable, "-m", "ackclock.cli", command[0], str(small), *command[1:]]
    whole += ["--set", f'flow.f.tcp.congestion_control={{python="{small.parent / "mine.py"}:Mine"}}']
    process = subprocess.Popen(whole, cwd=small.parent, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    while not running.exists() and process.poll() is None:
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130, err
    assert "interrupted" in err.splitlines()[-1]


def test_interrupt_while_satellites_are_worked_out(root: Path, tmp_path: Path) -> None:
    """The set-up of a run of 200 days takes long; Ctrl-C interrupts it like the run itself."""
    text = (root / "scenarios" / "iridium.toml").read_text()
    (tmp_path / "long.toml").write_text(re.sub(r"(?m)^duration.*", 'duration = "18000000s"', text))
    (tmp_path / "study.toml").write_text('extends = "long.toml"\nsweep = { seed = "1..4" }\n')
    orbit = ["orbit", "long.toml", "--from", "berkeley", "--to", "boston", "--until", "18000000s"]
    for command in (orbit, ["run", "long.toml"], ["sweep", "study.toml", "--out", "out"]):
        whole = [sys.executable, "-m", "ackclock.cli", *command]
        process = subprocess.Popen(whole, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        while cpu_seconds(process.pid) < 1.5 and process.poll() is None:  # well after the imports
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
        assert process.returncode == 130, err
        assert err.splitlines()[-1].startswith("ackclock: interrupted; ")


def cpu_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_the_version_needs_little(root: Path) -> None:
    """The version is printed without importing the commands."""
    code = (
        "import sys; sys.argv = ['ackclock', '--version']; from ackclock.entry import main; main();"
        "print(len([m for m in sys.modules if m.split('.')[0] in {'cyclopts', 'rich', 'polars', 'numpy'}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    engine, modules = done.stdout.split()
    version, _, sources = engine.partition("+")
    assert re.fullmatch(r"[0-9a-f]{12}\.[0-9a-f]{6}", sources)
    for file in ("Cargo.toml", "pyproject.toml"):
        assert f'version = "{version}"' in (root / file).read_text()
    assert json.loads((root / "web" / "package.json").read_text())["version"] == version
    assert modules == "0"
    module = subprocess.run([sys.executable, "-m", "ackclock.entry", "--version"], capture_output=True, text=True)
    assert (module.returncode, module.stdout) == (0, f"{engine}\n")


def test_memory_that_runs_out_is_told_before(ackclock: Run, tmp_path: Path) -> None:
    """A queue without a limit, and packet events that would not fit, under `ulimit -v`."""
    link = 'duration = "4000s"\n[[link]]\nends = ["a", "b"]\nrate = "{}"\ndelay = "10ms"\n'
    flood = link.format("1kbps") + '[[flow]]\nfrom = "a"\nto = "b"\nudp = { rate = "8Tbps", packet = 1 }\n'
    long = link.format("1Gbps") + '[[flow]]\nfrom = "a"\nto = "b"\nudp = { rate = "1Gbps", packet = 1000 }\n'
    cases = (
        (flood, "", "a->b holds"),
        (long, "--packets p.parquet", "packet events need"),
        (long, "--pcap p.pcapng", "captures need"),
        (
            long.replace('udp = { rate = "1Gbps", packet = 1000 }', ""),
            "--trace p.parquet --trace-every ack",
            "window trace need",
        ),
    )
    for text, more, message in cases:
        (tmp_path / "s.toml").write_text(text)
        command = f"ulimit -v 2000000; exec {sys.executable} -m ackclock.cli run s.toml {more}"
        done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 1, done.stderr
        *warnings, error = done.stderr.splitlines()
        assert message in error
        assert all(line.startswith("ackclock: warning: ") for line in warnings)
        assert not list(tmp_path.glob("p.*"))


def test_all_flows_together_are_limited(ackclock: Run, tmp_path: Path) -> None:
    table = '[[traffic]]\nfrom = "a"\nto = "b"\nload = "100Mbps"\nsize = "1kB"\n'
    link = '[[link]]\nends = ["a", "b"]\nrate = "1Gbps"\ndelay = "1ms"\n'
    (tmp_path / "s.toml").write_text(f'duration = "8s"\n{link}{table * 11}')
    for command in ("check", "run"):
        done = ackclock(command, tmp_path / "s.toml")
        assert done.returncode == 2
        assert "all tables together have about 1100000 flows; the maximum is 1000000" in done.stderr


def test_a_point_that_cannot_be_run_stops_no_other(ackclock: Run, tmp_path: Path) -> None:
    link = '[[link]]\nname = "l"\nends = ["a", "b"]\nrate = "1Mbps"\ndelay = "1ms"\n[[flow]]\nfrom = "a"\nto = "b"\n'
    sweep = 'duration = "1s"\n[sweep]\nseed = "1..2"\n"link.l.rate" = ["1Mbps", "0bps"]\n'
    (tmp_path / "s.toml").write_text(sweep + link)
    done = ackclock("check", tmp_path / "s.toml")
    assert done.returncode == 2
    assert "at link.l.rate=0bps:" in done.stderr
    assert "1 of 2 points cannot be run" in done.stderr
    done = ackclock("sweep", tmp_path / "s.toml", "--out", tmp_path / "out")
    assert done.returncode == 1
    assert "2 done, 2 failed" in done.stdout + done.stderr
