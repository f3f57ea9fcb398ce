"""What differs between operating systems: locks, pipes, groups of processes. Windows lacks the modules of POSIX."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

OPEN_ONCE = (
    os.O_RDWR
    | os.O_CREAT
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
"""The flags with which a file of a folder of results is opened: no link is followed, where the system can refuse it."""
OWN_GROUP: dict[str, Any] = {"process_group": 0}
"""Arguments of `subprocess.Popen` for a process that an interrupt of the terminal does not reach."""
if sys.platform == "win32":
    OWN_GROUP = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
COPIES = hasattr(os, "fork") and hasattr(signal, "sigtimedwait") and hasattr(signal, "pthread_sigmask")
"""Whether a process can go on in a copy of itself and wait for signals: on Linux, but not on Windows and macOS."""
POLL_S = 0.002
"""Time between two looks at a pipe on Windows, which cannot wait for pipes."""


def lock(descriptor: int) -> bool:
    """Lock a file for this process until the descriptor is closed. False if another process has locked it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, 0, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def readable(pipe: int, wait_s: float) -> bool:
    """Whether a read of a pipe returns at once: it has data or has ended. Waits at most so many seconds."""
    if sys.platform != "win32":
        return bool(select.select([pipe], [], [], wait_s)[0])
    import _winapi
    import msvcrt

    deadline = time.monotonic() + wait_s
    while True:
        try:
            if _winapi.PeekNamedPipe(msvcrt.get_osfhandle(pipe), 0)[0]:
                return True
        except OSError:
            return True  # the other end is closed
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_S)


def end_group(process: subprocess.Popen[Any]) -> None:
    """End a process that was started with `OWN_GROUP` and, on POSIX, those that it has started."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def cores() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
