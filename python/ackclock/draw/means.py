"""Lines of means with 95 % intervals."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ackclock import stats
from ackclock.draw.style import curve, point
from ackclock.metrics import bounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from matplotlib.axes import Axes


def line(axes: Axes, frame: pl.DataFrame, x: str, y: str, *, factor: float, number: int, label: str) -> None:
    """Means of column `y` over the seeds against `x` (labels that are numbers), with 95 % intervals."""
    import polars as pl

    points = []
    for (place,), rows in frame.group_by([x], maintain_order=True):
        points.append(
            (float(str(place)), stats.within([*rows[y].cast(pl.Float64).drop_nulls()], *bounds(y)).scaled(factor))
        )
    points.sort(key=lambda pair: pair[0])
    # A logarithmic axis cannot show an interval that reaches zero.
    bounded = [replace(e, low=max(e.low, 0.02 * e.value)) if e.low is not None else e for _, e in points]
    estimates(axes, [place for place, _ in points], bounded, number=number, label=label)


def estimates(
    axes: Axes,
    at: Sequence[float],
    estimates_of_means: Sequence[stats.Estimate],
    *,
    number: int,
    label: str,
    joined: bool = True,
) -> None:
    """Estimates with their intervals as points with error bars, joined by a line if `joined`."""
    means = [e.value for e in estimates_of_means]
    below = [e.value - (e.value if e.low is None else e.low) for e in estimates_of_means]
    above = [(e.value if e.high is None else e.high) - e.value for e in estimates_of_means]
    style = {**curve(number), **point(number)} | ({} if joined else {"linestyle": "none"})
    axes.errorbar(at, means, [below, above], **style, markersize=4.5, linewidth=1.3, capsize=2.5, label=label)
