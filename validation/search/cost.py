"""What a search costs outside the engine, and how many networks it evaluates in a second.

python validation/search/cost.py [NETWORKS]    half a minute on two cores
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import cma  # noqa: F401  # the explorers import both at their first round
import scipy.stats.qmc  # noqa: F401

from ackclock.search import Search
from ackclock.search.evaluate import Evaluator, runner
from ackclock.study.store import Store

SEARCHES = (("@scar", "reno"), ("@scar", "ca_artt"), ("@shrew", "reno"))


def explore(space: str, control: str, networks: int, jobs: int) -> tuple[int, float, float, float]:
    """Explore a space, with its store. Returns the runs, their CPU seconds, those of the process and its wall time."""
    search = Search.load(space, control=control, budget=networks)
    with tempfile.TemporaryDirectory() as folder, Store.create(Path(folder)) as store:
        runs = runner("local", jobs, python=False)
        with Evaluator(search.space, search.objective, search.seeds, store, runs) as evaluator:
            began, cpu_began = time.perf_counter(), time.process_time()
            search._explore(evaluator, None)
            cpu, wall = time.process_time() - cpu_began, time.perf_counter() - began
            return evaluator.runs, evaluator.cpu_s, cpu, wall


def main(networks: int) -> None:
    """Print a row for each search."""
    print("| space and controller | CPU ms of a run | outside the engine | runs a second, two threads |")
    print("|---|---|---|---|")
    for space, control in SEARCHES:
        runs, engine, cpu, _ = explore(space, control, networks, 1)
        both, _, _, wall = explore(space, control, networks, 2)
        share = 1 - engine / cpu
        print(f"| `{space}`, `{control}` | {1e3 * cpu / runs:.1f} | {share:.1%} | {both / wall:.0f} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 960)
