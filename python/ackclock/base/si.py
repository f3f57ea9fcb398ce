"""Numbers as text for tables, messages, figures and pages: quantities with SI prefixes, intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ackclock import stats

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


def prefixed(unit: str, values: Iterable[float]) -> tuple[float, str]:
    """Factor and unit in which these values have few digits: rates, times up to seconds, and bytes have prefixes."""
    if unit not in {"b/s", "s", "B"}:
        return 1.0, unit
    size, _ = scale(max((abs(value) for value in values if value), default=1.0))
    size = min(size, 1.0) if unit == "s" else max(size, 1.0)
    return 1 / size, f"{dict(PREFIXES)[size].replace('u', 'µ')}{unit}"


def value(x: float | None, significant: int = 3) -> str:
    """A number with at most so many significant digits and with thousands separators; small ones with an exponent."""
    if x is None or math.isnan(x):
        return "-"
    return f"{x:.2g}" if 0 < abs(x) < 0.001 else digits_of(x, significant)


def interval(e: stats.Estimate | None, significant: int = 3) -> str:
    """The interval as [low, high]; an empty text if there is none or if its width is zero."""
    if e is None or e.low is None or e.high is None or e.low == e.high:
        return ""
    return f"[{value(e.low, significant)}, {value(e.high, significant)}]"


def estimate(e: stats.Estimate, significant: int = 3) -> str:
    """A value with its interval."""
    return f"{value(e.value, significant)} {interval(e, significant)}".rstrip()


def signed(e: stats.Estimate | None) -> str:
    """A difference with its sign."""
    return "-" if e is None else f"{'+' if e.value > 0 else ''}{value(e.value)}"


def decimals(half_width: float) -> int:
    """Decimals of a value whose interval has this half-width, at most 6.

    The half-width has two significant digits if the first one is 1 or 2, otherwise one.
    """
    if half_width <= 0 or not math.isfinite(half_width):
        return 0
    exponent = math.floor(math.log10(half_width))
    digits = 2 if half_width / 10.0**exponent < 2.95 else 1
    return min(6, max(0, digits - 1 - exponent))
