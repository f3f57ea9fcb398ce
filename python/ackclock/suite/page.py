"""The page of a controller in a suite: one self-contained HTML file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ackclock.html import environment
from ackclock.suite.measures import METRICS

if TYPE_CHECKING:
    from ackclock.suite.folder import Suite
    from ackclock.suite.result import SuiteResult


def render(suite: Suite, made: SuiteResult) -> str:
    """The page as HTML."""
    estimates = made.estimates()
    tables = []
    for situation in suite.situations:
        points = list(dict.fromkeys(point for name, point, _ in estimates if name == situation.id))
        shown = [m for m in situation.metrics if any((situation.id, point, m) in estimates for point in points)]
        rows = [(point, [estimates.get((situation.id, point, metric)) for metric in shown]) for point in points]
        tables.append((situation, shown, rows))
    template = environment("ackclock.suite").get_template("suite.html")
    return template.render(suite=suite, made=made, tables=tables, metrics=METRICS)
