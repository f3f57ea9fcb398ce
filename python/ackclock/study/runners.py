"""Runners of tasks: in this process, in processes of this machine, or on a Ray cluster."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Generic, Protocol

from ackclock.files import BadInput
from ackclock.study.workers import Result, Task, Work, Worker, WorkerEnded


class Runner(Protocol[Task, Result]):
    """Runs tasks somewhere."""

    def run(self, tasks: Sequence[Task]) -> Iterator[list[tuple[int, Result]]]:
        """Yield the number and the result of every task once, in batches, in any order. A batch may be empty."""
        ...

    def close(self) -> None:
        """End, and stop what is running."""
        ...


def results_of(runner: Runner[Task, Result], tasks: Sequence[Task]) -> list[Result]:
    """The results of tasks, in the order of the tasks."""
    results = {number: result for batch in runner.run(tasks) for number, result in batch}
    return [results[number] for number in range(len(tasks))]


class Here(Generic[Task, Result]):
    """The calling thread."""

    def __init__(self, work: Work[Task, Result], state: Any = None) -> None:
        """`state` is what `work.prepare` would return."""
        self._work, self._state = work, state

    def run(self, tasks: Sequence[Task]) -> Iterator[list[tuple[int, Result]]]:
        """See Runner."""
        for number, task in enumerate(tasks):
            yield [(number, result) for result in self._work.run(self._state, [task])]

    def close(self) -> None:
        """See Runner."""


class _InBatches(Generic[Task, Result]):
    """Tasks in batches of about `batch_s` CPU seconds, `ahead` of them at a time for each worker.

    The duration of a task is unknown at first: the first batches are one task each, then they grow.
    """

    batch_s: float
    ahead = 1
    workers: int

    def __init__(self) -> None:
        self._flying: dict[Any, int] = {}
        """Batches that have not ended, with the number of their first task."""
        self._ended, self._seconds = 0, 0.0
        """Tasks that have ended, and their CPU seconds."""

    def run(self, tasks: Sequence[Task]) -> Iterator[list[tuple[int, Result]]]:
        """See Runner."""
        first = 0
        flying: dict[Any, int] = {}
        self._flying = flying
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

    def _submit(self, tasks: Sequence[Task]) -> Any:
        """Begin a batch. Returns its handle."""
        raise NotImplementedError

    def _wait(self, handles: Sequence[Any]) -> Iterable[Any]:
        """The batches that have ended, after some tenths of a second at most."""
        raise NotImplementedError

    def _results(self, handle: Any) -> tuple[list[Result], float]:
        """The results of a batch that has ended, and their CPU seconds."""
        raise NotImplementedError


class Processes(_InBatches[Task, Result]):
    """Processes of this machine, which live until `close`.

    A task that ends its process has failed (`Work.failed`); another process takes the place.
    """

    batch_s = 1.0

    def __init__(self, work: Work[Task, Result], jobs: int) -> None:
        super().__init__()
        self._work, self.workers = work, jobs
        self._every = [Worker(work) for _ in range(jobs)]
        self._free: SimpleQueue[int] = SimpleQueue()
        for number in range(jobs):
            self._free.put(number)
        self._threads = ThreadPoolExecutor(jobs)
        self._closed = False

    def _submit(self, tasks: Sequence[Task]) -> Future[tuple[list[Result], float]]:
        return self._threads.submit(self._run_batch, tasks)

    def _wait(self, handles: Sequence[Any]) -> Iterable[Any]:
        return wait(handles, timeout=0.2, return_when=FIRST_COMPLETED).done

    def _results(self, handle: Future[tuple[list[Result], float]]) -> tuple[list[Result], float]:
        return handle.result()

    def _run_batch(self, tasks: Sequence[Task]) -> tuple[list[Result], float]:
        """Run tasks in the next free process; if it ends, one after the other in other processes."""
        number = self._free.get()
        try:
            return self._every[number].run(tasks)
        except WorkerEnded as error:
            if self._closed:
                raise
            self._every[number] = Worker(self._work)
            if len(tasks) == 1:
                return [self._work.failed(tasks[0], str(error))], 0.0
        finally:
            self._free.put(number)
        each = [self._run_batch([task]) for task in tasks]
        return [results[0] for results, _ in each], sum(cpu_s for _, cpu_s in each)

    def close(self) -> None:
        """See Runner."""
        self._closed = True
        for worker in self._every:
            worker.end()
        self._threads.shutdown(cancel_futures=True)


class Cluster(_InBatches[Task, Result]):
    """A Ray cluster (extra `ackclock[cluster]`): the one that `ray start` or RAY_ADDRESS names, or a local one.

    Ray repeats a batch whose process died.
    """

    batch_s = 3.0
    ahead = 4

    def __init__(self, work: Work[Task, Result], jobs: int | None = None) -> None:
        """Connect to the cluster; `jobs` is the number of CPUs of a local one. Raises BadInput if it is missing."""
        super().__init__()
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
        self._work = ray.put(work)
        self.workers = int(self._ray.cluster_resources().get("CPU", 1))

    def run(self, tasks: Sequence[Task]) -> Iterator[list[tuple[int, Result]]]:
        """See Runner. Raises BadInput if a worker fails."""
        try:
            yield from super().run(tasks)
        except self._ray.exceptions.RayTaskError as error:
            raise BadInput(f"--engine ray: a worker failed: {str(error).strip().splitlines()[-1]}") from None

    def _submit(self, tasks: Sequence[Task]) -> Any:
        return self._remote.remote(self._work, tasks)

    def _wait(self, handles: Sequence[Any]) -> Iterable[Any]:
        ended: list[Any] = self._ray.wait(handles, timeout=0.5)[0]
        return ended

    def _results(self, handle: Any) -> tuple[list[Result], float]:
        results: tuple[list[Result], float] = self._ray.get(handle)
        return results

    def close(self) -> None:
        """See Runner."""
        for batch in self._flying:
            self._ray.cancel(batch, force=True)
        self._ray.shutdown()


def _on_cluster(work: Work[Task, Result], tasks: Sequence[Task]) -> tuple[list[Result], float]:
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
