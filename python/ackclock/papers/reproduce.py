"""`ackclock paper`: runs what a paper's folder asks for and writes page, verdicts, tables and figures."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock import stats
from ackclock.files import BadInput, write
from ackclock.papers import page
from ackclock.papers.folder import Alternative, Comparison, Paper, Where, call
from ackclock.papers.judge import Verdict, judge
from ackclock.papers.results import Results
from ackclock.papers.tables import Entry, as_csv, entries
from ackclock.study.executors import Executor
from ackclock.study.sweep import Progress

if TYPE_CHECKING:
    from ackclock.papers.comparison import Comparison as Comparisons


@dataclass(frozen=True)
class Reproduction:
    """What came of a paper."""

    paper: Paper
    folder: Path
    verdicts: list[Verdict]
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
    """Run a paper's studies (those that are there are kept) and write `out`/KEY.

    Figures and page are written last, each whole or not at all. Raises BadInput if the paper's folder is not in order
    or `out` cannot be written.
    """
    folder = out / paper.key
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder}: is a file; --out names a folder")
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    results = Results(paper, folder, executor, quick=quick, progress=progress)
    tables = {table.id: entries(results, table) for table in paper.tables}
    verdicts = judge(results, paper.claims)
    comparisons = [(c, _compare(results, c)) for c in paper.comparisons]
    first = [] if paper.baseline is None else [_effect(results, paper.baseline)]
    deviations = [
        (d, [*(first if d.alternative else []), *(_effect(results, a) for a in d.alternative)])
        for d in paper.deviations
    ]
    extras = [(e, call(paper, "measures", e.code, results)) for e in paper.extras]
    said = {name: results.say(value) for name, value in paper.values.items()}
    try:
        summary = paper.summary.format_map(said)
    except (KeyError, ValueError) as error:
        raise BadInput(f"{paper.folder / 'paper.toml'}: summary: names {error}, which is no [value]") from None
    figures = [(figure, _draw(results, figure.id, folder)) for figure in paper.figures]
    whole = page.render(
        results,
        tables=[(table, tables[table.id]) for table in paper.tables],
        verdicts=verdicts,
        comparisons=comparisons,
        deviations=deviations,
        extras=extras,
        figures=figures,
        summary=summary,
        seconds=time.monotonic() - began,
    )
    flat: list[Entry] = [entry for found in tables.values() for entry in found]
    _text(folder / "tables.csv", as_csv(flat))
    _text(folder / "verdicts.json", json.dumps([v.to_dict() for v in verdicts], indent=1) + "\n")
    _text(folder / "index.html", whole)
    return Reproduction(paper, folder, verdicts, results.runs, results.failed, time.monotonic() - began)


def _text(path: Path, content: str) -> None:
    write(path, lambda target: target.write_text(content, encoding="utf-8"))


def _compare(results: Results, c: Comparison) -> list[Row]:
    if c.axis not in results.study(c.study).axes:
        raise BadInput(f"{results.paper.folder}: comparison {c.title}: {c.study} has no axis {c.axis}")
    labels = [label for label in results.study(c.study).axes[c.axis] if label != c.base]
    to = {c.axis: c.base}
    return [_row(results, label, c.study, {c.axis: label}, to, c.where) for label in labels]


def _effect(results: Results, a: Alternative) -> Row:
    return _row(results, a.label, a.study, a.of, a.to, a.where)


def _row(results: Results, label: str, study: str, of: Where, to: Where, where: Where) -> Row:
    found = []
    for effect in results.paper.effects:
        found.append(results.effect(effect.kind, study, effect.metric, of, to, where).scaled(effect.factor))
    return Row(label, found)


def _draw(results: Results, name: str, folder: Path) -> str:
    """Draw a figure, write it as SVG; its text for the page."""
    import matplotlib as mpl

    mpl.rcParams["svg.hashsalt"] = name  # the same results give the same file, and no two figures share an id
    mpl.rcParams["svg.id"] = name
    figure = call(results.paper, name, "draw", results)
    if not hasattr(figure, "savefig"):
        raise BadInput(f"{results.paper.folder / name}.py: draw gives no figure")
    target = folder / "figures" / f"{name}.svg"
    write(target, lambda path: figure.savefig(path, format="svg", metadata={"Date": None}))
    text = target.read_text(encoding="utf-8")
    return re.sub(r"^.*?(?=<svg)", "", text, count=1, flags=re.S)


def readme(paper: Paper, made: Reproduction) -> None:
    """Put the verdicts into the paper's README, between its markers."""
    source, begin, end = paper.folder / "README.md", "<!-- verdicts -->", "<!-- end of verdicts -->"
    text = source.read_text(encoding="utf-8")
    if begin not in text or end not in text:
        raise BadInput(f"{source}: has no {begin} ... {end}")
    lines = ["| claim | verdict | measured (95 %) | claimed | published |", "|---|---|---|---|---|"]
    for v in made.verdicts:
        c = v.claim
        found = (
            "-" if v.low is None or v.high is None else f"{v.value:.3g} [{v.low:.3g}, {v.high:.3g}] {c.unit}".strip()
        )
        side = {1: ">", -1: "<", 0: f"±{c.tolerance:g} of"}[c.direction]
        published = "-" if c.expected is None else f"{c.expected:.3g}"
        mark = ", not after Holm's correction" if v.weak else ""
        lines.append(f"| {c.id}: {c.metric} | **{v.verdict}**{mark} | {found} | {side} {c.reference:g} | {published} |")
    before, rest = text.split(begin, 1)
    after = rest.split(end, 1)[1]
    _text(source, before + begin + "\n" + "\n".join(lines) + "\n" + end + after)


def index(out: Path, made: list[Reproduction], comparison: Comparisons | None, *, quick: bool) -> None:
    """Write `out`/index.html: every claim of the papers with its verdict, and the comparison of all controllers."""
    _text(out / "index.html", page.index(made, comparison, quick=quick))
