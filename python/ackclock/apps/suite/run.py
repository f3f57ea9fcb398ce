"""`ackclock suite`: runs a controller through the situations of a suite, and writes its measures and its page."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from ackclock import ScenarioError
from ackclock.apps.suite.folder import Suite
from ackclock.apps.suite.measures import SUITE_METRICS, RunData, bases
from ackclock.apps.suite.result import Measure, SuiteMetadata, SuiteResult
from ackclock.apps.suite.situation import Situation
from ackclock.base.assignment import Assignment, control_table
from ackclock.base.files import UnmetNeed, check_folder, own_folder, write_text
from ackclock.base.source import read_source
from ackclock.metrics import Row, numbers
from ackclock.study import Store, Study, sweep
from ackclock.study.executors import Executor
from ackclock.study.plan import ENGINE
from ackclock.study.results import same_outcome
from ackclock.study.sweep import Progress


def run(
    suite: Suite,
    control: str,
    out: Path,
    executor: Executor,
    *,
    quick: bool = False,
    page: bool = True,
    progress: Callable[[str], Progress | None] | None = None,
    allow_code: bool = False,
) -> SuiteResult:
    """Run a controller through a suite and write the results to `out`, with a page. Finished runs are kept.

    Only with `allow_code` may the scenarios of the suite name controllers in Python. Raises ScenarioError if the
    controller does not exist, BadInput if `out` cannot be written or a scenario names code, and UnmetNeed if the
    controller can be run in no situation.
    """
    check_folder(out)
    studies, refused = _studies(suite, control, quick=quick, allow_code=allow_code)
    measures: list[Measure] = []
    failed: list[tuple[str, str]] = []
    deterministic: set[tuple[str, str]] = set()
    runs = 0
    for situation, of_situation in studies:
        stored = []
        for name, study in of_situation.items():
            folder = own_folder(out, "studies", f"{situation.id}{name}")
            advance = progress(f"{situation.id}{name}") if progress is not None else None
            with Store.create(folder) as store:
                summary = sweep(study, store, executor, progress=advance, replace=True)
                failed += store.failures()
                runs += summary.runs
                stored.append(store.outcomes().to_dicts())
        points = _points(stored[0])
        measures += _measure(situation, points, stored[1] if len(stored) > 1 else [])
        deterministic |= {
            (situation.id, point) for point, rows in points.items() if same_outcome(list(map(numbers, rows)))
        }
    if refused and not measures:
        raise UnmetNeed(f"{control}: {next(iter(refused.values()))}")
    about = SuiteMetadata(suite.key, suite.title, control, quick, ENGINE, runs)
    result = SuiteResult(about, out, measures, refused, failed, deterministic)
    _write(suite, result, page=page)
    return result


def _studies(
    suite: Suite, control: str, *, quick: bool, allow_code: bool
) -> tuple[list[tuple[Situation, dict[str, Study]]], dict[str, str]]:
    """The situations with their studies by the ending of their folders, and why others cannot be run."""
    planned: list[tuple[Situation, dict[str, Study]]] = []
    refused: dict[str, str] = {}
    for situation in suite.situations:
        try:
            studies = {"": _study(suite, situation, control, quick, allow_code)}
        except ScenarioError as error:
            if error.unmet_need:
                refused[situation.id] = error.message
                continue
            raise
        if "rivals_kept" in situation.metrics:
            studies["-standard"] = _study(suite, situation, suite.standard, quick, allow_code)
        planned.append((situation, studies))
    return planned, refused


def _study(suite: Suite, situation: Situation, control: str, quick: bool, allow_code: bool) -> Study:
    seeds = situation.quick if quick else situation.seeds
    table = control_table(control, situation.parameters)
    source = replace(
        read_source(suite.path(situation)), code="anywhere" if allow_code else "none", libraries=allow_code
    )
    tested = Assignment(("tcp", "congestion_control"), table, f"--control {control}", of_text=False)
    runs = [Assignment(("sweep", "seed"), f"1..{seeds}"), Assignment(("delays",), True)]
    return Study.read(source, [tested, *runs])


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
    about = asdict(result.metadata) | {"refused": result.refused, "deterministic": sorted(result.deterministic)}
    about |= {"failed": result.failed}
    write_text(result.folder / "measures.csv", text.getvalue())
    write_text(result.folder / "suite.json", json.dumps(about, indent=1) + "\n")
    if page:
        from ackclock.apps.suite.page import render

        write_text(result.folder / "index.html", render(suite, result))
