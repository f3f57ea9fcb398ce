"""The page of a paper: one self-contained HTML file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ackclock import stats
from ackclock.html import environment
from ackclock.models import models
from ackclock.papers.calibration import MOST_DEVIATION, ControlCell, Fit
from ackclock.papers.folder import Paper
from ackclock.papers.judge import Verdict
from ackclock.papers.readings import ALL_PARAMETERS, EQUIVALENT, Reading
from ackclock.papers.results import Results
from ackclock.papers.runs import FIRST_SEED
from ackclock.papers.tables import grids
from ackclock.suite.measures import SUITE_METRICS

if TYPE_CHECKING:
    from ackclock.papers.controller_comparison import ControllerComparison
    from ackclock.papers.runs import PaperRuns

DIRECTIONS = {
    "confirmed": "the interval lies on the claimed side",
    "no difference": "the interval lies within the region of equivalence",
    "opposite": "the interval lies on the other side",
    "undecided": "the interval lies on both sides",
    "not testable": "an unstated property of the network decides it",
    "impossible": "the paper's experiment could not have shown it",
    "contradicts itself": "numbers or statements of the paper contradict each other",
}
SIZE_WORDS = {
    "reproduced": "the interval contains the printed number, and lies within a quarter of the printed effect of it",
    "consistent": "the printed number lies within the scatter of single runs",
    "smaller": "confirmed, and smaller than printed by more than the scatter of single runs",
    "larger": "confirmed, and larger than printed by more than the scatter of single runs",
    "excluded": "not confirmed, and the printed number lies outside the scatter of single runs",
}


def render(
    results: Results,
    *,
    calibration: Fit,
    held_out: Sequence[tuple[ControlCell, Sequence[float]]],
    readings: list[Reading],
    tables: list[Any],
    verdicts: list[Verdict],
    sized: bool,
    comparisons: list[Any],
    extras: list[Any],
    left_out: list[str],
    figures: list[Any],
    opened: PaperRuns,
    networks: list[Any],
    summary: str,
    seconds: float,
) -> str:
    """The page as HTML."""
    template = environment("ackclock.papers").get_template("page.html")
    paper = results.paper
    engine = results.study(paper.studies[0].name).engine if paper.studies else ""
    return template.render(
        paper=paper,
        quick=results.quick,
        directions=DIRECTIONS,
        size_words=SIZE_WORDS,
        counts=Counter(v.counted for v in verdicts),
        sizes=Counter(v.size for v in verdicts if v.size),
        printed=sum(v.claim.expected is not None and v.claim.settled is None for v in verdicts),
        verdicts=verdicts,
        sized=sized,
        calibration=calibration,
        profile=calibration.profile(),
        most_deviation=MOST_DEVIATION,
        held_out=[(cell, stats.mean(values)) for cell, values in held_out],
        unidentified=calibration.unidentified,
        readings_run=len(readings) + 1,
        open_readings=len(calibration.equivalent) - 1,
        open_run=sum(reading.equivalent for reading in readings),
        tables=[(table, grids(table, entries), entries) for table, entries in tables],
        comparisons=comparisons,
        settings=[(s, *paper.printed(s.table)[s.row, s.column]) for s in paper.settings],
        readings=_readings(paper, verdicts, calibration, readings),
        extras=extras,
        left_out=left_out,
        figures=figures,
        opened=opened,
        first_seed=FIRST_SEED,
        networks=networks,
        summary=summary,
        studies=[(s, results.study(s.name), results.seeds(s.name)) for s in paper.studies if results.seeds(s.name)],
        engine=engine,
        runs=results.runs,
        failed=results.failed,
        seconds=seconds,
    )


def _readings(
    paper: Paper, verdicts: list[Verdict], calibration: Fit, readings: list[Reading]
) -> list[tuple[str, str, list[Any]]]:
    """For each unstated point: a heading, the choice with its reason, and the changes under other interpretations."""
    rows = []
    changed = {
        reading.label: [
            (v.claim.id, v.direction, j.direction)
            for v in verdicts
            for j in v.readings
            if j.reading == reading.label and j.direction != v.direction
        ]
        for reading in readings
    }

    def lines(key: str) -> list[Any]:
        return [(r.label.split(": ", 1)[-1], changed[r.label]) for r in readings if r.changes == key]

    if whole := lines(ALL_PARAMETERS):
        rows.append(("All first candidates", "Defaults of the simulator, or what the text suggests.", whole))
    if equal := lines(EQUIVALENT):
        body = "Interpretations that differ in more than one point and are about as near to the control cells."
        rows.append(("Not distinguished from the calibrated interpretation", body, equal))
    for p in paper.calibration.parameter:
        rows.append(
            (f"{p.what[0].upper()}{p.what[1:]}", f"Fitted: {calibration.chosen.parameters[p.id]}.", lines(p.id))
        )
    for d in paper.deviations:
        name = d.id if d.id.startswith("D") and d.id[1:].isdigit() else d.id.capitalize()
        body = f"{d.section}. Taken: {d.taken} Because {d.reason[0].lower()}{d.reason[1:]}"
        rows.append((f"{name}. {d.what}", body, lines(d.id)))
    return rows


SIGNS = {
    "confirmed": "✓",
    "no difference": "=",
    "opposite": "✗",
    "undecided": "?",
    "not testable": "-",
    "impossible": "∅",
    "contradicts itself": "≠",
}


def index(reproductions: list[Any], comparison: ControllerComparison | None, *, quick: bool) -> str:
    """The index of several papers as HTML: every claim with its verdict, and the comparison of all controllers."""
    from ackclock.papers.controller_comparison import draw

    return (
        environment("ackclock.papers")
        .get_template("index.html")
        .render(
            made=reproductions,
            quick=quick,
            directions=DIRECTIONS,
            size_words=SIZE_WORDS,
            signs=SIGNS,
            summary=[(one, _verdict_counts(one.verdicts)) for one in reproductions],
            total=_verdict_counts([v for one in reproductions for v in one.verdicts]),
            comparison=comparison,
            figure=None if comparison is None else draw(comparison),
            metrics=SUITE_METRICS,
            limits=[(entry["name"], limit) for entry in models("controllers") for limit in entry["limits"]],
        )
    )


def _verdict_counts(verdicts: list[Verdict]) -> dict[str, int]:
    """Counts for the summary table: claims that are confirmed, reproduced in size, refuted, not testable."""
    directions, sizes = Counter(v.counted for v in verdicts), Counter(v.size for v in verdicts)
    return {
        "claims": len(verdicts),
        "confirmed": directions["confirmed"],
        "printed": sum(v.claim.expected is not None and v.claim.settled is None for v in verdicts),
        "reproduced": sizes["reproduced"] + sizes["consistent"],
        "other": sizes["smaller"] + sizes["larger"],
        "refuted": directions["opposite"],
        "none": directions["no difference"],
        "excluded": sizes["excluded"],
        "undecided": directions["undecided"],
        "untestable": sum(directions[name] for name in ("not testable", "impossible", "contradicts itself")),
    }
