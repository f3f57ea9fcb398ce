"""Runs networks of a space: threads, processes for controllers in Python, or a Ray cluster; finished runs are kept."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock import ControllerError, ScenarioError
from ackclock.apps.conform.substrate import StackSubstrate
from ackclock.apps.reach.substrates import Refused
from ackclock.apps.search.objective import NEEDS_RATE, Objective, Role, measure
from ackclock.apps.search.space import Genome, Space
from ackclock.base.assignment import Assignment, Override, last_name
from ackclock.base.languages import SANDBOXED, parted
from ackclock.base.operating_system import cores
from ackclock.base.source import Source
from ackclock.base.workers import TIME_LIMIT_S, Stop, Work
from ackclock.scenario import Scenario
from ackclock.study.plan import ENGINE
from ackclock.study.runners import Cluster, Processes, Runner, Threads, results_of
from ackclock.study.store import Finished, Store


@dataclass(frozen=True)
class Task:
    """One run and the metric that is taken from it."""

    source: Source
    overrides: tuple[Override, ...]
    seed: int
    quic: bool
    stack: str
    metric: str
    tested: tuple[str, ...]
    link: str
    rate_bps: float
    code: str
    """A hash of the controllers in Python and of the policy files."""

    @property
    def identity(self) -> str:
        """A hash of all that determines the result."""
        parts = [
            self.source.file,
            self.source.text,
            *map(str, self.overrides),
            str(self.seed),
            str(self.quic),
            self.stack,
            self.metric,
        ]
        parts += [*self.tested, self.link, str(self.rate_bps), ENGINE, self.code]
        return hashlib.blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()


def _code(space: Space, roles: Sequence[Role]) -> str:
    """A hash of the policy files, of the files of other controllers, and of all modules beside those in Python."""
    documents = [space.base, *({key: value} for role in roles for key, value in role.set_)]
    named = {value.rpartition(":")[0] for key, value in _texts(documents) if key == "python"}
    others = sorted({parted(value, key)[0] for key, value in _texts(documents) if key in {"library", *SANDBOXED}})
    files = {Path(value) for key, value in _texts(documents) if key == "file"}
    policies = sorted({file.resolve() for file in files if file.suffix == ".policy"})
    folders = {Path(path).resolve().parent for path in named}
    parts = [file.read_bytes() for folder in sorted(folders) for file in sorted(folder.glob("*.py"))]
    parts += [path.read_bytes() for path in (*policies, *map(Path, others)) if path.is_file()]
    return hashlib.blake2b(b"\0".join(parts), digest_size=16).hexdigest() if parts else ""


def _texts(item: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """The texts of a document, also of those in lists and tables, each with the last name of its key."""
    if isinstance(item, str):
        yield last_name(key), item
    for name, inner in item.items() if isinstance(item, Mapping) else ():
        yield from _texts(inner, name)
    for inner in item if isinstance(item, list) else ():
        yield from _texts(inner, key)


@dataclass(frozen=True)
class Measured:
    """The metric of a run; None if it does not apply or if the network cannot be run."""

    value: float | None
    error: str = ""
    """The exception of a controller, or of the simulator: a failure of its own."""
    cpu_s: float = 0.0
    refused: str = ""
    """Why the network cannot be run."""


stack_substrate = functools.cache(StackSubstrate.of)
"""The stack of a name; its file is read once."""


def run_once(
    source: Source, overrides: Sequence[Override], seed: int, *, quic: bool, stack: str = "", tested: Sequence[str] = ()
) -> dict[str, Any]:
    """The outcome of a run over TCP or QUIC, or with a stack at both ends of the tested flows."""
    scenario = Scenario.read(source, list(overrides))
    if stack:
        return stack_substrate(stack).run(scenario, seed, tested=tested).outcome
    return (scenario.over("quic") if quic else scenario).run(seed=seed).outcome


def run_task(task: Task) -> Measured:
    """Run one task."""
    try:
        outcome = run_once(task.source, task.overrides, task.seed, quic=task.quic, stack=task.stack, tested=task.tested)
    except Refused as error:
        return Measured(None, refused=str(error))
    except ControllerError as error:
        cause = error.__cause__
        return Measured(None, _line(f"{type(cause).__name__}: {cause}" if cause else str(error)))
    except ScenarioError as error:
        return Measured(None, refused=str(error))
    except RuntimeError as error:
        return Measured(None, _line(str(error)))
    value = measure(outcome, task.metric, task.tested, task.link, task.rate_bps)
    return Measured(value, "", outcome["engine"]["cpu_s"])


def _line(text: str) -> str:
    """A message on one line without addresses, which differ from run to run."""
    return re.sub(r"0x[0-9a-f]+", "0x", " ".join("".join(c if c.isprintable() else " " for c in text).split()))


def run_tasks(_state: None, tasks: Sequence[Task], _stop: Stop | None) -> list[Measured]:
    """Run tasks one after the other."""
    return [run_task(task) for task in tasks]


def failed(_task: Task, error: str) -> Measured:
    """The result of a task whose controller ended its process."""
    return Measured(None, error)


WORK = Work(run_tasks, failed)


def runner(engine: str, jobs: int | None, time_limit_s: float | None = None, *, python: bool) -> Runner[Task, Measured]:
    """The runner of an engine, "local" or "ray"."""
    if engine == "ray":
        return Cluster(WORK, jobs, time_limit_s)
    count = jobs or cores()
    limit_s = TIME_LIMIT_S if time_limit_s is None else time_limit_s
    return Processes(WORK, count, limit_s) if python else Threads(WORK, count)


@dataclass(frozen=True)
class Value:
    """The objective of a network over some seeds: the one that is least of a failure."""

    objective: float | None
    fitness: float
    """Smaller is worse for the controller; at most 0 is a failure. Infinite if the network cannot be run."""
    fails: bool
    roles: tuple[float | None, ...] = ()
    """The metric of each role with that seed."""
    error: str = ""
    refused: str = ""
    """Why the network cannot be run."""


class Evaluator(AbstractContextManager["Evaluator"]):
    """Evaluates networks of a space. What was run once, also by an earlier process in the folder, is not run again."""

    def __init__(
        self,
        space: Space,
        objective: Objective,
        seeds: Sequence[int],
        store: Store | None = None,
        runs: Runner[Task, Measured] | None = None,
    ) -> None:
        """Without a store nothing is kept; without a runner nothing can be run, which suffices to check a space."""
        self.space, self.objective, self.seeds = space, objective, list(seeds)
        self._store, self._runner = store, runs
        texts = store.texts() if store is not None else {}
        self._kept = {key: Measured(**json.loads(text)) for key, text in texts.items()}
        self._code = _code(space, objective.roles)
        self.explained: dict[tuple[Genome, Value], Any] = {}
        """The signatures of networks, which `diagnose.signature` keeps."""
        self.runs, self.cpu_s = 0, 0.0
        """Runs that were asked for, and the CPU seconds of all of them, also of those that an earlier process made."""
        self._asked: set[str] = set()
        resolved = space.scenario(space.simplest()).resolved
        self.link = next((one["name"] for one in resolved["links"] if one["given"] == space.bottleneck), "")
        self._transports = {flow["name"]: flow["kind"] for flow in resolved["flows"]}

    def __exit__(self, *_: object) -> None:
        if self._runner is not None:
            self._runner.close()

    def role_overrides(self, genome: Genome, role: Role) -> tuple[Assignment, ...]:
        """The assignments of a role, without those of the network."""
        delays = (
            (Assignment(("delays",), True),)
            if self.objective.metric.startswith(("p95", "queueing_p95", "p50", "p99"))
            else ()
        )
        return (*delays, *role.overrides(self.space.flows_of(genome), self._transports))

    def overrides(self, genome: Genome, role: Role) -> tuple[Assignment, ...]:
        """The assignments of a role in a network."""
        return (*self.space.overrides(genome), *self.role_overrides(genome, role))

    def scenario(self, genome: Genome, role: Role) -> Scenario:
        """The scenario of a role in a network."""
        scenario = Scenario.read(self.space.source_of(genome), self.overrides(genome, role))
        return scenario.over("quic") if role.quic else scenario

    def rate_bps(self, genome: Genome) -> float:
        """The rate of the bottleneck, for a metric that needs it."""
        return self.space.rate_bps(genome, self.space.bottleneck) if self.objective.metric in NEEDS_RATE else 0.0

    def _tasks(self, genome: Genome, roles: Sequence[Role], seeds: Sequence[int]) -> Iterator[Task]:
        """The runs of a network: all roles with the first seed, then with the next one."""
        source, network = self.space.source_of(genome), self.space.overrides(genome)
        flows, rate_bps = tuple(self.space.flows_of(genome)), self.rate_bps(genome)
        assigned = [(role, (*network, *self.role_overrides(genome, role))) for role in roles]
        for seed in seeds:
            for role, overrides in assigned:
                metric = self.objective.metric
                yield Task(
                    source, overrides, seed, role.quic, role.stack, metric, flows, self.link, rate_bps, self._code
                )

    def measure(self, tasks: Sequence[Task]) -> list[Measured]:
        """The results of tasks; those that are not kept are run, and then kept."""
        keys = [task.identity for task in tasks]
        new = {key: task for key, task in zip(keys, tasks, strict=True) if key not in self._kept}
        if new:
            assert self._runner is not None
            results = dict(zip(new, results_of(self._runner, list(new.values())), strict=True))
            self._kept |= results
            if self._store is not None:
                self._store.add([Finished(key, json.dumps(vars(one))) for key, one in results.items()])
        for key in keys:
            if key not in self._asked:
                self._asked.add(key)
                self.runs += 1
                self.cpu_s += self._kept[key].cpu_s
        return [self._kept[key] for key in keys]

    def values(
        self,
        genomes: Sequence[Genome],
        *,
        seeds: Iterable[int] | None = None,
        roles: Sequence[Role] | None = None,
    ) -> list[Value]:
        """The objective of each network, by default with the first seed."""
        wanted = list(self.seeds[:1] if seeds is None else seeds)
        every = list(roles or self.objective.roles)
        tasks = [task for genome in genomes for task in self._tasks(genome, every, wanted)]
        results = iter(self.measure(tasks))
        values = []
        for _ in genomes:
            each = [self._value([next(results) for _ in every]) for _ in wanted]
            values.append(max(each, key=lambda one: (not one.fails, one.fitness)))
        return values

    def _value(self, measured: Sequence[Measured]) -> Value:
        error = measured[0].error
        refused = next((one.refused for one in measured if one.refused), "")
        numbers = tuple(one.value for one in measured)
        if error:
            return Value(None, -1e9, True, numbers, error)
        value = self.objective.value(numbers)
        return Value(value, self.objective.fitness(value), self.objective.fails(value), numbers, "", refused)

    def confirmed(self, genomes: Sequence[Genome]) -> list[Value]:
        """The same over all seeds; the other seeds are run only for those that fail with the first one."""
        first = self.values(genomes)
        failing = [genome for genome, one in zip(genomes, first, strict=True) if one.fails]
        if len(self.seeds) > 1 and failing:
            all_of = iter(self.values(failing, seeds=self.seeds))
            return [next(all_of) if one.fails else one for one in first]
        return first


def uses_python(space: Space, roles: Sequence[Role]) -> bool:
    """Whether a controller in Python runs."""
    named = any("python" in value for role in roles for _, value in role.set_)
    return named or '"python"' in json.dumps(space.base)
