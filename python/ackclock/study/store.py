"""Where the runs of a study are kept: an SQLite index with a write-ahead log, and Parquet parts.

A finished run goes into a journal at once (a line of JSON), then into the index; a journal that has grown is made a
part. Parts are put in place whole, under a name that no other has, and only then named in the index: what lies in the
folder and is not in the index was finished by somebody who was killed, and is taken in when the store is opened.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import sqlite3
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.files import BadInput, check_folder, write

if TYPE_CHECKING:
    import polars as pl

    from ackclock.study.plan import Run, Study

LAYOUT = 1
"""Version of tables and columns."""

TABLES = """
CREATE TABLE IF NOT EXISTS about (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS plan (
    position INTEGER PRIMARY KEY, run_id TEXT NOT NULL, seed INTEGER NOT NULL, axes TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS run (
    run_id TEXT PRIMARY KEY, finished_at TEXT NOT NULL, part TEXT, error TEXT) WITHOUT ROWID;
"""
JOURNAL = "journal.ndjson"
PART_BYTES = 200_000_000
"""Size at which a journal becomes a part."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that ended: its outcome as JSON, or why there is none."""

    run_id: str
    outcome: str | None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A Parquet part that a worker wrote into the store, and the runs in it."""

    name: str
    run_ids: list[str]


def now() -> str:
    """The present moment in UTC, as ISO 8601 with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def outcome_schema() -> pl.Schema:
    """Columns of a part made from outcomes (docs/outcome.md): one row a run, flows and links as lists."""
    import polars as pl

    number, count, text = pl.Float64, pl.Int64, pl.String
    numbers = (
        *("goodput_bps", "throughput_bps", "mean_cwnd", "mean_ssthresh", "final_cwnd", "final_ssthresh"),
        *("mean_rtt_s", "min_rtt_s", "mean_delay_s", "mean_gap_s", "jitter1_s", "jitter2_s"),
        *("delivery_ratio", "completion_s"),
        *("base_delay_s", "min_delay_s", "p50_delay_s", "p95_delay_s", "p99_delay_s"),
    )
    counts = (
        *("delivered_bytes", "sent_packets", "acked_packets", "retransmitted_packets"),
        *("timeouts", "window_cuts"),
    )
    flow = dict.fromkeys(("name", "kind", "control", "recovery"), text)
    link = {"name": text, "delivered_packets": count, "marked_packets": count}
    link_numbers = ("utilisation", "mean_queue_packets", "mean_sojourn_s")
    drops = pl.Struct(dict.fromkeys(("queue", "loss", "list", "handoff", "route"), count))
    handoff = pl.Struct({"terminal": text, "time_s": number, "from": text, "to": text})
    mac = dict.fromkeys(("retry", "collision", "busy", "duplicate"), count)
    fates = ("queue", "retry", "arp", "route", "broken", "buffer", "timeout", "ttl", "loop")
    radio = pl.Struct(
        dict.fromkeys(("offered_packets", "received_packets", "routing_packets"), count)
        | dict.fromkeys(("delivery_ratio", "routing_load", "mean_hops"), number)
        | {"mac_drops": pl.Struct(mac), "dropped_packets": pl.Struct(dict.fromkeys(fates, count))}
    )
    columns: dict[str, Any] = {
        "title": text,
        "seed": count,
        "duration_s": number,
        "warmup_s": number,
        "version": text,
        "flows": pl.List(pl.Struct(flow | dict.fromkeys(numbers, number) | dict.fromkeys(counts, count))),
        "links": pl.List(pl.Struct(link | {"dropped_packets": drops} | dict.fromkeys(link_numbers, number))),
        "radio": radio,
        "satellite": pl.Struct({"handoffs": pl.List(handoff)}),
        "fairness": pl.Struct({"jain": number}),
        "engine": pl.Struct({"events": count, "packet_hops": count, "cpu_s": number, "wall_s": number}),
    }
    return pl.Schema(columns)


def journal_line(run_id: str, finished_at: str, outcome: str) -> str:
    """A run as a line of a journal: the outcome's object with two more keys in front."""
    return f'{{"run_id":"{run_id}","finished_at":"{finished_at}",{outcome[1:]}\n'


def outcome_frame(lines: bytes) -> pl.DataFrame:
    """Lines of a journal as a frame: run_id, finished_at, then the outcome's columns."""
    import polars as pl

    schema = pl.Schema([("run_id", pl.String()), ("finished_at", pl.String()), *outcome_schema().items()])
    return pl.read_ndjson(io.BytesIO(lines), schema=schema) if lines else pl.DataFrame(schema=schema)


def write_part(folder: Path, lines: bytes) -> Part:
    """Write lines of a journal as a part into the `parts` of a store, whole or not at all."""
    name = f"{uuid.uuid4().hex}.parquet"
    frame = outcome_frame(lines)
    write(folder / "parts" / name, lambda path: frame.write_parquet(path, compression="zstd", compression_level=1))
    return Part(name, frame["run_id"].to_list())


def _runs_of(part: Path) -> dict[str, str] | None:
    """Runs of a Parquet part with the times at which they finished; none if it cannot be read."""
    import polars as pl

    try:
        frame = pl.read_parquet(part)
        return dict(frame.select("run_id", "finished_at").iter_rows())
    except (pl.exceptions.PolarsError, OSError):
        return None


def _is_outcome(line: bytes) -> bool:
    try:
        found = json.loads(line)
        outcome_frame(line)
    except Exception:  # whatever is wrong with it, it is no outcome
        return False
    return isinstance(found, dict) and isinstance(found.get("run_id"), str) and bool(found.get("flows"))


class Store:
    """The runs of a study in a folder. One process may write; anybody may read at any time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock: io.TextIOWrapper | None = None
        self._index = sqlite3.connect(folder / "runs.sqlite", isolation_level=None, timeout=30)
        self._journal = folder / "parts" / JOURNAL
        self.notes: list[str] = []
        """What was found amiss when the store was opened for writing, and what was done about it."""

    @classmethod
    def create(cls, folder: Path) -> Store:
        """Open for writing; the folder is made if it is not there.

        Raises BadInput if it holds something else, or if another process writes.
        """
        if check_folder(folder).is_dir() and any(folder.iterdir()) and not (folder / "runs.sqlite").exists():
            others = [p for p in folder.iterdir() if p.name not in {"parts", ".lock"}]
            if others:
                raise BadInput(f"{folder}: holds {others[0].name} and no study; give an empty or a new folder")
        (folder / "parts").mkdir(parents=True, exist_ok=True)
        lock = open(folder / ".lock", "w")  # noqa: SIM115  (held as long as the store is open)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            raise BadInput(f"{folder}: another sweep is at work here") from None
        store = cls(folder)
        store._lock = lock
        try:
            store._prepare()
        except sqlite3.DatabaseError as error:
            store.close()
            raise BadInput(f"{folder / 'runs.sqlite'}: {error}") from None
        return store

    @classmethod
    def open(cls, folder: Path) -> Store:
        """Open for reading. Raises BadInput if there is no study."""
        if not (folder / "runs.sqlite").is_file():
            raise BadInput(f"{folder}: there is no study here (no runs.sqlite); ackclock sweep FILE --out makes one")
        store = cls(folder)
        try:
            layout = store.about("layout")
        except sqlite3.DatabaseError as error:
            store.close()
            raise BadInput(f"{folder / 'runs.sqlite'}: {error}") from None
        if layout != str(LAYOUT):
            store.close()
            raise BadInput(f"{folder}: has layout {layout}, this version reads {LAYOUT}")
        return store

    def _prepare(self) -> None:
        self._index.execute("PRAGMA journal_mode = WAL")
        self._index.execute("PRAGMA synchronous = NORMAL")
        self._index.executescript(TABLES)
        found = self.about("layout")
        if found not in {None, str(LAYOUT)}:
            raise BadInput(f"{self.folder}: has layout {found}, this version writes {LAYOUT}")
        self._describe({"layout": str(LAYOUT), "token": self.about("token") or uuid.uuid4().hex})
        (self.folder / "parts" / "token").write_text(self.about("token") or "")
        self._reconcile()

    def close(self) -> None:
        """Give the folder free."""
        self._index.close()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._index.execute("BEGIN IMMEDIATE")
        try:
            yield self._index
        except BaseException:
            self._index.execute("ROLLBACK")
            raise
        self._index.execute("COMMIT")

    def about(self, key: str) -> str | None:
        """What the store says of itself: `layout`, `token`, `title`, `scenario`, `engine`."""
        row = self._index.execute("SELECT value FROM about WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def _describe(self, values: dict[str, str]) -> None:
        with self._transaction() as index:
            index.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", values.items())

    # What is to be done, and what has been.

    def check_study(self, study: Study) -> None:
        """Refuse a study that is not the one that is here: another title, other axes. Raises BadInput."""
        here = self._index.execute("SELECT axes FROM plan ORDER BY position LIMIT 1").fetchone()
        if here is None:
            return
        title, axes = self.about("title") or "", sorted(json.loads(here[0]))
        if title != study.title or axes != sorted(study.axes):
            name = f'"{title}"' if title else "a study"
            raise BadInput(
                f"{self.folder}: holds {name} with the axes {', '.join(axes) or '(none)'}; give another folder"
            )

    def set_plan(self, study: Study, runs: Sequence[tuple[Run, dict[str, str]]]) -> None:
        """Say what the study consists of: runs with the labels of their axes. Runs that are there stay there."""
        self._describe({"title": study.title, "scenario": study.text, "engine": study.engine})
        rows = ((i, run.run_id, run.seed, json.dumps(labels)) for i, (run, labels) in enumerate(runs))
        with self._transaction() as index:
            index.execute("DELETE FROM plan")
            index.executemany("INSERT INTO plan VALUES (?, ?, ?, ?)", rows)

    def finished(self) -> set[str]:
        """Identities of all runs with an outcome."""
        return {row[0] for row in self._index.execute("SELECT run_id FROM run WHERE error IS NULL")}

    def failures(self) -> list[tuple[str, str]]:
        """Runs of the plan without an outcome, and why."""
        query = "SELECT DISTINCT run_id, error FROM run JOIN plan USING (run_id) WHERE error IS NOT NULL"
        return self._index.execute(query).fetchall()

    def add(self, batch: Sequence[Finished] | Part) -> None:
        """Keep runs that ended; when this returns, killing this process does not lose them."""
        at = now()
        if isinstance(batch, Part):
            self._enter([(run_id, at, batch.name, None) for run_id in batch.run_ids])
            return
        with open(self._journal, "a", encoding="utf-8") as journal:
            journal.writelines(journal_line(run.run_id, at, run.outcome) for run in batch if run.outcome is not None)
            size = journal.tell()
        self._enter([(run.run_id, at, JOURNAL if run.outcome is not None else None, run.error) for run in batch])
        if size > PART_BYTES:
            self.compact()

    def _enter(self, rows: Sequence[tuple[str, str, str | None, str | None]]) -> None:
        with self._transaction() as index:
            index.executemany("INSERT OR REPLACE INTO run VALUES (?, ?, ?, ?)", rows)

    def compact(self) -> None:
        """Make the journal a part."""
        if lines := self._read_journal():
            part = write_part(self.folder, lines)
            with self._transaction() as index:
                index.execute("UPDATE run SET part = ? WHERE part = ?", (part.name, JOURNAL))
            self._journal.unlink()

    def _read_journal(self) -> bytes:
        """All whole lines: the last one may have been cut off by a kill, or be on its way."""
        try:
            content = self._journal.read_bytes()
        except FileNotFoundError:
            return b""
        return content[: content.rfind(b"\n") + 1]

    def _parts(self) -> set[str]:
        return {row[0] for row in self._index.execute("SELECT DISTINCT part FROM run WHERE part IS NOT NULL")}

    def _reconcile(self) -> None:
        """Make index and files agree: take in what somebody finished and could not name, run again what is lost."""
        found = {JOURNAL: self._mend_journal()}
        for path in sorted((self.folder / "parts").iterdir()):
            if path.name.startswith("."):
                path.unlink()  # half written
            elif path.suffix == ".parquet":
                runs = _runs_of(path)
                if runs is None:
                    path.rename(path.with_suffix(".damaged"))
                    self.notes.append(f"{path}: cannot be read; set aside as {path.stem}.damaged")
                else:
                    found[path.name] = runs
        named = self._index.execute("SELECT run_id, part FROM run WHERE part IS NOT NULL").fetchall()
        lost = [run_id for run_id, part in named if run_id not in found.get(part, {})]
        if lost:
            with self._transaction() as index:
                index.executemany("DELETE FROM run WHERE run_id = ?", ((run_id,) for run_id in lost))
            self.notes.append(f"{self.folder}: {len(lost)} runs are in no readable part; they will be run again")
        known = self.finished()
        parts = self._parts()
        for name, runs in found.items():
            new = [(run_id, at, name, None) for run_id, at in runs.items() if run_id not in known]
            self._enter(new)
            known |= {row[0] for row in new}
            if not new and name not in parts:
                (self.folder / "parts" / name).unlink(missing_ok=True)  # every run of it is elsewhere
        self.compact()

    def _mend_journal(self) -> dict[str, str]:
        """Cut off an unfinished last line, and take out lines that are no outcomes; the runs that remain."""
        import polars as pl

        lines = self._read_journal()
        if self._journal.exists() and len(lines) < self._journal.stat().st_size:
            os.truncate(self._journal, len(lines))
        try:
            frame = outcome_frame(lines)
            whole = frame["run_id"].null_count() == 0
        except pl.exceptions.PolarsError:
            whole = False
        if not whole:
            good = b"".join(line for line in lines.splitlines(keepends=True) if _is_outcome(line))
            write(self._journal, lambda path: path.write_bytes(good))
            self.notes.append(f"{self._journal}: held lines that are no outcomes; they were taken out")
            frame = outcome_frame(good)
        return dict(frame.select("run_id", "finished_at").iter_rows())

    # Reading.

    def runs(self) -> Iterator[dict[str, Any]]:
        """Finished runs of the plan, in its order: run_id, finished_at, seed, axes."""
        query = (
            "SELECT run_id, finished_at, plan.seed, axes FROM plan JOIN run USING (run_id) "
            "WHERE error IS NULL ORDER BY position"
        )
        for run_id, at, seed, axes in self._index.execute(query):
            yield {"run_id": run_id, "finished_at": at, "seed": seed, "axes": json.loads(axes)}

    def outcomes(self) -> pl.DataFrame:
        """One row a finished run of the plan, in its order: position, run_id, seed, axes (JSON), and the outcome."""
        import duckdb
        import polars as pl

        query = "SELECT position, run_id, plan.seed, axes FROM plan JOIN run USING (run_id) WHERE error IS NULL"
        while True:  # the journal may be made a part between two looks
            before = self._parts() - {JOURNAL}
            rows, lines = self._index.execute(query).fetchall(), self._read_journal()
            if self._parts() - {JOURNAL} == before:
                break
        parts = [self.folder / "parts" / name for name in sorted(before)]
        plan = pl.DataFrame(
            rows,
            schema={"position": pl.Int64, "run_id": pl.String, "seed": pl.Int64, "axes": pl.String},
            orient="row",
        )
        with tempfile.TemporaryDirectory() as scratch, duckdb.connect() as db:
            # DuckDB and polars meet in files: handing frames over in memory would need pyarrow.
            plan_file, waiting_file, joined = (str(Path(scratch) / name) for name in ("plan", "waiting", "joined"))
            plan.write_parquet(plan_file)
            outcome_frame(lines).write_parquet(waiting_file)
            files = [waiting_file, *map(str, parts)]
            try:
                db.execute(
                    "COPY (WITH runs AS (SELECT DISTINCT ON (run_id) * FROM read_parquet(?, union_by_name = true)) "
                    "SELECT position, plan.run_id, plan.seed, axes, runs.* EXCLUDE (run_id, seed, finished_at) "
                    "FROM read_parquet(?) AS plan JOIN runs USING (run_id) ORDER BY position) TO ? (FORMAT parquet)",
                    [files, plan_file, joined],
                )
            except duckdb.Error as error:
                first = str(error).splitlines()[0]
                raise BadInput(f"{self.folder}: a part cannot be read ({first}); ackclock sweep repairs it") from None
            return pl.read_parquet(joined)
