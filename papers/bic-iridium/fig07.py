"""Figures 7 and 8: window and round-trip time of the first flow."""

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from ackclock.papers import draw as common


def draw(results) -> Figure:
    """Windows above, round-trip times below."""
    measures = results.paper.code("measures")
    figure = Figure(figsize=(9.2, 5.6), layout="constrained")
    axes = list(figure.subplots(2, 1, sharex=True))
    times = np.arange(0, measures.DURATION_S, measures.BIN_S)
    for i, (control, name) in enumerate(measures.KINDS.items()):
        trace = results.trace("pairs", 1, {"place": "Berkeley-Boston", "control": control}).trace
        rows = trace.filter(pl.col("flow") == measures.FLOW)
        for axis, column, factor in ((axes[0], "cwnd", 1), (axes[1], "rtt_s", 1e3)):
            known = rows.filter(pl.col(column).is_not_null())
            last = np.searchsorted(known["time_s"].to_numpy(), times, side="right") - 1
            values = np.where(last >= 0, factor * known[column].to_numpy()[np.maximum(last, 0)], np.nan)
            axis.plot(times, values, color=common.COLOURS[i], linewidth=1, label=name)
    for axis in axes:
        common.tidy(axis)
        axis.set_ylim(bottom=0)
    peak = axes[0].lines[0].get_ydata()[20:]
    axes[0].set_ylim(0, 3 * float(np.nanmax(peak)))
    axes[0].set_ylabel("window (segments)")
    axes[1].set_ylabel("round-trip time (ms)")
    axes[1].set_xlabel("time (s)")
    common.legend(figure, axes)
    return figure
