"""Processes that run tasks, such as runs of controllers in Python: threads of one process would wait for each other.

A worker is a Python process that calls `serve`. It receives a `Work` and then batches of tasks from standard input, and
answers each task with its result. What a controller prints goes to standard error. A controller is code of the user,
which can fork its process, end it, replace functions of modules, and write to all descriptors. So an answer has a frame
with the number of its batch; anything else ends the process, and the task that it ran has failed.
"""

from __future__ import annotations

import builtins
import ctypes
import json
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from types import ModuleType
from typing import Any, BinaryIO, Generic, TypeVar

from ackclock._core import ENGINE
from ackclock.base import controllers
from ackclock.base.operating_system import OWN_GROUP, end_group, readable
from ackclock.controller import Controller

COMMAND = "from ackclock.base.workers import serve; serve()"
TIME_LIMIT_S = 600.0
"""Default time limit of a task, seconds."""
LEAST_MEMORY = 2 << 30
"""The least limit of a worker's memory, bytes."""
Stop = Callable[[float], object]
"""Function that a run calls from time to time; an exception that it raises ends the run."""
T = TypeVar("T", contravariant=True)
"""A task."""
R = TypeVar("R")
"""The result of a task."""

FRAME = struct.Struct("<8sQQI")
"""What precedes an answer: a mark, the number of the batch, the length and the CRC-32 of the answer."""
MARK = b"ackclock"
POLL_S = 0.2
"""Time between two looks at whether the process still runs."""


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
        """The results of tasks and their CPU seconds. A task that ends its thread has failed."""
        before = time.process_time()
        return [self._one(state, task) for task in tasks], time.process_time() - before

    def _one(self, state: Any, task: T) -> R:
        try:
            return self.run(state, [task], None)[0]
        except Exception:
            raise
        except BaseException as error:  # a controller can raise SystemExit and KeyboardInterrupt
            return self.failed(task, f"{type(error).__name__}: {error}")


@dataclass(frozen=True)
class Announced:
    """What a worker says before an answer: the file that it runs."""

    what: str


class WorkerEnded(Exception):
    """A process has ended, or was ended, during a task, which a controller can cause."""


class Worker(Generic[T, R]):
    """One process, which runs tasks. It ends with the process that has started it."""

    def __init__(self, work: Work[T, R], time_limit_s: float = TIME_LIMIT_S, memory: int = 0) -> None:
        """`time_limit_s` for each task, 0 for none; `memory`: limit of the process, bytes, 0 for none."""
        command = [sys.executable, "-P", "-c", COMMAND]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **OWN_GROUP)
        assert self._process.stdout is not None
        self._answers = self._process.stdout.fileno()
        self._time_limit_s = time_limit_s
        self._ready, self._batch = False, 0
        self._send((work, controllers.on_load is not None, memory))

    def _send(self, value: Any) -> None:
        assert self._process.stdin is not None
        pickle.dump((self._batch, value), self._process.stdin)
        self._process.stdin.flush()

    def _read(self, count: int, deadline: float) -> bytes:
        """So many bytes of the answers. Raises EOFError at their end, TimeoutError at the deadline.

        A copy that the process has left behind can hold the answers open, so the end of the process is their end.
        """
        data = bytearray()
        while len(data) < count:
            if not readable(self._answers, POLL_S):
                if time.monotonic() > deadline:
                    raise TimeoutError
                if self._process.poll() is None or readable(self._answers, 0):
                    continue
                raise EOFError
            part = os.read(self._answers, count - len(data))
            if not part:
                raise EOFError
            data += part
        return bytes(data)

    def _frame(self, deadline: float) -> Any:
        """What the next frame has. Raises WorkerEnded if it is none of this batch."""
        mark, batch, length, checksum = FRAME.unpack(self._read(FRAME.size, deadline))
        data = self._read(length, deadline) if (mark, batch) == (MARK, self._batch) else b""
        if not data or zlib.crc32(data) != checksum:
            raise WorkerEnded(WROTE)
        return pickle.loads(data)

    def _receive(self) -> Any:
        """The next answer to the batch. Raises WorkerEnded if there is none."""
        deadline = time.monotonic() + self._time_limit_s if self._ready and self._time_limit_s else float("inf")
        try:
            while isinstance(value := self._frame(deadline), Announced):
                controllers.announce(value.what)
            return value
        except TimeoutError:
            raise WorkerEnded(too_long(self._time_limit_s)) from None
        except (EOFError, BrokenPipeError):
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(1)
            status = self._process.poll()
            raise WorkerEnded("the process of the run was left" if status is None else ended(status)) from None
        except (pickle.UnpicklingError, AttributeError, ImportError, IndexError, ValueError, TypeError):
            raise WorkerEnded("the controller replaced a function of the program that ran it") from None

    def run(self, tasks: Sequence[T]) -> Iterator[tuple[R, float]]:
        """Yield the results of tasks, in their order, each with its CPU seconds.

        Raises WorkerEnded if the process has ended during a task, RuntimeError if it has ended before, and what
        `Work.prepare` or `Work.run` raised.
        """
        if not self._ready:
            try:
                started = self._receive()
            except WorkerEnded as error:
                raise RuntimeError(f"a process for runs could not start: {error}") from None
            if isinstance(started, BaseException):
                raise started
            self._ready = True
        self._batch += 1
        try:
            self._send(list(tasks))
        except BrokenPipeError:
            raise WorkerEnded("the process of the run had ended before it began") from None
        for _ in tasks:
            answer = self._receive()
            if isinstance(answer, BaseException):
                raise answer
            [result], cpu_s = answer
            yield result, cpu_s

    def end(self) -> None:
        """End the process and those that it has started, also in the middle of a run."""
        end_group(self._process)
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()


def ended(status: int) -> str:
    """How the process of a run has ended, in words; `status`: below 0 for a signal."""
    how = f"with exit status {status}" if status >= 0 else f"by signal {-status}"
    return f"the process of the run ended {how}"


WROTE = "the controller wrote to the descriptors of its process"
"""The message about what is no answer of a process."""


def too_long(limit_s: float) -> str:
    """The message about a run that was ended at its time limit."""
    return f"the run took longer than the time limit of {limit_s:g} s (--time-limit)"


def limit_memory(limit: int) -> None:
    """Limit the data of this process to so many bytes; 0, and a system without such limits: no limit."""
    if limit:
        with suppress(ImportError):
            import resource

            resource.setrlimit(resource.RLIMIT_DATA, (limit, resource.getrlimit(resource.RLIMIT_DATA)[1]))


def memory_limit(workers: int) -> int:
    """The limit of memory of each of so many processes, bytes: its part of what the machine has available."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            values = {line.split(":")[0]: int(line.split()[1]) << 10 for line in file}
        return max(LEAST_MEMORY, int(0.9 * values["MemAvailable"]) // workers)
    except (OSError, KeyError, ValueError, IndexError):
        return 0


_DUMPS, _CRC32, _PACK, _LEN, _PID = pickle.dumps, zlib.crc32, FRAME.pack, len, os.getpid
"""What an answer needs: a controller can replace the functions of modules."""
_WATCHED: tuple[ModuleType | type, ...] = (builtins, pickle, json, struct, zlib, Controller)


def _functions() -> list[tuple[ModuleType | type, str, Any]]:
    return [(owner, name, value) for owner in _WATCHED for name, value in vars(owner).items() if callable(value)]


class _Answers:
    """The answers of a worker's process; only the process itself sends any, not its copies."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._pid, self._functions = file, os.getpid(), _functions()

    def replaced(self) -> str:
        """A function that a controller has replaced; empty if there is none."""
        for owner, name, value in self._functions:
            if vars(owner).get(name) is not value:
                return f"{owner.__name__}.{name}"
        return ""

    def send(self, batch: int, value: Any) -> None:
        """Send an answer to a batch. In a copy of the process: end it."""
        if _PID() != self._pid:
            os._exit(0)
        try:
            data = _DUMPS(value)
        except Exception as error:  # it cannot be pickled
            data = _DUMPS(RuntimeError(f"{type(value).__name__}: {value} ({error})"))
        try:
            self._file.write(_PACK(MARK, batch, _LEN(data), _CRC32(data)) + data)
            self._file.flush()
        except BrokenPipeError:
            os._exit(0)  # the process that has started this one is gone

    def in_copy(self) -> None:
        """In a copy of the process: it does not hold the answers, and ends with the process."""
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._file.fileno())
        end_with_parent()


def end_with_parent() -> None:
    """Ask the kernel to end this process with the one that has started it (Linux)."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def serve() -> None:
    """The process of a worker: answer batches until the input ends. The answer to a mistake is its exception."""
    requests, answers = os.fdopen(os.dup(0), "rb"), _Answers(os.fdopen(os.dup(1), "wb"))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=answers.in_copy)
    try:
        _, (work, announces, memory) = pickle.load(requests)
    except EOFError:
        return  # the process that has started this one is gone
    limit_memory(memory)
    batch = 0
    if announces:
        controllers.on_load = lambda what: answers.send(batch, Announced(what))
    try:
        state = work.state()
        answers.send(0, None)
    except Exception as error:
        answers.send(0, error)
        return
    batches: SimpleQueue[tuple[int, Sequence[Any]]] = SimpleQueue()
    threading.Thread(target=_receive_all, args=(requests, batches), daemon=True).start()
    while True:
        batch, tasks = batches.get()
        for task in tasks:
            try:
                answer: Any = work.timed(state, [task])
            except Exception as error:
                answer = error
            if name := answers.replaced():
                answer = WorkerEnded(f"the controller replaced {name}, which the program uses")
            answers.send(batch, answer)


def _receive_all(requests: BinaryIO, batches: SimpleQueue[Any]) -> None:
    """Receive batches. The process ends with the input: the one that has started it is gone, or needs it no more."""
    while True:
        try:
            batches.put(pickle.load(requests))
        except EOFError:
            os._exit(0)
