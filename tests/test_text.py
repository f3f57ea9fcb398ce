"""Text that users write reaches terminals and figures as it stands."""

from __future__ import annotations

import io

import pytest
from rich.table import Table

from ackclock.text import PlainConsole, drawn, shown


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
