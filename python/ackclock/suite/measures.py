"""What a suite measures: each metric a number of one run, from its outcome."""

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
class View:
    """A run as a situation looks at it."""

    situation: Situation
    row: Row
    base: Mapping[str, float]
    """Of each named flow the smallest delay that was ever seen at this point, seconds."""
    standard: Row | None
    """The same run with the standard controller in place of the tested one, where `harm` is asked for."""

    def flows(self, prefix: str) -> list[Row]:
        """Those whose names begin so; none for no prefix."""
        return [flow for flow in self.row["flows"] if prefix and flow["name"].startswith(prefix)]

    @property
    def tested(self) -> list[Row]:
        """The flows under test."""
        return self.flows(self.situation.tested)

    @property
    def link(self) -> Row:
        """The link that is looked at."""
        for link in self.row["links"]:
            if link["name"] == self.situation.bottleneck:
                return link  # type: ignore[no-any-return]
        known = ", ".join(link["name"] for link in self.row["links"][:8])
        raise BadInput(f"situation {self.situation.id}: no bottleneck {self.situation.bottleneck!r}; there are {known}")


@dataclass(frozen=True)
class Metric:
    """A metric: unit, which way is better (1 more, -1 less, 0 neither), what it is, and how it is found.

    `factor` turns it into the unit that is shown.
    """

    unit: str
    better: int
    words: str
    find: Callable[[View], float | None]
    factor: float = 1.0
    most: float = math.inf
    """The greatest value that is possible, in the unit that is shown; the least is 0."""


def _sum(flows: Sequence[Row], key: str) -> float:
    return float(sum(flow[key] or 0 for flow in flows))


def _mean(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else None


def _ratio(above: float, below: float) -> float | None:
    return above / below if below > 0 else None


def _drop_rate(view: View) -> float | None:
    dropped = view.link["dropped_packets"]["queue"]
    return _ratio(dropped, dropped + view.link["delivered_packets"])


def _queueing(view: View, flows: Sequence[Row]) -> float | None:
    """95th percentile of the delay above that of an empty path, mean over flows.

    Where the path changes (satellites, radio), above the smallest delay that the flow ever had.
    """
    late = []
    for flow in flows:
        base = flow["base_delay_s"] if flow["base_delay_s"] is not None else view.base.get(flow["name"])
        if base is not None and flow["p95_delay_s"] is not None:
            late.append(max(0.0, flow["p95_delay_s"] - base))
    return _mean(late)


def _loss(flows: Sequence[Row]) -> float | None:
    """Of all packets sent the part that did not arrive as something new; zero at least (a warm-up cuts some off)."""
    sent = _sum(flows, "sent_packets")
    ratios = [(flow["delivery_ratio"], flow["sent_packets"]) for flow in flows]
    arrived = sum(ratio * packets for ratio, packets in ratios if ratio is not None)
    return None if sent == 0 else max(0.0, 1 - arrived / sent)


def _share(view: View) -> float | None:
    """Mean goodput of a tested flow over that of any flow: 1 is an equal share."""
    others = view.flows(view.situation.rivals)
    mine, all_of_them = view.tested, view.tested + others
    if not mine or not others:
        return None
    fair = _sum(all_of_them, "goodput_bps") / len(all_of_them)
    return _ratio(_sum(mine, "goodput_bps") / len(mine), fair)


def _harm(view: View) -> float | None:
    """Rivals' goodput beside the tested controller over the same beside the standard one."""
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
    "goodput": Metric("Mb/s", 1, "payload of the tested flows", lambda v: _sum(v.tested, "goodput_bps"), 1e-6),
    "utilisation": Metric("%", 1, "busy time of the bottleneck", lambda v: float(v.link["utilisation"]), 100, 100),
    "drop_rate": Metric("%", -1, "packets that the bottleneck's queue dropped", _drop_rate, 100, 100),
    "queueing": Metric("ms", -1, "mean wait at the bottleneck", lambda v: v.link["mean_sojourn_s"], 1e3),
    "p95_queueing": Metric(
        "ms", -1, "95th percentile of the delay above that of an empty path", lambda v: _queueing(v, v.tested), 1e3
    ),
    "rivals_p95_queueing": Metric(
        "ms", -1, "the same of the other flows", lambda v: _queueing(v, v.flows(v.situation.rivals)), 1e3
    ),
    "loss": Metric(
        "%", -1, "packets of the tested flows that were lost or sent for nothing", lambda v: _loss(v.tested), 100, 100
    ),
    "rivals_loss": Metric(
        "%", -1, "packets of the other flows that were lost", lambda v: _loss(v.flows(v.situation.rivals)), 100, 100
    ),
    "jain": Metric(
        "", 1, "Jain's index of the tested flows", lambda v: _jain([flow["goodput_bps"] for flow in v.tested]), most=1.0
    ),
    "share": Metric("", 0, "a tested flow's goodput over the mean of all flows", _share),
    "harm": Metric("", 1, "other flows' goodput over what they have beside the standard controller", _harm),
    "completion": Metric(
        "s",
        -1,
        "time that a tested transfer takes, of those that ended (geometric mean)",
        lambda v: _completion(v.tested),
    ),
    "finished": Metric("%", 1, "tested transfers that ended", lambda v: _finished(v.tested), 100, 100),
    "rivals_completion": Metric(
        "s", -1, "time that a transfer of others takes", lambda v: _completion(v.flows(v.situation.rivals))
    ),
    "timeouts": Metric("", -1, "retransmission timeouts of the tested flows", lambda v: _sum(v.tested, "timeouts")),
}


def _jain(values: Sequence[float]) -> float | None:
    return stats.jain(values) if any(values) else None


def bases(rows: Sequence[Row]) -> dict[str, float]:
    """Of each flow that every one of these runs has, the smallest delay in any of them, seconds."""
    found: dict[str, list[float]] = {}
    for row in rows:
        for flow in row["flows"]:
            if flow["min_delay_s"] is not None:
                found.setdefault(flow["name"], []).append(flow["min_delay_s"])
    return {name: min(delays) for name, delays in found.items() if len(delays) == len(rows)}
