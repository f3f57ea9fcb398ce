"""The tables of `ackclock results`: a row for each point and flow, and a row for each point and link."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.table import Table

from ackclock.base.si import common_scale, decimals, digits_of
from ackclock.base.text import plus_minus
from ackclock.cli.console import wide_console
from ackclock.metrics.registry import METRICS, UNITS, by_logarithm, key_metric

if TYPE_CHECKING:
    from ackclock.stats import Estimate

Row = dict[str, Any]
MOST_LOST = 5
"""Lost connections that are shown."""
HEADS = {
    "mean rtt": "mean RTT",
    "retransmitted packets": "rtx",
    "mean sojourn": "queueing delay",
    "Jain's fairness index": "Jain",
}
"""Heads of metrics, by their words; others have their name, or the words of the key."""


def study_results(title: str, rows: list[Row]) -> None:
    """Print a study's points: axes, runs, means with 95 % intervals; `rows` come from `study.results.summary`."""
    console = wide_console()
    if not rows:
        console.print(f"{title}: no run has finished yet")
        return
    bare = any(row["deterministic"] for row in rows)
    names = list(rows[0]["means"])
    logarithms = "; geometric mean of percentiles of times and slowdowns" if any(map(by_logarithm, names)) else ""
    medians = "; median: interval between two of the runs by rank" if "medians" in rows[0] else ""
    console.print(
        f"{title}: mean {plus_minus()} half-width of the 95 % interval over the seeds; "
        f"[low, high] where the interval is not symmetric{logarithms}{medians}",
        soft_wrap=True,
    )
    flows = [name for name in names if _is_flow(name)]
    links = [name for name in names if "->" in name]
    whole = [name for name in names if name not in {*flows, *links}]
    for label, entries, other in (("flow", flows, []), ("link", links, whole)):
        if entries or other:
            grid = _grid(rows, label, entries, other, list(rows[0]["axes"]))
            if sum(grid.widths()) > console.width:  # axes with one label are left out
                grid = _grid(rows, label, entries, other, _varying(rows))
            console.print(grid.table(console.width))
    lost = [", ".join([*map(" = ".join, row["axes"].items()), line]) for row in rows for line in row["lost"]]
    for line in lost[:MOST_LOST]:
        console.print(f"! {line}", soft_wrap=True)
    if len(lost) > MOST_LOST:
        console.print(f"! and {len(lost) - MOST_LOST:,} more lost connections; --runs shows them")
    if bare:
        console.print("* deterministic: all seeds gave the same outcome, so n = 1 and there is no interval.")


def _is_flow(name: str) -> bool:
    entity = name.rpartition(".")[0]
    return bool(entity) and "->" not in entity and not entity.startswith("radio")


def _varying(rows: list[Row]) -> list[str]:
    """The axes with more than one label; the first axis if none has."""
    axes = list(rows[0]["axes"])
    return [axis for axis in axes if len({row["axes"][axis] for row in rows}) > 1] or axes[:1]


@dataclass
class Column:
    """A column: words of the head, cells, and whether the cells are text, which can be folded anywhere."""

    head: list[str]
    text: bool
    cells: list[str]
    limit: int = 0
    """Width of a text column; 0 for no limit."""
    split: int = 0
    """0: a cell is one line; 1: the interval is on a line of its own; 2: a line for each word."""

    def width(self) -> int:
        """Width with the limit and the split. No word of the head is broken."""
        head = max(map(len, self.head), default=0)
        if self.text:
            cells = max(map(len, self.cells), default=0)
            return max(head, min(cells, self.limit) if self.limit else cells)
        pattern = (r"$^", r" (?=[\[+\u00b1])", r" ")[self.split]
        return max([head, *(len(part) for cell in self.cells for part in re.split(pattern, cell))])


@dataclass
class Grid:
    """The columns of a table, which are narrowed until they fit."""

    columns: list[Column]

    def widths(self) -> list[int]:
        """Widths of the columns with the space between them."""
        return [column.width() + 2 for column in self.columns]

    def table(self, width: int) -> Table:
        """A table of at most this width, if possible: folds long texts, then puts intervals on lines of their own."""
        for limit, split in ((24, 0), (16, 0), (16, 1), (12, 1), (8, 1), (8, 2)):
            if sum(self.widths()) - 2 <= width:
                break
            for column in sorted(self.columns, key=Column.width, reverse=True):
                if sum(self.widths()) - 2 > width:
                    column.limit, column.split = limit, split
        table = Table(box=None, pad_edge=False)
        for column in self.columns:
            head = "\n".join(_lines(column.head, column.width()))
            table.add_column(head, justify="left" if column.text else "right", width=column.width(), overflow="fold")
        for cells in zip(*(column.cells for column in self.columns), strict=True):
            table.add_row(*cells)
        return table


def _grid(rows: list[Row], label: str, names: list[str], whole: list[str], axes: list[str]) -> Grid:
    """A row for each point and flow (or link) of `names`; the first of a point has the metrics of the `whole` run."""
    entities = list(dict.fromkeys(name.rpartition(".")[0] for name in names)) or [""]
    columns = dict.fromkeys(name.rpartition(".")[2] for name in names)
    blank = [""] * (len(entities) - 1)
    table_columns = []
    for axis in axes:
        words = [part for part in axis.split(".") if part not in {"link", "flow", "tcp", "quic"}]
        labels = [cell for row in rows for cell in (row["axes"][axis], *blank)]
        table_columns.append(Column(" ".join(words).replace("_", " ").split() or [axis], True, labels))
    runs = [cell for row in rows for cell in (f"{row['runs']}{'*' if row['deterministic'] else ''}", *blank)]
    table_columns.append(Column(["runs"], False, runs))
    if names:
        table_columns.append(Column([label], True, entities * len(rows)))
    for column in columns:
        table_columns += _metric_columns(column, rows, [f"{entity}.{column}" for entity in entities])
    for name in whole:
        for one in _metric_columns(name, rows, [name]):
            one.cells = [cell for value in one.cells for cell in (value, *blank)]
            table_columns.append(one)
    return Grid(table_columns)


def _metric_columns(name: str, rows: list[Row], keys: Sequence[str]) -> list[Column]:
    """The columns of a metric: its mean, and its median if the rows have it."""
    columns = [_metric_column(name, rows, keys, "means")]
    if "medians" in rows[0]:
        median = _metric_column(name, rows, keys, "medians")
        median.head = ["median", *median.head]
        columns.append(median)
    return columns


def _metric_column(name: str, rows: list[Row], keys: Sequence[str], of: str) -> Column:
    """The column of a metric, with its unit: for each point the values of `keys`, empty where there is none."""
    entity, _, column = name.rpartition(".")
    estimates = [row[of].get(key) for row in rows for key in keys]
    metric = METRICS[name] if name in METRICS else key_metric(column, "run")
    scaled = metric.unit in UNITS.values()  # counts take no SI prefix
    factor, prefix = common_scale(e.value for e in estimates if e is not None and e.n > 0) if scaled else (1.0, "")
    unit = f"{prefix}{metric.unit}"
    if metric.shown == "%":
        factor, unit = 0.01, "%"
    words = HEADS.get(metric.words, name.replace("_", " ") if name in METRICS else metric.words)
    head = [*([entity] if entity else []), *words.split()]
    counts = [1 if row["deterministic"] else row["runs"] for row in rows for _ in keys]
    cells = ["" if e is None else interval(e, n, factor) for e, n in zip(estimates, counts, strict=True)]
    return Column([*head, *([f"({unit})"] if unit else [])], False, cells)


def _lines(words: Sequence[str], width: int) -> list[str]:
    """A head on lines of at most this width, broken between words."""
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + len(word) < width and not word.startswith("("):
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def interval(e: Estimate, runs: int, factor: float) -> str:
    """Mean and interval in units of `factor`, with n if some of the runs lack the metric.

    The half-width has one or two significant digits, the mean as many decimals, but at most five digits. An interval
    that is not symmetric (at a bound of the metric, or of logarithms) is written with its ends.
    """
    if e.n == 0:
        return "-"
    few = f" (n = {e.n})" if e.n < runs else ""
    if e.low is None or e.high is None or e.high <= e.low:
        return f"{digits_of(e.value / factor, 4)}{few}"
    value, low, high = (x / factor for x in (e.value, e.low, e.high))
    half = max(value - low, high - value)
    places = decimals(half)
    mean = min(places, max(0, 4 - math.floor(math.log10(abs(value))))) if value else places
    if math.isclose(value - low, high - value, rel_tol=1e-6):
        return f"{value:.{mean}f} {plus_minus()} {half:.{places}f}{few}"
    places = min(places, mean)
    shown, *ends = (f"{x:.{places}f}" for x in (value, low, high))
    return f"{shown}{'' if ends[0] == ends[1] else f' [{ends[0]}, {ends[1]}]'}{few}"
