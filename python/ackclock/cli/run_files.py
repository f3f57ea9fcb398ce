"""The files of a run: traces, packet events, messages, captures, qlogs, a figure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import quote

from cyclopts import Parameter

from ackclock.base.files import BadInput, check_picture, check_targets, save_figure, write_bytes
from ackclock.base.table_files import check_table, write_frame
from ackclock.result import Result, Trace

if TYPE_CHECKING:
    from ackclock.draw.style import Size
    from ackclock.scenario import Scenario

PCAP_HELP = (
    "Write a packet capture to this pcapng file. FILE captures at all hosts that send data, PLACE=FILE at a node or on "
    "a link (a->b, or a-b for both directions). May be repeated."
)


@Parameter(name="*", show_default=False)
@dataclass(frozen=True)
class Files:
    """What a run writes."""

    trace: Path | None = None
    """Write the window trace to this file (.parquet or .csv)."""
    trace_every: Literal["changes", "ack"] = "changes"
    """Write one trace row for each change of a window (changes, the default) or for each ACK (ack)."""
    packets: Path | None = None
    """Write every packet event to this file (.parquet or .csv)."""
    messages: Path | None = None
    """Write every message of the applications to this file (.parquet or .csv)."""
    pcap: Annotated[list[str] | None, Parameter(consume_multiple=False, help=PCAP_HELP)] = None
    qlog: Path | None = None
    """Write the qlogs of QUIC flows into this folder: FLOW-sender.sqlog and FLOW-receiver.sqlog, for qvis."""
    qlog_events: list[str] | None = None
    """With --qlog: write these events only, separated by commas or the option repeated: a category such as recovery, or
    an event such as transport:packet_lost. Default: all."""
    plot: Path | None = None
    """Draw windows, round-trip times, queues and goodput to this file (.svg, .pdf, .png or .eps)."""

    @property
    def rows(self) -> Trace:
        """Which rows of the window trace are recorded. The figure shows round-trip times, so it needs each ACK."""
        if self.trace is None and self.plot is None:
            return "off"
        return "ack" if self.trace_every == "ack" or self.plot is not None else "changes"

    @property
    def captures(self) -> dict[str, Path]:
        """The file of each place of `--pcap`. Raises BadInput if a place is given twice."""
        return capture_files(self.pcap or ())

    @property
    def targets(self) -> list[Path]:
        """The files to write, without the qlogs, whose names depend on the flows."""
        files = (self.trace, self.packets, self.messages, *self.captures.values(), self.plot)
        return [path for path in files if path is not None]

    @property
    def events(self) -> list[str]:
        """The events that qlogs have; none: all."""
        return [event.strip() for text in self.qlog_events or [] for event in text.split(",") if event.strip()]

    def check(self) -> None:
        """Check, before the run, that the files can be written after it. Raises BadInput."""
        for option, path in (("--trace", self.trace), ("--packets", self.packets), ("--messages", self.messages)):
            if path is not None:
                check_table(path, option)
        if self.qlog_events is not None and self.qlog is None:
            raise BadInput("--qlog-events: selects what --qlog writes; add --qlog FOLDER")
        for event in self.events:
            if not re.fullmatch(r"[a-z0-9_]+(:[a-z0-9_]+)?", event):
                raise BadInput(f"--qlog-events {event}: must be a category or an event, such as recovery:packet_lost")
        targets = self.targets
        if self.plot is not None:
            check_picture(self.plot)
        check_targets(targets)


NO_FILES = Files()
SEPARATOR = "\x1e"
"""What precedes each record of a JSON text sequence (RFC 7464)."""
NAME = re.compile(r'"name":"([^"]*)"')
"""The name of an event in a record of a qlog."""


def write_files(files: Files, scenario: Scenario, result: Result, *, seed: int | None, size: Size | None) -> list[Path]:
    """Write the files of a finished run; `seed` is that of the command line, `size` that of the figure.

    Returns their paths.
    """
    if files.trace is not None or files.packets is not None or files.messages is not None:
        from ackclock.apps.view.recorded import metadata
        from ackclock.apps.view.recording import about
        from ackclock.base import frames

        description = about(scenario, result, seed)
    if files.trace is not None:
        frame = result.trace if files.trace_every == "ack" else frames.changes(result.trace)
        write_frame(frame, files.trace, metadata(description, files.trace_every))
    if files.packets is not None:
        from ackclock.draw.traces import capacities

        write_frame(result.packets, files.packets, metadata(description) | capacities(result))
    if files.messages is not None:
        write_frame(result.messages, files.messages, metadata(description))
    if files.plot is not None:
        from ackclock.draw.runs import overview
        from ackclock.draw.style import fitted

        figure = fitted(lambda: overview(result, title=scenario.title), size)
        save_figure(figure, files.plot)
    qlogs: dict[Path, bytes] = {}
    if files.qlog is not None:
        files.qlog.mkdir(parents=True, exist_ok=True)
        for flow, logs in result.qlogs.items():
            name = quote(flow, safe=" ")  # bytes that a file name cannot have are written as in a URL
            for end, text in zip(("sender", "receiver"), logs, strict=True):
                qlogs[files.qlog / f"{name}-{end}.sqlog"] = _selected(text, files.events).encode()
    captures = {path: result.captures[place] for place, path in files.captures.items()}
    for path, content in (captures | qlogs).items():
        write_bytes(path, content)
    return [*files.targets, *qlogs]


def _selected(log: str, events: Sequence[str]) -> str:
    """A qlog with its head and the events of these names or categories."""
    if not events:
        return log
    _, head, *records = log.split(SEPARATOR)
    return "".join(SEPARATOR + record for record in (head, *(r for r in records if _is_of(r, events))))


def _is_of(record: str, events: Sequence[str]) -> bool:
    match = NAME.search(record)
    return match is not None and any(name in {match[1], match[1].partition(":")[0]} for name in events)


def capture_files(texts: Sequence[str]) -> dict[str, Path]:
    """The file of each place of `--pcap`. Raises BadInput if a place is given twice."""
    places = [_place(text) for text in texts]
    if len(dict(places)) < len(places):
        raise BadInput("--pcap: a place is given twice")
    return dict(places)


def _place(text: str) -> tuple[str, Path]:
    """Split the value of `--pcap` into place and file."""
    place, equals, file = text.rpartition("=")
    if not file or (equals and not place):
        raise BadInput(
            f"--pcap {text}: must be FILE or PLACE=FILE, such as bottleneck.pcapng or r1->r2=bottleneck.pcapng"
        )
    return place, Path(file)
