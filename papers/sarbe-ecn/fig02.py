"""Figures 2 and 3: estimates over time against the truth."""

import numpy as np
from matplotlib.figure import Figure

from ackclock.papers import draw as common


def draw(results) -> Figure:
    """A panel for each path; a line for each estimator, the truth in black."""
    measures = results.paper.code("measures")
    figure, axes = common.panels(1, 3, height=2.6)
    seconds = np.arange(measures.DURATION_S) + 0.5
    for axis, path in zip(axes, ("steps", "compression", "loss"), strict=True):
        for i, name in enumerate(measures.DRAWN):
            values = measures.estimate(results, path, name, 1) / 1e6
            axis.plot(seconds, values, linewidth=1, color=common.COLOURS[i], label=measures.NAMES[name])
        axis.step(
            seconds,
            measures.truth(results, path, "sarbe", 1) / 1e6,
            where="mid",
            color="black",
            linewidth=1.6,
            label="truth",
        )
        axis.set_title({"steps": "steps", "compression": "ACK compression", "loss": "1 % loss"}[path])
        axis.set_ylabel("estimate (Mb/s)")
        axis.set_ylim(0, 10)
    axes[-1].set_xlabel("time (s)")
    axes[-1].set_xlim(0, measures.DURATION_S)
    common.legend(figure, axes)
    return figure
