"""How much faster a run on several threads is than on one.

.venv/bin/python benches/threads.py [PAIRS] [THREADS]

Each network runs in turns on one thread and on THREADS (2), and the outcomes are compared. Printed are the median, the
smallest and the largest ratio of the times of the event loop, and of those of the whole run.
"""

from __future__ import annotations

import statistics
import sys
import time

from growth import fabric

from ackclock import Scenario


def dumbbell(flows: int, rate: str, duration_s: float) -> str:
    """CUBIC flows over one bottleneck of 10 ms, hosts at 1 Gb/s."""
    pairs = [
        f"""[[link]]
ends = ["s{flow}", "r1"]
rate = "1Gbps"
delay = "2ms"
[[link]]
ends = ["r2", "d{flow}"]
rate = "1Gbps"
delay = "2ms"
[[flow]]
name = "f{flow}"
from = "s{flow}"
to = "d{flow}"
start = "{flow}ms"
"""
        for flow in range(flows)
    ]
    return f"""duration = "{duration_s}s"
[[link]]
ends = ["r1", "r2"]
rate = "{rate}"
delay = "10ms"
queue = {{ kind = "droptail", limit = "1bdp" }}
{"".join(pairs)}"""


NETWORKS = {
    "fat tree of 128 hosts, 99,500 short flows": fabric(8, 0.62),
    "fat tree of 1,024 hosts": fabric(16, 0.02),
    "dumbbell, 100 flows, 1 Gb/s": dumbbell(100, "1Gbps", 60),
    "dumbbell, 1,000 flows, 10 Gb/s": dumbbell(1000, "10Gbps", 10),
}


def measure(parsed: Scenario, threads: int) -> tuple[float, float, object]:
    """Seconds of the event loop, seconds of the whole run, and its outcome without its cost."""
    begin = time.perf_counter()
    result = parsed.run(threads=threads)
    total_s = time.perf_counter() - begin
    if result.one_thread is not None:
        sys.exit(result.one_thread)
    outcome = dict(result.outcome)
    return float(outcome.pop("engine")["wall_s"]), total_s, outcome


def main() -> None:
    """Measure and print."""
    numbers = [int(word) for word in sys.argv[1:]]
    pairs, threads = [*numbers, *(3, 2)[len(numbers) :]]
    for name, text in NETWORKS.items():
        parsed = Scenario.parse(text)
        ratios: list[tuple[float, float]] = []
        for _ in range(pairs):
            one, several = measure(parsed, 1), measure(parsed, threads)
            if one[2] != several[2]:
                sys.exit(f"{name}: the outcomes differ")
            ratios.append((one[0] / several[0], one[1] / several[1]))
        for what, column in zip(("event loop", "whole run"), zip(*ratios, strict=True), strict=True):
            low, median, high = min(column), statistics.median(column), max(column)
            print(f"{name}, {what}: {median:.2f} ({low:.2f} to {high:.2f})", flush=True)


if __name__ == "__main__":
    main()
