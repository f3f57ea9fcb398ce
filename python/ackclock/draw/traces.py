"""Recorded traces as they are read from files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ackclock.base.files import BadInput, foreign
from ackclock.draw.series import Recording, Series, of_equal_times

if TYPE_CHECKING:
    import polars as pl

TRACE = {"time_s", "flow", "cwnd"}
MESSAGES = {"flow", "number", "kind", "bytes", "start_s", "first_s", "end_s", "slowdown", "state"}
PACKETS = {"time_s", "link", "event", "kind", "size", "flow", "seq"}


CAPACITIES = "ackclock.capacities"
"""The entry of a packet log's metadata with the bits that links with a varying rate could have sent."""


class WithCapacities(Protocol):
    """A result, as far as the metadata of its packet log need it."""

    @property
    def outcome(self) -> dict[str, Any]:
        """The outcome."""

    @property
    def capacities(self) -> dict[str, np.ndarray]:
        """For links whose rate varies, the bits that they could have sent until equal times."""


def capacities(result: WithCapacities) -> dict[str, str]:
    """The metadata of the packet log of a run; empty without links whose rate varies."""
    bits = {link: [round(total) for total in totals] for link, totals in result.capacities.items()}
    return {CAPACITIES: json.dumps({"end_s": result.outcome["duration_s"], "bits": bits})} if bits else {}


def _read_capacities(path: Path) -> dict[str, Series]:
    """What `capacities` has written; empty if the file has none."""
    import polars as pl

    if path.suffix != ".parquet":
        return {}
    try:
        table = json.loads(pl.read_parquet_metadata(path)[CAPACITIES])
        end_s = float(table["end_s"])
        return {str(link): of_equal_times(end_s, np.array(bits, float)) for link, bits in table["bits"].items()}
    except (KeyError, TypeError, ValueError, AttributeError, pl.exceptions.PolarsError):
        return {}


def read_recordings(files: Sequence[Path]) -> list[Recording]:
    """Read window traces and packet events (.parquet or .csv, docs/outcome.md).

    A trace and the packet events with the same name up to the first dot, in one folder, are one recording; so are one
    trace and one file of packet events that are given alone. Raises BadInput for a file of neither kind.
    """
    recordings: dict[tuple[Path, str], dict[str, pl.DataFrame]] = {}
    rates: dict[tuple[Path, str], dict[str, Series]] = {}
    frames = [(path, *read_table(path)) for path in files]
    kinds = [kind for _, kind, _ in frames]
    together = sorted(kinds) == ["packets", "trace"]
    for path, kind, frame in frames:
        stem = path.name.partition(".")[0] or path.stem
        place = (Path(), "") if together else (path.resolve().parent, stem)
        logs = recordings.setdefault(place, {})
        if kind in logs:
            place = (path.resolve().parent, path.name)
            logs = recordings.setdefault(place, {})
            if kind in logs:
                raise BadInput(f"{path}: is given twice")
        logs[kind] = frame
        if kind == "packets":
            rates[place] = _read_capacities(path)
    labels = [name for _, name in recordings]
    if len(set(labels)) < len(labels):  # equal names in several folders
        labels = [f"{folder.name}/{name}" for folder, name in recordings]
    return [
        Recording(label, logs.get("trace"), logs.get("packets"), capacities=rates.get(place, {}))
        for label, (place, logs) in zip(labels, recordings.items(), strict=True)
    ]


def read_table(path: Path) -> tuple[str, pl.DataFrame]:
    """The kind of a file, trace or packets, and its rows. Raises BadInput for a file of neither kind."""
    import polars as pl

    frame = _read(path)
    for kind, columns in (("packets", PACKETS), ("trace", TRACE)):
        if columns <= set(frame.columns):
            if not frame["time_s"].dtype.is_numeric():
                raise BadInput(f"{path}: the column time_s must hold numbers")
            frame = frame.filter(pl.col("time_s").is_not_null())
            if frame.is_empty():
                raise BadInput(f"{path}: has no rows")
            return kind, frame if frame["time_s"].is_sorted() else frame.sort("time_s", maintain_order=True)
    if set(frame.columns) >= MESSAGES:
        raise BadInput(f"{path}: has messages; draw it with --kind cdf, frames or waterfall")
    raise BadInput(
        f"{path}: is neither a window trace (ackclock run --trace) nor packet events (--packets): "
        f"its columns are {', '.join(frame.columns[:8])}"
    )


def read_messages(path: Path) -> pl.DataFrame:
    """The rows of a file of `ackclock run --messages`. Raises BadInput for another file."""
    frame = _read(path)
    if not set(frame.columns) >= MESSAGES:
        columns = ", ".join(frame.columns[:8])
        raise BadInput(f"{path}: is no file of messages (ackclock run --messages): its columns are {columns}")
    if frame.is_empty():
        raise BadInput(f"{path}: has no rows")
    if not all(frame[name].dtype.is_numeric() for name in ("number", "bytes", "start_s")):
        raise BadInput(f"{path}: the columns number, bytes and start_s must hold numbers")
    return frame


def _read(path: Path) -> pl.DataFrame:
    """The rows of a table. Raises BadInput if it cannot be read."""
    import polars as pl

    if path.suffix not in {".parquet", ".csv"}:
        must = "must be the folder of a study, or a trace that ends in .parquet or .csv"
        raise BadInput(f"{path}: {foreign(path, 'a trace') or must}")
    if not path.is_file():
        raise BadInput(f"{path}: there is no such file")
    try:
        frame = pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path, infer_schema_length=None)
    except (pl.exceptions.PolarsError, OSError) as error:
        why = foreign(path, f"a table ({path.suffix})") or f"cannot be read: {' '.join(str(error).split())[:200]}"
        raise BadInput(f"{path}: {why}") from None
    return frame
