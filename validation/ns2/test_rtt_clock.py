"""The clock of ns-2.35's TCP: the number of ticks of a constant round-trip time (tcl/rtt_clock.tcl)."""

from __future__ import annotations

import csv
import math
from collections import Counter, defaultdict
from pathlib import Path

import polars as pl
import pytest

from ackclock import Scenario

TICK_MS, PACKETS = 10, 200
ON_WIRE_MS = (1040 + 40) * 8 / 100e3
Key = tuple[float, bool]


@pytest.fixture(scope="module")
def recorded() -> dict[Key, Counter[int]]:
    """Distribution of ns-2's tick counts for each round-trip time, without and with timestamps; five seeds."""
    found: dict[Key, Counter[int]] = defaultdict(Counter)
    with open(Path(__file__).parent / "rtt_clock.csv", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found[float(row["rtt_ms"]), row["timestamps"] == "1"][int(row["ticks"])] += int(row["count"])
    return found


def ours(rtt_ms: float, timestamps: bool, seed: int) -> Counter[int]:
    """Distribution of the tick counts of our sender's clock, for data only."""
    document = {
        "duration": f"{rtt_ms * (PACKETS + 1.5)}ms",
        "tcp": {"profile": "ns2", "receive_window": 1, "timestamps": timestamps, "header": 40, "clock_rtt": True},
        "link": [{"ends": ["a", "b"], "rate": "100Mbps", "delay": f"{(rtt_ms - ON_WIRE_MS) / 2}ms"}],
        "flow": [{"name": "f", "from": "a", "to": "b"}],
    }
    trace = Scenario.build(document).run(seed=seed, trace="ack").trace
    samples = trace.filter(pl.col("rtt_s").is_not_null())["rtt_s"]
    return Counter(round(1000 * x / TICK_MS) for x in samples)


def test_a_round_trip_is_floor_of_itself_and_the_phase_in_ticks(recorded: dict[Key, Counter[int]]) -> None:
    """Without timestamps: floor((RTT + phase of the sending time) / tick), at least one; with them the nearest tick."""
    for (rtt_ms, timestamps), theirs in recorded.items():
        mine = sum((ours(rtt_ms, timestamps, seed) for seed in range(1, 6)), Counter())
        assert set(mine) <= set(theirs) | {t + 1 for t in theirs if not timestamps}, (rtt_ms, timestamps, mine, theirs)
        if timestamps:
            assert len(theirs) == len(mine) == 1
            continue
        part = rtt_ms / TICK_MS
        upper = part - math.floor(part) if part > 1 else 0.0
        for counts in (theirs, mine):
            share = counts[math.floor(part) + 1] / counts.total() if part > 1 else 0.0
            assert abs(share - upper) < 0.01, (rtt_ms, counts)


def test_rounding_up_would_be_another_clock(recorded: dict[Key, Counter[int]]) -> None:
    """Westwood's minimum round-trip time at 10 Mb/s and 10 ms is 20 ms with this clock, not 30 ms."""
    assert min(recorded[20.864, False]) == 2
    assert recorded[20.864, False][3] < recorded[20.864, False].total() / 10
