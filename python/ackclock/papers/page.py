"""The page of a paper: one self-contained HTML file."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from ackclock import stats
from ackclock.papers.results import Results
from ackclock.papers.tables import grids

if TYPE_CHECKING:
    from jinja2 import Environment

WHAT = {
    "confirmed": "the interval lies wholly on the claimed side",
    "matched": "the interval does not decide the claim, and holds the published value",
    "opposite": "the interval lies wholly on the other side",
    "undecided": "the interval lies on both sides",
    "impossible": "cannot be tested; the reason is given",
}


def value(x: float | None, significant: int = 3) -> str:
    """A number with so many significant digits, as people write them."""
    if x is None or math.isnan(x):
        return "-"
    if x == 0:
        return "0"
    if abs(x) >= 1000:
        return f"{x:,.0f}"
    if abs(x) < 0.001:
        return f"{x:.2g}"
    digits = max(0, significant - 1 - math.floor(math.log10(abs(x))))
    text = f"{x:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def interval(e: stats.Estimate | None, significant: int = 3) -> str:
    """[low, high]; nothing where there is none or it is a point."""
    if e is None or e.low is None or e.high is None or e.low == e.high:
        return ""
    return f"[{value(e.low, significant)}, {value(e.high, significant)}]"


def signed(e: stats.Estimate | None) -> str:
    """A difference with its sign."""
    return "-" if e is None else f"{'+' if e.value > 0 else ''}{value(e.value)}"


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
    template = _environment().get_template("page.html")
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
    return _environment().get_template("index.html").render(made=counts, what=WHAT)


def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("ackclock.papers", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"value": value, "interval": interval, "signed": signed}
    return environment
