"""Text that users write, shown as it stands: no markup, no control sequences, no formulas."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text


def shown(text: str) -> str:
    """Text for a terminal: what is not printable (escape sequences, line ends) as its escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def say(text: str, *, error: bool = False) -> None:
    """Print lines on standard output, or on standard error, as they stand."""
    print("\n".join(shown(line) for line in text.split("\n")), file=sys.stderr if error else sys.stdout)


def fail(message: str, status: int) -> int:
    """Print one line on standard error; returns the exit status."""
    say(f"ackclock: {message}", error=True)
    return status


def advise(advice: Sequence[str]) -> None:
    """Print one line on standard error: the first piece of advice on what was read, and how many more there are."""
    if advice:
        more = len(advice) - 1
        others = f" ({more:,} more place{'' if more == 1 else 's'})" if more else ""
        say(f"ackclock: advice: {advice[0]}{others}", error=True)


def ascii_json(text: str) -> str:
    """The same JSON without characters beyond ASCII: every terminal and every pipe takes it."""
    return re.sub(r"[^\x00-\x7f]", lambda found: json.dumps(found[0])[1:-1], text)


def drawn(text: str) -> str:
    """Text for a figure: what is not printable as its escape, and no dollar begins a formula."""
    return shown(text).replace("$", r"\$")


class PlainConsole(Console):
    """A console that shows every string as it stands: in lines, in cells, heads and titles of tables."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Text without control characters; line ends stay, for they are ours."""
        return super().render_str("\n".join(shown(line) for line in text.split("\n")), **options)
