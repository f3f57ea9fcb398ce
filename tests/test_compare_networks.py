"""`ackclock compare --control`: controllers on several networks, paired by seed; controllers in Python in processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ackclock.apps.comparison import compare, draw
from ackclock.base.files import BadInput
from ackclock.cli.app import main
from ackclock.study import Study
from ackclock.study.executors import Local

NETWORK = """
duration = "6s"
[[link]]
name = "path"
ends = ["a", "b"]
rate = "5Mbps"
delay = "10ms"
queue = { kind = "droptail", limit = "30p" }
loss = { kind = "bernoulli", rate = LOSS }
[[flow]]
name = "f"
from = "a"
to = "b"
"""
MINE = """
from ackclock import Controller


class Mine(Controller):
    def on_ack(self, ack):
        if ack.newly_acked and ack.phase != "recovery":
            self.cwnd += 1 if self.cwnd < self.ssthresh else 1 / self.cwnd

    def on_congestion(self, event):
        print("reduced")
        self.cwnd = self.ssthresh = max(2, 0.5 * event.window)

    def on_rto(self, event):
        self.ssthresh, self.cwnd = max(2, event.window / 2), 1
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "clean.toml").write_text(NETWORK.replace("LOSS", "0.0001"))
    (tmp_path / "lossy.toml").write_text(NETWORK.replace("LOSS", "0.03"))
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_first_controller_is_compared_with_each_other_one(folder: Path) -> None:
    files = [folder / "clean.toml", folder / "lossy.toml"]
    found = compare(files, ["westwood_plus", "reno", "cubic"], folder / "out", Local(2), seeds=6)
    assert (found.first, found.others, found.refused) == ("westwood_plus", ["reno", "cubic"], [])
    assert len(found.rows) == 2 * 3 * 2
    row = next(r for r in found.rows if (r.network, r.asked, r.other) == ("lossy", "goodput", "reno"))
    assert row.ratio.low is not None
    assert row.ratio.low > 1
    assert row.verdict == "better"
    # The same seeds: equal controllers are equal in every run.
    same = compare(files[:1], ["reno", '{ kind = "reno" }  '], folder / "same", Local(2), seeds=3)
    assert {r.verdict for r in same.rows} == {"no difference"}
    assert {r.ratio.value for r in same.rows} == {1.0}
    assert len([panel for panel in draw(found).axes if panel.get_visible()]) == 3


def test_a_controller_that_cannot_be_run_is_named(folder: Path) -> None:
    (folder / "old.toml").write_text(NETWORK.replace("LOSS", "0.01"))
    found = compare([folder / "old.toml"], ["reno", "rcp", "vegas"], folder / "out", Local(2), seeds=2)
    assert {row.other for row in found.rows} == {"vegas"}
    assert any("rcp was not run" in reason for reason in found.refused)


def test_the_command_prints_draws_and_keeps_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["compare", "clean.toml", "--on", "lossy.toml", "--control", "mine.py:Mine,cubic", "--seeds", "3"]
    assert main([*arguments, "--plot", "figure.svg"]) == 0
    said = capsys.readouterr().out
    assert "lossy" in said
    assert "3 seeds" in said
    assert (folder / "figure.svg").is_file()
    assert main([*arguments, "--json", "--metric", "goodput"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["network"], row["other"]) for row in rows] == [("clean", "cubic"), ("lossy", "cubic")]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["compare", "clean.toml", "--control", "reno"], "two controllers"),
        (["compare", "--control", "reno,cubic"], "needs networks"),
        (["compare", "clean.toml", "--control", "reno,cubic", "--seeds", "1"], "at least 2"),
        (["compare", "a"], "two folders"),
    ],
)
def test_wrong_calls_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


def test_studies_are_refused(folder: Path) -> None:
    (folder / "study.toml").write_text(NETWORK.replace("LOSS", "0.01") + '[sweep]\nseed = "1..2"\n')
    with pytest.raises(BadInput, match="is a study"):
        compare([folder / "study.toml"], ["reno", "cubic"], folder / "out", Local(1))


def test_processes_give_what_one_thread_gives(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    mine = 'tcp = { congestion_control = { python = "mine.py:Mine" } }\n[sweep]\nseed = "1..8"\n'
    (folder / "study.toml").write_text(NETWORK.replace("LOSS", "0.01") + mine)
    tables = []
    for jobs in (1, 2):
        study = Study.load(folder / "study.toml").run(folder / f"out{jobs}", jobs=jobs)
        tables.append(study.table().drop("wall_s", "cpu_s", strict=False).sort("seed"))
    assert tables[0].columns == tables[1].columns
    assert [c for c in tables[0].columns if not tables[0][c].equals(tables[1][c]) and "engine" not in c] == []


def test_processes_run_no_file_of_the_folder(folder: Path) -> None:
    """A file with the name of a module of the standard library is not that module."""
    (folder / "signal.py").write_text("raise SystemExit('executed')")
    mine = 'tcp = { congestion_control = { python = "mine.py:Mine" } }\n[sweep]\nseed = "1..4"\n'
    (folder / "study.toml").write_text(NETWORK.replace("LOSS", "0.01") + mine)
    assert Study.load(folder / "study.toml").run(folder / "out", jobs=2).table().height == 4


def test_networks_with_one_name_and_metrics_of_either_direction(folder: Path) -> None:
    (folder / "b").mkdir()
    (folder / "b" / "clean.toml").write_text(NETWORK.replace("LOSS", "0.03"))
    files = [folder / "clean.toml", folder / "b" / "clean.toml"]
    metrics = ["goodput_bps", "utilization", "cwnd"]
    found = compare(files, ["westwood_plus", "reno"], folder / "out", Local(2), seeds=8, metrics=metrics)
    assert {row.network for row in found.rows} == {"clean", "clean-2"}
    lossy = {row.asked: row.verdict for row in found.rows if row.network == "clean-2"}
    assert lossy == {"goodput_bps": "better", "utilization": "better", "cwnd": "larger"}
    titles = [panel.get_title(loc="left") for panel in draw(found).axes]
    assert titles == ["goodput bps: more is better", "utilization: more is better", "cwnd"]
    with pytest.raises(BadInput, match="did you mean goodput"):
        compare(files, ["cubic", "reno"], folder / "other", Local(2), metrics=["godput"])


def test_an_error_of_a_controller_in_a_process_is_that_of_its_run(folder: Path) -> None:
    text = MINE.replace('print("reduced")', "raise ValueError('no window')")
    (folder / "mine.py").write_text(text)
    mine = 'tcp = { congestion_control = { python = "mine.py:Mine" } }\n[sweep]\nseed = "1..8"\n'
    (folder / "study.toml").write_text(NETWORK.replace("LOSS", "0.03") + mine)
    with pytest.raises(RuntimeError, match="no window"):
        Study.load(folder / "study.toml").run(folder / "out", jobs=2)
