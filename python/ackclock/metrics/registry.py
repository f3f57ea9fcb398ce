"""The registry of metrics, which figures, tables of studies, suites, searches and comparisons use.

A new metric is one entry of METRICS; its value comes from keys of the outcome (docs/outcome-keys.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ackclock.metrics.applications import SIZES, AppValue, MeanSlowdown, OfApplications, Percentile, Pooled, Share

Row = Mapping[str, Any]
"""The outcome of a run, or the object of one of its flows or links."""
Value = Callable[[Row], float | None]
SHOWN = {"Mb/s": 1e-6, "%": 100.0, "ms": 1e3, "s": 1.0, "1/s": 1.0, "1/min": 60.0, "": 1.0}
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
    combine: Literal["sum", "mean", "pool"] = "mean"
    """How the values of several flows become one; `pool`: it is that of all their messages together."""
    shown: str = ""
    """The unit in tables with fixed units, one of SHOWN."""
    least: float = 0.0
    """The least possible value; an interval does not go below it."""
    most: float = math.inf
    """The largest possible value: 1 for parts."""
    by_logarithm: bool = False
    """Whether means and intervals over runs are those of the logarithms: for percentiles of times and slowdowns."""

    def value(self, one: Row) -> float | None:
        """The value of a flow, a link or a run, in SI units; None if it does not apply."""
        if callable(self.source):
            return self.source(one)
        number = one.get(self.source)
        return None if number is None else float(number)

    def applies(self, flow: Row) -> bool:
        """Whether it is a metric of this flow."""
        return not isinstance(self.source, OfApplications) or self.source.applies(flow)

    def combined(self, rows: Sequence[Row]) -> float | None:
        """The value of several flows; None for a mean if no flow has one."""
        if isinstance(self.source, Pooled):
            return self.source.pooled(rows)
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


def _app_limited(flow: Row) -> float | None:
    """The part of the time of a flow in which its application had no data for it; none for UDP."""
    limits = flow.get("limited_s") or {}
    total = sum(seconds or 0.0 for seconds in limits.values())
    return limits["application"] / total if total > 0 else None


def _percentile(words: str, part: float, of: Literal["s", "slowdown"], kind: str = "", size: str = "") -> Metric:
    """A percentile of completion times or slowdowns."""
    source = Percentile(part, of, kind, size)
    unit, shown = ("s", "ms") if of == "s" else ("", "")
    return Metric(words, unit, "flow", source, -1, "pool", shown, by_logarithm=True)


def _of_app(
    words: str,
    unit: str,
    better: int,
    kind: str,
    key: str,
    shown: str = "",
    *,
    combine: Literal["sum", "mean"] = "mean",
) -> Metric:
    """A key of the outcome of applications of a kind."""
    return Metric(words, unit, "flow", AppValue(kind, key), better, combine, shown)


def _applications() -> dict[str, Metric]:
    """The metrics of applications and of transfers of a size."""
    p50, p95, p99 = "median", "95th percentile of the", "99th percentile of the"
    time, slowdown, delay = "completion time of messages", "slowdown of messages", "delay of frames"
    bins = {name: f"up to {name}" if most else "above 10MB" for name, most in SIZES.items()}
    sizes = {
        f"p99_slowdown_{name}": _percentile(f"{p99} {slowdown} {words}", 0.99, "slowdown", size=name)
        for name, words in bins.items()
    }
    load = _of_app("median load time of a page", "s", -1, "page", "p50_page_s", "s")
    p95_load = _of_app(f"{p95} load time of a page", "s", -1, "page", "p95_page_s", "s")
    mouth_to_ear = _of_app(f"{p95} mouth-to-ear delay", "s", -1, "frames", "p95_mouth_to_ear_s", "ms")
    switches = AppValue("video", "switches", over_time=True)
    freezes, freeze_time = (AppValue("frames", key, over_time=True) for key in ("freezes", "freeze_s"))
    on_time = Share("on_time", "frames")
    return {
        "p50_completion": _percentile(f"{p50} {time}", 0.5, "s"),
        "p95_completion": _percentile(f"{p95} {time}", 0.95, "s"),
        "p99_completion": _percentile(f"{p99} {time}", 0.99, "s"),
        "mean_slowdown": Metric(f"mean {slowdown}", "", "flow", MeanSlowdown(), -1, "pool", by_logarithm=True),
        "p95_slowdown": _percentile(f"{p95} {slowdown}", 0.95, "slowdown"),
        "p99_slowdown": _percentile(f"{p99} {slowdown}", 0.99, "slowdown"),
        **sizes,
        "finished": Metric("messages that ended", "", "flow", Share("finished"), 1, "pool", "%", most=1.0),
        "requests": _of_app("responses", "1/s", 1, "requests", "requests_per_s", "1/s", combine="sum"),
        "page_load": replace(load, by_logarithm=True),
        "p95_page_load": replace(p95_load, by_logarithm=True),
        "byte_index": _of_app("mean arrival of a byte of a page", "s", -1, "page", "byte_index_s", "s"),
        "startup": _of_app("time to the first picture", "s", -1, "video", "startup_s", "s"),
        "rebuffer": replace(_of_app("time that a player stalls", "", -1, "video", "rebuffer_ratio", "%"), most=1.0),
        "switches": Metric("changes of the bitrate", "1/s", "flow", switches, -1, shown="1/min"),
        "bitrate": _of_app("mean bitrate of a video", "b/s", 1, "video", "mean_bitrate_bps", "Mb/s"),
        "qoe": replace(_of_app("quality of experience of a video", "", 1, "video", "qoe"), least=-math.inf),
        "frames_on_time": Metric("frames on time", "", "flow", on_time, 1, "pool", "%", most=1.0),
        "frame_delay": _percentile(f"{p50} {delay}", 0.5, "s", "frames"),
        "p95_frame_delay": _percentile(f"{p95} {delay}", 0.95, "s", "frames"),
        "p99_frame_delay": _percentile(f"{p99} {delay}", 0.99, "s", "frames"),
        "freezes": Metric("freezes of a video call", "1/s", "flow", freezes, -1, shown="1/min"),
        "freeze_time": Metric("time that a video call is frozen", "", "flow", freeze_time, -1, shown="%", most=1.0),
        "mouth_to_ear": replace(mouth_to_ear, by_logarithm=True),
        "app_limited": Metric("time limited by the application", "", "flow", _app_limited, shown="%", most=1.0),
        "encoder_rate": _of_app("mean rate of an encoder", "b/s", 1, "frames", "encoder_bps", "Mb/s"),
    }


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
    **_applications(),
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
SIGNED = {"jitter1_s", "qoe"}
"""Keys of the outcome that can be negative."""
UNITS = {"_bps": "b/s", "_s": "s", "_bytes": "B"}
"""Units of the keys of an outcome, by their ends."""


def bounds(name: str) -> tuple[float, float]:
    """Lower and upper bound of the possible values of a metric or of a number of the outcome."""
    key = name.rpartition(".")[2]
    metric = METRICS.get(name) or (None if ".app." in name else OF_KEY.get(key))
    if metric is not None:
        return metric.least, metric.most
    return -math.inf if key in SIGNED else 0.0, math.inf


def by_logarithm(name: str) -> bool:
    """Whether means and intervals of a metric or of a number of the outcome over runs are those of its logarithms."""
    if name in METRICS:
        return METRICS[name].by_logarithm
    return re.fullmatch(r".+\.app\.(p\d+_\w+|mean_slowdown)", name) is not None


def key_metric(key: str, of: Literal["flow", "link", "run"]) -> Metric:
    """A key of the outcome by its name, as a metric."""
    end = next((end for end in UNITS if key.endswith(end)), "")
    words = key.removesuffix(end).replace("_", " ")
    total = key.endswith(("_bps", "_packets", "_bytes")) and not key.startswith("mean_")
    better = {"goodput_bps": 1, "throughput_bps": 1, "delivered_bytes": 1, "delivery_ratio": 1}.get(key, 0)
    least, most = bounds(key)
    shown = OF_KEY[key].shown if key in OF_KEY else ""
    return Metric(words, UNITS.get(end, ""), of, key, better, "sum" if total else "mean", shown, least, most)
