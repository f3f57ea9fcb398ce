"""Names that look like assignments, and folders of strangers with links (docs/security.md A1, O6)."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
import tomli_w

from ackclock.base.assignment import key_text
from ackclock.cli.app import main
from conftest import one_situation
from security import NETWORK, Place, line

# What names of flows and links are here: the text of an assignment of code, with each kind of quote and escape.
NAMES = (
    'f".tcp.congestion_control.python="PATH:X',
    "f\\",
    'f"=.#ü\\ [0]',
    "f'.tcp.congestion_control.python='PATH:X' #",
    "f.tcp.congestion_control={python='PATH:X'}",
    'f\\".start="1s',
    "f=1",
    "",
)

COMMANDS = (
    "run odd.toml --control cubic",
    "run odd.toml --on quic",
    "check odd.toml",
    "link odd.toml",
    "why odd.toml --at 0.4s",
    "why odd.toml --at 0.5s --cut --counterfactual",
    "what-if odd.toml --at 0.2s --control cubic",
    "sweep study.toml --out o1",
    "compare --control reno,cubic --on odd.toml --seeds 2 --out o2",
    "agree odd.toml --on tcp,quic --control reno --seeds 2 --out o3",
    "search space.toml --control reno --budget 4 --out o4",
    "plot odd.toml --out p.svg",
    "view odd.toml --out v.html",
)


@pytest.fixture
def odd(place: Place, request: pytest.FixtureRequest) -> Place:
    name = request.param.replace("PATH", str(place.elsewhere / "mine.py")) or "\u202e"
    queue = {"kind": "droptail", "limit": "5p"}
    link = {"name": name, "ends": ["a", "b"], "rate": "2Mbps", "delay": "10ms", "queue": queue}
    document = {"duration": "500ms", "link": [link], "flow": [{"name": name, "from": "a", "to": "b", "tcp": {}}]}
    place.write("odd.toml", tomli_w.dumps(document))
    place.write("study.toml", tomli_w.dumps(document | {"sweep": {"seed": [1, 2]}}))
    space = {"objective": "goodput >= 0", "seeds": 1, "tested": name, "bottleneck": name}
    axis = {"log": ["1ms", "9ms"], "digits": 1}
    place.write(
        "space.toml",
        tomli_w.dumps(document | {"search": space, "space": {key_text(("link", name, "delay")): axis}}),
    )
    return place


@line("A1")
@pytest.mark.parametrize("odd", NAMES, indirect=True)
def test_a_name_assigns_nothing(odd: Place, capsys: pytest.CaptureFixture[str]) -> None:
    for command in COMMANDS:
        status = main(command.split())
        said = capsys.readouterr()
        assert not odd.executed(), command
        assert status in {0, 1, 3}, (command, said.err)
        assert "Traceback" not in said.err + said.out


@line("A1")
def test_a_key_of_a_message_can_be_assigned(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    name = 'f"=.#ü\\ [0]'
    flow = {"name": name, "from": "a", "to": "b", "start": "9 parsecs"}
    link = {"ends": ["a", "b"], "rate": "5Mbps", "delay": "10ms"}
    place.write("odd.toml", tomli_w.dumps({"duration": "1s", "link": [link], "flow": [flow]}))
    assert main(["check", "odd.toml"]) == 2
    said = capsys.readouterr().err
    key = said.partition("odd.toml:")[2].partition(": ")[2].partition(": ")[0]
    assert main(["run", "odd.toml", "--set", f"{key}=100ms"]) == 0, said


WRITES = {
    "sweep s.toml --out out": ("runs.sqlite", ".lock", "runs.sqlite-wal", "runs.sqlite-journal"),
    "search space.toml --budget 4 --out out": (
        *("runs.sqlite", ".lock", "report.html", "minimal.toml", "regression.toml"),
    ),
    "agree plain.toml --on tcp,quic --seeds 2 --out out": (
        "samples",
        "index.html",
        "agree.json",
        "samples/.lock",
    ),
    "compare --control reno,cubic --on plain.toml --seeds 2 --out out": ("plain", "plain/runs.sqlite", "plain/.lock"),
    "suite suite --control reno --quick --out out": (
        *("suite.json", "measures.csv", "index.html", "studies", "studies/one", "studies/one/runs.sqlite"),
    ),
}
"""Commands with what they write into their folder."""


@line("O6")
@pytest.mark.parametrize(("command", "name"), [(command, name) for command, names in WRITES.items() for name in names])
def test_no_link_of_a_folder_is_followed(
    place: Place, command: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    place.write("plain.toml", NETWORK)
    place.write("s.toml", NETWORK + "[sweep]\nseed = [1, 2]\n")
    space = '[search]\nobjective = "goodput <= 1e12"\nseeds = 1\n[space]\n"link.l.delay" = { log = ["1ms", "9ms"] }\n'
    place.write("space.toml", NETWORK + space)
    place.write("suite/one.toml", NETWORK.replace('name = "f"', 'name = "tested"'))
    place.write("suite/suite.toml", one_situation(2))
    (place.folder / "out" / name).parent.mkdir(parents=True)
    victim = place.elsewhere / "victim"
    is_folder = "." not in name.rpartition("/")[2]
    if is_folder:
        victim.mkdir()
    else:
        victim.write_text("precious")
    (place.folder / "out" / name).symlink_to(victim)
    status = main(command.split())
    said = capsys.readouterr().err
    assert "Traceback" not in said
    if is_folder:
        assert status == 2, said
        assert not list(victim.iterdir())
    else:
        assert victim.read_text() == "precious"
        assert status == 2 or not (place.folder / "out" / name).is_symlink(), "written, and no file of the folder"


@line("O6")
def test_what_is_no_regular_file_is_refused(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """A named pipe would wait for ever; a database of another program would get our tables."""
    place.write("s.toml", NETWORK + "[sweep]\nseed = [1, 2]\n")
    (place.folder / "pipe").mkdir()
    os.mkfifo(place.folder / "pipe" / "runs.sqlite")
    assert main(["sweep", "s.toml", "--out", "pipe"]) == 2
    (place.folder / "other").mkdir()
    with sqlite3.connect(place.folder / "other" / "runs.sqlite") as other:
        other.execute("CREATE TABLE mine (x)")
    before = (place.folder / "other" / "runs.sqlite").read_bytes()
    assert main(["sweep", "s.toml", "--out", "other"]) == 2
    assert Path("other/runs.sqlite").read_bytes() == before
    os.mkfifo(place.folder / "x.toml")
    os.mkfifo(place.folder / "x.parquet")
    assert main(["view", ".", "--no-open", "--out", "v.html"]) in {0, 2}
    assert "Traceback" not in capsys.readouterr().err
