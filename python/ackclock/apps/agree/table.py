"""Tables from documents: ratios on the terminal, and the table of all substrates as Markdown.

    python -m ackclock.apps.agree.table --into docs/agree.md FOLDER...

writes the tables of docs/agree.md from the reports in these folders between the markers with the folders' names;
without `--into` it prints them.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ackclock.apps.agree.document import Document, read, rows_of
from ackclock.apps.agree.figures import label
from ackclock.base.files import BadInput, write_text
from ackclock.base.si import value
from ackclock.base.text import fail, say

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
    """A row as a short text: its ratio or difference with a mark unless it agrees, and the region of agreement."""
    if row is None or (row["value"] is None and row["test"] != "both 0"):
        return "-"
    mark = {"differs": "!", "undecided": "?"}.get(row["verdict"], "")
    if row["test"] == "both 0":
        return "both 0"
    if row["test"] == "difference":
        return f"d {row['value']:+.2g}{mark} in ±{row['high']:.2g}"
    if row["test"] == "distance":
        return f"{row['value']:.2f}{mark}" + (f" <{row['high']:.2g}" if row["verdict"] != "not compared" else "")
    return f"{row['value']:.3f}{mark} in ±{100 * (row['high'] - 1):.2g}%"


def markdown(documents: Sequence[Document]) -> str:
    """A row for each controller and substrate: means, and on all but the reference the ratio to it."""
    lines = ["| controller | on | n | " + " | ".join(words for _, words in COLUMNS) + " |"]
    lines.append("|---|---|--:|" + "--:|" * len(COLUMNS))
    for document in documents:
        for controller in document["controllers"]:
            rows = {comparison["substrate"]: comparison["rows"] for comparison in controller["comparisons"]}
            for name, substrate in controller["substrates"].items():
                if not substrate["runs"]:
                    lines.append(f"| {controller['control']} | {name} | 0 |" + " - |" * len(COLUMNS))
                    continue
                tested = {row["metric"]: row for row in rows.get(name, []) if row["test"] != "none"}
                texts = [_mean(substrate["means"].get(key), tested.get(key)) for key, _ in COLUMNS]
                lines.append(f"| {controller['control']} | {name} | {substrate['runs']} | " + " | ".join(texts) + " |")
    return "\n".join(lines) + "\n"


def _mean(mean: Mapping[str, Any] | None, row: Mapping[str, Any] | None) -> str:
    if mean is None:
        return "-"
    return value(mean["value"]) if row is None else f"{value(mean['value'])} ({cell(row)})"


def section(document: Document) -> str:
    """The table of a report with its command line, what it omits, and the findings, as Markdown."""
    kept = {name for name, _ in COLUMNS}
    rows = rows_of(document)
    names = list(dict.fromkeys(row["metric"] for _, _, row in rows))
    omitted = [label(name) for name in names if name not in kept]
    lines = ["```sh", shlex.join(document["command"]), "```", "", markdown([document])]
    lines.append(f"Engine `{document['engine']}`. {document['summary']['sentence']}")
    if omitted:
        lines[-1] += f" The verdicts on these metrics are counted, and the table omits them: {', '.join(omitted)}."
    differing = [(c, k, row) for c, k, row in rows if row["verdict"] == "differs"]
    if differing:
        lines += ["", "What differs:", ""]
    for controller, comparison, row in differing:
        mark = f"known, `{row['known']}`" if row["known"] else "**finding**"
        mark += f", cause open (`{row['suspected']}`)" if row["suspected"] else ""
        lines.append(
            f"- {controller['control']} on {comparison['substrate']}: {label(row['metric'])} {cell(row)}: {mark}"
        )
    return "\n".join(lines) + "\n"


def replaced(text: str, name: str, new: str) -> str:
    """A page with other text between the markers of a report. Raises BadInput if it does not have them once each."""
    begin, end = (f"<!-- {word} of agree {name} -->\n" for word in ("begin", "end"))
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise BadInput(f"the page needs the lines {begin.strip()} and {end.strip()}, once each")
    return text[: text.index(begin)] + begin + "\n" + new + "\n" + text[text.index(end) :]


def main(arguments: Sequence[str]) -> int:
    """Print the sections of the reports in these folders, or write them into a page; returns the exit status."""
    page = None
    folders = list(arguments)
    try:
        if folders[:1] == ["--into"]:
            page, folders = Path((folders[1:] or [""])[0]), folders[2:]
        if not folders:
            raise BadInput("python -m ackclock.apps.agree.table [--into PAGE] FOLDER...: no folder is named")
        sections = {Path(name).resolve().name: section(read(Path(name))) for name in folders}
        if page is None:
            say("\n".join(sections.values()).rstrip("\n"))
            return 0
        try:
            text = page.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"--into {page}: cannot be read: {error}") from None
        for name, new in sections.items():
            text = replaced(text, name, new)
        write_text(page, text)
    except BadInput as error:
        return fail(str(error), 2)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
