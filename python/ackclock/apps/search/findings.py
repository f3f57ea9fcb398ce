"""What a search was asked for, and what it has found."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ackclock.apps.search.diagnose import Ablation, Diagnosis, Signature
    from ackclock.apps.search.explore import Tried
    from ackclock.apps.search.map import Map
    from ackclock.apps.search.objective import Objective
    from ackclock.apps.search.space import Genome, Space
    from ackclock.base.source import Source

BUDGET = 1000
"""Networks that are evaluated by default."""


@dataclass(frozen=True)
class Options:
    """What a search is asked for besides its space: all that its result depends on."""

    control: str | None = None
    against: str | None = None
    objective: str | None = None
    budget: int = BUDGET
    time_s: float | None = None
    seed: int = 1
    first: bool = False
    any_cause: bool = False
    overrides: tuple[str, ...] = ()


@dataclass
class Failure:
    """A failure that was made small."""

    genome: Genome
    first_seen: Tried
    """The network in which it was seen first."""
    objective: float | None
    signature: Signature
    shrink_evaluations: int
    diagnosis: Diagnosis
    error: str = ""
    document: dict[str, Any] = field(default_factory=dict)
    """The scenario, with the tested controller."""

    @property
    def ablations(self) -> list[Ablation]:
        """What changes the failure, the most helpful first."""
        return self.diagnosis.ablations

    @property
    def why(self) -> str:
        """The cause in a sentence."""
        return self.diagnosis.sentence


class Findings:
    """A search as its report needs it."""

    source: Source
    options: Options
    space: Space
    objective: Objective
    map: Map
    runs: int
    cpu_s: float
    tried: list[Tried]
    failures: list[Failure]

    @property
    def evaluations(self) -> int:
        """Networks that were evaluated."""
        return len(self.tried)

    @property
    def refused(self) -> list[str]:
        """Why networks could not be run, one message for each of them."""
        return [one.value.refused for one in self.tried if one.value.refused]

    @property
    def nearest(self) -> float | None:
        """By how much the nearest network that is no failure misses the bound; None if there is none."""
        misses = [t.value.fitness for t in self.tried if not t.value.fails and math.isfinite(t.value.fitness)]
        return min(misses, default=None)

    def as_dict(self) -> dict[str, Any]:
        """The result for `--json`."""
        failures = [
            {
                "file": file_name(number),
                "objective": one.objective,
                "first_evaluation": one.first_seen.number,
                "shrink_evaluations": one.shrink_evaluations,
                "signature": one.signature.as_dict() | {"metric": self.objective.metric},
                "why": one.why,
                "ablations": [{"name": a.name, "objective": a.objective} for a in one.ablations],
                "margins": [asdict(margin) for margin in one.diagnosis.margins],
                "error": one.error or None,
            }
            for number, one in enumerate(self.failures)
        ]
        return {
            "evaluations": self.evaluations,
            "refused": len(self.refused),
            "runs": self.runs,
            "failures": failures,
            "cpu_s": round(self.cpu_s, 3),
        }


def file_name(number: int) -> str:
    """The file of a failure, from 0 on."""
    return "minimal.toml" if number == 0 else f"minimal-{number + 1}.toml"
