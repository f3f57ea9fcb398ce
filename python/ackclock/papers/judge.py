"""Verdicts on claims: the direction of an effect and its size, under the calibrated interpretation and all others."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ackclock import stats
from ackclock.files import BadInput
from ackclock.papers.folder import Claim, call
from ackclock.papers.readings import Reading
from ackclock.papers.results import Results, UndefinedRatio

DIRECTIONS = ("confirmed", "no difference", "opposite", "undecided", "not testable", "impossible", "contradicts itself")
MAX_RATIO_DEVIATION = 0.1
"""Maximum relative deviation at which a ratio reproduces the printed one, however large the effect."""
SIZES = ("reproduced", "consistent", "smaller", "larger", "excluded")


@dataclass(frozen=True)
class ClaimResult:
    """The result of one interpretation for a claim. `low` and `high` are None for a single, deterministic value."""

    reading: str
    direction: str
    size: str | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    single: tuple[float, float] | None = None
    """The 95 % prediction interval of one run, which a printed number is compared with."""
    p: float | None = None
    wilcoxon: float | None = None
    note: str = ""
    equivalent: bool = False
    """Whether the control cells do not distinguish the interpretation from the calibrated one."""
    affected: bool = True
    """Whether the interpretation changes an outcome of the claim's studies; if not, this is the calibrated one."""

    @property
    def few(self) -> bool:
        """Whether there are too few seeds for an interval."""
        return self.direction == "undecided" and self.n == 1

    def to_dict(self) -> dict[str, Any]:
        """The entry of one interpretation in a claim's part of verdicts.json."""
        keys = ("reading", "direction", "size", "value", "low", "high", "n", "affected", "equivalent")
        single = None if self.single is None else list(self.single)
        return {key: getattr(self, key) for key in keys} | {"single_run": single}


@dataclass(frozen=True)
class Verdict:
    """A claim with its judgement under the calibrated interpretation (`taken`) and under the others."""

    claim: Claim
    taken: ClaimResult
    readings: list[ClaimResult] = field(default_factory=list)
    p_holm: float | None = None
    reason: str = ""

    @property
    def direction(self) -> str:
        """The direction under the calibrated interpretation."""
        return self.taken.direction

    @property
    def size(self) -> str | None:
        """The size under the calibrated interpretation; None where it is not judged (docs/papers.md)."""
        return self.taken.size

    @property
    def weak(self) -> bool:
        """Whether the claim's interval decides it, but not after the correction for the number of claims."""
        return self.direction in {"confirmed", "opposite"} and self.p_holm is not None and self.p_holm > 0.05

    @property
    def counted(self) -> str:
        """The direction as counts of verdicts have it: undecided where Holm's correction leaves nothing."""
        return "undecided" if self.weak else self.direction

    @property
    def affected(self) -> list[ClaimResult]:
        """The judgements of the interpretations that change a run of the claim."""
        return [j for j in self.readings if j.affected]

    @property
    def strip(self) -> str:
        """How many interpretations confirm the claim, of those that change its outcomes; empty if none does."""
        if not self.affected:
            return ""
        every = [self.taken, *self.affected]
        count = Counter(j.direction for j in every)
        few = sum(j.few for j in every)
        against = f", opposite in {count['opposite']}" if count["opposite"] else ""
        left = f", too few seeds in {few}" if few else ""
        return f"confirmed in {count['confirmed']} of {len(every)} interpretations{against}{left}"

    @property
    def spread(self) -> str:
        """The range of values over the interpretations that the control cells do not distinguish; empty without any."""
        values = [j.value for j in self.affected if j.equivalent and j.value is not None]
        if not values or self.taken.value is None:
            return ""
        low, high = min(*values, self.taken.value), max(*values, self.taken.value)
        return f"{low:.3g} to {high:.3g} over interpretations that the calibration does not distinguish"

    def to_dict(self) -> dict[str, Any]:
        """The claim's entry in verdicts.json, with p-values: t test, after Holm's correction, Wilcoxon's test."""
        c = self.claim
        return {
            "id": c.id,
            "quote": c.quote,
            "metric": c.metric,
            "unit": c.unit,
            "expected": c.expected,
            **self.taken.to_dict(),
            "n_unit": c.n_unit,
            "equivalence": _region(c),
            "size_tolerance": None if c.expected is None else list(_around(c, c.expected)),
            "reason": self.reason,
            "claimed": {"side": c.direction, "reference": c.reference, "tolerance": c.tolerance},
            "scenarios": [f"studies/{c.study}.toml"] if c.study else [],
            "counted": self.counted,
            "p": self.taken.p,
            "p_holm": self.p_holm,
            "wilcoxon": self.taken.wilcoxon,
            "readings_run": len(self.readings),
            "readings_near": sum(j.equivalent for j in self.readings),
            "readings": [j.to_dict() for j in self.affected],
        }


def _region(claim: Claim) -> list[float]:
    """The region of equivalence: values in it count as equal to the reference."""
    if claim.direction == 0:
        return [claim.reference - claim.tolerance, claim.reference + claim.tolerance]
    if claim.is_ratio:
        return [claim.reference / (1 + claim.region), claim.reference * (1 + claim.region)]
    return [claim.reference - claim.region, claim.reference + claim.region]


def direction(claim: Claim, low: float, high: float) -> str:
    """The direction of a claim with this interval (a point for a deterministic value).

    `no difference`: the interval lies within the region of equivalence; `confirmed` and `opposite`: it lies wholly on
    the claimed or on the other side of the reference (of the tolerance around it, where similarity is claimed).
    """
    least, most = _region(claim)
    if claim.direction == 0:
        if least <= low and high <= most:
            return "confirmed"
        return "opposite" if high < least or low > most else "undecided"
    if least < most and least <= low and high <= most:
        return "no difference"
    above, below = low > claim.reference, high < claim.reference
    claimed, other = (above, below) if claim.direction > 0 else (below, above)
    return "confirmed" if claimed else "opposite" if other else "undecided"


def size(
    claim: Claim, direction_word: str, value: float, interval: tuple[float, float], single: tuple[float, float]
) -> str | None:
    """How a value agrees with the printed number, which is of one run; None if the paper prints none.

    `reproduced`: the interval of the mean contains the number and lies within the claim's tolerance of it (a value that
    is the same under every seed: lies within the tolerance). `consistent`: the number lies within the prediction
    interval of one run, `single`. `smaller` and `larger`: it lies outside, and the direction is confirmed. `excluded`:
    it lies outside, and the direction is not confirmed.
    """
    if claim.expected is None:
        return None
    near, far = _around(claim, claim.expected)
    low, high = interval
    if near <= low and high <= far and (low <= claim.expected <= high or low == high):
        return "reproduced"
    if single[0] <= claim.expected <= single[1]:
        return "consistent"
    if direction_word != "confirmed":
        return "excluded"
    if claim.direction:
        return "smaller" if (claim.expected - value) * claim.direction > 0 else "larger"
    ours, theirs = abs(value - claim.reference), abs(claim.expected - claim.reference)
    return "smaller" if ours < theirs else "larger"


def _around(claim: Claim, expected: float) -> tuple[float, float]:
    """The printed number with the tolerance within which it counts as reproduced."""
    if claim.is_ratio and claim.direction:
        effect = min(abs(math.log(expected / claim.reference)) / 4, math.log(1 + MAX_RATIO_DEVIATION))
        reach = math.exp(effect) if claim.size is None else 1 + claim.size
        return expected / reach, expected * reach
    usual = (abs(expected - claim.reference) if claim.direction else claim.tolerance) / 4
    reach = usual if claim.size is None else claim.size
    return expected - reach, expected + reach


def judge(
    results: Results, claims: Sequence[Claim], readings: Sequence[Reading], *, sizes: bool = True
) -> list[Verdict]:
    """Judge every claim under the calibrated interpretation and the others; p-values are corrected over all claims.

    Without `sizes` there is no verdict on a size: no interpretation of the network fits.
    """
    views = [results.under(reading) for reading in readings]
    verdicts = []
    for claim in claims:
        taken = evaluate_claim(results, claim)
        others = [] if claim.settled else [_other(view, claim, taken) for view in views]
        if claim.swept:
            taken = _swept(claim, taken, others, readings)
        if not sizes:
            taken, others = replace(taken, size=None), [replace(j, size=None) for j in others]
        elif taken.size is not None and not _one_size(claim, taken, others):
            taken = replace(taken, size=None, note="the size differs between interpretations that the fit leaves open")
        verdicts.append(Verdict(claim, taken, others, reason=_reason(claim, taken)))
    tested = [v for v in verdicts if v.taken.p is not None]
    adjusted = dict(zip([v.claim.id for v in tested], stats.holm([v.taken.p or 0.0 for v in tested]), strict=True))
    return [replace(v, p_holm=adjusted.get(v.claim.id)) for v in verdicts]


def _one_size(claim: Claim, taken: ClaimResult, others: Sequence[ClaimResult]) -> bool:
    """Whether the interpretations that the calibration does not distinguish agree on the size.

    Other interpretations have fewer seeds: the scatter of single runs around their values is that of the calibrated
    interpretation.
    """
    sizes = {taken.size}
    for j in others:
        if j.affected and j.equivalent and j.value is not None:
            sizes.add(size(claim, j.direction, j.value, (j.value, j.value), _around_value(claim, taken, j.value)))
    return len({"consistent" if one == "reproduced" else one for one in sizes if one}) <= 1


def _around_value(claim: Claim, taken: ClaimResult, value: float) -> tuple[float, float]:
    """The scatter of single runs under the calibrated interpretation, around another value."""
    if taken.single is None or taken.value is None:
        return value, value
    if claim.is_ratio:
        return value * taken.single[0] / taken.value, value * taken.single[1] / taken.value
    return value + taken.single[0] - taken.value, value + taken.single[1] - taken.value


def _other(view: Results, claim: Claim, taken: ClaimResult) -> ClaimResult:
    """The judgement under another interpretation; the calibrated one if no outcome of the studies changes."""
    if not any(view.changes(study) for study in (claim.study, *claim.also)):
        return replace(taken, reading=view.reading.label, affected=False, equivalent=view.reading.equivalent)
    return replace(evaluate_claim(view, claim), equivalent=view.reading.equivalent)


def evaluate_claim(results: Results, claim: Claim) -> ClaimResult:
    """Judge a claim under the interpretation of these results."""
    label = results.reading.label
    if claim.settled and not claim.study:
        return ClaimResult(label, claim.settled[0], note=claim.settled[1])
    try:
        values = _measure(results, claim)
    except UndefinedRatio as error:
        return ClaimResult(label, "undecided", note=str(error))
    logarithmic = claim.is_ratio
    if claim.scale == "share":
        e = stats.within(values, 0.0, 1.0)
    elif logarithmic:
        e = stats.geometric(values)
    else:
        e = stats.mean(values)
    if not values:
        raise BadInput(f"{results.paper.folder}: claim {claim.id}: no values under the interpretation {label}")
    if claim.settled:
        return ClaimResult(label, claim.settled[0], None, e.value, e.low, e.high, e.n, note=claim.settled[1])
    if len(values) == 1:
        return ClaimResult(label, "undecided", value=e.value, n=1, note="one run gives no interval")
    if stats.same(values):  # all seeds give the same value: there is no interval
        e = stats.Estimate(e.value, None, None, 1)
    low, high = (e.value if x is None else x for x in (e.low, e.high))
    direction_word = direction(claim, low, high)
    if e.low is None:
        return ClaimResult(
            label, direction_word, size(claim, direction_word, low, (low, low), (low, low)), e.value, n=1
        )
    runs = call(results.paper, "measures", claim.measure, results, each_run=True) if claim.averaged else values
    single = stats.prediction(runs)
    if logarithmic:
        single = math.exp(single[0]), math.exp(single[1])
    elif claim.scale == "share":
        single = max(single[0], 0.0), min(single[1], 1.0)
    p, rank = _tests(claim, values, direction_word)
    verdict = size(claim, direction_word, e.value, (low, high), single)
    return ClaimResult(label, direction_word, verdict, e.value, e.low, e.high, e.n, single, p, rank)


def _tests(claim: Claim, values: list[float], direction_word: str) -> tuple[float | None, float | None]:
    """p-values of the t test and of Wilcoxon's against the reference; for similarity, of two one-sided tests."""
    forward = math.log if claim.is_ratio else float
    if claim.direction:
        reference = forward(claim.reference)
        return _number(stats.p_value(values, reference)), _number(stats.signed_rank(values, reference))
    bounds = [forward(claim.reference + sign * claim.tolerance) for sign in (-1, 1)]
    if direction_word == "opposite":
        outside = [stats.p_value(values, bound) for bound in bounds]
        return max((x for x in outside if x is not None), default=None), None
    return stats.equivalence(values, bounds[0], bounds[1]), None


def _number(p: float | None) -> float | None:
    return None if p is None or math.isnan(p) else p


def _measure(results: Results, claim: Claim) -> list[float]:
    """One value for each seed (or place, or pair); logarithms if the claim is about a ratio."""
    match claim.measure:
        case "ratio":
            return results.log_ratios(claim.study, claim.column, claim.of, claim.to, claim.where)
        case "difference":
            return results.differences(claim.study, claim.column, claim.of, claim.to, claim.where)
        case "mean":
            return results.means(claim.study, claim.column, {**claim.where, **claim.of})
    return [float(x) for x in call(results.paper, "measures", claim.measure, results)]


def _swept(claim: Claim, taken: ClaimResult, others: Sequence[ClaimResult], readings: Sequence[Reading]) -> ClaimResult:
    """Judge a claim on an absolute number: it is not testable if unstated parameters decide the side of the value."""
    over = [j for j, r in zip(others, readings, strict=True) if r.changes in claim.swept]
    values = [j.value for j in (taken, *over) if j.value is not None]
    least, most = _region(claim) if claim.direction == 0 else (claim.reference, claim.reference)
    if all(x > most for x in values) or all(x < least for x in values) or all(least < x < most for x in values):
        return taken
    spread = f"{min(values):.3g} to {max(values):.3g}" if values else "nothing"
    note = f"depends on what the paper does not state ({', '.join(claim.swept)}): {spread} {claim.unit}".strip()
    return replace(taken, direction="not testable", size=None, note=note)


def _reason(claim: Claim, j: ClaimResult) -> str:
    """A text with the measured value and the claimed one."""
    if j.value is None:
        return j.note
    unit = f" {claim.unit}" if claim.unit else ""
    measured = f"{j.value:.4g}{unit}"
    if j.low is None or j.high is None:
        measured += " (the same under every seed)"
    else:
        measured += f" [{j.low:.4g}, {j.high:.4g}] over {j.n} {claim.n_unit}"
    side = {1: "above", -1: "below", 0: f"within {claim.tolerance:g} of"}[claim.direction]
    parts = [f"{measured}; claimed {side} {claim.reference:g}{unit}"]
    if claim.expected is not None:
        runs = f" (single runs: {j.single[0]:.4g} to {j.single[1]:.4g})" if j.single else ""
        parts.append(f"printed {claim.expected:.4g}{runs}")
    return "; ".join([*parts, *([j.note] if j.note else [])]) + (f". {claim.remark}" if claim.remark else "")
