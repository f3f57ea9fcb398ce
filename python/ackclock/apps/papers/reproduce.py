"""`ackclock paper`: runs the studies of a paper's folder and writes page, verdicts, tables and figures."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock import stats
from ackclock.apps import laboratory
from ackclock.apps.papers import numbers, page
from ackclock.apps.papers.calibration import fit, held_out
from ackclock.apps.papers.folder import AxisComparison, Extra, Figure, Network, Paper, Where, call
from ackclock.apps.papers.full_form import load, save, stored_calibration
from ackclock.apps.papers.judge import judge
from ackclock.apps.papers.readings import (
    ALL_PARAMETERS,
    AS_FILED,
    EQUIVALENT,
    MOST_EQUIVALENT,
    MOST_EQUIVALENT_QUICK,
    check,
    others,
)
from ackclock.apps.papers.reproduction import Reproduction, Row
from ackclock.apps.papers.results import Results
from ackclock.apps.papers.runs import PaperRuns, RunsUsed
from ackclock.apps.papers.tables import Entry, as_csv, entries, uncovered
from ackclock.base.files import BadInput, check_folder, own_folder, save_figure, write_text
from ackclock.draw import network
from ackclock.study.executors import Executor
from ackclock.study.sweep import Progress

if TYPE_CHECKING:
    from ackclock.apps.papers.controller_comparison import ControllerComparison
    from ackclock.scenario import Scenario


DECIMALS = re.compile(r"(?<![\d.])([1-9]\d*\.\d\d)\d+")
"""Coordinates in a figure, with two decimals and the others: a hundredth of a point is not seen."""


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
    calibration = (stored_calibration(paper) if quick else None) or fit(first)
    calibrated = calibration.chosen
    most = MOST_EQUIVALENT_QUICK if quick else MOST_EQUIVALENT
    equivalent = [calibration.readings[i] for i in calibration.equivalent[1:]]
    readings = others(paper, calibrated, equivalent, most)
    if quick:
        decisive = {point for claim in paper.claims for point in claim.swept} | {EQUIVALENT, ALL_PARAMETERS}
        near = [dict(reading.parameters) for reading in equivalent[:most]]
        readings = [
            r for r in readings if r.row or r.changes in decisive or (r.equivalent and dict(r.parameters) in near)
        ]
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
    values = {name: results.estimate(value) for name, value in paper.values.items()}
    said = {name: sentence_of(e) for name, e in values.items()} | {"calibrated": calibrated.label}
    try:
        summary = paper.summary.format_map(said)
    except (KeyError, ValueError) as error:
        raise BadInput(f"{paper.folder / 'paper.toml'}: summary: names {error}, which has no [value] table") from None
    opened = PaperRuns(results, filed, "../" if laboratory.is_built() else None)
    figures = [(figure, *_draw(results, figure, folder, opened)) for figure in paper.figures]
    networks = [(each, network.svg(*_network(results, each))) for each in paper.networks]
    engine = results.study(paper.studies[0].name).engine if paper.studies else ""
    seconds = time.monotonic() - began
    full = load(paper, calibrated) if quick else None
    headline = next(claim for claim in paper.claims if claim.id == paper.page.headline.claim)
    reproduction = Reproduction(
        *(paper, folder, quick, engine, verdicts, calibration, full, values),
        opened.claim(headline) if opened.known else None,
        *(results.runs, results.failed, seconds),
    )
    shown = page.PaperPage(
        results,
        held_out(results),
        readings,
        [(table, tables[table.id]) for table in paper.tables],
        comparisons,
        extras,
        [part.title for part in left_out],
        figures,
        opened,
        networks,
        summary,
    )
    pages = {"index.html": page.paper(reproduction, shown)} | (
        {"runs.html": page.runs(reproduction, shown)} if opened.known else {}
    )
    write_text(folder / "tables.csv", as_csv(paper, flat))
    write_text(folder / "verdicts.json", json.dumps(reproduction.to_dict(), indent=1, allow_nan=False) + "\n")
    write_text(folder / "calibration.json", json.dumps(calibration.to_dict(), indent=1) + "\n")
    for name, text in pages.items():
        write_text(folder / name, text)
    if opened.known:
        laboratory.place(out)
    return reproduction


def sentence_of(e: stats.Estimate) -> str:
    """A number for a sentence, with its 95 % interval."""
    centre, low, high = (
        "-" if x is None else f"{x:.3g}" if abs(x) < 1000 else f"{x:.0f}" for x in (e.value, e.low, e.high)
    )
    return centre if low == high else f"{centre} ({low} to {high})"


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
    whole = re.sub(r"^.*?(?=<svg)", "", text, count=1, flags=re.S)
    return DECIMALS.sub(r"\1", whole), used


def readme(paper: Paper, result: Reproduction) -> None:
    """Write the verdicts of the full form into the paper's README, between its markers, and into full.json."""
    save(paper, result.calibration, result.verdicts, result.engine)
    source, begin, end = paper.folder / "README.md", "<!-- verdicts -->", "<!-- end of verdicts -->"
    text = source.read_text(encoding="utf-8")
    if begin not in text or end not in text:
        raise BadInput(f"{source}: has no {begin} ... {end}")
    lines = ["| claim | verdict | measured (95 %) | claimed | printed | other choices |", "|---|---|---|---|---|---|"]
    for v in result.verdicts:
        c, j = v.claim, v.calibrated
        detail = f": {v.detail}" if v.detail else ""
        values = [f"{numbers.with_unit(c, one.value)} {numbers.certainty(c, one)}" for one in (j, *v.rows)]
        measured = "-" if j.value is None else "; ".join(values)
        printed = "-" if c.expected is None else numbers.with_unit(c, c.expected)
        moved = [one for one in v.choices if one.value is not None]
        inside = sum(v.on_claimed_side(one.value) for one in moved if one.value is not None)
        choices = f"{inside} of {len(moved)} as claimed" if moved else "-"
        cells = [f"{c.id}: {c.short}", f"**{v.word}**{detail}", measured, numbers.claimed(c), printed, choices]
        lines.append(f"| {' | '.join(cells)} |")
    before, rest = text.split(begin, 1)
    after = rest.split(end, 1)[1]
    write_text(source, before + begin + "\n" + "\n".join(lines) + "\n" + end + after)


def index(out: Path, reproductions: list[Reproduction], comparison: ControllerComparison | None) -> None:
    """Write `out`/index.html, and `out`/comparison/index.html if the controllers were compared."""
    from ackclock.apps.papers.comparison_page import comparison_page

    if comparison is not None:
        write_text(out / "comparison" / "index.html", comparison_page(comparison))
    write_text(out / "index.html", page.index(reproductions, comparison))
    if laboratory.is_built():
        laboratory.place(out)
    laboratory.link_documentation(out)
