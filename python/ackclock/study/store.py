"""The store of a study's runs: one SQLite file with a checksum for every row.

A finished run is written at once, with its outcome compressed. A reader ignores rows with a wrong checksum: such a
run counts as missing, and the next sweep runs only the missing runs.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ackclock.base import operating_system
from ackclock.base.files import BadInput, check_folder, check_regular, open_regular
from ackclock.base.link import pack
from ackclock.study import repair
from ackclock.study.schema import inflated, read_outcomes

if TYPE_CHECKING:
    import polars as pl

    from ackclock.study.plan import Run, StudyPlan

LAYOUT = 2
"""Version of tables and columns."""
FILE = "runs.sqlite"
MOST_NAMED = 8
"""Folders that a message names."""
TABLES = """
CREATE TABLE IF NOT EXISTS about (key TEXT PRIMARY KEY, value TEXT NOT NULL, checksum BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS plan (
    position INTEGER PRIMARY KEY, run_id TEXT NOT NULL, seed INTEGER NOT NULL, axes TEXT NOT NULL,
    checksum BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS run (
    run_id TEXT PRIMARY KEY, finished_at TEXT NOT NULL, outcome BLOB, error TEXT, checksum BLOB NOT NULL);
"""
RUN = "run_id, finished_at, outcome, error, checksum"
ABOUT = "INSERT OR REPLACE INTO about VALUES (?, ?, ?)"
DELETE_RUN = "DELETE FROM run WHERE run_id = ?"
REMEDY = "repeat the `ackclock sweep` command to repair it"
SHOWN = 3
"""Maximum number of runs that a note lists."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that ended: its outcome as JSON, or why there is none."""

    run_id: str
    outcome: str | None
    error: str | None = None


def now() -> str:
    """The current time in UTC, as ISO 8601 with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def checksum(fields: Iterable[object]) -> bytes:
    """BLAKE2b of the fields of a row, each with its length."""
    digest = hashlib.blake2b(digest_size=16)
    for field in fields:
        data = field if isinstance(field, bytes) else str(field).encode(errors="surrogateescape")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.digest()


def _with_checksum(row: tuple[object, ...]) -> tuple[object, ...]:
    return (*row, checksum(row))


def is_sound(row: Sequence[object]) -> bool:
    """Whether the checksum of a row, its last field, is correct."""
    return row[-1] == checksum(row[:-1])


def is_text(value: object) -> bool:
    """Whether a value is a text that UTF-8 can encode."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_planned(run_id: object, seed: object, axes: object) -> bool:
    return is_text(run_id) and isinstance(seed, int) and 0 <= seed < 2**63 and is_text(axes)


def _are_labels(axes: str) -> bool:
    """Whether a JSON text is an object of texts, the labels of a point."""
    try:
        labels = json.loads(axes)
    except (ValueError, RecursionError):
        return False
    return isinstance(labels, dict) and all(map(is_text, [*labels, *labels.values()]))


def _check_files(folder: Path) -> None:
    """Raise BadInput if one of the files of a store is a link or another thing that is no regular file."""
    for ending in ("", "-wal", "-shm", "-journal"):
        check_regular(folder / f"{FILE}{ending}")


class Store:
    """The runs of a study in a folder. One process at a time may write; any process may read at any time."""

    def __init__(self, folder: Path, *, writes: bool) -> None:
        self.folder = folder
        self._file = folder / FILE
        self._lock: int | None = None
        self._index = self._connect(writes=writes)
        self._is_ours = False
        self.notes: list[str] = []
        """Messages about missing or damaged runs and the action taken or needed."""
        self.damaged: list[str] = []
        """Identities of the runs whose rows were read and have a wrong checksum."""

    def _connect(self, *, writes: bool) -> sqlite3.Connection:
        index = sqlite3.connect(self._file, isolation_level=None, timeout=30) if writes else self._connect_for_reading()
        index.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
        index.execute("PRAGMA trusted_schema = OFF")  # the file may come from elsewhere
        return index

    def _connect_for_reading(self) -> sqlite3.Connection:
        """Open the file read-only, which sees what other processes write from now on.

        A file whose last sweep was killed can need a write-ahead log to be read. If the folder does not permit one, and
        there is none, the file is opened as immutable: no process writes then.
        """
        name = quote(os.fsencode(self._file.resolve()))

        def connect(mode: str) -> sqlite3.Connection:
            return sqlite3.connect(f"file:{name}?{mode}", uri=True, isolation_level=None, timeout=30)

        index = connect("mode=ro")
        try:
            index.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
        except sqlite3.DatabaseError as error:  # any other error is reported where the store is read
            log = self._file.with_name(f"{FILE}-wal")
            if error.sqlite_errorname.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN")) and not log.exists():
                index.close()
                return connect("mode=ro&immutable=1")
        return index

    @classmethod
    def create(cls, folder: Path) -> Store:
        """Open for writing; the folder is created if it does not exist. Damaged runs are deleted, to be run again.

        Raises BadInput if the folder holds other files, if another process writes, or if the disk is full.
        """
        if check_folder(folder).is_dir() and not (folder / FILE).exists():
            others = [p for p in folder.iterdir() if p.name != ".lock"]
            if others:
                raise BadInput(f"{folder}: holds {others[0].name} and no study; give an empty or a new folder")
        folder.mkdir(parents=True, exist_ok=True)
        _check_files(folder)
        lock = open_regular(folder / ".lock")  # held as long as the store is open
        if not operating_system.lock(lock):
            os.close(lock)
            raise BadInput(f"{folder}: another process is running a sweep in this folder")
        store = cls(folder, writes=True)
        store._lock = lock
        try:
            store._prepare()
        except BaseException:
            store.close()
            raise
        return store

    @classmethod
    def open(cls, folder: Path) -> Store:
        """Open for reading. Raises BadInput if there is no study."""
        if not (folder / FILE).is_file():
            inner = sorted(path.parent.name for path in folder.glob(f"*/{FILE}"))[:MOST_NAMED]
            remedy = (
                f"there are studies in its folders {', '.join(inner)}" if inner else "create one with ackclock sweep"
            )
            raise BadInput(f"{folder}: there is no study here (no {FILE}); {remedy}")
        _check_files(folder)
        store = cls(folder, writes=False)
        try:
            store._check_layout()
            if store.about("layout") is None:
                raise BadInput(f"{store._file}: is damaged; {REMEDY}")
        except BaseException:
            store.close()
            raise
        return store

    def _check_layout(self) -> None:
        """Raise BadInput for a store of an earlier version, which has other columns and other run identities.

        Also for one whose tables are not tables but views, which compute what they give.
        """
        try:
            columns = [column[1] for column in self._index.execute("PRAGMA table_info(about)")]
            kinds = self._index.execute("SELECT type, sql FROM sqlite_master WHERE name IN ('about', 'plan', 'run')")
            plain = all(kind == "table" and str(sql).startswith("CREATE TABLE ") for kind, sql in kinds)
        except (sqlite3.DatabaseError, ValueError):
            return  # a damaged file is reported elsewhere
        if not plain:
            raise BadInput(f"{self._file}: is no store of ackclock sweep")
        if columns == ["key", "value"]:
            raise BadInput(f"{self.folder}: was made by an earlier version; give another folder")

    def _prepare(self) -> None:
        self._check_layout()
        if repair.is_foreign(self._index, TABLES):
            raise BadInput(f"{self._file}: is a database of another program; give another folder")
        self._is_ours = True
        try:
            self._begin()
            whole = repair.is_whole(self._index, TABLES)
        except sqlite3.DatabaseError as error:
            if "FULL" in error.sqlite_errorname or "READONLY" in error.sqlite_errorname:
                raise self._refusal(error) from None
            whole = False
        if not whole:
            self._rebuild()
        self._write((ABOUT, [_with_checksum(("layout", str(LAYOUT)))]))
        damaged = [row[0] for row in self._index.execute(f"SELECT {RUN} FROM run") if not is_sound(row)]
        if damaged:
            self.remove(damaged)
            self.notes.append(f"{self.folder}: {_named(damaged)} damaged and will be run again")

    def _begin(self) -> None:
        self._index.execute("PRAGMA journal_mode = WAL")
        self._index.execute("PRAGMA synchronous = NORMAL")
        self._index.executescript(TABLES)

    def _rebuild(self) -> None:
        """Copy the undamaged runs of a damaged file to a new file, and rename the damaged file."""
        self._index.close()
        rows = {row[0]: row for row in repair.readable(self._file, TABLES, f"SELECT {RUN} FROM run") if is_sound(row)}
        for ending in ("", "-wal", "-shm"):
            broken = self._file.with_name(f"{FILE}{ending}")
            if broken.exists():
                broken.replace(broken.with_name(f"{broken.name}.damaged"))
        self._index = self._connect(writes=True)
        self._begin()
        self._write(("INSERT INTO run VALUES (?, ?, ?, ?, ?)", rows.values()))
        self.notes.append(f"{self._file}: was damaged; {len(rows)} runs are kept; the old file is now {FILE}.damaged")

    def close(self) -> None:
        """Close the store and release its lock."""
        if self._lock is not None and self._is_ours:
            with suppress(sqlite3.Error):  # a process is reading: the write-ahead log remains, which is harmless
                self._index.execute("PRAGMA journal_mode = DELETE")
        self._index.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # SQL access, with readable error messages.

    def _refusal(self, error: sqlite3.Error) -> BadInput:
        if error.sqlite_errorname == "SQLITE_FULL":
            return BadInput(
                f"{self.folder}: the disk is full; finished runs are kept: make room, then repeat the command"
            )
        return BadInput(f"{self._file}: {error}; {REMEDY}")

    @contextmanager
    def _translate_sqlite_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise self._refusal(error) from None

    @contextmanager
    def _translate_values(self) -> Iterator[None]:
        try:
            yield
        except ValueError as error:
            raise BadInput(f"{self._file}: an outcome cannot be read: {error}; {REMEDY}") from None

    def _write(self, *statements: tuple[str, Iterable[Sequence[object]]]) -> None:
        """Execute statements, each for each of its rows, in one transaction."""
        with self._translate_sqlite_errors():
            self._index.execute("BEGIN IMMEDIATE")
            try:
                for statement, rows in statements:
                    self._index.executemany(statement, rows)
                self._index.execute("COMMIT")
            except BaseException:
                if self._index.in_transaction:
                    self._index.execute("ROLLBACK")
                raise

    def about(self, key: str) -> str | None:
        """A property: `layout`, `title`, `scenario`, `file`, `set`, `link`, `engine`, `planned`. Raises BadInput."""
        with self._translate_sqlite_errors():
            row = self._index.execute("SELECT key, value, checksum FROM about WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        if not is_sound(row) or not is_text(row[1]):
            raise BadInput(f"{self._file}: is damaged (its {key}); {REMEDY}")
        return str(row[1])

    # Planned and finished runs.

    def check_study(self, study: StudyPlan) -> None:
        """Raise BadInput if the store holds another study: one with another title or with other axes."""
        try:
            plan, title = self._plan(), self.about("title") or ""
        except BadInput:
            return  # the damaged plan is about to be replaced
        if not plan:
            return
        axes = sorted(json.loads(plan[0][3]))
        if title != study.title or axes != sorted(study.axes):
            name = f'"{title}"' if title else "a study"
            raise BadInput(
                f"{self.folder}: holds {name} with the axes {', '.join(axes) or '(none)'}; give another folder"
            )

    def set_plan(self, study: StudyPlan, runs: Sequence[tuple[Run, dict[str, str]]]) -> None:
        """Set the plan of the study: its runs with their axis labels. Finished runs are kept."""
        about = {"title": study.title, "scenario": study.text, "engine": study.engine, "planned": str(len(runs))}
        about |= {"file": study.file, "set": json.dumps(list(map(str, study.overrides))), "link": ""}
        if study.source.link is not None:
            about["link"] = pack(study.source.link)
        elif Path(study.file).is_file():
            about["file"] = str(Path(study.file).absolute())
        rows = ((i, run.run_id, run.seed, json.dumps(labels)) for i, (run, labels) in enumerate(runs))
        self._write(
            (ABOUT, map(_with_checksum, about.items())),
            ("DELETE FROM plan", [()]),
            ("INSERT INTO plan VALUES (?, ?, ?, ?, ?)", map(_with_checksum, rows)),
        )

    def _plan(self) -> list[tuple[int, str, int, str]]:
        """Position, run, seed and axes (JSON) of every run of the plan, as they were written. Raises BadInput."""
        planned = self.about("planned") or "0"
        with self._translate_sqlite_errors():
            query = "SELECT position, run_id, seed, axes, checksum FROM plan ORDER BY position"
            rows = self._index.execute(query).fetchall()
        whole = str(len(rows)) == planned and all(
            row[0] == i and is_sound(row) and _is_planned(*row[1:4]) for i, row in enumerate(rows)
        )
        if not whole or not all(map(_are_labels, {row[3] for row in rows})):
            raise BadInput(f"{self._file}: is damaged (its plan); {REMEDY}")
        return [row[:4] for row in rows]

    def plan(self) -> list[tuple[str, int, dict[str, str]]]:
        """Identity, seed and axis labels of every planned run, in the order of the plan. Raises BadInput."""
        return [(run_id, seed, json.loads(axes)) for _, run_id, seed, axes in self._plan()]

    def planned(self, run_id: str) -> tuple[str, int, dict[str, str]]:
        """Identity, seed and axis labels of the planned run whose identity begins with `run_id`. Raises BadInput."""
        matches = {row[1]: row for row in self._plan() if row[1].startswith(run_id)}
        if len(matches) != 1:
            remark = f"is the prefix of {len(matches)} identities" if matches else "is no run of the plan"
            raise BadInput(f"--run: {run_id} {remark}; ackclock results {self.folder} --runs lists the runs")
        [(_, full, seed, axes)] = matches.values()
        return full, seed, json.loads(axes)

    def finished(self) -> set[str]:
        """Identities of all runs with an outcome."""
        with self._translate_sqlite_errors():
            return {row[0] for row in self._index.execute("SELECT run_id FROM run WHERE error IS NULL")}

    def missing(self) -> int:
        """The number of runs of the plan without an outcome."""
        query = (
            "SELECT COUNT(DISTINCT run_id) FROM plan WHERE run_id NOT IN (SELECT run_id FROM run WHERE error IS NULL)"
        )
        with self._translate_sqlite_errors():
            return int(self._index.execute(query).fetchone()[0])

    def failures(self) -> list[tuple[str, str]]:
        """Runs of the plan without an outcome, and why."""
        query = "SELECT DISTINCT run_id, error FROM run JOIN plan USING (run_id) WHERE error IS NOT NULL"
        with self._translate_sqlite_errors():
            return self._index.execute(query).fetchall()

    def add(self, batch: Sequence[Finished]) -> None:
        """Write finished runs to the store. After the return, a kill of the process does not lose them."""
        at = now()
        packed = ((run, None if run.outcome is None else zlib.compress(run.outcome.encode(), 1)) for run in batch)
        rows = (_with_checksum((run.run_id, at, outcome, run.error)) for run, outcome in packed)
        self._write(("INSERT OR REPLACE INTO run VALUES (?, ?, ?, ?, ?)", rows))

    def remove(self, run_ids: Iterable[str]) -> None:
        """Delete finished runs."""
        self._write((DELETE_RUN, ((run_id,) for run_id in run_ids)))

    def set_about(self, **properties: str) -> None:
        """Set properties."""
        self._write((ABOUT, map(_with_checksum, properties.items())))

    # Reading.

    def texts(self) -> dict[str, str]:
        """The outcome of every undamaged run as text, by its identity."""
        rows = self._read_runs(set()).items()
        with self._translate_values():
            return {run_id: inflated(row[2]).decode() for run_id, row in rows if row[2] is not None}

    def outcomes_of(self, run_ids: Iterable[str]) -> list[Finished]:
        """The runs of these identities that are undamaged and have an outcome."""
        query = f"SELECT {RUN} FROM run WHERE outcome IS NOT NULL AND run_id IN (SELECT value FROM json_each(?))"
        with self._translate_sqlite_errors():
            rows = self._index.execute(query, (json.dumps(list(run_ids)),)).fetchall()
        with self._translate_values():
            return [Finished(row[0], inflated(row[2]).decode()) for row in rows if is_sound(row)]

    def _rows(self) -> Iterator[tuple[int, str, int, str, str, bytes]]:
        """Position, run, seed, axes, time and outcome of every undamaged run of the plan. Missing runs are noted."""
        plan = self._plan()
        stored = self._read_runs({row[1] for row in plan})
        absent = []
        for position, run_id, seed, axes in plan:
            row = stored.get(run_id)
            if row is None:
                absent.append(run_id)
            elif row[2] is not None:
                yield position, run_id, seed, axes, row[1], row[2]
        if absent:
            of_plan = set(absent)
            self.damaged = [run_id for run_id in self.damaged if run_id in of_plan]
            remark = f", {_named(self.damaged)} damaged" if self.damaged else ""
            self.notes.append(f"{len(absent)} of {len(plan)} runs are missing{remark}; repeat the sweep to run them")

    def _read_runs(self, wanted: set[str]) -> dict[str, tuple[Any, ...]]:
        """Rows of runs with a correct checksum. From a damaged file, rows are also read one by one by their key."""
        rows: dict[str, tuple[Any, ...]] = {}
        damaged: set[str] = set()
        try:
            for row in self._index.execute(f"SELECT {RUN} FROM run"):
                if is_sound(row):
                    rows[row[0]] = row
                else:
                    damaged.add(row[0])
        except (sqlite3.DatabaseError, ValueError):
            for run_id in wanted - rows.keys():
                try:
                    row = self._index.execute(f"SELECT {RUN} FROM run WHERE run_id = ?", (run_id,)).fetchone()
                except (sqlite3.DatabaseError, ValueError):
                    row = (run_id, None)
                if row is not None and is_sound(row):
                    rows[run_id] = row
                elif row is not None:
                    damaged.add(run_id)
        self.damaged = sorted(damaged - rows.keys())
        return rows

    def runs(self) -> Iterator[dict[str, Any]]:
        """Finished runs of the plan, in its order: run_id, finished_at, seed, axes."""
        for _, run_id, seed, axes, at, _ in self._rows():
            yield {"run_id": run_id, "finished_at": at, "seed": seed, "axes": json.loads(axes)}

    def outcomes(self) -> pl.DataFrame:
        """One row for each finished run of the plan, in its order: position, run_id, axes (JSON), and the outcome."""
        import polars as pl

        rows = list(self._rows())
        columns = {"position": pl.Int64(), "run_id": pl.String(), "axes": pl.String()}
        values = [[row[i] for row in rows] for i in (0, 1, 3)]
        head = pl.DataFrame(dict(zip(columns, values, strict=True)), schema=columns)
        try:
            return head.hstack(read_outcomes([row[5] for row in rows]))
        except ValueError:
            for _, run_id, _, _, _, outcome in rows:
                try:
                    read_outcomes([outcome])
                except ValueError as error:
                    raise BadInput(f"{self._file}: run {run_id} has no outcome of ackclock: {error}") from None
            raise


def _named(run_ids: Sequence[str]) -> str:
    """A text with the number of runs and the first identities."""
    shown = ", ".join(run_ids[:SHOWN]) + (", ..." if len(run_ids) > SHOWN else "")
    return f"{len(run_ids)} runs ({shown}) are" if len(run_ids) != 1 else f"1 run ({shown}) is"
