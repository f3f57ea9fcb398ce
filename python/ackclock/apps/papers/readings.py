"""Interpretations of a paper: what its unstated properties are taken to be, as assignments to its studies."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.apps.papers.folder import Candidate, Paper
from ackclock.base.files import BadInput

if TYPE_CHECKING:
    from ackclock.study import Study

AS_FILED = "all first candidates"
"""Label of the interpretation that takes the first candidate of every parameter, as the studies' files do."""
ALL_PARAMETERS = "all parameters"
"""Value of `changes` for that interpretation."""
EQUIVALENT = "equivalent"
"""Value of `changes` for an interpretation that the control cells do not distinguish from the calibrated one."""
MOST_EQUIVALENT, MOST_EQUIVALENT_QUICK = 8, 2
"""Maximum number of such interpretations that are judged, the nearest first; the second value is for --quick."""


@dataclass(frozen=True)
class Reading:
    """A choice for every unstated property: candidates that are applied in this order, later ones over earlier ones."""

    label: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    """The candidate of each parameter of the calibration."""
    chosen: tuple[Candidate, ...] = ()
    changes: str = ""
    """The parameter or the deviation in which it differs from the calibrated interpretation."""
    equivalent: bool = False
    """The control cells do not distinguish it from the calibrated one."""
    row: bool = False
    """Every claim is judged under it with all seeds, beside the calibrated interpretation."""

    @property
    def counts(self) -> dict[str, tuple[str, float]]:
        """What numbers of a flow count: for each, the number of the outcome and the factor."""
        return {count.quantity: (count.of, count.factor) for c in self.chosen for count in c.count}

    def assignments(self, folder: Path, study: str) -> dict[str, Any]:
        """What it assigns in a study of the paper in this folder, by key."""
        values: dict[str, Any] = {}
        for candidate in self.chosen:
            values |= candidate.assignments(folder, study)
        return values


def meanings(paper: Paper, reading: Reading) -> tuple[str | None, ...]:
    """What printed numbers count under an interpretation: two that differ in this alone have the same runs."""
    return tuple(reading.parameters.get(p.id) for p in paper.calibration.parameter if p.meaning)


def combination(paper: Paper, labels: Mapping[str, str], name: str = "") -> Reading:
    """The interpretation that takes these candidates, by the identifiers of their parameters."""
    chosen = []
    for parameter in paper.calibration.parameter:
        wanted = labels[parameter.id]
        chosen.append(next(c for c in parameter.candidate if c.label == wanted))
    text = ", ".join(labels[p.id] for p in paper.calibration.parameter)
    return Reading(name or text or AS_FILED, dict(labels), tuple(chosen))


def others(paper: Paper, calibrated: Reading, equivalent: Sequence[Reading] = (), most: int = 0) -> list[Reading]:
    """The other interpretations: all first candidates, each change of one point, and those that fit equally well.

    `equivalent` lists all interpretations that the control cells do not distinguish from the calibrated one, the
    nearest first. Of its first `most`, those that are not yet in the result are added.
    """
    readings = []
    alike = [dict(reading.parameters) for reading in equivalent]
    first = {p.id: p.candidate[0].label for p in paper.calibration.parameter}
    if dict(calibrated.parameters) != first:
        filed = combination(paper, first, AS_FILED)
        readings.append(replace(filed, changes=ALL_PARAMETERS, equivalent=first in alike))
    for parameter in paper.calibration.parameter:
        for candidate in parameter.candidate:
            if candidate.label == calibrated.parameters[parameter.id]:
                continue
            labels = {**calibrated.parameters, parameter.id: candidate.label}
            changed = combination(paper, labels, f"{parameter.what}: {candidate.label}")
            readings.append(replace(changed, changes=parameter.id, equivalent=labels in alike, row=candidate.row))
    parameters = [dict(calibrated.parameters), *(dict(reading.parameters) for reading in readings)]
    for reading in equivalent[:most]:
        if dict(reading.parameters) not in parameters:
            readings.append(replace(reading, changes=EQUIVALENT, equivalent=True))
    for deviation in paper.deviations:
        for candidate in deviation.alternative:
            label = f"{deviation.id}: {candidate.label}"
            chosen = (*calibrated.chosen, candidate)
            readings.append(Reading(label, calibrated.parameters, chosen, deviation.id, row=candidate.row))
    return readings


def overrides(assignments: Mapping[str, Any], axes: Mapping[str, list[str]]) -> list[str]:
    """Assignments as `KEY=VALUE`; those to an axis or a label that the study does not have are left out.

    `axes` are the labels of the study's axes. `check` refuses candidates that lose an assignment in this way.
    """
    lines = []
    for key, value in assignments.items():
        if key.startswith("sweep."):
            _, axis, *label = key.split(".", 2)
            if axis not in axes or (label and label[0] not in axes[axis]):
                continue
            key = ".".join(["sweep", axis, *(json.dumps(one, ensure_ascii=False) for one in label)])
        lines.append(f"{key}={inline(value)}")
    return lines


def check(paper: Paper, axes: Callable[[str], Mapping[str, list[str]]]) -> None:
    """Raises BadInput for an assignment that sets nothing.

    An assignment to an axis must reach one in every study that the candidate names; without names, in one study.
    """
    parameters = [(p.id, p.candidate) for p in paper.calibration.parameter]
    deviations = [(d.id, d.alternative) for d in paper.deviations]
    for file, points in (("calibration.toml", parameters), ("deviations.toml", deviations)):
        for name, candidates in points:
            for candidate in candidates:
                if idle := _idle(paper, candidate, axes):
                    where = f"{paper.folder / file}: {name}: {candidate.label}"
                    raise BadInput(f"{where}: {idle[0]} sets nothing in study {idle[1]}; name the studies that have it")


def _idle(paper: Paper, candidate: Candidate, axes: Callable[[str], Mapping[str, list[str]]]) -> tuple[str, str] | None:
    """The first assignment of a candidate that sets nothing, with the study."""
    missed: dict[str, list[str]] = {}
    reached = set()
    for study in (spec.name for spec in paper.studies):
        for key, value in candidate.assignments(paper.folder, study).items():
            if not key.startswith("sweep.") or overrides({key: value}, axes(study)):
                reached.add(key)
            else:
                missed.setdefault(key, []).append(study)
    for key, where in missed.items():
        named = [study for study in where if study in candidate.studies or key in candidate.study.get(study, {})]
        if named or key not in reached:
            return key, (named or where)[0]
    return None


def inline(value: Any) -> str:
    """A value as TOML on one line."""
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_key(key)} = {inline(item)}" for key, item in value.items())
        return "{ " + pairs + " }"
    if isinstance(value, list):
        return "[" + ", ".join(inline(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def kept(study: Study, keep: Mapping[str, list[str]]) -> list[int]:
    """Points of a study whose labels are among those of `keep`; axes that the study does not have are ignored."""
    points = []
    for point in range(study.points):
        labels = study.labels(point)
        spread = labels | {k: v for label in labels.values() for k, v in said(label).items()}
        if all(spread.get(axis, wanted[0]) in wanted for axis, wanted in keep.items()):
            points.append(point)
    return points


@cache
def said(label: str) -> Mapping[str, str]:
    """The pairs of a label such as "K=2;Cf=2Mbps"; empty for any other label."""
    pairs = [part.split("=", 1) for part in label.split(";")]
    return {key.strip(): value.strip() for key, value in pairs} if all(len(pair) == 2 for pair in pairs) else {}
