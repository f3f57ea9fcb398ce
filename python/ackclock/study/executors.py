"""Executors: one interface to run a study on all cores of this machine or on a Ray cluster.

An executor receives runs and yields the finished ones in batches. It keeps no state of its own: the store holds the
runs that were yielded, and all other runs are run again.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from ackclock import _core
from ackclock._core import ControllerError, ScenarioError
from ackclock.experiment import Source
from ackclock.files import BadInput
from ackclock.study.plan import Run, StudyPlan
from ackclock.study.store import Finished
from ackclock.study.workers import Batches, in_processes, serve

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

    def __init__(self, jobs: int | None = None) -> None:
        self.jobs = jobs or len(os.sched_getaffinity(0))

    def run(self, study: StudyPlan, runs: Sequence[Run]) -> Iterator[Batch]:
        """See Executor."""
        check_virtual(study)
        if study.core.has_external:
            workers = min(self.jobs, len(runs) // 2)  # a process is worth its start with two runs
            if workers > 1:
                yield from in_processes(as_data(study), runs, workers)
            else:
                yield from ([finished] for finished, _ in _one_by_one(study, runs))
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


class Ray:
    """A Ray cluster (extra `ackclock[cluster]`): the one that `ray start` or RAY_ADDRESS names, or a local one.

    A task is a batch of runs that takes some seconds, and returns their outcomes. Ray repeats a task whose worker died.
    """

    BATCH_S = 3.0
    """CPU seconds that a task should take."""
    AHEAD = 4
    """Tasks in flight per CPU of the cluster."""

    def __init__(self, jobs: int | None = None) -> None:
        self.jobs = jobs

    def run(self, study: StudyPlan, runs: Sequence[Run]) -> Iterator[Batch]:
        """See Executor."""
        check_virtual(study)
        if not runs:
            return
        ray = self.connect()
        remote = ray.remote(max_retries=3)(_ray_task)
        what = ray.put(as_data(study))
        cpus = int(ray.cluster_resources().get("CPU", 1))
        batches = Batches(runs, cpus, self.BATCH_S)
        flying: list[Any] = []
        try:
            while batches.rest or flying:
                while batches.rest and len(flying) < self.AHEAD * cpus:
                    flying.append(remote.remote(what, batches.take()))
                ready, flying = ray.wait(flying, timeout=0.5)
                if not ready:
                    yield []
                for task in ready:
                    result, cpu_s = ray.get(task)
                    batches.count(len(result), cpu_s)
                    yield result
        except ray.exceptions.RayTaskError as error:
            raise BadInput(f"--engine ray: a worker failed: {str(error).strip().splitlines()[-1]}") from None
        finally:
            for task in flying:
                ray.cancel(task, force=True)
            ray.shutdown()

    def connect(self) -> Any:
        """Connect to the cluster. Returns the module. Raises BadInput if Ray or the cluster is missing."""
        try:
            import ray
        except ImportError:
            raise BadInput("--engine ray needs Ray: pip install 'ackclock[cluster]'") from None
        quiet: dict[str, Any] = {"logging_level": "error", "log_to_driver": False}
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # silences a notice about GPUs
        address = _cluster()
        if address is None:
            ray.init(address="local", num_cpus=self.jobs, include_dashboard=False, **quiet)
        else:
            ray.init(address=address, **quiet)
        return ray


def _cluster() -> str | None:
    """The address of a reachable Ray cluster: RAY_ADDRESS, or else the one that `ray start` recorded; None if neither.

    Ray itself waits minutes for an unreachable cluster. Raises BadInput if the cluster of RAY_ADDRESS is unreachable.
    """
    named = os.environ.get("RAY_ADDRESS", "")
    try:
        left = (Path(os.environ.get("RAY_TMPDIR", "/tmp/ray")) / "ray_current_cluster").read_text().strip()
    except OSError:
        left = ""
    address = left if named in {"", "auto"} else named
    if "://" in address:
        return address
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=3).close()
    except (OSError, ValueError):
        if named not in {"", "auto"}:
            raise BadInput(f"RAY_ADDRESS={named}: no Ray cluster is reachable at this address") from None
        return None
    return address


def _one_by_one(study: StudyPlan, runs: Sequence[Run]) -> Iterator[tuple[Finished, float]]:
    """Run controllers written in Python on this thread only: more threads would wait for the GIL.

    A thread without a Python frame would also create one at every call.
    """
    for run in runs:
        try:
            result = study.scenario(run.point).run(seed=run.seed)
            yield Finished(run.run_id, result.json, None), result.outcome["engine"]["cpu_s"]
        except ControllerError as error:
            yield Finished(run.run_id, None, f"{error}\n{error.traceback.rstrip()}"), 0.0
        except (RuntimeError, ScenarioError, MemoryError) as error:
            yield Finished(run.run_id, None, str(error)), 0.0


StudyData = tuple[Source, list[str], str, str]
"""What another process needs to read a study: source, assignments, engine, substrate."""


def as_data(study: StudyPlan) -> StudyData:
    """A study for another process. This process has checked what the study names."""
    source = study.source if study.source.files is not None else replace(study.source, code="anywhere")
    if Path(study.file).exists():
        source = replace(source, file=str(Path(study.file).resolve()))
    return source, study.overrides, study.engine, study.on


def read_study(data: StudyData) -> StudyPlan:
    """The study of `as_data`. Raises RuntimeError in a process with another engine."""
    source, overrides, engine, on = data
    if engine != _core.ENGINE:
        raise RuntimeError(f"a worker has the engine {_core.ENGINE}, not {engine}; install the same version everywhere")
    return StudyPlan.read(source, overrides, on=on)


def run_batch(study: StudyPlan, runs: list[Run]) -> tuple[Batch, float]:
    """Run a batch on one CPU. Returns the finished runs and their CPU seconds."""
    finished, seconds = [], 0.0
    if study.core.has_external:
        changed = [run for run in runs if study.core.run_ids(run.point, [run.seed]) != [run.run_id]]
        finished += [Finished(run.run_id, None, "a file of the study was changed while it ran") for run in changed]
        for one, cpu_s in _one_by_one(study, [run for run in runs if run not in changed]):
            finished.append(one)
            seconds += cpu_s
        return finished, seconds
    pool = _core.Pool(study.core, [(run.point, run.seed) for run in runs], 1)
    while (done := pool.collect(1.0)) is not None:
        finished += [Finished(runs[i].run_id, outcome, error) for i, outcome, error, _ in done]
        seconds += sum(cpu_s for _, _, _, cpu_s in done)
    return finished, seconds


def serve_runs() -> None:
    """The process of a worker."""
    serve(run_batch, read_study)


def _ray_task(data: StudyData, runs: list[Run]) -> tuple[Batch, float]:
    """Run a batch on one CPU of the cluster."""
    try:
        study = read_study(data)
    except RuntimeError as error:
        return [Finished(run.run_id, None, str(error)) for run in runs], 0.0
    return run_batch(study, runs)


ENGINES: dict[str, type[Local] | type[Ray]] = {"local": Local, "ray": Ray}
"""Executors by the names of `--engine`."""
