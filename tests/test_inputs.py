"""What users type, and files of others: read, or named in one message with its remedy."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ackclock import Scenario, ScenarioError
from ackclock.apps.share import content
from ackclock.base.link import pack
from ackclock.base.shipped import scenarios
from ackclock.cli.app import main

NETWORK = """
duration = "1s"
[[link]]
name = "l"
ends = ["a", "b"]
rate = "10Mbps"
delay = "10ms"
queue = { kind = "droptail", limit = "50p" }
[[flow]]
name = "f"
from = "a"
to = "b"
tcp = {}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "net.toml").write_text(NETWORK)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line with which a command ends with status 2; nothing is written."""
    before = sorted(Path().rglob("*"))
    assert main(list(arguments)) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert sorted(Path().rglob("*")) == before
    return line


def link_of(*overrides: str) -> dict[str, Any]:
    link: dict[str, Any] = Scenario.parse(NETWORK, overrides).resolved["links"][0]
    return link


# Units and short forms.


@pytest.mark.parametrize("text", ["10 Mb/s", "10Mbit/s", "10mbit", "10mbps", "10000 kb/s", "1e7bps"])
def test_rates(text: str) -> None:
    assert link_of(f"link.l.rate={text}")["rate_bps"] == 10_000_000


@pytest.mark.parametrize("text", ["20ms", "20 ms", "20000us", "20000µs", "0.02s"])
def test_times(text: str) -> None:
    assert link_of(f"link.l.delay={text}")["delay_s"] == 0.02


def test_what_the_program_prints_it_reads(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "net.toml"]) == 0
    printed = capsys.readouterr().out
    assert "10 Mb/s" in printed
    assert link_of("link.l.rate=10 Mb/s") == link_of()


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("link.l.loss=0.3%", 'link.l.loss={kind="bernoulli", rate=0.003}'),
        ("link.l.loss=0.003", 'link.l.loss={kind="bernoulli", rate="0.3%"}'),
        ("link.l.queue=codel", 'link.l.queue={kind="codel"}'),
        # 50 ms of 10 Mb/s.
        ("link.l.queue.limit=50ms", "link.l.queue.limit=62500B"),
    ],
)
def test_short_forms(short: str, long: str) -> None:
    assert (
        Scenario.parse(NETWORK, [short]).run().json.split('"engine"')[0]
        == (Scenario.parse(NETWORK, [long]).run().json.split('"engine"')[0])
    )


def test_a_limit_alone_is_no_queue() -> None:
    with pytest.raises(ScenarioError, match=r'write \{ kind = "droptail", limit = "0.5bdp" \}'):
        Scenario.parse(NETWORK, ["link.l.queue=0.5bdp"])


@pytest.mark.parametrize("option", ["--cc", "--rtt", "--loss", "--rate", "--buffer"])
def test_options_of_other_programs(folder: Path, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = told(capsys, "run", "net.toml", f"{option}=1")
    assert "write --" in line
    assert "Did you mean" not in line


def test_parameters_of_controllers_are_no_short_forms(folder: Path) -> None:
    """Controllers can have parameters with the names `loss` and `queue`."""
    code = "from ackclock.controller import Controller\n\n\nclass Mine(Controller):\n"
    code += "    def __init__(self, flow, loss=0.1, queue=''):\n        super().__init__(flow)\n"
    code += "".join(f"    def {name}(self, event): ...\n" for name in ("on_ack", "on_congestion", "on_rto"))
    (folder / "mine.py").write_text(code)
    for table in ('{ kind = "vivace", loss = 20 }', '{ python = "mine.py:Mine", loss = 0.25, queue = "codel" }'):
        assert main(["run", "net.toml", "--control", table]) == 0, table
        assert main(["run", "net.toml", "--set", f"tcp.congestion_control={table}"]) == 0, table


@pytest.mark.parametrize("command", ["sweep --out o", "check", "plot", "results", "list", "new"])
def test_hints_name_options_of_the_command(folder: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    for option in ("--cc", "--rate"):
        line = told(capsys, *command.split(), "net.toml", f"{option}=1")
        assert "--control" not in line
        assert "--set" not in line or command.startswith(("sweep", "check"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("run net.toml --verbose", "--json prints all values"),
        ("run net.toml --out=x", "write --trace FILE, --packets FILE, --plot FILE, --json (> FILE)"),
        ("check net.toml --output=x", "write --plot FILE, --json (> FILE)"),
        ("run net.toml --jobs=3", "this is one run; many at once: ackclock sweep, ackclock compare"),
        ("run net.toml --duration=3s", "write --set duration=..."),
        ("run net.toml --pakets=x", "Did you mean --packets?"),
        ("run net.toml --flow=x", "Unknown option: --flow."),
    ],
)
def test_unknown_options_have_fitting_hints(
    folder: Path, arguments: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table such as `flow` is no value for --set, and four letters with two changes are another word."""
    assert told(capsys, *arguments.split()).endswith(said)


def test_a_controller_in_javascript_is_not_named_as_one_in_python(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "mine.js").write_text("class Mine {}\n")
    line = told(capsys, "run", "net.toml", "--control", '{ python = "mine.js:Mine" }')
    assert "mine.js is no Python: a table names a controller in JavaScript with the key javascript" in line


def test_plot_writes_into_the_present_folder(folder: Path) -> None:
    (folder / "scenarios").mkdir()
    (folder / "net.toml").rename(folder / "scenarios" / "net.toml")
    assert main(["plot", "scenarios/net.toml"]) == 0
    assert (folder / "plot.svg").is_file()
    assert [file.name for file in (folder / "scenarios").iterdir()] == ["net.toml"]


def test_what_flows_choose_decides_whether_an_option_has_an_effect() -> None:
    """An option of [tcp] that serves a flow is not said to have no effect."""
    flow = 'tcp = { congestion_control = "bbr" }'
    scenario = Scenario.parse(NETWORK.replace("tcp = {}", flow), ["tcp.gso_max_segs=1"])
    assert not any("gso_max_segs" in advice for advice in scenario.advice)
    scenario = Scenario.parse(NETWORK, ["tcp.gso_max_segs=1"])
    assert any("gso_max_segs" in advice for advice in scenario.advice)


def test_run_with_a_controller(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "net.toml", "--control", "bbr", "--json"]) == 0
    assert '"control": "bbr"' in capsys.readouterr().out.replace('":"', '": "')


def test_a_shipped_scenario_is_a_base(folder: Path) -> None:
    text = 'extends = "@dumbbell"\nduration = "2s"\n'
    (folder / "mine.toml").write_text(text)
    mine, shipped = Scenario.load("mine.toml"), Scenario.load("@dumbbell", ["duration=2s"])
    assert mine.resolved["flows"] == shipped.resolved["flows"]
    again = Scenario.load(pack(content(mine)))
    assert again.resolved["links"] == mine.resolved["links"]


def test_every_controller_that_needs_no_router_runs_on_dumbbell() -> None:
    from ackclock.apps.catalog import entries

    for name in (entry["name"] for entry in entries("controllers")):
        if name not in {"rcp", "xcp", "policy"}:
            override = f"tcp.congestion_control={name}"
            scenario = Scenario.load(scenarios()["dumbbell"], [override, "duration=100ms"])
            scenario.run()


# Tables.


def test_the_ending_of_a_name_decides(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "net.toml", "--trace", "t.csv", "--packets", "p.csv"]) == 0
    capsys.readouterr()
    for name, column in (("t.csv", "cwnd"), ("p.csv", "link")):
        with (folder / name).open(newline="") as file:
            assert column in next(csv.reader(file))
    assert pl.read_csv(folder / "t.csv")["cwnd"].max() > 2  # type: ignore[operator]
    for option in ("--trace", "--packets"):
        assert "must end in .parquet or .csv" in told(capsys, "run", "net.toml", option, "t.txt")


def test_the_class_of_new_runs_with_the_parameter_that_its_file_names(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "mine", "--python"]) == 0
    text = (folder / "mine.toml").read_text()
    [line] = [line for line in text.splitlines() if "mine.py:Mine" in line and "{" in line]
    table = line[line.rindex("{ python") : line.rindex("}") + 1].replace("} }", "}")
    assert main(["run", "mine.toml", "--set", f"flow.tested.tcp.congestion_control={table}"]) == 0, line
    assert "gain" in table or "gain" in text


# Files of others.

LOGS = {
    "pensieve.log": "0.0\t2.6\n0.8\t2.7\n",
    "starlink.csv": "time,throughput_mbps,cwnd\n2024-01-01T10:00:00.5,73.2,1\n2024-01-01T10:00:01.0,97.1,2\n",
    "steps.csv": "timestamp_ms,bandwidth_kbps\n0,12000\n500,8000\n",
    "semicolons.csv": "time_s;mbps\n0;12\n0.5;8\n",
    "bom.csv": "\ufefftime_s,bps\n0,12000000\n0.5,8000000\n",
    "plain.csv": "0,12000000\n0.5,8000000\n",
}


@pytest.mark.parametrize("name", LOGS)
def test_logs_of_rates_are_read_or_say_what_they_lack(folder: Path, name: str) -> None:
    (folder / name).write_text(LOGS[name])
    text = NETWORK.replace('rate = "10Mbps"', f'rate = {{ kind = "file", file = "{name}" }}')
    (folder / "log.toml").write_text(text)
    if name == "pensieve.log":
        with pytest.raises(
            ScenarioError, match='if these are Mb/s, add unit = "Mbps", or write a header before the first line'
        ):
            Scenario.load("log.toml")
    else:
        assert Scenario.load("log.toml").run().outcome["flows"][0]["delivered_bytes"] > 0


FOREIGN = {
    "c.pcap": (b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00\xff\xfe", "a packet capture (pcap)"),
    "c.pcapng": (b"\x0a\x0d\x0d\x0a\x00\xff\xfe\xfd", "a packet capture (pcapng)"),
    "q.qlog": (b'{"qlog_version":"0.3","traces":[]}', "a qlog"),
    "q.sqlog": (b'\x1e{"file_schema":"urn:ietf:params:qlog:file:sequential"}\n', "a qlog"),
    "script.pkt": (b" 0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 > P. 1:7001(7000) ack 1\n", "packetdrill"),
    "iperf3.json": (b'{"start":{"version":"iperf 3.9"},"intervals":[]}', "iperf3"),
    "map.gml": (b"graph [\n  node [ id 0 ]\n]\n", "GML"),
    "ns.tcl": (b"set ns [new Simulator]\n", "Tcl script of ns-2"),
}


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize(
    "command",
    ["run", "check", "link", "plot", "replay", "identify", "search", "expect", "compare --control reno,cubic --on"],
)
def test_files_of_other_programs_are_named(
    folder: Path, name: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    content, kind = FOREIGN[name]
    (folder / name).write_bytes(content)
    line = told(capsys, *command.split(), name)
    assert name in line
    assert kind in line or (command == "expect" and "regression.toml" in line), line


def test_elements_in_another_form_are_named(folder: Path) -> None:
    text = 'duration = "1s"\n[constellation]\nkind = "tle"\nfile = "e.json"\nper_plane = 2\n'
    link = '{ rate = "1Gbps", queue = { kind = "droptail", limit = "9p" } }'
    (folder / "s.toml").write_text(text + "".join(f"{name} = {link}\n" for name in ("isl", "up", "down")))
    (folder / "e.json").write_text('[{"OBJECT_NAME": "X", "MEAN_MOTION": 15.1}]')
    with pytest.raises(ScenarioError, match="OMM form"):
        Scenario.load("s.toml")


@pytest.mark.parametrize("begin", ['$ns_ at 1.0 "', '$ns at 1.0 " '])
def test_movements_name_their_simulator_as_they_like(folder: Path, begin: str) -> None:
    lines = [f"$node_({n}) set {axis}_ {10.0 * n}" for n in (0, 1) for axis in "XYZ"]
    (folder / "m.tcl").write_text("\n".join([*lines, f'{begin}$node_(0) setdest 10.0 10.0 2.0 "']) + "\n")
    text = 'duration = "3s"\n[radio]\nnodes = 2\narea = ["300m", "100m"]\nmobility = { kind = "ns2", file = "m.tcl" }\n'
    Scenario.parse(text + '[[flow]]\nfrom = "n0"\nto = "n1"\n', file=str(folder / "s.toml")).run()


def test_a_topology_has_routers() -> None:
    text = """
    duration = "20ms"
    [[topology]]
    kind = "fat_tree"
    k = 4
    host_rate = "1Gbps"
    fabric_rate = "1Gbps"
    delay = "1us"
    ROUTER
    [[flow]]
    from = "h0"
    to = "h15"
    tcp = { congestion_control = "rcp" }
    """
    with pytest.raises(ScenarioError, match=r"or in \[\[topology\]\]"):
        Scenario.parse(text.replace("ROUTER", ""))
    scenario = Scenario.parse(text.replace("ROUTER", 'router = { kind = "rcp" }'))
    assert scenario.run().outcome["flows"][0]["delivered_bytes"] > 0


# Outcomes that cannot be.


@pytest.mark.parametrize("profile", ["linux", "ns2"])
@pytest.mark.parametrize("timestamps", [True, False])
def test_the_least_round_trip_is_that_of_the_path(profile: str, timestamps: bool) -> None:
    """At least the propagation both ways and one transmission (specs/traces.md section 9)."""
    for delay in ("0.3ms", "1.7ms", "10ms", "33.3ms"):
        overrides = [f"tcp.profile={profile}", f"tcp.timestamps={str(timestamps).lower()}", f"link.l.delay={delay}"]
        outcome = Scenario.parse(NETWORK, overrides).run().outcome
        least = 2 * float(delay.removesuffix("ms")) / 1e3
        assert outcome["flows"][0]["min_rtt_s"] >= least
