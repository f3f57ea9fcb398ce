"""Reads what `ackclock run --trace` and `--packets` wrote: a file, or a folder with a trace and a packet log."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from ackclock.apps.view.recording import KEY, Recording, RunMetadata, recording
from ackclock.base.files import BadInput
from ackclock.base.link import check as check_link
from ackclock.result import Trace

if TYPE_CHECKING:
    import polars as pl


def metadata(about: RunMetadata, trace: Trace = "off") -> dict[str, str]:
    """The metadata of a Parquet file of `ackclock run`."""
    return {KEY: json.dumps({"about": about, "trace": trace}, allow_nan=False)}


def kind(path: Path) -> str | None:
    """Whether a Parquet file is a `trace` or a packet log (`packets`); None for any other file."""
    import polars as pl

    from ackclock.draw.traces import PACKETS, TRACE

    try:
        columns = set(pl.read_parquet_schema(path))
    except (OSError, pl.exceptions.PolarsError):
        return None
    return "packets" if columns >= PACKETS else "trace" if columns >= TRACE else None


def logs(folder: Path) -> dict[str, list[Path]]:
    """The recorded files of a folder by kind."""
    files: dict[str, list[Path]] = {"trace": [], "packets": []}
    for path in sorted(folder.glob("*.parquet")):
        of = kind(path) if path.is_file() else None
        if of is not None:
            files[of].append(path)
    return files


def is_run(files: dict[str, list[Path]]) -> bool:
    """Whether these files are of one run."""
    counts = [len(files["trace"]), len(files["packets"])]
    return max(counts) == 1


def of_folder(folder: Path) -> Recording:
    """The recorded run of a folder. A JSON file of `ackclock run --json` in it is the outcome. Raises BadInput."""
    files = logs(folder)
    return read(next(iter(files["trace"]), None), next(iter(files["packets"]), None), _outcome(folder))


def of_file(path: Path) -> Recording:
    """The recorded run of a trace or of a packet log, with the other one beside it: `a.trace.parquet` belongs to
    `a.packets.parquet`. Raises BadInput.
    """
    from ackclock.draw.traces import read_table

    if path.suffix == ".json":
        outcome = _outcome_of(path)
        if outcome is None:
            raise BadInput(f"{path}: is not an outcome (ackclock run --json)")
        return read(None, None, outcome)
    of, _ = read_table(path)
    paths = {of: path}
    for name, others in logs(path.parent).items():
        beside = [p for p in others if p.name.partition(".")[0] == path.name.partition(".")[0]]
        if len(beside) == 1:
            paths.setdefault(name, beside[0])
    return read(paths.get("trace"), paths.get("packets"), None)


def read(trace: Path | None, packets: Path | None, outcome: dict[str, Any] | None) -> Recording:
    """A recorded run from a trace, a packet log, or both.

    Raises BadInput if it is too large for a page, if the files are of two runs, or if one is damaged.
    """
    import polars as pl

    from ackclock.draw.traces import read_table

    windows = None if trace is None else read_table(trace)[1]
    log = None if packets is None else read_table(packets)[1]
    said = [_said(path) for path in (trace, packets) if path is not None]
    texts = [one["about"] for one in said if one]
    if len(texts) == 2 and _identity(texts[0]) != _identity(texts[1]):
        raise BadInput(f"{trace} and {packets} are of different runs; open one of them alone")
    about = texts[0] if texts else _guessed(windows, log, outcome, [p for p in (trace, packets) if p is not None])
    if outcome is not None and about.get("outcome") is None:
        about["outcome"] = outcome
    kept: Trace = "off"
    if trace is not None:
        kept = said[0]["trace"] if said[0] else _kept(windows)
    try:
        return recording(about, windows, kept, log, _notes(about, kept, log, bool(texts)))
    except BadInput as error:
        raise BadInput(f"{trace or packets}: {error}") from None
    except pl.exceptions.PolarsError as error:
        raise BadInput(
            f"{trace or packets}: a column has values of another type: {' '.join(str(error).split())[:200]}"
        ) from None


def _said(path: Path) -> dict[str, Any] | None:
    """What a file's metadata says of its run; None if it has none. Raises BadInput if an entry is missing or wrong."""
    import polars as pl

    if path.suffix != ".parquet":
        return None
    try:
        text = pl.read_parquet_metadata(path).get(KEY)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise BadInput(f"{path}: its metadata cannot be read: {' '.join(str(error).split())[:200]}") from None
    if text is None:
        return None
    try:
        entry = json.loads(text)
    except (ValueError, RecursionError):
        entry = None
    wrong = _wrong_entry(entry)
    if wrong:
        remedy = "write it again with ackclock run --trace (or --packets)"
        raise BadInput(f"{path}: the entry {wrong} of its metadata is missing or damaged; {remedy}")
    return dict(entry)


def _wrong_entry(entry: Any) -> str:
    """The name of the first entry of a file's metadata that is missing, or of another type; empty if all are right."""
    if not isinstance(entry, dict) or not isinstance(entry.get("about"), dict):
        return "about"
    about = entry["about"]
    checks: dict[str, Callable[[Any], bool]] = {
        **dict.fromkeys(("version", "engine", "title", "file", "fingerprint"), _is_text),
        "seed": _is_count,
        "duration_s": _is_number,
        "shared": _is_shared,
        "geometry": lambda value: value is None or _is_shared(value),
        **dict.fromkeys(("python", "flows", "links"), lambda value: _is_list(value, _is_text)),
        "flow_ends": lambda value: _is_list(value, lambda one: _is_list(one, _is_text) and len(one) == 2),
        "segment_bytes": lambda value: _is_list(value, lambda one: one is None or _is_count(one)),
        "outcome": lambda value: value is None or _is_outcome(value),
    }
    for name, check in checks.items():
        if name not in about or not check(about[name]):
            return f"about.{name}"
    for name in ("flow_ends", "segment_bytes"):
        if len(about[name]) != len(about["flows"]):
            return f"about.{name}"
    if entry.get("trace") not in get_args(Trace):
        return "trace"
    return "" if _is_json(entry) else "about"


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_list(value: Any, check: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(map(check, value))


def _is_shared(value: Any) -> bool:
    """Whether a value is the content of a link: without a controller in JavaScript, and with files inside it."""
    try:
        check_link(value)
    except BadInput:
        return False
    return True


def _is_outcome(value: Any) -> bool:
    """Whether a value has the structure of an outcome (`ackclock run --json`)."""
    if not isinstance(value, dict):
        return False
    named = all(
        _is_list(value.get(key), lambda one: isinstance(one, dict) and _is_text(one.get("name")))
        for key in ("flows", "links")
    )
    numbers = _is_count(value.get("seed")) and isinstance(value.get("duration_s"), int | float)
    return named and numbers and _is_text(value.get("title")) and isinstance(value.get("engine"), dict)


def _is_json(value: Any) -> bool:
    """Whether JSON has all numbers of a value: it has no NaN and no infinity, which Python reads and writes."""
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


def _identity(about: RunMetadata) -> tuple[Any, ...]:
    return (about["engine"], about["seed"], about["flows"], about["links"], about["shared"]["text"], about["outcome"])


def _kept(windows: pl.DataFrame | None) -> Trace:
    """A trace of changes alone has no duplicate ACK that changes nothing: the rows of a trace without metadata."""
    from ackclock.base import frames

    return "changes" if windows is None or frames.changes(windows).height == windows.height else "ack"


def _guessed(
    windows: pl.DataFrame | None, log: pl.DataFrame | None, outcome: dict[str, Any] | None, paths: list[Path]
) -> RunMetadata:
    """What the tables alone say of their run, for files without metadata."""

    def names(column: str) -> list[str]:
        frames = [table[column] for table in (windows, log) if table is not None and column in table.columns]
        names_of_frames = [
            name for frame in frames for name in frame.unique(maintain_order=True).drop_nulls().to_list()
        ]
        return list(dict.fromkeys(names_of_frames))

    ends = [float(table["time_s"][-1]) for table in (windows, log) if table is not None and table.height]
    flows = [flow["name"] for flow in outcome["flows"]] if outcome else []
    flows += [name for name in names("flow") if name not in flows]
    return RunMetadata(
        version="",
        engine="",
        title=outcome["title"] if outcome else ", ".join(path.name for path in paths),
        file="",
        seed=outcome["seed"] if outcome else 0,
        duration_s=outcome["duration_s"] if outcome else max(ends, default=0.0),
        shared={"v": 1, "text": ""},
        geometry=None,
        python=[],
        flows=flows,
        flow_ends=_ends(log, flows),
        segment_bytes=[None] * len(flows),
        links=names("link"),
        outcome=outcome,
        fingerprint="",
    )


def _ends(log: pl.DataFrame | None, flows: list[str]) -> list[list[str]]:
    """Where the data of each flow starts and ends: a node that it never enters, one that it never leaves."""
    import polars as pl

    if log is None:
        return [["", ""] for _ in flows]
    crossed = log.filter(pl.col("kind") == "data").select("flow", "link").unique(maintain_order=True)
    nodes = []
    for flow in flows:
        links = [link.split("->", 1) for link in crossed.filter(pl.col("flow") == flow)["link"] if "->" in link]
        heads, tails = [link[0] for link in links], [link[1] for link in links]
        nodes.append(
            [next((n for n in heads if n not in tails), ""), next((n for n in reversed(tails) if n not in heads), "")]
        )
    return nodes


def _outcome(folder: Path) -> dict[str, Any] | None:
    """The first outcome among the JSON files of a folder."""
    return next(filter(None, map(_outcome_of, sorted(folder.glob("*.json")))), None)


def _outcome_of(path: Path) -> dict[str, Any] | None:
    """The outcome in a file; None if it holds none. Raises BadInput if the outcome has a number that JSON has not."""
    try:
        outcome = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError):
        return None
    if not _is_outcome(outcome):
        return None
    if not _is_json(outcome):
        raise BadInput(f"{path}: holds NaN or Infinity, which are no JSON; write it again with ackclock run --json")
    return dict(outcome)


def _notes(about: RunMetadata, trace: Trace, log: pl.DataFrame | None, complete: bool) -> list[str]:
    notes = []
    if trace == "off":
        notes.append("No windows were recorded: write them with ackclock run --trace FILE --trace-every ack.")
    if trace == "changes":
        notes.append(
            "Only changes of the windows were recorded: goodput and most round-trip times need --trace-every ack."
        )
    if log is None:
        notes.append("No packets were recorded: queues, drops and moving packets need ackclock run --packets FILE.")
    if not complete:
        notes.append("The files do not say their scenario: this version of ackclock run writes it into them.")
    elif not about["shared"]["text"]:
        notes.append("The scenario was not recorded.")
    return notes
