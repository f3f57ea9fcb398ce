"""Figures of an identification, with one drawing function for each panel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ackclock.apps.arima.identify import Candidate, Identification, acf, bound, probability_points
from ackclock.base.text import drawn
from ackclock.draw import style
from ackclock.draw.style import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREY = COLOURS[0], COLOURS[1], COLOURS[7]


def run_sequence(axes: Axes, identification: Identification) -> None:
    """The series itself."""
    axes.plot(identification.x * 1e3, linewidth=0.6, color=BLUE, rasterized=True)  # thousands of points
    axes.set_xlabel("sample")
    axes.set_ylabel("RTT (ms)")
    axes.set_title("run sequence")


def correlogram(axes: Axes, values: Sequence[float], n: int, title: str) -> None:
    """Correlations at lags from 1, with the 95 % bounds of white noise."""
    lags = np.arange(1, len(values) + 1)
    axes.axhspan(-bound(n), bound(n), color=GREY, alpha=0.25, linewidth=0, label="95 % of white noise")
    axes.vlines(lags, 0, values, color=BLUE)
    axes.plot(lags, values, "o", color=BLUE, markersize=2.5)
    axes.axhline(0, color="black", linewidth=0.6)
    axes.set_xlabel("lag")
    axes.set_ylabel("correlation")
    axes.set_title(title)


def level_acf(axes: Axes, identification: Identification) -> None:
    """Autocorrelation of the levels."""
    correlogram(axes, acf(identification.x, len(identification.acf)), len(identification.x), "ACF of the RTT")


def difference_acf(axes: Axes, identification: Identification) -> None:
    """Autocorrelation of the differences."""
    correlogram(axes, identification.acf, identification.n, "ACF of its differences")


def difference_pacf(axes: Axes, identification: Identification) -> None:
    """Partial autocorrelation of the differences."""
    correlogram(axes, identification.pacf, identification.n, "PACF of its differences")


def residual_histogram(axes: Axes, identification: Identification, model: Candidate | None = None) -> None:
    """Histogram of a model's residuals (default: the chosen model) with the normal density; Freedman-Diaconis bins."""
    from scipy.stats import norm

    model = model or identification.chosen
    residuals = model.residuals(identification.y) * 1e3
    spread = float(np.subtract(*np.percentile(residuals, [75, 25])))
    count = np.ptp(residuals) * len(residuals) ** (1 / 3) / (2 * spread) if spread > 0 else np.inf
    # With long tails, the rule gives thousands of bins; the middle 99 % is then drawn in 60 bins.
    low, high = (residuals.min(), residuals.max()) if count <= 200 else np.percentile(residuals, [0.5, 99.5])
    edges = np.linspace(low, high, 61 if count > 200 else max(2, int(np.ceil(count)) + 1))
    weights = np.full(len(residuals), 1 / (len(residuals) * (edges[1] - edges[0])))
    axes.hist(residuals, bins=list(edges), weights=weights, color=BLUE, alpha=0.6)
    axes.set_xlim(low, high)
    sd = float(residuals.std())
    grid = np.linspace(edges[0], edges[-1], 400)
    axes.plot(grid, norm.pdf(grid, 0, sd), color=ORANGE, linewidth=1.2, label=f"N(0, {sd:.3g} ms)")
    axes.set_xlabel("residual (ms)")
    axes.set_ylabel("density (1/ms)")
    axes.set_title(f"residuals of {model.name}")
    axes.legend(fontsize=7, frameon=False)


def probability_plot(axes: Axes, identification: Identification, model: Candidate | None = None) -> None:
    """Ordered residuals against normal quantiles: a line if they are normal."""
    quantiles, ordered, correlation = probability_points((model or identification.chosen).residuals(identification.y))
    step = max(1, len(quantiles) // 2000)
    # As an image: thousands of points would make a vector figure large.
    axes.plot(quantiles[::step], ordered[::step] * 1e3, ".", markersize=2.5, color=BLUE, rasterized=True)
    axes.axline((0, 0), slope=float(ordered.std()) * 1e3, color=ORANGE, linewidth=1, label="normal")
    axes.set_xlabel("normal quantile")
    axes.set_ylabel("residual (ms)")
    axes.set_title(f"normal probability plot (r = {correlation:.3f})")
    axes.legend(fontsize=7, frameon=False)


def overview(identification: Identification, title: str) -> Figure:
    """All six panels."""
    functions = (run_sequence, level_acf, difference_acf, difference_pacf, residual_histogram, probability_plot)
    figure, axes = style.panels(2, 3, 3.0, share=False)
    for one, draw in zip(axes, functions, strict=True):
        draw(one, identification)
    style.title(figure, drawn(title))
    return figure
