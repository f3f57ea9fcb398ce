"""Executors: one interface to run a study on all cores of this machine or on a Ray cluster.

An executor receives runs and yields the finished ones in batches. It keeps no state of its own: the store holds the
runs that were yielded, and all other runs are run again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from ackclock import _core
from ackclock._core import ControllerError, ScenarioError
from ackclock.base.assignment import Override
from ackclock.base.files import BadInput
from ackclock.base.operating_system import cores
from ackclock.base.source import Source
from ackclock.base.workers import TIME_LIMIT_S, Stop, Work
from ackclock.study.plan import Run, StudyPlan
from ackclock.study.runners import Cluster, Runner, for_python
from ackclock.study.store import Finished

Batch = list[Finished]


class Executor(Protocol):
    """Runs a study's runs somewhere."""

    def run(self, study: StudyPlan, runs: Sequence[Run]) -> Iterator[Batch]:
        """Yield every run once, in batches, in any order. A batch may be empty. Closing stops the runs."""
        ...


def check_virtual(study: StudyPlan) -> None:
    """Raise BadInput for a study in real time."""
    if study.real_time:
        raise BadInput(f"{study.file}: runs on {study.on} take place in real time: use the executor BySubstrate")


class Local:
    """All cores of this machine, as threads of this process, or as processes for controllers in Python."""

    def __init__(self, jobs: int | None = None, time_limit_s: float | None = None, memory: int | None = None) -> None:
        """`time_limit_s`: of a run with a controller in Python, 0 for none; `memory`: of its process, bytes."""
        self.jobs = jobs or cores()
        self.time_limit_s = TIME_LIMIT_S if time_limit_s is None else time_limit_s
        self.memory = memory

    def run(self, study: StudyPlan, runs: Sequence[Run]) -> Iterator[Batch]:
        """See Executor."""
        check_virtual(study)
        if study.core.needs_processes:
            if runs:
                runner = for_python(work(study), self.jobs, len(runs), self.time_limit_s, self.memory)
                yield from _batches(runner, runs)
            return
        pool = _core.Pool(study.core, [(run.point, run.seed) for run in runs], self.jobs)
        stopped = False
        while True:
            try:
                done = pool.collect(0.2)
            except KeyboardInterrupt:
                pool.stop()  # finished runs are still yielded, then the interrupt is raised again
                stopped = True
                continue
            if done is None:
                break
            try:
                yield [Finished(runs[i].run_id, outcome, error) for i, outcome, error, _ in done]
            except GeneratorExit:
                pool.stop()
                raise
        if stopped:
            raise KeyboardInterrupt


class UntilFailure:
    """Another executor, which is stopped after the first run that fails; the runs after it have no result."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def run(self, study: StudyPlan, runs: Sequence[Run]) -> Iterator[Batch]:
        """See Executor."""
        with closing(self._executor.run(study, runs)) as batches:  # type: ignore[type-var]
            for batch in batches:
                yield batch
                if any(run.outcome is None for run in batch):
                    return


class Ray:
    """A Ray cluster, as `Cluster` describes it."""

    def __init__(self, jobs: int | None = None, time_limit_s: float | None = None) -> None:
        self.jobs, self.time_limit_s = jobs, time_limit_s

    def run(self, study: StudyPlan, runs: Sequence[Run]) -> Iterator[Batch]:
        """See Executor."""
        check_virtual(study)
        if runs:
            yield from _batches(Cluster(work(study), self.jobs, self.time_limit_s), runs)


def _batches(runner: Runner[Run, Finished], runs: Sequence[Run]) -> Iterator[Batch]:
    """The finished runs of a runner, which ends with them."""
    with closing(runner):
        for batch in runner.run(runs):
            yield [finished for _, finished in batch]


def _run_python(study: StudyPlan, run: Run) -> Finished:
    """Run a controller written in Python on this thread only: more threads would wait for the GIL.

    A thread without a Python frame would also create one at every call.
    """
    if study.core.run_ids(run.point, [run.seed]) != [run.run_id]:
        return failed(run, "a file of the study was changed while it ran")
    try:
        return Finished(run.run_id, study.scenario(run.point).run(seed=run.seed).json, None)
    except ControllerError as error:
        return failed(run, f"{error}\n{error.traceback.rstrip()}")
    except (RuntimeError, ScenarioError, MemoryError) as error:
        return failed(run, str(error))


StudyData = tuple[Source, list[Override], str]
"""What another process needs to read a study: source, assignments, substrate."""


def portable(source: Source) -> Source:
    """A source for another process. This process has checked what it names."""
    if source.files is None:
        source = replace(source, code="anywhere")
    return replace(source, file=str(Path(source.file).resolve())) if Path(source.file).exists() else source


def read_study(data: StudyData) -> StudyPlan:
    """The study of its data."""
    source, overrides, on = data
    return StudyPlan.read(source, overrides, on=on)


def run_batch(study: StudyPlan, runs: Sequence[Run], _stop: Stop | None) -> Batch:
    """Run a batch on one CPU."""
    if study.core.needs_processes:
        return [_run_python(study, run) for run in runs]
    finished: dict[int, Finished] = {}
    pool = _core.Pool(study.core, [(run.point, run.seed) for run in runs], 1)
    while (done := pool.collect(1.0)) is not None:
        finished |= {i: Finished(runs[i].run_id, outcome, error) for i, outcome, error, _ in done}
    return [finished[i] for i in range(len(runs))]


def failed(run: Run, error: str) -> Finished:
    """A run that has failed."""
    return Finished(run.run_id, None, error)


def work(study: StudyPlan) -> Work[Run, Finished]:
    """The runs of a study as tasks for any process."""
    data: StudyData = (portable(study.source), study.overrides, study.on)
    return Work(run_batch, failed, data, read_study)


ENGINES: dict[str, type[Local] | type[Ray]] = {"local": Local, "ray": Ray}
"""Executors by the names of `--engine`."""
