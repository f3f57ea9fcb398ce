"""`ackclock suite`: runs a controller through the situations of a suite, and writes its measures and its page."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from ackclock import ScenarioError
from ackclock.apps import laboratory
from ackclock.apps.suite.check_runs import (
    Assigned,
    Evaluated,
    Kept,
    Setup,
    Situations,
    Task,
    alone,
    bare_record,
    run_all,
    tasks_of,
)
from ackclock.apps.suite.checks import CheckResult, Finding, judge
from ackclock.apps.suite.folder import Suite
from ackclock.apps.suite.measures import SUITE_METRICS, RunData, bases
from ackclock.apps.suite.result import CURVES, Measure, SuiteMetadata, SuiteResult
from ackclock.apps.suite.situation import Situation
from ackclock.base.assignment import Override
from ackclock.base.files import UnmetNeed, check_folder, own_folder, write_text
from ackclock.metrics import Row, numbers
from ackclock.study import Store, Study, sweep
from ackclock.study.executors import Executor
from ackclock.study.plan import ENGINE
from ackclock.study.results import same_outcome
from ackclock.study.sweep import Progress

if TYPE_CHECKING:
    from pathlib import Path

Begin = Callable[[str], Progress | None]


@dataclass
class _Collected:
    """What the runs of a suite have given so far."""

    measures: list[Measure] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    failed: list[tuple[str, str]] = field(default_factory=list)
    deterministic: set[tuple[str, str]] = field(default_factory=set)
    checks: list[CheckResult] = field(default_factory=list)
    curves: dict[str, Any] = field(default_factory=dict)
    runs: int = 0

    def add_measures(self, situation: Situation, rows: Sequence[Row], standard: Sequence[Row]) -> None:
        """Measure the runs of a situation."""
        points = _points(rows)
        self.measures += _measure(situation, points, standard)
        self.deterministic |= {
            (situation.id, point) for point, of_point in points.items() if same_outcome(list(map(numbers, of_point)))
        }


def run(
    suite: Suite,
    control: str,
    out: Path,
    executor: Executor,
    *,
    quick: bool = False,
    page: bool = True,
    progress: Begin | None = None,
    allow_code: bool = False,
    on: str = "tcp",
    overrides: Sequence[Override] = (),
) -> SuiteResult:
    """Run a controller through a suite and write the results to `out`, with a page. Finished runs are kept.

    `on` is the substrate: "tcp", "quic", "stack:FILE", and for suites of checks alone also those in real time.
    `overrides` (`KEY=VALUE`) are assigned in all situations. Only with `allow_code` may the scenarios of the suite name
    controllers in Python. Raises ScenarioError if the controller does not exist, BadInput if `out` cannot be written, a
    scenario names code, or the substrate cannot be used, and UnmetNeed if the controller can be run in no situation.
    """
    check_folder(out)
    setup = Setup(str(suite.folder), Assigned(control, on, tuple(overrides), allow_code))
    situations = Situations(setup, suite)
    collected = _Collected()
    traced = {one.id for one in suite.situations if suite.checks(one).needs_trace or on not in {"tcp", "quic"}}
    planned = _planned(situations, collected, traced, quick=quick)
    kept = Kept(own_folder(out, "studies") / "checks.jsonl", situations)
    for situation, plan in planned:
        begin = progress if progress is not None else lambda _: None
        if isinstance(plan, list):
            _run_traced(situations, setup, situation, plan, executor, kept, begin(situation.id), collected)
        else:
            _run_studies(situations, situation, plan, executor, out, begin, collected)
    if collected.refused and not (collected.measures or collected.checks):
        raise UnmetNeed(f"{control}: {next(iter(collected.refused.values()))}")
    about = SuiteMetadata(
        suite.key, suite.title, control, quick, ENGINE, collected.runs, on, tuple(map(str, overrides)), suite.place
    )
    result = SuiteResult(
        about,
        out,
        collected.measures,
        collected.refused,
        collected.failed,
        collected.deterministic,
        collected.checks,
        collected.curves,
    )
    _write(suite, result, page=page)
    return result


Plan = dict[str, Study] | list[Task]


def _planned(
    situations: Situations, collected: _Collected, traced: set[str], *, quick: bool
) -> list[tuple[Situation, Plan]]:
    """The runs of each situation: studies by the ending of their folders, or tasks. Notes those that cannot be run."""
    suite = situations.suite
    planned: list[tuple[Situation, Plan]] = []
    for situation in suite.situations:
        try:
            if situation.id in traced:
                planned.append((situation, tasks_of(situations, situation, quick=quick)))
                continue
            seeds = situation.quick if quick else situation.seeds
            studies = {"": situations.swept(situation, seeds)}
            if "rivals_kept" in situation.metrics:
                studies["-standard"] = situations.swept(situation, seeds, suite.standard)
            planned.append((situation, studies))
        except ScenarioError as error:
            if not error.unmet_need:
                raise
            collected.refused[situation.id] = error.message
            collected.checks += _unobserved(situation, error.message)
    return planned


def _run_studies(
    situations: Situations,
    situation: Situation,
    studies: Mapping[str, Study],
    executor: Executor,
    out: Path,
    begin: Begin,
    collected: _Collected,
) -> None:
    """Run a situation whose checks, if it has any, need no trace."""
    stored: list[Sequence[Row]] = []
    for name, study in studies.items():
        with Store.create(own_folder(out, "studies", f"{situation.id}{name}")) as store:
            summary = sweep(study, store, executor, progress=begin(f"{situation.id}{name}"), replace=True)
            collected.failed += store.failures()
            collected.runs += summary.runs
            stored.append(store.outcomes().to_dicts())
    standard = stored[1] if len(stored) > 1 else []
    collected.add_measures(situation, stored[0], standard)
    checks = situations.suite.checks(situation).checks
    if not checks:
        return
    beside = {(row["axes"], row["seed"]): row for row in standard}
    found: dict[str, list[tuple[str, Finding]]] = {check.id: [] for check in checks}
    study = studies[""]
    if text := alone(study, 0):
        collected.curves[situation.id] = {"time": [], "series": {}, "stays": [], "scenario": text}
    points = {json.dumps(study.labels(point)): point for point in range(study.points)}
    base = {point: bases(rows) for point, rows in _points(stored[0]).items()}
    for row in stored[0]:
        labels = json.loads(row["axes"])
        label = "; ".join(labels.values())
        scenario = study.scenario(points.get(json.dumps(labels), 0))
        record = bare_record(situation, scenario, row, base.get(label, {}), beside.get((row["axes"], row["seed"])))
        for check in checks:
            found[check.id].append((_where(label, row["seed"]), check.find(record)))
    _judge(situations, situation, found, collected)


def _run_traced(
    situations: Situations,
    setup: Setup,
    situation: Situation,
    tasks: Sequence[Task],
    executor: Executor,
    kept: Kept,
    progress: Progress | None,
    collected: _Collected,
) -> None:
    """Run a situation whose checks need traces."""
    results = run_all(situations, setup, tasks, executor, kept, progress)
    collected.runs += len(results)
    for one in results:
        if one.error:
            where = (situation.id, one.label, f"seed {one.task.seed}")
            collected.failed.append((" ".join(filter(None, where)), one.error.splitlines()[0]))
    refused = [one.refused for one in results if one.refused]
    if refused and len(refused) == len(results):
        collected.refused[situation.id] = refused[0]
        collected.checks += _unobserved(situation, refused[0])
        return
    rows = [_row(one) for one in results if one.outcome is not None]
    if situation.metrics:
        collected.add_measures(situation, rows, [])
    found: dict[str, list[tuple[str, Finding]]] = {check.id: [] for check in situations.suite.checks(situation).checks}
    for one in results:
        for name in found:
            missing = Finding(reason=one.refused)
            if one.error:
                missing = Finding(reason=f"the run failed: {one.error.splitlines()[0]}", failed=True)
            found[name].append((_where(one.label, one.task.seed), one.findings.get(name, missing)))
        if one.curves is not None:
            collected.curves[situation.id] = {**one.curves, "scenario": one.scenario}
    _judge(situations, situation, found, collected)


def _row(done: Evaluated) -> Row:
    """The outcome of a run as a store has it."""
    assert done.outcome is not None
    return {**done.outcome, "axes": json.dumps({"point": done.label} if done.label else {}), "seed": done.task.seed}


def _where(label: str, seed: int) -> str:
    return f"{label}, seed {seed}" if label else f"seed {seed}"


def _judge(
    situations: Situations,
    situation: Situation,
    found: Mapping[str, Sequence[tuple[str, Finding]]],
    collected: _Collected,
) -> None:
    """Add the verdicts of a situation's checks."""
    suite, assigned = situations.suite, situations.assigned
    name = situations.control_name
    for check in suite.checks(situation).checks:
        findings = found[check.id]
        meant = check.check.controllers or suite.controllers
        # A document's own checks are for every controller from outside, those of one controller for that one.
        outside = not check.check.controllers and not situations.is_registered
        if meant and name not in meant and not outside:
            reason = f"a check of {', '.join(meant)}"
            findings = [("", Finding(reason=reason, recorded=False))]
        known = suite.known_failure(situation.id, check.id, assigned.control, assigned.on)
        collected.checks.append(judge(check, situation.id, findings, known))


def _unobserved(situation: Situation, reason: str) -> list[CheckResult]:
    """The verdicts of a situation in which the controller cannot be run."""
    return [
        CheckResult(situation.id, check.id, check.level or situation.level, "not observable", "", "", reason, 0)
        for check in situation.check
    ]


def _points(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows by the labels of their points."""
    points: dict[str, list[Row]] = {}
    for row in rows:
        points.setdefault("; ".join(json.loads(row["axes"]).values()), []).append(row)
    return points


def _measure(situation: Situation, points: Mapping[str, Sequence[Row]], standard: Sequence[Row]) -> list[Measure]:
    beside = {(row["axes"], row["seed"]): row for row in standard}
    measures = []
    for point, rows_of_point in points.items():
        base = bases(rows_of_point)
        for row in rows_of_point:
            view = RunData(situation, row, base, beside.get((row["axes"], row["seed"])))
            for metric in situation.metrics:
                value = SUITE_METRICS[metric].find(view)
                if value is not None:
                    measures.append(
                        Measure(situation.id, point, metric, row["seed"], value * SUITE_METRICS[metric].factor)
                    )
    # Sorted by point, metric and seed.
    order = {metric: i for i, metric in enumerate(situation.metrics)}
    places = {point: i for i, point in enumerate(points)}
    return sorted(measures, key=lambda m: (places[m.point], order[m.metric], m.seed))


def _write(suite: Suite, result: SuiteResult, *, page: bool) -> None:
    text = io.StringIO()
    table = csv.DictWriter(text, list(Measure.__dataclass_fields__), lineterminator="\n")
    table.writeheader()
    table.writerows(asdict(m) for m in result.measures)
    about = result.metadata.as_dict() | {"refused": result.refused, "deterministic": sorted(result.deterministic)}
    about |= {"failed": result.failed}
    if suite.has_checks:
        about |= {"checks": [check.as_dict() for check in result.checks]}
        write_text(result.folder / CURVES, json.dumps(result.curves, separators=(",", ":")) + "\n")
    write_text(result.folder / "measures.csv", text.getvalue())
    write_text(result.folder / "suite.json", json.dumps(about, indent=1) + "\n")
    if page:
        from ackclock.apps.suite.page import render

        if suite.has_checks and laboratory.is_built():
            laboratory.place(result.folder)
        write_text(result.folder / "index.html", render(suite, result))
