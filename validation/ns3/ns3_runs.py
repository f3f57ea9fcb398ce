"""Controllers beside those of ns-3: one flow over one link, with random losses and without.

    python validation/ns3/ns3_runs.py [BINARY [SEEDS]]    two minutes; needs ns-3.44 or later, here 3.48

Build BINARY with the libraries of ns-3, where NS3 is its folder after ./ns3 configure and ./ns3 build:
g++ -O2 -std=c++23 -INS3/build/include -LNS3/build/lib -o tcp validation/ns3/tcp.cc -lns3.48-core -lns3.48-network
-lns3.48-internet -lns3.48-point-to-point -lns3.48-applications -lns3.48-traffic-control

Appends to results.jsonl what is not there yet, and prints the table of docs/specs/controllers-2.md, as it does without
BINARY. tests/test_ns3.py compares some of it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ackclock import Scenario, stats

RESULTS = Path(__file__).with_name("results.jsonl")
VERSION = "3.48"
"""Of ns-3. The results of 3.37, the version of Debian 12, are there too."""
CONTROLS: dict[str, Any] = {
    "TcpLinuxReno": "reno",
    "TcpCubic": "cubic",
    "TcpIllinois": "illinois",
    "TcpHtcp": "htcp",
    "TcpScalable": "scalable",
    "TcpYeah": "yeah",
    "TcpLedbat": "ledbat",
    "TcpLp": {"kind": "lp", "variant": "linux"},
}
"""The controllers of ns-3, and ours."""
KEYS = ("goodput_bps", "mean_cwnd")
NETWORKS = {
    "losses": {"rate": 10e6, "delay": 0.025, "queue": 41, "loss": 1e-3, "time": 100, "warmup": 20},
    "buffer": {"rate": 10e6, "delay": 0.025, "queue": 41, "loss": 0, "time": 100, "warmup": 20},
}


def cases(seeds: int) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """All runs: a network without losses has no random numbers, so one seed is enough."""
    return [
        (
            {"network": network, "control": control, "seed": seed, "version": VERSION},
            values | {"control": control, "seed": seed},
        )
        for network, values in NETWORKS.items()
        for control in CONTROLS
        for seed in range(1, (seeds if values["loss"] else 1) + 1)
    ]


def recorded(results: Path, **of: Any) -> list[dict[str, Any]]:
    """The recorded runs of ns-3 with these values."""
    rows = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if of.items() <= row.items()]


def theirs(network: str, control: str, version: str = VERSION) -> list[dict[str, Any]]:
    """The recorded runs of ns-3 with a controller."""
    return recorded(RESULTS, network=network, control=control, version=version)


def ours(network: str, control: str) -> list[dict[str, Any]]:
    """The flow of this simulator in the same network, with the seeds of the recorded runs."""
    values = NETWORKS[network]
    back: dict[str, Any] = {"loss": [], "queue": {"kind": "droptail", "limit": "1000p"}}
    link = {"ends": ["a", "b"], "rate": f"{values['rate']:.0f}bps", "delay": f"{values['delay']}s", "back": back}
    link["queue"] = {"kind": "droptail", "limit": f"{values['queue']}p"}
    if values["loss"]:
        link["loss"] = {"kind": "bernoulli", "rate": values["loss"]}
    document = {
        "duration": f"{values['time']}s",
        "warmup": f"{values['warmup']}s",
        "tcp": {"congestion_control": CONTROLS[control], "timestamps": True, "delayed_ack": False},
        "link": [link],
        "flow": [{"name": "f", "from": "a", "to": "b"}],
    }
    scenario = Scenario.build(document)
    return [scenario.run(seed=row["seed"]).outcome["flows"][0] for row in theirs(network, control)]


def record(binary: str, results: Path, cases: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    """Run each case (what names it, arguments of the binary) that has no row in `results` yet, and append its row."""
    results.touch()
    known = recorded(results)
    missing = [case for case in cases if not any(case[0].items() <= row.items() for row in known)]

    def run(case: tuple[dict[str, Any], dict[str, Any]]) -> dict[str, Any]:
        command = [binary, *(f"--{name}={value}" for name, value in case[1].items())]
        result: dict[str, Any] = json.loads(subprocess.check_output(command, text=True))
        return case[0] | result

    with ThreadPoolExecutor(2) as pool, results.open("a", encoding="utf-8") as file:
        for row in pool.map(run, missing):
            file.write(json.dumps(row) + "\n")
            file.flush()
    print(f"{len(missing)} runs added, {len(known)} were there")


def table() -> None:
    """Print goodput (Mb/s) and mean window (segments) of both."""
    for network in NETWORKS:
        for control in CONTROLS:
            both = theirs(network, control), ours(network, control)
            cells = [
                stats.mean([row[key] / unit for row in rows]).text(2)
                for key, unit in zip(KEYS, (1e6, 1), strict=True)
                for rows in both
            ]
            print(f"| {network}: {control} | {' | '.join(cells)} |")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        record(sys.argv[1], RESULTS, cases(int(sys.argv[2]) if len(sys.argv) > 2 else 10))
    table()
