"""The share of one BBR flow beside one CUBIC flow, by the depth of the buffer."""

import polars as pl
from matplotlib.figure import Figure

from ackclock import draw as common
from ackclock import stats
from ackclock.apps.papers.results import Results


def shares(results: Results, control: str) -> list[tuple[float, stats.Estimate]]:
    """For each depth, in bandwidth-delay products, BBR's share of the goodput of both flows."""
    rows = results.flows("depth").filter(pl.col("control") == control)
    found = []
    for depth in results.study("depth").axes["buffer"]:
        at = rows.filter(pl.col("buffer") == depth)
        both = at.group_by("seed").agg(pl.col("goodput_bps").sum().alias("both"))
        own = at.filter(pl.col("name") == "bbr").join(both, on="seed")
        found.append((float(depth), stats.mean((own["goodput_bps"] / own["both"]).to_list())))
    return found


def draw(results: Results) -> Figure:
    """A line for each version, with 95 % intervals."""
    figure, axes = common.panels(1, height=4)
    for number, control in enumerate(results.study("depth").axes["control"]):
        points = shares(results, control)
        x = [depth for depth, _ in points]
        y = [share.value for _, share in points]
        low = [share.value - share.low for _, share in points]
        high = [share.high - share.value for _, share in points]
        color = common.COLOURS[number % len(common.COLOURS)]
        axes[0].errorbar(x, y, yerr=[low, high], marker="os"[number % 2], capsize=3, color=color, label=control)
    axes[0].axhline(0.5, color="black", linewidth=0.8, linestyle=":")
    axes[0].set_xscale("log", base=2)
    axes[0].set_xticks([0.5, 1, 2, 4, 8, 16, 32], ["0.5", "1", "2", "4", "8", "16", "32"])
    axes[0].set_xlabel("buffer (bandwidth-delay products)")
    axes[0].set_ylabel("BBR's share of the goodput")
    axes[0].set_ylim(0, 1)
    common.legend(figure, axes)
    return figure
