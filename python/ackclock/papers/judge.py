"""Verdicts: a claim's interval against what was claimed (DESIGN section 7, CONTRACT section 6)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ackclock import stats
from ackclock.papers.folder import Claim, call
from ackclock.papers.results import Results


@dataclass(frozen=True)
class Verdict:
    """What became of a claim."""

    claim: Claim
    value: float | None
    low: float | None
    high: float | None
    n: int
    verdict: str
    reason: str
    p: float | None
    wilcoxon: float | None = None
    p_holm: float | None = None

    @property
    def weak(self) -> bool:
        """Decided by its own interval, but not after the correction for the number of claims."""
        return self.verdict in {"confirmed", "opposite"} and self.p_holm is not None and self.p_holm > 0.05

    def to_dict(self) -> dict[str, Any]:
        """As CONTRACT section 6 has it, with p-values: t test, after Holm's correction, Wilcoxon's test."""
        c = self.claim
        scenarios = [f"studies/{c.study}.toml"] if c.study else []
        return {
            "id": c.id,
            "quote": c.quote,
            "metric": c.metric,
            "unit": c.unit,
            "direction": c.direction,
            "reference": c.reference,
            "tolerance": c.tolerance,
            "expected": c.expected,
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "n": self.n,
            "verdict": self.verdict,
            "reason": self.reason,
            "scenarios": scenarios,
            "p": self.p,
            "p_holm": self.p_holm,
            "wilcoxon": self.wilcoxon,
        }


def decide(
    direction: int, reference: float, tolerance: float, expected: float | None, low: float | None, high: float | None
) -> str:
    """The verdict on an interval.

    `direction` 1 claims above the reference, -1 below, 0 within `tolerance` of it. Confirmed: the interval lies wholly
    on the claimed side; opposite: wholly on the other; matched: neither, and the published value lies in it.
    """
    if low is None or high is None:
        return "undecided"
    if direction == 0:
        claimed = reference - tolerance <= low and high <= reference + tolerance
        other = high < reference - tolerance or low > reference + tolerance
    else:
        claimed = low > reference if direction > 0 else high < reference
        other = high < reference if direction > 0 else low > reference
    if claimed:
        return "confirmed"
    if other:
        return "opposite"
    return "matched" if expected is not None and low <= expected <= high else "undecided"


def judge(results: Results, claims: list[Claim]) -> list[Verdict]:
    """Judge every claim; p-values are corrected over all of them."""
    verdicts = [_judge(results, claim) for claim in claims]
    tested = [v for v in verdicts if v.p is not None]
    adjusted = dict(zip([v.claim.id for v in tested], stats.holm([v.p or 0.0 for v in tested]), strict=True))
    return [Verdict(**{**v.__dict__, "p_holm": adjusted.get(v.claim.id)}) for v in verdicts]


def _judge(results: Results, claim: Claim) -> Verdict:
    if claim.impossible:
        return Verdict(claim, None, None, None, 0, "impossible", claim.impossible, None)
    values, logarithmic = _measure(results, claim)
    mean = stats.mean(values)
    back = math.exp if logarithmic else float
    value, low, high = (None if x is None else back(x) for x in (mean.value, mean.low, mean.high))
    verdict = decide(claim.direction, claim.reference, claim.tolerance, claim.expected, low, high)
    forward = math.log if logarithmic else float
    if claim.direction:
        p = stats.p_value(values, forward(claim.reference))
    else:
        bounds = [forward(claim.reference + sign * claim.tolerance) for sign in (-1, 1)]
        outside = [stats.p_value(values, bound) for bound in bounds]
        p = stats.equivalence(values, *bounds)
        if verdict == "opposite" and None not in outside:
            p = max(x for x in outside if x is not None)
    reason = _reason(claim, verdict, value, low, high, mean.n)
    rank = stats.signed_rank(values, forward(claim.reference)) if claim.direction else None
    return Verdict(claim, value, low, high, mean.n, verdict, reason, p, rank)


def _measure(results: Results, claim: Claim) -> tuple[list[float], bool]:
    """One value a seed, and whether they are logarithms of ratios."""
    match claim.measure:
        case "ratio":
            return results.log_ratios(claim.study, claim.column, claim.of, claim.to, claim.where), True
        case "difference":
            return results.differences(claim.study, claim.column, claim.of, claim.to, claim.where), False
        case "mean":
            return results.means(claim.study, claim.column, {**claim.where, **claim.of}), False
    return [float(x) for x in call(results.paper, "measures", claim.measure, results)], claim.logarithmic


def _reason(claim: Claim, verdict: str, value: float | None, low: float | None, high: float | None, n: int) -> str:
    if low is None or high is None or value is None:
        return f"{n} value(s) give no interval"
    unit = f" {claim.unit}" if claim.unit else ""
    found = f"{value:.4g}{unit} [{low:.4g}, {high:.4g}] over {n} seeds"
    side = {1: "above", -1: "below", 0: f"within {claim.tolerance:g} of"}[claim.direction]
    against = f"claimed {side} {claim.reference:g}{unit}"
    published = "" if claim.expected is None else f"; published {claim.expected:.4g}"
    remark = f". {claim.remark}" if claim.remark else ""
    return f"{found}; {against}{published}{remark}"
