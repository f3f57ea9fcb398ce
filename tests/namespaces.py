"""A scenario in real time, and whether this machine can run programs behind it."""

from __future__ import annotations

import os

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
