"""Columns from the core as polars frames, without copying numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from ackclock import _core

NO_MCS = 255


def codes() -> dict[str, list[str]]:
    """What the numbers of the logs' columns stand for."""
    return _core.codes()


def _numbers(column: Any, dtype: Any) -> Any:
    return np.frombuffer(column, dtype=dtype)


def _names(name: str, codes: Any, names: list[str]) -> pl.Series:
    """Convert codes to names; a code without a name becomes null."""
    lookup = pl.Series(name, [*names, None], dtype=pl.String)
    indices = np.minimum(codes.astype(np.uint32), len(names))
    return lookup.gather(pl.Series(indices)).alias(name)


def _flags(name: str, codes: Any) -> pl.Series:
    """Convert 0 and 1 to false and true; another code becomes null."""
    return pl.Series(name, [False, True, None], dtype=pl.Boolean).gather(pl.Series(np.minimum(codes, 2))).alias(name)


def windows(finished: _core.Finished | _core.FinishedLive) -> pl.DataFrame:
    """The window trace; see docs/outcome.md for the columns."""
    columns, codes = finished.windows, _core.codes()
    series = [
        pl.Series("time_s", _numbers(columns["time_s"], np.float64)),
        _names("flow", _numbers(columns["flow"], np.uint32), finished.flow_names),
        _names("event", _numbers(columns["event"], np.uint8), codes["trace_event"]),
        pl.Series("cwnd", _numbers(columns["cwnd"], np.float64)),
        pl.Series("ssthresh", _numbers(columns["ssthresh"], np.float64)),
        pl.Series("ack", _numbers(columns["ack"], np.int64)),
        pl.Series("rtt_s", _numbers(columns["rtt_s"], np.float64), nan_to_null=True),
        pl.Series("in_flight", _numbers(columns["in_flight"], np.float64)),
        _names("phase", _numbers(columns["phase"], np.uint8), codes["phase"]),
        _names("cause", _numbers(columns["cause"], np.uint8), codes["cause"]),
        pl.Series("pacing_bps", _numbers(columns["pacing_bps"], np.float64), nan_to_null=True),
        _flags("app_limited", _numbers(columns["app_limited"], np.uint8)),
    ]
    internals = columns["internals"]
    assert isinstance(internals, dict)
    series += [pl.Series(name, _numbers(column, np.float64), nan_to_null=True) for name, column in internals.items()]
    return pl.DataFrame(series)


def states(finished: _core.Finished) -> pl.DataFrame:
    """The transitions of controllers; see docs/outcome.md for the columns."""
    schema = {"time_s": pl.Float64, "flow": pl.String, "from": pl.String, "to": pl.String, "why": pl.String}
    names = finished.flow_names
    rows = [(time_s, names[flow], *words) for time_s, flow, *words in finished.states]
    return pl.DataFrame(rows, schema, orient="row")


def packets(finished: _core.Finished | _core.FinishedEmulation, flow: str | None = None) -> pl.DataFrame:
    """Every packet event, or those of one flow; see docs/outcome.md for the columns."""
    columns, codes = finished.packets, _core.codes()
    if not columns:
        return pl.DataFrame()
    flows = _numbers(columns["flow"], np.uint32)
    rows = slice(None) if flow is None else np.flatnonzero(flows == finished.flow_names.index(flow))

    def column(name: str, dtype: Any) -> Any:
        return _numbers(columns[name], dtype)[rows]

    return pl.DataFrame(
        [
            pl.Series("time_s", column("time_s", np.float64)),
            _names("link", column("link", np.uint32), finished.link_names),
            _names("event", column("event", np.uint8), codes["packet_event"]),
            _names("reason", column("reason", np.uint8), codes["reason"]),
            _names("flow", column("flow", np.uint32), finished.flow_names),
            _names("kind", column("kind", np.uint8), codes["kind"]),
            pl.Series("seq", column("seq", np.int64)),
            pl.Series("size", column("size", np.int32)),
            pl.Series("marked", column("marked", np.uint8)).cast(pl.Boolean),
        ]
    )


def transmissions(finished: _core.Finished) -> pl.DataFrame:
    """Every transmission on Wi-Fi channels and in cells; see docs/outcome.md for the columns."""
    columns = finished.transmissions
    counts = [pl.Series(name, _numbers(columns[name], np.uint32)) for name in ("packets", "arrived", "attempt")]
    return pl.DataFrame(
        [
            pl.Series("begin_s", _numbers(columns["begin_s"], np.float64)),
            pl.Series("end_s", _numbers(columns["end_s"], np.float64)),
            _names("link", _numbers(columns["link"], np.uint32), finished.link_names),
            _names("kind", _numbers(columns["kind"], np.uint8), _core.codes()["transmission"]),
            _names("access", _numbers(columns["access"], np.uint8), _core.codes()["access"]),
            *counts,
            pl.Series("mcs", _numbers(columns["mcs"], np.uint8)).replace(NO_MCS, None),
            pl.Series("collided", _numbers(columns["collided"], np.uint8)).cast(pl.Boolean),
            pl.Series("share", _numbers(columns["share"], np.float64)),
        ]
    )


def messages(finished: _core.Finished, outcome: Mapping[str, Any]) -> pl.DataFrame:
    """Every message of the applications of a run; see docs/outcome.md for the columns."""
    columns = finished.messages
    if not columns:
        return pl.DataFrame()
    kinds = {flow["name"]: flow["app"]["kind"] for flow in outcome["flows"] if flow.get("app")}
    flow = pl.Series("flow", columns["flow"], dtype=pl.String)
    times = [
        pl.Series(name, _numbers(columns[name], np.float64), nan_to_null=True)
        for name in ("start_s", "first_s", "end_s", "ideal_s")
    ]
    duration_s = pl.col("end_s") - pl.col("start_s")
    return pl.DataFrame(
        [
            flow,
            pl.Series("number", _numbers(columns["number"], np.uint32)),
            pl.Series("kind", [kinds.get(name) for name in columns["flow"]], dtype=pl.String),
            pl.Series("connection", _numbers(columns["connection"], np.uint32)),
            pl.Series("bytes", _numbers(columns["bytes"], np.uint64)),
            *times,
            pl.Series("state", columns["state"], dtype=pl.String),
        ]
    ).select(
        *("flow", "number", "kind", "connection", "bytes", "start_s", "first_s", "end_s", "ideal_s"),
        (duration_s / pl.col("ideal_s")).alias("slowdown"),
        "state",
        pl.when(duration_s > 0).then(8 * pl.col("bytes") / duration_s).alias("rate_bps"),
    )


def changes(trace: pl.DataFrame) -> pl.DataFrame:
    """Select the rows of a per-ACK trace at which a flow's window or threshold changed or a hand-off occurred."""
    moved = (
        (pl.col("cwnd") != pl.col("cwnd").shift(1).over("flow"))
        | (pl.col("ssthresh") != pl.col("ssthresh").shift(1).over("flow"))
        | pl.col("cwnd").shift(1).over("flow").is_null()
        | (pl.col("event").cast(pl.String) == "handoff")
    )
    return trace.filter(moved)
