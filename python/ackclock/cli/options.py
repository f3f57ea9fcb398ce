"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from ackclock import _core, shipped
from ackclock.files import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence


def _seed(_type: object, tokens: Sequence[object]) -> int:
    text = str(getattr(tokens[0], "value", ""))
    if not text.isdecimal() or int(text) >= 2**63:
        raise ValueError(f"{text} is not a whole number from 0 to 2^63 - 1")
    return int(text)


def at_most(option: str, most: int) -> Callable[[object, int | None], None]:
    """A check that an option is a number from 1 to `most`. It raises BadInput."""

    def check(_type: object, value: int | None) -> None:
        if value is not None and not 1 <= value <= most:
            raise BadInput(f"{option} is a number from 1 to {most:,}")

    return check


def _file(_type: object, tokens: Sequence[object]) -> Path:
    """The path of a scenario argument. Raises BadInput if there is no such shipped scenario."""
    text = str(getattr(tokens[0], "value", ""))
    name = text.removesuffix(".toml")
    if name in shipped.scenarios() and not Path(text).exists():
        raise BadInput(f"{text}: No such file or directory; the shipped scenario of this name is @{name}")
    return Path(shipped.locate(text))


File = Annotated[Path, Parameter(allow_leading_hyphen=False, converter=_file)]
"""A scenario file; `@NAME` is a shipped scenario. As a Path it is completed by shells."""
Seed = Annotated[int | None, Parameter(converter=_seed)]


def _assigned_once(_type: object, values: list[str] | None) -> None:
    """Raise BadInput if two assignments have the same key."""
    keys = [text.partition("=")[0].strip() for text in values or []]
    if twice := next((key for key in keys if keys.count(key) > 1), None):
        raise BadInput(f"--set {twice}: is written twice; write it once")


Overrides = Annotated[list[str] | None, Parameter(name="--set", allow_leading_hyphen=True, validator=_assigned_once)]


AllowCode = Annotated[bool, Parameter(name="--allow-code", negative="")]
Jobs = Annotated[int | None, Parameter(validator=at_most("--jobs", 1024))]


def _time_limit(_type: object, tokens: Sequence[object]) -> float:
    """Seconds of the time limit of a run; 0 for none."""
    text = str(getattr(tokens[0], "value", ""))
    return 0.0 if text in {"0", "none"} else interval(text, "--time-limit")


TimeLimit = Annotated[float | None, Parameter(name="--time-limit", converter=_time_limit)]
"""The time limit of a run with a controller in Python, seconds."""


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


Engine = Literal["local", "ray"]
