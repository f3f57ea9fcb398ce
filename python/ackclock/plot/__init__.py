"""Figures: one style, one placement of labels, and the figures of runs, traces and studies.

The command line, papers, suites and notebooks draw with this package.
"""

from typing import TYPE_CHECKING

from ackclock.lazy import on_first_use

if TYPE_CHECKING:
    from ackclock.plot.labels import End, label_ends, label_points
    from ackclock.plot.means import line
    from ackclock.plot.runs import timelines
    from ackclock.plot.style import COLOURS, DASHES, MARKERS, curve, legend, panels, tidy

__all__ = [
    "COLOURS",
    "DASHES",
    "MARKERS",
    "End",
    "curve",
    "label_ends",
    "label_points",
    "legend",
    "line",
    "panels",
    "tidy",
    "timelines",
]

__getattr__ = on_first_use(
    __name__,
    {
        "COLOURS": "ackclock.plot.style",
        "DASHES": "ackclock.plot.style",
        "End": "ackclock.plot.labels",
        "MARKERS": "ackclock.plot.style",
        "curve": "ackclock.plot.style",
        "label_ends": "ackclock.plot.labels",
        "label_points": "ackclock.plot.labels",
        "legend": "ackclock.plot.style",
        "line": "ackclock.plot.means",
        "panels": "ackclock.plot.style",
        "tidy": "ackclock.plot.style",
        "timelines": "ackclock.plot.runs",
    },
)
