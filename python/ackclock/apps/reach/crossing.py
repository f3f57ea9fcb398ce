"""What crossed an emulated network: the programs' packets in both directions, and the links over time.

From packet events (docs/outcome.md). `forward` is from the first flow's source to its destination, `back` the other
way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from ackclock.draw import series

if TYPE_CHECKING:
    from ackclock.apps.reach.emulation import Emulated

DIRECTIONS = {"forward": "data", "back": "ack"}
"""The directions, with the kind of their packets in packet events."""
MOST_BINS = 200
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


@dataclass(frozen=True)
class Direction:
    """The programs' packets in one direction."""

    name: str
    """`forward` or `back`."""
    ends: tuple[str, str]
    """The nodes that they come from and go to."""
    sent_s: np.ndarray
    """When each packet entered the network, seconds."""
    sent_bytes: np.ndarray
    arrived_s: np.ndarray
    """When each packet that has arrived left the network, seconds, in the order of time."""
    arrived_bytes: np.ndarray
    delays_s: np.ndarray
    """How long each of these was in the network."""
    lost_s: np.ndarray
    """When each packet that was dropped was dropped, seconds."""

    @property
    def loss(self) -> float | None:
        """Packets dropped over packets dropped or arrived; those under way at the end do not count."""
        ended = len(self.lost_s) + len(self.arrived_s)
        return len(self.lost_s) / ended if ended else None


@dataclass(frozen=True)
class Crossing:
    """The packets of an emulation from the programs' first packet to the end."""

    begin_s: float
    end_s: float
    directions: Sequence[Direction]
    links: Sequence[str]
    """The links that the programs' packets took, in the order in which they first did."""
    packets: pl.DataFrame
    """The events of all flows on these links."""

    @classmethod
    def of(cls, emulated: Emulated) -> Crossing:
        """The packets of an emulation whose packet events were recorded."""
        every = emulated.packets
        own = every.filter(pl.col("flow") == emulated.flow) if len(every) else every
        links = own["link"].unique(maintain_order=True).to_list() if len(own) else []
        nodes = [end["node"] for end in emulated.report["ends"]]
        directions = [
            _direction(name, (nodes[i], nodes[1 - i]), own.filter(pl.col("kind") == kind) if len(own) else own)
            for i, (name, kind) in enumerate(DIRECTIONS.items())
        ]
        begin = float(own["time_s"][0]) if len(own) else emulated.until_s
        packets = every.filter(pl.col("link").is_in(links)) if len(own) else every
        return cls(begin, max(begin, emulated.until_s), directions, links, packets)

    def queue(self, link: str) -> series.Series:
        """The packets that a link holds, waiting or in transmission, from the begin to the end."""
        return series.queue_length(self.packets, link).between(self.begin_s, self.end_s)

    def delays(self, link: str) -> series.Series:
        """How long each of the programs' packets took over a link, by the time of its arrival, seconds.

        From its arrival at the queue to its arrival at the end of the link.
        """
        events = self.packets.filter((pl.col("link") == link) & pl.col("event").is_in(["enqueue", "deliver"]))
        spans = (
            events.group_by("flow", "kind", "seq", maintain_order=True)
            .agg(pl.col("time_s").first().alias("began"), pl.col("time_s").last().alias("ended"), pl.len())
            .filter(pl.col("len") > 1)
            .sort("ended")
        )
        return series.Series(spans["ended"].to_numpy(), (spans["ended"] - spans["began"]).to_numpy())

    def drops(self) -> Iterator[tuple[str, str, np.ndarray]]:
        """The times of the drops of each link and reason, seconds."""
        dropped = self.packets.filter(pl.col("event") == "drop") if len(self.packets) else self.packets
        if len(dropped):
            for (link, reason), rows in dropped.group_by("link", "reason", maintain_order=True):
                yield str(link), str(reason), rows["time_s"].to_numpy()


def _direction(name: str, ends: tuple[str, str], events: pl.DataFrame) -> Direction:
    """The packets of a direction. The last event of one that has arrived is a delivery: a next hop would be another."""
    if not len(events):
        nothing = np.empty(0)
        return Direction(name, ends, *(nothing,) * 6)
    each = events.group_by("seq", maintain_order=True).agg(
        pl.col("time_s").first().alias("sent"),
        pl.col("time_s").last().alias("ended"),
        pl.col("event").last(),
        pl.col("size").last(),
    )
    arrived = each.filter(pl.col("event") == "deliver").sort("ended")
    return Direction(
        name,
        ends,
        each["sent"].to_numpy(),
        each["size"].to_numpy(),
        arrived["ended"].to_numpy(),
        arrived["size"].to_numpy(),
        (arrived["ended"] - arrived["sent"]).to_numpy(),
        each.filter(pl.col("event") == "drop")["ended"].sort().to_numpy(),
    )


def quantiles(values: np.ndarray, weights: np.ndarray | None = None) -> dict[str, float | None]:
    """Median, 95th and 99th percentile: the smallest value that this part of the values (or weights) is not above."""
    if not len(values):
        return dict.fromkeys(QUANTILES)
    order = np.argsort(values, kind="stable")
    sums = np.cumsum(np.ones(len(values)) if weights is None else weights[order])
    if sums[-1] <= 0:
        return {name: float(values[-1]) for name in QUANTILES}
    places = {name: np.searchsorted(sums, part * sums[-1] * (1 - 1e-12)) for name, part in QUANTILES.items()}
    return {name: float(values[order[min(place, len(values) - 1)]]) for name, place in places.items()}


def held(queue: series.Series, end_s: float) -> tuple[float, dict[str, float | None]]:
    """The mean of a queue over time and its quantiles, packets."""
    if not len(queue.time_s):
        return 0.0, dict.fromkeys(QUANTILES, 0.0)
    spans = np.diff(np.append(queue.time_s, end_s))
    whole = float(spans.sum())
    mean = float((queue.values * spans).sum() / whole) if whole > 0 else float(queue.values[-1])
    return mean, quantiles(queue.values, spans)


def over_time(crossing: Crossing) -> dict[str, Any]:
    """Series with at most 200 bins of equal width, as JSON data in SI units; None where a bin has no value."""
    bins = MOST_BINS if crossing.end_s > crossing.begin_s else 0
    edges = np.linspace(crossing.begin_s, crossing.end_s, bins + 1)

    def count(times: np.ndarray, weights: np.ndarray | None = None) -> list[int]:
        return [round(x) for x in np.histogram(times, edges, weights=weights)[0].tolist()] if bins else []

    def quantile_series(samples: series.Series) -> dict[str, list[float | None]]:
        rows = np.searchsorted(samples.time_s, edges)
        each = [quantiles(samples.values[a:b]) for a, b in pairwise(rows)]
        return {f"{name}_delay_s": [values[name] for values in each] for name in QUANTILES}

    return {
        "begin_s": crossing.begin_s,
        "width_s": (crossing.end_s - crossing.begin_s) / bins if bins else 0.0,
        "directions": [
            {
                "name": direction.name,
                "from": direction.ends[0],
                "to": direction.ends[1],
                "sent_packets": count(direction.sent_s),
                "sent_bytes": count(direction.sent_s, direction.sent_bytes),
                "received_packets": count(direction.arrived_s),
                "received_bytes": count(direction.arrived_s, direction.arrived_bytes),
                "lost_packets": count(direction.lost_s),
                **quantile_series(series.Series(direction.arrived_s, direction.delays_s)),
            }
            for direction in crossing.directions
        ],
        "links": [_link_over_time(crossing, link, edges, count, quantile_series) for link in crossing.links if bins],
    }


def _link_over_time(crossing: Crossing, link: str, edges: np.ndarray, count: Any, delays: Any) -> dict[str, Any]:
    rows = crossing.packets.filter(pl.col("link") == link)
    departed = rows.filter(pl.col("event") == "depart")
    return {
        "name": link,
        "mean_queue_packets": _mean_held(series.queue_length(rows, link), edges),
        "mean_queue_bytes": _mean_held(series.queue_length(rows, link, in_bytes=True), edges),
        "sent_packets": count(departed["time_s"].to_numpy()),
        "sent_bytes": count(departed["time_s"].to_numpy(), departed["size"].to_numpy()),
        "dropped_packets": {reason: count(times) for name, reason, times in crossing.drops() if name == link},
        **delays(crossing.delays(link)),
    }


def _mean_held(queue: series.Series, edges: np.ndarray) -> list[float]:
    """The mean of a curve of steps in each bin."""
    if not len(queue.time_s):
        return [0.0] * (len(edges) - 1)
    # The integral up to each edge, by interpolation between the points of the curve.
    areas = np.concatenate([[0.0], np.cumsum(queue.values[:-1] * np.diff(queue.time_s))])
    rows = np.searchsorted(queue.time_s, edges, side="right") - 1
    inside = np.maximum(rows, 0)
    after = np.where(rows >= 0, areas[inside] + queue.values[inside] * (edges - queue.time_s[inside]), 0.0)
    return [float(x) for x in np.diff(after) / np.diff(edges)]
