"""Figures 2 and 3: estimates over time against the truth."""

import numpy as np
from matplotlib.figure import Figure

from ackclock import draw as common


def draw(results, path: str) -> Figure:
    """A line for each estimator, SARBE's and Westwood's on top; the truth in black."""
    measures = results.paper.code("measures")
    figure, (axis,) = common.panels(1, height=3.8)
    seconds = np.arange(measures.DURATION_S) + 0.5
    truth = measures.truth(results, path, "sarbe", 1) / 1e6
    for i, name in reversed(list(enumerate(measures.DRAWN))):
        values = measures.estimate(results, path, name, 1) / 1e6
        first = name in {"sarbe", "westwood"}
        style = {"linewidth": 1.8 if first else 0.8, "alpha": 1 if first else 0.6, "zorder": 4 if first else 2}
        axis.plot(seconds, values, **common.curve(i), label=measures.NAMES[name], **style)
    axis.step(seconds, truth, where="mid", color="black", linewidth=1.4, linestyle=":", zorder=5, label="truth")
    if path == "compression":
        axis.axvspan(*measures.REVERSE_S, color="#f0f0f0", zorder=0, label="reverse FTP")
    axis.set_ylabel("estimate (Mb/s)")
    axis.set_ylim(0, 2 * float(truth.max()))
    axis.set_xlabel("time (s)")
    axis.set_xlim(0, measures.DURATION_S)
    common.legend(figure, [axis])
    return figure
