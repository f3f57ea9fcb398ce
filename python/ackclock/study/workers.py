"""Processes that run controllers written in Python: threads of one process would wait for each other.

A worker is a Python process that calls `serve`. It receives a study and then batches of runs as pickles from standard
input, and answers each batch with its finished runs. What a controller prints goes to standard error.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ackclock.study.plan import Run
    from ackclock.study.store import Finished

BATCH_S = 1.0
"""CPU seconds that a batch should take."""
COMMAND = "from ackclock.study.executors import serve_runs; serve_runs()"
Batch = tuple[list["Finished"], float]
"""Finished runs and their CPU seconds."""


class Batches:
    """Runs in batches of about `batch_s` CPU seconds for a number of workers.

    The duration of a run is unknown at first: the first batches are one run each, then they grow.
    """

    def __init__(self, runs: Sequence[Run], workers: int, batch_s: float) -> None:
        self.rest = list(reversed(runs))
        """The runs that no batch has, the next one last."""
        self._workers, self._batch_s = workers, batch_s
        self.ended, self._seconds = 0, 0.0

    def take(self) -> list[Run]:
        """The next batch."""
        mean = self._seconds / self.ended if self.ended else 0.0
        wanted = round(self._batch_s / mean) if mean > 0 else 1
        size = max(1, min(wanted, len(self.rest) // (2 * self._workers)))
        return [self.rest.pop() for _ in range(min(size, len(self.rest)))]

    def count(self, runs: int, seconds: float) -> None:
        """Count runs that have ended, with their CPU seconds."""
        self.ended, self._seconds = self.ended + runs, self._seconds + seconds


class Worker:
    """One process, which runs a function of Python that calls `serve`."""

    def __init__(self, study: Any, command: str = COMMAND) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._send(study)

    def _send(self, value: Any) -> None:
        assert self._process.stdin is not None
        pickle.dump(value, self._process.stdin)
        self._process.stdin.flush()

    def run(self, runs: Sequence[Any]) -> Any:
        """Run a batch. Raises RuntimeError if the process has ended, which a controller can cause."""
        assert self._process.stdout is not None
        try:
            self._send(list(runs))
            return pickle.load(self._process.stdout)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            status = self._process.wait()
            raise RuntimeError(f"a process that ran the controller ended with exit status {status}") from None

    def end(self) -> None:
        """End the process, also in the middle of a run."""
        self._process.kill()
        self._process.wait()


class Workers:
    """Processes that take batches in turn. Threads may share it."""

    def __init__(self, study: Any, jobs: int, command: str = COMMAND) -> None:
        self._start = partial(Worker, study, command)
        self.ended = False
        self._every = [self._start() for _ in range(jobs)]
        self._free: SimpleQueue[int] = SimpleQueue()
        for number in range(jobs):
            self._free.put(number)

    def run(self, batch: Sequence[Any]) -> Any:
        """Run a batch in the next free process. Raises RuntimeError if it has ended; another one takes its place."""
        number = self._free.get()
        try:
            return self._every[number].run(batch)
        except RuntimeError:
            if not self.ended:
                self._every[number] = self._start()
            raise
        finally:
            self._free.put(number)

    def end(self) -> None:
        """End all processes; none is started any more."""
        self.ended = True
        for worker in self._every:
            worker.end()


def in_processes(study: Any, runs: Sequence[Run], jobs: int) -> Iterator[list[Finished]]:
    """Yield every run once, in batches, in any order; `study` is for `read_study`. Closing ends the processes."""
    workers = Workers(study, jobs)
    batches = Batches(runs, jobs, BATCH_S)
    flying: set[Future[Batch]] = set()
    pool = ThreadPoolExecutor(jobs)
    try:
        while batches.rest or flying:
            while batches.rest and len(flying) < jobs:
                flying.add(pool.submit(workers.run, batches.take()))
            done, flying = wait(flying, timeout=0.2, return_when=FIRST_COMPLETED)
            if not done:
                yield []
            for future in done:
                finished, cpu_s = future.result()
                batches.count(len(finished), cpu_s)
                yield finished
    finally:
        workers.end()
        pool.shutdown()


def serve(run: Callable[[Any, Any], Any], read: Callable[[Any], Any]) -> None:
    """Answer batches until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that reads the answers ends this one
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = sys.stdin.buffer
    study = read(pickle.load(requests))
    while True:
        try:
            runs = pickle.load(requests)
        except EOFError:
            return
        pickle.dump(run(study, runs), answers)
        answers.flush()
