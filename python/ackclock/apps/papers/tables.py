"""Published tables beside ours: each cell with its interpretation, its interval, and the number in the paper."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ackclock import stats
from ackclock.apps.papers.folder import Paper, Part, Table, Where, call
from ackclock.apps.papers.readings import AS_FILED
from ackclock.apps.papers.results import Cell, Results
from ackclock.base.files import BadInput
from ackclock.metrics import bounds


@dataclass(frozen=True)
class Entry:
    """A cell of a table under one interpretation."""

    table: str
    row: str
    column: str
    unit: str
    reading: str
    published: str
    obtained: stats.Estimate
    study: str = ""
    where: Where = field(default_factory=dict)
    """The point of a cell of a function of measures.py, where there is one."""


CALIBRATED = "calibrated"
WIDEST = 6
"""Maximum number of columns that fit on a screen; with more, each column becomes a separate table."""


def entries(results: Results, table: Table, filed: Results | None) -> list[Entry]:
    """Every cell of a table, in the order of its parts.

    The interpretations are the calibrated one and, for studies that are run under other interpretations, that of the
    studies' files (`filed`; None where it is the calibrated one).
    """
    printed = results.paper.printed(table.id)
    rows = []
    for part in table.part:
        for name, view in ((CALIBRATED, results), (AS_FILED, filed)):
            if view is None or (name == AS_FILED and (part.code or not results.spec(part.study).readings)):
                continue
            for cell in cells_of(view, table, part):
                value, unit = printed.get((cell.row, cell.column), ("", table.unit))
                reading = cell.reading if part.code else reading_of(name, cell.reading)
                place = (cell.study, cell.where)
                rows.append(Entry(table.id, cell.row, cell.column, unit, reading, value, cell.estimate(), *place))
    if not any(entry.published for entry in rows):
        raise BadInput(f"{results.paper.folder}: table {table.id}: no cell has a published number; check the templates")
    return rows


def reading_of(view: str, reading: str) -> str:
    """The name of a cell's interpretation: of the paper (`view`), and of the cell."""
    return ", ".join(filter(None, (view, reading)))


def uncovered(paper: Paper, entries_of_table: list[Entry]) -> list[tuple[str, str, str]]:
    """Published cells that are neither in a table of results nor in the settings: table, row, column."""
    shown = {(e.table, e.row, e.column) for e in entries_of_table} | {
        (s.table, s.row, s.column) for s in paper.settings
    }
    keys = [(r["table"], r["row"], r["column"]) for r in paper.published]
    return [key for key in keys if key not in shown]


def cells_of(results: Results, table: Table, part: Part) -> list[Cell]:
    """The cells of a part of a table, in the order of its runs. Raises BadInput if a template names no axis."""
    if part.code:
        before = len(results.studies_used)
        computed = list(call(results.paper, "measures", part.code, results))
        uses = results.studies_used[before:]
        results.used_by_cells[part.code] = list(dict.fromkeys(use.study for use in uses))
        return computed
    owner, column = results.metric(part.study, part.metric)
    frame = results.select(part.study, part.where, owner)
    cells: dict[tuple[str, str, str], list[float]] = {}
    for row in frame.sort("seed", maintain_order=True).iter_rows(named=True):
        words = words_of(table, row)
        if words is None:
            continue
        try:
            key = label_of(part, words)
        except KeyError as error:
            raise BadInput(f"{results.paper.folder}: table {table.id}: a template names {error}, not an axis") from None
        if row[column] is not None:
            cells.setdefault(key, []).append(row[column] * part.factor)
    least, most = (part.factor * bound for bound in bounds(column))
    return [Cell(row, name, reading, values, least=least, most=most) for (row, name, reading), values in cells.items()]


def words_of(table: Table, row: Mapping[str, Any]) -> dict[str, Any] | None:
    """The words of a point for the templates of a table; None if the table omits it."""
    if not all(row.get(axis) in labels for axis, labels in table.labels.items()):
        return None
    words = dict(row)
    for axis, labels in table.labels.items():
        words |= labels[row[axis]]
    return words


def label_of(part: Part, words: Mapping[str, Any]) -> tuple[str, str, str]:
    """Row, column and interpretation of a point in a table. Raises KeyError if a template names no axis."""
    return part.row.format_map(words), part.column.format_map(words), part.reading.format_map(words)


def as_csv(paper: Paper, entries_of_table: list[Entry]) -> str:
    """The file tables.csv: a line for each cell and interpretation, then one for each setting with what was taken."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["table", "row", "column", "unit", "reading", "published", "obtained", "low", "high", "n"])
    for e in entries_of_table:
        o = e.obtained
        numbers = [number(x) for x in (o.value, o.low, o.high)]
        writer.writerow([e.table, e.row, e.column, e.unit, e.reading, e.published, *numbers, o.n])
    for s in paper.settings:
        value, unit = paper.printed(s.table)[s.row, s.column]
        writer.writerow([s.table, s.row, s.column, unit, "setting", value, s.taken, "", "", ""])
    return text.getvalue()


def number(x: float | None) -> str:
    """Six significant digits, nothing for none."""
    return "" if x is None or x != x else f"{x:.6g}"


def grids(table: Table, entries_of_table: list[Entry]) -> list[dict[str, Any]]:
    """What the page shows of the main interpretations: a grid for each first part of the column names."""
    shown = [e for e in entries_of_table if not table.main or e.reading in table.main]
    columns = len({entry.column for entry in shown})
    narrow = columns <= 2 or (columns > WIDEST and not any(table.split in entry.column for entry in shown))
    groups: dict[str, list[Entry]] = {}
    for entry in shown:
        name = entry.column if narrow else entry.column.rpartition(table.split)[0]
        groups.setdefault(name, []).append(entry)
    if narrow:
        return [_by_reading(name, members) for name, members in groups.items()]
    return [_grid(name, members, table.split) for name, members in groups.items()]


def _by_reading(name: str, members: list[Entry]) -> dict[str, Any]:
    """A table of one column: its interpretations side by side."""
    readings = list(dict.fromkeys(e.reading for e in members))
    cells = {(e.row, e.reading): e for e in members}
    printed = {e.row: e.published for e in members}
    rows = [(row, published, [cells.get((row, reading)) for reading in readings]) for row, published in printed.items()]
    return {"name": name, "unit": members[0].unit, "readings": readings, "rows": rows}


def _grid(name: str, members: list[Entry], split: str) -> dict[str, Any]:
    columns = list(dict.fromkeys(e.column for e in members))
    units = {e.column: e.unit for e in members}
    same = len(set(units.values())) == 1
    cells = {(e.row, e.column, e.reading): e for e in members}
    rows = []
    for row in dict.fromkeys(e.row for e in members):
        readings = dict.fromkeys(e.reading for e in members if e.row == row)
        lines = [(reading, [cells.get((row, column, reading)) for column in columns]) for reading in readings]
        printed = {e.column: e.published for e in members if e.row == row}
        rows.append({"name": row, "published": [printed.get(column, "") for column in columns], "lines": lines})
    heads = [column.rpartition(split)[2] for column in columns]
    if not same:
        heads = [
            f"{head} ({units[column]})" if units[column] else head for head, column in zip(heads, columns, strict=True)
        ]
    return {"name": name, "unit": members[0].unit if same and name else "", "columns": heads, "rows": rows}
