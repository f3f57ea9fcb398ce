"""Runs of a study in real time, one after the other by the wall clock."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ackclock import ScenarioError
from ackclock.files import BadInput
from ackclock.study.store import Finished
from ackclock.substrates import Refused, substrate

if TYPE_CHECKING:
    from ackclock.study.executors import Batch, Executor
    from ackclock.study.plan import Run, StudyPlan


class BySubstrate:
    """An executor that runs studies in real time itself; another executor runs those in virtual time."""

    def __init__(self, virtual: Executor) -> None:
        self.virtual = virtual

    def run(self, study: StudyPlan, runs: Sequence[Run]) -> Iterator[Batch]:
        """See Executor. A run that did not follow the wall clock has failed, and the next sweep repeats it."""
        if not study.real_time:
            yield from self.virtual.run(study, runs)
            return
        for run in runs:
            yield [_finished(study, run)]


def _finished(study: StudyPlan, run: Run) -> Finished:
    try:
        outcome = substrate(study.on).run(study.scenario(run.point), run.seed).outcome
    except (Refused, ScenarioError, BadInput, RuntimeError, MemoryError) as error:
        return Finished(run.run_id, None, str(error))
    validity = outcome["validity"]
    if not validity["valid"]:
        reasons = "; ".join(validity["reasons"])
        return Finished(run.run_id, None, f"the run did not follow the wall clock: {reasons}")
    return Finished(run.run_id, json.dumps(outcome, allow_nan=False), None)
