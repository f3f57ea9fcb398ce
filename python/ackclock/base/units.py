"""Times and percentages that a user writes, as numbers."""

from __future__ import annotations

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


def percent(text: str, what: str) -> float:
    """Convert a percentage such as "1%" to a fraction. Messages name the option as `what`. Raises BadInput."""
    try:
        part = float(text.removesuffix("%")) / 100
    except ValueError:
        part = -1.0
    if not text.endswith("%") or not 0 <= part < 1:
        raise BadInput(f"{what} {text}: must be a percentage of at least 0% and less than 100%, such as 1%")
    return part
