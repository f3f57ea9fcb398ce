"""Programs behind a scenario's network, in real time, and what the network recorded meanwhile."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from ackclock import _core
from ackclock.apps.reach.runs import errors_of, need_linux

if TYPE_CHECKING:
    import polars as pl

    from ackclock.scenario import Scenario

ADDRESSES = {"local": ["10.77.0.1", "10.77.0.2"], "remote": ["10.77.0.2", "10.77.0.1"]}
"""The addresses of the two ends, as `crates/reach` assigns them: of the source and of the destination."""
FOREVER_S = 30 * 86_400.0
"""Bound of an emulation whose network does not depend on the duration of the scenario."""


@dataclass(frozen=True)
class Programs:
    """The programs at the two ends, each with its arguments, in which {local} and {remote} stand for the addresses."""

    first: Sequence[str]
    """At the source of the first flow; the emulation ends with it."""
    other: Sequence[str] | None = None
    """At the destination; it starts before."""


@dataclass(frozen=True)
class Surroundings:
    """What the programs find: their environment and their streams."""

    environment: Mapping[str, str]
    """The whole environment of both; the addresses of the ends are added."""
    output: int | None = None
    """Descriptor of a file that receives what they write; their standard input is then empty. None: the streams of this
    process."""
    to_error: bool = False
    """They write to standard error only."""


@dataclass(frozen=True)
class Recording:
    """What is recorded of the network."""

    packets: Literal["off", "first", "all"] = "off"
    """The packet events: none, the first three million (120 MB), or all."""
    captures: Sequence[str] = ()
    """Places of captures, as `ackclock run --pcap` has them."""


NO_RECORDING = Recording()


class Emulated:
    """What happened in an emulation."""

    def __init__(self, finished: _core.FinishedEmulation, captures: Sequence[str] = ()) -> None:
        self._finished = finished
        self.report: dict[str, Any] = json.loads(finished.report)
        """`status` (None if the time was over), `program_s`, `measured_s`, `ends`, `links`, `validity` and others."""
        self.flow = finished.flow_names[0] if finished.flow_names else ""
        self.captures = dict(zip(captures, finished.captured, strict=True))
        """The captures by place, each as the contents of a pcapng file."""
        self.until_s = min(finished.packets_until_s, self.report["elapsed_s"])
        """The time up to which all packet events were recorded, s."""

    @cached_property
    def packets(self) -> pl.DataFrame:
        """Every packet event of all flows (docs/outcome.md); empty unless recorded.

        `kind` is `data` for packets of the programs from the source to the destination, `ack` for those back.
        """
        from ackclock.base import frames

        return frames.packets(self._finished)


def emulate(
    scenario: Scenario,
    programs: Programs,
    around: Surroundings,
    recording: Recording = NO_RECORDING,
    *,
    warn: Callable[[str], object],
    seed: int | None = None,
    limit_s: float | None = None,
) -> Emulated:
    """Run programs at the two ends of the first flow, with the network between them.

    The emulation ends with the first program, or after `limit_s` seconds. By default it has no limit, except for
    networks whose events are computed before (satellites, radio, traffic from the seed): there it is the scenario's
    duration. `warn` receives messages about the programs.
    Raises Unavailable, BadInput, ScenarioError.
    """
    need_linux()
    if limit_s is None and not bounded(scenario):
        limit_s = FOREVER_S
    with errors_of(scenario):
        finished = _core.emulate(
            scenario._parsed,
            _addressed(programs.first, 0),
            None if programs.other is None else _addressed(programs.other, 1),
            list(around.environment.items()),
            warn=warn,
            seed=seed,
            limit_s=limit_s,
            output=around.output,
            to_error=around.to_error,
            packets=recording.packets,
            captures=list(recording.captures),
        )
    return Emulated(finished, recording.captures)


def _addressed(arguments: Sequence[str], end: int) -> list[str]:
    """Arguments of a program at an end (0 or 1), with the addresses in place of {local} and {remote}."""
    texts = list(arguments)
    for name, addresses in ADDRESSES.items():
        texts = [text.replace(f"{{{name}}}", addresses[end]) for text in texts]
    return texts


def failure(report: dict[str, Any]) -> str:
    """Which program has failed, and how; empty if none has. A program that the end of the time has ended has not."""
    if report["not_started"]:
        return f"cannot run {', '.join(report['not_started'])}"
    if report["status"] not in {None, 0}:
        return f"the program has ended with status {report['status']}"
    if report["other_status"] not in {None, 0}:
        return f"the command at the other end has ended with status {report['other_status']}"
    return ""


def was_slow(report: dict[str, Any]) -> bool:
    """Whether the network could not keep up with the clock, which has ended the emulation."""
    return any("slower than real time" in reason for reason in report["validity"]["reasons"])


def bounded(scenario: Scenario) -> bool:
    """Whether the network is computed for the scenario's duration only: satellites, radio nodes, drawn traffic."""
    network = scenario.network
    return bool(network["terminals"] or network["radio"] or scenario.resolved["traffic"])
