"""Times, sizes and percentages that a user writes, as numbers."""

from __future__ import annotations

import re

from ackclock import _core
from ackclock.base.files import BadInput


def seconds(text: str, what: str) -> float:
    """Convert a time such as "600s" to seconds. Messages name the option as `what`. Raises BadInput."""
    try:
        return _core.seconds(text)
    except ValueError as error:
        raise BadInput(f"{what}: {error}") from None


def interval(text: str, what: str) -> float:
    """Convert a time that is above zero to seconds. Raises BadInput."""
    length_s = seconds(text, what)
    if length_s <= 0:
        raise BadInput(f"{what}: must be more than zero")
    return length_s


def size(text: str, what: str) -> int:
    """Convert a size of memory such as "2GB" to bytes. Messages name the option as `what`. Raises BadInput."""
    parts = re.fullmatch(r"(\d+(?:\.\d+)?) ?([kMG]?)(i?)B", text)
    if parts is None:
        raise BadInput(f"{what} {text}: must be a number with kB, MB or GB, such as 2GB")
    return int(float(parts[1]) * (1024 if parts[3] else 1000) ** " kMG".index(parts[2] or " "))


def percent(text: str, what: str) -> float:
    """Convert a percentage such as "1%" to a fraction. Messages name the option as `what`. Raises BadInput."""
    try:
        part = float(text.removesuffix("%")) / 100
    except ValueError:
        part = -1.0
    if not text.endswith("%") or not 0 <= part < 1:
        raise BadInput(f"{what} {text}: must be a percentage of at least 0% and less than 100%, such as 1%")
    return part


PREFIXES = {"": 1.0, "n": 1e-9, "u": 1e-6, "µ": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9}
SPELLINGS = {"b/s": ("b/s", "bps", "bit/s"), "s": ("s",), "B": ("B",)}
"""How the units of metrics are written."""


def quantity(text: str, unit: str) -> float:
    """A value such as "30ms", "5 Mb/s" or "90%" in an SI unit. Raises ValueError, also if the unit is missing."""
    match = re.fullmatch(r"\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(.*?)\s*", text)
    if match is None:
        raise ValueError(f'"{text}" is no number')
    number, written = float(match[1]), match[2]
    factors = {"": 1.0, "%": 0.01} if unit not in SPELLINGS else {"": 1.0} if number == 0 else {}
    for spelling in SPELLINGS.get(unit, (unit,) if unit else ()):
        factors |= {prefix + spelling: factor for prefix, factor in PREFIXES.items()}
    if written not in factors:
        units = "s, ms, us" if unit == "s" else f"{unit}, k{unit}, M{unit}" if unit else "%"
        what = f'"{written}" is no unit of this metric' if written else f'"{text.strip()}" has no unit'
        raise ValueError(f"{what}; it is in {units}")
    return number * factors[written]
