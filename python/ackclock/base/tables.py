"""Tables of results for a paper, a page or a spreadsheet: LaTeX, Markdown and CSV from the same columns."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ackclock.base import si
from ackclock.base.files import BadInput, check_targets, write_text
from ackclock.base.table_files import cell
from ackclock.stats import Estimate

SUFFIXES = (".tex", ".md", ".csv")
"""Endings of the files of tables."""
MOST_DIGITS = 5
"""Significant digits of a value."""
LATEX = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "×": r"$\times$",
    "µ": r"\textmu{}",
    "±": r"$\pm$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "→": r"$\to$",
    "–": "--",
}


@dataclass(frozen=True)
class Column:
    """A column of texts, or of values with their 95 % intervals; None is a value that is missing."""

    head: str
    cells: Sequence[str | Estimate | None]
    unit: str = ""
    """The SI unit of the values; a table shows them with a prefix."""

    @property
    def measured(self) -> bool:
        """Whether the cells are values, so that an interval stands beside each."""
        return any(isinstance(entry, Estimate) for entry in self.cells)

    @property
    def factor(self) -> tuple[float, str]:
        """The factor of the values in a printed table, and their unit there."""
        return si.prefixed(self.unit, [e.value for e in self.cells if isinstance(e, Estimate) and e.n > 0])

    def printed(self) -> list[tuple[str, str]]:
        """Value and interval of each row as text, in the unit of `factor`."""
        factor, _ = self.factor
        return [value_and_interval(entry, factor) if isinstance(entry, Estimate) else ("-", "") for entry in self.cells]


def value_and_interval(e: Estimate, factor: float = 1.0) -> tuple[str, str]:
    """A value with as many decimals as its interval decides, and the interval; of a single run no interval."""
    if e.n == 0 or math.isnan(e.value):
        return "-", ""
    if e.low is None or e.high is None or e.high <= e.low:
        return si.digits_of(e.value * factor, 4), ""
    half = max(e.value - e.low, e.high - e.value) * factor
    size = math.floor(math.log10(abs(e.value * factor))) if e.value else 0
    places = min(si.decimals(half), max(0, MOST_DIGITS - 1 - size))
    return f"{e.value * factor:.{places}f}", f"[{e.low * factor:.{places}f}, {e.high * factor:.{places}f}]"


def latex(columns: Sequence[Column]) -> str:
    """A `tabular` for the package booktabs: texts, then value and interval in columns of their own."""
    form = "".join("rl" if column.measured else "l" for column in columns)
    heads: list[str] = []
    units: list[str] = []
    for column in columns:
        width = 2 if column.measured else 1
        unit = column.factor[1] if column.measured else ""
        for parts, text in ((heads, column.head), (units, f"({unit})" if unit else "")):
            shown = _latex_text(text)
            parts.append(f"\\multicolumn{{2}}{{l}}{{{shown}}}" if width == 2 else shown)
    lines = ["% \\usepackage{booktabs}; brackets: 95 % intervals", f"\\begin{{tabular}}{{{form}}}", "\\toprule"]
    lines.append(" & ".join(heads) + r" \\")
    if any(column.measured and column.factor[1] for column in columns):
        lines.append(" & ".join(units) + r" \\")
    lines.append("\\midrule")
    lines += [_latex_row(row) for row in _rows(columns)]
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", ""])


def _latex_row(row: Sequence[str]) -> str:
    """A row. A bracket or star at its begin would be an argument of the end of the row before it: {} separates them."""
    text = " & ".join(map(_latex_text, row)) + r" \\"
    return f"{{}}{text}" if text.startswith(("[", "*")) else text


def _latex_text(text: str) -> str:
    return "".join(LATEX.get(c, c) for c in text)


def markdown(columns: Sequence[Column]) -> str:
    """A table of Markdown: value and interval in columns of their own."""
    heads = []
    for column in columns:
        unit = column.factor[1] if column.measured else ""
        heads += [f"{column.head} ({unit})" if unit else column.head, *(["95 %"] if column.measured else [])]
    marks = [mark for column in columns for mark in (["--:", ":--"] if column.measured else [":--"])]
    lines = [heads, marks, *_rows(columns)]
    return "".join(f"| {' | '.join(text.replace('|', chr(92) + '|') for text in line)} |\n" for line in lines)


def comma_separated(columns: Sequence[Column]) -> str:
    """CSV in SI units with all digits: each value with the ends of its interval and the number of runs."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    heads: list[str] = []
    for column in columns:
        head = f"{column.head} ({column.unit})" if column.unit else column.head
        heads += [head, f"{column.head} low", f"{column.head} high", f"{column.head} n"] if column.measured else [head]
    writer.writerow(map(cell, heads))
    for row in range(len(columns[0].cells)):
        entries: list[object] = []
        for column in columns:
            entry = column.cells[row]
            if isinstance(entry, Estimate):
                entries += [entry.value if entry.n else "", *("" if x is None else x for x in (entry.low, entry.high))]
                entries.append(entry.n)
            elif column.measured:
                entries += ["", "", "", ""]
            else:
                entries.append(cell(entry or ""))
        writer.writerow(entries)
    return text.getvalue()


def _rows(columns: Sequence[Column]) -> list[list[str]]:
    printed = [column.printed() if column.measured else column.cells for column in columns]
    rows: list[list[str]] = []
    for entries in zip(*printed, strict=True):
        row: list[str] = []
        for entry in entries:
            row += entry if isinstance(entry, tuple) else [str(entry or "")]
        rows.append(row)
    return rows


FORMS = {".tex": latex, ".md": markdown, ".csv": comma_separated}


def check_export(path: Path, option: str) -> None:
    """Raise BadInput if a table cannot be written to a file: its ending is another, or its folder is missing."""
    if path.suffix not in SUFFIXES:
        raise BadInput(f"{option} {path}: the name must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}")
    check_targets([path])


def write(columns: Sequence[Column], path: Path) -> None:
    """Write a table in the form of the ending of the name. Raises BadInput for another ending, OSError."""
    check_export(path, "table")
    write_text(path, FORMS[path.suffix](columns))
