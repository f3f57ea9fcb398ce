"""The folder of a paper, read: paper.toml, claims.toml, deviations.toml, published.csv (docs/papers.md)."""

from __future__ import annotations

import csv
import dataclasses
import difflib
import importlib.util
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from ackclock.files import BadInput

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
    """A published table; `main` are the readings shown beside the published values, with so many `digits`."""

    id: str
    title: str
    unit: str = ""
    main: list[str] = field(default_factory=list)
    note: str = ""
    digits: int = 3
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


T = TypeVar("T")


def _read(kind: type[T], table: Any, place: str) -> T:
    """A table of TOML as a dataclass; whatever does not fit is told with its place."""
    if not isinstance(table, Mapping):
        raise BadInput(f"{place}: must be a table")
    fields = {f.name: f for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for key in table:
        if key not in fields:
            near = difflib.get_close_matches(key, fields, 1)
            raise BadInput(f"{place}.{key}: unknown key" + (f"; did you mean {near[0]}?" if near else ""))
    for name, f in fields.items():
        if name not in table and f.default is f.default_factory is dataclasses.MISSING:
            raise BadInput(f"{place}: {name} is missing")
    nested: dict[str, type[Any]] = {"part": Part, "alternative": Alternative}
    values = dict(table)
    for key in nested.keys() & table.keys():
        values[key] = [_read(nested[key], item, f"{place}.{key}[{i}]") for i, item in enumerate(table[key])]

    return kind(**values)


class Paper:
    """A paper's folder. Raises BadInput if it is not in order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = folder.name
        self._modules: dict[str, ModuleType] = {}
        about = self._toml("paper.toml")
        known = {"title", "authors", "venue", "summary", "controllers", "status"}
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
        found = {key: self._list(about, key, kind, "paper.toml") for key, kind in lists.items()}
        self.studies: list[StudySpec] = found["study"]
        self.tables: list[Table] = found["table"]
        self.figures: list[Figure] = found["figure"]
        self.comparisons: list[Comparison] = found["comparison"]
        self.extras: list[Extra] = found["extra"]
        self.effects: list[Effect] = found["effect"]
        self.claims: list[Claim] = self._list(self._toml("claims.toml"), "claim", Claim, "claims.toml")
        self.deviations: list[Deviation] = self._list(
            self._toml("deviations.toml"), "deviation", Deviation, "deviations.toml"
        )
        self._check()

    def _toml(self, name: str) -> dict[str, Any]:
        path = self.folder / name
        try:
            return tomllib.loads(path.read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise BadInput(f"{path}: {error}") from None

    def _list(self, table: dict[str, Any], key: str, kind: type[T], file: str) -> list[T]:
        return [_read(kind, item, f"{self.folder / file}: {key}[{i}]") for i, item in enumerate(table.get(key, []))]

    def _check(self) -> None:
        names = {study.name for study in self.studies}
        used = [(f"table {t.id}", p.study) for t in self.tables for p in t.part if not p.code]
        used += [(f"claim {c.id}", c.study) for c in self.claims if c.measure in {"ratio", "difference", "mean"}]
        used += [(f"comparison {c.title}", c.study) for c in self.comparisons]
        used += [(f"deviation {d.id}", a.study) for d in self.deviations for a in d.alternative]
        for place, study in used:
            if study not in names:
                known = ", ".join(sorted(names))
                raise BadInput(f"{self.folder}: {place} names the study {study!r}; there are {known}")
        for figure in self.figures:
            if not (self.folder / f"{figure.id}.py").is_file():
                raise BadInput(f"{self.folder}: figure {figure.id} has no {figure.id}.py")

    @cached_property
    def published(self) -> list[dict[str, str]]:
        """The published numbers: table, row, column, value, unit."""
        with open(self.folder / "published.csv", newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def code(self, name: str) -> ModuleType:
        """A module of the folder, such as `fig05` or `measures`; read once."""
        if name in self._modules:
            return self._modules[name]
        spec = importlib.util.spec_from_file_location(f"papers.{self.key}.{name}", self.folder / f"{name}.py")
        if spec is None or spec.loader is None:
            raise BadInput(f"{self.folder}: {name}.py cannot be read")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self._modules[name] = module
        return module


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
