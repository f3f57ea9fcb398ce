"""Goodput of two flows of which the second starts 30 s later."""

import polars as pl
from matplotlib.figure import Figure

from ackclock import draw as common
from ackclock import stats
from ackclock.apps.papers.results import Results


def draw(results: Results) -> Figure:
    """Bars for both flows of both controllers, with 95 % intervals over seeds."""
    figure, axes = common.panels(1, height=3.6)
    rows = results.flows("late")
    controls = results.study("late").axes["control"]
    for number, (name, words) in enumerate((("first", "first flow"), ("late", "latecomer"))):
        estimates = [
            stats.mean((chosen["goodput_bps"] / 1e6).to_list())
            for chosen in (rows.filter((pl.col("control") == c) & (pl.col("name") == name)) for c in controls)
        ]
        places = [place + 0.36 * (number - 0.5) for place in range(len(controls))]
        low = [one.value - one.low for one in estimates]
        high = [one.high - one.value for one in estimates]
        color = common.COLOURS[number]
        heights = [one.value for one in estimates]
        axes[0].bar(places, heights, width=0.34, yerr=[low, high], capsize=3, color=color, alpha=0.8, label=words)
    axes[0].set_xticks(range(len(controls)), controls)
    axes[0].set_ylabel("goodput from 60 to 120 s (Mb/s)")
    axes[0].grid(visible=False, axis="x")
    common.legend(figure, axes)
    return figure
