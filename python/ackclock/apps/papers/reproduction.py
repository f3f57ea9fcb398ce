"""The result of the reproduction of a paper: verdicts, calibration, and the stored full form beside them."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ackclock import stats
from ackclock.apps.papers.calibration import Fit
from ackclock.apps.papers.folder import Paper
from ackclock.apps.papers.full_form import FullForm, StoredVerdict
from ackclock.apps.papers.judge import Verdict
from ackclock.apps.papers.runs import RunLink
from ackclock.apps.papers.verdict import WORDS

SAME = 1e-9
"""Relative difference below which two values are equal."""


@dataclass(frozen=True)
class Reproduction:
    """The result of the reproduction of a paper."""

    paper: Paper
    folder: Path
    quick: bool
    engine: str
    verdicts: list[Verdict]
    calibration: Fit
    full: FullForm | None
    """The stored full form; None in the full form, and where there is none."""
    values: dict[str, stats.Estimate]
    """The numbers of the [value] tables."""
    headline: RunLink | None
    """The run behind the headline number, if the laboratory's page is there."""
    runs: int
    failed: list[tuple[str, str]]
    seconds: float

    @property
    def counts(self) -> Counter[str]:
        """The number of claims with each verdict."""
        return Counter(v.word for v in self.verdicts)

    @property
    def stored_counts(self) -> Counter[str] | None:
        """The same of the stored full form; None if it lacks a claim."""
        if self.full is None or any(v.claim.id not in self.full.verdicts for v in self.verdicts):
            return None
        return Counter(one.verdict for one in self.full.verdicts.values())

    @property
    def has_rows(self) -> bool:
        """Whether a claim is judged under more than one choice with all seeds."""
        return any(v.rows for v in self.verdicts)

    def verdict(self, claim: str) -> Verdict:
        """The verdict on a claim. Raises StopIteration if there is no such claim."""
        return next(v for v in self.verdicts if v.claim.id == claim)

    def stored(self, claim: str) -> StoredVerdict | None:
        """The stored full form's verdict on a claim."""
        return None if self.full is None else self.full.verdicts.get(claim)

    def differing(self) -> list[Verdict]:
        """Claims whose value lies outside the stored interval of a single run: here something differs."""
        claims = []
        for v in self.verdicts:
            stored = self.stored(v.claim.id)
            if stored is None or v.calibrated.value is None or stored.value is None:
                continue
            if stored.single_run is not None:
                low, high = stored.single_run
            elif v.calibrated.low is None and not v.calibrated.is_one_run:  # equal in every run, here and there
                low, high = (stored.value + sign * SAME * abs(stored.value) for sign in (-1, 1))
            else:
                continue
            if not low <= v.calibrated.value <= high:
                claims.append(v)
        return claims

    def to_dict(self) -> dict[str, Any]:
        """The contents of verdicts.json."""
        stored = [None if one is None else asdict(one) for one in (self.stored(v.claim.id) for v in self.verdicts)]
        return {
            "form": "quick" if self.quick else "full",
            "engine": self.engine,
            "counts": {word.name: self.counts[word.name] for word in WORDS},
            "claims": [v.to_dict() | {"full": one} for v, one in zip(self.verdicts, stored, strict=True)],
        }


@dataclass(frozen=True)
class Row:
    """A line of a comparison: a label, and an estimate for each effect of the paper."""

    label: str
    estimates: list[stats.Estimate]
