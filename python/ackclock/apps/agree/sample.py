"""One run on one substrate: its numbers, the windows of its flows at even intervals, and the times of its cuts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ackclock.base.text import lost_connections

if TYPE_CHECKING:
    import polars as pl

POINTS = 4000
"""Largest number of samples of a window."""
FINEST_S = 0.01
"""Least interval between samples of a window, seconds."""
CUTS = ("fast_retransmit", "rto", "ecn")
"""Causes (column `cause` of the trace) of the reductions that count as cuts."""
TRANSPORTS = ("tcp", "quic", "attached")
"""Kinds of flows that have a controller."""
FLOW_KEYS = (
    "goodput_bps",
    "throughput_bps",
    "sent_packets",
    "retransmitted_packets",
    "timeouts",
    "window_cuts",
    "mean_delay_s",
    "base_delay_s",
    "min_delay_s",
    "p95_delay_s",
)
"""Numbers of a flow's outcome that the metrics use."""
LINK_KEYS = ("utilisation", "delivered_packets", "mean_queue_packets")


@dataclass
class Curve:
    """The window of one flow: samples at `start_s + i step_s`, segments, and the times of its cuts, seconds."""

    start_s: float
    step_s: float
    cwnd: list[float]
    cuts_s: list[float]

    @property
    def times(self) -> np.ndarray:
        """Times of the samples, seconds."""
        return self.start_s + self.step_s * np.arange(len(self.cwnd))


@dataclass
class Sample:
    """A run: numbers of flows and links (SI units, keys as in the outcome), windows by flow, and the validity.

    `validity` has at least `valid` and `reasons`. It is null for a run in virtual time, unless a flow lost its
    connection: such a run is not valid.
    """

    seed: int
    duration_s: float
    flows: dict[str, dict[str, Any]]
    links: dict[str, dict[str, Any]]
    curves: dict[str, Curve]
    validity: dict[str, Any] | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def valid(self) -> bool:
        """Whether the run may be used: it followed the clock, if there is one, and no flow lost its connection."""
        return self.validity is None or bool(self.validity["valid"])

    def plain(self) -> dict[str, Any]:
        """The sample as JSON data."""
        from dataclasses import asdict

        return asdict(self)

    @classmethod
    def restored(cls, data: Mapping[str, Any]) -> Sample:
        """The sample from its JSON data. Raises KeyError or TypeError if they are not a sample's."""
        curves = {name: Curve(**curve) for name, curve in data["curves"].items()}
        return cls(**{**data, "curves": curves})


def from_outcome(
    outcome: Mapping[str, Any], trace: pl.DataFrame, seed: int, validity: Mapping[str, Any] | None = None
) -> Sample:
    """The sample of a run, from its outcome (docs/outcome.md) and its window trace."""
    flows = {
        flow["name"]: {key: flow.get(key) for key in FLOW_KEYS}
        for flow in outcome["flows"]
        if flow["kind"] in TRANSPORTS
    }
    links = {
        link["name"]: {key: link.get(key) for key in LINK_KEYS} | {"dropped": sum(link["dropped_packets"].values())}
        for link in outcome.get("links") or ()
    }
    duration = float(outcome["duration_s"])
    curves = {}
    groups = trace.group_by("flow", maintain_order=True) if trace.height and "flow" in trace.columns else ()
    parts = {str(name): rows for (name,), rows in groups} or ({next(iter(flows)): trace} if trace.height else {})
    for name, rows in parts.items():
        if name in flows:
            curves[name] = _curve(rows, float(outcome.get("warmup_s") or 0.0), duration)
    stamp = None if validity is None else dict(validity)
    if lost := lost_connections(outcome):
        stamp = {**(stamp or {}), "valid": False, "reasons": [*(stamp or {}).get("reasons", ()), *lost]}
    return Sample(seed, duration, flows, links, curves, stamp)


def _curve(rows: pl.DataFrame, warmup_s: float, duration_s: float) -> Curve:
    """The window from the flow's start, or from the end of the warm-up if that is later."""
    times, windows = rows["time_s"].to_numpy(), rows["cwnd"].to_numpy()
    start = max(float(times[0]), warmup_s)
    step = max(FINEST_S, (duration_s - start) / POINTS)
    at = start + step * np.arange(max(1, math.floor((duration_s - start) / step)))
    # Of several rows at one time the last one counts.
    values = windows[np.searchsorted(times, at, side="right") - 1]
    cuts = [round(x, 6) for x in _cuts(rows) if x >= start]
    return Curve(start, step, [round(float(x), 4) for x in values], cuts)


def _cuts(rows: pl.DataFrame) -> list[float]:
    """Times of the cuts: by their causes, or, in a trace without causes, of falls by a tenth or more."""
    import polars as pl

    if "cause" in rows.columns:
        return rows.filter(pl.col("cause").is_in(CUTS))["time_s"].to_list()
    return falls(rows["time_s"].to_list(), rows["cwnd"].to_list())


def falls(times: Sequence[float], windows: Sequence[float]) -> list[float]:
    """Times at which a window has fallen by a tenth of its last peak, once for each descent."""
    times_of_falls = []
    peak, lowest = 0.0, math.inf
    for time, window in zip(times, windows, strict=True):
        if lowest < math.inf:  # in a descent: it ends when the window grows again
            lowest = min(lowest, window)
            if window > 1.02 * lowest:
                peak, lowest = window, math.inf
        peak = max(peak, window)
        if lowest == math.inf and window <= 0.9 * peak:
            times_of_falls.append(time)
            lowest = window
    return times_of_falls
