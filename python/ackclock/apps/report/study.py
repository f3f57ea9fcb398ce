"""The report of a study: `ackclock sweep` writes its folder."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock._core import ScenarioError
from ackclock.apps.report import methods
from ackclock.apps.report.document import NamedFigure, NamedTable, Report, RunLink, run_link
from ackclock.apps.report.facts import StudyFacts
from ackclock.apps.report.facts import of_store as of_plan
from ackclock.base.axes import axis_words
from ackclock.base.files import BadInput
from ackclock.base.tables import Column
from ackclock.draw.kinds import Kind
from ackclock.draw.studies import Choice, study_figure
from ackclock.draw.table import StudyTable
from ackclock.metrics import RunMetric, metric
from ackclock.study import goals, results
from ackclock.study.plan import ENGINE
from ackclock.study.store import Store
from ackclock.study.stored_run import study_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ackclock.study.plan import StudyPlan

MOST_LINES = 8
"""Series of a figure; with more labels it is a heat map."""
MOST_PANELS = 4
MOST_RUNS = 200
"""Runs with a link."""


def of_store(folder: Path, texts: Sequence[str], per: str | None, *, allow_code: bool = False) -> Report:
    """The report of a study's folder. `texts` are goals; `per` is the axis whose labels are judged. Raises BadInput."""
    with Store.open(folder) as store:
        table = results.points(store)
        rows = results.summary(store)
        plan, reason = _plan(store, allow_code=allow_code)
        scenario, facts = store.about("scenario") or "", of_plan(store)
        notes = [*store.notes, *facts.notes]
    judged = goals.judge(table, texts, per) if texts else None
    axis = judged.axis if judged else goals.axis_of(table, per)
    metrics = {goal.name: goal.metric for goal in judged.goals} if judged else usual(table)
    answer = _judged(judged) if judged else _ranges(table, axis, metrics)
    of_points = None if plan is None else methods.networks(plan)
    controls = [] if of_points is None else [name for names in of_points.controls.values() for name in names]
    reason = reason or _no_links(facts)
    links, not_listed = _links(folder, plan) if plan is not None and not reason else ([], "")
    if reason:
        notes.append(f"There are no links to runs: {reason}.")
    return Report(
        kind="study",
        title=table.title,
        question=question(scenario),
        answer=_sentences(judged, scenario) if judged else _lead(table, axis),
        table=answer,
        figures=figures(table, axis, metrics),
        numbers=[NamedTable("all", "Means at every point", results.columns(rows))],
        methods=methods.of_study(facts, of_points),
        citations=methods.citations(facts.engine, controls, [] if of_points is None else of_points.queues),
        runs=links,
        runs_note=not_listed,
        notes=notes,
        command=facts.command,
        engines=[facts.engine],
    )


def _plan(store: Store, *, allow_code: bool) -> tuple[StudyPlan | None, str]:
    """The study of a store, or why it cannot be read again here."""
    try:
        return study_of(store, allow_code=allow_code), ""
    except (BadInput, ScenarioError, OSError) as error:
        return None, str(error)


def _no_links(facts: StudyFacts) -> str:
    """Why no run opens in the laboratory of this installation; empty if they do."""
    if facts.substrates != ["tcp"]:
        return "a link opens simulated TCP only"
    return "" if facts.engine == ENGINE else f"this installation has another engine, {ENGINE}"


def question(scenario: str) -> str:
    """The comment at the head of a scenario, up to its first command, which is indented, or to the first other line."""
    lines = []
    for line in scenario.lstrip().splitlines():
        text = line.removeprefix("#")
        if not line.startswith("#") or text.startswith("   "):
            break
        lines.append(text.strip())
    return " ".join(filter(None, lines))


def usual(table: StudyTable) -> dict[str, RunMetric]:
    """The metrics of a report without goals: goodput, a delay, utilisation, and fairness of several flows."""
    rows = table.rows
    names = ["goodput", "p95_queueing" if _has(rows, "p95_queueing") else "rtt", "utilisation"]
    names += ["jain"] if len(rows[0]["flows"]) > 1 else []
    return {name: metric(name, rows) for name in names if _has(rows, name)}


def _has(rows: Sequence[dict[str, Any]], name: str) -> bool:
    try:
        return any(metric(name, rows).value(row) is not None for row in rows)
    except BadInput:
        return False


def _lead(table: StudyTable, axis: str) -> list[str]:
    if not axis:
        return []
    others = [name for name in table.labels if name != axis]
    across = f" over {', '.join(map(axis_words, others))}" if others else ""
    return [f"For each {axis_words(axis)}: the best and the worst mean{across}, with the place of the worst."]


def _sentences(judged: goals.Judgement, scenario: str) -> list[str]:
    head = goals.heading(judged)
    met = [
        goals.labelled(judged.axis, row.label)
        for row in judged.rows
        if row.label and row.counts["met"] == row.conditions
    ]
    where = f"in all {judged.conditions} conditions" if judged.conditions > 1 else "here"
    sentence = f"The goals are met {where} by {', '.join(met)}." if met else f"No label meets the goals {where}."
    return [sentence, f"{head[0].upper()}{head[1:]}.", goals.scope(judged, goals.not_modelled(scenario))]


def _judged(judged: goals.Judgement) -> NamedTable:
    return NamedTable("answer", "Conditions that meet the goals", goals.columns(judged))


def _ranges(table: StudyTable, axis: str, metrics: Mapping[str, RunMetric]) -> NamedTable:
    """Rows are the labels of an axis; cells are the worst and the best value over the other axes."""
    by_label = goals.points_of(table, axis)
    parts = [Column(axis_words(axis) or "study", [label or "all" for label in by_label], key=True)]
    several = len(table.labels) > 1
    for name, each in metrics.items():
        more = each.better >= 0
        ranges = [goals.range_of(table, points, axis, each, more=more) for points in by_label.values()]
        if not several:
            parts.append(Column(_words(name), [pair and pair[1].estimate for pair in ranges], each.unit))
            continue
        for end, head in ((0, "best" if each.better else "largest"), (1, "worst" if each.better else "smallest")):
            parts.append(Column(f"{_words(name)}: {head}", [pair and pair[end].estimate for pair in ranges], each.unit))
        parts.append(Column("at", [pair[1].condition if pair else "" for pair in ranges]))
    return NamedTable("answer", "The answer in numbers", parts)


def _words(name: str) -> str:
    return name.replace("_", " ")


def figures(table: StudyTable, axis: str, metrics: Mapping[str, RunMetric]) -> list[NamedFigure]:
    """At most three figures: a metric each, and throughput against delay if both are there."""
    drawn = []
    axis = axis if axis in table.axes else ""
    for name, each in list(metrics.items())[:2]:
        shown, fixed = _reduced(table, axis, each, places=3)
        if (figure := _draw(shown, axis, each)) is not None:
            heading = f"{each.words[0].upper()}{each.words[1:]}"
            drawn.append(NamedFigure(re.sub(r"\W+", "-", name), heading, figure, fixed))
    names = {each.name.rpartition(".")[2] for each in metrics.values()}
    if "goodput" in names and axis and names & {"p95_queueing", "queueing", "rtt"}:
        shown, fixed = _reduced(table, axis, next(iter(metrics.values())), places=2)
        try:
            figure = study_figure(shown, Choice(by=axis, kind="throughput-delay"))
            drawn.append(NamedFigure("throughput-delay", "Throughput and delay", figure, fixed))
        except BadInput:
            pass  # a study without a delay, or with more panels than a figure has
    return drawn


def _draw(table: StudyTable, axis: str, measured: RunMetric) -> Figure | None:
    """A metric: lines over a numeric axis, bars over labels, a heat map for many series."""
    axes = table.axes
    if not axes:
        return None
    numeric = [name for name, entry in axes.items() if entry.numbers is not None and name != axis]
    x = max(numeric, key=lambda name: len(axes[name].labels)) if numeric else None
    x = x or next((name for name in axes if name != axis), axis)
    by = axis if axis and axis != x else None
    kind: Kind = "lines" if axes[x].numbers is not None else "bars"
    if by is not None and len(axes[by].labels) > MOST_LINES:
        kind = "heatmap"
    try:
        return study_figure(table, Choice(x=x, y=[measured], by=by, kind=kind))
    except BadInput:
        return None


def _reduced(table: StudyTable, axis: str, measured: RunMetric, *, places: int) -> tuple[StudyTable, str]:
    """The study with at most so many axes, the others at the labels of the worst condition, and that in words."""
    names = [name for name in table.axes if name != axis]
    if axis and len(names) < places:
        return table, ""
    ordered = sorted(
        names, key=lambda name: (table.axes[name].numbers is None, len(table.axes[name].labels) > MOST_PANELS)
    )
    fixed = ordered[places - 1 :] if axis else ordered[places:]
    if not fixed:
        return table, ""
    values = {point: e.value for point in table.points if (e := goals.estimate_at(table, point, measured)) is not None}
    if not values:
        return table, ""
    by_value = sorted(values, key=lambda point: values[point], reverse=measured.better < 0)
    where = {(name, label) for name, label in by_value[0] if name in fixed}
    points = {point: rows for point, rows in table.points.items() if where <= set(point)}
    seeds = {point: table.seeds_of[point] for point in points}
    words = ", ".join(f"{axis_words(name)} {label}" for name, label in sorted(where))
    return StudyTable(table.title, points, seeds), f"At {words}, where the worst value is."


def _links(folder: Path, plan: StudyPlan) -> tuple[list[RunLink], str]:
    """Runs with their links: all, or of a large study the first seed of each of its first points, with a note."""
    refused = {point for point, _ in plan.refused}
    runs = [run for run in plan.runs() if run.point not in refused]
    note = ""
    if len(runs) > MOST_RUNS:
        runs = [run for run in runs if run.seed == plan.seeds[0]][:MOST_RUNS]
        note = _not_listed(folder)
    links = []
    for run in runs:
        words = [f"{axis.rpartition('.')[2]} {label}" for axis, label in plan.labels(run.point).items()]
        command = f"ackclock view {shlex.quote(str(folder))} --run {run.run_id[:12]}"
        name = ", ".join([*words, f"seed {run.seed}"])
        links.append(run_link(name, plan.standalone(run.point), run.seed, command))
    return links, note


def _not_listed(folder: Path) -> str:
    name = shlex.quote(str(folder))
    return (
        f"The first seed of at most {MOST_RUNS} points. All runs: ackclock results {name} --runs; one of them: "
        f"ackclock view {name} --run ID."
    )
