"""Bounds of metrics over the points of a study: `ackclock results --goal`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ackclock import Study
from ackclock.base.files import BadInput
from ackclock.cli.app import main
from ackclock.stats import Estimate
from ackclock.study import Store, goals, results

LOSSES = """
# Does random loss cost goodput?
#   ackclock sweep losses.toml --out s
# Not modelled: the weather.
title = "Losses"
duration = "4s"
link = [{ name = "l", ends = ["a", "b"], rate = "5Mbps", delay = "10ms", loss = { kind = "bernoulli", rate = 0.0 } }]
flow = [{ name = "f", from = "a", to = "b" }]
[sweep]
seed = "1..3"
"link.l.loss.rate" = [0.0, 0.05]
"tcp.congestion_control" = ["reno", "cubic"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("goals")
    (base / "losses.toml").write_text(LOSSES)
    Study.load(base / "losses.toml").run(base / "s")
    return base / "s"


def judged(folder: Path, texts: list[str], per: str | None = None) -> goals.Judgement:
    with Store.open(folder) as store:
        return goals.judge(results.points(store), texts, per)


def test_each_label_is_met_in_its_conditions_or_not(folder: Path) -> None:
    result = judged(folder, ["goodput > 4.2 Mb/s"], "rate")
    assert result.axis == "link.l.loss.rate"
    assert result.conditions == 2
    lossless, lossy = result.rows
    assert lossless.counts == {"met": 2, "not met": 0, "undecided": 0}
    assert lossy.counts == {"met": 0, "not met": 2, "undecided": 0}
    pair = lossy.ranges[0]
    assert pair is not None
    assert pair[0].estimate.value >= pair[1].estimate.value
    assert {pair[0].condition, pair[1].condition} == {"reno", "cubic"}


def test_a_goal_of_one_flow_and_of_one_link(folder: Path) -> None:
    result = judged(folder, ["f.goodput > 1Mb/s", "a->b.utilisation < 101%"])
    assert result.axis == "link.l.loss.rate"
    assert [goal.bound for goal in result.goals] == [1e6, 1.01]
    assert all(row.counts["not met"] == 0 for row in result.rows)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(1.0, 2.0, "met"), (2.0, 4.0, "undecided"), (3.5, 4.0, "not met"), (None, None, "undecided")],
)
def test_the_interval_decides(folder: Path, low: float | None, high: float | None, verdict: str) -> None:
    with Store.open(folder) as store:
        bound = goals.goal("goodput < 3 b/s", results.points(store))
    middle = 2.5 if low is None or high is None else (low + high) / 2
    assert bound.verdict(Estimate(middle, low, high, 3), equal=False) == verdict
    assert bound.verdict(Estimate(middle, None, None, 1), equal=True) == ("met" if middle < 3 else "not met")


def test_a_study_of_one_seed_decides_nothing(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(LOSSES.replace('"1..3"', '"1..1"'))
    Study.load(tmp_path / "one.toml").run(tmp_path / "s")
    for row in judged(tmp_path / "s", ["goodput > 1Mb/s"]).rows:
        assert row.counts == {"met": 0, "not met": 0, "undecided": 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("goodput", "must be METRIC < VALUE"),
        ("goodput > fast", '"fast" is no number'),
        ("goodput > 3", '"3" has no unit; it is in b/s, kb/s, Mb/s'),
        ("completion < 3s", "no run has a value of completion"),
        ("goodput > 3ms", '"ms" is no unit of this metric; it is in b/s, kb/s, Mb/s'),
        ("godput > 3b/s", "there is no metric godput; did you mean goodput"),
        ("g.goodput > 3b/s", "there is no such flow"),
        ("utilisation > 3 Mb/s", '"Mb/s" is no unit'),
    ],
)
def test_a_wrong_goal_is_refused_with_its_text(folder: Path, text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message) as error:
        judged(folder, [text])
    assert str(error.value).startswith(f"--goal {text}: ")


def test_the_command_prints_counts_and_the_worst_condition(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["results", str(folder), "--goal", "goodput > 4.2Mb/s", "--per", "rate"]) == 0
    out = capsys.readouterr().out
    assert "goal: goodput > 4.2Mb/s, in 2 conditions (congestion control reno, cubic), 3 seeds each" in out
    assert "2 of 2" in out
    assert "This is about the 2 labels of rate that were tried; not modelled: the weather." in out


def test_json_and_the_table_have_the_same_numbers(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["results", str(folder), "--goal", "goodput > 4.2Mb/s", "--per", "rate"]
    assert main([*command, "--json", "--export", str(tmp_path / "t.md")]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    text = (tmp_path / "t.md").read_text(encoding="utf-8")
    worst = [float(line.split("|")[7]) for line in text.splitlines()[2:]]
    assert worst == [pytest.approx(row["ranges"][0]["worst"]["value"] / 1e6, abs=0.06) for row in rows]
    assert main(["results", str(folder), "--json", "--metric", "goodput"]) == 0
    means = json.loads(capsys.readouterr().out)
    assert {row["means"]["goodput"]["n"] for row in means} <= {1, 3}


def test_per_without_a_goal_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["results", str(folder), "--per", "rate"]) == 2
    assert "--per: names the axis that --goal judges" in capsys.readouterr().err
