"""Read a recording: the description of its flows, and the rows of one."""

from __future__ import annotations

import gzip
import io
import json
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, Literal

from ackclock import _core
from ackclock.base.files import RECOGNISED_BYTES, BadInput
from ackclock.base.text import shown

if TYPE_CHECKING:
    import polars as pl

CHUNK = 1 << 20
PIECE = 1 << 12
"""Bytes of a compressed file that are unpacked at once: of a damaged one so many are lost at most."""
GZIP = b"\x1f\x8b"
MOST_EXPANSION = 200
"""Largest ratio of output to input of a compressed file that has more than `FREE_OUTPUT` bytes of output."""
FREE_OUTPUT = 1 << 30
NAMES = ("ends", "names", "name", "title")
"""What a description says of the hosts of a flow; `label` stands in their place."""
Place = Literal["sender", "receiver", "middle"]
Progress = Callable[[float], object]


@dataclass(frozen=True)
class Options:
    """How a recording is read."""

    flow: int | None = None
    """The number of the flow in the description, from 1. None: that with the most data."""
    at: Place | None = None
    """Where a capture was taken. None: the handshake or the timestamps say it."""
    every_s: float | None = None
    """The time between the blocks of an `ss` log without times, seconds."""


@dataclass(frozen=True)
class Recorded:
    """A recording with the rows of one flow."""

    file: Path
    about: dict[str, Any]
    """The description of the file (docs/traces.md)."""
    flow: dict[str, Any]
    """The flow's entry of the description."""
    reader: _core.TraceReader

    @property
    def name(self) -> str:
        """The name of the flow."""
        return f"#{self.flow['flow']}"

    @property
    def heading(self) -> str:
        """What a page or a figure without addresses calls it: a name of a file can be an identifier."""
        return f"a recording ({self.about['kind'].removeprefix('a ').removeprefix('the ')})"

    @property
    def segment_bytes(self) -> int:
        """Payload of a full segment; of a qlog the unit in which windows are counted."""
        return self.reader.segment_bytes()[0]

    def rows(self) -> pl.DataFrame:
        """The rows; see docs/traces.md for the columns."""
        return _rows(self)


def is_recording(path: Path) -> bool:
    """Whether a file is a recording of another program, by its beginning."""
    if str(path) == "-":
        return True
    if not path.is_file():
        return False
    return _core.recording_kind(_head(path)) is not None


def _head(path: Path) -> bytes:
    """The beginning of a file, decompressed."""
    with path.open("rb") as file:
        head = file.read(RECOGNISED_BYTES)
    if head.startswith(GZIP):
        try:
            with gzip.open(path) as unpacked:
                head = unpacked.read(RECOGNISED_BYTES)
        except (OSError, EOFError, zlib.error):
            return head
    return head


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    if str(path) != "-":
        with path.open("rb") as file:
            yield file
        return
    # A pipe is read once, and the rows of a flow need a second reading.
    with TemporaryFile() as copy:
        while chunk := sys.stdin.buffer.read(CHUNK):
            copy.write(chunk)
        copy.seek(0)
        yield copy


def _chunks(file: IO[bytes], progress: Progress | None, damage: list[str]) -> Iterator[bytes]:
    """The bytes of a file, decompressed if it is compressed with gzip; `damage` gets what is wrong with it.

    Raises BadInput for a file that expands too far.
    """
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    compressed = file.read(2) == GZIP
    file.seek(0)
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
    total = 0
    while chunk := file.read(PIECE if compressed else CHUNK):
        if not compressed:
            yield chunk
        while compressed and chunk:
            try:
                unpacked = inflate.decompress(chunk, 8 * CHUNK)
            except zlib.error:
                damage.append(f"the gzip data is damaged before byte {file.tell():,}; the rest is not read")
                return
            total += len(unpacked)
            if total > FREE_OUTPUT and total > MOST_EXPANSION * file.tell():
                raise BadInput(f"the file expands more than {MOST_EXPANSION} times; unpack it first")
            yield unpacked
            chunk = inflate.unconsumed_tail
            if inflate.eof:
                chunk = inflate.unused_data
                inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
        if progress is not None and size:
            progress(min(1.0, file.tell() / size))
    if compressed and not inflate.eof and total:
        damage.append("the gzip data is cut off")


def _read(file: IO[bytes], path: Path, reader: _core.TraceReader, progress: Progress | None) -> dict[str, Any]:
    """The description of a file. Raises BadInput with what the file is if it is no recording."""
    damage: list[str] = []
    try:
        for chunk in _chunks(file, progress, damage):
            reader.push(chunk)
        about: dict[str, Any] = json.loads(reader.finish())
    except ValueError as error:
        raise BadInput("; ".join([f"{path}: {error}", *damage])) from None
    about["missing"] += damage
    return about


def anonymous(about: dict[str, Any]) -> dict[str, Any]:
    """A description without addresses, ports, names, titles, and words of the file: what may be shared."""
    flows = [{key: value for key, value in flow.items() if key not in NAMES} for flow in about["flows"]]
    return {**about, "flows": flows, "unknown_fields": ""}


def describe(path: Path, options: Options, progress: Progress | None = None) -> dict[str, Any]:
    """The description of a recording: its kind, its flows, and what is missing in it. Raises BadInput, OSError."""
    with _opened(path) as file:
        return _read(file, path, _core.TraceReader(None, 0, options.at, options.every_s), progress)


def read_flow(path: Path, options: Options, progress: Progress | None = None) -> Recorded:
    """A recording with the rows of the chosen flow. Raises BadInput, OSError."""
    with _opened(path) as file:
        about = _read(file, path, _core.TraceReader(None, 0, options.at, options.every_s), None)
        flow = _chosen(path, about, options.flow)
        if about["form"] == "samples":
            reader = _core.TraceReader(None, 0, options.at, options.every_s)
        else:
            direction = flow.get("direction", 0)
            reader = _core.TraceReader(flow["flow"] - 1, direction, options.at, options.every_s)
        about = _read(file, path, reader, progress)
    return Recorded(path, about, flow, reader)


def _chosen(path: Path, about: dict[str, Any], number: int | None) -> dict[str, Any]:
    """The flow with a number, or that with the most data. Raises BadInput."""
    flows = about["flows"]
    if not flows:
        missing = "; ".join(about["missing"][:3])
        raise BadInput(f"{path}: is {about['kind']} without data of a flow" + (f": {missing}" if missing else ""))
    if number is None:
        size = "sent_bytes" if about["form"] == "capture" else "events" if about["form"] == "qlog" else "samples"
        largest: dict[str, Any] = max(flows, key=lambda flow: flow.get(size) or 0)
        return largest
    chosen = [flow for flow in flows if flow["flow"] == number]
    if not chosen:
        some = ", ".join(f"#{flow['flow']}" for flow in flows[:8])
        raise BadInput(f"--flow {number}: the file has no data of such a flow; there are {some}")
    direction: dict[str, Any] = max(chosen, key=lambda flow: flow.get("sent_bytes") or 0)
    return direction


def ends(flow: dict[str, Any], *, addresses: bool) -> str:
    """The ends of a flow as text: names, addresses and ports, or without addresses the label, which has none."""
    if not addresses:
        return shown(flow["label"])
    if "ends" not in flow:
        title = " ".join(text for text in (flow.get("title", ""), flow.get("vantage", "")) if text)
        return shown(flow.get("name") or title or flow["label"])
    named = [name or end for name, end in zip(flow["names"], flow["ends"], strict=True)]
    return " -> ".join(shown(text) for text in named)


def _rows(recorded: Recorded) -> pl.DataFrame:
    import numpy as np
    import polars as pl

    if recorded.about["form"] == "samples":
        return _samples(recorded)
    columns, codes = recorded.reader.rows(), _core.trace_codes()
    segment = float(recorded.segment_bytes)

    def numbers(name: str) -> Any:
        return np.frombuffer(columns[name], np.float64)

    def names(name: str, column: str) -> pl.Series:
        lookup = pl.Series(column, [*codes[name], None], dtype=pl.String)
        places = np.minimum(np.frombuffer(columns[name], np.uint8).astype(np.uint32), len(codes[name]))
        return lookup.gather(pl.Series(places)).alias(column)

    time_s, acked = numbers("time_s"), np.frombuffer(columns["event"], np.uint8) == codes["event"].index("ack")
    window = numbers("cwnd_bytes") / segment
    known = pl.Series("cwnd", window, nan_to_null=True)
    return pl.DataFrame(
        [
            pl.Series("time_s", time_s),
            pl.Series("flow", [recorded.name], dtype=pl.String).new_from_index(0, len(time_s)),
            names("event", "event"),
            pl.Series("seq", numbers("seq").astype(np.int64)),
            pl.Series("bytes", numbers("bytes").astype(np.int64)),
            known,
            pl.Series("ssthresh", numbers("ssthresh_bytes") / segment, nan_to_null=True),
            pl.Series("in_flight", numbers("outstanding") / segment),
            pl.Series("outstanding", numbers("outstanding").astype(np.int64)),
            pl.Series("rtt_s", numbers("rtt_s"), nan_to_null=True),
            pl.Series("delivered", numbers("delivered").astype(np.int64)),
            pl.Series("ack", np.where(acked, numbers("delivered") / segment, np.nan), nan_to_null=True),
            pl.Series("delivery_bps", numbers("delivery_bps"), nan_to_null=True),
            pl.Series("pacing_bps", numbers("pacing_bps"), nan_to_null=True),
            pl.Series("window_bytes", numbers("window_bytes"), nan_to_null=True),
            pl.Series("ecn", np.frombuffer(columns["ecn"], np.uint8)),
            pl.Series("marks", numbers("marks").astype(np.int64)),
            names("reason", "reason"),
            names("phase", "phase"),
        ]
    )


def _samples(recorded: Recorded) -> pl.DataFrame:
    import numpy as np
    import polars as pl

    columns = {name: np.frombuffer(data, np.float64) for name, data in recorded.reader.samples().items()}
    numbers = columns.pop("flow").astype(np.uint32)
    names = pl.Series("flow", [flow["label"] for flow in recorded.about["flows"]] or [""], dtype=pl.String)
    frame = pl.DataFrame([pl.Series(name, data, nan_to_null=True) for name, data in columns.items()])
    flows = names.gather(pl.Series(np.minimum(numbers, max(0, len(names) - 1)))).alias("flow")
    frame.insert_column(1, flows)
    filled = [
        column.name for column in frame if column.name in {"time_s", "flow"} or column.null_count() < frame.height
    ]
    return frame.select(filled)
