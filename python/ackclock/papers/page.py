"""The page of a paper: one self-contained HTML file."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ackclock.html import environment
from ackclock.papers.results import Results
from ackclock.papers.tables import grids
from ackclock.suite.measures import METRICS

if TYPE_CHECKING:
    from ackclock.papers.comparison import Comparison

WHAT = {
    "confirmed": "the interval lies wholly on the claimed side",
    "matched": "the interval does not decide the claim, and holds the published value",
    "opposite": "the interval lies wholly on the other side",
    "undecided": "the interval lies on both sides",
    "impossible": "cannot be tested; the reason is given",
}


def render(
    results: Results,
    *,
    tables: list[Any],
    verdicts: list[Any],
    comparisons: list[Any],
    deviations: list[Any],
    extras: list[Any],
    figures: list[Any],
    summary: str,
    seconds: float,
) -> str:
    """The page as HTML."""
    template = environment("ackclock.papers").get_template("page.html")
    engine = results.study(results.paper.studies[0].name).engine if results.paper.studies else ""
    return template.render(
        paper=results.paper,
        quick=results.quick,
        what=WHAT,
        counts=Counter(v.verdict for v in verdicts),
        verdicts=verdicts,
        tables=[(table, grids(table, found), found) for table, found in tables],
        comparisons=comparisons,
        deviations=deviations,
        extras=extras,
        figures=figures,
        summary=summary,
        studies=[(s, results.study(s.name), results.seeds(s.name)) for s in results.paper.studies],
        engine=engine,
        runs=results.runs,
        failed=results.failed,
        seconds=seconds,
    )


SIGNS = {"confirmed": "✓", "matched": "≈", "opposite": "✗", "undecided": "?", "impossible": "0"}


def index(made: list[Any], comparison: Comparison | None, *, quick: bool) -> str:
    """The index of several papers as HTML: every claim with its verdict, and the comparison of all controllers."""
    from ackclock.papers.comparison import draw

    return (
        environment("ackclock.papers")
        .get_template("index.html")
        .render(
            made=made,
            quick=quick,
            what=WHAT,
            signs=SIGNS,
            total=Counter(v.verdict for one in made for v in one.verdicts),
            comparison=comparison,
            figure=None if comparison is None else draw(comparison),
            metrics=METRICS,
        )
    )
