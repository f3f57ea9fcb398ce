"""A situation of a suite: a network in which a controller is tried, and what is measured there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Situation:
    """A scenario or study, `ID.toml`, in which a controller is tried, and what is measured there.

    The flows under test are those whose names begin with `tested`; they use the controller of `[tcp]`. Flows whose
    names begin with `rivals` set their own controller.
    """

    id: str
    title: str
    metrics: list[str]
    seeds: int
    quick: int
    place: str = ""
    """Where the source of the suite describes it."""
    question: str = ""
    bottleneck: str = ""
    """Name of the bottleneck link, such as "r1->r2"."""
    tested: str = "t"
    rivals: str = ""
    parameters: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Parameters that describe the network to controllers, by controller name."""
