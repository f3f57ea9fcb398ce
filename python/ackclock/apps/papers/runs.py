"""Links from the numbers and figures of a paper's page to their runs in the laboratory."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from ackclock.apps import share
from ackclock.apps.papers.folder import Claim, Figure, Paper, Table
from ackclock.apps.papers.readings import AS_FILED
from ackclock.apps.papers.results import Results, StudyUse, expand_labels
from ackclock.apps.papers.tables import CALIBRATED, Entry, label_of, reading_of, words_of
from ackclock.base.files import BadInput
from ackclock.study import Study

FIRST_SEED = 1
CellKey = tuple[str, str, str]
"""Row, column and interpretation of a cell."""


@dataclass(frozen=True)
class RunLink:
    """One run of a paper: its words, and a link that opens it or, if a link cannot hold it, the command that does."""

    label: str
    href: str | None
    command: str
    anchor: str = ""
    """Its name in the list of runs: the study and the point."""


@dataclass(frozen=True)
class RunsUsed:
    """The runs that a figure or a table was made from: single runs, and studies of which it uses every point."""

    runs: list[RunLink]
    studies: list[str]


class Runs:
    """Links to the runs of a paper under the interpretation of `results`. Nothing is run.

    `folder` is how the page names the folder of the laboratory's page, such as `../`; None: there is no such page.
    """

    def __init__(self, results: Results, folder: str | None) -> None:
        self.results = results
        self._folder = folder
        self._links: dict[tuple[str, int, int], RunLink] = {}

    def at(self, name: str, point: int, seed: int = FIRST_SEED) -> RunLink:
        """The run of a point of a study."""
        key = (name, point, seed)
        if key not in self._links:
            study = self.results.study(name)
            labels = study.labels(point)
            words = ", ".join(f"{axis} {label}" for axis, label in labels.items()) or study.title
            href = self._href(study, point, seed)
            self._links[key] = RunLink(f"{words}; seed {seed}", href, _command(study, point), f"{name}.{point}")
        return self._links[key]

    def _href(self, study: Study, point: int, seed: int) -> str | None:
        if self._folder is None:
            return None
        try:
            link = share.link(study.standalone(point), seed=seed)
        except BadInput:
            return None  # it names a file outside its folder, or a controller in Python
        return f"{self._folder}{link}" if len(link) <= share.LONGEST else None

    def points(self, name: str) -> list[RunLink]:
        """A run of each point of a study that can run."""
        study = self.results.study(name)
        refused = {point for point, _ in study.refused}
        return [self.at(name, point) for point in range(study.points) if point not in refused]

    def cells(self, table: Table) -> dict[CellKey, RunLink]:
        """For each cell of a table that has runs of its own, the one of the first point and the first seed."""
        links: dict[CellKey, RunLink] = {}
        for part in table.part:
            if part.code or not self.results.seeds(part.study):
                continue
            study = self.results.study(part.study)
            for point in range(study.points):
                labels = expand_labels(study.labels(point))
                words = words_of(table, labels)
                if words is None or any(labels.get(axis) != label for axis, label in part.where.items()):
                    continue
                try:
                    row, column, reading = label_of(part, words)
                except KeyError:
                    break  # a template that needs the outcome
                links.setdefault((row, column, reading), self.at(part.study, point))
        return links

    def used(self, uses: Sequence[StudyUse]) -> RunsUsed:
        """The runs of what a figure or a table asked for."""
        runs = {use: self.single(use) for use in uses if use.seed is not None}
        studies = {use.study: None for use in uses if use.seed is None}
        return RunsUsed([run for run in runs.values() if run], list(studies))

    def single(self, use: StudyUse) -> RunLink | None:
        """The run that was used; None if its labels name no point, or several."""
        points = self.results.points(use.study, dict(use.where))
        return self.at(use.study, points[0], use.seed or FIRST_SEED) if len(points) == 1 else None


def functions_used(paper: Paper, function: str, module: str = "measures") -> dict[str, str]:
    """The sources of a function of the paper's folder and of the functions of measures.py that it uses, by name.

    Without a name of a function, those that the module uses.
    """
    measures = _functions(_source(paper, "measures"))
    text = _source(paper, module)
    used = {"": text} if not function else {function: _functions(text).get(function, "")}
    open_ = list(used.values())
    while open_:
        for name in re.findall(r"\b(\w+)\b", open_.pop()):
            if name in measures and name not in used:
                used[name] = measures[name]
                open_.append(measures[name])
    return used


def studies(paper: Paper, module: str, function: str = "") -> list[str]:
    """The studies that a module of the paper's folder names, or one of its functions, and the functions of measures.py
    that it uses.
    """
    whole = "\n".join(functions_used(paper, function, module).values())
    return [spec.name for spec in paper.studies if f'"{spec.name}"' in whole]


def _source(paper: Paper, module: str) -> str:
    path = paper.folder / f"{module}.py"
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _functions(text: str) -> dict[str, str]:
    """The source of each function and each constant of a module."""
    lines = text.splitlines()
    sources = {}
    for node in ast.parse(text).body:
        source = "\n".join(lines[node.lineno - 1 : node.end_lineno])
        if isinstance(node, ast.FunctionDef):
            sources[node.name] = source
        elif isinstance(node, ast.Assign):
            targets = [name for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)]
            sources |= dict.fromkeys((name.id for name in targets), source)
    return sources


class PaperRuns:
    """The links of a paper's page: of the cells of its tables, of its figures, and of the points of its studies."""

    def __init__(self, results: Results, filed: Results | None, folder: str | None) -> None:
        self.known = folder is not None
        self._views = {CALIBRATED: Runs(results, folder)}
        if filed is not None:
            self._views[AS_FILED] = Runs(filed, folder)
        self._cells: dict[str, dict[CellKey, RunLink]] = {}

    def of_table(self, name: str) -> dict[CellKey, RunLink]:
        """The runs behind the cells of a table, except for cells that are computed from several."""
        if name not in self._cells:
            [table] = [t for t in self._views[CALIBRATED].results.paper.tables if t.id == name]
            self._cells[name] = {
                (row, column, reading_of(view, reading)): run
                for view, runs in self._views.items()
                for (row, column, reading), run in runs.cells(table).items()
            }
        return self._cells[name]

    def cell(self, entry: Entry) -> RunLink | None:
        """The run behind a cell; None for a cell that is computed from several."""
        if entry.study:
            return self._views[CALIBRATED].single(StudyUse(entry.study, FIRST_SEED, tuple(entry.where.items())))
        return self.of_table(entry.table).get((entry.row, entry.column, entry.reading))

    def claim(self, claim: Claim) -> RunLink | None:
        """The first run of what a claim measures; None for a claim without a study."""
        if not claim.study:
            return None
        calibrated = self._views[CALIBRATED]
        axes = expand_labels(calibrated.results.study(claim.study).labels(0))
        wanted = {axis: label for axis, label in {**claim.where, **claim.of}.items() if axis in axes}
        points = calibrated.results.points(claim.study, wanted)
        return calibrated.at(claim.study, points[0]) if points else None

    def points(self, name: str) -> list[RunLink]:
        """A run of each point of a study, under the calibrated interpretation."""
        return self._views[CALIBRATED].points(name)

    def of_figure(self, figure: Figure, uses: Sequence[StudyUse] = ()) -> RunsUsed:
        """The runs of a figure: of what it asked for while it was drawn, or else of the studies that its code names."""
        used = self._views[CALIBRATED].used(uses)
        if used.runs or used.studies:
            return used
        paper = self._views[CALIBRATED].results.paper
        named = [spec.name for spec in paper.studies if spec.name in figure.options.values()]
        return RunsUsed([], named or studies(paper, figure.module))

    def behind(self, table: Table) -> list[str]:
        """The studies behind the cells of a table that are computed from several runs.

        They are those that the functions of these cells used; before a function was called, those that it names.
        """
        results = self._views[CALIBRATED].results
        codes = [part.code for part in table.part if part.code]
        each = [results.used_by_cells.get(code) or studies(results.paper, "measures", code) for code in codes]
        runs = [name for names in each for name in names]
        return list(dict.fromkeys(runs))


def _command(study: Study, point: int) -> str:
    """The command that opens the point, whatever its size."""
    assignments = [text for text in map(str, study.overrides) if not text.startswith("sweep.seed=")]
    sets = "".join(f" --set {shlex.quote(text)}" for text in assignments)
    return f"ackclock view {shlex.quote(study.file)} --point {point} --seed {FIRST_SEED}{sets}"
