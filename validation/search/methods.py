"""One planted defect, and three ways to find it at equal CPU time. `defects.py run` calls it for every defect.

    python validation/search/methods.py DEFECT ORIGINAL

- search: the explorer of `ackclock search` on the space defects.toml, with the objective
  `regret(utilisation, ORIGINAL) >= 0.2`;
- random: the same space and objective, networks drawn at random;
- traces: a form of CC-Fuzz (HotNets 2022): 50 to 1,000 single packets of cross traffic at free times on one link of
  20 Mb/s and 40 ms, a genetic search, absolute utilisation.

Each has the CPU time that 500 networks take the search.

Prints a JSON object: for each way the evaluations until the first network in which the defect costs a fifth of the
utilisation, and a half, compared with the original controller and for three seeds; and the largest loss.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ackclock.assignment import Assignment
from ackclock.experiment import read_source
from ackclock.search import Search
from ackclock.search.evaluate import Evaluator, run_once, runner
from ackclock.search.explore import ROUND, Explorer, decode
from ackclock.search.findings import Options
from ackclock.search.objective import role

SPACE = Path(__file__).with_name("defects.toml")
NETWORKS = 500
BOUNDS = (0.2, 0.5)
"""Parts of the utilisation that the defect costs; a network beyond the first one is found."""
SEEDS = (1, 2, 3)
POPULATION, TOURNAMENT = 40, 3
PACKETS = (50, 1000)
"""Packets of a trace of CC-Fuzz."""
SPAN_S = (1.0, 8.0)
"""When they are sent."""
PACKET_S = 0.001
"""A packet of 1500 bytes is a burst of this time at 12 Mb/s."""


@dataclass
class Way:
    """What one way found: for each network or trace the part of the utilisation that the defect costs."""

    losses: list[float] = field(default_factory=list)
    cpu_s: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """For JSON: the number of the first network beyond each bound, None if there was none, and the largest loss."""
        first = {str(b): next((n + 1 for n, x in enumerate(self.losses) if x >= b), None) for b in BOUNDS}
        return {"first": first, "most": round(max(self.losses), 3), "networks": len(self.losses)}


def search(defect: str, original: str) -> Search:
    """The search for a network in which a defect costs the smaller of the bounds."""
    options = Options(defect, objective=f"regret(utilisation, {original}) >= {BOUNDS[0]}", budget=NETWORKS, first=True)
    return Search(read_source(SPACE), options)


def explored(one: Search, evaluator: Evaluator) -> Way:
    """The explorer of `ackclock search`."""
    explorer, began = Explorer(one.space, 1), time.process_time()
    while len(explorer.tried) < NETWORKS:
        proposed = explorer.ask(min(ROUND, NETWORKS - len(explorer.tried)))
        explorer.tell(proposed, evaluator.confirmed([genome for _, genome, _ in proposed]))
    losses = [tried.value.objective or 0.0 for tried in explorer.tried]
    return Way(losses, time.process_time() - began)


def at_random(one: Search, evaluator: Evaluator, cpu_s: float) -> Way:
    """The same space and objective with networks drawn at random."""
    way, began, rng = Way(), time.process_time(), np.random.default_rng(1)
    while way.cpu_s < cpu_s:
        genome = decode(one.space, list(rng.random(one.space.dimensions)))
        if one.space.excess(genome) == 0:
            way.losses.append(evaluator.confirmed([genome])[0].objective or 0.0)
        way.cpu_s = time.process_time() - began
    return way


class Traces:
    """A form of CC-Fuzz (HotNets 2022): a trace of single packets of cross traffic, a genetic search, absolute
    utilisation. The times of a new trace are drawn by dividing packets and time again and again at random, which makes
    bursts of all sizes; children have the times of one parent before an instant and of the other one after it, and a
    random part of the trace is drawn anew.
    """

    def __init__(self, one: Search, original: str) -> None:
        self._search, self._original = one, original
        self._rng = np.random.default_rng(1)
        self._population: list[tuple[float, list[float]]] = []
        self.packets = 0
        """Packets of the worst trace."""

    def way(self, cpu_s: float) -> Way:
        """Evaluate traces for this time. A trace is compared with the original only if it fails by itself."""
        way, began = Way(), time.process_time()
        while way.cpu_s < cpu_s:
            trace = self._next()
            used = self._utilisation(self._search.objective.tested.label, trace, SEEDS[0])
            way.losses.append(self._lost(trace) if used < 1 - BOUNDS[0] else 0.0)
            self._population = sorted([*self._population, (used, trace)])[:POPULATION]
            way.cpu_s = time.process_time() - began
        self.packets = len(self._population[0][1])
        return way

    def _next(self) -> list[float]:
        if len(self._population) < POPULATION:
            return self._drawn(int(self._rng.integers(*PACKETS)), *SPAN_S)
        a, b = (self._parent() for _ in range(2))
        cut = self._rng.uniform(*SPAN_S)
        child = [t for t in a if t < cut] + [t for t in b if t >= cut]
        start, end = sorted(self._rng.uniform(*SPAN_S, 2))
        inside = sum(start <= t < end for t in child)
        size = max(0, round(inside * self._rng.uniform(0.5, 1.5)))
        child = [t for t in child if not start <= t < end] + self._drawn(size, start, end)
        return sorted(child)[: PACKETS[1]]

    def _parent(self) -> list[float]:
        return self._population[min(int(n) for n in self._rng.integers(0, POPULATION, TOURNAMENT))][1]

    def _drawn(self, count: int, start: float, end: float) -> list[float]:
        if count <= 1 or end - start < PACKET_S:
            return list(np.sort(self._rng.uniform(start, end, count)))
        left, middle = int(self._rng.integers(0, count + 1)), self._rng.uniform(start, end)
        return [*self._drawn(left, start, middle), *self._drawn(count - left, middle, end)]

    def _utilisation(self, control: str, trace: list[float], seed: int) -> float:
        space = self._search.space
        bursts = [[f"{round(1e6 * t)}us", f"{PACKET_S * 1e3:g}ms", "12Mbps"] for t in trace]
        overrides = [*space.overrides(space.simplest()), Assignment(("flow", "bursts", "udp"), {"bursts": bursts})]
        overrides += role(control).overrides(space.tested, {"f": "tcp"})
        outcome = run_once(space.source, overrides, seed, quic=False)
        return float(outcome["flows"][0]["goodput_bps"]) / space.rate_bps(space.simplest(), space.bottleneck)

    def _lost(self, trace: list[float]) -> float:
        """What the defect costs, for the best of the seeds."""
        tested = self._search.objective.tested.label
        pairs = [[self._utilisation(c, trace, s) for c in (self._original, tested)] for s in SEEDS]
        return min(original - used for original, used in pairs)


def main(defect: str, original: str) -> None:
    """Find a defect in three ways."""
    one = search(defect, original)
    with Evaluator(one.space, one.objective, one.seeds, None, runner("local", 1, python=False)) as evaluator:
        ways = {"search": explored(one, evaluator)}
        cpu_s = ways["search"].cpu_s
    with Evaluator(one.space, one.objective, one.seeds, None, runner("local", 1, python=False)) as evaluator:
        ways["random"] = at_random(one, evaluator, cpu_s)
    traces = Traces(one, original)
    ways["traces"] = traces.way(cpu_s)
    row: dict[str, Any] = {"defect": defect, "cpu_s": round(cpu_s, 1), "packets": traces.packets}
    row |= {name: way.as_dict() for name, way in ways.items()}
    with tempfile.TemporaryDirectory() as folder:
        one.run(folder, jobs=1)
        if one.failures:
            lines = (Path(folder) / "minimal.toml").read_text(encoding="utf-8").splitlines()
            row["lines"] = len([line for line in lines if not line.startswith("#")])
            row["events"], row["why"] = sum(map(len, one.failures[0].genome.events)), one.failures[0].why
    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
