"""Writes the traces of this folder. They are synthetic: no operator's network was measured.

Run it in this folder: `python generate.py`. The same numbers come out on every machine.
"""

from __future__ import annotations

import gzip
import math
import random
from collections.abc import Callable
from pathlib import Path

UNIT_BITS = 1504 * 8


def opportunities(rate_bps: Callable[[float], float], seconds: int) -> list[int]:
    """Times in ms of the delivery opportunities of a link whose rate at each millisecond is given."""
    times, credit = [], 0.0
    for ms in range(1, 1000 * seconds + 1):
        credit += rate_bps(ms / 1000) / 1000
        while credit >= UNIT_BITS:
            credit -= UNIT_BITS
            times.append(ms)
    if times[-1] != 1000 * seconds:
        times.append(1000 * seconds)
    return times


def two_steps(at: float) -> float:
    """12 Mb/s and 3 Mb/s, 2 s each."""
    return 12e6 if at % 4 < 2 else 3e6


def cellular(seed: int = 1) -> Callable[[float], float]:
    """A rate whose logarithm reverts to 6 Mb/s with a time constant of 2 s; short gaps without any rate."""
    draw = random.Random(seed)
    step, log, gap_until, rates = 0.02, 0.0, -1.0, {}
    for number in range(60 * 50):
        log += -log * step / 2 + 0.8 * math.sqrt(step) * draw.gauss(0, 1)
        if draw.random() < 0.002:
            gap_until = number * step + draw.uniform(0.05, 0.4)
        rates[number] = 0.0 if number * step < gap_until else min(6e6 * math.exp(log), 40e6)
    return lambda at: rates[min(int(at / step), len(rates) - 1)]


def starlink(seed: int = 2) -> Callable[[float], float]:
    """A capacity that changes every 15 s, with a gap of 60 ms at each change (a new satellite)."""
    draw = random.Random(seed)
    levels = [draw.uniform(20e6, 60e6) for _ in range(5)]
    return lambda at: 0.0 if at % 15 < 0.06 else levels[min(int(at / 15), 4)]


def write(name: str, times: list[int]) -> None:
    """A trace; compressed if its name ends in .gz."""
    text = "".join(f"{time}\n" for time in times).encode()
    Path(name).write_bytes(gzip.compress(text, 9, mtime=0) if name.endswith(".gz") else text)


if __name__ == "__main__":
    write("two-steps.down", opportunities(two_steps, 4))
    Path("steps.csv").write_text("time_s,bps\n0,12e6\n2,3e6\n", encoding="utf-8")
    write("cellular.down.gz", opportunities(cellular(), 60))
    write("starlink.down.gz", opportunities(starlink(), 60))
