"""The metrics of `ackclock agree`. Each is a number of one run, and none changes with the size of headers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ackclock.apps.agree.sample import Sample
from ackclock.metrics.registry import METRICS as REGISTRY

DISTANCE = "cwnd_distance"
"""Name of the metric of distributions; its value belongs to two runs."""
DISTANCE_FLOOR = 0.05
"""Least bound of the distance of distributions."""
DISTANCE_CAP = 0.15
"""Largest bound of the distance of distributions."""
SCALES = np.linspace(0.95, 1.05, 41)
"""Factors of a window within which two distributions count as one: the region of the mean window."""


@dataclass(frozen=True)
class Setting:
    """What the metrics need besides a run: the bottleneck's rate, and the delay of the empty path of each flow."""

    rate_bps: float | None
    """Rate of the bottleneck; None if the network has no link with a fixed rate."""
    base_s: dict[str, float]
    """One-way delay of a full packet on the empty path, seconds, by flow; of the same seed on every substrate."""


@dataclass(frozen=True)
class Metric:
    """A metric: words, unit, and the region within which two substrates agree.

    `part` is the largest relative difference; `least` is a difference, in `unit`, that is always within the region.
    """

    name: str
    words: str
    unit: str
    part: float
    least: float
    find: Callable[[Sample, Setting], float | None]
    factor: float = 1.0
    """Converts the value of `find` to `unit`."""

    def value(self, sample: Sample, setting: Setting) -> float | None:
        """The metric of a run in `unit`; None if it does not apply."""
        number = self.find(sample, setting)
        return None if number is None or not math.isfinite(number) else number * self.factor


def _total(sample: Sample, key: str) -> float:
    return float(sum(flow[key] or 0 for flow in sample.flows.values()))


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _utilisation(sample: Sample, setting: Setting) -> float | None:
    return None if setting.rate_bps is None else _total(sample, "throughput_bps") / setting.rate_bps


def _registered(name: str) -> Callable[[Sample, Setting], float | None]:
    """A metric of the registry over all flows; the empty path is that of the setting."""

    def find(sample: Sample, setting: Setting) -> float | None:
        flows = [{**row, "base_delay_s": setting.base_s.get(flow)} for flow, row in sample.flows.items()]
        return REGISTRY[name].combined(flows)

    return find


def _throughput(sample: Sample, setting: Setting) -> float | None:
    return _registered("throughput")(sample, setting) if setting.rate_bps is None else None


def _cwnd(sample: Sample, _: Setting) -> float | None:
    return _mean([float(np.mean(curve.cwnd)) for curve in sample.curves.values()])


def _cuts(sample: Sample, _: Setting) -> float | None:
    rates = []
    for name, flow in sample.flows.items():
        if flow["window_cuts"] is not None:
            start = sample.curves[name].start_s if name in sample.curves else 0.0
            rates.append(60 * flow["window_cuts"] / max(sample.duration_s - start, 1e-9))
    return _mean(rates)


def _epoch(sample: Sample, _: Setting) -> float | None:
    gaps = [gap for curve in sample.curves.values() for gap in np.diff(curve.cuts_s).tolist()]
    return float(np.median(gaps)) if gaps else None


def _loss(sample: Sample, _: Setting) -> float | None:
    sent = _total(sample, "sent_packets")
    if not sent or not sample.links:
        return None
    return float(sum(link["dropped"] for link in sample.links.values())) / sent


def _retransmissions(sample: Sample, _: Setting) -> float | None:
    sent = _total(sample, "sent_packets")
    return _total(sample, "retransmitted_packets") / sent if sent else None


METRICS = (
    Metric("utilisation", "wire bytes of the flows over the bottleneck's rate", "%", 0.05, 0.5, _utilisation, 100),
    Metric("throughput", "wire bytes of the flows that arrived", "Mb/s", 0.05, 0.01, _throughput, 1e-6),
    Metric("cwnd", "congestion window, mean over time and flows", "segments", 0.05, 0.2, _cwnd),
    Metric(
        "queueing", "one-way delay above that of an empty path, mean", "ms", 0.10, 0.5, _registered("queueing"), 1e3
    ),
    Metric("p95_queueing", "the same, 95th percentile", "ms", 0.10, 0.5, _registered("p95_queueing"), 1e3),
    Metric("cuts", "window cuts of a flow (loss, timeout, ECN)", "1/min", 0.10, 0.2, _cuts),
    Metric("epoch", "time between two cuts of a flow, median", "s", 0.10, 0.1, _epoch),
    Metric("loss", "packets dropped on all links over data packets sent", "%", 0.05, 0.02, _loss, 100),
    Metric("retransmissions", "data packets sent again over data packets sent", "%", 0.05, 0.02, _retransmissions, 100),
)
"""Every metric that is a number of one run."""


NUMBERS = {metric.name: metric for metric in METRICS}


def _headers(sample: Sample, _: Setting) -> float | None:
    wire = _total(sample, "throughput_bps")
    return 1 - _total(sample, "goodput_bps") / wire if wire else None


def _smallest(sample: Sample, _: Setting) -> float | None:
    """The smallest window after the first one of two segments: during the handshake the window of TCP is 1."""
    smallest = []
    for curve in sample.curves.values():
        values = np.asarray(curve.cwnd)
        grown = np.flatnonzero(values >= 2)
        smallest.append(float(values[grown[0] :].min() if len(grown) else values.min()))
    return min(smallest, default=None)


SHOWN = (
    Metric("goodput", "payload of the flows, delivered in order", "Mb/s", 0, 0, _registered("goodput"), 1e-6),
    Metric("headers", "wire bytes that are not payload delivered in order", "%", 0, 0, _headers, 100),
    Metric("timeouts", "retransmission timeouts (QUIC: probe timeouts)", "", 0, 0, _registered("timeouts")),
    Metric("smallest_cwnd", "smallest congestion window", "segments", 0, 0, _smallest),
)
"""Numbers that are shown and not compared."""


def windows(sample: Sample) -> np.ndarray:
    """All samples of the windows of a run, segments."""
    parts = [np.asarray(curve.cwnd) for curve in sample.curves.values()]
    return np.concatenate(parts) if parts else np.empty(0)


def distance(a: np.ndarray, b: np.ndarray) -> float:
    """Kolmogorov and Smirnov's distance of two samples of windows, in whole segments, up to a factor of SCALES, 0 to 1.

    The distance is the largest difference of the two empirical distribution functions. The factor is the one that makes
    it smallest: two windows that are constant at 76 and 78 segments have no distance, 60 and 78 have 1.
    """
    medians = float(np.median(a)) / max(float(np.median(b)), 1e-9)
    scales = [*SCALES, min(max(medians, SCALES[0]), SCALES[-1])]
    return min(_distance(a, b * scale) for scale in scales)


def _distance(a: np.ndarray, b: np.ndarray) -> float:
    x, y = np.rint(a).astype(np.int64), np.rint(b).astype(np.int64)
    length = int(max(x.max(), y.max())) + 1
    below = [np.cumsum(np.bincount(values, minlength=length)) / len(values) for values in (x, y)]
    return float(np.max(np.abs(below[0] - below[1])))
