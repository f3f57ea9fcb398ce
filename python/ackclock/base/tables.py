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
MOST_DIGITS = 6
"""Significant digits of a value."""
LINE_PT = 345.0
"""The width of a page of the class article, points."""
SIZES = {"": 1.0, "small": 0.92, "footnotesize": 0.83}
"""Sizes of letters of a table whose columns do not fit a page, with the part of its width that they need."""
LETTER_PT, SPACE_PT = 4.9, 12.0
"""Mean width of a letter at 10 points, and the space beside a column."""
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
    key: bool = False
    """Whether the cells name the rows; a part of a wide table has them again."""

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
    """A value and its interval, whose half-width has two digits; of a single run no interval."""
    if e.n == 0 or math.isnan(e.value):
        return "-", ""
    if e.low is None or e.high is None or e.high <= e.low:
        return si.digits_of(e.value * factor, 4), ""
    low, value, high = (x * factor for x in (e.low, e.value, e.high))
    half = max(value - low, high - value)
    size = math.floor(math.log10(max(abs(low), abs(high))))
    places = max(0, min(1 - math.floor(math.log10(half)), MOST_DIGITS - 1 - size))
    ends = [f"{x:.{places}f}" for x in (low, high)]
    interval = f"[{ends[0]}, {ends[1]}]" if ends[0] != ends[1] else f"[±{half:.1g}]"
    return f"{value:.{places}f}", interval


def latex(columns: Sequence[Column]) -> str:
    """A `tabular` for the package booktabs: texts, then value and interval in columns of their own.

    A table that is wider than a page has several parts, one below the other, each with the columns that name the rows.
    """
    head = "% \\usepackage{booktabs}; brackets: 95 % intervals\n"
    parts = _parts(columns)
    text = "\n\\medskip\n".join(map(_tabular, parts))
    widest = max(sum(map(_width, part)) for part in parts)
    size = next((size for size, scale in SIZES.items() if widest * scale <= LINE_PT), "scriptsize")
    return head + (f"\\begingroup\\{size}\n{text}\\endgroup\n" if size else text)


def _parts(columns: Sequence[Column]) -> list[list[Column]]:
    """The columns in parts that fit a line, each with those that name the rows."""
    keys = [column for column in columns if column.key]
    parts: list[list[Column]] = [[]]
    for column in (column for column in columns if not column.key):
        if parts[-1] and sum(map(_width, [*keys, *parts[-1], column])) > LINE_PT:
            parts.append([])
        parts[-1].append(column)
    return [[*keys, *part] for part in parts]


def _width(column: Column) -> float:
    """The width of a column with its space, points."""
    cells = [" ".join(cells) for cells in column.printed()] if column.measured else map(str, column.cells)
    letters = max([len(column.head), *map(len, cells)])
    return LETTER_PT * letters + SPACE_PT * (2 if column.measured else 1)


def _tabular(columns: Sequence[Column]) -> str:
    form = "".join("rl" if column.measured else "l" for column in columns)
    heads: list[str] = []
    units: list[str] = []
    for column in columns:
        unit = column.factor[1] if column.measured else ""
        for parts, text in ((heads, column.head), (units, f"({unit})" if unit else "")):
            shown = _latex_text(text)
            parts.append(f"\\multicolumn{{2}}{{l}}{{{shown}}}" if column.measured else shown)
    lines = [f"\\begin{{tabular}}{{{form}}}", "\\toprule", " & ".join(heads) + r" \\"]
    if any(column.measured and column.factor[1] for column in columns):
        lines.append(" & ".join(units) + r" \\")
    lines += ["\\midrule", *(_latex_row(row) for row in _rows(columns))]
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
    return "".join(f"| {' | '.join(map(_markdown_text, line))} |\n" for line in lines)


def _markdown_text(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")


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
