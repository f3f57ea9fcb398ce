"""Calibration: fits the unstated properties of a paper's network to its published numbers of known algorithms.

Every combination of candidates (an interpretation) is run at the points of the control cells. The deviation of a cell
is |ln((obtained + offset) / (published + offset))|. The cells of one network are one observation: the distance of an
interpretation is the mean over the networks of the mean over their cells. The interpretation with the least distance is
taken. An interpretation is not distinguished from it if their distances differ by less than the uncertainty, at the 95
% level. The uncertainty has two sources: the printed numbers, which are of one run each (the spread of our own runs
over the seeds), and the choice of networks (the standard error of the difference). Claims are also judged under the
nearest of these interpretations. Two values show how sharp the optimum is: the distance of the best interpretation with
another candidate of one parameter, and the fraction of bootstrap resamples of the networks in which a candidate belongs
to the best interpretation. If even the best interpretation deviates by a factor of more than 1.5 (with three networks
or more: from a network that the fit leaves out), no interpretation fits, and sizes are not judged.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ackclock import stats
from ackclock.apps.papers.folder import Candidate, ControlCells, Paper, Part, Table, call
from ackclock.apps.papers.readings import Reading, combination, inline, meanings
from ackclock.apps.papers.tables import cells_of
from ackclock.base.files import BadInput

if TYPE_CHECKING:
    import polars as pl

    from ackclock.apps.papers.results import Results

RESAMPLES = 2000
MOST_DEVIATION = 1.5
"""Mean factor of deviation above which an interpretation does not fit."""
NEAR = 1.2
"""Interpretations within this factor of the best one with the first seed are run with all seeds."""
NORMAL = 1.96
"""The 95 % quantile, two-sided, of a normal distribution."""
MOST_READINGS = 5000
"""Maximum number of combinations of a calibration."""


@dataclass(frozen=True)
class ControlCell:
    """A published cell of a known algorithm."""

    table: str
    row: str
    column: str
    published: float
    offset: float
    network: str

    def distance(self, obtained: float) -> float:
        """|ln((obtained + offset) / (published + offset))|; a zero counts as a thousandth of the published value."""
        return abs(self._log(obtained) - self._log(self.published))

    def variance(self, values: Sequence[float]) -> float:
        """Variance of the logarithm over the seeds."""
        return float(np.var([self._log(x) for x in values], ddof=1)) if len(values) > 1 else 0.0

    def _log(self, value: float) -> float:
        return math.log(max(value + self.offset, 1e-3 * abs(self.published) or 1e-3))


@dataclass(frozen=True)
class Fit:
    """Distances of all interpretations from the control cells: rows: interpretations, columns: networks."""

    paper: Paper
    readings: list[Reading]
    cells: list[ControlCell]
    distances: np.ndarray
    """The mean deviation of each interpretation over the cells of each network."""
    noise: float = 0.0
    """The standard error of the least distance, because each printed number is of one run."""

    @cached_property
    def means(self) -> list[float]:
        """The distance of each interpretation; 0 if no published number takes part."""
        return [float(x) for x in self.distances.sum(axis=1) / max(1, len(self.networks))]

    @property
    def best(self) -> int:
        """The interpretation with the least distance; the first of equals."""
        return int(np.argmin(self.means))

    @property
    def chosen(self) -> Reading:
        """The calibrated interpretation."""
        return self.readings[self.best]

    @property
    def fits(self) -> bool:
        """Whether the calibrated interpretation is near enough to the published numbers for verdicts on sizes.

        With three networks or more, a network's numbers are those that a fit to the other networks predicts: of many
        interpretations the nearest is near by chance too.
        """
        return not self.cells or (self.predicted or self.factor(self.best)) <= MOST_DEVIATION

    @property
    def unidentified(self) -> list[str]:
        """The parameters of which every candidate is in an interpretation that is not distinguished from the best."""
        decided = {row["parameter"].id for row in self.profile() if not row["open"]}
        return [p.what for p in self.paper.calibration.parameter if p.id not in decided]

    @property
    def networks(self) -> list[str]:
        """The networks of the cells, in order."""
        return networks_of(self.cells)

    @cached_property
    def equivalent(self) -> list[int]:
        """The interpretations that are not distinguished from the best, itself included, nearest first.

        Where the best one fits, they fit too.
        """
        networks = len(self.networks)
        farther = self.distances - self.distances[self.best]
        differences = farther.sum(axis=1) / max(1, networks)
        spread = np.zeros(len(self.readings))
        if networks > 1:
            spread = stats.student(networks) * farther.std(axis=1, ddof=1) / math.sqrt(networks)
        limits = np.hypot(NORMAL * self.noise, spread)
        near = [i for i in self.nearest(len(self.readings)) if differences[i] <= limits[i]]
        return [i for i in near if not self.fits or self.factor(i) <= MOST_DEVIATION]

    @property
    def worst(self) -> int:
        """The interpretation with the largest distance."""
        return int(np.argmax(self.means))

    def factor(self, i: int) -> float:
        """The mean factor by which an interpretation deviates from the published numbers."""
        return math.exp(self.means[i])

    def nearest(self, count: int) -> list[int]:
        """The interpretations with the least distances."""
        return sorted(range(len(self.readings)), key=lambda i: self.means[i])[:count]

    @cached_property
    def wins(self) -> list[float]:
        """Fraction of bootstrap resamples of the networks in which each interpretation is the best; ties are split."""
        count = len(self.networks)
        if not count:
            return [1 / len(self.readings)] * len(self.readings)
        drawn = np.random.default_rng(0).multinomial(count, [1 / count] * count, size=RESAMPLES)
        sums = drawn @ self.distances.T / count
        best = np.isclose(sums, sums.min(axis=1, keepdims=True), rtol=0, atol=1e-9)
        return [float(x) for x in (best / best.sum(axis=1, keepdims=True)).mean(axis=0)]

    @cached_property
    def predicted(self) -> float | None:
        """The mean factor of deviation of a network under the interpretation fitted to the others; None below three."""
        if len(self.networks) < 3:
            return None
        best = np.argmin(self.distances.sum(axis=1, keepdims=True) - self.distances, axis=0)
        return math.exp(float(np.mean(self.distances[best, np.arange(len(self.networks))])))

    def profile(self) -> list[dict[str, Any]]:
        """Of each candidate of a parameter: the least distance of an interpretation with it, its share of resamples."""
        points = []
        for parameter in self.paper.calibration.parameter:
            for place, candidate in enumerate(in_order(parameter.candidate)):
                having = [i for i, r in enumerate(self.readings) if r.parameters[parameter.id] == candidate.label]
                points.append(
                    {
                        "parameter": parameter,
                        "first": place == 0,
                        "candidate": candidate.label,
                        "factor": math.exp(min(self.means[i] for i in having)),
                        "share": sum(self.wins[i] for i in having),
                        "open": any(i in self.equivalent for i in having),
                        "taken": self.chosen.parameters[parameter.id] == candidate.label,
                    }
                )
        return points

    def to_dict(self) -> dict[str, Any]:
        """The contents of calibration.json."""
        order = self.nearest(len(self.readings))
        return {
            "control_cells": [
                {"table": c.table, "row": c.row, "column": c.column, "network": c.network} for c in self.cells
            ],
            "parameters": {p.id: [c.label for c in p.candidate] for p in self.paper.calibration.parameter},
            "readings": [
                {
                    "name": self.readings[i].label,
                    "parameters": dict(self.readings[i].parameters),
                    "distance": self.means[i],
                    "factor": math.exp(self.means[i]),
                    "best_in": self.wins[i],
                    "distinguished": i not in self.equivalent,
                }
                for i in order
            ],
            "noise": self.noise,
            "level": 0.95,
            "fits": self.fits,
            "predicted": self.predicted,
            "chosen": self.chosen.label,
        }


def networks_of(cells: Sequence[ControlCell]) -> list[str]:
    """The networks of the cells, in order."""
    return list(dict.fromkeys(cell.network for cell in cells))


def weights_of(cells: Sequence[ControlCell]) -> np.ndarray:
    """The weight of each cell (row) in the mean of its network (column)."""
    networks = networks_of(cells)
    members: np.ndarray = np.eye(len(networks))[[networks.index(cell.network) for cell in cells]]
    return np.asarray(members / members.sum(axis=0))


def noise(variances: np.ndarray, weights: np.ndarray) -> float:
    """The standard error of a distance from the variances of its cells, because each printed number is of one run.

    Cells of one network, which can be of one run, count as fully correlated.
    """
    networks = int(weights.shape[1])
    return float(np.linalg.norm(np.sqrt(variances) @ weights)) / max(1, networks)


def in_order(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Candidates as a table lists them: by their number if each begins with one, or else as the file does."""
    numbers = [re.match(r"\d+(\.\d+)?", candidate.label) for candidate in candidates]
    if not all(numbers):
        return list(candidates)
    by_label = {c.label: float(n.group()) for c, n in zip(candidates, numbers, strict=True) if n}
    return sorted(candidates, key=lambda candidate: by_label[candidate.label])


def combinations(paper: Paper) -> list[Reading]:
    """Every combination of the candidates. Raises BadInput if there are too many."""
    parameters = paper.calibration.parameter
    candidates = [
        combination(paper, dict(zip((p.id for p in parameters), labels, strict=True)))
        for labels in itertools.product(*([c.label for c in p.candidate] for p in parameters))
    ]
    if len(candidates) > MOST_READINGS:
        raise BadInput(f"{paper.folder / 'calibration.toml'}: {len(candidates)} combinations; at most {MOST_READINGS}")
    return candidates


def fit(results: Results) -> Fit:
    """Run all interpretations at the control cells and measure distances: with one seed, those near the best with all.

    Without control cells there is nothing to fit, and only one interpretation. Raises BadInput if a cell belongs to a
    controller that the paper proposes, because the fit must not use those, and if parameters have no control cells.
    """
    paper = results.paper
    if paper.calibration.parameter and not paper.calibration.cells:
        raise BadInput(f"{paper.folder / 'calibration.toml'}: the parameters have no [[cells]] that decide them")
    readings = combinations(paper)
    seeds = paper.calibration.seeds
    parts, spreads = [np.zeros((len(readings), 0))], [np.zeros((len(readings), 0))]
    cells: list[ControlCell] = []
    for name in dict.fromkeys(group.study for group in paper.calibration.cells):
        groups = [group for group in paper.calibration.cells if group.study == name]
        # Interpretations with the same assignments in this study share one variant of it.
        written = [(inline(reading.assignments(paper.folder, name)), meanings(paper, reading)) for reading in readings]
        variants = dict(zip(reversed(written), reversed(readings), strict=True))
        measured = _measure(results, name, groups, variants, 1)
        cells_of_first = [cell for cell, _ in measured[written[0]]]
        if any([cell for cell, _ in measurements] != cells_of_first for measurements in measured.values()):
            raise BadInput(f"{paper.folder / 'calibration.toml'}: {name}: interpretations give different control cells")
        if near := _near(measured) if seeds > 1 else set():
            measured |= _measure(results, name, groups, {text: variants[text] for text in near}, seeds, counted=1)
        distances = {t: _distances(measurements) for t, measurements in measured.items()}
        variances = {t: [cell.variance(x) for cell, x in measurements] for t, measurements in measured.items()}
        parts.append(np.array([distances[text] for text in written]))
        spreads.append(np.array([variances[text] for text in written]))
        cells += cells_of_first
    weights = weights_of(cells)
    distances = np.concatenate(parts, axis=1) @ weights
    fitted = Fit(paper, readings, cells, distances)
    variances = np.concatenate(spreads, axis=1)[fitted.best]
    return replace(fitted, noise=noise(variances, weights))


def held_out(results: Results) -> list[tuple[ControlCell, Sequence[float]]]:
    """The cells that the fit does not use, as calibrated: published numbers, and ours of each seed."""
    return [pair for group in results.paper.calibration.held_out for pair in _measured(results, group)]


Variant = tuple[str, tuple[str | None, ...]]
"""What an interpretation assigns in a study, and what printed numbers count under it."""
Measured = dict[Variant, list[tuple[ControlCell, Sequence[float]]]]
"""The control cells of each variant of a study with the obtained values, one for each seed."""


def _measure(
    results: Results,
    name: str,
    groups: list[ControlCells],
    variants: Mapping[Variant, Reading],
    seeds: int,
    counted: int = 0,
) -> Measured:
    """Run variants of a study at the control cells; the runs of the first `counted` seeds are in the count already."""
    simulated = {assigned: reading for (assigned, _), reading in variants.items()}
    ran = results.run_variants(name, list(simulated.values()), seeds, [group.keep for group in groups], counted)
    _refuse_proposed(results.paper, name, ran.tables)
    measured = {}
    for variant, reading in variants.items():
        view = results.at_points(replace(reading, label=simulated[variant[0]].label), {name: ran}, seeds)
        measured[variant] = [pair for group in groups for pair in _measured(view, group)]
    return measured


def _distances(cells: Sequence[tuple[ControlCell, Sequence[float]]]) -> list[float]:
    return [cell.distance(float(np.mean(values))) for cell, values in cells]


def _near(measured: Measured) -> set[Variant]:
    """The variants that a seed leaves near enough to the best one to be run with the others."""
    means = {text: float(np.mean(_distances(cells))) for text, cells in measured.items()}
    return {text for text, mean in means.items() if mean <= min(means.values()) + math.log(NEAR)}


def _refuse_proposed(paper: Paper, study: str, tables: Mapping[str, pl.DataFrame]) -> None:
    used = set(tables["flows"]["algorithm"].drop_nulls()) & set(paper.proposed)
    if used:
        named = ", ".join(sorted(used))
        raise BadInput(f"{paper.folder / 'calibration.toml'}: {study}: runs {named}, which the paper proposes")


def _measured(results: Results, group: ControlCells) -> list[tuple[ControlCell, Sequence[float]]]:
    """The cells of a group with the obtained values, one for each seed."""
    paper = results.paper

    def network(row: str, column: str) -> str:
        inside = call(paper, "measures", group.network, row, column) if group.network else row
        return f"{group.study}: {inside}"

    if group.code:
        return [
            (ControlCell(group.table, c.row, c.column, c.published, group.offset, network(c.row, c.column)), c.values)
            for c in call(paper, "measures", group.code, results)
        ]
    table = Table(group.table, group.table, labels=group.labels)
    part = Part("", group.row, group.column, group.study, group.metric, group.factor, group.where)
    printed = paper.printed(group.table)
    values = []
    for cell in cells_of(results, table, part):
        key = (cell.row, cell.column)
        if key not in printed:
            raise BadInput(f"{paper.folder / 'calibration.toml'}: {group.table} prints no cell {key}")
        value = ControlCell(group.table, *key, float(printed[key][0]), group.offset, network(*key))
        values.append((value, cell.values))
    return values
