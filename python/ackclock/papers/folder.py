"""The folder of a paper, read: paper.toml, claims.toml, deviations.toml, published.csv (docs/papers.md)."""

from __future__ import annotations

import csv
import difflib
import importlib.util
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from ackclock.files import BadInput
from ackclock.records import read_record, read_toml

Where = dict[str, str]
"""Labels of axes that choose points of a study."""


@dataclass(frozen=True)
class StudySpec:
    """A study of the paper: `studies/NAME.toml`, under so many seeds (from 1), fewer of them when quick."""

    name: str
    seeds: int
    quick: int


@dataclass(frozen=True)
class Part:
    """Cells of a table from one study: templates over the axes give reading, row and column of each point.

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
    """A published table; `main` are the readings shown beside the published values, with so many `digits`.

    `labels` gives more words to the templates of its parts: `labels.AXIS.LABEL = { word = "..." }`; points whose label
    of such an axis is not among them are left out. A column's name before the last `split` names the grid it stands in.
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
    """A figure: `ID.py` has `draw(results) -> Figure`."""

    id: str
    title: str
    caption: str


@dataclass(frozen=True)
class Comparison:
    """Every value of `axis` in a study against `base`: ratios and differences over all its points."""

    title: str
    study: str
    axis: str
    base: str
    where: Where = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class Extra:
    """A section of its own, made by a function of measures.py."""

    id: str
    title: str
    code: str


@dataclass(frozen=True)
class Claim:
    """A claim of the paper. `measure` is ratio, difference, mean, or a function of measures.py (see judge.py)."""

    id: str
    quote: str
    place: str
    metric: str
    direction: int
    reference: float
    measure: str
    unit: str = ""
    tolerance: float = 0.0
    expected: float | None = None
    study: str = ""
    column: str = ""
    of: Where = field(default_factory=dict)
    to: Where = field(default_factory=dict)
    where: Where = field(default_factory=dict)
    impossible: str = ""
    remark: str = ""
    logarithmic: bool = False
    """A function of measures.py gives logarithms of ratios."""


@dataclass(frozen=True)
class Value:
    """A number that the summary names: a ratio or a difference with its interval, or a mean.

    `code` names a function of measures.py that gives the logarithm of a ratio for each seed instead.
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
class Alternative:
    """Another reading: where it was run, and against what."""

    label: str
    study: str
    of: Where
    to: Where
    where: Where = field(default_factory=dict)


@dataclass(frozen=True)
class Deviation:
    """A point where the paper is unclear or wrong: the reading taken, why, and what the others give."""

    id: str
    section: str
    what: str
    taken: str
    reason: str
    alternative: list[Alternative] = field(default_factory=list)


@dataclass(frozen=True)
class Effect:
    """A column of every comparison: a ratio or a difference of a number of the outcome, times `factor`."""

    head: str
    metric: str
    kind: str = "difference"
    factor: float = 1.0


NESTED: dict[str, type[Any]] = {"part": Part, "alternative": Alternative}
"""Keys whose lists hold tables."""

T = TypeVar("T")


class Paper:
    """A paper's folder. Raises BadInput if it is not in order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = folder.name
        self._modules: dict[str, ModuleType] = {}
        about = read_toml(folder / "paper.toml")
        known = {"title", "authors", "venue", "summary", "controllers", "status", "value", "baseline"}
        lists: dict[str, type[Any]] = {
            "study": StudySpec,
            "table": Table,
            "figure": Figure,
            "comparison": Comparison,
            "extra": Extra,
            "effect": Effect,
        }
        for key in about:
            if key not in known | set(lists):
                raise BadInput(f"{folder / 'paper.toml'}: {key}: unknown key")
        for key in ("title", "authors", "venue", "summary", "status"):
            if not isinstance(about.get(key), str):
                raise BadInput(f"{folder / 'paper.toml'}: {key} is missing")
        self.title: str = about["title"]
        self.authors: str = about["authors"]
        self.venue: str = about["venue"]
        self.summary: str = about["summary"].strip()
        self.status: str = about["status"]
        self.controllers: list[str] = about.get("controllers", [])
        self.values = {
            name: read_record(Value, table, f"{folder / 'paper.toml'}: value.{name}")
            for name, table in about.get("value", {}).items()
        }
        baseline = about.get("baseline")
        self.baseline = (
            None if baseline is None else read_record(Alternative, baseline, f"{folder / 'paper.toml'}: baseline")
        )
        found = {key: self._list(about, key, kind, "paper.toml") for key, kind in lists.items()}
        self.studies: list[StudySpec] = found["study"]
        self.tables: list[Table] = found["table"]
        self.figures: list[Figure] = found["figure"]
        self.comparisons: list[Comparison] = found["comparison"]
        self.extras: list[Extra] = found["extra"]
        self.effects: list[Effect] = found["effect"]
        self.claims: list[Claim] = self._only("claims.toml", "claim", Claim)
        self.deviations: list[Deviation] = self._only("deviations.toml", "deviation", Deviation)
        self._check()

    def _only(self, file: str, key: str, kind: type[T]) -> list[T]:
        """A file of one list and nothing else."""
        table = read_toml(self.folder / file)
        for name in table:
            if name != key:
                raise BadInput(f"{self.folder / file}: {name}: unknown key; the file holds [[{key}]] tables")
        return self._list(table, key, kind, file)

    def _list(self, table: dict[str, Any], key: str, kind: type[T], file: str) -> list[T]:
        place = f"{self.folder / file}: {key}"
        return [read_record(kind, item, f"{place}[{i}]", NESTED) for i, item in enumerate(table.get(key, []))]

    def _check(self) -> None:
        names = {study.name for study in self.studies}
        used = [(f"table {t.id}", p.study) for t in self.tables for p in t.part if not p.code]
        taken = [c for c in self.claims if not c.impossible]
        used += [(f"claim {c.id}", c.study) for c in taken if c.measure in {"ratio", "difference", "mean"}]
        used += [(f"comparison {c.title}", c.study) for c in self.comparisons]
        used += [(f"deviation {d.id}", a.study) for d in self.deviations for a in d.alternative]
        for place, study in used:
            if study not in names:
                known = ", ".join(sorted(names))
                raise BadInput(f"{self.folder}: {place} names the study {study!r}; there are {known}")
        for claim in self.claims:
            place = f"{self.folder / 'claims.toml'}: {claim.id}"
            if claim.direction not in {-1, 0, 1}:
                raise BadInput(f"{place}: direction: must be -1, 0 or 1")
            if (claim.measure == "ratio" or claim.logarithmic) and claim.reference - claim.tolerance <= 0:
                raise BadInput(f"{place}: reference: of a ratio it must be above zero, and above the tolerance")
        ids = [claim.id for claim in self.claims]
        if len(set(ids)) < len(ids):
            raise BadInput(f"{self.folder / 'claims.toml'}: two claims have one id")
        for figure in self.figures:
            if not (self.folder / f"{figure.id}.py").is_file():
                raise BadInput(f"{self.folder}: figure {figure.id} has no {figure.id}.py")

    @cached_property
    def published(self) -> list[dict[str, str]]:
        """The published numbers: table, row, column, value, unit."""
        path = self.folder / "published.csv"
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        if not rows or not {"table", "row", "column", "value", "unit"} <= set(rows[0]):
            raise BadInput(f"{path}: must have the columns table, row, column, value, unit")
        return rows

    def code(self, name: str) -> ModuleType:
        """A module of the folder, such as `fig05` or `measures`; read once."""
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


def call(paper: Paper, module: str, name: str, *arguments: Any) -> Any:
    """Call a function of a module of the folder; whatever goes wrong in it is told with its place. Raises BadInput."""
    function = getattr(paper.code(module), name, None)
    if function is None:
        raise BadInput(f"{paper.folder / module}.py: has no {name}")
    try:
        return function(*arguments)
    except BadInput:
        raise
    except Exception as error:
        raise BadInput(f"{paper.folder / module}.py: {name}: {type(error).__name__}: {error}") from error


def _folders() -> list[Path]:
    """Folders of papers: below the present one, else those of the checkout that this package was installed from."""
    for root in (Path("papers"), Path(__file__).parents[3] / "papers"):
        if found := sorted(path.parent for path in root.glob("*/paper.toml")):
            return found
    return []


def known() -> list[str]:
    """Keys of all papers that there are."""
    return [folder.name for folder in _folders()]


def find(key: str) -> Paper:
    """The paper of a key. Raises BadInput if there is none."""
    for folder in _folders():
        if folder.name == key:
            return Paper(folder)
    there = known()
    near = difflib.get_close_matches(key, there, 1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(there) or 'none here'}"
    raise BadInput(f"no paper {key}; {hint}")


def comparison_folder() -> Path | None:
    """The folder of the comparison of all controllers, beside the papers; none if there is none."""
    folders = [folder.parent / "comparison" for folder in _folders()]
    return next((folder for folder in folders if (folder / "suite.toml").is_file()), None)
