"""`ackclock compare --control`: controllers on several networks, paired by seed; controllers in Python in processes."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from ackclock.apps.comparison import Comparison, compare, draw
from ackclock.apps.trials import Trials
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
    comparison = compare(Trials(files, folder / "out", Local(2), seeds=6), ["westwood_plus", "reno", "cubic"])
    assert (comparison.first, comparison.others, comparison.refused) == ("westwood_plus", ["reno", "cubic"], [])
    assert len(comparison.rows) == 2 * 3 * 2
    row = next(r for r in comparison.rows if (r.network, r.asked, r.other) == ("lossy", "goodput", "reno"))
    assert row.ratio.low is not None
    assert row.ratio.low > 1
    assert row.verdict == "better"
    # The same seeds: equal controllers are equal in every run.
    same = compare(Trials(files[:1], folder / "same", Local(2), seeds=3), ["reno", '{ kind = "reno" }  '])
    assert {r.verdict for r in same.rows} == {"no difference"}
    assert {r.ratio.value for r in same.rows} == {1.0}
    assert len([panel for panel in draw(comparison).axes if panel.get_visible()]) == 3


def test_a_controller_that_cannot_be_run_is_named(folder: Path) -> None:
    (folder / "old.toml").write_text(NETWORK.replace("LOSS", "0.01"))
    comparison = compare(Trials([folder / "old.toml"], folder / "out", Local(2), seeds=2), ["reno", "rcp", "vegas"])
    assert {row.other for row in comparison.rows} == {"vegas"}
    assert any("rcp was not run" in reason for reason in comparison.refused)


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
        (["compare", "clean.toml", "--control", "*.py:Mine,cubic"], "*.py:Mine: a pattern needs --against"),
        (["compare", "clean.toml", "--control", "*.py", "--against", "reno"], "*.py: names no class; for every"),
        (["compare", "clean.toml", "--control", "*.py", "--against", "reno"], "controller write '*.py:*'"),
        (["compare", "clean.toml", "--control", "mine.py,cubic"], "mine.py: names no class; write mine.py:CLASS"),
        (["compare", "@cellular", "--control", "reno,cubic", "--flow", "f9"], "--flow f9: @cellular has no such TCP"),
    ],
)
def test_wrong_calls_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


def test_each_class_is_announced_once_for_all_networks_and_processes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "mine.py").write_text(f"{MINE}\n\nclass Other(Mine):\n    pass\n")
    command = ["compare", "clean.toml", "lossy.toml", "--control", "mine.py:Mine,mine.py:Other,reno", "--seeds", "6"]
    assert main([*command, "--jobs", "3", "--set", "duration=2s"]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if " runs " in line]
    assert sorted(line.partition(" (")[2] for line in lines) == ["class Mine)", "class Other)"]


def test_a_figure_of_nothing_is_not_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The reasons and the exit status are those of the comparison."""
    command = ["compare", "clean.toml", "--control", "rcp,reno", "--seeds", "2", "--plot", "c.svg", "--json"]
    assert main(command) == 1
    output = capsys.readouterr()
    assert json.loads(output.out) == []
    assert "clean: rcp was not run" in output.err
    assert "not written: c.svg: no network has values of two controllers" in output.err
    assert not (folder / "c.svg").exists()


def test_studies_are_refused(folder: Path) -> None:
    (folder / "study.toml").write_text(NETWORK.replace("LOSS", "0.01") + '[sweep]\nseed = "1..2"\n')
    with pytest.raises(BadInput, match="is a study"):
        compare(Trials([folder / "study.toml"], folder / "out", Local(1)), ["reno", "cubic"])


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
    comparison = compare(Trials(files, folder / "out", Local(2), seeds=8), ["westwood_plus", "reno"], metrics=metrics)
    assert {row.network for row in comparison.rows} == {"clean", "clean-2"}
    lossy = {row.asked: row.verdict for row in comparison.rows if row.network == "clean-2"}
    assert lossy == {"goodput_bps": "better", "utilization": "better", "cwnd": "larger"}
    titles = [panel.get_title(loc="left") for panel in draw(comparison).axes]
    assert titles == ["goodput bps: more is better", "utilization: more is better", "cwnd"]
    with pytest.raises(BadInput, match="did you mean goodput"):
        compare(Trials(files, folder / "other", Local(2)), ["cubic", "reno"], metrics=["godput"])


def test_an_error_of_a_controller_in_a_process_is_that_of_its_run(folder: Path) -> None:
    text = MINE.replace('print("reduced")', "raise ValueError('no window')")
    (folder / "mine.py").write_text(text)
    mine = 'tcp = { congestion_control = { python = "mine.py:Mine" } }\n[sweep]\nseed = "1..8"\n'
    (folder / "study.toml").write_text(NETWORK.replace("LOSS", "0.03") + mine)
    with pytest.raises(RuntimeError, match="no window"):
        Study.load(folder / "study.toml").run(folder / "out", jobs=2)


TWO_FLOWS = (
    NETWORK.replace("LOSS", "0.0")
    + '[[flow]]\nname = "g"\nfrom = "a"\nto = "b"\ntcp = { congestion_control = "vegas" }\n'
)
GREEDY = MINE.replace("0.5 * event.window", "0.95 * event.window")
"""A controller that gives way to nobody."""


def compared(folder: Path, *named: str, flows: tuple[str, ...] = (), beside: str = "") -> Comparison:
    file = folder / "net.toml"
    trials = Trials([file], folder / "out", Local(2), seeds=4, overrides=["duration=15s"], flows=flows, beside=beside)
    return compare(trials, list(named))


def test_only_the_tested_flow_gets_the_controllers(folder: Path) -> None:
    (folder / "net.toml").write_text(TWO_FLOWS)
    trials = Trials([folder / "net.toml"], folder / "out", Local(1), seeds=2, flows=["g"])
    [network] = trials.networks()
    rows = network.run(["reno", "westwood_plus"], trials, folder / "runs", None).rows
    used = {name: {flow["control"] for row in rows for flow in row["flows"] if flow["name"] == name} for name in "fg"}
    assert used == {"f": {"cubic"}, "g": {"reno", "westwood_plus"}}
    comparison = compared(folder, "reno", "westwood_plus", flows=("g",))
    words = {row.asked: row.metric.words for row in comparison.rows}
    assert words["goodput"] == "goodput of g"
    assert words["rivals_goodput"] == "goodput of the other flows"
    assert comparison.remarks == []
    assert not any(map(comparison.kept_in, comparison.rows)), "nobody says which controller is theirs"


def test_a_greedy_controller_hurts_the_flows_beside_it(folder: Path) -> None:
    (folder / "net.toml").write_text(TWO_FLOWS)
    (folder / "greedy.py").write_text(GREEDY)
    comparison = compared(folder, "greedy.py:Mine", "reno", beside="reno")
    assert comparison.remarks == ["net: the tested flow is f, the first one (--flow names another)"]
    [row] = [row for row in comparison.rows if row.asked == "rivals_goodput"]
    assert row.verdict == "worse"
    share = comparison.kept_in(row)
    assert share is not None
    assert (share.control, share.part) == ("greedy.py:Mine", row.ratio)
    assert share.part.high is not None
    assert share.part.high < 0.8
    # The same from the other side: the standard controller is the first one.
    other = compared(folder, "reno", "greedy.py:Mine", beside="reno")
    [turned] = [row for row in other.rows if row.asked == "rivals_goodput"]
    part = other.kept_in(turned)
    assert part is not None
    assert part.control == "greedy.py:Mine"
    assert part.part.value == pytest.approx(row.ratio.value)
    assert part.part.low == pytest.approx(row.ratio.low)


def test_a_flow_is_added_beside_the_only_one(folder: Path) -> None:
    (folder / "net.toml").write_text(NETWORK.replace("LOSS", "0.0"))
    comparison = compared(folder, "reno", "westwood_plus", beside='{ kind = "reno" }')
    assert "the flow beside is added" in comparison.remarks[0]
    rows = {row.asked: row for row in comparison.rows}
    both = rows["goodput"].of_first.value + rows["rivals_goodput"].of_first.value
    assert 4.3e6 < both < 5e6
    assert comparison.standard == "reno"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("--flow nosuch", "has no such TCP or QUIC flow; there are f0, f1"),
        ("--beside cubic --flow f", "has no other TCP flow than f0, f1; add one"),
        ("--metric rivals_goodput", "name those with --flow or --beside"),
        ("--beside cubic --metric rivals_utilisation", "is no metric of flows"),
        ("--beside cubick", "did you mean"),
        ("--export t.xlsx", ".tex, .md or .csv"),
        ("--rank score.toml", "--against"),
        ("--memory-limit 2", "such as 2GB"),
        ("--memory-limit 1MB", "at least 256MB"),
    ],
)
def test_mistakes_about_flows_are_said_before_a_run(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: str, reason: str
) -> None:
    (folder / "net.toml").write_text(NETWORK.replace("LOSS", "0.0").replace('name = "f"', 'name = "f"\ncount = 2'))
    assert main(["compare", "net.toml", "--control", "reno,cubic", "--seeds", "2", *arguments.split()]) == 2
    message = capsys.readouterr().err
    assert reason in message
    assert message.count("\n") == 1
    assert not (folder / "out" / "compare" / "reno-cubic" / "net").exists()


def test_the_table_is_exported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["compare", "clean.toml", "--control", " westwood_plus , cubic", "--seeds", "3", "--metric", "goodput"]
    assert main([*command, "--export", "t.csv", "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)
    [line] = list(csv.DictReader((folder / "t.csv").open()))
    assert (line["network"], line["other"], line["unit"]) == ("clean", "cubic", "b/s")
    assert float(line["westwood_plus"]) == row["first_mean"]
    assert [float(line[f"ratio{end}"]) for end in ("", " low", " high")] == row["ratio"]
    assert main([*command, "--export", "t.tex"]) == 0
    assert "Mb/s" in (folder / "t.tex").read_text()
    assert main([*command, "--export", "t.md"]) == 0
    assert "| verdict |" in (folder / "t.md").read_text().splitlines()[0]


@pytest.mark.parametrize("control", ["mine.py: Mine", "mine.py :Mine"])
def test_spaces_are_no_part_of_a_controller(folder: Path, capsys: pytest.CaptureFixture[str], control: str) -> None:
    assert main(["compare", "clean.toml", "--control", f"{control} , reno", "--seeds", "2", "--metric", "rtt"]) == 0
    assert "mine.py:Mine over the other" in capsys.readouterr().out


@pytest.mark.parametrize("control", ["nosuch.py:Mine", "mine.py:Minne", "cubicc", "handins/*.py:*"])
def test_a_mistake_in_a_controller_is_said_at_its_option(
    folder: Path, capsys: pytest.CaptureFixture[str], control: str
) -> None:
    assert main(["compare", "clean.toml", "--control", f"reno,{control}", "--seeds", "2"]) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"ackclock: --control {control}: ")
    assert message.count("\n") == 1
    assert not (folder / "out").exists()
