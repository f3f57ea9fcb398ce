"""Numbers of claims as text: always with unit and interval."""

from __future__ import annotations

from ackclock.apps.papers.folder import Claim
from ackclock.apps.papers.judge import ClaimResult
from ackclock.base import si

CLOSE = 0.1
"""Ratios nearer to 1 than this have three decimals."""


def plain(claim: Claim, x: float) -> str:
    """A value of a claim without its unit: a percentage for a share."""
    if claim.kind == "share":
        return f"{round(100 * x)}"
    if claim.kind == "ratio" and abs(x - 1) < CLOSE and round(x, 3) != 1:
        return f"{x:.3f}"
    return si.value(x).replace("-", "\u2212")


def unit(claim: Claim) -> str:
    """The unit as it follows a number: × for a ratio."""
    if claim.kind == "ratio":
        return "×"
    return " %" if claim.kind == "share" else f" {claim.unit}" if claim.unit else ""


def with_unit(claim: Claim, x: float | None) -> str:
    """A value with its unit."""
    return "-" if x is None else plain(claim, x) + unit(claim)


def interval(claim: Claim, low: float | None, high: float | None) -> str:
    """The interval in brackets; empty without one."""
    if low is None or high is None or low == high:
        return ""
    return f"[{plain(claim, low)}, {plain(claim, high)}]"


def certainty(claim: Claim, j: ClaimResult) -> str:
    """What says how sure a value is: its interval, that it is equal in every run, or that it is of one run."""
    return interval(claim, j.low, j.high) or ("(1 run)" if j.is_one_run else "in every run")


def in_sentence(claim: Claim, j: ClaimResult) -> str:
    """A value with its interval for a sentence that names the unit itself."""
    if j.value is None:
        return "-"
    percent = " %" if claim.kind == "share" else ""
    if j.low is not None and j.high is not None and j.low != j.high:
        span = f" ({plain(claim, j.low)} to {plain(claim, j.high)}{percent})"
    else:
        span = " (1 run)" if j.is_one_run else ""
    return plain(claim, j.value) + percent + span


def number_of_runs(claim: Claim, n: int, *, one_run: bool = False) -> str:
    """How many runs a value is of."""
    if n > 1:
        return f"{n} {'runs' if claim.n_unit == 'seeds' else claim.n_unit}"
    return "1 run" if one_run else "the same in every run"


def claimed(claim: Claim) -> str:
    """Where the paper says that the value lies."""
    if claim.direction == 0:
        tolerance = si.value(claim.tolerance) if claim.kind == "ratio" else with_unit(claim, claim.tolerance)
        return f"within {tolerance} of {with_unit(claim, claim.reference)}"
    return f"{'above' if claim.direction > 0 else 'below'} {with_unit(claim, claim.reference)}"
