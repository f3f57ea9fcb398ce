"""Figures 7 and 8: a number of the window trace over time."""

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from ackclock import draw as common

SKIP_S = 10
"""The first slow start would crush the axis."""


def draw(results, column: str, factor: str, label: str) -> Figure:
    """A line for each kind: samples every half second of the first flow, seed 1."""
    measures = results.paper.code("measures")
    figure, (axis,) = common.panels(1, height=3.6)
    times = np.arange(SKIP_S, measures.DURATION_S, measures.BIN_S)
    for i, (control, name) in enumerate(measures.KINDS.items()):
        trace = results.trace("pairs", 1, {"place": "Berkeley-Boston", "control": control}).trace
        known = trace.filter((pl.col("flow") == measures.FLOW) & pl.col(column).is_not_null())
        last = np.searchsorted(known["time_s"].to_numpy(), times, side="right") - 1
        values = float(factor) * known[column].to_numpy()[np.maximum(last, 0)]
        axis.plot(times, np.where(last >= 0, values, np.nan), **common.curve(i), linewidth=1, label=name)
    axis.set_ylim(bottom=0)
    axis.set_ylabel(label)
    axis.set_xlabel("time (s)")
    common.legend(figure, [axis])
    return figure
