"""How the cost of a packet-hop grows with flows, hosts, hops and the bandwidth-delay product: docs/figures/growth.svg.

.venv/bin/python benches/growth.py [PAIRS] [--million]

Each point runs in turns with the reference, the dumbbell of ten flows, and is the median of the ratios of CPU time a
packet-hop. `--million`: 1,000,000 flows too, which need 6 GB.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt

from ackclock import Scenario, _core

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "growth.svg"
Cost = Callable[[], float]
"""Runs a network; ns a packet-hop."""


def cost(engine: Mapping[str, Any]) -> float:
    """The CPU time of a run, ns a packet-hop; `engine`: that of its outcome."""
    return 1e9 * float(engine["cpu_s"]) / float(engine["packet_hops"])


def dumbbell(flows: int) -> Cost:
    """NewReno flows: up to 1,000 over 100 Mb/s, more over 10 Gb/s, a million over 100 Gb/s."""
    duration, rate = (20.0, 10**8) if flows <= 1000 else (2.0, 10**10) if flows <= 100_000 else (1.0, 10**11)
    return lambda: cost(json.loads(_core.bench(flows, duration, rate)))


def scenario(text: str) -> Cost:
    """A scenario."""
    parsed = Scenario.parse(text)
    return lambda: cost(parsed.run(seed=1).outcome["engine"])


def fabric(ports: int, duration_s: float) -> str:
    """Short flows between the halves of a fat tree, 1 Gb/s for each host, over links of 10 Gb/s."""
    hosts = ports**3 // 4
    halves = [json.dumps([f"h{host}" for host in half]) for half in (range(hosts // 2), range(hosts // 2, hosts))]
    return f"""
duration = "{duration_s}s"
routing  = "ecmp"
tcp      = {{ min_rto = "5ms" }}
[[topology]]
kind        = "fat_tree"
k           = {ports}
host_rate   = "10Gbps"
fabric_rate = "10Gbps"
delay       = "1us"
queue       = {{ kind = "droptail", limit = "250p" }}
[[traffic]]
name  = "web"
from  = {halves[0]}
to    = {halves[1]}
load  = "{hosts}Gbps"
size  = "100kB"
shape = 1.3
"""


def fat_tree(ports: int) -> Cost:
    """The fabric for 10 ms."""
    return scenario(fabric(ports, 0.01))


def chain(hops: int) -> Cost:
    """Ten flows over a line of links, whose first one is the bottleneck."""
    links = [
        f'{{ ends = ["n{hop}", "n{hop + 1}"], rate = "{100 if hop else 50}Mbps", delay = "1ms", '
        'queue = { kind = "droptail", limit = "200p" } }'
        for hop in range(hops)
    ]
    flows = [f'{{ name = "f{flow}", from = "n0", to = "n{hops}" }}' for flow in range(10)]
    return scenario(f'duration = "10s"\nlink = [{", ".join(links)}]\nflow = [{", ".join(flows)}]\n')


def long_path(packets: int) -> Cost:
    """One CUBIC flow over 1 Gb/s, whose bandwidth-delay product is so many packets of 1,500 bytes."""
    round_trip_s = packets * 12e-6
    return scenario(f"""
duration = "{max(5.0, 200 * round_trip_s):g}s"
tcp  = {{ receive_window = 1000000 }}
flow = [{{ name = "f", from = "a", to = "b" }}]
[[link]]
ends  = ["a", "b"]
rate  = "1Gbps"
delay = "{round_trip_s / 2:g}s"
queue = {{ kind = "droptail", limit = "1bdp" }}
""")


PANELS: dict[str, tuple[Callable[[int], Cost], list[int]]] = {
    "flows (dumbbell)": (dumbbell, [1, 10, 100, 1000, 10_000, 100_000]),
    "hosts (fat tree)": (fat_tree, [4, 6, 8, 12, 16]),
    "links of a path": (chain, [1, 2, 4, 8, 16, 32, 64]),
    "bandwidth-delay product [packets]": (long_path, [10, 100, 1000, 10_000, 50_000]),
}


def ratios(run: Cost, reference: Cost, pairs: int) -> list[float]:
    """The cost of a packet-hop over that of the reference, in turns, in increasing order."""
    return sorted(run() / reference() for _ in range(pairs))


def main() -> None:
    """Measure, print the medians with the smallest and the largest ratio, and draw the figure."""
    million = "--million" in sys.argv
    numbers = [int(word) for word in sys.argv[1:] if word.isdecimal()]
    pairs, reference = (numbers or [5])[0], dumbbell(10)
    mpl.rcParams |= {"svg.hashsalt": "ackclock", "font.size": 9}
    figure, axes = plt.subplots(2, 2, figsize=(9.2, 5.6), layout="constrained", sharey=True)
    for axis, (name, (build, values)) in zip(axes.flat, PANELS.items(), strict=True):
        if build is dumbbell and million:
            values = [*values, 1_000_000]
        places = [value**3 // 4 if build is fat_tree else value for value in values]
        rows = [ratios(build(value), reference, pairs) for value in values]
        medians = [statistics.median(row) for row in rows]
        for place, row, median in zip(places, rows, medians, strict=True):
            print(f"{name}: {place:>9,}  {median:5.2f} ({row[0]:.2f} to {row[-1]:.2f})", flush=True)
        spread = [[m - row[0] for row, m in zip(rows, medians, strict=True)]]
        spread.append([row[-1] - m for row, m in zip(rows, medians, strict=True)])
        axis.errorbar(places, medians, yerr=spread, marker="o", markersize=4, linewidth=1.2, capsize=2)
        axis.set(xscale="log", yscale="log", xlabel=name)
        axis.set_xticks(places, [f"{place:,}" for place in places])
        axis.tick_params(axis="x", labelsize=8)
        axis.grid(alpha=0.3)
        axis.axhline(1, color="black", linewidth=0.6)
    for axis in axes[:, 0]:
        axis.set_ylabel("CPU time a packet-hop\n[ten flows = 1]")
        axis.set_yticks([0.5, 1, 2, 4, 8, 16], ["0.5", "1", "2", "4", "8", "16"])
    for axis in axes.flat:
        axis.minorticks_off()
    figure.savefig(FIGURE, metadata={"Date": None})


if __name__ == "__main__":
    main()
