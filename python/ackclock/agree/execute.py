"""Runs the samples of a report: simulated runs in threads and kept, runs in real time one after the other."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import platform
import threading
import zlib
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from ackclock import ScenarioError
from ackclock.agree.controls import Control
from ackclock.agree.perturb import overrides
from ackclock.agree.sample import Sample
from ackclock.agree.substrates import Refused, Substrate, identity
from ackclock.experiment import Scenario
from ackclock.files import write_bytes
from ackclock.study.plan import StudyPlan

LAYOUT = 1
"""Version of the samples on disk."""
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


class Kept:
    """Finished runs in a folder, one file each. A damaged file counts as missing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.json.gz"

    def get(self, name: str) -> Sample | None:
        """The run with this name; None if there is none."""
        try:
            return Sample.restored(json.loads(gzip.decompress(self._path(name).read_bytes())))
        except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError):
            return None

    def put(self, name: str, sample: Sample) -> None:
        """Keep a run."""
        self.folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(sample.plain(), separators=(",", ":"))
        write_bytes(self._path(name), gzip.compress(text.encode(), compresslevel=3, mtime=0))

    def drop(self, name: str) -> None:
        """Delete a run."""
        self._path(name).unlink(missing_ok=True)


@dataclass(frozen=True)
class Task:
    """One run: scenario of the seed with the controller, and the name under which it is kept."""

    place: Place
    substrate: Substrate
    scenario: Scenario
    seed: int
    control: str
    name: str


def tasks(order: Order, samples: Samples) -> list[Task]:
    """Every run of an order; controllers that the scenario refuses are put into `found.refused`.

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
            run_id = identity(scenario, assignments, seed)
            for substrate in order.substrates:
                if seed <= (order.repeats if substrate.real_time else order.seeds):
                    parts = [LAYOUT, substrate.name, run_id, platform.release() if substrate.real_time else ""]
                    name = hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()
                    place = (control.label, substrate.name)
                    planned.append(Task(place, substrate, scenario, seed, control.name, name))
    return planned


def execute(order: Order, folder: Path, *, jobs: int | None = None, progress: Progress | None = None) -> Samples:
    """Run an order. Finished runs are kept in `folder`; those in real time until `forget` is called.

    Raises ScenarioError if the scenario cannot be run, KeyboardInterrupt after the runs in progress have been stopped.
    """
    samples = Samples()
    kept = Kept(folder)
    planned = tasks(order, samples)
    done: dict[int, Sample] = {}
    for i, task in enumerate(planned):
        sample = kept.get(task.name)
        if sample is not None:
            done[i] = sample
    advance = progress or (lambda _ended, _total: None)
    advance(len(done), len(planned))
    virtual = [i for i, task in enumerate(planned) if i not in done and not task.substrate.real_time]
    many = jobs or len(os.sched_getaffinity(0))
    if _in_python([planned[i] for i in virtual]):
        many = 1  # controllers in Python hold the GIL
    _in_threads(planned, virtual, many, kept, done, samples, lambda: advance(len(done), len(planned)))
    for i, task in enumerate(planned):
        if task.substrate.real_time and i not in done and task.place not in samples.refused:
            try:
                done[i] = task.substrate.run(task.scenario, task.seed, task.control)
            except (Refused, ScenarioError) as error:
                _refuse(task, error, samples)
                continue
            kept.put(task.name, done[i])
            advance(len(done), len(planned))
    for i in sorted(done):
        task, sample = planned[i], done[i]
        if task.place not in samples.refused:
            (samples.runs if sample.valid else samples.invalid).setdefault(task.place, []).append(sample)
    return samples


def _in_python(planned: Sequence[Task]) -> bool:
    """Whether a controller of these runs is written in Python."""
    scenarios = {task.place[0]: task.scenario for task in planned}.values()
    return any(StudyPlan.read(s.source, s.overrides).core.has_external for s in scenarios)


def forget(order: Order, folder: Path) -> None:
    """Delete the runs in real time of a finished report: the next report makes new ones."""
    kept = Kept(folder)
    for task in tasks(order, Samples()):
        if task.substrate.real_time:
            kept.drop(task.name)


def _in_threads(
    planned: Sequence[Task],
    wanted: Sequence[int],
    jobs: int,
    kept: Kept,
    done: dict[int, Sample],
    samples: Samples,
    advance: Callable[[], object],
) -> None:
    """Run tasks in threads; the core releases the GIL. An interrupt stops the runs in progress."""
    ending = threading.Event()

    def stop(_part: float) -> None:
        if ending.is_set():
            raise _Stopped

    def work(task: Task) -> Sample:
        sample = task.substrate.run(task.scenario, task.seed, task.control, stop)
        kept.put(task.name, sample)
        return sample

    remaining = deque(wanted)
    running: dict[Future[Sample], int] = {}
    with ThreadPoolExecutor(jobs) as pool:
        try:
            while remaining or running:
                while remaining and len(running) < jobs:  # a thread without a next run begins none after an interrupt
                    i = remaining.popleft()
                    running[pool.submit(work, planned[i])] = i
                for future in wait(running, timeout=0.5, return_when=FIRST_COMPLETED).done:
                    i = running.pop(future)
                    try:
                        done[i] = future.result()
                    except (Refused, ScenarioError) as error:
                        _refuse(planned[i], error, samples)
                    advance()
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
