"""Axes of studies as positions: labels such as "10Mbps", "20ms", "1bdp" or "droptail limit=40p" as numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ackclock.base.si import prefixed

NUMBER = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([A-Za-z%]*)")
UNITS = {
    "": (1.0, ""),
    "%": (0.01, ""),
    **{f"{prefix}bps": (factor, "b/s") for prefix, factor in (("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9))},
    **{f"{prefix}s": (factor, "s") for prefix, factor in (("", 1.0), ("m", 1e-3), ("u", 1e-6), ("n", 1e-9))},
    **{f"{prefix}B": (factor, "B") for prefix, factor in (("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9))},
    **{f"{prefix}iB": (factor, "B") for prefix, factor in (("K", 2.0**10), ("M", 2.0**20), ("G", 2.0**30))},
    "bdp": (1.0, "bandwidth-delay products"),
    "p": (1.0, "packets"),
    "m": (1.0, "m"),
    "km": (1e3, "m"),
    "mps": (1.0, "m/s"),
    "deg": (1.0, "degrees"),
}
"""Factor and unit of the suffixes of scenario files."""
LOG_FROM = 40.0
"""An axis whose largest number is this many times its smallest is logarithmic by default."""


def number(label: str) -> tuple[float, str] | None:
    """A label as a number and its unit (b/s, s, B, ...); None if it is no number."""
    match = NUMBER.fullmatch(label.strip())
    if match is None or match[2] not in UNITS:
        return None
    factor, unit = UNITS[match[2]]
    return float(match[1]) * factor, unit


@dataclass(frozen=True)
class Axis:
    """An axis of a study, as drawn."""

    name: str
    labels: list[str]
    words: str
    """Name for the figure, with unit."""
    numbers: list[float] | None
    """The labels as numbers in this unit, or None if one is no number."""

    @property
    def wide(self) -> bool:
        """Whether the numbers span so much that a logarithmic axis shows them better."""
        positive = [x for x in self.numbers or [] if x > 0]
        no_negative = self.numbers is not None and min(self.numbers) >= 0
        return no_negative and len(positive) > 2 and max(positive) >= LOG_FROM * min(positive)


def axis(name: str, labels: Sequence[str]) -> Axis:
    """An axis from its name in the study and its labels.

    If the labels are lists of words that differ in one value (`droptail limit=5p`), that value is taken.
    """
    words = readable(name)
    values = list(labels)
    split = [label.split() for label in labels]
    if len({len(parts) for parts in split}) == 1 and len(labels) > 1:
        differ = [i for i in range(len(split[0])) if len({parts[i] for parts in split}) > 1]
        pairs = [parts[differ[0]].partition("=") for parts in split] if len(differ) == 1 else []
        if pairs and pairs[0][1] and len({key for key, _, _ in pairs}) == 1:
            words, values = f"{words} {pairs[0][0]}", [value for _, _, value in pairs]
    numbers = [number(value) for value in values]
    present = [pair for pair in numbers if pair is not None]
    # Zero needs no unit.
    units = {unit for value, unit in present if value or unit}
    if len(present) < len(numbers) or len(units) > 1:
        return Axis(name, list(labels), words, None)
    unit = next(iter(units), "")
    factor, shown = prefixed(unit, [value for value, _ in present])
    return Axis(name, list(labels), f"{words} ({shown})" if shown else words, [factor * value for value, _ in present])


def readable(name: str) -> str:
    """The name of an axis without the tables of the scenario: `link.l.loss.rate` is "l loss rate"."""
    parts = [part.strip() for part in name.split(",")]
    shown = []
    for part in parts:
        keys = part.split(".")
        if keys[0] in {"link", "flow", "tcp", "quic"} and len(keys) > 1:
            keys = keys[1:]
        shown.append(" ".join(key for key in keys if key not in {"tcp", "quic"}).replace("_", " "))
    return ", ".join(shown)
