"""Suites and their results from elsewhere are data (docs/security.md, U2 and U3)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ackclock.apps.suite.folder import Suite
from ackclock.base.files import BadInput
from ackclock.cli.app import main
from security import NETWORK, line

SUITE = """
title = "t"
source = "s"
summary = "m"
[[situation]]
id = "A"
title = "a"
tested = "f"
{}
[[situation.check]]
id = "x"
value = {}
least = 0
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def suite_in(folder: Path, value: str, situation: str = "", scenario: str = NETWORK) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "A.toml").write_text(scenario)
    (folder / "suite.toml").write_text(SUITE.format(situation, json.dumps(value)))
    return folder


@line("U2")
@pytest.mark.parametrize(
    "text",
    [
        "open('ran', 'w')",
        "__import__('os').system('touch ran')",
        "(lambda: open('ran', 'w'))()",
        "[open('ran', 'w') for x in (1,)]",
        "cwnd.__class__",
        "f'{open(1)}'",
        "max(cwnd, during(drain)).real",
        "exec('1')",
    ],
)
def test_an_expression_executes_nothing(place: Path, text: str) -> None:
    with pytest.raises(BadInput, match="position"):
        Suite(suite_in(place / "s", text))
    braces = NETWORK + f'[[change]]\nat = {json.dumps("{" + text + "}")}\nset = {{ "link.l.rate" = "1Mbps" }}\n'
    if "{" not in text:
        with pytest.raises(BadInput, match="position"):
            Suite(suite_in(place / "t", "1", scenario=braces))
    with pytest.raises(BadInput, match="position"):
        Suite(suite_in(place / "u", "1", situation=f"pilot = {{ t = {json.dumps(text)} }}"))
    assert not (place / "ran").exists()


@line("U2")
def test_an_expression_that_would_take_long_is_none(place: Path) -> None:
    """Powers of powers are numbers in floating point: they end, and show nothing."""
    suite = suite_in(place / "s", "9.0 ** 9.0 ** 9.0 ** 9.0")
    assert main(["suite", str(suite), "--control", "reno", "--jobs", "1"]) == 0
    whole = suite_in(place / "w", "9 ** 9 ** 9 ** 9")
    assert main(["suite", str(whole), "--control", "reno", "--jobs", "1"]) == 0


@line("U3")
def test_expect_runs_no_code_of_a_result(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite_in(place / "s", "at(cwnd, 0)")
    assert main(["suite", "s", "--control", "reno", "--jobs", "1", "--out", "o"]) == 0
    (place / "evil.py").write_text("open('ran', 'w')\n")
    document = json.loads((place / "o" / "suite.json").read_text())
    python = 'tcp.congestion_control={ python = "evil.py:Evil" }'
    (place / "o" / "suite.json").write_text(json.dumps(document | {"overrides": [python]}))
    assert main(["expect", "o"]) == 2
    assert "names a controller in Python" in capsys.readouterr().err
    for key, value in (("control", "evil.py:Evil"), ("on", "stack:evil.toml")):
        (place / "o" / "suite.json").write_text(json.dumps(document | {key: value}))
        assert main(["expect", "o"]) == 2
        assert "allow it with --allow-code" in capsys.readouterr().err
        assert main(["scoreboard", "o"]) == 0
    assert not (place / "ran").exists()


@line("U3")
def test_a_result_writes_only_into_its_folder(place: Path) -> None:
    """A link in place of the file of finished runs is refused, and what it leads to is not changed."""
    suite_in(place / "s", "at(cwnd, 0)")
    (place / "o" / "studies").mkdir(parents=True)
    (place / "mine.txt").write_text("mine")
    (place / "o" / "studies" / "checks.jsonl").symlink_to(place / "mine.txt")
    assert main(["suite", "s", "--control", "reno", "--jobs", "1", "--out", "o"]) == 2
    assert (place / "mine.txt").read_text() == "mine"
