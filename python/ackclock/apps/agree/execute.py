"""Runs the samples of a report into a store: in virtual time on all cores, in real time one after the other."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ackclock import ScenarioError
from ackclock.apps.agree.perturb import overrides
from ackclock.apps.agree.sample import Sample, from_outcome
from ackclock.apps.controls import Control
from ackclock.apps.reach.substrates import Refused, Substrate
from ackclock.base.assignment import Override
from ackclock.base.files import BadInput, own_folder
from ackclock.base.operating_system import cores
from ackclock.base.source import Source
from ackclock.base.workers import TIME_LIMIT_S, Stop, Work
from ackclock.scenario import Scenario
from ackclock.study.executors import portable
from ackclock.study.plan import StudyPlan, identity_on
from ackclock.study.runners import Cluster, Runner, Threads, for_python
from ackclock.study.store import Finished, Store

LAYOUT = 2
"""Version of the samples in a store."""
Progress = Callable[[int, int], object]


class Combination(NamedTuple):
    """A controller on a substrate."""

    controller: str
    """Its label."""
    substrate: str
    """The name."""


@dataclass(frozen=True)
class RunPlan:
    """What is to be run: a scenario with its controllers, on several substrates; the first one is the reference."""

    scenario: Scenario
    settings: Sequence[Override]
    """Assignments of `--set`."""
    controls: Sequence[Control]
    substrates: Sequence[Substrate]
    seeds: int
    """Seeds in virtual time, from 1."""
    repeats: int
    """Valid runs in real time."""
    packets: Sequence[Override] = ()
    """Assignments that make packets equal in size (`equal.equal_packets`)."""
    span: Sequence[Override] = ()
    """Assignments that make all runs count the same time (`equal.equal_span`)."""


@dataclass
class Samples:
    """The runs of a plan, by controller and substrate, in the order of seeds."""

    runs: dict[Combination, list[Sample]] = field(default_factory=dict)
    invalid: dict[Combination, list[Sample]] = field(default_factory=dict)
    """Runs in real time that stayed invalid and runs that lost a connection; they are in no figure and no test."""
    refused: dict[Combination, str] = field(default_factory=dict)
    """Reasons why a controller could not be run on a substrate."""


@dataclass(frozen=True)
class Task:
    """One run: the scenario of the seed with the controller, on a substrate. Can be pickled."""

    combination: Combination
    substrate: Substrate
    source: Source
    overrides: Sequence[Override]
    seed: int
    run_id: str
    """Identity under which the store keeps the sample."""
    python: bool
    """Whether a controller is written in Python."""

    @property
    def words(self) -> str:
        """The task in messages."""
        return f"{self.combination.controller} on {self.substrate.name}, seed {self.seed}"

    def run(self, stop: Stop | None = None) -> Sample:
        """Run it. Raises as `Substrate.run`."""
        finished = self.substrate.run(Scenario.read(self.source, self.overrides), self.seed, stop)
        sample = from_outcome(finished.outcome, finished.trace, self.seed, finished.outcome.get("validity"))
        sample.notes = finished.notes
        return sample


def run_tasks(_state: None, planned: Sequence[Task], stop: Stop | None = None) -> list[Sample | Exception]:
    """Run tasks one after the other; an exception is the result of the task that raised it."""
    results: list[Sample | Exception] = []
    for task in planned:
        try:
            results.append(task.run(stop))
        except (Refused, ScenarioError, BadInput, RuntimeError, MemoryError) as error:
            results.append(error)
    return results


def failed(task: Task, error: str) -> Exception:
    """The result of a task whose controller ended its process."""
    return RuntimeError(f"{task.words}: {error}")


WORK = Work(run_tasks, failed)


def tasks(plan: RunPlan, samples: Samples) -> list[Task]:
    """Every run of a plan; controllers that the scenario refuses are put into `samples.refused`.

    Raises ScenarioError if the scenario cannot be run for another reason.
    """
    planned = []
    source = plan.scenario.source
    anywhere = portable(source)
    for control in plan.controls:
        base = [*plan.settings, *plan.packets, *plan.span, *control.overrides, "delays=true"]
        try:
            resolved = Scenario.read(source, base).resolved
        except ScenarioError as error:
            if not error.unmet_need:
                raise
            for substrate in plan.substrates:
                samples.refused[Combination(control.label, substrate.name)] = error.message
            continue
        for seed in range(1, max(plan.seeds, plan.repeats) + 1):
            assignments = [*base, *overrides(resolved, seed)]
            study = StudyPlan.read(source, assignments)
            [run] = study.runs({0: [seed]})
            for substrate in plan.substrates:
                if seed <= (plan.repeats if substrate.real_time else plan.seeds):
                    combination = Combination(control.label, substrate.name)
                    run_id = f"{LAYOUT} {substrate.name} {identity_on(substrate.name, run.run_id)}"
                    planned.append(
                        Task(combination, substrate, anywhere, assignments, seed, run_id, study.core.needs_processes)
                    )
    return planned


def execute(
    plan: RunPlan,
    out: Path,
    *,
    jobs: int | None = None,
    engine: str = "local",
    time_limit_s: float | None = None,
    progress: Progress | None = None,
) -> Samples:
    """Run a plan. Finished runs are kept in the store `out/samples`; those in real time until `forget` is called.

    Runs in virtual time use `jobs` threads (processes if a controller is in Python), or a Ray cluster if `engine` is
    "ray". Raises ScenarioError if the scenario cannot be run, BadInput if there is no cluster, RuntimeError if a run
    failed, and KeyboardInterrupt after the runs have been stopped.
    """
    samples = Samples()
    planned = tasks(plan, samples)
    advance = progress or (lambda _ended, _total: None)
    with Store.create(own_folder(out, "samples")) as store:
        done = _stored(store, planned)
        advance(len(done), len(planned))

        def keep(results: dict[int, Sample | Exception]) -> None:
            samples_of = {i: result for i, result in results.items() if isinstance(result, Sample)}
            done.update(samples_of)
            if samples_of:
                store.add([Finished(planned[i].run_id, _text(sample)) for i, sample in samples_of.items()])
            advance(len(done), len(planned))
            for i, result in results.items():
                if isinstance(result, Exception):
                    _refuse(planned[i], result, samples)

        virtual = [i for i, task in enumerate(planned) if i not in done and not task.substrate.real_time]
        missing = [planned[i] for i in virtual]
        with closing(_runner(missing, engine, jobs, time_limit_s)) as runner:
            for batch in runner.run(missing):
                keep({virtual[number]: result for number, result in batch})
        for i, task in enumerate(planned):
            if task.substrate.real_time and i not in done and task.combination not in samples.refused:
                keep({i: run_tasks(None, [task])[0]})
    for i in sorted(done):
        task, sample = planned[i], done[i]
        if task.combination not in samples.refused:
            (samples.runs if sample.valid else samples.invalid).setdefault(task.combination, []).append(sample)
    return samples


def _text(sample: Sample) -> str:
    """A sample as the store keeps it."""
    return json.dumps(sample.plain(), separators=(",", ":"))


def _runner(
    planned: Sequence[Task], engine: str, jobs: int | None, time_limit_s: float | None
) -> Runner[Task, Sample | Exception]:
    """The runner of tasks in virtual time."""
    if engine == "ray" and planned:
        return Cluster(WORK, jobs, time_limit_s)
    count = jobs or cores()
    python = any(task.python for task in planned)
    limit_s = TIME_LIMIT_S if time_limit_s is None else time_limit_s
    return for_python(WORK, count, len(planned), limit_s) if python else Threads(WORK, count)


def _stored(store: Store, planned: Sequence[Task]) -> dict[int, Sample]:
    """The samples in a store by the number of their task; a damaged one counts as missing."""
    texts = {one.run_id: one.outcome for one in store.outcomes_of({task.run_id for task in planned})}
    done = {}
    for i, task in enumerate(planned):
        with suppress(ValueError, KeyError, TypeError):
            done[i] = Sample.restored(json.loads(texts[task.run_id] or ""))
    return done


def forget(plan: RunPlan, folder: Path) -> None:
    """Delete the runs in real time of a finished report: the next report makes new ones."""
    with Store.create(folder) as store:
        store.remove(task.run_id for task in tasks(plan, Samples()) if task.substrate.real_time)


def _refuse(task: Task, error: Exception, samples: Samples) -> None:
    """Note that a controller cannot be run on a substrate; any other error is raised again."""
    if isinstance(error, Refused):
        samples.refused.setdefault(task.combination, str(error))
    elif isinstance(error, ScenarioError) and error.unmet_need:
        samples.refused.setdefault(task.combination, error.message)
    else:
        raise error
