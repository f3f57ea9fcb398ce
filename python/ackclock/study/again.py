"""Finds the scenario and the seed of a stored run, to run it again."""

from __future__ import annotations

import json

from ackclock.experiment import Scenario
from ackclock.files import BadInput
from ackclock.study.plan import StudyPlan
from ackclock.study.store import Store


def scenario_of(store: Store, run_id: str) -> tuple[Scenario, int]:
    """The scenario and the seed of the run of the plan whose identity begins with `run_id`. Raises BadInput."""
    study, point, seed = run_of(store, run_id)
    return study.scenario(point), seed


def run_of(store: Store, run_id: str) -> tuple[StudyPlan, int, int]:
    """The study, the point and the seed of the run of the plan whose identity begins with `run_id`.

    The identity is a hash of everything that determines the result, so the run found gives the stored outcome.
    Raises BadInput if there is no such run, or if this engine or a changed file would give another result.
    """
    full, seed, axes = store.planned(run_id)
    file, overrides = store.about("file"), json.loads(store.about("set") or "[]")
    study = StudyPlan.parse(store.about("scenario") or "", overrides, file=file or "study")
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
