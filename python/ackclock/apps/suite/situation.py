"""A situation of a suite: a network in which a controller is tried, and what is measured there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ackclock.apps.suite.checks import Check


@dataclass(frozen=True)
class Situation:
    """A scenario or study, `ID.toml`, in which a controller is tried, and what is measured there.

    The flows under test are those whose names begin with `tested`; they use the controller of `[tcp]`. Flows whose
    names begin with `rivals` set their own controller. With `transport = "quic"` they use that of `[quic]`.
    """

    id: str
    title: str
    metrics: list[str] = field(default_factory=list)
    seeds: int = 1
    quick: int = 1
    place: str = ""
    """Where the source of the suite describes it."""
    question: str = ""
    group: str = ""
    """Heading above the situations of a kind in the table of all situations."""
    bottleneck: str = ""
    """Name of the bottleneck link, such as "r1->r2"."""
    tested: str = "t"
    transport: str = "tcp"
    """The table that gets the controller: `tcp`, or `quic` for a scenario whose tested flows are QUIC flows."""
    rivals: str = ""
    parameters: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Parameters that describe the network to controllers, by controller name."""
    reference: dict[str, float] = field(default_factory=dict)
    """Published values of metrics, in the unit of tables, which are shown beside the results without a verdict."""
    source: str = ""
    """`SUITE/ID` of the situation of another suite whose scenario it uses (`from` in the file)."""
    level: str = "test"
    """What the document demands: `test`, `must`, `should`, `may` or `text`."""
    demand: str = ""
    """What the document demands, in words of the suite."""
    pilot: dict[str, Any] = field(default_factory=dict)
    """Times in a first run of the scenario without the values that use them, as expressions, by name."""
    networks: bool = False
    """Whether it is also run in the networks of the suite."""
    check: list[Check] = field(default_factory=list)
