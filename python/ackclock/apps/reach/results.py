"""The results of runs in real time, and the error if there can be none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import polars as pl

Substrate = Literal["udp", "linux", "kernel"]
ATTEMPTS = 3
"""Times that a run in real time is made, if it does not follow the wall clock closely enough."""


class Unavailable(Exception):
    """A run in real time needs what this machine, or this build, does not provide. Exit status 3."""


@dataclass(frozen=True)
class LiveResult:
    """The result of a run in real time."""

    outcome: dict[str, Any]
    """As the outcome of a simulated run (docs/outcome-keys.md): values that cannot be measured are None. Besides it has
    `substrate` and `validity` (docs/real-stacks.md)."""
    trace: pl.DataFrame
    """The window trace of the first flow, with the columns of a simulated run: at least `time_s` (s), `cwnd` and
    `ssthresh` (segments; infinite until set), a row for each change."""
