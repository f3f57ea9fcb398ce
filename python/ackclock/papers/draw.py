"""Shared parts of the figures of papers: colours, lines of means with intervals, panels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ackclock import stats
from ackclock.study.results import bounds

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#777777")
"""The palette of Okabe and Ito, which colour-blind readers can distinguish."""
MARKERS = "os^Dv<>*"


def panels(columns: int, rows: int = 1, height: float = 3.4, *, share: bool = True) -> tuple[Figure, list[Axes]]:
    """A figure and its panels, row by row. With `share`, the panels have common axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.2, height * rows), layout="constrained")
    axes = list(figure.subplots(rows, columns, sharex=share, sharey=share, squeeze=False).flat)
    for one in axes:
        tidy(one)
    return figure, axes


def tidy(axes: Axes) -> None:
    """Light grid, no box."""
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def line(axes: Axes, frame: pl.DataFrame, x: str, y: str, *, factor: float, number: int, label: str) -> None:
    """Means of column `y` over the seeds against `x` (labels that are numbers), with 95 % intervals."""
    import polars as pl

    points = []
    for (place,), rows in frame.group_by([x], maintain_order=True):
        points.append(
            (float(str(place)), stats.within([*rows[y].cast(pl.Float64).drop_nulls()], *bounds(y)).scaled(factor))
        )
    points.sort(key=lambda point: point[0])
    at = [place for place, _ in points]
    means = [e.value for _, e in points]
    # A logarithmic axis cannot show an interval that reaches zero.
    below = [min(e.value - (e.value if e.low is None else e.low), 0.98 * e.value) for _, e in points]
    above = [(e.value if e.high is None else e.high) - e.value for _, e in points]
    colour = COLOURS[number % len(COLOURS)]
    marker = MARKERS[number % len(MARKERS)]
    axes.errorbar(
        at, means, [below, above], color=colour, marker=marker, markersize=4, linewidth=1.2, capsize=2, label=label
    )


def legend(figure: Figure, axes: Sequence[Axes], title: str = "") -> None:
    """One legend for all panels, to the right of them."""
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", title=title or None, fontsize=8, frameon=False)
