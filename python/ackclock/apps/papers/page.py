"""The pages of results: the index, one page for each paper, and the runs behind its numbers."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from ackclock import stats
from ackclock.apps.papers import numbers
from ackclock.apps.papers.calibration import MOST_DEVIATION, ControlCell, Fit
from ackclock.apps.papers.folder import NAMED, Paper
from ackclock.apps.papers.judge import Verdict
from ackclock.apps.papers.readings import ALL_PARAMETERS, EQUIVALENT, Reading
from ackclock.apps.papers.results import Results
from ackclock.apps.papers.runs import FIRST_SEED, PaperRuns
from ackclock.apps.papers.strip import Axis, claim_axis, claim_strip, mark, ratio_axis, scale, span, strip
from ackclock.apps.papers.tables import Entry, grids
from ackclock.apps.papers.verdict import BY_NAME, WORDS
from ackclock.base import link, si
from ackclock.draw.page import environment

if TYPE_CHECKING:
    from jinja2 import Environment

    from ackclock.apps.papers.controller_comparison import ControllerComparison
    from ackclock.apps.papers.full_form import StoredVerdict
    from ackclock.apps.papers.reproduction import Reproduction, Row

NUMBERS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")
"""Numbers of papers as words."""


@dataclass(frozen=True)
class PaperPage:
    """What the page of a paper shows besides its verdicts."""

    results: Results
    held_out: Sequence[tuple[ControlCell, Sequence[float]]]
    readings: list[Reading]
    tables: list[tuple[Any, list[Entry]]]
    comparisons: list[tuple[Any, list[Row]]]
    extras: list[tuple[Any, Any]]
    left_out: list[str]
    figures: list[tuple[Any, str, Any]]
    opened: PaperRuns
    networks: list[tuple[Any, str]]
    summary: str


def paper(reproduction: Reproduction, page: PaperPage) -> str:
    """The page of a paper as HTML."""
    results, calibration = page.results, reproduction.calibration
    studied = [
        (s, results.study(s.name), results.seeds(s.name)) for s in reproduction.paper.studies if results.seeds(s.name)
    ]
    figures = {figure.id: (figure, svg, used) for figure, svg, used in page.figures}
    return (
        results_environment("../")
        .get_template("paper.html")
        .render(
            reproduction=reproduction,
            page=page,
            main=figures.get(reproduction.paper.page.main),
            others=[entry for name, entry in figures.items() if name != reproduction.paper.page.main],
            groups=[(word, [v for v in reproduction.verdicts if v.word == word.name]) for word in WORDS],
            figure=comparison_figure(reproduction, "#"),
            cells=cells_figure(page.tables),
            calibration=calibration,
            profile=calibration.profile(),
            most_deviation=MOST_DEVIATION,
            held_out=_held_out(page.held_out),
            tables=[(table, grids(table, entries), entries) for table, entries in page.tables],
            settings=[(s, *reproduction.paper.printed(s.table)[s.row, s.column]) for s in reproduction.paper.settings],
            choices=_choices(reproduction.paper, reproduction.verdicts, calibration, page.readings),
            opened=page.opened,
            studies=studied,
        )
    )


def runs(reproduction: Reproduction, page: PaperPage) -> str:
    """The page of the runs behind a paper's numbers."""
    studied = [(s, page.results.study(s.name)) for s in reproduction.paper.studies if page.results.seeds(s.name)]
    return (
        results_environment("../")
        .get_template("runs.html")
        .render(reproduction=reproduction, opened=page.opened, studies=studied, first_seed=FIRST_SEED)
    )


def index(reproductions: Sequence[Reproduction], comparison: ControllerComparison | None) -> str:
    """The index of several papers as HTML."""
    reproduced = [one for one in reproductions if one.paper.calibration.cells]
    others = [one for one in reproductions if not one.paper.calibration.cells]
    names = [one.paper.page.name for one in others]
    groups = [
        (f"{_number(reproduced)}, reproduced", reproduced),
        (f"Published claims about {', '.join(names[:-1])}{' and ' if names[1:] else ''}{''.join(names[-1:])}", others),
    ]
    return (
        results_environment("")
        .get_template("index.html")
        .render(
            reproductions=reproductions,
            number=_number(reproductions),
            groups=[(title, papers, headline_axis(papers)) for title, papers in groups if papers],
            total=sum((one.counts for one in reproductions), Counter()),
            stored=sum((one.stored_counts or Counter() for one in reproductions), Counter()),
            is_stored=all(one.stored_counts for one in reproductions),
            has_rows=any(one.has_rows for one in reproductions),
            comparison=comparison,
            figures=[
                (one, comparison_figure(one, f"{one.paper.key}/index.html#", size="card")) for one in reproductions
            ],
            engine=reproductions[0].engine if reproductions else "",
            quick=any(one.quick for one in reproductions),
        )
    )


def results_environment(up: str) -> Environment:
    """The templates of results; `up` leads from the page to the folder of the index."""
    from ackclock.apps import laboratory

    templates = environment("ackclock.apps.papers")
    templates.filters |= {
        "with_unit": numbers.with_unit,
        "certainty": numbers.certainty,
        "claim_interval": numbers.interval,
        "number_of_runs": numbers.number_of_runs,
        "claimed": numbers.claimed,
    }
    templates.globals |= {
        "up": up,
        "laboratory": f"{up}{link.PAGE}" if laboratory.is_built() else None,
        "words": WORDS,
        "by_name": BY_NAME,
        "sentence": sentence,
        "strip_of": claim_strip,
        "scale_of": scale,
        "axis_of": claim_axis,
        "choices_sentence": choices_sentence,
        "wide_label": wide_label,
    }
    return templates


def _number(reproductions: Sequence[Reproduction]) -> str:
    """The number of papers as a word."""
    count = len(reproductions)
    return f"{NUMBERS[count] if count < len(NUMBERS) else count} {'paper' if count == 1 else 'papers'}"


def wide_label(word: str, count: int, total: int) -> bool:
    """Whether a part of a bar has room for the word beside its number."""
    return count >= (0.0115 * len(word) + 0.01) * total


def sentence(reproduction: Reproduction, text: str) -> Markup:
    """A text of a page with its values, intervals and answers."""

    def put(match: re.Match[str]) -> str:
        name = match[1]
        if name.endswith("?"):
            return answer(reproduction, name[:-1])
        value, _, span_text = _in_sentence(reproduction, name).partition(" (")
        return Markup('<b class="nb">{}</b>{}').format(value, f" ({span_text}" if span_text else "")

    return Markup(NAMED.sub(put, str(escape(text))))


def plain_sentence(reproduction: Reproduction, text: str) -> str:
    """The same for a terminal."""

    def put(match: re.Match[str]) -> str:
        name = match[1]
        return answer(reproduction, name[:-1]).striptags() if name.endswith("?") else _in_sentence(reproduction, name)

    return NAMED.sub(put, text)


def _in_sentence(reproduction: Reproduction, name: str) -> str:
    for v in reproduction.verdicts:
        if v.claim.id == name:
            return numbers.in_sentence(v.claim, v.calibrated)
    e = reproduction.values[name]
    low, high = e.low, e.high
    return si.value(e.value) + (
        f" ({si.value(low)} to {si.value(high)})" if low is not None and high is not None and low != high else ""
    )


def answer(reproduction: Reproduction, name: str) -> Markup:
    """The answer of the verdict on a claim in its colour; with that of the stored full form if only that is decided."""
    [word] = [v.word for v in reproduction.verdicts if v.claim.id == name]
    stored = reproduction.stored(name)
    text = Markup('<b class="a {}">{}</b>').format(BY_NAME[word].css, BY_NAME[word].answer)
    if stored is not None and _is_decided_by(word, stored):
        of_stored = BY_NAME[stored.verdict]
        text += Markup(' (full form: <b class="a {}">{}</b>)').format(of_stored.css, of_stored.answer)
    return text


def _is_decided_by(word: str, stored: StoredVerdict) -> bool:
    return word == "undecided" and stored.verdict != "undecided"


def headline_axis(papers: Iterable[Reproduction]) -> Axis:
    """One axis of ratios for the headline numbers of several papers."""
    values = []
    for one in papers:
        v = one.verdict(one.paper.page.headline.claim)
        values += [
            x
            for x in (v.calibrated.value, v.calibrated.low, v.calibrated.high, v.claim.expected)
            if x is not None and x > 0
        ]
    low, high = min([0.5, *values]), max([2.0, *values])
    return ratio_axis(2.0 ** math.floor(math.log2(low)), 2.0 ** math.ceil(math.log2(high)))


@dataclass(frozen=True)
class FigureRow:
    """A row of the first figure: its words, a link, the strip, and the value as text."""

    label: str
    href: str
    word: str
    strip: Markup
    printed: str
    value: str
    certainty: str


@dataclass(frozen=True)
class ComparisonFigure:
    """The first figure of a page: claims on one axis."""

    rows: list[FigureRow]
    of: str
    scale: Markup
    size: str


def comparison_figure(reproduction: Reproduction, target: str, size: str = "wide") -> ComparisonFigure:
    """Printed beside measured values of the main claims; `target` is the address of a claim without its name."""
    figure = reproduction.paper.page.figure
    low, high = figure.axis
    axis = ratio_axis(low, high)
    rows = []
    for name, label in figure.rows:
        v = reproduction.verdict(name)
        printed = "" if v.claim.expected is None else numbers.with_unit(v.claim, v.claim.expected)
        value = numbers.with_unit(v.claim, v.calibrated.value)
        drawn = claim_strip(v, reproduction.stored(name), axis)
        sure = numbers.certainty(v.claim, v.calibrated)
        rows.append(FigureRow(label, target + name, v.word, drawn, printed, value, sure))
    for name, label in figure.beside:
        e = reproduction.values[name]
        ends = [] if e.low is None or e.high is None else [span("wh x", axis, e.low, e.high)]
        drawn = strip([mark("ref", axis, 1.0), *ends, mark("dot x", axis, e.value)])
        rows.append(FigureRow(label, "", "", drawn, "", f"{si.value(e.value)}×", si.interval(e) or "in every run"))
    return ComparisonFigure(rows, figure.of, scale(axis), size)


def choices_sentence(v: Verdict) -> str:
    """How the value of a claim depends on what the paper does not state."""
    values = [j.value for j in v.choices if j.value is not None]
    if not values or v.calibrated.value is None:
        return ""
    values.append(v.calibrated.value)
    inside = sum(v.on_claimed_side(x) for x in values)
    count = len(values)
    share = f"All {count} values" if inside == count else f"{inside} of {count} values" if inside else "No value"
    largest_n = max(j.n for j in v.choices) or 1
    runs_each = "1 run each" if largest_n == 1 else f"up to {largest_n} runs each"
    spread = f"{numbers.with_unit(v.claim, min(values))} to {numbers.with_unit(v.claim, max(values))}"
    verb = "is" if inside in {0, 1} else "are"
    others = f"{len(v.choices)} other choices change" if len(v.choices) > 1 else "1 other choice changes"
    ours = "ours included" if v.on_claimed_side(v.calibrated.value) else "ours not among them"
    if not inside:
        return f"{others} this value ({runs_each}): {spread}. {share} is where the paper says."
    return f"{others} this value ({runs_each}): {spread}. {share}, {ours}, {verb} where the paper says."


@dataclass(frozen=True)
class CellsRow:
    """The cells of a quantity of a table on one axis: ours over printed."""

    label: str
    strip: Markup
    text: str


def cells_figure(tables: Sequence[tuple[Any, list[Entry]]]) -> tuple[list[CellsRow], Markup] | None:
    """Every published cell as a dot at ours over printed; counts (integers with zeros) have one added on both sides."""
    axis = ratio_axis(1 / 16, 16.0, (1 / 16, 1 / 4, 1.0, 4.0, 16.0))
    rows = []
    for table, entries in tables:
        shown: dict[str, list[Entry]] = {}
        for entry in _first_readings(table, entries):
            shown.setdefault(_quantity(table, entry), []).append(entry)
        for label, members in shown.items():
            if len(members) < LEAST_CELLS:
                continue
            printed = [float(entry.published) for entry in members]
            offset = 1.0 if 0.0 in (*printed, *(e.obtained.value for e in members)) else 0.0
            pairs = [(e.obtained.value + offset, x + offset) for e, x in zip(members, printed, strict=True)]
            ratios = sorted(a / b for a, b in pairs if b != 0 and math.isfinite(a) and a / b > 0)
            if not ratios:
                continue
            mean = stats.geometric([math.log(x) for x in ratios]).value
            smallest, largest, average = (f"{si.value(x, 2)}×" for x in (ratios[0], ratios[-1], mean))
            text = f"{len(ratios)} cells: {smallest} to {largest}, mean {average}"
            drawn = strip([mark("ref", axis, 1.0), *(mark("cd", axis, x) for x in ratios)])
            rows.append(CellsRow(f"{table.title.split(':')[0]}: {label}", drawn, text))
    return (rows, scale(axis)) if rows else None


LEAST_CELLS = 3
"""Number of cells of a quantity below which it has no row."""


def _first_readings(table: Any, entries: Sequence[Entry]) -> list[Entry]:
    """The published cells of a table, each under the first of the table's main readings that has it."""
    order = {reading: place for place, reading in enumerate(table.main)}
    first: dict[tuple[str, str], Entry] = {}
    for entry in sorted(entries, key=lambda e: order.get(e.reading, len(order))):
        if entry.published and (not order or entry.reading in order):
            first.setdefault((entry.row, entry.column), entry)
    return list(first.values())


def _quantity(table: Any, entry: Entry) -> str:
    name = entry.column.rpartition(table.split)[0] or entry.column
    reading = entry.reading.partition(", ")[2]
    return f"{name} ({reading})" if reading else name


def _held_out(cells: Sequence[tuple[ControlCell, Sequence[float]]]) -> list[tuple[str, int, float, list[Any]]]:
    """Held-out cells by table and quantity: name, number, mean factor of deviation, and the cells."""
    groups: dict[str, list[tuple[ControlCell, Sequence[float]]]] = {}
    for cell, values in cells:
        groups.setdefault(f"{cell.table}, {cell.column.partition(';')[0]}", []).append((cell, values))
    rows = []
    for name, members in groups.items():
        means = [stats.mean(values) for _, values in members]
        deviations = [cell.distance(mean.value) for (cell, _), mean in zip(members, means, strict=True)]
        factor = math.exp(sum(deviations) / len(deviations))
        rows.append((name, len(members), factor, [(c, m) for (c, _), m in zip(members, means, strict=True)]))
    return rows


def _choices(
    paper: Paper, verdicts: list[Verdict], calibration: Fit, readings: list[Reading]
) -> list[tuple[str, str, list[Any]]]:
    """For each unstated point: a heading, the choice with its reason, and the values that other choices move across.

    A line of another choice lists the claims whose value it moves from where the paper says to elsewhere, or back.
    """
    moved = {
        reading.label: [
            (v.claim, numbers.with_unit(v.claim, j.value), v.on_claimed_side(j.value))
            for v in verdicts
            for j in (*v.rows, *v.choices)
            if j.reading == reading.label
            and j.value is not None
            and v.calibrated.value is not None
            and v.on_claimed_side(j.value) != v.on_claimed_side(v.calibrated.value)
        ]
        for reading in readings
    }

    def lines(key: str) -> list[Any]:
        return [(r.label.split(": ", 1)[-1], moved[r.label]) for r in readings if r.changes == key]

    rows = []
    if whole := lines(ALL_PARAMETERS):
        rows.append(("All first candidates", "Defaults of the simulator, or what the text suggests.", whole))
    if equal := lines(EQUIVALENT):
        body = "Choices that differ in more than one point and fit the printed numbers about equally well."
        rows.append(("Choices that fit equally well", body, equal))
    for p in paper.calibration.parameter:
        body = f"Fits best: {calibration.chosen.parameters[p.id]}."
        rows.append((f"{p.what[0].upper()}{p.what[1:]}", body, lines(p.id)))
    for d in paper.deviations:
        name = d.id if d.id.startswith("D") and d.id[1:].isdigit() else d.id.capitalize()
        body = f"{d.section}. Taken: {d.taken} Because {d.reason[0].lower()}{d.reason[1:]}"
        rows.append((f"{name}. {d.what}", body, lines(d.id)))
    return rows
