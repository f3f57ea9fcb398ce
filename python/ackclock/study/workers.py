"""Processes that run tasks, such as runs of controllers in Python: threads of one process would wait for each other.

A worker is a Python process that calls `serve`. It receives a `Work` and then batches of tasks as pickles from standard
input, and answers each batch with its results. What a controller prints goes to standard error.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ackclock.study.plan import ENGINE

COMMAND = "from ackclock.study.workers import serve; serve()"
Task = TypeVar("Task", contravariant=True)
Result = TypeVar("Result")


def _the_same(setup: Any) -> Any:
    return setup


@dataclass(frozen=True)
class Work(Generic[Task, Result]):
    """How tasks are run, in any process. Functions are those of modules, which another process imports."""

    run: Callable[[Any, Sequence[Task]], list[Result]]
    """Runs tasks one after the other, with what `prepare` returned; returns their results in the order of the tasks."""
    failed: Callable[[Task, str], Result]
    """The result of a task that ended its process, with the message."""
    setup: Any = None
    """What all tasks need; can be pickled."""
    prepare: Callable[[Any], Any] = _the_same
    """Makes of `setup` what `run` needs, once in each process."""
    engine: str = ENGINE
    """The engine of the process that has the tasks."""

    def state(self) -> Any:
        """What `run` needs. Raises RuntimeError in a process with another engine."""
        if self.engine != ENGINE:
            raise RuntimeError(
                f"a worker has the engine {ENGINE}, not {self.engine}; install the same version everywhere"
            )
        return self.prepare(self.setup)

    def timed(self, state: Any, tasks: Sequence[Task]) -> tuple[list[Result], float]:
        """The results of tasks and their CPU seconds."""
        before = time.process_time()
        return self.run(state, tasks), time.process_time() - before


class WorkerEnded(Exception):
    """A process has ended during its tasks, which a controller can cause."""


class Worker(Generic[Task, Result]):
    """One process, which runs tasks."""

    def __init__(self, work: Work[Task, Result]) -> None:
        command = [sys.executable, "-P", "-c", COMMAND]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._send(work)

    def _send(self, value: Any) -> None:
        assert self._process.stdin is not None
        pickle.dump(value, self._process.stdin)
        self._process.stdin.flush()

    def run(self, tasks: Sequence[Task]) -> tuple[list[Result], float]:
        """The results of tasks and their CPU seconds.

        Raises WorkerEnded if the process has ended, and what `Work.prepare` or `Work.run` raised.
        """
        assert self._process.stdout is not None
        try:
            self._send(list(tasks))
            answer = pickle.load(self._process.stdout)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            status = self._process.wait()
            raise WorkerEnded(f"a process that ran the controller ended with exit status {status}") from None
        if isinstance(answer, BaseException):
            raise answer
        results: tuple[list[Result], float] = answer
        return results

    def end(self) -> None:
        """End the process, also in the middle of a run."""
        self._process.kill()
        self._process.wait()


def serve() -> None:
    """Answer batches until the input ends, or with an exception, which ends the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that reads the answers ends this one
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = sys.stdin.buffer
    work: Work[Any, Any] = pickle.load(requests)
    state: Any = None
    prepared = False
    while True:
        try:
            tasks = pickle.load(requests)
        except EOFError:
            return
        try:
            if not prepared:
                state, prepared = work.state(), True
            answer: Any = work.timed(state, tasks)
        except Exception as error:
            answer = error
        pickle.dump(answer, answers)
        answers.flush()
