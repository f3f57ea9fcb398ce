"""Gates on ratios of paired values: B over A at least, or at most, a bound."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ackclock import stats
from ackclock.base.files import BadInput

Verdict = Literal["pass", "fail", "undecided"]
MOST_REPEATS = 1000
"""A gate that needs more repeats is said to need more than these."""
POWER = 0.8
"""Probability with which the number of repeats that is named decides the gate."""


@dataclass(frozen=True)
class Gate:
    """An inequality about a value: its ratio B/A is at least, or at most, a bound."""

    name: str
    at_least: bool
    bound: float

    def __str__(self) -> str:
        return f"{self.name} {'>=' if self.at_least else '<='} {self.bound:g}"


def parse(text: str) -> Gate:
    """Read a gate such as `goodput >= 0.95`. Raises BadInput."""
    parts = re.fullmatch(r"\s*(\S.*?)\s*(>=|<=)\s*(\d+(?:\.\d*)?|\.\d+)\s*", text)
    if parts is None or float(parts[3]) == 0:
        raise BadInput(
            f"--gate {text}: must be NAME >= RATIO or NAME <= RATIO, with the ratio of B to A above 0, such as "
            "'goodput >= 0.95'"
        )
    return Gate(parts[1], parts[2] == ">=", float(parts[3]))


@dataclass(frozen=True)
class Test:
    """A gate in a network, with the values of A and B in pairs."""

    gate: Gate
    network: str
    a: Sequence[float]
    b: Sequence[float]

    @property
    def ratio(self) -> stats.Estimate:
        """B over A with its 95 % interval; 1 where all values are zero."""
        return stats.ratio_or_equal(self.b, self.a)

    @property
    def contrasts(self) -> list[float]:
        """Above zero where B/A is above the bound."""
        return stats.contrasts(self.b, self.a, self.gate.bound)


@dataclass(frozen=True)
class Judged:
    """A gate in a network with its verdict."""

    test: Test
    verdict: Verdict
    p: float | None
    """That of the two-sided test against the bound, after Holm's correction; None for fewer than two pairs."""
    needed: int | None
    """Repeats that would decide it in 4 of 5 cases, if it is undecided; None if they are more than 1000."""


def judge(tests: Sequence[Test]) -> list[Judged]:
    """The verdicts of all gates.

    One gate passes if the whole 95 % interval of the ratio satisfies it, and fails if none of it does. Of several gates
    the p-values are corrected (Holm), so that in all at most 5 % of the sets of gates have a wrong verdict. Equal
    contrasts in all pairs have no spread: they decide.
    """
    corrected = stats.corrected([stats.p_value(test.contrasts, 0.0) for test in tests], stats.holm)
    return [_judged(test, p, len(tests)) for test, p in zip(tests, corrected, strict=True)]


def _judged(test: Test, p: float | None, tests: int) -> Judged:
    contrasts = test.contrasts
    if p is None:
        return Judged(test, "undecided", None, 2)
    mean = float(np.mean(contrasts))
    constant = stats.same(contrasts)
    if p >= 1 - stats.LEVEL and not constant:
        return Judged(test, "undecided", p, repeats_needed(contrasts, (1 - stats.LEVEL) / tests))
    good = mean >= 0 if test.gate.at_least else mean <= 0
    return Judged(test, "pass" if good else "fail", p, None)


def repeats_needed(contrasts: Sequence[float], level: float) -> int | None:
    """Pairs with which a two-sided test at this level finds a difference such as the mean of these, with power 0.8.

    None if they are more than 1000.
    """
    from scipy.special import stdtrit

    mean, spread = abs(float(np.mean(contrasts))), float(np.std(contrasts, ddof=1))
    for n in range(len(contrasts) + 1, MOST_REPEATS + 1):
        if mean * math.sqrt(n) >= spread * (stdtrit(n - 1, 1 - level / 2) + stdtrit(n - 1, POWER)):
            return n
    return None
