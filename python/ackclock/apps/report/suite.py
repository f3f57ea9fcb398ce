"""The report of a suite: `ackclock suite NAME --control C` writes its folder."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path

from ackclock.apps.report import methods
from ackclock.apps.report.document import NamedFigure, NamedTable, Report, RunLink
from ackclock.apps.report.facts import reason_of
from ackclock.apps.suite import figures
from ackclock.apps.suite.baselines import baselines
from ackclock.apps.suite.difference import largest
from ackclock.apps.suite.folder import Suite, find
from ackclock.apps.suite.measures import SUITE_METRICS
from ackclock.apps.suite.overview import ASPECTS, cell
from ackclock.apps.suite.page import against
from ackclock.apps.suite.result import SuiteResult, read
from ackclock.base.tables import Column
from ackclock.stats import Estimate


def of_folder(folder: Path) -> Report:
    """The report of a suite's folder. Raises BadInput."""
    result = read(folder)
    suite = find(result.metadata.suite)
    others = baselines(suite, result)
    reference = others.reference
    name = result.metadata.control
    other = reference.metadata.control if reference else ""
    answer: list[str] = []
    drawn: list[NamedFigure] = []
    if reference is not None:
        changes = against(reference, result)
        counts = {verdict: sum(c.verdict == verdict for c in changes) for verdict in ("better", "worse", "other")}
        answer.append(
            f"Against {other}, of {len(changes)} metrics of all situations and points "
            f"{counts['better']} are better, {counts['worse']} worse, {counts['other']} different in a metric of which "
            "neither direction is better; the others show no significant difference (Benjamini and Hochberg, and "
            "larger than 1 %)."
        )
        if top := largest(changes):
            figure = figures.differences(top, other, name)
            drawn.append(NamedFigure("differences", f"The largest differences from {other}", figure))
    shown = {name: result, **({other: reference} if reference else {})}
    if (small := figures.multiples(suite.situations, shown)) is not None:
        drawn.append(NamedFigure("situations", "Situations at several points", small))
    return Report(
        kind="suite",
        title=f"{name} in the suite {suite.title}",
        question=suite.summary,
        answer=answer or ["There are no results of another controller to compare with."],
        table=_answer(suite, result, reference),
        figures=drawn,
        numbers=_numbers(suite, result),
        methods=_methods(suite, result, reference),
        citations=methods.citations(result.metadata.engine, [name, other], []),
        runs=_pages(folder),
        notes=[*others.warnings, *_missing(result)],
        command=f"ackclock suite {result.metadata.suite} --control {shlex.quote(name)}"
        + (" --quick" if result.metadata.quick else ""),
        engines=[result.metadata.engine],
    )


def _missing(result: SuiteResult) -> list[str]:
    """Situations that were not tried, and runs that have failed."""
    notes = [f"{key}: not tried: {why}" for key, why in result.refused.items()]
    reasons = Counter(reason_of(error) for _, error in result.failed)
    return [*notes, *(f"{count} run{'s' if count > 1 else ''} failed: {why}" for why, count in reasons.items())]


def _pages(folder: Path) -> list[RunLink]:
    page = folder / "index.html"
    return [RunLink("the suite's page, with every situation", None, str(page))] if page.is_file() else []


def _answer(suite: Suite, result: SuiteResult, reference: SuiteResult | None) -> NamedTable:
    """A row for each situation: its ratios to the reference by the aspects of the suite's page, or its numbers."""
    if reference is None:
        return _numbers(suite, result)[0]
    tested, other = result.values(), reference.values()
    rows = []
    for situation in suite.situations:
        cells = [cell(aspect, situation, tested, other) for aspect in ASPECTS]
        if any(cells):
            rows.append((situation, cells))
    parts = [Column("situation", [situation.title for situation, _ in rows])]
    for number, aspect in enumerate(ASPECTS):
        estimates = [cells[number].estimate if cells[number] else None for _, cells in rows]  # type: ignore[union-attr]
        parts.append(Column(aspect.name, estimates, "points" if aspect.points else ""))
    note = (
        f"{result.metadata.control} over {reference.metadata.control}: ratios of throughput (of completion times, of "
        "speeds), delay and fairness, differences of loss in percentage points; means over points and seeds."
    )
    return NamedTable("answer", f"Each situation, relative to {reference.metadata.control}", parts, note)


def _numbers(suite: Suite, result: SuiteResult) -> list[NamedTable]:
    """A table for each situation: its points and metrics."""
    estimates = result.estimates()
    tables = []
    for situation in suite.situations:
        points = list(dict.fromkeys(point for name, point, _ in estimates if name == situation.id))
        shown = [m for m in situation.metrics if any((situation.id, point, m) in estimates for point in points)]
        if not points:
            continue
        parts = [Column("point", [point or "single point" for point in points])]
        for name in shown:
            cells: list[Estimate | None] = [estimates.get((situation.id, point, name)) for point in points]
            parts.append(Column(SUITE_METRICS[name].words, cells, SUITE_METRICS[name].unit))
        tables.append(NamedTable(f"situation-{situation.id}", situation.title, parts, situation.question))
    return tables


def _methods(suite: Suite, result: SuiteResult, reference: SuiteResult | None) -> str:
    form = "in its quick form " if result.metadata.quick else ""
    sentences = [
        f"We ran the suite {suite.title} ({suite.source.rstrip('.')}) {form}with {result.metadata.control}: "
        f"{result.metadata.runs:,} runs, packet by packet, with {methods.program(result.metadata.engine)}.",
        "Values are means over the seeds with 95 % Student intervals.",
    ]
    if reference is not None:
        sentences.append(
            f"Differences from {reference.metadata.control} are paired by seed; of all of them, at most 5 % of those "
            "called significant are false (Benjamini and Hochberg)."
        )
    return " ".join(sentences)
