"""Runs in processes and on clusters: equal results, controllers in Python that fail or end their process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ackclock.cli.app import main
from ackclock.study import Store, Study, results, sweep
from ackclock.study.executors import Local

NETWORK = """
title = "One flow"
duration = "4s"
[[link]]
name = "b"
ends = ["s", "d"]
rate = "5Mbps"
delay = "10ms"
queue = { kind = "droptail", limit = "15p" }
[[flow]]
name = "f"
from = "s"
to = "d"
start_jitter = "100ms"
"""
ENDED = "a process that ran the controller ended with exit status 3"


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "one.toml"
    file.write_text(NETWORK)
    return file


def python_control(folder: Path, name: str, when: str) -> str:
    """A controller in Python that does something on each ACK after two seconds, as a value of --control."""
    code = f"import os\n{Path('examples/reno.py').read_text()}\n\nclass {name}(Reno):\n    def on_ack(self, ack):\n"
    code += f"        if ack.now_s > 2:\n            {when}\n        super().on_ack(ack)\n"
    (folder / f"{name}.py").write_text(code)
    return f"{folder / name}.py:{name}"


def agree(scenario: Path, out: Path, control: str, *more: str) -> int:
    command = ["agree", str(scenario), "--seeds", "3", "--out", str(out), "--allow-code", *more]
    return main([*command, "--control", "reno", "--control", control])


def report(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "agree.json").read_text())
    return {key: value for key, value in found.items() if key != "command"}


@pytest.mark.parametrize("engine", ["local", pytest.param("ray", marks=pytest.mark.nightly)])
def test_processes_and_clusters_give_the_same_samples(scenario: Path, tmp_path: Path, engine: str) -> None:
    control = python_control(tmp_path, "Same", "pass")
    alone, many = tmp_path / "alone", tmp_path / "many"
    assert agree(scenario, alone, control, "--jobs", "1") == 0
    assert agree(scenario, many, control, "--jobs", "2", "--engine", engine) == 0
    assert report(alone) == report(many)
    assert report(many)["controllers"][1]["substrates"]["quic"]["seeds"] == [1, 2, 3]


@pytest.mark.parametrize(
    ("when", "message"), [("os._exit(3)", ENDED), ("raise ValueError('a mistake')", "ValueError: a mistake")]
)
def test_a_controller_that_fails_in_a_process_is_an_error(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], when: str, message: str
) -> None:
    assert agree(scenario, tmp_path / "out", python_control(tmp_path, "Fails", when), "--jobs", "2") == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out" / "agree.json").exists()


def test_a_controller_that_ends_its_process_fails_in_its_runs_alone(scenario: Path, tmp_path: Path) -> None:
    controls = [python_control(tmp_path, name, when) for name, when in (("Goes", "pass"), ("Ends", "os._exit(3)"))]
    axis = ", ".join(f'{{ python = "{control}" }}' for control in controls)
    study = Study.load(scenario, [f"sweep={{ 'flow.f.tcp.congestion_control' = [{axis}], seed = '1..5' }}"])
    with Store.create(tmp_path / "store") as store:
        summary = sweep(study, store, Local(2))
        assert (summary.runs, summary.done, summary.failed) == (10, 5, 5)
        assert {error for _, error in store.failures()} == {ENDED}
        assert results.table(store).height == 5
