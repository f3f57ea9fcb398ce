"""Processes that run tasks, such as runs of controllers in Python: threads of one process would wait for each other.

A worker is a Python process that calls `serve`. It receives a `Work` and then batches of tasks as pickles from standard
input, and answers each batch with its results. What a controller prints goes to standard error.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Any, BinaryIO, Generic, TypeVar

from ackclock import control
from ackclock.study.plan import ENGINE

COMMAND = "from ackclock.study.workers import serve; serve()"
Stop = Callable[[float], object]
"""Function that a run calls from time to time; an exception that it raises ends the run."""
T = TypeVar("T", contravariant=True)
"""A task."""
R = TypeVar("R")
"""The result of a task."""


def _the_same(setup: Any) -> Any:
    return setup


@dataclass(frozen=True)
class Work(Generic[T, R]):
    """How tasks are run, in any process. Functions are those of modules, which another process imports."""

    run: Callable[[Any, Sequence[T], Stop | None], list[R]]
    """Runs tasks one after the other, with what `prepare` returned; returns their results in the order of the tasks."""
    failed: Callable[[T, str], R]
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

    def timed(self, state: Any, tasks: Sequence[T]) -> tuple[list[R], float]:
        """The results of tasks and their CPU seconds."""
        before = time.process_time()
        return self.run(state, tasks, None), time.process_time() - before


class WorkerEnded(Exception):
    """A process has ended during its tasks, which a controller can cause."""


class Worker(Generic[T, R]):
    """One process, which runs tasks. It ends with the process that has started it."""

    def __init__(self, work: Work[T, R]) -> None:
        command = [sys.executable, "-P", "-c", COMMAND]
        # A group of its own: an interrupt of the terminal reaches the process that has started it only.
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0)
        self._ready = False
        self._send((work, control.on_load is not None))

    def _send(self, value: Any) -> None:
        assert self._process.stdin is not None
        pickle.dump(value, self._process.stdin)
        self._process.stdin.flush()

    def _receive(self) -> Any:
        assert self._process.stdout is not None
        answer = pickle.load(self._process.stdout)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def run(self, tasks: Sequence[T]) -> tuple[list[R], float]:
        """The results of tasks and their CPU seconds.

        Raises WorkerEnded if the process has ended during the tasks, RuntimeError if it has ended before, and what
        `Work.prepare` or `Work.run` raised.
        """
        try:
            if not self._ready:
                self._receive()
                self._ready = True
            self._send(list(tasks))
            results: tuple[list[R], float] = self._receive()
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            status = self._process.wait()
            how = f"with exit status {status}" if status >= 0 else f"by signal {-status}"
            if not self._ready:
                raise RuntimeError(f"a process for runs could not start: it ended {how}") from None
            raise WorkerEnded(f"the process of the run ended {how}") from None
        return results

    def end(self) -> None:
        """End the process, also in the middle of a run."""
        self._process.kill()
        self._process.wait()


def serve() -> None:
    """The process of a worker: answer batches until the input ends. The answer to a mistake is its exception."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    work, announces = pickle.load(requests)
    if announces:
        control.on_load = lambda what: print(f"ackclock: {what}", file=sys.stderr, flush=True)
    state = None

    def prepare() -> None:
        nonlocal state
        state = work.state()

    _answer(answers, prepare)
    batches: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_receive_all, args=(requests, batches), daemon=True).start()
    while True:
        tasks = batches.get()
        _answer(answers, partial(work.timed, state, tasks))


def _receive_all(requests: BinaryIO, batches: SimpleQueue[Any]) -> None:
    """Receive batches. The process ends with the input: the one that has started it is gone, or needs it no more."""
    while True:
        try:
            batches.put(pickle.load(requests))
        except EOFError:
            os._exit(0)


def _answer(answers: BinaryIO, work: Callable[[], Any]) -> None:
    """Send what a function returns or raises."""
    try:
        data = pickle.dumps(work())
    except BaseException as error:  # a controller can raise SystemExit or KeyboardInterrupt
        data = pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
        if isinstance(error, Exception):
            with suppress(Exception):  # it cannot be pickled
                data = pickle.dumps(error)
    answers.write(data)
    answers.flush()
