"""`ackclock suite`: runs a controller through the situations of a suite, and writes its measures and its page."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ackclock import ScenarioError, stats
from ackclock.files import BadInput, check_folder, write_text
from ackclock.study import Store, Study, sweep
from ackclock.study.executors import Executor
from ackclock.study.sweep import Progress
from ackclock.suite.folder import Situation, Suite
from ackclock.suite.measures import METRICS, View, bases


@dataclass(frozen=True)
class Measure:
    """A metric of one run."""

    situation: str
    point: str
    metric: str
    seed: int
    value: float


@dataclass(frozen=True)
class About:
    """What a folder of measures is of."""

    suite: str
    title: str
    control: str
    quick: bool
    engine: str
    runs: int


@dataclass(frozen=True)
class Made:
    """What came of a controller in a suite."""

    about: About
    folder: Path
    measures: list[Measure]
    refused: dict[str, str]
    """Situations that the controller cannot be tried in, and why."""
    failed: list[tuple[str, str]]

    def values(self) -> dict[tuple[str, str, str], dict[int, float]]:
        """Of each (situation, point, metric) the values by seed, in the order of the suite."""
        found: dict[tuple[str, str, str], dict[int, float]] = {}
        for m in self.measures:
            found.setdefault((m.situation, m.point, m.metric), {})[m.seed] = m.value
        return found

    def estimates(self) -> dict[tuple[str, str, str], stats.Estimate]:
        """The same as means with 95 % intervals over the seeds."""
        return {key: stats.over_seeds(list(seeds.values())) for key, seeds in self.values().items()}


def control_table(control: str, parameters: Mapping[str, Mapping[str, Any]] | None = None) -> str:
    """A controller as a value of TOML: a name, `FILE.py:CLASS`, or a table such as `{ kind = "vegas", alpha = 1 }`.

    `parameters` of a named controller are added.
    """
    if control.lstrip().startswith("{"):
        return control
    file, colon, name = control.rpartition(":")
    if colon:
        table: dict[str, Any] = {"python": f"{Path(file).resolve()}:{name}"}
    else:
        table = {"kind": control}
    table |= dict((parameters or {}).get(name or control, {}))
    return "{ " + ", ".join(f"{key} = {json.dumps(value)}" for key, value in table.items()) + " }"


def folder_name(control: str) -> str:
    """A controller as the name of a folder."""
    return re.sub(r"[^\w.+-]+", "-", control.removeprefix("./")).strip("-") or "controller"


def run(
    suite: Suite,
    control: str,
    out: Path,
    executor: Executor,
    *,
    quick: bool = False,
    progress: Callable[[str], Progress | None] | None = None,
) -> Made:
    """Run a controller through a suite into `out` (runs that are there are kept).

    Raises ScenarioError if there is no such controller, BadInput if `out` cannot be written or no situation takes it.
    """
    check_folder(out)
    measures: list[Measure] = []
    failed: list[tuple[str, str]] = []
    refused: dict[str, str] = {}
    runs, engine = 0, ""
    for situation in suite.situations:
        try:
            studies = [_study(suite, situation, control, quick)]
        except ScenarioError as error:
            if ".control" in error.key and "needs" in error.message:
                refused[situation.id] = error.message
                continue
            raise
        if "harm" in situation.metrics:
            studies.append(_study(suite, situation, suite.standard, quick))
        engine = studies[0].engine
        found = []
        for name, study in zip(("", "-standard"), studies, strict=False):
            folder = out / "studies" / f"{situation.id}{name}"
            folder.mkdir(parents=True, exist_ok=True)
            advance = progress(f"{situation.id}{name}") if progress is not None else None
            with Store.create(folder) as store:
                summary = sweep(study, store, executor, progress=advance, replace=True)
                failed += store.failures()
                runs += summary.runs
                found.append(store.outcomes().to_dicts())
        measures += _measure(situation, found[0], found[1] if len(found) > 1 else [])
    if refused and not measures:
        raise BadInput(f"{control}: {next(iter(refused.values()))}")
    about = About(suite.key, suite.title, control, quick, engine, runs)
    made = Made(about, out, measures, refused, failed)
    _write(suite, made)
    return made


def _study(suite: Suite, situation: Situation, control: str, quick: bool) -> Study:
    seeds = situation.quick if quick else situation.seeds
    table = control_table(control, situation.parameters)
    return Study.load(suite.path(situation), [f"tcp.control={table}", f'sweep.seed="1..{seeds}"', "delays=true"])


def _measure(
    situation: Situation, rows: Sequence[Mapping[str, Any]], standard: Sequence[Mapping[str, Any]]
) -> list[Measure]:
    beside = {(row["axes"], row["seed"]): row for row in standard}
    points: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        points.setdefault(row["axes"], []).append(row)
    found = []
    for axes, its in points.items():
        base = bases(its)
        point = "; ".join(json.loads(axes).values())
        for row in its:
            view = View(situation, row, base, beside.get((axes, row["seed"])))
            for metric in situation.metrics:
                value = METRICS[metric].find(view)
                if value is not None:
                    found.append(Measure(situation.id, point, metric, row["seed"], value * METRICS[metric].factor))
    # By point and metric, seeds together.
    order = {metric: i for i, metric in enumerate(situation.metrics)}
    places = {"; ".join(json.loads(axes).values()): i for i, axes in enumerate(points)}
    return sorted(found, key=lambda m: (places[m.point], order[m.metric], m.seed))


def _write(suite: Suite, made: Made) -> None:
    from ackclock.suite.page import render

    text = io.StringIO()
    table = csv.DictWriter(text, list(Measure.__dataclass_fields__), lineterminator="\n")
    table.writeheader()
    table.writerows(asdict(m) for m in made.measures)
    about = asdict(made.about) | {"refused": made.refused}
    for name, content in (
        ("measures.csv", text.getvalue()),
        ("suite.json", json.dumps(about, indent=1) + "\n"),
        ("index.html", render(suite, made)),
    ):
        write_text(made.folder / name, content)


def read(folder: Path) -> Made:
    """What `run` left in a folder. Raises BadInput if it is not there."""
    try:
        about = json.loads((folder / "suite.json").read_text(encoding="utf-8"))
        refused = about.pop("refused")
        with open(folder / "measures.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        measures = [
            Measure(row["situation"], row["point"], row["metric"], int(row["seed"]), float(row["value"]))
            for row in rows
        ]
        unknown = {m.metric for m in measures} - METRICS.keys()
        if unknown:
            raise ValueError(f"this version does not know {', '.join(sorted(unknown))}")
        return Made(About(**about), folder, measures, refused, [])
    except FileNotFoundError:
        raise BadInput(f"{folder}: no suite was run there (ackclock suite NAME --control C --out {folder})") from None
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{folder}: suite.json or measures.csv cannot be read: {error}") from None
