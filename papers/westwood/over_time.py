"""Figures 3, 4 and 6: throughput over time."""

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from ackclock import draw as common
from ackclock import stats

MIXED = (("SACK", "f0"), ("Westwood", "f1"), ("WestwoodNR", "f2"))
BESIDE_UDP = ("Reno", "Westwood", "WestwoodNR")


def _rates(results, study: str, where: dict[str, str], flow: str) -> tuple[np.ndarray, np.ndarray]:
    """Acknowledged Mb/s of a flow in each second, seed 1."""
    result = results.trace(study, 1, where)
    rows = result.trace.filter(pl.col("flow") == flow)
    seconds = np.arange(0, int(result.outcome["duration_s"]) + 1)
    acked = np.searchsorted(rows["time_s"].to_numpy(), seconds, side="right") - 1
    through = np.where(acked >= 0, rows["ack"].to_numpy()[np.maximum(acked, 0)], 0)
    packets = np.diff(np.maximum(through, 0))
    found = next(f for f in result.outcome["flows"] if f["name"] == flow)
    size = found["delivered_bytes"] / max(found["acked_packets"], 1)
    return seconds[1:] - 0.5, packets * size * 8 / 1e6


def draw(results, study: str, error: str) -> Figure:
    """A line for each flow, bins of a second; in the legend the mean over the seeds with its 95 % interval."""
    figure, (axis,) = common.panels(1, height=3.6)
    if study == "mixed":
        lines = [(name, {"control": "mixed", "error": error}, flow) for name, flow in MIXED]
    else:
        lines = [(name, {"control": name, "error": error}, "f") for name in BESIDE_UDP]
    names = {"Reno": "throughput Reno", "Westwood": "throughput Westwood", "WestwoodNR": "throughput Westwood(NR)"}
    printed = results.paper.printed("text")
    for i, (name, where, flow) in enumerate(lines):
        at, rates = _rates(results, study, where, flow)
        e = stats.mean([x / 1e6 for x in results.means(study, f"{flow}.throughput_bps", where)])
        label = f"{name}: {e.value:.2f} ± {e.half_width or 0:.2f} Mb/s"
        axis.plot(at, rates, **common.curve(i), linewidth=1.2, label=label)
        if study == "udp" and (error, names[name]) in printed:
            value = float(printed[error, names[name]][0])
            axis.axhline(
                value, color=common.COLOURS[i], linestyle=":", linewidth=1, label=f"{name}, printed: {value:g}"
            )
    axis.set_xlabel("time (s)")
    axis.set_ylabel("throughput (Mb/s)")
    axis.set_ylim(bottom=0)
    common.legend(figure, [axis])
    return figure
