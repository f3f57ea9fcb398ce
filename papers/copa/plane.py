"""Goodput and waiting time of four flows of one kind, without loss and with losses on the link."""

import polars as pl
from matplotlib.figure import Figure

from ackclock import draw as common
from ackclock import stats
from ackclock.apps.papers.results import Results


def point(results: Results, control: str, loss: str) -> tuple[stats.Estimate, stats.Estimate]:
    """Mean wait at the bottleneck, ms, and goodput of all flows, Mb/s, over seeds."""
    of = (pl.col("control") == control) & (pl.col("loss") == loss)
    links = results.links("alone").filter(of & (pl.col("name") == "a->b"))
    flows = results.flows("alone").filter(of).group_by("seed").agg(pl.col("goodput_bps").sum())
    waits = (1e3 * links["mean_sojourn_s"]).to_list()
    return stats.mean(waits), stats.mean((flows["goodput_bps"] / 1e6).to_list())


def draw(results: Results) -> Figure:
    """A point for each controller and loss rate, with 95 % intervals."""
    figure, axes = common.panels(1, height=4)
    for number, control in enumerate(results.study("alone").axes["control"]):
        color = common.COLOURS[number % len(common.COLOURS)]
        for loss, marker in (("none", "o"), ("1 %", "s")):
            wait, goodput = point(results, control, loss)
            axes[0].errorbar(
                [wait.value],
                [goodput.value],
                xerr=[[wait.value - wait.low], [wait.high - wait.value]],
                yerr=[[goodput.value - goodput.low], [goodput.high - goodput.value]],
                marker=marker,
                color=color,
                fillstyle="full" if loss == "none" else "none",
                linestyle="",
                label=control if loss == "none" else None,
            )
    axes[0].set_xlabel("mean wait at the bottleneck (ms)")
    axes[0].set_ylabel("goodput of four flows (Mb/s)")
    axes[0].set_xlim(left=-1)
    axes[0].set_ylim(0, 104)
    common.legend(figure, axes)
    return figure
