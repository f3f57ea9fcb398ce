"""Runners of tasks: in threads of this process, in processes of this machine, or on a Ray cluster."""

from __future__ import annotations

import os
import socket
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Generic, Protocol

from ackclock.base.files import BadInput
from ackclock.base.workers import TIME_LIMIT_S, R, T, Work, Worker, WorkerEnded, memory_limit


class Runner(Protocol[T, R]):
    """Runs tasks somewhere."""

    def run(self, tasks: Sequence[T]) -> Iterator[list[tuple[int, R]]]:
        """Yield the number and the result of every task once, in batches, in any order. A batch may be empty."""
        ...

    def close(self) -> None:
        """End, and stop what is running."""
        ...


def results_of(runner: Runner[T, R], tasks: Sequence[T]) -> list[R]:
    """The results of tasks, in the order of the tasks."""
    results = {number: result for batch in runner.run(tasks) for number, result in batch}
    return [results[number] for number in range(len(tasks))]


class Closed(Exception):
    """The runner was closed; a run in a thread ends with this."""


class Threads(Generic[T, R]):
    """Threads of this process, for tasks without Python code, which would hold the GIL."""

    def __init__(self, work: Work[T, R], jobs: int) -> None:
        self._work, self._jobs = work, jobs
        self._state = work.state()
        self._pool = ThreadPoolExecutor(jobs)
        self._closed = False

    def run(self, tasks: Sequence[T]) -> Iterator[list[tuple[int, R]]]:
        """See Runner."""
        # A future for each task would wake the waiting thread after each one, which costs a twentieth of a run of 5 ms.
        waiting, results = iter(enumerate(tasks)), deque[tuple[int, R]]()

        def work() -> None:
            for number, task in waiting:
                results.append((number, self._work.run(self._state, [task], self._check)[0]))

        running = {self._pool.submit(work) for _ in range(min(self._jobs, len(tasks)))}
        try:
            while running:
                ended, running = wait(running, timeout=0.2, return_when=FIRST_EXCEPTION)
                yield [results.popleft() for _ in range(len(results))]
                for future in ended:
                    future.result()
        finally:
            list(waiting)  # after an interrupt the threads have nothing more to do

    def _check(self, _part: float) -> None:
        if self._closed:
            raise Closed

    def close(self) -> None:
        """See Runner."""
        self._closed = True
        self._pool.shutdown(cancel_futures=True)


class _InBatches(Generic[T, R]):
    """Tasks in batches of about `batch_s` CPU seconds, `ahead` of them at a time for each worker.

    The duration of a task is unknown at first: the first batches are one task each, then they grow.
    """

    batch_s: float
    ahead = 1
    workers: int

    def __init__(self) -> None:
        self._ended, self._seconds = 0, 0.0
        """Tasks that have ended, and their CPU seconds."""

    def run(self, tasks: Sequence[T]) -> Iterator[list[tuple[int, R]]]:
        """See Runner."""
        first = 0
        flying: dict[Any, int] = {}
        while first < len(tasks) or flying:
            while first < len(tasks) and len(flying) < self.ahead * self.workers:
                size = self._size(len(tasks) - first)
                flying[self._submit(tasks[first : first + size])] = first
                first += size
            ended = self._wait(list(flying))
            if not ended:
                yield []
            for handle in ended:
                results, cpu_s = self._results(handle)
                self._ended, self._seconds = self._ended + len(results), self._seconds + cpu_s
                yield list(enumerate(results, flying.pop(handle)))

    def _size(self, remaining: int) -> int:
        mean = self._seconds / self._ended if self._ended else 0.0
        wanted = round(self.batch_s / mean) if mean > 0 else 1
        return max(1, min(wanted, remaining // (2 * self.workers)))

    def _submit(self, tasks: Sequence[T]) -> Any:
        """Begin a batch. Returns its handle."""
        raise NotImplementedError

    def _wait(self, handles: Sequence[Any]) -> Iterable[Any]:
        """The batches that have ended, after some tenths of a second at most."""
        raise NotImplementedError

    def _results(self, handle: Any) -> tuple[list[R], float]:
        """The results of a batch that has ended, and their CPU seconds."""
        raise NotImplementedError


class Processes(_InBatches[T, R]):
    """Processes of this machine, which live until `close`.

    A task that ends its process, or exceeds the time limit, has failed (`Work.failed`); another process goes on.
    """

    batch_s = 1.0

    def __init__(
        self, work: Work[T, R], jobs: int, time_limit_s: float = TIME_LIMIT_S, memory: int | None = None
    ) -> None:
        """`time_limit_s`: for each task, 0 for none; `memory`: of each process, bytes; by default its part."""
        super().__init__()
        self._work, self.workers = work, jobs
        self._limits = time_limit_s, memory_limit(jobs) if memory is None else memory
        self._every = [Worker(work, *self._limits) for _ in range(jobs)]
        self._free: SimpleQueue[int] = SimpleQueue()
        for number in range(jobs):
            self._free.put(number)
        self._threads = ThreadPoolExecutor(jobs)
        self._closed = False

    def _submit(self, tasks: Sequence[T]) -> Future[tuple[list[R], float]]:
        return self._threads.submit(self._run_batch, tasks)

    def _wait(self, handles: Sequence[Any]) -> Iterable[Any]:
        return wait(handles, timeout=0.2, return_when=FIRST_COMPLETED).done

    def _results(self, handle: Future[tuple[list[R], float]]) -> tuple[list[R], float]:
        return handle.result()

    def _run_batch(self, tasks: Sequence[T]) -> tuple[list[R], float]:
        """Run tasks in the next free process. If it ends, the task that it ran has failed, and another one goes on."""
        number = self._free.get()
        results: list[R] = []
        total_s = 0.0
        try:
            while len(results) < len(tasks):
                try:
                    for result, cpu_s in self._every[number].run(tasks[len(results) :]):
                        results.append(result)
                        total_s += cpu_s
                except WorkerEnded as error:
                    if self._closed:
                        raise
                    self._every[number].end()
                    self._every[number] = Worker(self._work, *self._limits)
                    results.append(self._work.failed(tasks[len(results)], str(error)))
        finally:
            if self._closed:  # also while a process started
                self._every[number].end()
            self._free.put(number)
        return results, total_s

    def close(self) -> None:
        """See Runner."""
        self._closed = True
        for worker in self._every:
            worker.end()
        self._threads.shutdown(cancel_futures=True)


def for_python(
    work: Work[T, R], jobs: int, count: int, time_limit_s: float = TIME_LIMIT_S, memory: int | None = None
) -> Processes[T, R]:
    """The runner of so many tasks with Python code on this machine, which never run in the process of the command."""
    workers = max(1, min(jobs, count // 2))  # two tasks are worth the start of a process
    return Processes(work, workers, time_limit_s, memory)


class Cluster(_InBatches[T, R]):
    """A Ray cluster (extra `ackclock[cluster]`): the one that `ray start` or RAY_ADDRESS names, or a local one.

    Ray repeats a batch whose process died.
    """

    batch_s = 3.0
    ahead = 4

    def __init__(self, work: Work[T, R], jobs: int | None = None, time_limit_s: float | None = None) -> None:
        """Connect to the cluster; `jobs` is the number of CPUs of a local one.

        Raises BadInput if it is missing, and for a time limit, which it does not have.
        """
        super().__init__()
        if time_limit_s is not None:
            raise BadInput("--time-limit: has no effect with --engine ray; omit it")
        try:
            import ray
        except ImportError:
            raise BadInput("--engine ray needs Ray: pip install 'ackclock[cluster]'") from None
        self._ray: Any = ray
        quiet: dict[str, Any] = {"logging_level": "error", "log_to_driver": False}
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # silences a notice about GPUs
        address = _address()
        if address is None:
            ray.init(address="local", num_cpus=jobs, include_dashboard=False, **quiet)
        else:
            ray.init(address=address, **quiet)
        self._remote: Any = ray.remote(max_retries=3)(_on_cluster)
        self._work, self._failed = ray.put(work), work.failed
        self._tasks: dict[Any, Sequence[T]] = {}
        """The tasks of each batch that has not ended."""
        self.workers = int(self._ray.cluster_resources().get("CPU", 1))

    def run(self, tasks: Sequence[T]) -> Iterator[list[tuple[int, R]]]:
        """See Runner. Raises BadInput if a worker fails."""
        try:
            yield from super().run(tasks)
        except self._ray.exceptions.RayError as error:
            raise BadInput(f"--engine ray: a worker failed: {str(error).strip().splitlines()[-1]}") from None

    def _submit(self, tasks: Sequence[T]) -> Any:
        batch = self._remote.remote(self._work, tasks)
        self._tasks[batch] = tasks
        return batch

    def _wait(self, handles: Sequence[Any]) -> Iterable[Any]:
        ended: list[Any] = self._ray.wait(handles, timeout=0.5)[0]
        return ended

    def _results(self, handle: Any) -> tuple[list[R], float]:
        tasks = self._tasks.pop(handle)
        try:
            results: tuple[list[R], float] = self._ray.get(handle)
        except self._ray.exceptions.WorkerCrashedError:
            if len(tasks) == 1:
                return [self._failed(tasks[0], "the process of the run ended, in four attempts")], 0.0
            each = [self._results(self._submit([task])) for task in tasks]
            return [alone[0] for alone, _ in each], sum(cpu_s for _, cpu_s in each)
        return results

    def close(self) -> None:
        """See Runner."""
        for batch in self._tasks:
            self._ray.cancel(batch, force=True)
        self._ray.shutdown()


def _on_cluster(work: Work[T, R], tasks: Sequence[T]) -> tuple[list[R], float]:
    """Run a batch on one CPU of the cluster."""
    try:
        state = work.state()
    except RuntimeError as error:
        return [work.failed(task, str(error)) for task in tasks], 0.0
    return work.timed(state, tasks)


def _address() -> str | None:
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
