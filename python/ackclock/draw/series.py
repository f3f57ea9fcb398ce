"""Time series for figures, from window traces and packet events (docs/outcome.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import polars as pl

MOST_POINTS = 6_000
"""Points of a curve as drawn."""


@dataclass(frozen=True)
class Series:
    """Values over time. `time_s` increases."""

    time_s: np.ndarray
    values: np.ndarray

    def between(self, start_s: float, end_s: float) -> Series:
        """The part in an interval. The value that holds at its start is kept."""
        first = max(int(np.searchsorted(self.time_s, start_s, side="right")) - 1, 0)
        last = int(np.searchsorted(self.time_s, end_s, side="right"))
        time = self.time_s[first:last]
        return Series(np.maximum(time, start_s), self.values[first:last])

    def thinned(self, most: int = MOST_POINTS) -> Series:
        """At most about `most` points: the first, smallest, largest and last value of each of equal parts.

        Unlike every n-th point, these keep all peaks.
        """
        n = len(self.time_s)
        if n <= most:
            return self
        keep = set()
        for part in np.array_split(np.arange(n), most // 4):
            part_values = self.values[part]
            keep |= {int(part[0]), int(part[-1])}
            if not np.all(np.isnan(part_values)):
                keep |= {int(part[np.nanargmin(part_values)]), int(part[np.nanargmax(part_values)])}
        rows = np.array(sorted(keep))
        return Series(self.time_s[rows], self.values[rows])

    def held(self, times: np.ndarray) -> np.ndarray:
        """The last value at each time; NaN before the first and after the last."""
        if not len(self.time_s):
            return np.full(len(times), np.nan)
        rows = np.searchsorted(self.time_s, times, side="right") - 1
        inside = (rows >= 0) & (times <= self.time_s[-1])
        return np.where(inside, self.values[np.maximum(rows, 0)], np.nan)

    def quantiles(self, edges: np.ndarray, shares: Sequence[float]) -> np.ndarray:
        """The quantiles of the values in each bin: a row for each share; NaN in bins with fewer than 3 values."""
        result = np.full((len(shares), len(edges) - 1), np.nan)
        rows = np.searchsorted(self.time_s, edges)
        for i, (first, last) in enumerate(pairwise(rows)):
            if last - first >= 3:
                result[:, i] = np.quantile(self.values[first:last], shares)
        return result


def of_equal_times(end_s: float, values: np.ndarray) -> Series:
    """Values at equal times from 0 to `end_s`."""
    return Series(np.linspace(0.0, end_s, len(values)), values)


@dataclass(frozen=True, eq=False)
class Recording:
    """What was recorded of one run: the window trace, the packet events, or both."""

    label: str
    trace: pl.DataFrame | None = None
    packets: pl.DataFrame | None = None
    duration_s: float | None = None
    """End of the run, if it is known."""
    order: Sequence[str] = field(default_factory=tuple)
    """Names of the flows in the order of the scenario, if it is known."""
    link: str | None = None
    """The link with the longest queue, if it is known."""
    capacities: Mapping[str, Series] = field(default_factory=dict)
    """For links whose rate varies, the bits that they could have sent until each time, if they are known."""

    @property
    def end_s(self) -> float:
        """End of the run, or of what was recorded."""
        if self.duration_s is not None:
            return self.duration_s
        frames = [f for f in (self.trace, self.packets) if f is not None and len(f)]
        return max((float(np.max(f["time_s"].to_numpy())) for f in frames), default=0.0)

    @property
    def flows(self) -> list[str]:
        """Names of the flows: in the order of the scenario, otherwise in that of their first events."""
        if self.order:
            return list(self.order)
        names: dict[str, None] = {}
        for frame in (self.trace, self.packets):
            if frame is not None and "flow" in frame.columns:
                names |= dict.fromkeys(frame["flow"].unique(maintain_order=True).to_list())
        return [name for name in names if name is not None]

    def capacity(self, link: str, edges: np.ndarray) -> np.ndarray | None:
        """The rate of a link in each bin, bit/s; None if it does not vary, or if it is not known."""
        bits = self.capacities.get(link)
        if bits is None:
            return None
        rates: np.ndarray = np.diff(np.interp(edges, bits.time_s, bits.values)) / np.diff(edges)
        return rates

    def column(self, flow: str, column: str) -> Series:
        """The values of a flow in a column of the trace, without the rows that have none."""
        if self.trace is None or column not in self.trace.columns:
            return Series(np.empty(0), np.empty(0))
        rows = self.trace.filter((pl.col("flow") == flow) & pl.col(column).is_not_null())
        return Series(rows["time_s"].to_numpy(), rows[column].cast(pl.Float64).to_numpy())


def _change() -> pl.Expr:
    """By how much an event changes the number of packets that a link holds; disciplines may drop waiting packets."""
    left = (pl.col("event") == "depart") | ((pl.col("event") == "drop") & (pl.col("reason") == "aqm"))
    return pl.when(pl.col("event") == "enqueue").then(1.0).when(left).then(-1.0).otherwise(0.0)


def queue_length(packets: pl.DataFrame, link: str, *, in_bytes: bool = False) -> Series:
    """The number of packets, or of bytes, that a link holds, waiting or in transmission, after each of its events."""
    change = _change() * pl.col("size") if in_bytes else _change()
    moves = packets.filter(pl.col("link") == link).select("time_s", change.alias("change"))
    moves = moves.filter(pl.col("change") != 0.0)
    return Series(moves["time_s"].to_numpy(), np.cumsum(moves["change"].to_numpy()))


def drops(packets: pl.DataFrame, link: str) -> np.ndarray:
    """The times at which the queue of a link dropped packets, seconds."""
    refused = (pl.col("link") == link) & (pl.col("event") == "drop") & pl.col("reason").is_in(["queue", "aqm"])
    return packets.filter(refused)["time_s"].to_numpy()


def longest_queue(packets: pl.DataFrame) -> str | None:
    """The link with the largest mean queue; none if nothing was queued."""
    # The integral of the length over time: a packet adds the time between its two events.
    end = float(np.max(packets["time_s"].to_numpy())) if len(packets) else 0.0
    left = end - pl.col("time_s")
    signed = _change() * left
    areas = packets.lazy().group_by("link").agg(signed.sum().alias("area")).sort("area", "link").collect()
    return str(areas["link"][-1]) if len(areas) else None


def arrivals(packets: pl.DataFrame) -> pl.DataFrame:
    """The first arrival of each data packet at its flow's sink: `flow`, `seq`, `time_s`, `size` (bytes on the wire).

    The sink is the node that most of a flow's packets reached last. Packets in flight at the end did not arrive.
    """
    links = packets["link"].unique().to_list()
    ends = [link.rpartition("->")[2] for link in links]
    number = {node: i for i, node in enumerate(dict.fromkeys(ends))}
    node = pl.col("link").replace_strict(links, [number[end] for end in ends], return_dtype=pl.Int32)
    delivered = packets.lazy().filter((pl.col("event") == "deliver") & (pl.col("kind") == "data"))
    data = delivered.select("time_s", "flow", "seq", "size", node.alias("node")).collect()
    if not data["time_s"].is_sorted():  # the core writes events in order; a file may have another one
        data = data.sort("time_s")
    last = data.lazy().group_by("flow", "seq").agg(pl.col("node").last())
    sinks = last.group_by("flow").agg(pl.col("node").mode().sort().first())
    received = data.lazy().join(sinks, on=["flow", "node"], how="semi")
    first = received.group_by("flow", "seq").agg(pl.col("time_s").min(), pl.col("size").max().cast(pl.Float64))
    return first.sort("time_s", "flow", "seq").collect()


def rate(times: np.ndarray, sizes: np.ndarray, edges: np.ndarray, life: tuple[float, float]) -> np.ndarray:
    """The rate in each bin, bit/s; NaN in bins that do not lie wholly within a flow's life.

    Part of a bin before the flow's start or after its end, or after the end of the run, would lower its rate.
    """
    bits, _ = np.histogram(times, bins=edges, weights=sizes * 8.0)
    width = np.diff(edges)
    spare = 0.02 * width
    whole = (edges[:-1] >= life[0] - spare) & (edges[1:] <= life[1] + spare)
    return np.where(whole, bits / width, np.nan)


def lives(packets: pl.DataFrame) -> dict[str, tuple[float, float]]:
    """The times of the first and the last packet event of each flow, seconds."""
    spans = packets.group_by("flow").agg(pl.col("time_s").min().alias("first"), pl.col("time_s").max().alias("last"))
    return {row["flow"]: (row["first"], row["last"]) for row in spans.to_dicts()}
