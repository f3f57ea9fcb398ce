"""Runs the samples of a report into a store: simulated runs in threads, runs in real time one after the other."""

from __future__ import annotations

import json
import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ackclock import ScenarioError
from ackclock.agree.controls import Control
from ackclock.agree.perturb import overrides
from ackclock.agree.sample import Sample, from_outcome
from ackclock.experiment import Scenario
from ackclock.study.plan import StudyPlan, identity_on
from ackclock.study.store import Finished, Store
from ackclock.substrates import Refused, Stop, Substrate

LAYOUT = 2
"""Version of the samples in a store."""
Progress = Callable[[int, int], object]
Place = tuple[str, str]
"""Label of a controller and name of a substrate."""


@dataclass(frozen=True)
class Order:
    """What is to be run: a scenario with its controllers, on several substrates; the first one is the reference."""

    scenario: Scenario
    settings: Sequence[str]
    """Assignments of `--set`."""
    controls: Sequence[Control]
    substrates: Sequence[Substrate]
    seeds: int
    """Seeds in virtual time, from 1."""
    repeats: int
    """Valid runs in real time."""
    packets: Sequence[str] = ()
    """Assignments that make packets equal in size (`controls.equal_packets`)."""
    span: Sequence[str] = ()
    """Assignments that make all runs count the same time (`controls.equal_span`)."""


@dataclass
class Samples:
    """The runs of an order, by controller and substrate, in the order of seeds."""

    runs: dict[Place, list[Sample]] = field(default_factory=dict)
    invalid: dict[Place, list[Sample]] = field(default_factory=dict)
    """Runs in real time that stayed invalid and runs that lost a connection; they are in no figure and no test."""
    refused: dict[Place, str] = field(default_factory=dict)
    """Reasons why a controller could not be run on a substrate."""


class _Stopped(Exception):
    """The command was interrupted; a run in a thread ends with this."""


@dataclass(frozen=True)
class Task:
    """One run: the scenario of the seed with the controller, on a substrate."""

    place: Place
    substrate: Substrate
    scenario: Scenario
    seed: int
    run_id: str
    """Identity under which the store keeps the sample."""

    def run(self, stop: Stop | None = None) -> Sample:
        """Run it. Raises as `Substrate.run`."""
        finished = self.substrate.run(self.scenario, self.seed, stop)
        sample = from_outcome(finished.outcome, finished.trace, self.seed, finished.outcome.get("validity"))
        sample.notes = finished.notes
        return sample


def tasks(order: Order, samples: Samples) -> list[Task]:
    """Every run of an order; controllers that the scenario refuses are put into `samples.refused`.

    Raises ScenarioError if the scenario cannot be run for another reason.
    """
    planned = []
    source = order.scenario.source
    for control in order.controls:
        base = [*order.settings, *order.packets, *order.span, *control.overrides, "delays=true"]
        try:
            resolved = Scenario.read(source, base).resolved
        except ScenarioError as error:
            if not error.unmet_need:
                raise
            for substrate in order.substrates:
                samples.refused[control.label, substrate.name] = error.message
            continue
        for seed in range(1, max(order.seeds, order.repeats) + 1):
            assignments = [*base, *overrides(resolved, seed)]
            scenario = Scenario.read(source, assignments)
            [run] = StudyPlan.read(source, assignments).runs({0: [seed]})
            for substrate in order.substrates:
                if seed <= (order.repeats if substrate.real_time else order.seeds):
                    place = (control.label, substrate.name)
                    run_id = f"{LAYOUT} {substrate.name} {identity_on(substrate.name, run.run_id)}"
                    planned.append(Task(place, substrate, scenario, seed, run_id))
    return planned


def execute(order: Order, folder: Path, *, jobs: int | None = None, progress: Progress | None = None) -> Samples:
    """Run an order. Finished runs are kept in the store of `folder`; those in real time until `forget` is called.

    Raises ScenarioError if the scenario cannot be run, KeyboardInterrupt after the runs in progress have been stopped.
    """
    samples = Samples()
    planned = tasks(order, samples)
    advance = progress or (lambda _ended, _total: None)
    with Store.create(folder) as store:
        done = _stored(store, planned)
        advance(len(done), len(planned))

        def keep(i: int, sample: Sample) -> None:
            done[i] = sample
            store.add([Finished(planned[i].run_id, json.dumps(sample.plain(), separators=(",", ":")))])
            advance(len(done), len(planned))

        virtual = [i for i, task in enumerate(planned) if i not in done and not task.substrate.real_time]
        # Controllers in Python hold the GIL.
        threads = 1 if _in_python([planned[i] for i in virtual]) else jobs or len(os.sched_getaffinity(0))
        _in_threads(planned, virtual, threads, keep, samples)
        for i, task in enumerate(planned):
            if task.substrate.real_time and i not in done and task.place not in samples.refused:
                try:
                    keep(i, task.run())
                except (Refused, ScenarioError) as error:
                    _refuse(task, error, samples)
    for i in sorted(done):
        task, sample = planned[i], done[i]
        if task.place not in samples.refused:
            (samples.runs if sample.valid else samples.invalid).setdefault(task.place, []).append(sample)
    return samples


def _stored(store: Store, planned: Sequence[Task]) -> dict[int, Sample]:
    """The samples in a store by the number of their task; a damaged one counts as missing."""
    texts = {one.run_id: one.outcome for one in store.outcomes_of({task.run_id for task in planned})}
    done = {}
    for i, task in enumerate(planned):
        with suppress(ValueError, KeyError, TypeError):
            done[i] = Sample.restored(json.loads(texts[task.run_id] or ""))
    return done


def _in_python(planned: Sequence[Task]) -> bool:
    """Whether a controller of these runs is written in Python."""
    scenarios = {task.place[0]: task.scenario for task in planned}.values()
    return any(StudyPlan.read(s.source, s.overrides).core.has_external for s in scenarios)


def forget(order: Order, folder: Path) -> None:
    """Delete the runs in real time of a finished report: the next report makes new ones."""
    with Store.create(folder) as store:
        store.remove(task.run_id for task in tasks(order, Samples()) if task.substrate.real_time)


def _in_threads(
    planned: Sequence[Task], wanted: Sequence[int], jobs: int, keep: Callable[[int, Sample], None], samples: Samples
) -> None:
    """Run tasks in threads; the core releases the GIL. An interrupt stops the runs in progress."""
    ending = threading.Event()

    def stop(_part: float) -> None:
        if ending.is_set():
            raise _Stopped

    remaining = deque(wanted)
    running: dict[Future[Sample], int] = {}
    with ThreadPoolExecutor(jobs) as pool:
        try:
            while remaining or running:
                while remaining and len(running) < jobs:  # a thread without a next run begins none after an interrupt
                    i = remaining.popleft()
                    running[pool.submit(planned[i].run, stop)] = i
                for future in wait(running, timeout=0.5, return_when=FIRST_COMPLETED).done:
                    i = running.pop(future)
                    try:
                        keep(i, future.result())
                    except (Refused, ScenarioError) as error:
                        _refuse(planned[i], error, samples)
        except BaseException:
            ending.set()
            raise


def _refuse(task: Task, error: Refused | ScenarioError, samples: Samples) -> None:
    """Note that a controller cannot be run on a substrate; any other error is raised again."""
    if isinstance(error, Refused):
        samples.refused.setdefault(task.place, str(error))
    elif error.unmet_need:
        samples.refused.setdefault(task.place, error.message)
    else:
        raise error
