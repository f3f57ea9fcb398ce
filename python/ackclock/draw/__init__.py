"""Figures: one style, one placement of labels, and the figures of runs, traces and studies.

The command line, papers, suites and notebooks draw with this package.
"""

from typing import TYPE_CHECKING

from ackclock.base.lazy import on_first_use

if TYPE_CHECKING:
    from ackclock.draw.labels import End, label_ends, label_points
    from ackclock.draw.means import line
    from ackclock.draw.runs import timelines
    from ackclock.draw.style import COLOURS, DASHES, MARKERS, curve, legend, panels, tidy

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
        "COLOURS": "ackclock.draw.style",
        "DASHES": "ackclock.draw.style",
        "End": "ackclock.draw.labels",
        "MARKERS": "ackclock.draw.style",
        "curve": "ackclock.draw.style",
        "label_ends": "ackclock.draw.labels",
        "label_points": "ackclock.draw.labels",
        "legend": "ackclock.draw.style",
        "line": "ackclock.draw.means",
        "panels": "ackclock.draw.style",
        "tidy": "ackclock.draw.style",
        "timelines": "ackclock.draw.runs",
    },
)
