"""Figures 3 and 4: SACK, Westwood and WestwoodNR over one bottleneck."""

import polars as pl
from matplotlib.figure import Figure

from ackclock import stats
from ackclock.papers import draw as common

KINDS = (("Sack", "f0"), ("Westwood", "f1"), ("WestwoodNR", "f2"))


def draw(results) -> Figure:
    """Two panels: without and with errors; bars together and alone."""
    figure, axes = common.panels(2)
    together = results.flows("mixed").filter(pl.col("control") == "mixed")
    alone = results.flows("congested")
    for axis, (error, title) in zip(axes, (("none", "no errors"), ("0.1", "0.1 errors")), strict=True):
        for i, (kind, flow) in enumerate(KINDS):
            mixed = together.filter((pl.col("error") == error) & (pl.col("name") == flow))["throughput_bps"] / 1e6
            same = alone.filter((pl.col("error") == error) & (pl.col("control") == kind))
            means = same.group_by("seed").agg(pl.col("throughput_bps").mean())["throughput_bps"] / 1e6
            for values, shift, alpha in ((mixed, -0.2, 1.0), (means, 0.2, 0.4)):
                e = stats.mean(values.to_list())
                axis.bar(i + shift, e.value, 0.38, yerr=e.half_width, color=common.COLOURS[i], alpha=alpha, capsize=3)
        axis.set_title(title)
        axis.set_xticks(range(3), [kind for kind, _ in KINDS])
    axes[0].set_ylabel("throughput (Mb/s)")
    return figure
