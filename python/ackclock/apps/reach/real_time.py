"""Runs of a study in real time, one after the other by the wall clock."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ackclock import ScenarioError
from ackclock.apps.reach.flow_parameters import controller_parameters
from ackclock.apps.reach.results import Unavailable
from ackclock.apps.reach.substrates import RealTime, Refused, substrate
from ackclock.base.files import BadInput
from ackclock.study.store import Finished

if TYPE_CHECKING:
    from ackclock.scenario import Scenario
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


def prepare(study: StudyPlan) -> list[str]:
    """Check that a study in real time can run on this machine; returns what its substrate ignores, each remark once.

    Raises Unavailable if no point can run, and BadInput if points differ in a controller that the substrate replaces:
    the results would name controllers that did not run. Points that cannot run while others can fail when they are run.
    """
    carrier = substrate(study.on)
    assert isinstance(carrier, RealTime)
    refused = {point for point, _ in study.refused}
    scenarios = [study.scenario(point) for point in range(study.points) if point not in refused]
    obstacles = [carrier.available(scenario) for scenario in scenarios]
    if obstacles[0] is not None and None not in obstacles:
        raise Unavailable(f"--on {carrier.name}: not available: {obstacles[0]}")
    runnable = [one for one, obstacle in zip(scenarios, obstacles, strict=True) if obstacle is None]
    controllers = {_controller(scenario) for scenario in runnable} if carrier.algorithm is not None else set()
    if len(controllers) > 1:
        raise BadInput(
            f"{study.file}: sweep: the points have different controllers ({', '.join(sorted(controllers))}), and "
            f"--on {carrier.name} runs the kernel's {carrier.algorithm} in all of them; use --on linux, which runs the "
            "kernel's algorithms of these names, or --on kernel, which runs our controllers"
        )
    remarks: dict[str, None] = {}
    for scenario in runnable:
        with suppress(ScenarioError):  # the run fails with it
            remarks |= dict.fromkeys(carrier.ignored(scenario))
    return list(remarks)


def _controller(scenario: Scenario) -> str:
    """The controller of the first flow with its parameters, as text."""
    flow = scenario.resolved["flows"][0]
    parameters = controller_parameters(scenario, flow["name"])
    return " ".join([str(flow["control"]), *(f"{name}={value}" for name, value in parameters.items())])


def _finished(study: StudyPlan, run: Run) -> Finished:
    try:
        outcome = substrate(study.on).run(study.scenario(run.point), run.seed).outcome
    except (Refused, ScenarioError, BadInput, RuntimeError, MemoryError, OSError) as error:
        return Finished(run.run_id, None, str(error))
    validity = outcome["validity"]
    if not validity["valid"]:
        reasons = "; ".join(validity["reasons"])
        return Finished(run.run_id, None, f"the run did not follow the wall clock: {reasons}")
    return Finished(run.run_id, json.dumps(outcome, allow_nan=False), None)
