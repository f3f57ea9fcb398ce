"""A scenario in real time, whether this machine can run programs behind it, and whether they are still there."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ackclock.apps.reach import Unavailable
from ackclock.apps.reach.emulation import Programs, Surroundings, emulate
from ackclock.scenario import Scenario

SCENARIO = """
title = "One flow in real time"
duration = "{duration}s"
[[link]]
name = "b"
ends = ["s", "d"]
rate = "10Mbps"
delay = "10ms"
queue = {{ kind = "{queue}" }}
[[flow]]
name = "f"
from = "s"
to = "d"
tcp = {{ congestion_control = "reno", ecn = {ecn} }}
"""
DROPTAIL = 'droptail", limit = "20p'


def namespaces() -> None:
    """Skip the test if this machine does not allow network namespaces."""
    path = Scenario.parse(SCENARIO.format(duration=1, queue=DROPTAIL, ecn="false"))
    try:
        emulate(path, Programs(["true"]), Surroundings(os.environ), warn=print)
    except Unavailable as error:
        pytest.skip(str(error))


def running(marker: str) -> int:
    """The number of processes of the machine that sleep for this time, a text that no other test has."""
    number = 0
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            number += path.read_bytes().split(b"\0")[:2] == [b"sleep", marker.encode()]
        except OSError:  # it has just ended
            continue
    return number


def until(condition: Callable[[], bool]) -> bool:
    """Wait for a condition; returns whether it has come."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False
