"""A second process for commands that run controllers in Python in their own process.

A controller is code of the user, which can end its process, sleep for ever, or allocate without end. Before the first
one is loaded, the command goes on in a copy of its process. The first process waits for the copy, ends it at the time
limit of a run, and says how it has ended. Studies, suites, searches and agreements have processes of their own for
runs (`ackclock.base.workers`), with the same limits.
"""

from __future__ import annotations

import os
import select
import signal
import struct
import sys
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ackclock.base import controllers
from ackclock.base.operating_system import COPIES
from ackclock.base.text import fail, say
from ackclock.base.workers import (
    MARK,
    POLL_S,
    TIME_LIMIT_S,
    WROTE,
    end_with_parent,
    ended,
    limit_memory,
    memory_limit,
    too_long,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

FRAME = struct.Struct("<8scd")
"""What the copy says: a mark, what it is, and its value."""
BEGIN, END, DONE = b"b", b"e", b"d"
"""A run begins, with its time limit in seconds; it has ended; the command is done."""
FROM_KERNEL = 0x80
"""`si_code` of a signal that the terminal has sent to both processes (SI_KERNEL)."""

_copy: tuple[int, int] | None = None
"""In the copy: its process number and the descriptor for what it says."""
_limit_s = 0.0
"""The time limit of the run that has begun, seconds; 0 for none."""


def begin() -> None:
    """Let the command go on in a copy of this process; call it before a controller in Python is loaded.

    It has no effect in the copy, in a process that has other threads, which a copy would lose, and on systems that
    cannot copy a process or wait for signals (Windows, macOS).
    """
    global _copy
    if _copy is not None or not COPIES or threading.active_count() > 1:
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
    limit_memory(memory_limit(1))
    _copy = os.getpid(), says
    controllers.process = os.getpid()
    if _limit_s:
        _say(BEGIN, _limit_s)


def _say(what: bytes, value: float) -> None:
    if _copy is not None and os.getpid() == _copy[0]:
        with suppress(OSError):
            os.write(_copy[1], FRAME.pack(MARK, what, value))


def is_copy() -> bool:
    """Whether this process is the copy, in which a controller may have changed the program."""
    return _copy is not None


def done() -> None:
    """The command is done, in this process; call it before the process ends."""
    _say(DONE, 0.0)


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """A run, which the first process ends after so many seconds; None for the default, 0 for no limit."""
    global _limit_s
    if seconds and not COPIES:
        say("ackclock: --time-limit has no effect on this operating system: it needs Linux", error=True)
    _limit_s = TIME_LIMIT_S if seconds is None else seconds
    _say(BEGIN, _limit_s)
    try:
        yield
    finally:
        _limit_s = 0.0
        _say(END, 0.0)


class _Said:
    """What the copy has said."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._data = descriptor, b""
        self.deadline, self.limit_s, self.is_done, self.is_wrong = float("inf"), 0.0, False, False

    def read(self, wait_s: float) -> None:
        """Read what there is, after so many seconds at most."""
        if not select.select([self._descriptor], [], [], wait_s)[0]:
            return
        part = os.read(self._descriptor, 1 << 16)
        if not part:
            time.sleep(min(wait_s, 0.001))  # the copy is about to end
        self._data += part
        while len(self._data) >= FRAME.size:
            mark, what, value = FRAME.unpack_from(self._data)
            self._data = self._data[FRAME.size :]
            self.is_wrong = self.is_wrong or mark != MARK
            self.is_done = self.is_done or what == DONE
            self.limit_s = value if what == BEGIN else 0.0
            self.deadline = time.monotonic() + self.limit_s if self.limit_s else float("inf")


def _wait(copy: int, descriptor: int, signals: set[signal.Signals]) -> int:
    """Wait until the copy has ended, and pass these signals on to it; returns the exit status of the command."""
    said, number, code = _Said(descriptor), 0, 0
    while not number:
        said.read(POLL_S)
        if said.is_wrong or time.monotonic() > said.deadline:
            os.kill(copy, signal.SIGKILL)
            os.waitpid(copy, 0)
            return fail(WROTE if said.is_wrong else too_long(said.limit_s), 1)
        while (info := signal.sigtimedwait(signals, 0)) is not None:
            if info.si_code != FROM_KERNEL:
                os.kill(copy, info.si_signo)
        number, code = os.waitpid(copy, os.WNOHANG)
    said.read(0)
    status = os.waitstatus_to_exitcode(code)
    if said.is_done and status >= 0:
        return status
    return fail(f"{ended(status)} before the command was done", 128 - status if -status in signals else 1)
