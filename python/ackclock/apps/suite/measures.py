"""The metrics of a suite. Each is a number of one run, computed from its outcome."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from ackclock import _core, stats
from ackclock.base.files import BadInput
from ackclock.metrics.registry import METRICS, SHOWN, Row

if TYPE_CHECKING:
    from ackclock.apps.suite.situation import Situation


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
    def rivals(self) -> list[Row]:
        """The other flows."""
        return self.flows(self.situation.rivals)

    def with_base(self, flow: Row) -> Row:
        """The flow with the delay of its empty path; if the path changes (satellites, radio), its smallest delay."""
        return flow if flow["base_delay_s"] is not None else {**flow, "base_delay_s": self.base.get(flow["name"])}

    @property
    def link(self) -> Row:
        """The bottleneck link of the situation."""
        for link in self.row["links"]:
            if link["name"] == self.situation.bottleneck:
                return link  # type: ignore[no-any-return]
        links = ", ".join(link["name"] for link in self.row["links"][:8])
        raise BadInput(f"situation {self.situation.id}: no bottleneck {self.situation.bottleneck!r}; there are {links}")


NEGLIGIBLE = {"Mb/s": 0.01, "%": 0.5, "ms": 1.0, "s": 0.001, "1/s": 0.1, "1/min": 0.1, "": 0.05}
"""Differences that are of no account, by the unit of tables."""


@dataclass(frozen=True)
class SuiteMetric:
    """A metric of a situation: `find` gives it in SI units, `unit` is that of tables."""

    words: str
    unit: str
    better: int
    find: Callable[[RunData], float | None]
    most_si: float = math.inf
    """The largest possible value in SI units."""
    of_link: bool = False
    """Whether it is a metric of the bottleneck, which the situation must name."""
    smallest: float | None = None
    """Differences that are of no account, in `unit`, if they are not those of the unit."""
    least_si: float = 0.0
    """The least possible value in SI units."""
    by_logarithm: bool = False
    """Whether means and intervals over runs are those of the logarithms."""

    @property
    def factor(self) -> float:
        """Converts a value to the unit of tables."""
        return SHOWN[self.unit]

    @property
    def negligible(self) -> float:
        """Differences of values below this, in `unit`, are of no account when differences are ranked."""
        return NEGLIGIBLE[self.unit] if self.smallest is None else self.smallest

    @property
    def most(self) -> float:
        """The largest possible value in the unit of tables."""
        return self.most_si * self.factor

    def estimate(self, values: Sequence[float]) -> stats.Estimate:
        """The mean of values of runs with its 95 % interval, in the unit of tables as the values."""
        return stats.over_runs(values, self.least_si * self.factor, self.most, by_logarithm=self.by_logarithm)


def _sum(flows: Sequence[Row], key: str) -> float:
    return float(sum(flow[key] or 0 for flow in flows))


def _ratio(above: float, below: float) -> float | None:
    return above / below if below > 0 else None


def _loss(flows: Sequence[Row]) -> float | None:
    """Fraction of sent packets that did not arrive as new data."""
    sent = _sum(flows, "sent_packets")
    ratios = [(flow["delivery_ratio"], flow["sent_packets"]) for flow in flows]
    arrived = sum(ratio * packets for ratio, packets in ratios if ratio is not None)
    return None if sent == 0 else max(0.0, 1 - arrived / sent)  # rounding can make it negative


def _frames(flows: Sequence[Row]) -> list[Mapping[str, float]]:
    """The applications that send media frames."""
    return [flow["app"] for flow in flows if flow.get("app") and flow["app"]["kind"] == "frames"]


def _mean_frame_delay(flows: Sequence[Row]) -> float | None:
    """The mean over the frames that arrived."""
    frames = [app for app in _frames(flows) if app["mean_s"] is not None]
    return _ratio(sum(app["mean_s"] * app["finished"] for app in frames), sum(app["finished"] for app in frames))


def _largest_frame_delay(flows: Sequence[Row]) -> float | None:
    """The largest one of the frames that arrived, within 0.8 %."""
    buckets: list[int] = [
        bucket
        for app in _frames(flows)
        for bucket, _ in cast("list[tuple[int | None, int]]", app["sketch"])
        if bucket is not None
    ]
    return _core.pooled_quantile([(max(buckets), 1)], 0.0) if buckets else None


def _share(view: RunData) -> float | None:
    """Mean goodput of the tested flows divided by that of all flows; 1 is an equal share."""
    others = view.rivals
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


def _smallest(name: str) -> float | None:
    """The difference of a metric of the registry that is of account: one count, one percent of a link."""
    registered = METRICS[name]
    count = registered.combine == "sum" and not registered.shown
    return 1.0 if count or name == "utilisation" else None


def _of_flows(name: str, rivals: bool = False) -> SuiteMetric:
    """A metric of the registry, of the tested flows or of the other ones."""
    registered = METRICS[name]

    def value(data: RunData) -> float | None:
        flows = data.rivals if rivals else data.tested
        return registered.combined([data.with_base(flow) for flow in flows])

    words = f"{registered.words} of the {'other' if rivals else 'tested'} flows"
    return SuiteMetric(
        words,
        registered.shown,
        registered.better,
        value,
        registered.most,
        smallest=_smallest(name),
        least_si=registered.least,
        by_logarithm=registered.by_logarithm,
    )


def _of_link(name: str) -> SuiteMetric:
    """A metric of the registry, of the bottleneck."""
    registered = METRICS[name]
    words = f"{registered.words} of the bottleneck"
    return SuiteMetric(
        words,
        registered.shown,
        registered.better,
        lambda v: registered.value(v.link),
        registered.most,
        True,
        _smallest(name),
    )


def _jain(flows: Sequence[Row]) -> float | None:
    values = [flow["goodput_bps"] for flow in flows]
    return stats.jain(values) if any(values) else None


def _metrics() -> dict[str, SuiteMetric]:
    """Every metric of the registry, and those that only a suite has: they compare flows, or count those that ended."""
    of_flows = [name for name, metric in METRICS.items() if metric.of == "flow"]
    table = {name: _of_flows(name) for name in of_flows}
    table |= {f"rivals_{name}": _of_flows(name, rivals=True) for name in of_flows}
    table |= {name: _of_link(name) for name, metric in METRICS.items() if metric.of == "link"}
    del table["rivals_queueing"]
    table["queueing"] = _of_link("wait")  # a suite has always called the wait at the bottleneck so
    jain = METRICS["jain"]
    table |= {
        "loss": SuiteMetric(
            "packets of the tested flows that were lost or without new data",
            "%",
            -1,
            lambda v: _loss(v.tested),
            1.0,
        ),
        "mean_frame_delay": SuiteMetric(
            "mean delay of the frames of the tested flows that arrived",
            "ms",
            -1,
            lambda v: _mean_frame_delay(v.tested),
        ),
        "largest_frame_delay": SuiteMetric(
            "largest delay of a frame of the tested flows that arrived",
            "ms",
            -1,
            lambda v: _largest_frame_delay(v.tested),
        ),
        "rivals_loss": SuiteMetric(
            "packets of the other flows that were lost", "%", -1, lambda v: _loss(v.rivals), 1.0
        ),
        "jain": SuiteMetric(
            f"{jain.words} of the tested flows", jain.shown, jain.better, lambda v: _jain(v.tested), jain.most
        ),
        "share": SuiteMetric("a tested flow's goodput over the mean of all flows", "", 0, _share),
        "rivals_kept": SuiteMetric(
            "goodput of the other flows beside this controller over that beside the standard controller",
            "",
            1,
            _rivals_kept,
        ),
        "completion": SuiteMetric(
            "completion time of the tested transfers that ended (geometric mean)",
            "s",
            -1,
            lambda v: _completion(v.tested),
        ),
        "rivals_completion": SuiteMetric(
            "completion time of the other flows' transfers", "s", -1, lambda v: _completion(v.rivals)
        ),
        "finished": SuiteMetric(
            "tested transfers and messages that ended",
            "%",
            1,
            lambda v: METRICS["finished"].combined(v.tested),
            1.0,
            smallest=1.0,
        ),
    }
    return table


SUITE_METRICS = _metrics()
"""The metrics of situations, by name."""


def bases(rows: Sequence[Row]) -> dict[str, float]:
    """The smallest delay in any run, seconds, of each flow that all of these runs have."""
    delays_by_flow: dict[str, list[float]] = {}
    for row in rows:
        for flow in row["flows"]:
            if flow["min_delay_s"] is not None:
                delays_by_flow.setdefault(flow["name"], []).append(flow["min_delay_s"])
    return {name: min(delays) for name, delays in delays_by_flow.items() if len(delays) == len(rows)}
