"""Verdicts on claims: the direction of an effect and its size, under the calibrated interpretation and all others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ackclock import stats
from ackclock.apps.papers.folder import Claim, call
from ackclock.apps.papers.readings import Reading
from ackclock.apps.papers.results import Results, UndefinedRatio
from ackclock.apps.papers.verdict import verdict, verdict_over_rows
from ackclock.base.files import BadInput

MAX_RATIO_DEVIATION = 0.1
"""Maximum relative deviation at which a ratio reproduces the printed one, however large the effect."""


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
    is_one_run: bool = False
    """Whether it is of one run and so without interval. (A value that is equal in every run has n = 1 too.)"""

    def to_dict(self) -> dict[str, Any]:
        """What verdicts.json has of it."""
        single = None if self.single is None else list(self.single)
        return {"value": self.value, "low": self.low, "high": self.high, "n": self.n, "single_run": single}


@dataclass(frozen=True)
class Verdict:
    """A claim with its judgement under the calibrated interpretation (`calibrated`) and under the others.

    `rows` are the interpretations under which the claim is judged with all seeds too: it holds only if it holds under
    all of them.
    """

    claim: Claim
    calibrated: ClaimResult
    rows: list[ClaimResult] = field(default_factory=list)
    choices: list[ClaimResult] = field(default_factory=list)
    """The judgements under the other interpretations that change a run of the claim; the rows are not among them."""
    p_holm: float | None = None

    @property
    def weak(self) -> bool:
        """Whether the claim's interval decides it, but not after the correction for the number of claims."""
        return self.calibrated.direction in {"confirmed", "opposite"} and self.p_holm is not None and self.p_holm > 0.05

    @property
    def p(self) -> float | None:
        """The p-value of the claim: the largest of its rows."""
        return max((j.p for j in (self.calibrated, *self.rows) if j.p is not None), default=None)

    @property
    def _judged(self) -> tuple[str, str]:
        """The verdict with the rows and after the correction."""
        return verdict_over_rows([(j.direction, j.size) for j in (self.calibrated, *self.rows)], weak=self.weak)

    @property
    def word(self) -> str:
        """The verdict: confirmed, refuted, undecided or not testable."""
        return self._judged[0]

    @property
    def detail(self) -> str:
        """What the word leaves out; may be empty."""
        return self._judged[1]

    @property
    def alone(self) -> str:
        """The verdict without the correction for the number of claims."""
        return replace(self, p_holm=None).word

    def on_claimed_side(self, value: float) -> bool:
        """Whether a value lies where the paper says."""
        claim = self.claim
        if claim.direction == 0:
            return abs(value - claim.reference) <= claim.tolerance
        return (value - claim.reference) * claim.direction > 0

    def to_dict(self) -> dict[str, Any]:
        """The claim's entry in verdicts.json, with p-values: t test, after Holm's correction, Wilcoxon's."""
        c = self.claim
        return {
            "id": c.id,
            "short": c.short,
            "quote": c.quote,
            "place": c.place,
            "metric": c.metric,
            "kind": c.kind,
            "unit": c.unit,
            "verdict": self.word,
            "detail": self.detail,
            **self.calibrated.to_dict(),
            "n_unit": c.n_unit,
            "printed": c.expected,
            "claimed": {"side": c.direction, "reference": c.reference, "tolerance": c.tolerance},
            "equivalence": _region(c),
            "size_tolerance": None if c.expected is None else list(_around(c, c.expected)),
            "note": self.calibrated.note,
            "scenarios": [f"studies/{c.study}.toml"] if c.study else [],
            "p": self.p,
            "p_holm": self.p_holm,
            "wilcoxon": self.calibrated.wilcoxon,
            "alone": self.alone,
            "evidence": {"direction": self.calibrated.direction, "size": self.calibrated.size},
            "rows": [{"what": j.reading, "verdict": verdict(j.direction, j.size)[0], **j.to_dict()} for j in self.rows],
            "choices": [{"what": j.reading, "fits": j.equivalent, **j.to_dict()} for j in self.choices],
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
    rows = [results.under(reading) for reading in readings if reading.row]
    others = [results.under(reading) for reading in readings if not reading.row]
    verdicts = []
    for claim in claims:
        taken = evaluate_claim(results, claim)
        held = [] if claim.settled else [_other(view, claim, taken) for view in rows]
        choices = [] if claim.settled else [_other(view, claim, taken) for view in others]
        if claim.swept:
            taken, *held = (_swept(claim, j, choices, readings) for j in (taken, *held))
        if not sizes or (taken.size is not None and not _one_size(claim, taken, [*held, *choices])):
            taken, *held = (replace(j, size=None) for j in (taken, *held))
        verdicts.append(Verdict(claim, taken, _affected(held), _affected(choices)))
    tested = [v for v in verdicts if v.p is not None]
    adjusted = dict(zip([v.claim.id for v in tested], stats.holm([v.p or 0.0 for v in tested]), strict=True))
    return [replace(v, p_holm=adjusted.get(v.claim.id)) for v in verdicts]


def _affected(results: Sequence[ClaimResult]) -> list[ClaimResult]:
    """Those of interpretations that change an outcome of the claim."""
    return [j for j in results if j.affected]


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
        word, note = claim.settled
        return ClaimResult(label, word, None, e.value, e.low, e.high, e.n, note=note, is_one_run=len(values) == 1)
    if len(values) == 1:
        return ClaimResult(label, "undecided", value=e.value, n=1, note="one run gives no interval", is_one_run=True)
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
    """p-values of the t test and of Wilcoxon's against the reference; for similarity, of two one-sided tests.

    None for no difference: it is not decided by a test against the reference.
    """
    if direction_word == "no difference":
        return None, None
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


def _swept(claim: Claim, j: ClaimResult, choices: Sequence[ClaimResult], readings: Sequence[Reading]) -> ClaimResult:
    """Judge a claim on an absolute number: it is not testable if unstated parameters decide the side of the value.

    The values are those over the candidates of the parameters that the claim names, and of the interpretations that
    fit equally well.
    """
    swept = {reading.label for reading in readings if reading.changes in claim.swept or reading.equivalent}
    values = [x.value for x in (j, *(c for c in choices if c.reading in swept)) if x.value is not None]
    least, most = _region(claim) if claim.direction == 0 else (claim.reference, claim.reference)
    if all(x > most for x in values) or all(x < least for x in values) or all(least < x < most for x in values):
        return j
    spread = f"{min(values):.3g} to {max(values):.3g}" if values else "nothing"
    note = f"depends on what the paper does not state ({', '.join(claim.swept)}): {spread} {claim.unit}".strip()
    return replace(j, direction="not testable", size=None, p=None, wilcoxon=None, note=note)
