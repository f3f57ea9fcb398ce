"""The cost of a controller in Python: events per second of a dumbbell, alternately with Reno in Rust and in Python.

.venv/bin/python benches/python_controller.py [PAIRS]
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import Any

from ackclock import Scenario
from ackclock.base.controllers import load

ROOT = Path(__file__).parent.parent


def dumbbell(flows: int) -> dict[str, Any]:
    """A smaller version of the speed benchmark's network."""
    ends = [("r1", "r2", 100), *((f"s{i}", "r1", 1000) for i in range(flows))]
    ends += [("r2", f"d{i}", 1000) for i in range(flows)]
    links: list[dict[str, Any]] = [{"ends": [a, b], "rate": f"{rate}Mbps", "delay": "10ms"} for a, b, rate in ends]
    links[0]["queue"] = {"kind": "droptail", "limit": "750p"}
    tcp = {"profile": "ns2", "congestion_control": "reno", "receive_window": max(4, 3000 // flows), "mss": 960}
    flow = [{"name": f"f{i}", "from": f"s{i}", "to": f"d{i}", "start": f"{i}ms"} for i in range(flows)]
    return {"duration": "20s", "tcp": tcp, "link": links, "flow": flow}


def main() -> None:
    """Print the median of the pairwise ratios of the event loop's CPU time."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    reno, _ = load(str(ROOT / "examples" / "reno.py"), "Reno", [])
    for flows in (1, 10):
        rust = Scenario.build(dumbbell(flows))
        python = Scenario.build(dumbbell(flows), controllers={f"f{i}": reno for i in range(flows)})
        ratios, speeds = [], []
        for _ in range(pairs):
            ours, theirs = (made.run().outcome["engine"] for made in (rust, python))
            assert ours["events"] == theirs["events"]
            ratios.append(theirs["cpu_s"] / ours["cpu_s"])
            speeds.append((ours["events"] / ours["cpu_s"] / 1e6, theirs["events"] / theirs["cpu_s"] / 1e6))
        rust_speed, python_speed = (statistics.median(column) for column in zip(*speeds, strict=True))
        print(
            f"{flows} flows: {rust_speed:.1f} million events a CPU second in Rust, {python_speed:.2f} in Python;"
            f" {statistics.median(ratios):.1f} times the CPU ({min(ratios):.1f} to {max(ratios):.1f}, {pairs} pairs)"
        )


if __name__ == "__main__":
    main()
