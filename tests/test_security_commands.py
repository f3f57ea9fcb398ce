"""The table of commands in docs/security.md: what each command writes, executes and connects to."""

from __future__ import annotations

import gzip
import random
import socket
from pathlib import Path

import pytest

from ackclock import _core
from ackclock.cli.app import COMMANDS, main
from security import NETWORK, Place, line
from tiny_kernel import tiny_kernel

ROOT = Path(__file__).parents[1]
EXPECTED: dict[str, tuple[str, set[str], bool]] = {
    # Arguments, what it writes into the current folder, whether it executes the controller in Python.
    "new": ("fresh --python", {"fresh.toml", "fresh.py"}, False),
    "run": ("s.toml --trace t.parquet --pcap c.pcapng --plot f.svg", {"t.parquet", "c.pcapng", "f.svg"}, True),
    "check": ("s.toml --plot f.svg", {"f.svg"}, False),
    "why": ("s.toml --at 0.4s", set(), True),
    "read": ("c.pcapng --out rows.parquet --plot f.svg", {"rows.parquet", "f.svg"}, False),
    "model": ("c.pcapng --control reno --out path.toml", {"path.toml"}, False),
    "policy": ("check mine.policy", set(), False),
    "gym": ("bench env.toml --envs 1 --threads 1 --decisions 1", set(), True),
    "what-if": ("s.toml --at 0.2s --set link.l.rate=1Mbps --plot f.svg", {"f.svg"}, True),
    "view": ("s.toml --no-open", {"out"}, True),
    "link": ("plain.toml", set(), False),
    "list": ("scenarios", set(), False),
    "module": ("linux/net/ipv4/tcp_tiny.c --out tiny.so", {"tiny.so"}, False),
    "schema": ("scenario", set(), False),
    "conform": ("quinn:reno --as reno --situations start --seeds 3", {"out"}, False),
    "emulate": ("plain.toml -- bash -c echo>/dev/udp/10.77.0.2/9;sleep${IFS}1", set(), False),
    "sweep": ("s.toml --out study", {"study"}, True),
    "results": ("done --export e.csv --plot f.svg", {"e.csv", "f.svg"}, False),
    "report": ("done --no-open --out r", {"r"}, False),
    "plot": ("s.toml", {"plot.svg"}, True),
    "suite": ("suite --control mine.py:X --quick", {"out"}, True),
    "compare": ("one two", set(), False),
    "scoreboard": ("results --out board", {"board"}, False),
    "search": ("space.toml --control mine.py:X --budget 8 --out found", {"found"}, True),
    "expect": ("known", set(), False),
    "agree": ("s.toml --on tcp,quic --seeds 2 --out agreed --plot f.svg", {"agreed", "f.svg"}, True),
    "identify": ("rtt.csv --fit fit.toml --plot f.svg", {"fit.toml", "f.svg"}, False),
    "replay": ("script.jsonl --out a.jsonl", {"a.jsonl"}, False),
    "orbit": (f"{ROOT}/scenarios/iridium.toml --plot map.svg", {"map.svg"}, False),
    "radio": (f"{ROOT}/scenarios/manet.toml --plot map.svg --at 1s", {"map.svg"}, False),
    "bench": ("1 --quick --repeat 1", set(), False),
    "completion": ("bash", set(), False),
}
SPACE = "[space]\n'link.l.delay' = { log = ['1ms', '9ms'], digits = 1 }\n[search]\nobjective = 'goodput >= 0'\n"
UPLOAD = """duration = "20s"
[[link]]
name = "l"
ends = ["a", "b"]
rate = "15Mbps"
delay = "12ms"
queue = { kind = "droptail", limit = "16p" }
[[flow]]
name = "f"
from = "a"
to = "b"
tcp = { congestion_control = "reno" }
"""
SITUATION = "[[situation]]\nid = 'one'\ntitle = 'One'\nplace = 'p'\nquestion = 'q'\nseeds = 2\nquick = 2\n"


def inputs(place: Place, command: str) -> None:
    """What the command reads."""
    place.write("s.toml", NETWORK.replace('recovery = "newreno"', 'congestion_control = { python = "mine.py:X" }'))
    place.write("plain.toml", NETWORK.replace("0.5s", "1s"))
    if command == "module":
        tiny_kernel(Path("linux"))
    if command in {"results", "report"}:
        place.write("study.toml", NETWORK + "[sweep]\n'link.l.delay' = ['1ms', '9ms']\n")
        assert main(["sweep", "study.toml", "--out", "done"]) == 0
    if command in {"suite", "compare"}:
        about = "title = 't'\nsource = 's'\nsummary = 's'\nstandard = 'reno'\n"
        place.write("suite/suite.toml", f"{about}{SITUATION}metrics = ['goodput']\n")
        place.write("suite/one.toml", NETWORK)
    if command == "compare":
        for name in ("one", "two"):
            assert main(["suite", "suite", "--control", "reno", "--quick", "--out", name]) == 0
    if command == "scoreboard":
        check = "[[situation.check]]\nid = 'c'\nsay = 'c'\nvalue = 'metric.goodput'\nleast = 0\n"
        place.write("suite/suite.toml", f"title = 't'\nsource = 's'\nsummary = 's'\n{SITUATION}tested = 'f'\n{check}")
        place.write("suite/one.toml", NETWORK)
        assert main(["suite", "suite", "--control", "mine.py:X", "--quick", "--out", "results"]) == 0
    if command == "gym":
        rival = "[[flow]]\nname = 'r'\nfrom = 'a'\nto = 'b'\ntcp = { congestion_control = { python = 'mine.py:X' } }\n"
        place.write("env.toml", NETWORK.replace('recovery = "newreno"', 'congestion_control = "policy"') + rival)
    if command in {"read", "model"}:
        place.write("upload.toml", UPLOAD)
        assert main(["run", "upload.toml", "--pcap", "a=c.pcapng"]) == 0
    if command == "policy":
        place.write("mine.policy", (ROOT / "crates/policy/src/trained.policy").read_text())
    if command == "search":
        place.write("space.toml", NETWORK.replace("0.5s", "1s") + SPACE)
    if command == "expect":
        place.write("known/regression.toml", "")
    if command == "identify":
        draw = random.Random(1)
        place.write("rtt.csv", "rtt_s\n" + "".join(f"{0.1 + 0.01 * draw.random()}\n" for _ in range(200)))
    if command == "replay":
        with gzip.open(ROOT / "validation/linux/scripts.jsonl.gz", "rt") as scripts:
            place.write("script.jsonl", scripts.readline())
    place.files()
    place.executed()


def connect(*_: object) -> None:
    raise AssertionError("no command connects to another machine")


@line(*EXPECTED)
@pytest.mark.parametrize("command", [name for name in COMMANDS if name in EXPECTED])
def test_a_command(
    place: Place,
    command: str,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if command == "emulate" and not hasattr(_core, "emulate"):
        pytest.skip("runs in real time need Linux")
    if command == "view":
        request.getfixturevalue("blank")
    inputs(place, command)
    for name in ("connect", "connect_ex", "bind", "sendto"):
        monkeypatch.setattr(socket.socket, name, connect)
    arguments, written, executes = EXPECTED[command]
    status = main([command, *arguments.split()])
    said = capsys.readouterr().err
    if status == 3:
        pytest.skip(said)
    assert status == 0 or (status == 4 and command == "emulate"), said
    assert {Path(name).parts[0] for name in place.files()} == written
    assert place.executed() == executes


def test_every_command_is_tried() -> None:
    """`paper` is in test_security.py, `serve` in test_security_serve.py."""
    assert {*EXPECTED, "paper", "serve"} == set(COMMANDS)
