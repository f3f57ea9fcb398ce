"""Figures 14 and 17 to 19: delays and jitter of the first flow over time."""

import numpy as np
from matplotlib.figure import Figure

from ackclock import draw as common

BIN_S, SKIP_S = 5, 10
"""Means of so long; the first slow start would crush the axis."""


def _series(frame, what: str):
    times, delays = (frame[column].to_numpy() for column in ("time_s", "delay_s"))
    gaps = np.diff(times)
    return {
        "gap": (times[1:], gaps),
        "delay": (times, delays),
        "change": (times[1:], np.abs(np.diff(delays))),
        "bend": (times[2:], np.abs(np.diff(gaps))),
    }[what]


def draw(results, what: str, label: str) -> Figure:
    """A line for each kind: means of 5 s, seed 1; in the title in how many of them BIC_DPE is below BIC."""
    measures = results.paper.code("measures")
    figure, (axis,) = common.panels(1, height=3.6)
    edges = np.arange(SKIP_S, measures.DURATION_S + BIN_S, BIN_S)
    lines = {}
    for i, (control, name) in enumerate(measures.KINDS.items()):
        frame = measures.arrivals(results, "Berkeley-Boston", control, 1)
        at, values = _series(frame, what)
        counts = np.histogram(at, edges)[0]
        sums = np.histogram(at, edges, weights=1e3 * values)[0]
        lines[control] = np.divide(sums, counts, out=np.full(len(counts), np.nan), where=counts > 0)
        axis.plot(edges[:-1] + BIN_S / 2, lines[control], **common.curve(i), linewidth=1.2, label=name)
    below = float(np.mean(lines["bic_dpe"] < lines["bic"]))
    axis.set_title(f"BIC_DPE is below BIC in {100 * below:.0f} % of the bins", fontsize=9)
    axis.set_ylabel(label)
    axis.set_xlabel("time (s)")
    axis.set_ylim(bottom=0)
    common.legend(figure, [axis])
    return figure
