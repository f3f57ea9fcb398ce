"""`ackclock paper`: runs the studies of a paper's folder and writes page, verdicts, tables and figures."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock import stats, topology, view
from ackclock.files import BadInput, check_folder, own_folder, save_figure, write_text
from ackclock.papers import page
from ackclock.papers.calibration import Fit, fit, held_out
from ackclock.papers.folder import AxisComparison, Extra, Figure, Network, Paper, Where, call
from ackclock.papers.judge import Verdict, judge
from ackclock.papers.readings import (
    ALL_PARAMETERS,
    AS_FILED,
    EQUIVALENT,
    MOST_EQUIVALENT,
    MOST_EQUIVALENT_QUICK,
    check,
    others,
)
from ackclock.papers.results import Results
from ackclock.papers.runs import PaperRuns, RunsUsed
from ackclock.papers.tables import Entry, as_csv, entries, uncovered
from ackclock.study.executors import Executor
from ackclock.study.sweep import Progress

if TYPE_CHECKING:
    from ackclock.experiment import Scenario
    from ackclock.papers.controller_comparison import ControllerComparison


@dataclass(frozen=True)
class Reproduction:
    """The result of the reproduction of a paper."""

    paper: Paper
    folder: Path
    verdicts: list[Verdict]
    calibration: Fit
    runs: int
    failed: list[tuple[str, str]]
    seconds: float


@dataclass(frozen=True)
class Row:
    """A line of a comparison: a label, and an estimate for each effect of the paper."""

    label: str
    estimates: list[stats.Estimate]


def reproduce(
    paper: Paper,
    out: Path,
    executor: Executor,
    *,
    quick: bool = False,
    progress: Callable[[str], Progress | None] | None = None,
) -> Reproduction:
    """Run a paper's studies and write `out`/KEY. Finished runs are kept.

    Figures and page are written last, each completely or not at all. Raises BadInput if the paper's folder is invalid
    or if `out` cannot be written.
    """
    folder = check_folder(out / paper.key)
    own_folder(out, paper.key, "figures")
    began = time.monotonic()
    first = Results(paper, folder, executor, quick=quick, progress=progress)
    check(paper, first.axes_in_file)
    calibration = fit(first)
    calibrated = calibration.chosen
    most = MOST_EQUIVALENT_QUICK if quick else MOST_EQUIVALENT
    equivalent = [calibration.readings[i] for i in calibration.equivalent[1:]]
    readings = others(paper, calibrated, equivalent, most)
    if quick:
        decisive = {point for claim in paper.claims for point in claim.swept} | {EQUIVALENT, ALL_PARAMETERS}
        near = [dict(reading.parameters) for reading in equivalent[:most]]
        readings = [r for r in readings if r.changes in decisive or (r.equivalent and dict(r.parameters) in near)]
    results = first.with_reading(calibrated, readings)
    filed = next((results.under(r) for r in readings if r.label == AS_FILED), None)
    tables = {table.id: entries(results, table, filed) for table in paper.tables}
    flat: list[Entry] = [entry for rows in tables.values() for entry in rows]
    if missing := uncovered(paper, flat):
        raise BadInput(f"{paper.folder}: published cells are missing: {missing[:5]}; add a table or a setting")
    # Interpretations that the quick form leaves out could change a size.
    sizes = calibration.fits and not (quick and equivalent)
    verdicts = judge(results, paper.claims, readings, sizes=sizes)
    parts: list[AxisComparison | Extra] = [*paper.comparisons, *paper.extras]
    left_out = [part for part in parts if quick and part.full_only]
    comparisons = [(c, _compare(results, c)) for c in paper.comparisons if c not in left_out]
    extras = [(e, call(paper, "measures", e.code, results)) for e in paper.extras if e not in left_out]
    said = {name: results.say(value) for name, value in paper.values.items()} | {"calibrated": calibrated.label}
    try:
        summary = paper.summary.format_map(said)
    except (KeyError, ValueError) as error:
        raise BadInput(f"{paper.folder / 'paper.toml'}: summary: names {error}, which has no [value] table") from None
    opened = PaperRuns(results, filed, "../" if view.is_built() else None)
    figures = [(figure, *_draw(results, figure, folder, opened)) for figure in paper.figures]
    networks = [(network, topology.svg(*_network(results, network))) for network in paper.networks]
    whole = page.render(
        results,
        calibration=calibration,
        held_out=held_out(results),
        readings=readings,
        tables=[(table, tables[table.id]) for table in paper.tables],
        verdicts=verdicts,
        sized=sizes,
        comparisons=comparisons,
        extras=extras,
        left_out=[part.title for part in left_out],
        figures=figures,
        opened=opened,
        networks=networks,
        summary=summary,
        seconds=time.monotonic() - began,
    )
    write_text(folder / "tables.csv", as_csv(paper, flat))
    write_text(folder / "verdicts.json", json.dumps([v.to_dict() for v in verdicts], indent=1, allow_nan=False) + "\n")
    write_text(folder / "calibration.json", json.dumps(calibration.to_dict(), indent=1) + "\n")
    write_text(folder / "index.html", whole)
    if opened.known:
        view.place(out)
    seconds = time.monotonic() - began
    return Reproduction(paper, folder, verdicts, calibration, results.runs, results.failed, seconds)


def _network(results: Results, network: Network) -> tuple[Scenario, str]:
    """The scenario of a network under the calibrated interpretation, at the first point of its study."""
    return results.load(network.study, results.reading, 1).scenario(0), network.title


def _compare(results: Results, c: AxisComparison) -> list[Row]:
    if c.axis not in results.study(c.study).axes:
        raise BadInput(f"{results.paper.folder}: comparison {c.title}: {c.study} has no axis {c.axis}")
    labels = [label for label in results.study(c.study).axes[c.axis] if label != c.base]
    to = {c.axis: c.base}
    return [_row(results, label, c.study, {c.axis: label}, to, c.where) for label in labels]


def _row(results: Results, label: str, study: str, of: Where, to: Where, where: Where) -> Row:
    cells = []
    for effect in results.paper.effects:
        cells.append(results.effect(effect.kind, study, effect.metric, of, to, where).scaled(effect.factor))
    return Row(label, cells)


def _draw(results: Results, wanted: Figure, folder: Path, opened: PaperRuns) -> tuple[str, RunsUsed]:
    """Draw a figure and write it to an SVG file. Returns the SVG text for the page, and the runs that it shows."""
    before = len(results.studies_used)
    figure = call(results.paper, wanted.module, "draw", results, **wanted.options)
    if not hasattr(figure, "savefig"):
        raise BadInput(f"{results.paper.folder / wanted.module}.py: draw returns no figure")
    target = folder / "figures" / f"{wanted.id}.svg"
    save_figure(figure, target, name=wanted.id)
    text = target.read_text(encoding="utf-8")
    used = opened.of_figure(wanted, results.studies_used[before:])
    return re.sub(r"^.*?(?=<svg)", "", text, count=1, flags=re.S), used


def readme(paper: Paper, result: Reproduction) -> None:
    """Write the verdicts into the paper's README, between its markers."""
    source, begin, end = paper.folder / "README.md", "<!-- verdicts -->", "<!-- end of verdicts -->"
    text = source.read_text(encoding="utf-8")
    if begin not in text or end not in text:
        raise BadInput(f"{source}: has no {begin} ... {end}")
    lines = [
        "| claim | direction | size | measured (95 %) | claimed | printed | interpretations |",
        "|---|---|---|---|---|---|---|",
    ]
    for v in result.verdicts:
        c, j = v.claim, v.taken
        value_text = "-" if j.value is None else f"{j.value:.3g} {c.unit}".strip()
        if j.low is not None and j.high is not None:
            value_text += f" [{j.low:.3g}, {j.high:.3g}]"
        side = {1: ">", -1: "<", 0: f"±{c.tolerance:g} of"}[c.direction]
        printed = "-" if c.expected is None else f"{c.expected:.3g}"
        mark = ", not significant after Holm's correction" if v.weak else ""
        cells = [
            f"{c.id}: {c.metric}",
            f"**{v.direction}**{mark}",
            v.size or "-",
            value_text,
            f"{side} {c.reference:g}",
        ]
        lines.append(f"| {' | '.join([*cells, printed, v.strip or '-'])} |")
    before, rest = text.split(begin, 1)
    after = rest.split(end, 1)[1]
    write_text(source, before + begin + "\n" + "\n".join(lines) + "\n" + end + after)


def index(
    out: Path, reproductions: list[Reproduction], comparison: ControllerComparison | None, *, quick: bool
) -> None:
    """Write `out`/index.html: every claim of the papers with its verdict, and the comparison of all controllers."""
    write_text(out / "index.html", page.index(reproductions, comparison, quick=quick))
