"""Finds the scenario and the seed of a stored run, to run it again."""

from __future__ import annotations

import json
from dataclasses import replace

from ackclock.base.files import BadInput
from ackclock.base.link import unpack
from ackclock.base.source import Source
from ackclock.scenario import Scenario
from ackclock.study.plan import ON, VIRTUAL, StudyPlan
from ackclock.study.store import REMEDY, Store, is_text


def scenario_of(store: Store, run_id: str, *, allow_code: bool = False) -> tuple[Scenario, int]:
    """The scenario and the seed of the run of the plan whose identity begins with `run_id`. Raises as `run_of`."""
    study, point, seed = run_of(store, run_id, allow_code=allow_code)
    return study.scenario(point), seed


def study_of(store: Store, *, on: str = "tcp", allow_code: bool = False) -> StudyPlan:
    """The study of a store on a substrate.

    Only with `allow_code` may its scenario and its assignments name controllers in Python. Raises BadInput,
    ScenarioError.
    """
    overrides = _overrides(store)
    if link := store.about("link"):
        source = Source.of_link(unpack(link))
    else:
        text, file = store.about("scenario") or "", store.about("file") or "study"
        source = Source(file, text, "anywhere" if allow_code else "none", libraries=allow_code)
    if allow_code:
        return StudyPlan.read(source, overrides, on=on)
    return StudyPlan.read(replace(source, assignments=[*source.assignments, *overrides]), on=on)


def _overrides(store: Store) -> list[str]:
    try:
        assignments = json.loads(store.about("set") or "[]")
    except (ValueError, RecursionError):
        assignments = None
    if not isinstance(assignments, list) or not all(map(is_text, assignments)):
        raise BadInput(f"{store.folder}: is damaged (its set); {REMEDY}")
    return assignments


def run_of(store: Store, run_id: str, *, allow_code: bool = False) -> tuple[StudyPlan, int, int]:
    """The study, the point and the seed of the run of the plan whose identity begins with `run_id`.

    The identity is a hash of everything that determines the result, so the run gives the stored outcome.
    Raises BadInput if there is no such run, if it took place in real time, if this engine or a changed file would give
    another result, or if the run has a controller in Python without `allow_code`.
    """
    full, seed, axes = store.planned(run_id)
    study = study_of(store, allow_code=allow_code)
    on = "tcp" if ON in study.axes else axes.get(ON, "tcp")
    if on not in VIRTUAL:
        raise BadInput(f"{store.folder}: run {run_id} took place in real time, on {on}, and cannot be repeated exactly")
    if on != "tcp":
        study = study_of(store, on=on, allow_code=allow_code)
    engine = store.about("engine")
    if engine != study.engine:
        raise BadInput(
            f"{store.folder}: was computed by engine {engine}, and this is {study.engine}; repeat the sweep with it"
        )
    for point in range(study.points):
        if study.labels(point).items() <= axes.items() and study.core.run_ids(point, [seed]) == [full]:
            return study, point, seed
    raise BadInput(
        f"{store.folder}: the stored scenario does not give run {full}: a file that it names has changed, or the run "
        "belongs to another variant; run that scenario with ackclock why FILE --seed"
    )
