"""The result of a controller in a suite: its measures, as `ackclock suite` writes them to a folder."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from ackclock import stats
from ackclock.apps.suite.checks import LEVELS, VERDICTS, CheckResult
from ackclock.apps.suite.measures import SUITE_METRICS
from ackclock.base.files import BadInput
from ackclock.base.records import read_record

CURVES = "curves.json"
"""The file of curves in the folder of a result."""


@dataclass(frozen=True)
class Measure:
    """A metric of one run."""

    situation: str
    point: str
    metric: str
    seed: int
    value: float


@dataclass(frozen=True)
class SuiteMetadata:
    """The suite and the controller of a folder of measures."""

    suite: str
    title: str
    control: str
    quick: bool
    engine: str
    runs: int
    on: str = "tcp"
    """The substrate."""
    overrides: tuple[str, ...] = ()
    """`KEY=VALUE` for the scenarios of all situations."""
    place: str = ""
    """The folder of a suite that is not of the package."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON: without what has its default."""
        defaults = {field.name: field.default for field in fields(self)}
        return {name: value for name, value in asdict(self).items() if value != defaults[name]}


@dataclass(frozen=True)
class SuiteResult:
    """The result of a controller in a suite."""

    metadata: SuiteMetadata
    folder: Path
    measures: list[Measure]
    refused: dict[str, str]
    """Situations that the controller cannot be run in, with the reasons."""
    failed: list[tuple[str, str]]
    deterministic: set[tuple[str, str]]
    """Situations and points at which all seeds give the same outcome."""
    checks: list[CheckResult] = field(default_factory=list)
    """The verdicts, in the order of the suite."""
    curves: dict[str, Any] = field(default_factory=dict)
    """For each situation with checks the curves of its first run, and its scenario."""

    def count(self, verdict: str) -> int:
        """Number of checks with a verdict."""
        return sum(check.verdict == verdict for check in self.checks)

    def values(self) -> dict[tuple[str, str, str], dict[int, float]]:
        """The values by seed for each (situation, point, metric), in the order of the suite."""
        by_seed: dict[tuple[str, str, str], dict[int, float]] = {}
        for m in self.measures:
            by_seed.setdefault((m.situation, m.point, m.metric), {})[m.seed] = m.value
        return by_seed

    def estimates(self) -> dict[tuple[str, str, str], stats.Estimate]:
        """Means with 95 % intervals over the seeds, truncated to the metric's possible values."""
        return {
            (situation, point, metric): SUITE_METRICS[metric].estimate(
                list(seeds.values())[: 1 if (situation, point) in self.deterministic else None]
            )
            for (situation, point, metric), seeds in self.values().items()
        }


def metadata_of(about: Any) -> SuiteMetadata:
    """The metadata of a result that can be a stranger's. Raises ValueError."""
    table = {key: value for key, value in dict(about).items() if key != "overrides"}
    overrides = about.get("overrides", [])
    if not isinstance(overrides, list) or not all(isinstance(text, str) for text in overrides):
        raise ValueError("overrides must be a list of texts")
    try:
        return replace(read_record(SuiteMetadata, table, "metadata"), overrides=tuple(overrides))
    except BadInput as error:
        raise ValueError(str(error)) from None


def checked(checks: Any) -> list[CheckResult]:
    """The verdicts of a result that can be a stranger's. Raises ValueError."""
    if not isinstance(checks, list):
        raise ValueError("checks must be a list")
    try:
        results = [read_record(CheckResult, check, f"checks[{i}]") for i, check in enumerate(checks)]
    except BadInput as error:
        raise ValueError(str(error)) from None
    for one in results:
        if one.verdict not in VERDICTS or one.level not in LEVELS:
            raise ValueError(f"{one.situation}.{one.check}: there is no verdict {one.verdict} of level {one.level}")
    return results


def read(folder: Path) -> SuiteResult:
    """Read the result that `run` wrote to a folder. Raises BadInput if there is none."""
    try:
        about = json.loads((folder / "suite.json").read_text(encoding="utf-8"))
        if not isinstance(about, dict):
            raise TypeError("suite.json must be an object")
        refused = about.pop("refused")
        failed = [(str(run_id), str(error)) for run_id, error in about.pop("failed", [])]
        deterministic = {(situation, point) for situation, point in about.pop("deterministic")}
        checks = checked(about.pop("checks", []))
        file_of_curves = folder / CURVES
        curves = json.loads(file_of_curves.read_text(encoding="utf-8")) if file_of_curves.is_file() else {}
        with open(folder / "measures.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        measures = [
            Measure(row["situation"], row["point"], row["metric"], int(row["seed"]), float(row["value"]))
            for row in rows
        ]
        unknown = {m.metric for m in measures} - SUITE_METRICS.keys()
        if unknown:
            raise ValueError(f"this version has no metric {', '.join(sorted(unknown))}")
        return SuiteResult(metadata_of(about), folder, measures, refused, failed, deterministic, checks, curves)
    except (FileNotFoundError, NotADirectoryError):
        raise BadInput(f"{folder}: no suite was run there (ackclock suite NAME --control C --out {folder})") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"{folder}: suite.json, curves.json or measures.csv cannot be read: {error}") from None
