"""Fifty moving nodes for 500 s in Ackclock and in ns-2.35; cost of larger networks: `python benches/manet.py`.

Runs of the two alternate. The CPU time of Ackclock is that to read, build and run the scenario; the CPU time of ns-2
is that of its whole process, without a trace.
The network is that of validation/ns2/radio.py: AODV, 802.11 at 2 Mb/s, forty streams of the CMU generator. Needs ns-2
(Debian: ns2); without it, only Ackclock is measured.
"""

from __future__ import annotations

import gzip
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ackclock import Scenario
from ackclock.apps.bench import SCHEDULERS

ROOT = Path(__file__).parents[1]
MOVES = ROOT / "validation" / "ns2" / "radio" / "moves_50a.tcl.gz"
SCRIPT = ROOT / "validation" / "ns2" / "tcl" / "fam_r_radio.tcl"
PAIRS = 3
SIZES = (
    (50, 600.0, 200),
    (200, 1200.0, 200),
    (1000, 2683.3, 100),
    (5000, 6000.0, 10),
    (200, 600.0, 100),
    (200, 2400.0, 200),
    (200, 4800.0, 200),
)
"""Number of nodes, side of their square in m, and seconds: first four sizes at one density, then the density alone."""


def scenario(nodes: int, side_m: float, seconds: int, mobility: dict[str, Any]) -> Scenario:
    """The network of the benchmark, with this number of nodes."""
    radio = {
        "nodes": nodes,
        "area": [f"{side_m}m", f"{side_m}m"],
        "profile": "ns2",
        "mobility": mobility,
        "mac": {"rate": "2Mbps", "basic_rate": "1Mbps"},
        "traffic": {"kind": "cbrgen", "connections": int(0.8 * nodes), "rate": 4.0, "packet": 1024},
    }
    return Scenario.build({"duration": f"{seconds}s", "radio": radio})


def ours(made: Scenario) -> tuple[float, dict[str, Any]]:
    """CPU time, and the outcome."""
    began = time.process_time()
    outcome = made.run().outcome
    return time.process_time() - began, outcome


def ns2(folder: Path, scheduler: str, seconds: int = 500) -> float:
    """CPU time of ns-2, without the packet headers that are not needed."""
    moves = folder / "moves.tcl"
    moves.write_bytes(gzip.decompress(MOVES.read_bytes()))
    keys = {"n": 50, "x": 600, "y": 600, "dur": seconds, "drate": "2Mb", "brate": "1Mb", "rts": 0, "scen": moves}
    keys |= {"bare": 1, "scheduler": scheduler}
    keys |= {"traffic": "gen", "mc": 40, "gnn": 50, "size": 1024, "rate": 4.0}
    before = os.times()
    subprocess.run(["ns", str(SCRIPT), *(f"{k}={v}" for k, v in keys.items())], check=True, capture_output=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> int:
    """Print medians, the median of the pairwise ratios, and the cost of larger networks."""
    given = {"kind": "ns2", "file": str(MOVES)}
    ours(scenario(50, 600, 10, given))  # imports
    if shutil.which("ns") is None:
        print("ns-2 is not installed (Debian: apt-get install ns2): only Ackclock is measured", file=sys.stderr)
    else:
        with tempfile.TemporaryDirectory() as folder:
            at = Path(folder)
            scheduler = min(SCHEDULERS, key=lambda name: ns2(at, name, 100))
            pairs = [(ours(scenario(50, 600, 500, given))[0], ns2(at, scheduler)) for _ in range(PAIRS)]
        ratios = sorted(theirs / mine for mine, theirs in pairs)
        mine, theirs = (statistics.median(times) for times in zip(*pairs, strict=True))
        print(f"50 nodes, 500 s: Ackclock {mine:.2f} s, ns-2 ({scheduler}) {theirs:.1f} s")
        print(f"ratio {statistics.median(ratios):.1f} ({ratios[0]:.1f} to {ratios[-1]:.1f}), {PAIRS} pairs")
    moving = {"kind": "random_waypoint", "max_speed": "10mps", "min_speed": "1mps", "pause": "2s"}
    for nodes, side_m, seconds in SIZES:
        cpu, outcome = ours(scenario(nodes, side_m, seconds, moving))
        engine = outcome["engine"]
        print(
            f"{nodes} nodes in {side_m:.0f} x {side_m:.0f} m: {1e3 * cpu / seconds:.2f} ms a simulated second, "
            f"{1e6 * cpu / seconds / nodes:.1f} us a node; {1e9 * engine['cpu_s'] / engine['events']:.0f} ns an event, "
            f"{1e6 * engine['cpu_s'] / max(1, engine['packet_hops']):.1f} us a packet-hop"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
