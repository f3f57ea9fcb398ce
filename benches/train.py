"""The workload of profile-guided optimisation (`make pgo`, `make wheel`), which the core counts while it runs.

The dumbbell of the speed benchmark with 1 to 10,000 flows, the shipped scenarios, and the first point of each study of
the fingerprints; over TCP and QUIC, without a recording and with the window trace; about the same number of events
each. It reads the scenarios of this repository, and prints the number of runs.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ackclock import ScenarioError, _core
from ackclock.base.source import read_source
from ackclock.scenario import Scenario
from ackclock.study.plan import StudyPlan

ROOT = Path(__file__).parents[1]
FOLDERS = ("scenarios", "crates/lab/tests/fingerprints")
DUMBBELLS = ((1, 4.0, 100), (10, 4.0, 100), (100, 4.0, 100), (1_000, 0.4, 1_000), (10_000, 0.4, 1_000))
"""Flows, seconds and Mb/s, which are about 300,000 events each."""
CALLS = 5
"""Calls of `progress` after which a run ends; there is a call after each 65,536 events."""


class Enough(Exception):
    """A run has been counted for long enough."""


def counter() -> Callable[[float], None]:
    """A function that ends the run at its last call."""
    calls = 0

    def progress(_: float) -> None:
        nonlocal calls
        calls += 1
        if calls >= CALLS:
            raise Enough

    return progress


def scenarios() -> list[Scenario]:
    """The scenarios, each over TCP and, where it can, over QUIC."""
    files = [file for folder in FOLDERS for file in sorted((ROOT / folder).glob("*.toml"))]
    tcp = [StudyPlan.read(read_source(file)).scenario(0) for file in files]
    quic = []
    for scenario in tcp:
        try:
            quic.append(scenario.over("quic"))
        except ScenarioError:
            continue
    return tcp + quic


def main() -> None:
    """Run them all."""
    for flows, seconds, mbps in DUMBBELLS:
        _core.bench(flows, seconds, mbps * 1_000_000)
    runs = len(DUMBBELLS)
    for scenario in scenarios():
        for trace in ("off", "changes"):
            with suppress(Enough):
                scenario.run(trace=trace, progress=counter())
            runs += 1
    print(f"{runs} runs")


if __name__ == "__main__":
    main()
