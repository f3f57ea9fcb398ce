"""Text from users is printed in terminals and figures without interpretation of markup or control codes."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.table import Table

from ackclock.base.plain_console import PlainConsole
from ackclock.base.text import drawn, shown
from ackclock.cli import console
from ackclock.cli.app import main


@pytest.mark.parametrize("text", ["[bold]x[/bold]", ":smile: 1:2", "a [b] [/c]"])
def test_markup_is_text(text: str) -> None:
    """In lines, in cells and in titles of tables."""
    out = io.StringIO()
    console = PlainConsole(file=out, width=100)
    table = Table(text, title=text)
    table.add_row(text)
    console.print(text)
    console.print(table)
    assert out.getvalue().count(text) == 4


def test_control_sequences_are_escaped() -> None:
    """A name cannot clear the screen or begin a line."""
    assert shown("a\x1b[2Jb\nc") == "a\\x1b[2Jb\\nc"
    out = io.StringIO()
    PlainConsole(file=out, width=80).print("a\x1b[2Jb")
    assert "\x1b" not in out.getvalue()


def test_dollars_begin_no_formula() -> None:
    assert drawn("cost $1 or $2") == r"cost \$1 or \$2"


TITLED = 'title = "[/] é \\u001b[31m"\nduration = "1s"\n[[link]]\nends = ["a", "b"]\nrate = "1Mbps"\ndelay = "1ms"\n'


@pytest.mark.parametrize("command", ["run", "check", "run --json", "why --at 0.5s"])
def test_an_ascii_terminal_is_enough(tmp_path: Path, command: str) -> None:
    (tmp_path / "s.toml").write_text(TITLED + '[[flow]]\nname = "ä\\u001b"\nfrom = "a"\nto = "b"\n', encoding="utf-8")
    name, *options = command.split()
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    line = [sys.executable, "-m", "ackclock.cli", name, "s.toml", *options]
    done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr
    assert b"\x1b" not in done.stdout
    if options == ["--json"]:
        assert json.loads(done.stdout)["title"] == "[/] é \x1b[31m"


def test_names_in_messages_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.toml").write_text(
        TITLED + '[[flow]]\nname = "x\\u001b[2J"\nfrom = "a"\nto = "q"\n', encoding="utf-8"
    )
    assert main(["check", str(tmp_path / "s.toml")]) == 2
    assert 'flow."x\\U0000001b[2J".to: there is no node "q"' in capsys.readouterr().err


def test_long_work_says_its_progress_in_logs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with console.study_progress(quiet=False) as advance:
        assert advance is not None
        advance(1, 5000)
        monkeypatch.setattr(console, "LINES_EVERY_S", 0.0)
        advance(2000, 5000)
    with console.study_progress(quiet=True) as none:
        assert none is None
    assert capsys.readouterr().err == "ackclock: running: 2,000 of 5,000 runs\n"
