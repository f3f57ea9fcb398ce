"""The lines of docs/security.md on recorded runs, studies and suites of strangers."""

from __future__ import annotations

import json
import re
import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ackclock.cli.app import main
from ackclock.study.store import FILE, checksum
from security import CODE, FILED, NETWORK, PYTHON, TRACE, Place, line, packed, refused

ROOT = Path(__file__).parents[1]
CODED = NETWORK.replace('recovery = "newreno"', 'congestion_control = { python = "mine.py:X" }')


def recorded(place: Place, change: Callable[[dict[str, Any]], object]) -> Path:
    """A recorded run with other metadata."""
    path = place.folder / "t.parquet"
    if not path.exists():
        place.write("s.toml", NETWORK)
        assert main(["run", "s.toml", "--trace", str(path)]) == 0
    said = json.loads(pl.read_parquet_metadata(path)["ackclock"])
    change(said["about"])
    changed = place.folder / "changed.parquet"
    pl.read_parquet(path).write_parquet(changed, metadata={"ackclock": json.dumps(said)})
    place.files()
    return changed


@line("R1", "O4")
def test_a_recorded_run_is_data(place: Place, capsys: pytest.CaptureFixture[str], blank: None) -> None:
    end = "</script><script>alert(1)</script>"

    def change(about: dict[str, Any]) -> None:
        about |= {"title": end, "file": "/dev/zero", "python": [f"{place.elsewhere / 'mine.py'}:X"]}
        about["shared"] |= {"text": CODED, "set": [PYTHON.format("mine.py")]}
        about["geometry"] = {"v": 1, "text": 'extends = "/dev/zero"'}

    path = recorded(place, change)
    assert main(["view", str(path), "--no-open", "--out", "page.html"]) == 0
    assert place.files() == {"page.html"}
    assert not place.executed()
    assert end not in (place.folder / "page.html").read_text()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', (ROOT / "web/index.html").read_text())
    assert policy is not None
    assert {"default-src 'none'", "connect-src 'none'"} <= set(policy[1].split("; "))


@line("R2")
@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("shared", {"v": 1, "text": "", "controller": {"code": "alert(1)", "flows": {"f": "page"}}}),
        ("shared", {"v": True, "text": ""}),
        ("geometry", {"v": 1, "text": "", "files": {"../x": {"text": ""}}}),
        ("seed", "1"),
        ("flows", [3]),
        ("outcome", {}),
    ],
)
def test_a_damaged_recorded_run(
    place: Place, capsys: pytest.CaptureFixture[str], blank: None, entry: str, value: object
) -> None:
    path = recorded(place, lambda about: about.update({entry: value}))
    refused(capsys, "view", str(path), "--no-open", words=f"the entry about.{entry} of its metadata")
    assert place.files() == set()


def swept(place: Place, text: str, *options: str) -> Path:
    place.write("study.toml", text)
    assert main(["sweep", "study.toml", "--out", "study", *options]) == 0
    place.files()
    return place.folder / "study"


def first_run(capsys: pytest.CaptureFixture[str], folder: Path) -> str:
    capsys.readouterr()
    assert main(["results", str(folder), "--runs"]) == 0
    return str(json.loads(capsys.readouterr().out.splitlines()[0])["run_id"])


@line("S1")
@pytest.mark.usefixtures("blank")
@pytest.mark.parametrize("where", ["scenario", "set"])
def test_a_study_names_no_code(place: Place, capsys: pytest.CaptureFixture[str], where: str) -> None:
    own = CODED
    study = swept(place, own) if where == "scenario" else swept(place, NETWORK, "--set", PYTHON.format("mine.py"))
    assert place.executed()
    run = first_run(capsys, study)
    commands = [["why", "study", "--run", run, "--at", "0.4s"], ["view", "study", "--run", run, "--no-open"]]
    for command in commands:
        refused(capsys, *command, words="give --allow-code")
    assert place.files() == set()
    for command in (["view", "study", "--no-open", "--out", "s.html"], ["report", "study", "--no-open", "--out", "r"]):
        assert main(command) == 0  # the numbers, without links to runs
    assert not place.executed()
    for command in commands[: 1 if where == "set" else 2]:
        main([*command, "--allow-code"])
        assert place.executed(), capsys.readouterr().err


@line("S1")
def test_a_study_of_a_link_is_repeated(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    address = packed(text=FILED, files={"slow.txt": {"text": TRACE}}, set=["warmup=0.1s"], seed=4)
    assert main(["sweep", address, "--out", "study", "--set", "link.l.delay=11ms"]) == 0
    run = first_run(capsys, place.folder / "study")
    assert main(["why", "study", "--run", run, "--at", "0.4s"]) == 0


def crafted(folder: Path, statement: str, *values: object) -> None:
    """Write a row with its checksum into a study."""
    with sqlite3.connect(folder / FILE) as index:
        index.execute(statement, (*values, checksum(values)))


ROWS: dict[str, tuple[str, list[Any]]] = {
    "null": ("outcome", [b"null"]),
    "list": ("outcome", [b"[1]"]),
    "text": ("outcome", [b'"text"']),
    "empty": ("outcome", [b"{}"]),
    "two": ("outcome", [b"{}\n{}"]),
    "deep": ("outcome", [b"[" * 100_000]),
    "deep inside": ("outcome", [b'{"flows":' + b"[" * 100_000]),
    "flows": ("outcome", [b'{"flows": 3}']),
    "not UTF-8": ("outcome", [b'{"title": "\xff"}']),
    "not zlib": ("packed", [b"no"]),
    "nothing": ("packed", [""]),
    "number": ("packed", [3]),
    "set": ("about", ["set", "3"]),
    "set of numbers": ("about", ["set", "[3]"]),
    "deep set": ("about", ["set", "[" * 100_000]),
    "set of surrogates": ("about", ["set", '["\\ud800"]']),
    "scenario": ("about", ["scenario", b"\xff"]),
    "planned": ("about", ["planned", "many"]),
    "link": ("about", ["link", "lab.html#s=x"]),
    "axes": ("plan", [0, "RUN", 1, "[3]"]),
    "deep axes": ("plan", [0, "RUN", 1, "[" * 100_000]),
    "seed": ("plan", [0, "RUN", "one", "{}"]),
    "run": ("plan", [0, b"\xff", 1, "{}"]),
}


@line("S2")
@pytest.mark.parametrize("row", ROWS)
def test_a_crafted_study(place: Place, capsys: pytest.CaptureFixture[str], row: str) -> None:
    study = swept(place, NETWORK)
    run = first_run(capsys, study)
    kind, values = ROWS[row]
    if kind == "about":
        crafted(study, "INSERT OR REPLACE INTO about VALUES (?, ?, ?)", *values)
    elif kind == "plan":
        own = [run if value == "RUN" else value for value in values]
        crafted(study, "INSERT OR REPLACE INTO plan VALUES (?, ?, ?, ?, ?)", *own)
    else:
        outcome = zlib.compress(values[0]) if kind == "outcome" else values[0]
        crafted(study, "INSERT OR REPLACE INTO run VALUES (?, ?, ?, ?, ?)", run, "now", outcome, None)
    place.files()
    ended = []
    for command in (["results", "study"], ["plot", "study"], ["why", "study", "--run", run, "--at", "0.4s"]):
        capsys.readouterr()
        ended.append(main(command))
        said = capsys.readouterr().err
        assert ended[-1] == 0 or (ended[-1] == 2 and len(said.splitlines()) == 1), said
    assert 2 in ended


@line("S2")
def test_a_study_has_tables(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """A view may compute for ever."""
    study = swept(place, NETWORK)
    with sqlite3.connect(study / FILE) as index:
        index.execute("ALTER TABLE run RENAME TO other")
        index.execute(
            "CREATE VIEW run AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
            "SELECT 'a' AS run_id, 'b' AS finished_at, x'00' AS outcome, NULL AS error, x AS checksum FROM n"
        )
    place.files()
    refused(capsys, "results", "study", words="is no store of ackclock sweep")


SUITE = """
title = "t"
source = "s"
summary = "s"
standard = "reno"
[[situation]]
id = "one"
title = "One"
place = "p"
question = "q"
metrics = ["goodput"]
seeds = 2
quick = 2
[[situation]]
id = "two"
title = "Two"
place = "p"
question = "q"
metrics = ["goodput"]
seeds = 2
quick = 2
"""


def suite(place: Place, second: str = NETWORK) -> None:
    other = second.replace('name = "f"', 'name = "g"')
    for name, text in {"suite": SUITE, "one": NETWORK, "two": other}.items():
        place.write(f"suite/{name}.toml", text)


@line("U1")
def test_a_suite_names_no_code(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    suite(place, CODED.replace("mine.py", "rival.py"))
    place.write("suite/rival.py", CODE.format(mark=str(place.mark)))
    command = ["suite", "suite", "--control", "reno", "--quick"]
    refused(capsys, *command, words="give --allow-code")
    assert place.files() == set()
    assert not place.executed()
    assert main([*command, "--allow-code"]) == 0
    assert place.executed()
    suite(place)
    assert main(["suite", "suite", "--control", "mine.py:X", "--quick"]) == 0
    assert place.executed()
