"""Quantities with SI prefixes for tables and messages."""

from __future__ import annotations

import math
from collections.abc import Iterable

PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n"))


def scale(value: float) -> tuple[float, str]:
    """Factor and prefix with which a value, in its unit, has one to three digits before the point."""
    rounded = abs(value) * 1.0001  # 999.95 is written as 1 k
    return next(((factor, prefix) for factor, prefix in PREFIXES if rounded >= factor), PREFIXES[-1])


def quantity(value: float, unit: str, digits: int = 3) -> str:
    """The value with a prefix and at most so many significant digits, such as `3.98 Mb/s`. Zero seconds are 0 ms."""
    if value == 0:
        return f"0 {'ms' if unit == 's' else unit}"
    factor, prefix = scale(value)
    return f"{digits_of(value / factor, digits)} {prefix}{unit}"


def digits_of(value: float, digits: int = 3) -> str:
    """The value with at most so many significant digits, without an exponent and without trailing zeros."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    if places <= 0:
        return f"{round(value):,}"
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".")


def common_scale(values: Iterable[float]) -> tuple[float, str]:
    """Factor and prefix for a column: those of its largest value; none for no value or zeros."""
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    return scale(largest) if largest > 0 else (1.0, "")


def decimals(half_width: float) -> int:
    """Decimals of a value whose interval has this half-width, at most 6.

    The half-width has two significant digits if the first one is 1 or 2, otherwise one.
    """
    if half_width <= 0 or not math.isfinite(half_width):
        return 0
    exponent = math.floor(math.log10(half_width))
    digits = 2 if half_width / 10.0**exponent < 2.95 else 1
    return min(6, max(0, digits - 1 - exponent))
