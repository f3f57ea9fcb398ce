"""Figure 1: run sequence and autocorrelation of the round-trip time."""

from matplotlib.figure import Figure

from ackclock import draw as common
from ackclock.apps.arima import plots


def draw(results) -> Figure:
    """A row for each series: simulated (seed 1), measured."""
    measures = results.paper.code("measures")
    found = measures.series(results)
    names = [name for name in ("simulated", "measured") if name in found]
    figure = Figure(figsize=(9.2, 2.9 * len(names)), layout="constrained")
    for axes, name in zip(figure.subplots(len(names), 2, squeeze=False), names, strict=True):
        plots.run_sequence(axes[0], found[name][0])
        axes[0].set_xlabel(f"sample ({measures.SPACING_S[name]:g} s apart)")
        axes[0].set_title(f"{name}: run sequence")
        plots.level_acf(axes[1], found[name][0])
        axes[1].set_title(f"{name}: autocorrelation")
        for one in axes:
            common.tidy(one)
    return figure
