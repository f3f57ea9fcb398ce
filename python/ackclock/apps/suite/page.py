"""The page of a controller in a suite: one self-contained HTML file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ackclock.apps.suite import checks_page, figures
from ackclock.apps.suite.baselines import baselines
from ackclock.apps.suite.difference import Change, changes_between, largest
from ackclock.apps.suite.measures import SUITE_METRICS
from ackclock.apps.suite.overview import heat_map
from ackclock.base.controllers import short_names
from ackclock.base.files import BadInput, svg_text
from ackclock.draw.page import environment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ackclock.apps.suite.folder import Suite
    from ackclock.apps.suite.result import SuiteResult


def render(suite: Suite, result: SuiteResult) -> str:
    """The page as HTML: the verdicts, or the controller against others, on the first screen, then details."""
    if suite.has_checks:
        return checks_page.render(suite, result)
    others = baselines(suite, result)
    names = short_names([result.metadata.control, *others.results])
    result = _named(result, names)
    others = replace(others, results={names[name]: _named(other, names) for name, other in others.results.items()})
    estimates = result.estimates()
    tables = []
    for situation in suite.situations:
        points = list(dict.fromkeys(point for name, point, _ in estimates if name == situation.id))
        shown = [m for m in situation.metrics if any((situation.id, point, m) in estimates for point in points)]
        rows = [(point, [estimates.get((situation.id, point, metric)) for metric in shown]) for point in points]
        tables.append((situation, shown, rows))
    reference = others.reference
    changes = [] if reference is None else against(reference, result)
    top = largest(changes)
    picture = None
    if reference is not None and top:
        figure = figures.differences(top, reference.metadata.control, result.metadata.control)
        picture = svg_text(figure, "differences")
    small = figures.multiples(suite.situations, {result.metadata.control: result, **others.results})
    return (
        environment("ackclock.apps.suite")
        .get_template("suite.html")
        .render(
            suite=suite,
            made=result,
            tables=tables,
            metrics=SUITE_METRICS,
            others=others,
            reference=reference,
            heat=heat_map(suite.situations, result, others.results),
            counts={verdict: sum(c.verdict == verdict for c in changes) for verdict in ("better", "worse", "other")},
            compared=len(changes),
            top=top,
            differences=picture,
            multiples=None if small is None else svg_text(small, "multiples"),
            colour=colour,
        )
    )


def _named(result: SuiteResult, names: Mapping[str, str]) -> SuiteResult:
    """A result under the name of its controller on the page."""
    return replace(result, metadata=replace(result.metadata, control=names[result.metadata.control]))


def against(reference: SuiteResult, result: SuiteResult) -> list[Change]:
    """Changes from a baseline, over the seeds that both have; none if they have no metric in common."""
    try:
        return changes_between(reference, result, same_form=False)
    except BadInput:
        return []


def colour(tone: float) -> str:
    """The background of a cell: from orange (worse) by white to blue (better), as CSS."""
    red, green, blue = (0, 114, 178) if tone > 0 else (213, 94, 0)
    part = 0.72 * abs(tone) ** 0.7
    return "rgb({:.0f},{:.0f},{:.0f})".format(*(255 + part * (c - 255) for c in (red, green, blue)))
