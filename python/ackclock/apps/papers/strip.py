"""Values on a line, as HTML: printed, measured, stored, and where the paper says that they lie.

A strip is an element with marks at places in percent: no script, and dark and print styles hold for it. What it shows
is also in the text beside it, so that it is hidden from screen readers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ackclock.apps.papers.folder import Claim
from ackclock.apps.papers.full_form import StoredVerdict
from ackclock.apps.papers.judge import Verdict
from ackclock.apps.papers.numbers import with_unit
from ackclock.apps.papers.verdict import BY_NAME
from ackclock.base import si

SMALLEST = 1e-12
"""Values at and below zero are drawn at this one on a logarithmic axis: at its lower end."""


@dataclass(frozen=True)
class Axis:
    """An axis with the places of its ticks, and how a tick is written."""

    low: float
    high: float
    logarithmic: bool = False
    ticks: tuple[float, ...] = ()
    tick_text: Callable[[float], str] = si.value

    def place(self, x: float) -> float:
        """The place of a value in percent; a value outside is at the edge."""
        if self.logarithmic:
            part = math.log(max(x, SMALLEST) / self.low) / math.log(self.high / self.low)
        else:
            part = (x - self.low) / (self.high - self.low)
        return 100 * min(1.0, max(0.0, part))

    def outside(self, x: float) -> str:
        """The class of a mark that is drawn at an edge."""
        return " below" if x < self.low else " above" if x > self.high else ""


def ratio_text(x: float) -> str:
    """A ratio as a tick: 2×, 1/16."""
    return f"{x:g}×" if x >= 0.25 else f"1/{round(1 / x)}"


def ratio_axis(low: float, high: float, ticks: Sequence[float] = ()) -> Axis:
    """A logarithmic axis of ratios, with powers of two as ticks if none are named: at most five; or with its ends."""
    if not ticks:
        first, last = math.ceil(math.log2(low) - 1e-9), math.floor(math.log2(high) + 1e-9)
        step = max(1, -(-(last - first) // 4))
        ticks = [2.0**k for k in range(first, last + 1) if k % step == 0]
        ticks = [low, *ticks, high] if len(ticks) < 2 else ticks
    return Axis(low, high, True, tuple(ticks), ratio_text)


def claim_axis(v: Verdict, full: StoredVerdict | None) -> Axis:
    """The axis of one claim: ratios symmetric about 1, shares from 0 to 100 %, other values with 0."""
    claim, results = v.claim, [v.calibrated, *v.rows, *v.choices]
    values = [x for j in results for x in (j.value, j.low, j.high) if x is not None]
    values += [x for x in (claim.expected, claim.reference) if x is not None]
    values += [x for x in (() if full is None else (full.value, full.low, full.high)) if x is not None]
    if claim.kind == "ratio":
        reach = max(abs(math.log2(max(x, 2.0**-12))) for x in values)
        limit = 2.0 ** min(12, max(1, math.ceil(reach + 0.15)))
        return ratio_axis(1 / limit, limit)
    if claim.kind == "share":
        return Axis(0.0, 1.0, ticks=(0.0, 0.5, 1.0), tick_text=lambda x: f"{round(100 * x)} %")
    low, high = min(0.0, *values), max(0.0, *values)
    margin = 0.15 * ((high - low) or 1.0)
    ticks = tuple(dict.fromkeys((low, 0.0, high)))
    return Axis(low - margin, high + margin, ticks=ticks, tick_text=lambda x: with_unit(claim, x))


def mark(kind: str, axis: Axis, x: float) -> str:
    """A mark at a value."""
    return f'<i class="{kind}{axis.outside(x)}" style="left:{axis.place(x):.2f}%"></i>'


def span(kind: str, axis: Axis, low: float, high: float) -> str:
    """A mark from one value to another."""
    left, right = axis.place(low), axis.place(high)
    return f'<i class="{kind}" style="left:{left:.2f}%;width:{max(0.0, right - left):.2f}%"></i>'


def strip(marks: Iterable[str]) -> Markup:
    """A strip with these marks."""
    return Markup('<div class="ch" aria-hidden="true">' + "".join(marks) + "</div>")


def scale(axis: Axis) -> Markup:
    """The ticks below a strip."""
    ticks = []
    for x in axis.ticks:
        place = axis.place(x)
        end = "first" if place < 3 else "last" if place > 97 else ""
        ticks.append(
            Markup('<span class="{}" style="left:{}%">{}</span>').format(end, f"{place:.2f}", axis.tick_text(x))
        )
    return Markup('<div class="ax" aria-hidden="true">') + Markup("").join(ticks) + Markup("</div>")


def claimed_band(claim: Claim, axis: Axis) -> list[str]:
    """The band where the paper says that the value lies, and the line of the reference: 1 for ratios."""
    ends = {
        1: (claim.reference, axis.high),
        -1: (axis.low, claim.reference),
        0: (claim.reference - claim.tolerance, claim.reference + claim.tolerance),
    }[claim.direction]
    return [span("rg", axis, *ends), mark("ref", axis, 1.0 if claim.kind == "ratio" else claim.reference)]


def claim_strip(v: Verdict, full: StoredVerdict | None, axis: Axis, *, choices: bool = False) -> Markup:
    """The strip of a claim; with `choices` also the values under other choices of what the paper does not state."""
    css = BY_NAME[v.word].css
    marks = claimed_band(v.claim, axis)
    if choices:
        values = [(j.value, "rd near" if j.equivalent else "rd") for j in v.choices]
        marks += [mark(kind, axis, x) for x, kind in values if x is not None]
    if full is not None and full.value is not None:
        if full.low is not None and full.high is not None:
            marks.append(span("fw", axis, full.low, full.high))
        marks.append(mark("fd", axis, full.value))
    for number, j in enumerate([v.calibrated, *v.rows]):
        if j.value is None:
            continue
        second = " row" if number else ""
        if j.low is not None and j.high is not None:
            marks.append(span(f"wh {css}{second}", axis, j.low, j.high))
        marks.append(mark(f"dot {css}{second}{' one' if j.is_one_run else ''}", axis, j.value))
    if v.claim.expected is not None:
        marks.append(mark("pr", axis, v.claim.expected))
    return strip(marks)
