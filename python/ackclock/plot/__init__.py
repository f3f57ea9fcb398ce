"""Figures: one style, one placement of labels, and the figures of runs, traces and studies.

The command line, papers, suites and notebooks draw with this package.
"""

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
