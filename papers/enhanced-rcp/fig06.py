"""The wired bottleneck."""

import polars as pl
from matplotlib.figure import Figure

from ackclock import draw as common
from ackclock import stats


def draw(results) -> Figure:
    """Three panels: completion time, utilisation, queue."""
    controls = list(results.study("wired").axes["control"])
    short = results.flows("wired").filter(pl.col("name").str.starts_with("short"))
    link = results.links("wired").filter(pl.col("name") == "r1->r2")
    figure = Figure(figsize=(9.2, 3.6), layout="constrained")
    panels = (
        (short, "completion_s", 1, "completion time (s)"),
        (link, "utilisation", 100, "utilisation (%)"),
        (link, "mean_queue_packets", 1, "packets waiting"),
    )
    for axis, (rows, column, factor, label) in zip(figure.subplots(1, 3), panels, strict=True):
        common.tidy(axis)
        for i, control in enumerate(controls):
            of = rows.filter(pl.col("control") == control).group_by("seed").agg(pl.col(column).mean())
            e = stats.mean([factor * v for v in of[column].drop_nulls()])
            axis.bar(i, e.value, 0.7, yerr=e.half_width, color=common.COLOURS[i % len(common.COLOURS)], capsize=3)
        axis.set_xticks(range(len(controls)), controls, rotation=45, ha="right", fontsize=8)
        axis.set_ylabel(label)
    return figure
