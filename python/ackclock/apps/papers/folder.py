"""Reads the folder of a paper: paper.toml, claims.toml, deviations.toml, published.csv (docs/paper-format.md)."""

from __future__ import annotations

import csv
import difflib
import importlib.util
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from ackclock.base import shipped
from ackclock.base.files import BadInput
from ackclock.base.records import read_record, read_toml

Where = dict[str, str]
"""Labels of axes that choose points of a study."""


@dataclass(frozen=True)
class StudySpec:
    """A study of the paper, `studies/NAME.toml`, run with seeds 1 to `seeds` (with --quick, 1 to `quick`; 0: not run).

    Every other interpretation of the paper is run with `readings` seeds (with --quick, `quick_readings`), at the points
    whose axis labels are in `keep`: those that the claims need. Zero means that no claim uses the study.
    """

    name: str
    seeds: int
    quick: int
    readings: int = 0
    quick_readings: int = 0
    keep: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """Cells of a table from one study: templates over the axes give interpretation, row and column of each point.

    `code` names a function of measures.py that gives the cells instead.
    """

    reading: str = ""
    row: str = ""
    column: str = ""
    study: str = ""
    metric: str = ""
    factor: float = 1.0
    where: Where = field(default_factory=dict)
    code: str = ""


@dataclass(frozen=True)
class Table:
    """A published table. The page shows the interpretations `main` next to the published values, with `digits` digits.

    `labels` defines more words for the templates of its parts: `labels.AXIS.LABEL = { word = "..." }`. Points whose
    label of such an axis is not listed are omitted. The part of a column's name before the last `split` is the name
    of its grid.
    """

    id: str
    title: str
    unit: str = ""
    main: list[str] = field(default_factory=list)
    note: str = ""
    digits: int = 3
    split: str = ";"
    labels: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    part: list[Part] = field(default_factory=list)


@dataclass(frozen=True)
class Figure:
    """A figure: `draw(results, **options) -> Figure` of the module `code`, or of `ID.py`."""

    id: str
    title: str
    caption: str
    code: str = ""
    options: dict[str, str] = field(default_factory=dict)

    @property
    def module(self) -> str:
        """The module that draws it."""
        return self.code or self.id


@dataclass(frozen=True)
class Network:
    """A network of the paper, drawn from the first point of a study."""

    study: str
    title: str
    caption: str = ""


@dataclass(frozen=True)
class AxisComparison:
    """Every value of `axis` in a study against `base`: ratios and differences over all its points."""

    title: str
    study: str
    axis: str
    base: str
    where: Where = field(default_factory=dict)
    note: str = ""
    full_only: bool = False
    """Left out by --quick: no claim needs it."""


@dataclass(frozen=True)
class Extra:
    """An additional section, made by a function of measures.py."""

    id: str
    title: str
    code: str
    full_only: bool = False
    """Left out by --quick: no claim needs it."""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper. `measure` is ratio, difference, mean, or a function of measures.py (see judge.py).

    `direction` 1 claims a value above `reference`, -1 below, 0 within `tolerance` of it. `equivalence` is the distance
    from the reference below which there is no difference worth a verdict: a factor less one for ratios (0.02 is 2 %),
    in the unit of the value otherwise. `expected` is the printed number. `size` is the largest distance from it at
    which a value and its interval reproduce it, in the same terms as `equivalence`. The default of `size` is a
    quarter of the printed effect (the distance from the reference; for ratios, of the logarithms), or of the
    tolerance if similarity is claimed. `scale` is the type of a function's values: `linear`, `log` (logarithms of
    ratios), `share` (from 0 to 1). `also` names studies that the function needs in addition to `study`. `swept`
    names unstated points that influence an absolute number: the claim is not testable if some of their candidates
    give values above the reference and others give values below it. `averaged`: the function's values are means of
    several runs; with `each_run=True` it gives one for each run, for the comparison with a printed number. `short` is
    the claim as a statement that can be true or false. `impossible`, `contradiction` and `untestable` say why no run
    can decide it.
    """

    id: str
    short: str
    quote: str
    place: str
    metric: str
    direction: int
    reference: float
    measure: str
    unit: str = ""
    tolerance: float = 0.0
    expected: float | None = None
    equivalence: float | None = None
    size: float | None = None
    study: str = ""
    column: str = ""
    of: Where = field(default_factory=dict)
    to: Where = field(default_factory=dict)
    where: Where = field(default_factory=dict)
    impossible: str = ""
    contradiction: str = ""
    untestable: str = ""
    remark: str = ""
    scale: str = "linear"
    n_unit: str = "seeds"
    swept: list[str] = field(default_factory=list)
    averaged: bool = False
    also: list[str] = field(default_factory=list)

    @property
    def settled(self) -> tuple[str, str] | None:
        """The direction of a claim that no run can decide, and why; None for the others."""
        reasons = {
            "contradicts itself": self.contradiction,
            "impossible": self.impossible,
            "not testable": self.untestable,
        }
        return next(((word, reason) for word, reason in reasons.items() if reason), None)

    @property
    def is_ratio(self) -> bool:
        """Whether its value is a ratio."""
        return self.measure == "ratio" or self.scale == "log"

    @property
    def kind(self) -> str:
        """What its value is: `ratio`, `share` (from 0 to 1), `difference` or `mean`."""
        if self.is_ratio:
            return "ratio"
        return "share" if self.scale == "share" else "difference" if self.measure == "difference" else "mean"

    @property
    def region(self) -> float:
        """The region of equivalence around the reference: by default 2 % for ratios."""
        if self.equivalence is not None:
            return self.equivalence
        return 0.02 if self.is_ratio else 0.0


@dataclass(frozen=True)
class Headline:
    """The number of a paper in the index: a claim, and what its value is."""

    claim: str
    label: str


@dataclass(frozen=True)
class Comparison:
    """The first figure of a page: claims on one axis of ratios. `of` says which ratio, `rows` are claims with words.

    `beside` are [value] tables with words, for comparison.
    """

    of: str
    axis: list[float]
    rows: list[list[str]]
    beside: list[list[str]] = field(default_factory=list)


@dataclass(frozen=True)
class PageText:
    """What the first screen of a paper's page and its row in the index say.

    In `came_out`, `why`, `caution` and `answers`, {NAME} is the value of a claim or of a [value] table with its
    interval, and {CLAIM?} the answer that the verdict on a claim gives: yes, no, undecided or not testable. `main` is
    the figure of the paper that is shown first. `network` names a network for a reader's own controller; without one it
    is the first study.
    """

    name: str
    who: str
    question: str
    claimed: str
    came_out: str
    why: str
    answers: str
    headline: Headline
    figure: Comparison
    main: str = ""
    network: str = ""
    caution: str = ""
    contradictions: list[str] = field(default_factory=list)

    def names(self) -> dict[str, set[str]]:
        """The names of claims and values in each text; answers have a question mark."""
        texts = {key: getattr(self, key) for key in ("came_out", "why", "caution", "answers")}
        return {key: set(NAMED.findall(text)) for key, text in texts.items()}


NAMED = re.compile(r"\{([\w-]+\??)\}")
"""A name in a text of a page."""
NUMBER = re.compile(r"(?<![\w.-])\d+(?:[.,]\d+)*")
"""A number in a text of a page."""
LONGEST_TEXTS = {"question": 20, "claimed": 30, "came_out": 40, "why": 40, "caution": 50, "answers": 30}
"""Maximum numbers of words of the texts of a page."""


@dataclass(frozen=True)
class Value:
    """A number that the summary refers to: a ratio or a difference with its interval, or a mean.

    `code` names a function of measures.py that gives the logarithm of a ratio for each seed instead, or with the kind
    `share` a number from 0 to 1.
    """

    metric: str = ""
    study: str = ""
    code: str = ""
    kind: str = "ratio"
    of: Where = field(default_factory=dict)
    to: Where = field(default_factory=dict)
    where: Where = field(default_factory=dict)
    factor: float = 1.0


@dataclass(frozen=True)
class Count:
    """What a published quantity counts: `factor` times the number `of` of the outcome of a flow."""

    quantity: str
    of: str
    factor: float = 1.0


@dataclass(frozen=True)
class Candidate:
    """A possible value of an unstated point, as assignments to the studies.

    `set` applies to every study that claims use, or to those in `studies`; `study.NAME` applies to one study only.
    `axes` replaces an axis by that of another study's file; {folder} in a text is the paper's folder. A key
    `sweep.AXIS` or `sweep.AXIS.LABEL` is ignored for a study without such an axis or label. `count` says what numbers
    of a flow's outcome count; it changes no run. `row`: every claim is judged under this candidate too, with all seeds,
    and holds only if it holds under both.
    """

    label: str
    set: dict[str, Any] = field(default_factory=dict)
    axes: dict[str, str] = field(default_factory=dict)
    studies: list[str] = field(default_factory=list)
    study: dict[str, dict[str, Any]] = field(default_factory=dict)
    count: list[Count] = field(default_factory=list)
    row: bool = False

    def assignments(self, folder: Path, study: str) -> dict[str, Any]:
        """What it assigns in the study of this name; `folder` is the paper's."""
        values: dict[str, Any] = {}
        if not self.studies or study in self.studies:
            for axis, file in self.axes.items():
                values[f"sweep.{axis}"] = read_toml(folder / "studies" / f"{file}.toml")["sweep"][axis]
            values |= self.set
        return {key: _in_folder(value, folder) for key, value in (values | self.study.get(study, {})).items()}


def _in_folder(value: Any, folder: Path) -> Any:
    if isinstance(value, dict):
        return {key: _in_folder(item, folder) for key, item in value.items()}
    return value.replace("{folder}", str(folder)) if isinstance(value, str) else value


@dataclass(frozen=True)
class Deviation:
    """A point where the paper is unclear or wrong: the interpretation taken, why, and alternatives that are run."""

    id: str
    section: str
    what: str
    taken: str
    reason: str
    alternative: list[Candidate] = field(default_factory=list)


@dataclass(frozen=True)
class Parameter:
    """A property of the network that the paper does not state; the first candidate is what the studies' files have.

    `meaning`: it is of what printed numbers count, and changes no run. Candidates have `count`, or functions of
    measures.py use `results.reading.parameters`.
    """

    id: str
    what: str
    place: str
    why: str
    meaning: bool = False
    candidate: list[Candidate] = field(default_factory=list)


@dataclass(frozen=True)
class ControlCells:
    """Published cells of known algorithms and the runs that they are compared with: a part of a table.

    `offset` is added to both sides before the logarithm is taken: 0 for rates, 1 for counts. Cells of `code` have the
    published number. `keep` lists the labels of the axes that are run. The cells of a row are of one network, or those
    for which the function `network` of measures.py gives the same text for row and column.
    """

    table: str
    study: str
    row: str = ""
    column: str = ""
    metric: str = ""
    factor: float = 1.0
    where: Where = field(default_factory=dict)
    keep: dict[str, list[str]] = field(default_factory=dict)
    labels: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    offset: float = 0.0
    code: str = ""
    network: str = ""


@dataclass(frozen=True)
class Calibration:
    """calibration.toml: unstated parameters, the cells of known algorithms that decide them, and how many seeds.

    `held_out` are further cells of known algorithms, which the fit does not use and the page compares.
    """

    parameter: list[Parameter] = field(default_factory=list)
    cells: list[ControlCells] = field(default_factory=list)
    held_out: list[ControlCells] = field(default_factory=list)
    seeds: int = 1
    note: str = ""


@dataclass(frozen=True)
class Setting:
    """A published number that is a setting and not a result: the value that our studies use, and the reason."""

    table: str
    row: str
    column: str
    taken: str
    why: str


@dataclass(frozen=True)
class Effect:
    """A column of every comparison: a ratio or a difference of a number of the outcome, times `factor`."""

    head: str
    metric: str
    kind: str = "difference"
    factor: float = 1.0


NESTED: dict[str, type[Any]] = {
    "part": Part,
    "alternative": Candidate,
    "parameter": Parameter,
    "cells": ControlCells,
    "held_out": ControlCells,
    "candidate": Candidate,
    "count": Count,
}
"""Keys whose lists hold tables."""

_PAGE_PARTS: dict[str, type[Any]] = {"headline": Headline, "figure": Comparison}
LONGEST_SHORT = 55
"""Maximum number of characters of a claim's short form."""
SCALES = ("linear", "log", "share")

T = TypeVar("T")


class Paper:
    """A paper's folder. Raises BadInput if its contents are invalid."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = folder.name
        self._modules: dict[str, ModuleType] = {}
        about = read_toml(folder / "paper.toml")
        keys = {"title", "authors", "venue", "intro", "summary", "controllers", "proposed", "status", "value", "page"}
        lists: dict[str, type[Any]] = {
            "study": StudySpec,
            "table": Table,
            "figure": Figure,
            "network": Network,
            "comparison": AxisComparison,
            "extra": Extra,
            "effect": Effect,
        }
        for key in about:
            if key not in keys | set(lists):
                raise BadInput(f"{folder / 'paper.toml'}: {key}: unknown key")
        for key in ("title", "authors", "venue", "intro", "summary", "status"):
            if not isinstance(about.get(key), str):
                raise BadInput(f"{folder / 'paper.toml'}: {key} is missing")
        self.title: str = about["title"]
        self.authors: str = about["authors"]
        self.venue: str = about["venue"]
        self.intro: str = about["intro"].strip()
        self.summary: str = about["summary"].strip()
        self.status: str = about["status"]
        self.controllers: list[str] = about.get("controllers", [])
        self.proposed: list[str] = about.get("proposed", [])
        self.values = {
            name: read_record(Value, table, f"{folder / 'paper.toml'}: value.{name}")
            for name, table in about.get("value", {}).items()
        }
        self.page = self._page_text(about.get("page"))
        entries = {key: self._list(about, key, kind, "paper.toml") for key, kind in lists.items()}
        self.studies: list[StudySpec] = entries["study"]
        self.tables: list[Table] = entries["table"]
        self.figures: list[Figure] = entries["figure"]
        self.networks: list[Network] = entries["network"]
        self.comparisons: list[AxisComparison] = entries["comparison"]
        self.extras: list[Extra] = entries["extra"]
        self.effects: list[Effect] = entries["effect"]
        self.claims: list[Claim] = self._only("claims.toml", "claim", Claim)
        self.deviations: list[Deviation] = self._only("deviations.toml", "deviation", Deviation)
        self.settings: list[Setting] = self._only("settings.toml", "setting", Setting)
        path = folder / "calibration.toml"
        self.calibration = read_record(Calibration, _optional(path), str(path), NESTED)
        self._check()

    def _only(self, file: str, key: str, kind: type[T]) -> list[T]:
        """Read a file that holds a single list. Only the file of the claims is required."""
        table = _optional(self.folder / file) if kind is not Claim else read_toml(self.folder / file)
        for name in table:
            if name != key:
                raise BadInput(f"{self.folder / file}: {name}: unknown key; the file holds [[{key}]] tables")
        return self._list(table, key, kind, file)

    def _page_text(self, table: Any) -> PageText:
        place = f"{self.folder / 'paper.toml'}: page"
        if not isinstance(table, dict):
            raise BadInput(f"{place} is missing; docs/paper-format.md describes its keys")
        parts = {key: read_record(kind, table.get(key), f"{place}.{key}") for key, kind in _PAGE_PARTS.items()}
        return read_record(PageText, table | parts, place)

    def _list(self, table: dict[str, Any], key: str, kind: type[T], file: str) -> list[T]:
        place = f"{self.folder / file}: {key}"
        return [read_record(kind, item, f"{place}[{i}]", NESTED) for i, item in enumerate(table.get(key, []))]

    def _check(self) -> None:
        names = {study.name for study in self.studies}

        def files(name: str) -> bool:
            return (self.folder / "studies" / f"{name}.toml").is_file()

        used = [(f"table {t.id}", p.study) for t in self.tables for p in t.part if not p.code]
        taken = [c for c in self.claims if c.settled is None]
        used += [(f"claim {c.id}", c.study) for c in taken if c.measure in {"ratio", "difference", "mean"}]
        used += [(f"comparison {c.title}", c.study) for c in self.comparisons]
        used += [("calibration.toml", cells.study) for cells in self.calibration.cells]
        for place, candidate in self.candidates():
            used += [(place, study) for study in (*candidate.studies, *candidate.study) if not files(study)]
        for place, study in used:
            if study not in names:
                listed = ", ".join(sorted(names))
                raise BadInput(f"{self.folder}: {place} names the study {study!r}; there are {listed}")
        for claim in self.claims:
            place = f"{self.folder / 'claims.toml'}: {claim.id}"
            if claim.direction not in {-1, 0, 1}:
                raise BadInput(f"{place}: direction: must be -1, 0 or 1")
            if claim.scale not in SCALES:
                raise BadInput(f"{place}: scale: must be one of {', '.join(SCALES)}")
            points = {p.id for p in self.calibration.parameter} | {d.id for d in self.deviations}
            for name in (*claim.swept, *claim.also):
                if name not in points | names:
                    raise BadInput(f"{place}: {name!r} is neither an unstated point nor a study")
            if claim.is_ratio and claim.reference - claim.tolerance <= 0:
                raise BadInput(f"{place}: reference: must be above zero, and above the tolerance, for a ratio")
        ids = [claim.id for claim in self.claims]
        if len(set(ids)) < len(ids):
            raise BadInput(f"{self.folder / 'claims.toml'}: two claims have one id")
        for network in self.networks:
            if not files(network.study):
                raise BadInput(f"{self.folder}: network {network.title}: there is no studies/{network.study}.toml")
        for figure in self.figures:
            if not (self.folder / f"{figure.module}.py").is_file():
                raise BadInput(f"{self.folder}: figure {figure.id} has no {figure.module}.py")
        self._check_page()

    def _check_page(self) -> None:
        """Raise BadInput for a name that is no claim, a number of unknown origin, and a text that is too long."""
        place = f"{self.folder / 'paper.toml'}: page"
        page, ids = self.page, {claim.id for claim in self.claims}
        named = page.names() | {
            "headline": {page.headline.claim + "?"},
            "figure.rows": {f"{row[0]}?" for row in page.figure.rows},
            "figure.beside": {row[0] for row in page.figure.beside},
        }
        for key, names in named.items():
            for name in sorted(names):
                known_names = ids if name.endswith("?") else ids | set(self.values)
                if name.removesuffix("?") not in known_names:
                    raise BadInput(f"{place}.{key}: {name} is neither a claim nor a [value] table")
        printed = " ".join(
            [
                *(row["value"] for row in self.published),
                *(setting.taken for setting in self.settings),
                *(f"{c.quote} {c.metric} {c.short} {c.expected} {c.reference}" for c in self.claims),
                self.title,
                self.intro,
            ]
        )
        numbers = set(NUMBER.findall(printed))
        for key in ("came_out", "why", "caution"):
            for number in NUMBER.findall(NAMED.sub("", getattr(page, key))):
                if number not in numbers:
                    what = "is neither printed by the paper nor a setting; use {NAME} for a measured value"
                    raise BadInput(f"{place}.{key}: the number {number} {what}")
        for key, limit in LONGEST_TEXTS.items():
            count = len(getattr(page, key).split())
            if count > limit:
                raise BadInput(f"{place}.{key}: has {count} words; at most {limit}")
        if page.main and page.main not in {figure.id for figure in self.figures}:
            raise BadInput(f"{place}.main: there is no figure {page.main}")
        for claim in self.claims:
            if len(claim.short) > LONGEST_SHORT:
                what = f"has {len(claim.short)} characters; at most {LONGEST_SHORT}"
                raise BadInput(f"{self.folder / 'claims.toml'}: {claim.id}: short: {what}")

    def candidates(self) -> list[tuple[str, Candidate]]:
        """Every candidate of the calibration and every alternative of a deviation, with its place in the folder."""
        places = [(f"calibration.toml: {p.id}: {c.label}", c) for p in self.calibration.parameter for c in p.candidate]
        return places + [(f"deviation {d.id}: {a.label}", a) for d in self.deviations for a in d.alternative]

    @cached_property
    def published(self) -> list[dict[str, str]]:
        """The published numbers: table, row, column, value, unit."""
        path = self.folder / "published.csv"
        if not path.is_file():
            return []
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        if not rows or not {"table", "row", "column", "value", "unit"} <= set(rows[0]):
            raise BadInput(f"{path}: must have the columns table, row, column, value, unit")
        return rows

    def printed(self, table: str) -> dict[tuple[str, str], tuple[str, str]]:
        """The published numbers of a table with their units, by row and column."""
        return {(r["row"], r["column"]): (r["value"], r["unit"]) for r in self.published if r["table"] == table}

    def __reduce__(self) -> tuple[type[Paper], tuple[Path]]:
        """Pickle only the folder: another process reads it again, because modules cannot be pickled."""
        return (Paper, (self.folder,))

    def code(self, name: str) -> ModuleType:
        """A module of the folder, such as `fig05` or `measures`; it is imported once."""
        if name in self._modules:
            return self._modules[name]
        spec = importlib.util.spec_from_file_location(f"papers.{self.key}.{name}", self.folder / f"{name}.py")
        if spec is None or spec.loader is None:
            raise BadInput(f"{self.folder}: {name}.py cannot be read")
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            raise BadInput(f"{self.folder / name}.py: {type(error).__name__}: {error}") from error
        self._modules[name] = module
        return module

    def forget_code(self) -> None:
        """Forget the imported modules, and with them what their functions have cached."""
        self._modules.clear()


def call(paper: Paper, module: str, name: str, *arguments: Any, **options: Any) -> Any:
    """Call a function of a module of the folder. Raises BadInput, with the function's place, if the call fails."""
    function = getattr(paper.code(module), name, None)
    if function is None:
        raise BadInput(f"{paper.folder / module}.py: has no {name}")
    try:
        return function(*arguments, **options)
    except BadInput:
        raise
    except Exception as error:
        raise BadInput(f"{paper.folder / module}.py: {name}: {type(error).__name__}: {error}") from error


def _optional(path: Path) -> dict[str, Any]:
    """The content of a file; empty if there is no such file."""
    return read_toml(path) if path.is_file() else {}


def _folders() -> list[Path]:
    """Folders of papers below the current folder, or else those that the package ships."""
    for root in (Path("papers"), shipped.folder("papers")):
        if folders := sorted(path.parent for path in root.glob("*/paper.toml")):
            return folders
    return []


def known() -> list[str]:
    """Keys of all papers found."""
    return [folder.name for folder in _folders()]


def find(key: str) -> Paper:
    """The paper with this key. Raises BadInput if there is none."""
    for folder in _folders():
        if folder.name == key:
            return Paper(folder)
    keys = known()
    near = difflib.get_close_matches(key, keys, 1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(keys) or 'none here'}"
    raise BadInput(f"no paper {key}; {hint}")


def comparison_folder() -> Path | None:
    """The folder of the comparison of all controllers, next to the papers; None if there is none."""
    folders = [folder.parent / "comparison" for folder in _folders()]
    return next((folder for folder in folders if (folder / "suite.toml").is_file()), None)
