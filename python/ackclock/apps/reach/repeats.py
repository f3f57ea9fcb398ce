"""Runs of programs behind networks, several times: their values, and what they print."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from tempfile import NamedTemporaryFile, TemporaryFile
from typing import TYPE_CHECKING, BinaryIO

from ackclock.apps.reach import crossing, gates, pairs
from ackclock.apps.reach.emulation import Emulated, Programs, Recording, Surroundings, emulate, failure
from ackclock.apps.reach.pairs import LETTERS, Attempt, Job, NetworkRuns, ProgramFailed

if TYPE_CHECKING:
    from ackclock.scenario import Scenario

VALUES = "ACKCLOCK_VALUES"
"""The variable with the name of the file into which programs write values."""
TAIL = 20
"""Lines of the output of a program that failed."""
MOST_OUTPUT = 20_000
"""Bytes of that output that are read."""
Begin = Callable[[str], Callable[[int, int], None] | None]
"""Begins a network; returns a function of the runs that have ended and of all."""


@dataclass(frozen=True)
class Task:
    """What is to be run."""

    scenarios: Sequence[Scenario]
    names: Sequence[str]
    """A name for each of them."""
    sides: Sequence[Programs]
    """The programs A and B, or A alone."""
    repeats: int
    gates: Sequence[gates.Gate] = ()
    seed: int | None = None
    """Of the first repeat, by default that of the scenario; each further one has the next seed."""
    limit_s: float | None = None


@dataclass
class Results:
    """What was run; not all of it if a program has failed, or if it was interrupted."""

    task: Task
    networks: list[NetworkRuns] = field(default_factory=list)
    failed: ProgramFailed | None = None
    interrupted: bool = False
    seconds: float = 0.0

    @property
    def complete(self) -> bool:
        """Whether every run was made."""
        return self.failed is None and not self.interrupted

    @property
    def invalid(self) -> list[NetworkRuns]:
        """The networks with too few valid runs, or pairs of them: an interval needs two."""
        least = min(2, self.task.repeats)
        pairs = len(self.task.sides) == 2
        return [network for network in self.networks if (network.complete if pairs else network.valid(0)) < least]

    def judged(self) -> list[gates.Judged]:
        """The verdicts of all gates in all networks."""
        tests = [
            gates.Test(gate, network.network, *network.pairs(gate.name))
            for network in self.networks
            for gate in self.task.gates
        ]
        return gates.judge(tests)


def run(task: Task, begin: Begin, attempt: Callable[[Task, Scenario, Job], Attempt] | None = None) -> Results:
    """Make all runs of a task; `attempt` makes one (by default an emulation). Raises BadInput for an unknown gate."""
    results, began = Results(task), time.monotonic()
    make = attempt or emulated_once
    try:
        for scenario, name in zip(task.scenarios, task.names, strict=True):
            network = NetworkRuns(name)
            results.networks.append(network)
            seed = scenario.seed if task.seed is None else task.seed
            jobs = list(pairs.jobs(len(task.sides), task.repeats, seed))
            advance = begin(name)
            for number, job in enumerate(jobs):
                if advance is not None:
                    advance(number, len(jobs))
                network.trials.append(pairs.run(job, partial(make, task, scenario)))
                network.check(task.gates, len(task.sides))
    except ProgramFailed as error:
        results.failed = error
    except KeyboardInterrupt:
        results.interrupted = True
    results.seconds = time.monotonic() - began
    return results


def emulated_once(task: Task, scenario: Scenario, job: Job) -> Attempt:
    """One emulation, and its values. Raises ProgramFailed."""
    with TemporaryFile() as output, NamedTemporaryFile(prefix="ackclock-values-") as values:
        try:
            emulated = emulate(
                scenario,
                task.sides[job.side],
                Surroundings({**os.environ, VALUES: values.name}, output.fileno()),
                Recording("all"),
                warn=lambda _: None,
                seed=job.seed,
                limit_s=task.limit_s,
            )
            return _values(emulated, values.name)
        except ProgramFailed as error:
            raise ProgramFailed(f"{LETTERS[job.side]}, repeat {job.repeat + 1}: {error}", _tail(output)) from None


def _values(emulated: Emulated, file: str) -> Attempt:
    """The values of an emulation, also those that the programs have written into a file. Raises ProgramFailed."""
    report = emulated.report
    if reason := failure(report):
        raise ProgramFailed(reason)
    if not report["validity"]["valid"]:
        return Attempt({}, report["validity"]["reasons"])
    if not any(end["received_packets"] for end in report["ends"]):
        raise ProgramFailed("no packet crossed the network: there was nothing to measure")
    with open(file, encoding="utf-8", errors="replace") as written:
        return Attempt(network_values(emulated) | printed_values(written.read()))


def _tail(output: BinaryIO) -> str:
    """The last lines of what programs have printed."""
    output.seek(max(0, output.seek(0, os.SEEK_END) - MOST_OUTPUT))
    lines = output.read().decode("utf-8", errors="replace").rstrip().splitlines()
    return "\n".join(lines[-TAIL:])


def network_values(emulated: Emulated) -> dict[str, float]:
    """The values of one emulation whose packet events were recorded, in SI units; queues in packets.

    `elapsed` is the time of the program; of each direction `goodput`, `bytes`, `loss` and quantiles of the time that a
    packet is in the network; of each link quantiles of the same and of the queue.
    """
    report = emulated.report
    values: dict[str, float | None] = {"elapsed": report["program_s"]}
    crossed = crossing.Crossing.of(emulated)
    span = report["measured_s"]
    for direction, end in zip(crossed.directions, reversed(report["ends"]), strict=True):
        name = direction.name
        values[f"goodput_{name}"] = end["received_payload_bytes"] * 8 / span if span > 0 else None
        values[f"bytes_{name}"] = end["received_bytes"]
        values[f"loss_{name}"] = direction.loss
        for part, value in crossing.quantiles(direction.delays_s).items():
            values[f"{part}_delay_{name}"] = value
    for link in crossed.links:
        mean, quantiles = crossing.held(crossed.queue(link), crossed.end_s)
        values[f"mean_queue[{link}]"] = mean
        for part, value in quantiles.items():
            values[f"{part}_queue[{link}]"] = value
        for part, value in crossing.quantiles(crossed.delays(link).values).items():
            values[f"{part}_delay[{link}]"] = value
    return {name: float(value) for name, value in values.items() if value is not None}


def printed_values(text: str) -> dict[str, float]:
    """The values that programs have written as lines NAME=NUMBER. The last line of a name counts.

    Raises ProgramFailed for another line.
    """
    values = {}
    for line in text.splitlines():
        name, equals, number = (part.strip() for part in line.partition("="))
        if not name and not equals:
            continue
        try:
            values[name] = float(number)
        except ValueError:
            values[name] = float("nan")
        if not (name and equals) or not abs(values[name]) < float("inf"):
            raise ProgramFailed(f"{VALUES}: the line {line.strip()[:60]!r} must be NAME=NUMBER, such as ttfb_s=0.12")
    return values
