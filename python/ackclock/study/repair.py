"""Recovers rows from a damaged SQLite file."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE = 4096
PAGE_COUNT = slice(28, 32)
"""Bytes of the first page that hold the number of pages (SQLite's file format, 1.3)."""


def is_whole(index: sqlite3.Connection, tables: str) -> bool:
    """Whether the file has the tables of `tables` and passes SQLite's integrity check."""
    try:
        if index.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
            return False
        return _columns(index) == _columns(_made(":memory:", tables))
    except sqlite3.DatabaseError:
        return False


def is_foreign(index: sqlite3.Connection, tables: str) -> bool:
    """Whether the file is a sound database with tables, none of them of `tables`. Nothing of it is changed."""
    try:
        if index.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
            return False
        columns, ours = _columns(index), _columns(_made(":memory:", tables))
    except sqlite3.DatabaseError:
        return False  # no database, or a damaged one, which is put aside as it is
    return bool(columns) and not any(columns[name] == ours.get(name) for name in columns)


def readable(file: Path, tables: str, query: str) -> Iterator[tuple[Any, ...]]:
    """Rows that `query` finds in a copy of a damaged file, some of them more than once.

    The first page records where the tables begin. It is the same in every file in which these tables were created
    first, so a new first page replaces the damaged one.
    """
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".repair.") as scratch:
        copy = Path(scratch) / file.name
        for ending in ("", "-wal"):
            source = file.with_name(f"{file.name}{ending}")
            if source.exists():
                copy.with_name(source.name).write_bytes(source.read_bytes())
        yield from _scan(copy, query)
        fresh = Path(scratch) / "fresh"
        _made(str(fresh), tables).close()
        page = bytearray(fresh.read_bytes()[:PAGE])
        content = bytearray(copy.read_bytes())
        page[PAGE_COUNT] = (len(content) // PAGE).to_bytes(4, "big")
        content[:PAGE] = page
        copy.write_bytes(content)
        yield from _scan(copy, query)


def _scan(file: Path, query: str) -> Iterator[tuple[Any, ...]]:
    """Rows from both ends of the table and of its index, as far as each goes."""
    try:
        index = sqlite3.connect(file, isolation_level=None)
        index.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    except sqlite3.DatabaseError:
        return
    try:
        for order in ("rowid", "rowid DESC", "run_id", "run_id DESC"):
            try:
                yield from index.execute(f"{query} ORDER BY {order}")
            except (sqlite3.DatabaseError, ValueError):
                continue
    finally:
        index.close()


def _made(name: str, tables: str) -> sqlite3.Connection:
    index = sqlite3.connect(name, isolation_level=None)
    index.execute("PRAGMA journal_mode = WAL")
    index.executescript(tables)
    return index


def _columns(index: sqlite3.Connection) -> dict[str, list[str]]:
    names = [row[0] for row in index.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    return {name: [column[1] for column in index.execute(f"PRAGMA table_info({name})")] for name in names}
