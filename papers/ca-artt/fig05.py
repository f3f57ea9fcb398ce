"""Figure 5: evolution of the window, K = 2, 1 % errors."""

import polars as pl
from matplotlib.figure import Figure

from ackclock import draw as common

CELL = {"Cf": "16Mbps"}


def draw(results) -> Figure:
    """Vegas, CA-ARTT with either interpretation of e(t); solid: window, dotted: threshold where it fits."""
    controls = (("vegas", "Vegas"), ("innovation", "CA-ARTT (innovation)"), ("zero", "CA-ARTT (zero)"))
    figure, axes = common.panels(1, 3, height=2.1)
    highest = 1.0
    for i, (control, title) in enumerate(controls):
        rows = results.trace("window", 1, {**CELL, "control": control}, "changes").trace.filter(pl.col("flow") == "fwd")
        axes[i].step(rows["time_s"], rows["cwnd"], where="post", linewidth=0.9, color=common.COLOURS[i])
        axes[i].step(rows["time_s"], rows["ssthresh"], where="post", linewidth=0.7, linestyle=":", color="black")
        axes[i].set_title(title)
        axes[i].set_ylabel("cwnd (segments)")
        highest = max(highest, float(rows["cwnd"].max()))
    axes[-1].set_ylim(0, 1.1 * highest)
    axes[-1].set_xlim(0, 200)
    axes[-1].set_xlabel("time (s)")
    return figure
