"""One flow's packets, and effects over places: what the claims, the table and the figures need beyond ratios."""

from __future__ import annotations

import math
from functools import cache
from types import SimpleNamespace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ackclock import stats
from ackclock.papers.results import Cell, Results

FLOW, WIRE, SYN = "f1", 1498, 40
"""The published counts are those of one flow: N times 1498 bytes and a SYN of 40 (ns-2 report, finding 2)."""
KINDS = {"bic": "BIC", "bic_awi": "BIC_AWI", "bic_dpe": "BIC_DPE"}
PLACES = ("Berkeley-Boston", "Coimbatore-Boston", "Berkeley-London", "Delhi-Berkeley")
DURATION_S, BIN_S = 300, 0.5
PACKET_SEEDS = 5


@cache
def arrivals(results: Results, place: str, control: str, seed: int) -> tuple[pl.DataFrame, int]:
    """Arrivals of the first flow's data at its terminal (time_s, delay_s), and how many of them queues dropped."""
    run = results.trace("pairs", seed, {"place": place, "control": control}, packets=True)
    events = run.packets.filter((pl.col("flow") == FLOW) & (pl.col("kind") == "data"))
    dropped = events.filter((pl.col("event") == "drop") & (pl.col("reason") == "queue")).height
    uplink = pl.col("link") == "a->*"
    sent = events.filter((pl.col("event") == "enqueue") & uplink)
    got = events.filter((pl.col("event") == "deliver") & pl.col("link").str.ends_with("->*") & ~uplink)
    # The k-th arrival of a number is that of its k-th sending: links keep their order.
    copies = [frame.with_columns(pl.col("seq").cum_count().over("seq").alias("copy")) for frame in (sent, got)]
    joined = copies[1].join(copies[0].select("seq", "copy", pl.col("time_s").alias("sent_s")), on=["seq", "copy"])
    delays = joined.sort("time_s").select("time_s", (pl.col("time_s") - pl.col("sent_s")).alias("delay_s"))
    return delays, dropped


def gap_changes(results: Results, place: str, control: str, seed: int) -> NDArray[np.float64]:
    """Of each arrival but two the change of the gap before it, s."""
    return np.abs(np.diff(arrivals(results, place, control, seed)[0]["time_s"].to_numpy(), 2))


def _packet_seeds(results: Results) -> range:
    return range(1, min(PACKET_SEEDS, results.seeds("pairs")) + 1)


def metrics(results: Results) -> list[Cell]:
    """The nine metrics of the first flow, by pair of terminals."""
    cells = []
    for place in PLACES:
        for control, row in KINDS.items():
            where = {"place": place, "control": control}
            sent, received, rate, ratio, gap, delay, signed, change = (
                results.means("pairs", f"{FLOW}.{column}", where)
                for column in (
                    *("sent_packets", "throughput_bps", "throughput_bps", "delivery_ratio"),
                    *("mean_gap_s", "mean_delay_s", "jitter1_s", "jitter2_s"),
                )
            )
            seeds = _packet_seeds(results)
            bends = [1e3 * float(gap_changes(results, place, control, seed).mean()) for seed in seeds]
            columns: dict[str, list[float]] = {
                "bytes sent": [WIRE * n + SYN for n in sent],
                "bytes received": [bps * DURATION_S / 8 + SYN for bps in received],
                "average throughput": [bps / 1e3 for bps in rate],
                "packet delivery ratio": [100 * x for x in ratio],
                "dropped packets": [float(arrivals(results, place, control, seed)[1]) for seed in seeds],
                "average inter-packet delay": [1e3 * s for s in gap],
                "average EED": [1e3 * s for s in delay],
                "average jitter1": [1e3 * abs(s) for s in signed],
                "average jitter2": bends,
            }
            cells += [Cell(row, column, place, values) for column, values in columns.items()]
            cells.append(
                Cell(row, "average jitter1", f"{place}, size of the change of delay", [1e3 * s for s in change])
            )
    return cells


def _values(results: Results, column: str, control: str) -> NDArray[np.float64]:
    """Of each of the random places the mean over the seeds."""
    rows = results.flows("places").filter((pl.col("name") == FLOW) & (pl.col("control") == control))
    means = rows.group_by("place").agg(pl.col(column).mean()).sort("place")
    return means[column].to_numpy()


def _ratio(results: Results, column: str, control: str, base: str) -> list[float]:
    return [float(x) for x in np.log(_values(results, column, control) / _values(results, column, base))]


def throughput_dpe(results: Results) -> list[float]:
    """Of each place the logarithm of DPE's throughput over BIC's (mean of the seeds)."""
    return _ratio(results, "throughput_bps", "bic_dpe", "bic")


def throughput_awi(results: Results) -> list[float]:
    """The same of AWI over BIC."""
    return _ratio(results, "throughput_bps", "bic_awi", "bic")


def throughput_dpe_awi(results: Results) -> list[float]:
    """The same of DPE over AWI."""
    return _ratio(results, "throughput_bps", "bic_dpe", "bic_awi")


def delivery(results: Results) -> list[float]:
    """Of each place DPE's delivery ratio less BIC's, percentage points."""
    return [
        float(100 * x)
        for x in _values(results, "delivery_ratio", "bic_dpe") - _values(results, "delivery_ratio", "bic")
    ]


def repeated(results: Results) -> list[float]:
    """Of each place the logarithm of DPE's retransmitted packets over BIC's."""
    return _ratio(results, "retransmitted_packets", "bic_dpe", "bic")


def gap_dpe(results: Results) -> list[float]:
    """Of each place the logarithm of DPE's inter-packet delay over BIC's."""
    return _ratio(results, "mean_gap_s", "bic_dpe", "bic")


def gap_awi(results: Results) -> list[float]:
    """The same of AWI."""
    return _ratio(results, "mean_gap_s", "bic_awi", "bic")


def delay_dpe(results: Results) -> list[float]:
    """Of each place the logarithm of DPE's end-to-end delay over BIC's."""
    return _ratio(results, "mean_delay_s", "bic_dpe", "bic")


def jitter_dpe(results: Results) -> list[float]:
    """Of each place the logarithm of DPE's mean change of delay over BIC's."""
    return _ratio(results, "jitter2_s", "bic_dpe", "bic")


def window_dpe(results: Results) -> list[float]:
    """Of each place the logarithm of DPE's mean window over BIC's."""
    return _ratio(results, "mean_cwnd", "bic_dpe", "bic")


def rtt_dpe(results: Results) -> list[float]:
    """Of each place the logarithm of DPE's mean round-trip time over BIC's."""
    return _ratio(results, "mean_rtt_s", "bic_dpe", "bic")


def _between(results: Results) -> tuple[float, float, float]:
    """Spread of throughput, coefficients of variation: between a run's flows, between seeds, and the published ones."""
    rows = results.flows("pairs").filter((pl.col("place") == "Berkeley-Boston") & (pl.col("control") == "bic"))
    inside = rows.group_by("seed").agg((pl.col("throughput_bps").std() / pl.col("throughput_bps").mean()).alias("v"))
    first = rows.filter(pl.col("name") == FLOW)["throughput_bps"]
    return float(inside["v"].mean()), float(first.std() / first.mean()), 557.70 / 461.46 - 1  # type: ignore[operator, arg-type]


def aggregate(results: Results) -> SimpleNamespace:
    """All three flows together: what the link carries, whoever the controller is."""
    rows = []
    for place in PLACES:
        cells = [place]
        for control in KINDS:
            where = (pl.col("place") == place) & (pl.col("control") == control)
            sums = results.flows("pairs").filter(where).group_by("seed").agg(pl.col("throughput_bps").sum())
            e = stats.mean([x / 1e3 for x in sums.sort("seed")["throughput_bps"].to_list()])
            cells.append(f"{e.value:.1f} ± {e.half_width or 0:.1f}")
        rows.append(cells)
    inside, across, published = _between(results)
    text = [
        "Throughput of all three flows together, kb/s. The uplink of 1.5 Mb/s is full whatever the controller: with 16 "
        f"bytes added to each packet of {WIRE} it can carry {1500 * WIRE / (WIRE + 16):.1f}. What one flow gains, the "
        "others lose.",
        f"Among the three BIC flows of one run throughput varies by {100 * inside:.0f} % (coefficient of variation, "
        f"mean of the seeds), and that of the first flow by {100 * across:.0f} % from seed to seed, whose only "
        "difference is when within a tenth of a second the flows start. The published gain of DPE over BIC is "
        f"{100 * published:.0f} %.",
    ]
    return SimpleNamespace(text=text, tables=[{"title": "", "head": ["pair", *KINDS.values()], "rows": rows}])


def frozen(results: Results) -> SimpleNamespace:
    """The freeze on against off, where hand-offs happen."""
    rows = []
    study = results.study("handoffs")
    for handling in study.axes["handoff"]:
        for law in ("dpe", "awi"):
            cells = [handling, KINDS[f"bic_{law}"]]
            for column, kind in (
                ("throughput_bps", "ratio"),
                ("retransmitted_packets", "difference"),
                ("timeouts", "difference"),
            ):
                of, to = {"control": law}, {"control": f"{law}_thawed"}
                found = [
                    results.effect(kind, "handoffs", f"f{i}.{column}", of, to, {"handoff": handling}) for i in (1, 2, 3)
                ]
                logs = [math.log(e.value) if kind == "ratio" else e.value for e in found]
                mean = math.exp(float(np.mean(logs))) if kind == "ratio" else float(np.mean(logs))
                low, high = min(e.low or e.value for e in found), max(e.high or e.value for e in found)
                digits = 3 if kind == "ratio" else 1
                cells.append(f"{mean:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]")
            rows.append(cells)
    text = [
        "Freeze on against freeze off, 600 s with two hand-offs a run, mean of the three flows and the widest of their "
        "intervals. Growth held for a second or two in ten minutes neither gains nor loses what would show; ns-2's "
        "hand-off takes what waits in the terminal's queue, from a frozen sender as from any other.",
    ]
    head = ["hand-off", "law", "throughput, ratio", "retransmitted packets, difference", "timeouts, difference"]
    return SimpleNamespace(text=text, tables=[{"title": "", "head": head, "rows": rows}])
