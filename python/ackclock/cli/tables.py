"""Tables of the summaries of runs."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table


def table_of(title: str, left: Sequence[str], right: Sequence[str]) -> Table:
    """A table without lines: text columns, which fold in a narrow terminal, then columns of numbers, which do not."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for head in left:
        table.add_column(head, overflow="fold", vertical="bottom", min_width=len(head))
    for head in right:
        table.add_column(head, justify="right", no_wrap=True)
    return table


def milliseconds(seconds: float | None) -> str:
    """Seconds as milliseconds."""
    return "-" if seconds is None else f"{seconds * 1e3:.1f} ms"


def number(value: float | None, digits: str = ".1f") -> str:
    """A number with a format, or a dash."""
    return "-" if value is None else f"{value:{digits}}"
