"""Shared parts of all pages: templates, style and number formats."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ackclock import stats

if TYPE_CHECKING:
    from jinja2 import Environment


def value(x: float | None, significant: int = 3) -> str:
    """A number with this many significant digits and with thousands separators."""
    if x is None or math.isnan(x):
        return "-"
    if x == 0:
        return "0"
    if abs(x) >= 1000:
        return f"{x:,.0f}"
    if abs(x) < 0.001:
        return f"{x:.2g}"
    digits = max(0, significant - 1 - math.floor(math.log10(abs(x))))
    text = f"{x:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


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


def environment(package: str) -> Environment:
    """Templates of a package, with the style of all pages and filters for numbers."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package, "."), PackageLoader("ackclock", ".")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"value": value, "interval": interval, "signed": signed}
    return environment
