"""The most interesting findings of several reproductions: claims that are refuted, then those of other sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ackclock.papers.judge import Verdict
    from ackclock.papers.reproduce import Reproduction

Finding = tuple[str, "Verdict"]
"""The key of a paper and a verdict."""


def distance(verdict: Verdict) -> float:
    """Distance of the measured value from the printed number (the claimed bound where none is printed), 0 to 2.

    It is relative to the larger of the two numbers; a value with the other sign has a distance above 1.
    """
    claim, value = verdict.claim, verdict.taken.value
    wanted = claim.reference if claim.expected is None else claim.expected
    largest = 0.0 if value is None else max(abs(value), abs(wanted))
    return 0.0 if value is None or largest == 0 else abs(value - wanted) / largest


def most_interesting(reproductions: Sequence[Reproduction], count: int = 3) -> list[Finding]:
    """Claims whose opposite was measured, those farthest from the paper's number first, then numbers that differ.

    Verdicts that Holm's correction does not support are left out. No paper has a second finding before every other
    paper with a finding has one.
    """
    ranks: list[tuple[int, bool, float, str, Verdict]] = []
    for one in reproductions:
        differing = [
            v for v in one.verdicts if v.direction == "opposite" or v.size in {"smaller", "larger", "excluded"}
        ]
        supported = [v for v in differing if not v.weak and v.taken.value is not None]
        ordered = sorted(supported, key=lambda v: (v.direction != "opposite", -distance(v)))
        for place, v in enumerate(ordered):
            ranks.append((place, v.direction != "opposite", -distance(v), one.paper.key, v))
    ranks.sort(key=lambda rank: rank[:4])
    return [(key, v) for *_, key, v in ranks[:count]]


def sentence(finding: Finding) -> str:
    """A finding in two lines: claim and verdict, then the measured and the claimed number."""
    key, v = finding
    verdict_words = v.direction if v.size is None else f"{v.direction}, size {v.size}"
    return f'{key} {v.claim.id}: {verdict_words}: "{v.claim.quote}"\n   {v.claim.metric}: {v.reason.split(". ")[0]}'
