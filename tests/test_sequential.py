"""Comparisons that stop early: the errors that they state, and which pairs of controllers get fewer seeds."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ackclock import stats
from ackclock.apps import sequential
from ackclock.apps.comparison import FILE, Measured, compare
from ackclock.apps.comparison import _compared as compared_rows
from ackclock.apps.sequential import Stage, stages
from ackclock.apps.trials import Trials
from ackclock.cli.app import main
from ackclock.metrics import RunMetric
from ackclock.study.executors import Local

NETWORK = """
duration = "4s"
[[link]]
name = "path"
ends = ["a", "b"]
rate = "5Mbps"
delay = "10ms"
queue = { kind = "droptail", limit = "30p" }
loss = { kind = "bernoulli", rate = 0.01 }
[[flow]]
name = "f"
from = "a"
to = "b"
"""
TRIALS = 2000
COUNTS = RunMetric("retransmissions", "retransmitted packets", "", lambda _: [], "sum", (0.0, math.inf), better=-1)


def test_the_looks_are_fixed_beforehand() -> None:
    assert [stage.seeds for stage in stages(10)] == [4, 10]
    assert [stage.seeds for stage in stages(30)] == [12, 30]
    assert sum(stage.part for stage in stages(30)) == pytest.approx(1.0)
    for seeds in (2, 5, 7):
        assert stages(seeds) == [Stage(seeds, 1.0)]
    assert stages(10, early=False) == [Stage(10, 1.0)]
    assert sequential.level(stages(7), 7) == stats.LEVEL


@pytest.mark.parametrize("seeds", [8, 10, 30])
def test_equal_controllers_differ_in_at_most_5_percent_whatever_ends_the_runs(seeds: int) -> None:
    """The worst rule ends the runs at the first stage with a p-value below 0.05, or an interval without the mean."""
    schedule = stages(seeds)
    rng = np.random.default_rng(seeds)
    false = outside = once = 0
    for _ in range(TRIALS):
        values = rng.normal(0.0, 1.0, seeds)
        of = {stage.seeds: stats.p_value(values[: stage.seeds].tolist(), 0.0) for stage in schedule}
        p_values = [sequential.p_value(of.__getitem__, schedule, stage.seeds) for stage in schedule]
        false += any(p is not None and p < 0.05 for p in p_values)
        once += any(p is not None and p < 0.05 for p in of.values())
        estimates = [
            stats.mean(values[: stage.seeds].tolist(), sequential.level(schedule, stage.seeds)) for stage in schedule
        ]
        outside += any(not (e.low or 0.0) <= 0.0 <= (e.high or 0.0) for e in estimates)
    bound = 0.05 + 3 * math.sqrt(0.05 * 0.95 / TRIALS)
    assert false / TRIALS < bound
    assert outside / TRIALS < bound
    assert once / TRIALS > bound, "without the parts the error is larger: this test can fail"


def test_certain_pairs_get_fewer_seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reno is equal to itself in all pairs; others need more seeds."""
    (tmp_path / "net.toml").write_text(NETWORK)
    monkeypatch.chdir(tmp_path)
    named = ["reno", '{ kind = "reno" }  ', "westwood_plus", "cubic"]
    trials = Trials([tmp_path / "net.toml"], tmp_path / "out", Local(2), seeds=10)
    result = compare(trials, named, metrics=["goodput", "p95_queueing"])
    assert result.stages == [4, 10]
    pairs = {row.other.strip(): row.ratio.n for row in result.rows}
    assert pairs['{ kind = "reno" }'] == 4
    assert max(pairs.values()) > 4
    every = compare(trials, named, metrics=["goodput", "p95_queueing"], early=False)
    assert {row.ratio.n for row in every.rows} == {10}
    assert every.stages == []
    # The seeds are the first ones of all: what was not cut short has the same means.
    for row, whole in zip(result.rows, every.rows, strict=True):
        if row.ratio.n == 10:
            assert row.of_other.value == whole.of_other.value
            assert row.ratio.low is not None
            assert whole.ratio.low is not None
            assert row.ratio.low < whole.ratio.low, "the last stage has a part of the error"


def test_few_equal_differences_are_not_certain() -> None:
    """Of two equal controllers whose counts differ by one packet, an eighth differs alike in four pairs."""
    schedule = stages(10)
    alike = dict.fromkeys(range(1, 5), 1.0)
    values = {"a": dict.fromkeys(alike, 3.0), "b": dict.fromkeys(alike, 2.0)}
    measured = Measured("net", "retransmissions", COUNTS, values, {"a": 4, "b": 4})
    [row] = compared_rows(["a", "b"], [measured], schedule, 0.01)
    assert row.p is not None
    assert row.p > 0.3
    assert not row.certain
    # Equal means of pairs that differ are no equal pairs; equal pairs are.
    for other, certain in (([1, 0, 0, 0], False), ([0, 0, 0, 1], True)):
        values = {"a": dict(enumerate([0.0, 0, 0, 1], 1)), "b": dict(enumerate(map(float, other), 1))}
        [row] = compared_rows(["a", "b"], [replace(measured, values=values)], schedule, 0.01)
        assert row.certain is certain


def test_a_metric_without_a_value_yet_gets_every_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "net.toml").write_text(NETWORK)
    monkeypatch.chdir(tmp_path)
    same = ["reno", '{ kind = "reno" }  ', "rcp"]
    trials = Trials([tmp_path / "net.toml"], tmp_path / "out", Local(2), seeds=8)
    few = compare(trials, same, metrics=["goodput"])
    assert few.seeds == [4, 4]
    assert any("rcp was not run" in reason for reason in few.refused), "a controller that is refused is not open"
    every = compare(trials, same, metrics=["goodput", "completion"])
    assert every.seeds == [8, 8]
    assert any("a value in 0 of 8 runs" in reason for reason in every.refused)
    # The seeds that are there already do not count for a comparison with fewer.
    assert compare(trials, same, metrics=["goodput"]) == few


def test_the_command_says_how_many_seeds_there_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "net.toml").write_text(NETWORK)
    monkeypatch.chdir(tmp_path)
    command = ["compare", "net.toml", "--control", "reno,westwood", "--metric", "p95_queueing", "--seeds", "8"]
    assert main([*command, "--out", "early", "--tolerance", "0%"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "at all stages (4 and 8 seeds) together" in said
    assert main([*command, "--out", "every", "--all-seeds"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "8 seeds; ratio" in said
    assert "stages" not in said
    assert "--all-seeds" in (tmp_path / "every" / FILE).read_text()
    assert main(["report", "early"]) == 0


FAILS = """
from ackclock import Controller


class Fails(Controller):
    def on_ack(self, ack):
        raise ValueError("no window")
"""


def test_a_controller_that_fails_and_a_gate_beside_stages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A failed controller gets no more seeds, the others theirs; a gate judges what the last stage says."""
    (tmp_path / "net.toml").write_text(NETWORK)
    (tmp_path / "fails.py").write_text(FAILS)
    monkeypatch.chdir(tmp_path)
    command = ["compare", "net.toml", "--seeds", "8", "--metric", "p95_queueing", "--json"]
    assert main([*command, "--control", "reno,fails.py:Fails,westwood_plus", "--out", "failed"]) == 1
    output = capsys.readouterr()
    assert {row["other"] for row in json.loads(output.out)} == {"westwood_plus"}
    assert "fails.py:Fails was not run: 4 of 4 runs failed" in output.err
    assert main([*command, "--control", "reno,vegas", "--gate", "--out", "gate"]) == 1
    output = capsys.readouterr()
    [row] = json.loads(output.out)
    assert row["verdict"] == "worse"
    assert "reno is worse than vegas" in output.err
