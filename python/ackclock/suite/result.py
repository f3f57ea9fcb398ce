"""What came of a controller in a suite: its measures, as `ackclock suite` leaves them in a folder."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path

from ackclock import stats
from ackclock.files import BadInput
from ackclock.suite.measures import METRICS


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
    """Which suite and controller a folder of measures is of."""

    suite: str
    title: str
    control: str
    quick: bool
    engine: str
    runs: int


@dataclass(frozen=True)
class SuiteResult:
    """What came of a controller in a suite."""

    metadata: SuiteMetadata
    folder: Path
    measures: list[Measure]
    refused: dict[str, str]
    """Situations that the controller cannot be tried in, and why."""
    failed: list[tuple[str, str]]
    deterministic: set[tuple[str, str]]
    """Situations and points where the seeds decide nothing: whole outcomes are the same."""

    def values(self) -> dict[tuple[str, str, str], dict[int, float]]:
        """Of each (situation, point, metric) the values by seed, in the order of the suite."""
        found: dict[tuple[str, str, str], dict[int, float]] = {}
        for m in self.measures:
            found.setdefault((m.situation, m.point, m.metric), {})[m.seed] = m.value
        return found

    def estimates(self) -> dict[tuple[str, str, str], stats.Estimate]:
        """The same as means with 95 % intervals over the seeds, within what is possible."""
        return {
            (situation, point, metric): stats.within(
                list(seeds.values())[: 1 if (situation, point) in self.deterministic else None],
                0.0,
                METRICS[metric].most,
            )
            for (situation, point, metric), seeds in self.values().items()
        }


def read(folder: Path) -> SuiteResult:
    """What `run` left in a folder. Raises BadInput if it is not there."""
    try:
        about = json.loads((folder / "suite.json").read_text(encoding="utf-8"))
        refused = about.pop("refused")
        deterministic = {(situation, point) for situation, point in about.pop("deterministic")}
        with open(folder / "measures.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        measures = [
            Measure(row["situation"], row["point"], row["metric"], int(row["seed"]), float(row["value"]))
            for row in rows
        ]
        unknown = {m.metric for m in measures} - METRICS.keys()
        if unknown:
            raise ValueError(f"this version does not know {', '.join(sorted(unknown))}")
        return SuiteResult(SuiteMetadata(**about), folder, measures, refused, [], deterministic)
    except FileNotFoundError:
        raise BadInput(f"{folder}: no suite was run there (ackclock suite NAME --control C --out {folder})") from None
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{folder}: suite.json or measures.csv cannot be read: {error}") from None
