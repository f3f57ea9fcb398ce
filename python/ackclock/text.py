"""Text that users write, shown as it stands: no markup, no control sequences, no formulas."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text


def shown(text: str) -> str:
    """Text for a terminal: what is not printable (escape sequences, line ends) as its escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


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
