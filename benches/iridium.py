"""Three flows over Iridium for 300 s, alternately in Ackclock and in ns-2.35: `python benches/iridium.py`.

The CPU time of Ackclock (scenarios/iridium.toml) is that to read, build and run the scenario; the CPU time of ns-2 is
that of its whole process, without a trace. The packets are the same (validation/ns2/satellite.py). The benchmark needs
ns-2 (Debian: ns2).
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from ackclock import Scenario
from ackclock.apps.bench import SCHEDULERS

ROOT = Path(__file__).parents[1]
PAIRS = 7


def ours() -> tuple[float, int, float]:
    """CPU time, packet-hops, and CPU time of the event loop alone."""
    began = time.process_time()
    engine = Scenario.load(ROOT / "scenarios" / "iridium.toml").run().outcome["engine"]
    return time.process_time() - began, engine["packet_hops"], engine["cpu_s"]


def ns2(scheduler: str) -> float:
    """CPU time of ns-2, without the packet headers that are not needed."""
    script = ROOT / "validation" / "ns2" / "tcl" / "fam_s_sat.tcl"
    command = ["ns", str(script), "cc=Sack1", "bare=1", f"scheduler={scheduler}"]
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> int:
    """Print medians and the median of the pairwise ratios."""
    if shutil.which("ns") is None:
        print("ns-2 is not installed (Debian: apt-get install ns2)", file=sys.stderr)
        return 1
    ours()  # imports
    scheduler = min(SCHEDULERS, key=ns2)
    pairs = [(ours(), ns2(scheduler)) for _ in range(PAIRS)]
    ratios = sorted(theirs / mine[0] for mine, theirs in pairs)
    whole = statistics.median(mine[0] for mine, _ in pairs)
    loop = statistics.median(mine[2] for mine, _ in pairs)
    theirs = statistics.median(theirs for _, theirs in pairs)
    hops = pairs[0][0][1]
    print(
        f"Ackclock {1e3 * whole:.1f} ms ({1e9 * loop / hops:.0f} ns a packet-hop in the loop), "
        f"ns-2 ({scheduler}) {theirs:.2f} s"
    )
    middle = statistics.median(ratios)
    print(f"ratio {middle:.0f} ({ratios[0]:.0f} to {ratios[-1]:.0f}), {PAIRS} pairs, {hops:,} packet-hops")
    return 0


if __name__ == "__main__":
    sys.exit(main())
