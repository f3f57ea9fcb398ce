"""A console that prints tables, with the text of users in them."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from ackclock.base.text import shown


class PlainConsole(Console):
    """A console that prints strings without interpreting markup: in lines and in cells, heads and titles of tables."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """The text without control characters. Line ends stay, because the program itself writes them."""
        return super().render_str("\n".join(shown(line) for line in text.split("\n")), **options)
