"""Tables from documents: ratios on the terminal, and the table of all substrates as Markdown.

    python -m ackclock.agree.table FOLDER...

prints the table of docs/agree.md from the reports in these folders.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ackclock.agree.document import Document, read
from ackclock.files import BadInput
from ackclock.html import value
from ackclock.text import fail, say

Cells = tuple[dict[str, Any], dict[str, Any], dict[str, dict[str, Any]]]
COLUMNS = (
    ("goodput", "goodput, Mb/s"),
    ("utilisation", "utilisation, %"),
    ("cwnd", "mean window"),
    ("queueing", "queueing, ms"),
    ("cuts", "cuts per minute"),
    ("loss", "loss, %"),
    ("retransmissions", "retransmitted, %"),
)


def cells(document: Document) -> list[Cells]:
    """Each controller with each comparison, and its rows by metric."""
    return [
        (controller, comparison, {row["metric"]: row for row in comparison["rows"]})
        for controller in document["controllers"]
        for comparison in controller["comparisons"]
        if comparison["rows"]
    ]


def cell(row: Mapping[str, Any] | None) -> str:
    """A row as a short text: its ratio or difference, with a mark unless it agrees."""
    if row is None or (row["value"] is None and row["test"] != "both 0"):
        return "-"
    mark = {"differs": "!", "undecided": "?"}.get(row["verdict"], "")
    if row["test"] == "both 0":
        return "both 0"
    if row["test"] == "difference":
        return f"d {row['value']:+.2g}{mark}"
    return f"{row['value']:.3f}{mark}"


def markdown(documents: Sequence[Document]) -> str:
    """A row for each controller and substrate: means, and on all but the reference the ratio to it."""
    lines = ["| controller | on | n | " + " | ".join(words for _, words in COLUMNS) + " |"]
    lines.append("|---|---|--:|" + "--:|" * len(COLUMNS))
    for document in documents:
        for controller in document["controllers"]:
            rows = {comparison["substrate"]: comparison["rows"] for comparison in controller["comparisons"]}
            for name, own in controller["substrates"].items():
                if not own["runs"]:
                    lines.append(f"| {controller['control']} | {name} | 0 |" + " - |" * len(COLUMNS))
                    continue
                ratios = {row["metric"]: row for row in rows.get(name, []) if row["test"] == "ratio"}
                texts = [_mean(own["means"].get(key), ratios.get(key)) for key, _ in COLUMNS]
                lines.append(f"| {controller['control']} | {name} | {own['runs']} | " + " | ".join(texts) + " |")
    return "\n".join(lines) + "\n"


def _mean(found: Mapping[str, Any] | None, row: Mapping[str, Any] | None) -> str:
    if found is None:
        return "-"
    return value(found["value"]) if row is None else f"{value(found['value'])} ({cell(row)})"


def main(arguments: Sequence[str]) -> int:
    """Print the table of the reports in these folders; returns the exit status."""
    try:
        if not arguments:
            raise BadInput("python -m ackclock.agree.table FOLDER...: no folder is named")
        say(markdown([read(Path(name)) for name in arguments]).rstrip("\n"))
    except BadInput as error:
        return fail(str(error), 2)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
