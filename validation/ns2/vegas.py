"""Vegas over the 20 cells of the CA-ARTT paper's Table 3, in ns-2: writes `papers/ca-artt/reference/ns2-vegas.csv`.

Readings A and F of the network (papers/ca-artt/studies/ns2.toml has the same for us), seeds 1 to 10. Takes a minute or
two. `python validation/ns2/vegas.py` where ns-2 is installed (Debian: ns2).
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[2]
TCL = Path(__file__).parent / "tcl" / "fam_a_asym.tcl"
TARGET = ROOT / "papers" / "ca-artt" / "reference" / "ns2-vegas.csv"
READINGS = {"A": ["win=10000"], "F": ["win=20", "rtt=200", "fstart=0.8"]}
FIELDS = ["reading", "K", "Cf", "seed", "acked_packets", "retransmitted_packets", "timeouts"]


def run(reading: str, k: int, cf: int, seed: int) -> dict[str, object]:
    """One run; Cr is that of the table's head, half of Eq. 34."""
    cr = cf * 1000 / 25 / k / 2
    command = ["ns", str(TCL), f"cf={cf}", f"cr={cr}", f"seed={seed}", "sample=10", *READINGS[reading]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    found = json.loads(done.stdout[done.stdout.index('{"family"') :].splitlines()[0])["flows"][0]
    row = [reading, k, f"{cf}Mbps", seed, found["acked_pkts"], found["rtx_pkts"], found["timeouts"]]
    return dict(zip(FIELDS, row, strict=True))


def runs(seeds: int) -> Iterator[dict[str, object]]:
    """All of them, in order."""
    jobs = [
        (r, k, cf, s) for r in READINGS for k in (2, 4, 8, 16, 32) for cf in (2, 4, 8, 16) for s in range(1, seeds + 1)
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(lambda job: run(*job), jobs)


def main() -> int:
    """Write the table."""
    if shutil.which("ns") is None:
        print("ns-2 is not installed (Debian: apt-get install ns2)", file=sys.stderr)
        return 1
    rows = list(runs(10))
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    with open(TARGET, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
