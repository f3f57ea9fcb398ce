"""The page of a paper: one self-contained HTML file."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ackclock.html import environment
from ackclock.papers.results import Results
from ackclock.papers.tables import grids

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


def index(made: list[Any]) -> str:
    """The index of several papers as HTML."""
    counts = [(one, Counter(v.verdict for v in one.verdicts)) for one in made]
    return environment("ackclock.papers").get_template("index.html").render(made=counts, what=WHAT)
