"""Figure 3: histogram and normal probability plot of the residuals."""

from matplotlib.figure import Figure

from ackclock import draw as common
from ackclock.apps.arima import plots


def draw(results) -> Figure:
    """A row for each series: synthetic (the control), simulated (seed 1), measured."""
    found = results.paper.code("measures").series(results)
    figure = Figure(figsize=(9.2, 2.9 * len(found)), layout="constrained")
    for axes, (name, several) in zip(figure.subplots(len(found), 2, squeeze=False), found.items(), strict=True):
        model = several[0].candidate(2, 1)
        plots.residual_histogram(axes[0], several[0], model)
        axes[0].set_title(f"{name}: {model.name}")
        plots.probability_plot(axes[1], several[0], model)
        for one in axes:
            common.tidy(one)
    return figure
