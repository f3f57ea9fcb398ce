"""Substrates: what carries the flows of a scenario, simulated or in real time."""

from __future__ import annotations

import difflib
import importlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast

from ackclock.apps.reach.flow_parameters import controller_parameters, tcp_options
from ackclock.base.files import BadInput
from ackclock.scenario import Scenario

if TYPE_CHECKING:
    import polars as pl

    from ackclock.apps.reach.results import Substrate as Kind
    from ackclock.base.workers import Stop


class Refused(Exception):
    """A substrate cannot run a controller; others can run on it."""


LEAST_DATAGRAM = 1228
"""Least size of a full QUIC packet on the wire, bytes: 1200 bytes of UDP payload (RFC 9000 section 14) and 28 more."""

KERNEL_OPTIONS = ("congestion_control", "ecn", "receive_window", "mss")
"""TCP options of a scenario that runs in the kernel take over."""


@dataclass(frozen=True)
class FinishedRun:
    """A run on a substrate."""

    outcome: dict[str, Any]
    """As of a simulated run (docs/outcome.md). In real time it has `validity`; what cannot be measured is None."""
    trace: pl.DataFrame
    """The window trace."""
    notes: list[str] = field(default_factory=list)
    """What the substrate does not take over from the scenario, in words."""


class Substrate(Protocol):
    """One way to run a scenario."""

    name: str
    """Name in `--on`."""
    title: str
    """Description of the substrate in a few words."""
    real_time: bool
    """Whether runs take place in real time: they are repeated, and are not paired by seed."""
    least_packet: int
    """Least size of a full packet on the wire, bytes."""

    def available(self, scenario: Scenario) -> str | None:
        """Why the substrate cannot run the scenario on this machine; None if it can, as far as is known before."""
        ...

    def run(self, scenario: Scenario, seed: int, stop: Stop | None = None) -> FinishedRun:
        """Run the scenario. In virtual time it calls `stop` from time to time, whose exception ends the run.

        Raises Refused if the substrate cannot run a controller of its flows, ScenarioError (with `unmet_need`) if the
        controller needs a signal that is not provided, and ScenarioError or BadInput if the scenario cannot be run at
        all.
        """
        ...


class Simulated:
    """Simulated TCP, as the scenario describes it."""

    name = "tcp"
    title = "simulated TCP, in virtual time"
    real_time = False
    least_packet = 0

    def available(self, scenario: Scenario) -> str | None:
        """See Substrate."""
        return None

    def run(self, scenario: Scenario, seed: int, stop: Stop | None = None) -> FinishedRun:
        """See Substrate."""
        result = scenario.run(seed=seed, trace="changes", progress=stop)
        return FinishedRun(result.outcome, result.trace)


class Quic(Simulated):
    """The QUIC stack quinn-proto in virtual time: every TCP flow of the scenario becomes a QUIC flow."""

    name = "quic"
    title = "QUIC (quinn-proto), in virtual time"
    least_packet = LEAST_DATAGRAM

    def run(self, scenario: Scenario, seed: int, stop: Stop | None = None) -> FinishedRun:
        """See Substrate. The options of TCP without counterpart in QUIC are in the notes."""
        over = scenario.over("quic")
        finished = super().run(over, seed, stop)
        return FinishedRun(finished.outcome, finished.trace, [one for one in over.advice if one not in scenario.advice])


class RealTime:
    """A substrate of the package `ackclock.apps.reach`, which runs in real time."""

    real_time = True

    def __init__(self, name: str, title: str, least_packet: int = 0) -> None:
        self.name = name
        self.title = title
        self.least_packet = least_packet
        kind, _, algorithm = name.partition(":")
        self.kind: Kind = cast("Kind", kind)
        self.algorithm = algorithm or None
        """The kernel's algorithm on `linux`, if it is not that of the flow."""

    def available(self, scenario: Scenario) -> str | None:
        """See Substrate."""
        obstacle = importlib.import_module("ackclock.apps.reach.runs").obstacle
        reason: str | None = obstacle(self.kind, scenario, self.algorithm)
        return reason

    def run(self, scenario: Scenario, seed: int, stop: Stop | None = None) -> FinishedRun:
        """See Substrate. A run that is not valid has up to three attempts there; the last one is returned."""
        unavailable = importlib.import_module("ackclock.apps.reach").Unavailable
        runs = importlib.import_module("ackclock.apps.reach.runs")
        if self.kind == "linux" and self.algorithm is None:
            try:
                runs.kernel_name(scenario)
            except BadInput as error:
                raise Refused(str(error).removeprefix(f"{scenario.file}: ")) from None
        try:
            result = runs.run(self.kind, scenario, seed=seed, kernel_controller=self.algorithm)
        except unavailable as error:
            raise Refused(str(error)) from None
        return FinishedRun(result.outcome, result.trace, self.ignored(scenario))

    def ignored(self, scenario: Scenario) -> list[str]:
        """What the substrate does not take over from the scenario, in words. Raises ScenarioError as `run`."""
        if self.kind == "udp":
            lost: list[str] = scenario._parsed.first_over_quic()
            return lost
        remarks = []
        flow = scenario.resolved["flows"][0]
        if names := sorted(name for name in tcp_options(scenario, flow["name"]) if name not in KERNEL_OPTIONS):
            remarks.append(f"the kernel has its own values of these TCP options, which are ignored: {', '.join(names)}")
        names_of_kernel = importlib.import_module("ackclock.apps.reach.runs").KERNEL_NAMES
        if self.algorithm is not None and flow["control"] is not None:
            parameters = controller_parameters(scenario, flow["name"])
            if names_of_kernel.get(flow["control"], flow["control"]) != self.algorithm:
                remarks.append(f"the kernel's {self.algorithm} runs in place of {flow['control']}")
            elif parameters:
                remarks.append(
                    f"the kernel's {self.algorithm} has its own parameters: ignored are {', '.join(parameters)}"
                )
        return remarks


SUBSTRATES: dict[str, Substrate] = {
    substrate.name: substrate
    for substrate in (
        Simulated(),
        Quic(),
        RealTime("udp", "QUIC (quinn-proto) over UDP sockets, in real time", LEAST_DATAGRAM),
        RealTime("linux", "the kernel's own TCP and controller, in real time"),
        RealTime("kernel", "our controller inside the kernel's TCP, in real time"),
    )
}
"""Substrates by the names of `--on`."""


def substrate(name: str) -> Substrate:
    """The substrate of a name of `--on`: one of `SUBSTRATES`, `linux:ALGORITHM`, or `stack:FILE`. Raises BadInput."""
    kind, colon, algorithm = name.partition(":")
    if kind == "linux" and algorithm:
        return RealTime(name, f"the kernel's own TCP with {algorithm}, in real time")
    if kind == "stack" and algorithm:
        of_stacks = importlib.import_module("ackclock.apps.conform.substrate")
        carrier: Substrate = of_stacks.StackSubstrate.of(name)
        return carrier
    if colon or name not in SUBSTRATES:
        near = difflib.get_close_matches(name, SUBSTRATES, 1)
        every = f"there are {', '.join(SUBSTRATES)}, linux:NAME such as linux:cubic, and stack:FILE"
        raise BadInput(f"--on {name}: there is no such substrate; {f'did you mean {near[0]}?' if near else every}")
    return SUBSTRATES[name]


def substrates(names: str) -> list[Substrate]:
    """The substrates of a list such as "tcp,quic". Raises BadInput."""
    chosen: dict[str, Substrate] = {}
    for name in (part.strip() for part in names.split(",")):
        if not name:
            raise BadInput(f"--on {names}: a name is empty; write names joined by commas, such as tcp,quic")
        if name in chosen:
            raise BadInput(f"--on {names}: {name} is named twice")
        chosen[name] = substrate(name)
    return list(chosen.values())
