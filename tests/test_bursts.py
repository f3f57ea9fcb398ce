"""After bursts of other traffic every controller uses its path again: 200 generated networks, a fixed sequence.

`ACKCLOCK_BURSTS=2000 pytest tests/test_bursts.py` tries more of them, of the same sequence.
"""

from __future__ import annotations

import os
import random
from functools import cache
from typing import Any

import pytest

from ackclock import Scenario
from ackclock.apps.catalog import entries

COUNT = int(os.environ.get("ACKCLOCK_BURSTS", "200"))
SETTLING_S, MEASURED_S = 5.0, 10.0
"""Time after the last burst that is not measured, and time that is."""
LEAST = 0.5
"""Least goodput relative to that of Reno in the same network."""
EXCEPTIONS = {
    "nv": "a burst while it starts sets the threshold to what its rate needs, then one segment a round trip: 0.50 at "
    "the least, in 1 of 200 networks, with a path of 240 segments",
    "westwood_plus": "a burst while it starts sets the threshold to what it delivered; then one segment a round "
    "trip: 0.31 at the least, in 4 of 200 networks, with paths of 150 to 260 segments",
    "c4": "after a burst its window has a few segments, to which a push of a quarter adds none, so the rate does not "
    "rise: 0.27 at the least, in 5 of 200 networks, with paths of 3 to 17 segments",
    "cdg": "a back-off while it starts sets the threshold, then one segment a round trip: 0.06 at the least, in 9 of "
    "200 networks, with long paths",
    "ledbat": "after a timeout it grows by one segment a round trip from one segment on (RFC 6817 has no slow start): "
    "0.28 at the least, in 5 of 200 networks, with paths of 100 to 250 segments",
    "ledbat_pp": "a loss of its first slow start ends it, and it grows by one segment a round trip or less: 0.19 at "
    "the least, in 7 of 200 networks, with long paths",
    "lp": "it yields to its queue too (ackclock list controllers)",
    "rcp_plus": "its capacity is 1 Mb/s unless the scenario gives one",
    "swift": "its constants are those of data centres",
    "timely": "its constants are those of data centres",
}
"""Controllers that stay below it, with the cause."""
NEEDS_ROUTERS = {"rcp", "xcp"}
CONTROLLERS = [entry["name"] for entry in entries("controllers") if entry["name"] not in NEEDS_ROUTERS]


def network(number: int) -> dict[str, Any]:
    """One flow behind a bottleneck and one to three bursts of UDP, the first after 0.5 to 4.5 s; profile linux."""
    draw = random.Random(number)
    rate = 10 ** draw.uniform(6.3, 7.4)
    delay = 10 ** draw.uniform(-2.3, -1.1)
    packets = max(10, round(10 ** draw.uniform(-0.5, 0.5) * rate * 2 * delay / 12_000))
    steps = [["0s", "0bps"]]
    start = draw.uniform(0.5, 4.5)
    for _ in range(draw.randint(1, 3)):
        end = start + 10 ** draw.uniform(-1.7, -0.3)
        steps += [[f"{start:.6f}s", f"{draw.uniform(1, 4) * rate:.0f}bps"], [f"{end:.6f}s", "0bps"]]
        start = end + 10 ** draw.uniform(-2, 0)
    warmup = end + SETTLING_S
    return {
        "duration": f"{warmup + MEASURED_S:.6f}s",
        "warmup": f"{warmup:.6f}s",
        "link": [
            {"ends": ["s", "r"], "rate": "1Gbps", "delay": "1ms"},
            {"ends": ["u", "r"], "rate": "1Gbps", "delay": "1ms"},
            {
                "ends": ["r", "d"],
                "rate": f"{rate:.0f}bps",
                "delay": f"{delay * 1e3:.3f}ms",
                "queue": {"kind": "droptail", "limit": f"{packets}p"},
                "back": {"queue": {"kind": "droptail", "limit": "10000p"}},
            },
        ],
        "flow": [
            {"name": "f", "from": "s", "to": "d"},
            {"name": "burst", "from": "u", "to": "d", "udp": {"packet": 1000, "schedule": steps}},
        ],
    }


def goodput(control: str, number: int) -> float:
    """Goodput of the flow in the measured time, bit/s."""
    document = network(number) | {"tcp": {"congestion_control": control}}
    return float(Scenario.build(document).run().outcome["flows"][0]["goodput_bps"])


@cache
def of_reno(number: int) -> float:
    """That of Reno."""
    return goodput("reno", number)


@pytest.mark.parametrize("control", CONTROLLERS)
def test_a_controller_uses_its_path_again_after_bursts(control: str) -> None:
    parts = {number: goodput(control, number) / of_reno(number) for number in range(COUNT)}
    low = {number: round(part, 3) for number, part in parts.items() if part < LEAST}
    if control in EXCEPTIONS:
        assert low, "the exception is no longer needed"
    else:
        assert not low
