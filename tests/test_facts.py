"""A scenario is read once: the core gives what its text, its base files and the assignments say."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ackclock import _core
from ackclock.apps.view import recorded
from ackclock.base.assignment import Assignment, Override
from ackclock.cli.app import main
from ackclock.scenario import Scenario
from ackclock.study import Study

ROOT = Path(__file__).parents[1]
TEXT = """
title = "read once"
duration = "1s"
[[link]]
name = "l"
ends = ["a", "b"]
rate = "5Mbps"
delay = "10ms"
queue = { kind = "droptail", limit = "20p" }
[[flow]]
name = "f"
from = "a"
to = "b"
tcp = { congestion_control = "cubic" }
"""
IN_PYTHON = TEXT.replace('"cubic"', '{ python = "mine.py:Reno" }')


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "once.toml").write_text(TEXT, encoding="utf-8")
    (tmp_path / "python.toml").write_text(IN_PYTHON, encoding="utf-8")
    (tmp_path / "mine.py").write_text((ROOT / "examples/reno.py").read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What has read each text of a scenario: the disk, the core, or tomllib."""
    seen: list[str] = []
    scenarios = {TEXT, IN_PYTHON}

    def counted(name: str, read: Callable[..., Any], text_of: Callable[..., object]) -> Callable[..., Any]:
        def reading(*arguments: Any, **options: Any) -> Any:
            if text_of(*arguments) in scenarios:
                seen.append(name)
            return read(*arguments, **options)

        return reading

    disk = Path.read_text
    monkeypatch.setattr(Path, "read_text", counted("disk", disk, lambda path: disk(path, encoding="utf-8")))
    for name in ("parse", "parse_study"):
        monkeypatch.setattr(_core, name, counted("core", getattr(_core, name), lambda source, *_: source.text))
    monkeypatch.setattr(tomllib, "loads", counted("tomllib", tomllib.loads, lambda text: text))
    return seen


EVERYTHING = ("--trace", "t.parquet", "--packets", "p.csv", "--pcap", "c.pcapng", "--plot", "r.svg", "--audit")


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--json",),
        ("--plot", "r.svg"),
        EVERYTHING,
        (*EVERYTHING, "--seed", "3", "--set", "link.l.rate=4Mbps", "--control", "vegas"),
        (*EVERYTHING, "--on", "quic", "--qlog", "logs"),
        ("--threads", "2"),
        ("--explain-threads",),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("file", ["once.toml", "python.toml"])
def test_a_run_reads_its_scenario_once(folder: Path, readings: list[str], file: str, options: tuple[str, ...]) -> None:
    assert main(["run", file, *options]) == 0
    assert readings == ["disk", "core"]


def test_a_run_imports_no_tables(folder: Path) -> None:
    code = (
        "import sys; from ackclock.cli.app import main; main(['run', 'once.toml']);"
        "print(sorted({'numpy', 'polars', 'matplotlib', 'tomli_w'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_facts_are_what_is_written(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub/base.toml").write_text(
        TEXT.replace('"5Mbps"', '{ kind = "trace", file = "rate.txt" }').replace("[[flow]]", "[[flow]]\ncount = 2"),
        encoding="utf-8",
    )
    (folder / "sub/rate.txt").write_text("5\n20\n", encoding="utf-8")
    (folder / "other.txt").write_text("4\n20\n", encoding="utf-8")
    text = 'extends = "sub/base.toml"\nwarmup = "100ms"\nsweep = { seed = [1, 2] }\n'
    (folder / "top.toml").write_text(text, encoding="utf-8")
    facts = Scenario.load("top.toml", ["link.l.rate.file=other.txt"]).facts()
    assert facts.document["warmup"] == "100ms"
    assert facts.document["link"][0]["rate"] == {"kind": "trace", "file": "other.txt"}
    assert [flow["name"] for flow in facts.document["flow"]] == ["f0", "f1"]
    assert not {"extends", "sweep", "seed", "tcp"} & facts.document.keys()
    assert facts.controllers == []
    assert [
        (mention.file, mention.assignment, mention.key, mention.value, mention.path) for mention in facts.mentions
    ] == [
        ("top.toml", None, "extends", "sub/base.toml", Path("sub/base.toml")),
        ("sub/base.toml", None, "file", "rate.txt", Path("sub/rate.txt")),
        (None, 0, "file", "other.txt", Path("other.txt")),
    ]


def test_facts_are_a_copy(folder: Path) -> None:
    scenario = Scenario.load("once.toml")
    scenario.facts().document["flow"].clear()
    assert scenario.facts().document == tomllib.loads(TEXT)


def test_facts_of_a_point_are_those_of_the_point() -> None:
    study = Study.parse(TEXT + '[sweep]\n"link.l.rate" = ["1Mbps", "2Mbps"]\n', ["warmup=100ms"])
    scenario = study.scenario(1)
    assert scenario.facts().document == study.document(1)
    assert (study.document(1)["link"][0]["rate"], study.document(1)["warmup"]) == ("2Mbps", "100ms")
    assert scenario.with_overrides(["seed=7"]).facts().document == {**study.document(1), "seed": 7}


def test_more_assignments_give_the_scenario_that_has_them_all(folder: Path) -> None:
    first: list[Override] = ["link.l.rate=4Mbps", "flow.f.tcp.congestion_control=vegas"]
    westwood = 'flow.f.tcp.congestion_control={ kind = "westwood", tau = 0.5 }'  # without its unit
    more: list[Override] = [Assignment(("flow", "f", "start"), "100ms"), westwood, "link.l.rate=3Mbps"]
    later = Scenario.load("python.toml", first).with_overrides(more)
    whole = Scenario.load("python.toml", [*first, *more])
    assert later.overrides == whole.overrides
    assert later.facts().document == whole.facts().document
    assert later.advice == whole.advice
    assert later.advice
    prints = [scenario.run(fingerprint=True).fingerprint for scenario in (later, whole)]
    assert prints[0] == prints[1]


def test_a_recording_has_the_scenario_that_ran(folder: Path) -> None:
    assert main(["run", "python.toml", "--trace", "t.parquet", "--seed", "3"]) == 0
    about = recorded.of_file(folder / "t.parquet")["about"]
    assert about["python"] == ["mine.py:Reno"]
    assert about["shared"] == {"v": 1, "text": IN_PYTHON, "seed": 3}
    geometry = about["geometry"]
    assert geometry is not None
    assert (geometry["seed"], json.dumps(tomllib.loads(geometry["text"])["flow"][0]["tcp"])) == (
        3,
        '{"congestion_control": "reno"}',
    )
