"""A recorded run for the page: its names, its outcome, and the columns of its window trace and its packet log."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from ackclock.apps import share
from ackclock.apps.view.columns import Column, pack
from ackclock.base.files import BadInput
from ackclock.base.languages import LANGUAGES
from ackclock.base.link import LARGEST, Shared
from ackclock.base.source import Source
from ackclock.base.text import shown
from ackclock.result import Result, Trace
from ackclock.scenario import Scenario
from ackclock.study.plan import ENGINE

if TYPE_CHECKING:
    import polars as pl

KEY = "ackclock"
"""The entry of a Parquet file's metadata that holds the metadata of its run."""
MOST_TEXT = 24_000_000
"""Characters that the columns of a recording may take in a page."""
MOST_MEMORY = 400_000_000
"""Bytes that its columns may take in the memory of a browser."""
MOST_CAUSES = 500
"""Maximum number of reductions of windows whose causes a recording has."""
MOST_CAUSES_TEXT = 4_000_000
"""Maximum number of characters that they take."""
NUMBERS = ("time_s", "cwnd", "ssthresh", "in_flight", "rtt_s", "ack")
"""Columns of the window trace that the page draws; also the internal values of controllers."""
NOT_DRAWN = {"flow", "event", "phase", "cause", "pacing_bps", "app_limited", *NUMBERS}
"""Columns of the window trace that are not internal values."""
LOG = {"time_s": 8, "link": 4, "event": 1, "reason": 1, "flow": 4, "kind": 1, "seq": 8}
"""Columns of the packet log that the page draws, with the bytes of a value in its memory."""


class RunMetadata(TypedDict, total=False):
    """What a window trace and a packet log do not say about their run. Files of `ackclock run` have it as metadata."""

    version: str
    engine: str
    title: str
    file: str
    seed: int
    duration_s: float
    shared: Shared
    """The scenario; without its files if a link cannot hold it."""
    geometry: Shared | None
    """The scenario with `reno` in place of controllers in Python, from which the page draws the network."""
    python: list[str]
    """Controllers in Python: FILE:CLASS."""
    flows: list[str]
    flow_ends: list[list[str]]
    segment_bytes: list[int | None]
    links: list[str]
    outcome: dict[str, Any] | None
    fingerprint: str


class Recording(TypedDict):
    """A recorded run, as the page reads it (`web/src/core/recorded.ts`)."""

    v: int
    about: RunMetadata
    trace: Trace
    notes: list[str]
    """What is missing in it, and how it can be had."""
    codes: dict[str, list[str]]
    """What the numbers of the packet log's columns stand for."""
    windows: dict[str, Column]
    internals: dict[str, Column]
    packets: dict[str, Column] | None
    causes: list[dict[str, Any]] | None
    """Explanations of reductions of windows (`ackclock why --json`), in the order of time; None: not recorded."""
    causes_until_s: float
    """The time up to which `causes` has all of them, seconds."""


def about(scenario: Scenario, result: Result, seed: int | None) -> RunMetadata:
    """What the page shows of a run besides its logs."""
    outcome = json.loads(result.json)
    outcome["engine"] |= {"cpu_s": None, "wall_s": None}  # equal runs give equal files
    facts = scenario.facts()
    python = facts.controllers
    drawable = _drawable(scenario.source, facts.document) if python else None
    names = result.members
    return RunMetadata(
        version=outcome["version"],
        engine=ENGINE,
        title=scenario.title,
        file=Path(scenario.file).name,
        seed=outcome["seed"],
        duration_s=outcome["duration_s"],
        shared=_shared(scenario, seed),
        geometry=None if drawable is None else _linked(drawable, seed),
        python=python,
        **names,
        outcome=outcome,
        fingerprint=result.fingerprint,
    )


def _linked(scenario: Scenario, seed: int | None) -> Shared | None:
    """The content of a link to a scenario; None if a link cannot hold it."""
    try:
        shared = share.written(scenario, seed)
    except (BadInput, OSError):
        return None
    shared["engine"] = ENGINE
    return shared


def _shared(scenario: Scenario, seed: int | None) -> Shared:
    """The content of a link to a scenario; without the files that it names if a link cannot hold them."""
    whole = _linked(scenario, seed)
    if (
        whole is not None
        and sum(len(content.get("base64", "")) for content in whole.get("files", {}).values()) < LARGEST
    ):
        return whole
    bare: Shared = {"v": 1, "text": scenario.text}
    if assignments := [*scenario.source.assignments, *map(str, scenario.overrides)]:
        bare["set"] = assignments
    if seed is not None:
        bare["seed"] = seed
    return bare


def _drawable(source: Source, document: dict[str, Any]) -> Scenario | None:
    """The scenario with a controller that the page has in place of those in files; None if it cannot run so."""
    import tomli_w

    def replaced(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                k: "reno" if isinstance(v, dict) and not v.keys().isdisjoint(LANGUAGES) else replaced(v)
                for k, v in value.items()
            }
        return [replaced(item) for item in value] if isinstance(value, list) else value

    try:
        return Scenario.read(source.with_text(tomli_w.dumps(replaced(document))))
    except (BadInput, OSError, ValueError):  # ScenarioError is a ValueError
        return None


def record(scenario: Scenario, seed: int | None, progress: Callable[[float], object] | None = None) -> Recording:
    """Run a scenario and record it: every ACK and every packet, or less of it if that is too large for a page.

    Raises BadInput if even the changes of the windows are too large.
    """
    result = scenario.run(seed=seed, trace="ack", packets=True, fingerprint=True, causes=MOST_CAUSES, progress=progress)
    recorded = _of_result(scenario, result, seed)
    causes, until_s = [asdict(cause) for cause in result.causes], result.causes_until_s
    sizes = list(accumulate(len(json.dumps(cause)) for cause in causes))
    fitting = sum(size <= MOST_CAUSES_TEXT for size in sizes)
    if fitting < len(causes):
        until_s = causes[fitting]["time_s"] - 1e-12
    recorded["causes"], recorded["causes_until_s"] = causes[:fitting], until_s
    if until_s < scenario.duration_s:
        recorded["notes"].append(f"The causes of reductions of windows are recorded up to {until_s:.6g} s.")
    return recorded


def _of_result(scenario: Scenario, result: Result, seed: int | None) -> Recording:
    from ackclock.base import frames

    metadata = about(scenario, result, seed)
    without = "The packets of this run are too many for a page; record a shorter run with --set duration=..."
    coarse = "Every ACK of this run is too much for a page: the recording has the changes of the windows."
    try:
        return recording(metadata, result.trace, "ack", result.packets)
    except BadInput:
        pass
    try:
        return recording(metadata, result.trace, "ack", None, [without])
    except BadInput:
        return recording(metadata, frames.changes(result.trace), "changes", None, [without, coarse])


def recording(
    about: RunMetadata,
    windows: pl.DataFrame | None,
    trace: Trace,
    packets: pl.DataFrame | None,
    notes: Sequence[str] = (),
) -> Recording:
    """A recorded run from its tables. Raises BadInput if it is too large for a page, with what can be done."""
    named = windows is not None and windows.height > 0
    drawn = [c for c in windows.columns if c not in NOT_DRAWN] if windows is not None else []
    memory = (len(NUMBERS) + len(drawn)) * 8 * (windows.height if windows is not None else 0)
    memory += sum(LOG.values()) * (packets.height if packets is not None else 0)
    if memory > MOST_MEMORY:
        raise _too_large(f"{memory / 1e6:,.0f} MB of the browser's memory, more than {MOST_MEMORY / 1e6:,.0f} MB")
    import polars as pl

    from ackclock.base import frames

    codes = frames.codes()
    recorded = Recording(
        v=1,
        about=about,
        trace=trace if named else "off",
        notes=list(notes),
        codes={name: codes[name] for name in ("packet_event", "reason", "kind")},
        windows={},
        internals={},
        packets=None,
        causes=None,
        causes_until_s=0.0,
    )
    if windows is not None and named:
        recorded["windows"] = {name: pack(_numbers(windows[name])) for name in NUMBERS if name in windows.columns}
        recorded["windows"]["flow"] = pack(_codes(windows["flow"], about["flows"]))
        recorded["internals"] = {name: pack(_numbers(windows[name])) for name in drawn}
    if packets is not None and packets.height:
        lists = {"link": about["links"], "flow": about["flows"], "event": codes["packet_event"]}
        lists |= {"reason": codes["reason"], "kind": codes["kind"]}
        empty = pl.Series("reason", [None] * packets.height, dtype=pl.String)  # no packet was dropped
        each = {name: packets[name] if name in packets.columns else empty for name in LOG}
        recorded["packets"] = {
            name: pack(_codes(column, lists[name]) if name in lists else _numbers(column))
            for name, column in each.items()
        }
    columns = [*recorded["windows"].values(), *recorded["internals"].values(), *(recorded["packets"] or {}).values()]
    size = sum(len(column["data"]) + len(column.get("missing", "")) for column in columns)
    if size > MOST_TEXT:
        raise _too_large(f"{size / 1e6:,.1f} MB in the page, more than {MOST_TEXT / 1e6:,.0f} MB")
    return recorded


def _too_large(size: str) -> BadInput:
    return BadInput(
        f"the recording takes {size}; record less: a shorter run (--set duration=...), changes of the windows instead "
        "of every ACK (--trace-every changes), or no packets (omit --packets)"
    )


def _numbers(column: pl.Series) -> Any:
    import polars as pl

    if column.dtype in (pl.Int64, pl.Int32, pl.UInt32):
        return column.to_numpy()
    return column.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _codes(column: pl.Series, names: Sequence[str]) -> Any:
    """The number of each name; a missing name has the number after the last. Raises BadInput for an unknown one."""
    import polars as pl

    column = column.cast(pl.String)
    unknown = set(column.unique().drop_nulls().to_list()) - set(names)
    if unknown:
        raise BadInput(f"{column.name} {shown(str(min(unknown)))} is not one of this run; another program wrote it")
    mapped = column.replace_strict(list(names), list(range(len(names))), default=len(names), return_dtype=pl.Int64)
    return mapped.fill_null(len(names)).to_numpy()
