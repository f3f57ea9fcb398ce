"""Figures 14, 17, 18 and 19: delays and jitter of the first flow over time."""

import numpy as np
from matplotlib.figure import Figure

from ackclock.papers import draw as common

BIN_S = 5


def draw(results) -> Figure:
    """Four panels, a line for each kind: means of 5 s."""
    measures = results.paper.code("measures")
    figure = Figure(figsize=(9.2, 6.4), layout="constrained")
    axes = list(figure.subplots(2, 2, sharex=True).flat)
    edges = np.arange(0, measures.DURATION_S + BIN_S, BIN_S)
    for i, (control, name) in enumerate(measures.KINDS.items()):
        frame, _ = measures.arrivals(results, "Berkeley-Boston", control, 1)
        times, delays = (frame[column].to_numpy() for column in ("time_s", "delay_s"))
        gaps = np.diff(times)
        series = [
            (times[1:], gaps),
            (times, delays),
            (times[1:], np.abs(np.diff(delays))),
            (times[2:], np.abs(np.diff(gaps))),
        ]
        for axis, (at, values) in zip(axes, series, strict=True):
            counts = np.histogram(at, edges)[0]
            sums = np.histogram(at, edges, weights=1e3 * values)[0]
            means = np.divide(sums, counts, out=np.full(len(counts), np.nan), where=counts > 0)
            axis.plot(edges[:-1] + BIN_S / 2, means, color=common.COLOURS[i], linewidth=1.1, label=name)
    titles = ("time between arrivals", "end-to-end delay", "change of the delay", "change of the time between arrivals")
    for axis, title in zip(axes, titles, strict=True):
        common.tidy(axis)
        axis.set_title(title, fontsize=9)
        axis.set_ylabel("ms")
        axis.set_ylim(bottom=0)
    for axis in axes[2:]:
        axis.set_xlabel("time (s)")
    common.legend(figure, axes)
    return figure
