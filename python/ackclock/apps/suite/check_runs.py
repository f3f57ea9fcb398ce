"""Runs of situations with checks: each is traced, reduced to the values of its checks at once, and forgotten."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import Scenario, ScenarioError
from ackclock._core import ControllerError, StackFailure
from ackclock.apps.controls import ANY_NETWORK
from ackclock.apps.reach.substrates import Refused, substrate
from ackclock.apps.suite.checks import Bounds, Finding, ParsedCheck, probe_names
from ackclock.apps.suite.folder import Network, Suite
from ackclock.apps.suite.language import Missing, NotRecorded
from ackclock.apps.suite.measures import SUITE_METRICS, RunData
from ackclock.apps.suite.record import SERIES, Record, states_of_numbers, stays_of
from ackclock.apps.suite.situation import Situation
from ackclock.apps.suite.template import pilot_record
from ackclock.base.assignment import Assignment, Override, control_table
from ackclock.base.files import BadInput
from ackclock.base.languages import SANDBOXED, named_in
from ackclock.base.models import models
from ackclock.base.source import Source, read_source
from ackclock.base.toml_text import inline, read_value
from ackclock.base.workers import Stop, Work
from ackclock.metrics import Row
from ackclock.study import Study
from ackclock.study.executors import Executor, Local, Ray
from ackclock.study.plan import VIRTUAL
from ackclock.study.runners import Cluster, Runner, Threads, for_python

if TYPE_CHECKING:
    import polars as pl


MOST_POINTS = 400
"""Points of a curve of the page."""
MOST_CURVES = 3
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
HEADERS = {"tcp": 52, "quic": 65}
"""Bytes of a full packet on the wire besides its payload, by kind of flow, where a run does not say more."""


@dataclass(frozen=True)
class Assigned:
    """What a suite is run with."""

    control: str
    on: str = "tcp"
    overrides: tuple[Override, ...] = ()
    """`KEY=VALUE` for the scenarios of all situations."""
    allow_code: bool = False

    def source(self, suite: Suite, situation: Situation) -> Source:
        """The scenario of a situation."""
        return replace(
            read_source(suite.path(situation)),
            code="anywhere" if self.allow_code else "none",
            libraries=self.allow_code,
        )

    def study(self, source: Source, situation: Situation, network: Network | None = None, seeds: int = 0) -> Study:
        """The study of a situation's scenario, over so many seeds if there are any.

        The parameters that the situation gives to a controller are those of the package's; one from a file may lack
        them. Raises ScenarioError.
        """
        of_network = [] if network is None else network.assignments()
        more = [Assignment(("sweep", "seed"), f"1..{seeds}")] if seeds else []
        entries: list[Assignment | str] = [*of_network, *self.overrides, *more, Assignment(("delays",), True)]
        plain, whole = control_table(self.control), control_table(self.control, situation.parameters)
        on = "quic" if self.on == "quic" else "tcp"
        table = whole if plain == whole or _accepts(inline(whole)) else plain
        return Study.read(source, [self._tested(situation, table), *entries], on=on)

    def _tested(self, situation: Situation, table: dict[str, Any]) -> Assignment:
        return Assignment(
            (situation.transport, "congestion_control"), table, f"--control {self.control}", of_text=False
        )


@cache
def _accepts(text: str) -> bool:
    """Whether a controller, a table of TOML, has all of its parameters. Modules are asked; other code does not run."""
    table = read_value(text)
    code = named_in(table)
    if code is None or code[0] not in SANDBOXED:
        return True
    tested = Assignment(("tcp", "congestion_control"), table, "the controller", of_text=False)
    try:
        Scenario.read(Source("scenario", ANY_NETWORK), [tested]).run(until_s=0.001)
    except ScenarioError as error:
        return "has no parameter" not in str(error)
    return True


@dataclass(frozen=True)
class Task:
    """One run of a situation."""

    situation: str
    network: str
    """Name of a network of the suite; empty: that of the scenario."""
    point: int
    seed: int
    curves: bool
    """Whether the page draws its curves."""


@dataclass
class Evaluated:
    """A run, reduced."""

    task: Task
    label: str
    """Network and point, in words."""
    findings: dict[str, Finding] = field(default_factory=dict)
    outcome: Row | None = None
    curves: dict[str, Any] | None = None
    """Series that the checks read, thinned, and the stays in states."""
    scenario: str = ""
    """The scenario of the run as TOML, of a run whose curves are drawn."""
    error: str = ""
    refused: str = ""
    """Why the controller cannot be run in it."""


@dataclass(frozen=True)
class Setup:
    """What another process needs."""

    folder: str
    assigned: Assigned


class Situations:
    """The situations of a suite, prepared to be run."""

    def __init__(self, setup: Setup, suite: Suite | None = None) -> None:
        self.suite = suite or Suite(Path(setup.folder))
        self.assigned = setup.assigned
        self._by_id = {situation.id: situation for situation in self.suite.situations}
        self._networks = {network.name: network for network in self.suite.networks}
        self._studies: dict[tuple[str, str], Study] = {}

    def situation(self, task: Task) -> Situation:
        """The situation of a task."""
        return self._by_id[task.situation]

    def study(self, task: Task) -> Study:
        """The study of the first run of a task."""
        key = (task.situation, task.network)
        if key not in self._studies:
            self._studies[key] = self._read(task, lambda source: source.with_text(self._bare(self.situation(task))))
        return self._studies[key]

    def filled(self, task: Task, record: Record) -> Study:
        """The study with the times of a first run. Raises Missing."""
        text = self.suite.checks(self.situation(task)).template.filled(record).text
        return self._read(task, lambda source: source.with_text(text))

    def swept(self, situation: Situation, seeds: int, control: str | None = None) -> Study:
        """The study of a situation without pilot times over so many seeds, with another controller if one is named."""
        assigned = self.assigned if control is None else replace(self.assigned, control=control)
        source = assigned.source(self.suite, situation).with_text(self._bare(situation))
        return assigned.study(source, situation, seeds=seeds)

    @property
    def control_name(self) -> str:
        """The name of the tested controller, for `controllers` of checks and for known failures."""
        table = control_table(self.assigned.control)
        return str(table.get("kind") or self.assigned.control)

    @property
    def is_registered(self) -> bool:
        """Whether the tested controller is the package's own, on a substrate that runs it."""
        return "kind" in control_table(self.assigned.control) and not self.assigned.on.startswith("stack:")

    def _bare(self, situation: Situation) -> str:
        """The text of the first run of a situation."""
        template = self.suite.checks(situation).template
        return (template.constant() if template.is_constant else template.without()).text

    def _read(self, task: Task, changed: Callable[[Source], Source]) -> Study:
        situation = self.situation(task)
        source = changed(self.assigned.source(self.suite, situation))
        return self.assigned.study(source, situation, self._networks.get(task.network))


def prepare(setup: Setup) -> Situations:
    """The situations of a suite, in any process."""
    return Situations(setup)


def run_tasks(state: Situations, tasks: Sequence[Task], stop: Stop | None) -> list[Evaluated]:
    """Run tasks one after the other."""
    return [_run(state, task, stop) for task in tasks]


def failed(task: Task, error: str) -> Evaluated:
    """A task that has failed."""
    return Evaluated(task, "", error=error)


def _run(state: Situations, task: Task, stop: Stop | None) -> Evaluated:
    label = task.network
    try:
        study = state.study(task)
        if reason := dict(study.refused).get(task.point):
            return Evaluated(task, label, refused=reason)
        label = "; ".join([*([task.network] if task.network else []), *study.labels(task.point).values()])
        return _evaluated(state, task, label, study, stop)
    except ScenarioError as error:
        if error.unmet_need:
            return Evaluated(task, label, refused=error.message)
        raise
    except Refused as error:
        return Evaluated(task, label, refused=str(error))
    except ControllerError as error:
        return Evaluated(task, label, error=f"{error}\n{error.traceback.rstrip()}")
    except (StackFailure, RuntimeError, MemoryError) as error:
        return Evaluated(task, label, error=str(error))


def _evaluated(state: Situations, task: Task, label: str, study: Study, stop: Stop | None) -> Evaluated:
    situation = state.situation(task)
    checks = state.suite.checks(situation)
    record = _record(state, situation, study.scenario(task.point), task.seed, stop)
    if not checks.template.is_constant:
        try:
            pilot_record(record, checks.pilot)
            study = state.filled(task, record)
        except Missing as error:
            findings = {check.id: Finding(reason=str(error)) for check in checks.checks}
            return Evaluated(task, label, findings, dict(record.row))
        except NotRecorded as error:
            findings = {check.id: Finding(reason=str(error), recorded=False) for check in checks.checks}
            return Evaluated(task, label, findings, dict(record.row))
        except ScenarioError as error:  # a time beyond the end, a number that no link can have
            if error.unmet_need:
                raise
            findings = {
                check.id: Finding(reason=f"the times of the first run do not fit: {error.message}")
                for check in checks.checks
            }
            return Evaluated(task, label, findings, dict(record.row))
        times = {name: value for name, value in record.numbers.items() if name in checks.pilot}
        record = _record(state, situation, study.scenario(task.point), task.seed, stop)
        record.numbers = {**record.numbers, **times}
    elif checks.pilot:
        pilot_record(record, checks.pilot)
    findings = {check.id: check.find(record) for check in checks.checks}
    done = Evaluated(task, label, findings, dict(record.row))
    if task.curves:
        done.curves = _curves(record, checks.checks)
        done.scenario = alone(study, task.point)
    return done


def alone(study: Study, point: int) -> str:
    """The scenario of a point as text; empty if it names code, which a link does not hold, or on another substrate."""
    if study.on != "tcp":
        return ""
    try:
        return study.standalone(point).text
    except (BadInput, ScenarioError):
        return ""


def _record(state: Situations, situation: Situation, scenario: Scenario, seed: int, stop: Stop | None) -> Record:
    """Run a scenario, and what is known of the run."""
    on = state.assigned.on
    trace: pl.DataFrame | None
    transitions: list[tuple[float, str, str, str]] | None = None
    if on in {"tcp", "quic"}:
        result = scenario.run(seed=seed, trace="ack", progress=stop)
        outcome, trace = result.outcome, result.trace
        flows = dict(zip(result.members["flows"], result.members["segment_bytes"], strict=True))
    else:
        finished = substrate(on).run(scenario, seed, stop)
        outcome, trace, flows = finished.outcome, finished.trace, {}
    row: Row = outcome
    flow = _tested(situation, scenario, row)
    names = {entry["name"]: entry["states"] for entry in models("controllers")}
    own = names.get(flow["control"], []) if state.is_registered else []
    if trace is not None and "flow" in trace.columns:
        trace = trace.filter(trace["flow"] == flow["name"])
    if on in {"tcp", "quic"} and own:
        mine = result.states.filter(result.states["flow"] == flow["name"])
        transitions = [(time, before, after, why) for time, _, before, after, why in mine.rows()]
    states = None
    if transitions is not None and set(state.suite.states) <= set(own):
        states = stays_of(transitions, own[0], 0.0)
    elif trace is not None and not own and state.suite.states and "state" in trace.columns:
        numbers = trace["state"].cast(float).to_numpy()
        states = states_of_numbers(trace["time_s"].to_numpy(), numbers, state.suite.states)
    link = next((one for one in outcome["links"] if one["name"] == _bottleneck(situation, scenario, flow)), None)
    data = RunData(replace(situation, bottleneck=link["name"] if link else ""), row, {}, None)
    return Record(
        trace,
        states,
        _numbers(scenario, flow, link, flows.get(flow["name"])),
        flow,
        link,
        _metric_of(data),
        row,
        probe_names(),
    )


def bare_record(
    situation: Situation, scenario: Scenario, row: Row, base: Mapping[str, float], standard: Row | None
) -> Record:
    """What is known of a run without a trace."""
    flow = _tested(situation, scenario, row)
    link = next((one for one in row["links"] if one["name"] == _bottleneck(situation, scenario, flow)), None)
    data = RunData(replace(situation, bottleneck=link["name"] if link else ""), row, base, standard)
    return Record(None, None, _numbers(scenario, flow, link, None), flow, link, _metric_of(data), row)


def _tested(situation: Situation, scenario: Scenario, row: Row) -> Mapping[str, Any]:
    """The first tested flow of an outcome. Raises BadInput if there is none."""
    for flow in row["flows"]:
        if flow["name"].startswith(situation.tested):
            tested: Mapping[str, Any] = flow
            return tested
    raise BadInput(f"{scenario.file}: no flow has a name that begins with {situation.tested}; `tested` names another")


def _metric_of(data: RunData) -> Callable[[str], float | None]:
    def metric(name: str) -> float | None:
        found = SUITE_METRICS[name].find(data)
        return None if found is None else found * SUITE_METRICS[name].factor

    return metric


def _bottleneck(situation: Situation, scenario: Scenario, flow: Mapping[str, Any]) -> str:
    """The link that the suite names, or the slowest one of the tested flow's path."""
    if situation.bottleneck:
        return situation.bottleneck
    resolved = scenario.resolved
    path = next(one["path"] for one in resolved["flows"] if one["name"] == flow["name"])
    links = [resolved["links"][number] for number in path]
    slowest = min(links, key=lambda one: one["rate_bps"] or float("inf"), default=None)
    return slowest["name"] if slowest else ""


def _numbers(
    scenario: Scenario, flow: Mapping[str, Any], link: Mapping[str, Any] | None, segment: int | None
) -> dict[str, float]:
    """The values of the scenario that the language has."""
    resolved = scenario.resolved
    about = next(one for one in resolved["flows"] if one["name"] == flow["name"])
    packet = about["packet_bytes"] or 1500
    mss = segment or packet - HEADERS.get(about["kind"], 0)
    rtt = about["base_rtt_s"] or float("nan")
    name = link["name"] if link else ""
    wire = next((one["rate_bps"] for one in resolved["links"] if one["name"] == name), None) or float("nan")
    rate = wire * mss / packet
    return {
        "rate": rate,
        "rtt0": rtt,
        "mss": mss,
        "bdp": rate * rtt / (8 * mss),
        "duration": scenario.duration_s,
        "inf": float("inf"),
    }


def _curves(record: Record, checks: Sequence[ParsedCheck]) -> dict[str, Any] | None:
    """The series that the checks read most, thinned, and the stays in states, for the page."""
    if record.trace is None or record.trace.is_empty():
        return None
    counts: dict[str, int] = {}
    for check in checks:
        for name in check.value.names & {*SERIES, *record.probes} - record.numbers.keys():
            counts[name] = counts.get(name, 0) + 1
    chosen = sorted(counts, key=lambda name: -counts[name])[:MOST_CURVES] or ["cwnd"]
    drawn: dict[str, Any] = {}
    step = max(1, len(record.time) // MOST_POINTS)
    rows = list(range(0, len(record.time), step))
    for name in chosen:
        try:
            values = record.value(name)
        except (Missing, NotRecorded):
            continue
        if values.dtype.kind == "f" and name != "time":
            drawn[name] = [
                None if value != value or abs(value) == float("inf") else float(f"{value:.5g}")
                for value in values[rows]
            ]
    stays = [
        [name, float(f"{stay.begin:.6g}"), None if stay.end == float("inf") else float(f"{stay.end:.6g}")]
        for name, of_state in (record.states or {}).items()
        for stay in of_state
    ]
    return {
        "time": [float(f"{value:.6g}") for value in record.time[rows]],
        "series": drawn,
        "stays": sorted(stays, key=lambda one: one[1]),
    }


# ---- all runs of a suite ------------------------------------------------------------------------------------------


def tasks_of(situations: Situations, situation: Situation, *, quick: bool) -> list[Task]:
    """The runs of a situation. Raises ScenarioError, of which some have `unmet_need`."""
    seeds = situation.quick if quick else situation.seeds
    networks = [""] + (
        [] if quick or not situation.networks else [network.name for network in situations.suite.networks]
    )
    tasks = []
    for network in networks:
        study = situations.study(Task(situation.id, network, 0, 1, False))
        for point in range(study.points):
            first = not network and point == 0
            tasks += [Task(situation.id, network, point, seed, first and seed == 1) for seed in range(1, seeds + 1)]
    return tasks


class Kept:
    """The file of finished runs in the folder of a suite's result, one line of JSON for each."""

    def __init__(self, file: Path, situations: Situations) -> None:
        self._file, self._situations = file, situations
        self._lines: dict[str, Evaluated] = {}
        if file.is_file():
            for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
                try:
                    document = json.loads(line)
                    key = str(document.pop("key"))
                    self._lines[key] = _read(document)
                except (ValueError, TypeError, KeyError):  # the last line of an interrupted run
                    continue

    def key(self, task: Task) -> str:
        """What decides the result of a run: its scenario, controller, seed and engine, and the checks."""
        study = self._situations.study(task)
        situation = self._situations.situation(task)
        parts = [
            study.core.run_ids(task.point, [task.seed])[0],
            self._situations.suite.path(situation).read_text(encoding="utf-8"),
            repr(situation),
            repr(self._situations.suite.states),
            self._situations.assigned.on,
            repr(task.curves),
        ]
        return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()

    def find(self, task: Task) -> Evaluated | None:
        """A finished run; none of a stack or in real time, whose program may be another one."""
        if self._situations.assigned.on not in VIRTUAL:
            return None
        return self._lines.get(self.key(task))

    def add(self, done: Evaluated) -> None:
        """Keep a finished run; those that failed are run again."""
        if not done.error and self._situations.assigned.on in VIRTUAL:
            self._append(json.dumps({"key": self.key(done.task), **asdict(done)}) + "\n")

    def _append(self, line: str) -> None:
        try:
            file = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | NO_LINK, 0o666)
        except OSError as error:
            raise BadInput(f"{self._file}: cannot be written: {error.strerror}") from None
        with open(file, "w", encoding="utf-8") as opened:
            opened.write(line)


def _read(document: dict[str, Any]) -> Evaluated:
    findings = {
        name: Finding(**{**one, "bounds": Bounds(**one["bounds"])}) for name, one in document.pop("findings").items()
    }
    return Evaluated(**{**document, "task": Task(**document["task"]), "findings": findings})


def run_all(
    situations: Situations,
    setup: Setup,
    tasks: Sequence[Task],
    executor: Executor,
    kept: Kept,
    progress: Callable[[int, int], object] | None,
) -> list[Evaluated]:
    """Run tasks, or take them from those that are kept; the results are in the order of the tasks."""
    results: dict[Task, Evaluated] = {}
    for task in tasks:
        if (before := kept.find(task)) is not None:
            results[task] = before
    missing = [task for task in tasks if task not in results]
    if progress is not None:
        progress(len(results), len(tasks))
    if missing:
        work: Work[Task, Evaluated] = Work(run_tasks, failed, setup, prepare)
        python = any(situations.study(task).core.needs_processes for task in missing)
        for done in _finished(work, executor, missing, python=python):
            kept.add(done)
            results[done.task] = done
            if progress is not None:
                progress(len(results), len(tasks))
    return [results[task] for task in tasks]


def _finished(
    work: Work[Task, Evaluated], executor: Executor, tasks: Sequence[Task], *, python: bool
) -> Iterator[Evaluated]:
    runner: Runner[Task, Evaluated]
    if isinstance(executor, Ray):
        runner = Cluster(work, executor.jobs, executor.time_limit_s)
    elif not isinstance(executor, Local):
        raise BadInput("a suite with checks runs on this machine or on a Ray cluster")
    elif python:
        runner = for_python(work, executor.jobs, len(tasks), executor.time_limit_s, executor.memory)
    else:
        runner = Threads(work, executor.jobs)
    with closing(runner):
        for batch in runner.run(tasks):
            yield from (done for _, done in batch)
