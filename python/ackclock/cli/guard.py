"""A second process for commands that run controllers in Python in their own process.

A controller is code of the user, which can end its process, sleep for ever, or allocate without end. Before the first one
is loaded, the command goes on in a copy of its process. The first process waits for the copy, ends it at the time limit of
a run, and says how it has ended. Studies, suites, searches and agreements have processes of their own for each run
(`ackclock.study.workers`), with the same limits.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import struct
import sys
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ackclock.study.workers import TIME_LIMIT_S, end_with_parent, ended, memory_limit, time_limit_text
from ackclock.text import fail

if TYPE_CHECKING:
    from collections.abc import Iterator

FRAME = struct.Struct("<8scd")
"""What the copy says: a mark, what it is, and its value."""
MARK = b"ackclock"
BEGIN, END, DONE = b"b", b"e", b"d"
"""A run begins, with its time limit in seconds; it has ended; the command is done."""
POLL_S = 0.2
"""Time between two looks at whether the copy still runs."""
FROM_KERNEL = 0x80
"""`si_code` of a signal that the terminal has sent to both processes (SI_KERNEL)."""

_copy: tuple[int, int] | None = None
"""In the copy: its process number and the descriptor for what it says."""


def begin() -> None:
    """Let the command go on in a copy of this process; call it before a controller in Python is loaded.

    It has no effect in the copy, and in a process that has other threads, which a copy would lose.
    """
    global _copy
    if _copy is not None or threading.active_count() > 1:
        return
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    said, says = os.pipe()
    waited_for = {signal.SIGINT, signal.SIGTERM}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited_for)
    copy = os.fork()
    if copy:
        os.close(says)
        os._exit(_wait(copy, said, waited_for))
    os.close(said)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    end_with_parent()
    os.register_at_fork(after_in_child=end_with_parent)
    if memory := memory_limit(1):
        resource.setrlimit(resource.RLIMIT_DATA, (memory, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    _copy = os.getpid(), says


def _say(what: bytes, value: float) -> None:
    if _copy is not None and os.getpid() == _copy[0]:
        with suppress(OSError):
            os.write(_copy[1], FRAME.pack(MARK, what, value))


def done() -> None:
    """The command is done, in this process; call it before the process ends."""
    _say(DONE, 0.0)


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """A run, which the first process ends after so many seconds; None for the default, 0 for no limit."""
    _say(BEGIN, TIME_LIMIT_S if seconds is None else seconds)
    try:
        yield
    finally:
        _say(END, 0.0)


def _wait(copy: int, said: int, signals: set[signal.Signals]) -> int:
    """Wait until the copy has ended; returns the exit status of the command."""
    data, deadline, limit_s, is_done, status = b"", float("inf"), 0.0, False, None
    while status is None:
        ready = select.select([said], [], [], POLL_S)[0]
        data += os.read(said, 1 << 16) if ready else b""
        while len(data) >= FRAME.size:
            mark, what, value = FRAME.unpack_from(data)
            data = data[FRAME.size :]
            if mark != MARK:
                os.kill(copy, signal.SIGKILL)
                os.waitpid(copy, 0)
                return fail("the controller wrote to the descriptors of its process", 1)
            limit_s = value if what == BEGIN else limit_s
            deadline = time.monotonic() + limit_s if what == BEGIN and limit_s else float("inf")
            is_done = is_done or what == DONE
        if time.monotonic() > deadline:
            os.kill(copy, signal.SIGKILL)
            os.waitpid(copy, 0)
            return fail(time_limit_text(limit_s), 1)
        while (info := signal.sigtimedwait(signals, 0)) is not None:
            if info.si_code != FROM_KERNEL:
                os.kill(copy, info.si_signo)
        if ready and not data:  # the copy has closed its end, or a frame was read: look without a pause at the former
            time.sleep(0.001)
        number, code = os.waitpid(copy, os.WNOHANG)
        status = os.waitstatus_to_exitcode(code) if number else None
    while select.select([said], [], [], 0)[0] and (part := os.read(said, 1 << 16)):
        data += part
    is_done = is_done or data.endswith(FRAME.pack(MARK, DONE, 0.0))
    if is_done and status >= 0:
        return status
    return fail(f"the process of the run {ended(status)} before the command was done", 1)
