"""The metrics of a suite. Each is a number of one run, computed from its outcome."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ackclock import stats
from ackclock.files import BadInput

if TYPE_CHECKING:
    from ackclock.suite.situation import Situation

Row = Mapping[str, Any]
"""The outcome of a run."""


@dataclass(frozen=True)
class RunData:
    """The data of one run from which the metrics of a situation are computed."""

    situation: Situation
    row: Row
    base: Mapping[str, float]
    """The smallest delay of each flow over all runs of this point, seconds."""
    standard: Row | None
    """The outcome of the same run with the standard controller, if the situation has the metric `rivals_kept`."""

    def flows(self, prefix: str) -> list[Row]:
        """The flows whose names begin with `prefix`; none if it is empty."""
        return [flow for flow in self.row["flows"] if prefix and flow["name"].startswith(prefix)]

    @property
    def tested(self) -> list[Row]:
        """The flows under test."""
        return self.flows(self.situation.tested)

    @property
    def link(self) -> Row:
        """The bottleneck link of the situation."""
        for link in self.row["links"]:
            if link["name"] == self.situation.bottleneck:
                return link  # type: ignore[no-any-return]
        known = ", ".join(link["name"] for link in self.row["links"][:8])
        raise BadInput(f"situation {self.situation.id}: no bottleneck {self.situation.bottleneck!r}; there are {known}")


@dataclass(frozen=True)
class Metric:
    """A metric: unit, better direction (1: higher, -1: lower, 0: neither), description, and function.

    `factor` converts the function's value to `unit`.
    """

    unit: str
    better: int
    words: str
    find: Callable[[RunData], float | None]
    factor: float = 1.0
    most: float = math.inf
    """The largest possible value, in `unit`; the smallest is 0."""
    least: float = 0.0
    """Differences of values below this, in `unit`, are of no account when differences are ranked."""


def _sum(flows: Sequence[Row], key: str) -> float:
    return float(sum(flow[key] or 0 for flow in flows))


def _mean(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else None


def _ratio(above: float, below: float) -> float | None:
    return above / below if below > 0 else None


def _queueing(view: RunData, flows: Sequence[Row]) -> float | None:
    """95th percentile of the delay above that of an empty path, mean over flows.

    If the path changes (satellites, radio), the reference is the smallest delay that the flow had.
    """
    late = []
    for flow in flows:
        base = flow["base_delay_s"] if flow["base_delay_s"] is not None else view.base.get(flow["name"])
        if base is not None and flow["p95_delay_s"] is not None:
            late.append(max(0.0, flow["p95_delay_s"] - base))
    return _mean(late)


def _loss(flows: Sequence[Row]) -> float | None:
    """Fraction of sent packets that did not arrive as new data."""
    sent = _sum(flows, "sent_packets")
    ratios = [(flow["delivery_ratio"], flow["sent_packets"]) for flow in flows]
    arrived = sum(ratio * packets for ratio, packets in ratios if ratio is not None)
    return None if sent == 0 else max(0.0, 1 - arrived / sent)  # rounding can make it negative


def _share(view: RunData) -> float | None:
    """Mean goodput of the tested flows divided by that of all flows; 1 is an equal share."""
    others = view.flows(view.situation.rivals)
    mine, all_of_them = view.tested, view.tested + others
    if not mine or not others:
        return None
    fair = _sum(all_of_them, "goodput_bps") / len(all_of_them)
    return _ratio(_sum(mine, "goodput_bps") / len(mine), fair)


def _rivals_kept(view: RunData) -> float | None:
    """Goodput of the rivals against the tested controller, divided by that against the standard controller."""
    if view.standard is None:
        return None
    prefix = view.situation.rivals
    beside = [flow for flow in view.standard["flows"] if flow["name"].startswith(prefix)]
    return _ratio(_sum(view.flows(prefix), "goodput_bps"), _sum(beside, "goodput_bps"))


def _completion(flows: Sequence[Row]) -> float | None:
    """Geometric mean over the flows that ended."""
    ended = [flow["completion_s"] for flow in flows if flow["completion_s"]]
    return math.exp(sum(map(math.log, ended)) / len(ended)) if ended else None


def _finished(flows: Sequence[Row]) -> float | None:
    return _ratio(sum(flow["completion_s"] is not None for flow in flows), len(flows))


METRICS: dict[str, Metric] = {
    "goodput": Metric(
        "Mb/s", 1, "payload of the tested flows", lambda v: _sum(v.tested, "goodput_bps"), 1e-6, least=0.01
    ),
    "utilisation": Metric(
        "%", 1, "busy time of the bottleneck", lambda v: float(v.link["utilisation"]), 100, 100, least=1
    ),
    "drop_rate": Metric(
        "%", -1, "packets that the bottleneck's queue dropped", lambda v: v.link["drop_rate"], 100, 100, least=0.5
    ),
    "queueing": Metric("ms", -1, "mean wait at the bottleneck", lambda v: v.link["mean_sojourn_s"], 1e3, least=1),
    "p95_queueing": Metric(
        "ms",
        -1,
        "95th percentile of the delay above that of an empty path",
        lambda v: _queueing(v, v.tested),
        1e3,
        least=1,
    ),
    "rivals_p95_queueing": Metric(
        "ms",
        -1,
        "95th percentile of the other flows' delay above that of an empty path",
        lambda v: _queueing(v, v.flows(v.situation.rivals)),
        1e3,
        least=1,
    ),
    "loss": Metric(
        "%",
        -1,
        "packets of the tested flows that were lost or without new data",
        lambda v: _loss(v.tested),
        100,
        100,
        least=0.5,
    ),
    "rivals_loss": Metric(
        "%",
        -1,
        "packets of the other flows that were lost",
        lambda v: _loss(v.flows(v.situation.rivals)),
        100,
        100,
        least=0.5,
    ),
    "jain": Metric(
        "",
        1,
        "Jain's index of the tested flows",
        lambda v: _jain([flow["goodput_bps"] for flow in v.tested]),
        most=1.0,
        least=0.05,
    ),
    "share": Metric("", 0, "a tested flow's goodput over the mean of all flows", _share, least=0.05),
    "rivals_kept": Metric(
        "",
        1,
        "goodput of the other flows beside this controller, divided by their goodput beside the standard controller",
        _rivals_kept,
        least=0.05,
    ),
    "completion": Metric(
        "s",
        -1,
        "completion time of the tested transfers that ended (geometric mean)",
        lambda v: _completion(v.tested),
        least=0.001,
    ),
    "finished": Metric("%", 1, "tested transfers that ended", lambda v: _finished(v.tested), 100, 100, least=1),
    "rivals_completion": Metric(
        "s",
        -1,
        "completion time of the other flows' transfers",
        lambda v: _completion(v.flows(v.situation.rivals)),
        least=0.001,
    ),
    "timeouts": Metric(
        "", -1, "retransmission timeouts of the tested flows", lambda v: _sum(v.tested, "timeouts"), least=1
    ),
}


def _jain(values: Sequence[float]) -> float | None:
    return stats.jain(values) if any(values) else None


def bases(rows: Sequence[Row]) -> dict[str, float]:
    """The smallest delay in any run, seconds, of each flow that all of these runs have."""
    found: dict[str, list[float]] = {}
    for row in rows:
        for flow in row["flows"]:
            if flow["min_delay_s"] is not None:
                found.setdefault(flow["name"], []).append(flow["min_delay_s"])
    return {name: min(delays) for name, delays in found.items() if len(delays) == len(rows)}
