"""Figure 2: autocorrelation and partial autocorrelation of the differences."""

from matplotlib.figure import Figure

from ackclock import draw as common
from ackclock.apps.arima import plots


def draw(results) -> Figure:
    """A row for each series: simulated (seed 1), measured."""
    found = results.paper.code("measures").series(results)
    names = [name for name in ("simulated", "measured") if name in found]
    figure = Figure(figsize=(9.2, 2.9 * len(names)), layout="constrained")
    for axes, name in zip(figure.subplots(len(names), 2, squeeze=False, sharey=True), names, strict=True):
        plots.difference_acf(axes[0], found[name][0])
        axes[0].set_title(f"{name}: ACF of the differences")
        plots.difference_pacf(axes[1], found[name][0])
        axes[1].set_title(f"{name}: PACF of the differences")
        for one in axes:
            common.tidy(one)
    return figure
