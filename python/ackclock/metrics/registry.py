"""The registry of metrics, which figures, tables of studies, suites, searches and comparisons use.

A new metric is one entry of METRICS; its value comes from keys of the outcome (docs/outcome-keys.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Row = Mapping[str, Any]
"""The outcome of a run, or the object of one of its flows or links."""
Value = Callable[[Row], float | None]
SHOWN = {"Mb/s": 1e-6, "%": 100.0, "ms": 1e3, "s": 1.0, "": 1.0}
"""Units of tables with fixed units, and the factor from the SI unit."""


@dataclass(frozen=True)
class Metric:
    """A metric of a flow, of a link or of a whole run."""

    words: str
    """What a figure says, without the unit."""
    unit: str
    """The SI unit; empty for counts and parts."""
    of: Literal["flow", "link", "run"]
    source: str | Value
    """The key of the outcome that it is, or a function of the outcome's keys."""
    better: int = 0
    """1 if more is better, -1 if less is, 0 if neither."""
    combine: Literal["sum", "mean"] = "mean"
    """How the values of several flows become one."""
    shown: str = ""
    """The unit in tables with fixed units, one of SHOWN."""
    least: float = 0.0
    """The least possible value; an interval does not go below it."""
    most: float = math.inf
    """The largest possible value: 1 for parts."""

    def value(self, one: Row) -> float | None:
        """The value of a flow, a link or a run, in SI units; None if it does not apply."""
        if callable(self.source):
            return self.source(one)
        number = one.get(self.source)
        return None if number is None else float(number)

    def combined(self, rows: Sequence[Row]) -> float | None:
        """The value of several flows; None for a mean if no flow has one."""
        values = [value for row in rows if (value := self.value(row)) is not None]
        if self.combine == "sum":
            return float(sum(values))
        return sum(values) / len(values) if values else None


def _active_goodput(flow: Row) -> float | None:
    """The goodput of a flow from its start to its completion, its stop or the end; none if it did not run."""
    active_s = flow.get("active_s") or 0.0
    return 8 * float(flow["delivered_bytes"]) / active_s if active_s > 0 else None


def _above_base(name: str) -> Value:
    """A delay of a flow above that of an empty path; none if the path changes."""

    def value(flow: Row) -> float | None:
        delay, base = flow.get(name), flow.get("base_delay_s")
        return None if delay is None or base is None else max(0.0, float(delay) - float(base))

    return value


def _ratio(above: str, below: str) -> Value:
    return lambda one: one[above] / one[below] if one.get(above) is not None and one.get(below) else None


METRICS: dict[str, Metric] = {
    "goodput": Metric("goodput", "b/s", "flow", "goodput_bps", 1, "sum", "Mb/s"),
    "active_goodput": Metric("goodput while active", "b/s", "flow", _active_goodput, 1, "sum", "Mb/s"),
    "throughput": Metric("throughput", "b/s", "flow", "throughput_bps", 1, "sum", "Mb/s"),
    "queueing": Metric("mean queueing delay", "s", "flow", _above_base("mean_delay_s"), -1, shown="ms"),
    "p95_queueing": Metric(
        "95th percentile of the queueing delay", "s", "flow", _above_base("p95_delay_s"), -1, shown="ms"
    ),
    "delay": Metric("mean one-way delay", "s", "flow", "mean_delay_s", -1, shown="ms"),
    "p95_delay": Metric("95th percentile of the one-way delay", "s", "flow", "p95_delay_s", -1, shown="ms"),
    "tail_ratio": Metric(
        "95th percentile of the one-way delay over its mean", "", "flow", _ratio("p95_delay_s", "mean_delay_s"), -1
    ),
    "rtt": Metric("mean round-trip time", "s", "flow", "mean_rtt_s", -1, shown="ms"),
    "completion": Metric("completion time", "s", "flow", "completion_s", -1, shown="s"),
    "cwnd": Metric("mean cwnd", "segments", "flow", "mean_cwnd"),
    "retransmissions": Metric("retransmitted packets", "", "flow", "retransmitted_packets", -1, "sum"),
    "timeouts": Metric("retransmission timeouts", "", "flow", "timeouts", -1, "sum"),
    "reductions": Metric("reductions of cwnd", "", "flow", "window_cuts", combine="sum"),
    "jitter": Metric("mean change of delay between packets", "s", "flow", "jitter2_s", -1, shown="ms"),
    "delivery": Metric("delivery ratio", "", "flow", "delivery_ratio", 1, shown="%", most=1.0),
    "utilisation": Metric("utilisation", "", "link", "utilisation", 1, shown="%", most=1.0),
    "queue": Metric("mean queue", "packets", "link", "mean_queue_packets", -1),
    "wait": Metric("mean wait in the queue", "s", "link", "mean_sojourn_s", -1, shown="ms"),
    "drops": Metric("packets dropped by the queue", "", "link", "queue_drops", -1, "sum"),
    "drop_rate": Metric("fraction of packets dropped by the queue", "", "link", "drop_rate", -1, shown="%", most=1.0),
    "marks": Metric("packets marked", "", "link", "marked_packets", combine="sum"),
    "jain": Metric("Jain's fairness index", "", "run", lambda row: row["fairness"]["jain"], 1, most=1.0),
}
ALIASES = {
    "queueing_delay": "queueing",
    "queuing": "queueing",
    "utilization": "utilisation",
    "fairness": "jain",
    "completion_time": "completion",
    "fct": "completion",
    "retransmits": "retransmissions",
    "rtx": "retransmissions",
    "loss": "drop_rate",
}
"""Other names of metrics."""
OF_KEY = {metric.source: metric for metric in METRICS.values() if isinstance(metric.source, str)}
"""The metrics that are a key of the outcome, by the key."""
SIGNED = {"jitter1_s"}
"""Keys of the outcome that can be negative."""
UNITS = {"_bps": "b/s", "_s": "s", "_bytes": "B"}
"""Units of the keys of an outcome, by their ends."""


def bounds(name: str) -> tuple[float, float]:
    """Lower and upper bound of the possible values of a metric or of a number of the outcome."""
    key = name.rpartition(".")[2]
    metric = OF_KEY.get(key) or METRICS.get(key)
    if metric is not None:
        return metric.least, metric.most
    return -math.inf if key in SIGNED else 0.0, math.inf


def key_metric(key: str, of: Literal["flow", "link", "run"]) -> Metric:
    """A key of the outcome by its name, as a metric."""
    end = next((end for end in UNITS if key.endswith(end)), "")
    words = key.removesuffix(end).replace("_", " ")
    total = key.endswith(("_bps", "_packets", "_bytes")) and not key.startswith("mean_")
    better = {"goodput_bps": 1, "throughput_bps": 1, "delivered_bytes": 1, "delivery_ratio": 1}.get(key, 0)
    least, most = bounds(key)
    shown = OF_KEY[key].shown if key in OF_KEY else ""
    return Metric(words, UNITS.get(end, ""), of, key, better, "sum" if total else "mean", shown, least, most)
