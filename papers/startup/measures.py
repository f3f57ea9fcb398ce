"""Windows at the end of slow start, runs without a loss, and tables of completion times."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

import polars as pl

from ackclock import stats
from ackclock.apps.papers.results import Results

Where = Mapping[str, str]
DURATION_S = {"exit": 60.0, "ideal": 5.0}
"""Durations of the runs of two studies."""
TARGET_S = 7.4
"""Bound of the test of C4."""


def _at(frame: pl.DataFrame, where: Where) -> pl.DataFrame:
    return frame.filter(*(pl.col(axis) == label for axis, label in where.items())).sort("seed")


class End(NamedTuple):
    """How slow start ended in a run."""

    window: float
    """The window over the bandwidth-delay product."""
    sent_again: int
    """Packets sent again."""

    @property
    def is_timely(self) -> bool:
        """Whether it ended at the capacity or above, and nothing was lost."""
        return 1 <= self.window < math.inf and self.sent_again == 0


def ends(results: Results, study: str, where: Where) -> list[End]:
    """The ends of slow start, one for each seed.

    The window is the last threshold, which is that of the end if nothing was lost; infinite if slow start has not
    ended. The product is what the link can carry in the smallest round-trip time.
    """
    flows = _at(results.flows(study), {"name": "f", **where})
    links = _at(results.links(study), {"name": "server->home", **where})
    runs = []
    for flow, link in zip(flows.iter_rows(named=True), links.iter_rows(named=True), strict=True):
        rate = link["delivered_packets"] / (link["utilisation"] * DURATION_S[study])
        window = flow["final_ssthresh"] or math.inf
        runs.append(End(window / (rate * flow["min_rtt_s"]), flow["retransmitted_packets"]))
    return runs


def _between(results: Results, path: str, buffer: str) -> list[float]:
    """One for each run in which SEARCH ends slow start at the capacity or above and nothing is lost, zero otherwise."""
    where = {"path": path, "buffer": buffer, "start": "SEARCH"}
    return [float(end.is_timely) for end in ends(results, "exit", where)]


def geo_8(results: Results) -> list[float]:
    """GEO, 8 BDP."""
    return _between(results, "GEO", "8 BDP")


def leo_8(results: Results) -> list[float]:
    """LEO, 8 BDP."""
    return _between(results, "LEO", "8 BDP")


def lte_8(results: Results) -> list[float]:
    """LTE, 8 BDP."""
    return _between(results, "LTE", "8 BDP")


def geo_4(results: Results) -> list[float]:
    """GEO, 4 BDP."""
    return _between(results, "GEO", "4 BDP")


def geo_1(results: Results) -> list[float]:
    """GEO, 1 BDP."""
    return _between(results, "GEO", "1 BDP")


def hystart_early(results: Results) -> list[float]:
    """One for each run in which HyStart ends slow start below the capacity, zero otherwise."""
    where = {"path": "LEO", "buffer": "8 BDP", "start": "HyStart"}
    return [float(end.window < 1 and end.sent_again == 0) for end in ends(results, "exit", where)]


def _windows(results: Results, version: str) -> list[float]:
    """Logarithms of the window at the end over the bandwidth-delay product."""
    where = {"path": "100 ms", "version": version}
    return [math.log(end.window) for end in ends(results, "ideal", where)]


def doublings(results: Results) -> list[float]:
    """Doublings of the window after the capacity, version 3."""
    return [value / math.log(2) for value in _windows(results, "3")]


def reduced(results: Results) -> list[float]:
    """The window after the reduction of version 3."""
    return _windows(results, "3, reduced")


def drained(results: Results) -> list[float]:
    """The window after the drain of version 9."""
    return _windows(results, "9, drained")


def below_target(results: Results) -> list[float]:
    """One for each run of the test of C4 below its bound, zero otherwise."""
    rows = _at(results.flows("c4"), {"name": "f", "start": "resume"})
    return [float(time is not None and time < TARGET_S) for time in rows["completion_s"]]


def earlier(results: Results) -> list[float]:
    """Completion time of SEARCH over HyStart, GEO."""
    where = {"path": "GEO", "buffer": "8 BDP"}
    return results.log_ratios("exit", "f.completion_s", {"start": "SEARCH"}, {"start": "HyStart"}, where)


def _mean(values: list[float], digits: int = 2) -> str:
    return f"{stats.mean(values).value:.{digits}f}"


def _column(results: Results, study: str, flow: str, where: Where, column: str) -> list[float]:
    values = _at(results.flows(study), {"name": flow, **where})[column]
    return [float(value) for value in values if value is not None]


def by_buffer(results: Results) -> Any:
    """Completion times, losses and runs without a loss by path, buffer and method."""
    axes = results.study("exit").axes
    tables = []
    for path in axes["path"]:
        rows = []
        for buffer in axes["buffer"]:
            for start in axes["start"]:
                where = {"path": path, "buffer": buffer, "start": start}
                runs = ends(results, "exit", where)
                times = _column(results, "exit", "f", where, "completion_s")
                again = _mean([float(end.sent_again) for end in runs], 0)
                share = f"{100 * sum(end.is_timely for end in runs) / len(runs):.0f}"
                rows.append([buffer, start, _mean(times), again, share])
        head = [
            "buffer",
            "end of slow start",
            "completion (s)",
            "packets sent again",
            "after the capacity, no loss (%)",
        ]
        tables.append({"title": path, "head": head, "rows": rows})
    text = [
        "CUBIC. Means over the seeds. The last column: runs that end slow start at the capacity or above, "
        "and lose nothing."
    ]
    return SimpleNamespace(text=text, tables=tables)


def with_values(results: Results) -> Any:
    """Completion times of downloads with and without saved values."""
    rows = []
    for size in results.study("resume").axes["size"]:
        for start in results.study("resume").axes["start"]:
            where = {"size": size, "start": start}
            rows.append([f"{size}, 50 Mb/s", start, _mean(_column(results, "resume", "f", where, "completion_s")), "-"])
    for start in results.study("c4").axes["start"]:
        times, lost = (
            _column(results, "c4", "f", {"start": start}, c) for c in ("completion_s", "retransmitted_packets")
        )
        rows.append(["100 MB, 250 Mb/s", start, _mean(times), _mean(lost, 0)])
    head = ["download", "start", "completion (s)", "packets sent again"]
    rival = []
    for start in results.study("harm").axes["start"]:
        goodput = [bps / 1e6 for bps in _column(results, "harm", "rival", {"start": start}, "goodput_bps")]
        again = _column(results, "harm", "resumed", {"start": start}, "retransmitted_packets")
        rival.append([start, _mean(goodput), _mean(again, 0)])
    beside = ["start of the download", "goodput of the rival (Mb/s)", "packets that the download sends again"]
    tables = [
        {"title": "Downloads over a geostationary satellite, 600 ms", "head": head, "rows": rows},
        {"title": "Beside a CUBIC flow on 10 Mb/s, with values of 100 Mb/s", "head": beside, "rows": rival},
    ]
    return SimpleNamespace(text=["Means over the seeds."], tables=tables)
