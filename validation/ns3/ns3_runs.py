"""Controllers beside those of ns-3: one flow over one link, with random losses and without.

    python validation/ns3/ns3_runs.py BINARY [SEEDS]    five minutes; needs ns-3 (Debian: apt-get install libns3-dev)

Build BINARY first: g++ -O2 -std=c++17 -o tcp validation/ns3/tcp.cc -lns3-core -lns3-network -lns3-internet
-lns3-point-to-point -lns3-applications -lns3-traffic-control

Appends to results.jsonl what is not there yet; tests/test_ns3.py compares it with this simulator.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

RESULTS = Path(__file__).with_name("results.jsonl")
CONTROLS = ("TcpLinuxReno", "TcpCubic", "TcpIllinois", "TcpHtcp", "TcpScalable", "TcpYeah", "TcpLedbat", "TcpLp")
NETWORKS = {
    "losses": {"rate": 10e6, "delay": 0.025, "queue": 41, "loss": 1e-3, "time": 100, "warmup": 20},
    "buffer": {"rate": 10e6, "delay": 0.025, "queue": 41, "loss": 0, "time": 100, "warmup": 20},
}


def cases(seeds: int) -> Iterator[dict[str, object]]:
    """All runs: a network without losses has no random numbers, so one seed is enough."""
    for network, values in NETWORKS.items():
        for control in CONTROLS:
            for seed in range(1, (seeds if values["loss"] else 1) + 1):
                yield {"network": network, "control": control, "seed": seed}


def main(binary: str, seeds: int) -> None:
    """Run what is missing."""
    rows = [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.is_file() else []
    known = {(row["network"], row["control"], row["seed"]) for row in rows}
    missing = [case for case in cases(seeds) if tuple(case.values()) not in known]

    def run(case: dict[str, object]) -> dict[str, object]:
        values = NETWORKS[str(case["network"])] | {"control": case["control"], "seed": case["seed"]}
        command = [binary, *(f"--{name}={value}" for name, value in values.items())]
        result: dict[str, object] = json.loads(subprocess.check_output(command, text=True))
        return case | result

    with ThreadPoolExecutor(2) as pool, RESULTS.open("a", encoding="utf-8") as file:
        for row in pool.map(run, missing):
            file.write(json.dumps(row) + "\n")
            file.flush()
    print(f"{len(missing)} runs added, {len(rows)} were there")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10)
