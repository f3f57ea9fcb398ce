"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from ackclock.base import shipped
from ackclock.base.files import BadInput
from ackclock.base.units import interval, size

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
    return located(str(getattr(tokens[0], "value", "")))


def located(text: str) -> Path:
    """The path of a scenario argument. Raises BadInput if there is no such shipped scenario."""
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
Engine = Literal["local", "ray"]
Jobs = Annotated[int | None, Parameter(validator=at_most("--jobs", 1024))]


def _time_limit(_type: object, tokens: Sequence[object]) -> float:
    """Seconds of the time limit of a run; 0 for none."""
    text = str(getattr(tokens[0], "value", ""))
    return 0.0 if text in {"0", "none"} else interval(text, "--time-limit")


TimeLimit = Annotated[float | None, Parameter(name="--time-limit", converter=_time_limit)]
"""The time limit of a run with a controller in Python, seconds."""


def _memory_limit(_type: object, tokens: Sequence[object]) -> int:
    """Bytes of the limit of memory of a run."""
    text = str(getattr(tokens[0], "value", ""))
    limit = size(text, "--memory-limit")
    if limit < LEAST_MEMORY_LIMIT:
        raise BadInput(
            f"--memory-limit {text}: must be at least {LEAST_MEMORY_LIMIT // 10**6}MB, which a process needs"
        )
    return limit


LEAST_MEMORY_LIMIT = 256 * 10**6
MemoryLimit = Annotated[int | None, Parameter(name="--memory-limit", converter=_memory_limit)]
"""The limit of the memory of each process with a controller in Python, bytes."""
