"""The words for the result of a claim. Pages, README, terminal and verdicts.json take them from here alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Word:
    """A verdict: its sign, its meaning, its class in pages, and the answer to the claim as a question."""

    name: str
    sign: str
    meaning: str
    css: str
    answer: str


WORDS = (
    Word("confirmed", "✓", "our runs show it", "c", "yes"),
    Word("refuted", "✗", "our runs show no difference, or the opposite", "r", "no"),
    Word("undecided", "?", "too few runs, or too small a difference", "u", "undecided"),
    Word("not testable", "–", "the paper says too little, or contradicts itself", "n", "not testable"),
)
BY_NAME = {word.name: word for word in WORDS}

DIRECTIONS = ("confirmed", "no difference", "opposite", "undecided", "not testable", "impossible", "contradicts itself")
"""Where the interval of a claim lies, or why no run can decide it (judge.py)."""
SIZES = ("reproduced", "consistent", "smaller", "larger", "excluded")
"""How a value agrees with the printed number (judge.py)."""

_CONFIRMED = {
    "reproduced": "number agrees",
    "consistent": "number agrees",
    "smaller": "effect smaller than printed",
    "larger": "effect larger than printed",
}
_REFUTED = {"opposite": "our value lies on the other side", "no difference": "no difference"}
_NOT_TESTABLE = {
    "not testable": "the paper leaves it open",
    "impossible": "the experiment could not show it",
    "contradicts itself": "the paper contradicts itself",
}


def verdict(direction: str, size: str | None = None, *, weak: bool = False) -> tuple[str, str]:
    """The word for a claim, and a detail that may be empty.

    `weak`: the interval decides the claim, but not after the correction for the number of claims.
    """
    if direction in _NOT_TESTABLE:
        return "not testable", _NOT_TESTABLE[direction]
    if weak and direction in {"confirmed", "opposite"}:
        return "undecided", "does not survive the correction for many claims"
    if direction == "confirmed":
        return "confirmed", _CONFIRMED.get(size or "", "")
    excluded = "; the printed number is ruled out" if size == "excluded" else ""
    if direction in _REFUTED:
        return "refuted", _REFUTED[direction] + excluded
    return "undecided", "the interval spans both answers" + excluded


def verdict_over_rows(rows: Sequence[tuple[str, str | None]], *, weak: bool = False) -> tuple[str, str]:
    """The verdict on a claim that is judged under several choices of what the paper leaves open: it holds under all.

    `rows` are direction and size under each choice, the calibrated interpretation first.
    """
    names = {verdict(direction, size)[0] for direction, size in rows}
    if len(names) == 1 or "not testable" in names:
        return verdict(*rows[0], weak=weak)
    if "undecided" in names:
        return "undecided", "not decided under every choice that the paper leaves open"
    return "not testable", "it depends on a choice that the paper leaves open"
