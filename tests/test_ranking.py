"""Rankings of controllers that others hand in: `ackclock compare --control ... --against ...`, and its formulas."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ackclock.apps.ranking import Ranked, hand_ins, ranks
from ackclock.apps.score import DEFAULT, NoScore, Score, read_score
from ackclock.base.controllers import classes_in
from ackclock.base.files import BadInput
from ackclock.cli.app import main
from ackclock.metrics import check_name

NETWORK = """
duration = "DURATION"
[[link]]
name = "path"
ends = ["a", "b"]
rate = "2Mbps"
delay = "10ms"
queue = { kind = "droptail", limit = "30p" }
[[flow]]
name = "f"
from = "a"
to = "b"
"""
MINE = (files("ackclock.cli") / "templates" / "controller.txt").read_text(encoding="utf-8")
"""The class that `ackclock new --python` writes."""
FIRST_LINE = "        if ack.rtt_s is not None:\n"
BAD = {
    "loop": ("while True: pass", "the run took longer than the time limit"),
    "exits": ("__import__('os')._exit(3)", "ended with exit status 3"),
    "memory": ("self.all = bytearray(8 << 30)", "MemoryError (--memory-limit)"),
    "raises": ("raise ValueError('no window')", "ValueError: no window"),
}
"""What a hand-in does at each ACK, and the reason why it has failed."""


def write(folder: Path, name: str, keep: float = 0.5, at_each_ack: str = "") -> None:
    text = MINE.replace("keep=0.5", f"keep={keep}")
    assert FIRST_LINE in text
    if at_each_ack:
        text = text.replace(FIRST_LINE, f"        {at_each_ack}\n{FIRST_LINE}")
    (folder / "handins" / f"{name}.py").write_text(text)


def write_all(folder: Path, count: int, duration: str) -> None:
    """Write so many hand-ins, of which five fail and two are equal, two networks, and the reference."""
    (folder / "handins").mkdir()
    for name, (line, _) in BAD.items():
        write(folder, name, at_each_ack=line)
    (folder / "handins" / "syntax.py").write_text(MINE.replace("def on_ack(self, ack):", "def on_ack(self, ack)"))
    good = count - len(BAD) - 1
    for number in range(good - 1):
        write(folder, f"s{number:02}", keep=round(0.2 + 0.7 * number / good, 3))
    write(folder, "twin", keep=0.2)
    (folder / "reference.py").write_text(MINE.replace("class Mine", "class Ref"))
    (folder / "a.toml").write_text(NETWORK.replace("DURATION", duration))
    (folder / "b.toml").write_text(NETWORK.replace("DURATION", duration).replace("30p", "15p"))


COMMAND = ["compare", "--control", "handins/*.py:*", "--on", "a.toml,b.toml", "--against", "reference.py:Ref"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check_ranking(printed: str, count: int) -> list[dict[str, Any]]:
    """Check the JSON of hand-ins that `write_all` has written; returns those that have a rank."""
    every = json.loads(printed)
    assert len(every) == count
    reasons = {Path(entry["name"].partition(":")[0]).stem: entry["failed"] for entry in every if entry["failed"]}
    assert reasons.keys() == {*BAD, "syntax"}
    for name, (_, reason) in BAD.items():
        assert reason in reasons[name]
    assert "handins/syntax.py:16: SyntaxError" in reasons["syntax"]
    ranked: list[dict[str, Any]] = [entry for entry in every if not entry["failed"]]
    assert [entry["score"] for entry in ranked] == sorted((entry["score"] for entry in ranked), reverse=True)
    for position, entry in enumerate(ranked, 1):
        assert entry["rank"][0] <= position <= entry["rank"][1]
        assert entry["low"] <= entry["score"] <= entry["high"]
        assert entry["situations"].keys() == {"a", "b"}
    rank = {Path(entry["name"].partition(":")[0]).stem: entry["rank"] for entry in ranked}
    assert rank["twin"] == rank["s00"]
    assert rank["twin"][1] > rank["twin"][0]
    return ranked


def test_bad_hand_ins_have_reasons_and_the_others_ranks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_all(folder, 8, "4s")
    short = [*COMMAND, "--seeds", "2", "--time-limit", "2s", "--jobs", "2"]
    assert main([*short, "--json", "--export", "t.csv", "--plot", "t.svg"]) == 0
    output = capsys.readouterr()
    ranked = check_ranking(output.out, 8)
    assert output.err.count("runs 7 classes") == 1
    lines = list(csv.DictReader((folder / "t.csv").open()))
    assert [float(line["score"]) for line in lines if line["score"]] == [entry["score"] for entry in ranked]
    assert sum(bool(line["failed"]) for line in lines) == 5
    assert (folder / "t.svg").is_file()
    # With pseudonyms no name of a file is left, and the runs that are done are not repeated.
    for bad in ("loop", "exits", "memory"):
        (folder / "handins" / f"{bad}.py").unlink()
    assert main([*short, "--pseudonyms", "--json"]) == 0
    hidden = capsys.readouterr().out
    assert not any(word in hidden for word in ("handins", ".py", "Mine", "twin", "syntax"))
    assert [entry["score"] for entry in json.loads(hidden) if entry["score"]] == [entry["score"] for entry in ranked]
    assert main([*short, "--json"]) == 0
    mapped = {entry["pseudonym"]: entry["score"] for entry in json.loads(capsys.readouterr().out)}
    assert mapped == {hand_in["name"]: hand_in["score"] for hand_in in json.loads(hidden)}


@pytest.mark.nightly
def test_eighty_hand_ins(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_all(folder, 80, "10s")
    command = [*COMMAND, "--seeds", "5", "--time-limit", "10s"]
    assert main([*command, "--json"]) == 0
    assert len(check_ranking(capsys.readouterr().out, 80)) == 75
    (folder / "handins" / "loop.py").unlink()
    assert main(command) == 0


def test_a_score_of_the_teacher(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.toml").write_text(NETWORK.replace("DURATION", "4s"))
    (folder / "score.toml").write_text('[score]\nformula = "min(goodput / 1Mbps, 5) - 2 * p95_queueing / 10ms"\n')
    command = ["compare", "a.toml", "--control", "vegas,cubic", "--against", "reno", "--seeds", "3", "--json"]
    assert main([*command, "--rank", "score.toml"]) == 0
    best, worst = json.loads(capsys.readouterr().out)
    assert (best["name"], best["rank"], worst["rank"]) == ("vegas", [1, 1], [2, 2])
    metrics = best["situations"]["a"]["metrics"]
    assert best["score"] == pytest.approx(metrics["goodput"] / 1e6 - 2 * metrics["p95_queueing"] / 0.01)
    # Also of the flows beside the tested one.
    (folder / "score.toml").write_text('[score]\nformula = "rivals_goodput / reference.rivals_goodput"\n')
    assert main([*command, "--rank", "score.toml", "--beside", "cubic"]) == 0
    assert {entry["name"]: entry["score"] > 1 for entry in json.loads(capsys.readouterr().out)}["vegas"]


def test_the_reference_has_the_score_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.toml").write_text(NETWORK.replace("DURATION", "3s"))
    assert main(["compare", "a.toml", "--control", "reno", "--against", "reno", "--seeds", "2", "--json"]) == 0
    [entry] = json.loads(capsys.readouterr().out)
    assert (entry["score"], entry["rank"]) == (1.0, [1, 1])


def test_a_hand_in_that_a_network_cannot_have_has_failed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.toml").write_text(NETWORK.replace("DURATION", "2s"))
    (folder / "handins").mkdir()
    write(folder, "l" * 240)
    command = ["compare", "a.toml", "--control", "handins/*.py:Mine,rcp,reno", "--against", "reno", "--seeds", "2"]
    assert main(command) == 0
    output = capsys.readouterr().out
    assert "failed: rcp: a: rcp needs routers that grant rates" in output
    assert output.count("failed") == 1


def test_a_reference_that_fails_is_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_all(folder, 8, "2s")
    command = ["compare", "a.toml", "--control", "reno", "--seeds", "2"]
    assert main([*command, "--against", "handins/raises.py:Mine"]) == 1
    assert "--against handins/raises.py:Mine: a: flow f: its controller failed" in capsys.readouterr().err
    assert main([*command, "--against", "handins/nosuch.py:Mine"]) == 2
    assert "--against handins/nosuch.py:Mine: " in capsys.readouterr().err


def seeds(*values: float) -> Ranked:
    return Ranked("a", "b", by_seed=dict(enumerate(values, 1)))


def test_ranks_are_those_that_the_differences_permit() -> None:
    wide, narrow = seeds(5, 3, 7, 5), seeds(5.1, 3.1, 7.1, 5.1)
    assert ranks([narrow, wide]) == [(1, 1), (2, 2)], "all pairs differ by 0.1"
    assert ranks([wide, wide]) == [(1, 2), (1, 2)]
    four = [seeds(9, 9, 9, 9), seeds(5, 4, 5, 4), seeds(4, 5, 4, 4.9), seeds(1, 1, 1.1, 1)]
    assert ranks(four) == [(1, 1), (2, 3), (2, 3), (4, 4)]
    # Neighbours do not differ, but the first and the last of a row do: not all of them share all ranks.
    noise = ([0, 0.9, -0.8, 0.1], [0.3, -0.7, 0.9, -0.2], [-0.8, 0.5, 0.1, 0.6], [0.7, -0.9, -0.4, 0.8])
    row = [seeds(*(10 - step + offset for offset in noise[step % 4])) for step in range(8)]
    between = ranks(row)
    assert (between[0][0], between[-1][1]) == (1, 8)
    assert between[0][1] < 8
    assert between[-1][0] > 1
    for position, (first, last) in enumerate(between, 1):
        assert first <= position <= last
    assert any(before[1] >= after[0] for before, after in pairwise(between))
    assert ranks([]) == []


def test_patterns_name_each_controller_of_each_file(folder: Path) -> None:
    (folder / "h").mkdir()
    (folder / "h" / "two.py").write_text(f"{MINE}\n\nclass Other(Mine):\n    pass\n\n\nclass Helper:\n    pass\n")
    (folder / "h" / "none.py").write_text("x = 1\n")
    reasons = {entry.name: entry.failed for entry in hand_ins(["h/*.py:*", "cubic", "h/two.py:Mine"])}
    assert list(reasons) == ["h/none.py", "h/two.py:Mine", "h/two.py:Other", "cubic"]
    assert reasons["h/none.py"].endswith("no class with the method on_ack")
    assert not any(reasons[name] for name in ("h/two.py:Mine", "h/two.py:Other", "cubic"))
    with pytest.raises(BadInput, match="no file matches"):
        hand_ins(["nosuch/*.py:*"])


@pytest.mark.parametrize(
    "text", ["(" * 300, "x = " + "-" * 20000 + "1", "\0", "class A(A): pass", "é".encode("latin1")]
)
def test_the_file_of_a_stranger_is_data(folder: Path, text: str | bytes) -> None:
    (folder / "a.py").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=r"a\.py"):
        classes_in("a.py")


@pytest.mark.parametrize(
    ("formula", "values", "score"),
    [
        ("goodput / 1e6 - 2 * p95_queueing / 10ms", {"goodput": 3e6, "p95_queueing": 0.02}, -1.0),
        ("-log(max(rtt, 1s)) + 50%", {"rtt": 0.1}, 0.5),
        (DEFAULT, {"goodput": 4.0, "rtt": 2.0, "reference.goodput": 1.0, "reference.rtt": 1.0}, 2.0),
        ("goodput / 2 Mbps", {"goodput": 4e6}, 2.0),
    ],
)
def test_formulas(formula: str, values: dict[str, float], score: float) -> None:
    of_formula = Score(formula)
    assert set(of_formula.metrics) == set(values)
    assert of_formula.value(values) == pytest.approx(score)


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("goodput +", "is no formula"),
        ("godput / rtt", "did you mean goodput"),
        ("reference.godput", "did you mean goodput"),
        ("__import__('os').system('true')", "is not permitted"),
        ("goodput.__class__", "is not permitted"),
        ("goodput ** 9", "is not permitted"),
        ("[goodput for _ in rtt]", "is not permitted"),
        ("(lambda: goodput)()", "is not permitted"),
        ("True * goodput", "is not permitted"),
        ("goodput if rtt else 1", "is not permitted"),
        ("1j * goodput", "is not permitted"),
        ("log(goodput, 2)", "log needs one argument"),
        ("max(goodput)", "max needs two arguments"),
        ("max(*goodput)", "needs two arguments"),
        ("max(*goodput, rtt)", "is not permitted"),
        ("3", "has no metric"),
        ("goodput" + " + goodput" * 200, "longer than 500 letters"),
        ("(" * 300 + "goodput" + ")" * 190, "is no formula"),
    ],
)
def test_a_formula_is_arithmetic(formula: str, said: str) -> None:
    with pytest.raises(BadInput, match=said) as raised:
        Score(formula, "score.toml: score.formula").check(check_name)
    assert str(raised.value).startswith("score.toml: score.formula: ")


def test_a_formula_without_a_value(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for formula, values in (("1 / rtt", {"rtt": 0.0}), ("log(rtt)", {"rtt": 0.0}), ("rtt", {"rtt": None})):
        with pytest.raises(NoScore):
            Score(formula).value(values)
    (folder / "a.toml").write_text(NETWORK.replace("DURATION", "2s"))
    (folder / "s.toml").write_text('[score]\nformula = "1 / timeouts"\n')
    command = ["compare", "a.toml", "--control", "reno", "--against", "reno", "--seeds", "2", "--rank", "s.toml"]
    command += ["--export", "t.csv", "--plot", "t.svg"]
    assert main(command) == 1
    output = capsys.readouterr()
    assert "failed: reno: a: seed 1: the score has no value: float division by zero (timeouts = 0" in output.out
    assert output.err.splitlines()[-3:] == [
        "not written: t.svg: no hand-in has a score",
        "written: t.csv",
        "ackclock: no hand-in has a score",
    ]
    [line] = csv.DictReader((folder / "t.csv").open())
    assert line["failed"].startswith("a: seed 1: the score has no value")
    assert not (folder / "t.svg").exists()
    assert main([*command, "--json"]) == 1
    [entry] = json.loads(capsys.readouterr().out)
    assert (entry["score"], entry["failed"]) == (None, line["failed"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[score", "s.toml: Expected"),
        ('formula = "goodput"', "must have one table"),
        ("[score]", "formula is missing"),
        ("[score]\nformula = 3", "must be str"),
        ('[score]\nformla = "goodput"', "did you mean formula"),
    ],
)
def test_a_file_that_is_no_score(folder: Path, text: str, said: str) -> None:
    (folder / "s.toml").write_text(text)
    with pytest.raises(BadInput, match=said):
        read_score(Path("s.toml"))


def test_the_commands_of_the_course_run_as_written(folder: Path, root: Path) -> None:
    text = (root / "docs" / "course.md").read_text(encoding="utf-8").partition("## Grade")[2]
    [formula] = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    [points] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    blocks = [block for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) if block.startswith("ackclock")]
    assert len(blocks) == 3
    (folder / "score.toml").write_text(formula)
    (folder / "points.py").write_text(points)
    (folder / "handins").mkdir()
    for file in ("mine.py", "handins/anna.py", "handins/ben.py"):
        (folder / file).write_text(MINE)
    program = f'set -e; ackclock() {{ "{sys.executable}" -m ackclock "$@"; }}\n'
    for block in blocks:
        done = subprocess.run(["bash", "-c", program + block], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    result = json.loads((folder / "results.json").read_text())
    assert 5 < result["score"] <= 10
    assert [test["name"] for test in result["tests"]] == ["cellular", "bufferbloat"]
