"""`python -m ackclock.policy.table PAGE` writes the features, actions and measured values of policies into a page."""

from __future__ import annotations

import sys
from pathlib import Path

from ackclock.files import write_text
from ackclock.policy.conventions import ACTIONS, FEATURES, MEASURED

BEGIN, END = "<!-- begin of features -->\n", "<!-- end of features -->\n"


def table() -> str:
    """The tables as Markdown."""
    lines = ["| feature | unit | meaning |", "|---|---|---|"]
    lines += [f"| `{name}` | {unit} | {text} |" for name, unit, _, _, text in FEATURES]
    lines += ["", "| action | effect |", "|---|---|"]
    lines += [f"| `{name}` | {text} |" for name, text in ACTIONS]
    values = [f"`{name}`" + (f" ({unit})" if unit else "") for name, unit in MEASURED]
    lines += ["", f"Measured values of an interval: {', '.join(values)}.", ""]
    return "\n".join(lines)


def with_table(page: str) -> str:
    """A page with the tables between its marks."""
    head, rest = page.split(BEGIN)
    return head + BEGIN + "\n" + table() + "\n" + END + rest.split(END)[1]


if __name__ == "__main__":
    file = Path(sys.argv[1])
    write_text(file, with_table(file.read_text()))
