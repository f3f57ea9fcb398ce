"""Substrates: what carries the flows of a scenario. Each runs a scenario with a seed and returns a sample."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
from collections.abc import Callable
from typing import Protocol

from ackclock.agree.sample import Sample, from_outcome
from ackclock.experiment import Scenario
from ackclock.files import BadInput
from ackclock.flow_parameters import tcp_options
from ackclock.study.plan import StudyPlan


class Refused(Exception):
    """A substrate cannot run a controller; others can run on it."""


Stop = Callable[[float], object]
"""Function that is called during a run; an exception that it raises ends the run."""

LEAST_DATAGRAM = 1228
"""Least size of a full QUIC packet on the wire, bytes: 1200 bytes of UDP payload (RFC 9000 section 14) and 28 more."""

KERNEL_OPTIONS = ("congestion_control", "ecn", "receive_window", "mss")
"""TCP options of a scenario that runs in the kernel take over."""


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

    def run(self, scenario: Scenario, seed: int, control: str, stop: Stop | None = None) -> Sample:
        """Run the scenario, whose TCP flows have the controller `control`.

        Raises Refused if the substrate cannot run the controller, ScenarioError (with `unmet_need`) if the controller
        needs a signal that is not provided, and ScenarioError or BadInput if the scenario cannot be run at all.
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

    def run(self, scenario: Scenario, seed: int, control: str, stop: Stop | None = None) -> Sample:
        """See Substrate."""
        result = scenario.run(seed=seed, trace="changes", progress=stop)
        return from_outcome(result.outcome, result.trace, seed)


class Quic(Simulated):
    """The QUIC stack quinn-proto in virtual time: every TCP flow of the scenario becomes a QUIC flow."""

    name = "quic"
    title = "QUIC (quinn-proto), in virtual time"
    least_packet = LEAST_DATAGRAM

    def run(self, scenario: Scenario, seed: int, control: str, stop: Stop | None = None) -> Sample:
        """See Substrate. The options of TCP without counterpart in QUIC are in the notes of the sample."""
        over = scenario.over("quic")
        sample = super().run(over, seed, control, stop)
        sample.notes = [remark for remark in over.advice if remark not in scenario.advice]
        return sample


class RealTime:
    """A substrate of the package `ackclock.reach`, which runs in real time."""

    real_time = True

    def __init__(self, name: str, title: str, least_packet: int = 0) -> None:
        self.name = name
        self.title = title
        self.least_packet = least_packet

    def available(self, scenario: Scenario) -> str | None:
        """See Substrate."""
        if importlib.util.find_spec("ackclock.reach") is None:
            return "this build of the package has no runs in real time"
        reason: str | None = importlib.import_module("ackclock.reach").supported(self.name, scenario)
        return reason

    def run(self, scenario: Scenario, seed: int, control: str, stop: Stop | None = None) -> Sample:
        """See Substrate. A run that is not valid is repeated up to three times there; the last one is returned."""
        unavailable = importlib.import_module("ackclock.reach").Unavailable
        runs = importlib.import_module("ackclock.reach.runs")
        if self.name == "linux":
            try:
                runs.kernel_name(scenario)
            except BadInput as error:
                raise Refused(str(error).removeprefix(f"{scenario.file}: ")) from None
        try:
            result = runs.run(self.name, scenario, seed=seed)
        except unavailable as error:
            raise Refused(str(error)) from None
        sample = from_outcome(result.outcome, result.trace, seed, result.outcome["validity"])
        sample.notes = self.ignored(scenario)
        return sample

    def ignored(self, scenario: Scenario) -> list[str]:
        """What the substrate does not take over from the scenario, in words."""
        if self.name == "udp":
            return [remark for remark in scenario.over("quic").advice if remark not in scenario.advice]
        options = tcp_options(scenario, scenario.resolved["flows"][0]["name"])
        names = sorted(name for name in options if name not in KERNEL_OPTIONS)
        return [f"the kernel has its own values of these TCP options, which are ignored: {', '.join(names)}"][
            : len(names)
        ]


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


def find(names: str) -> list[Substrate]:
    """The substrates of a list such as "tcp,quic"; the first one is the reference. Raises BadInput."""
    chosen: list[Substrate] = []
    for name in (part.strip() for part in names.split(",")):
        if name not in SUBSTRATES:
            near = difflib.get_close_matches(name, SUBSTRATES, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(SUBSTRATES)}"
            raise BadInput(f"--on {names}: there is no substrate {name!r}; {hint}")
        if SUBSTRATES[name] in chosen:
            raise BadInput(f"--on {names}: {name} is named twice")
        chosen.append(SUBSTRATES[name])
    if len(chosen) < 2:
        raise BadInput(f"--on {names}: name two or more substrates, such as tcp,quic; the first is the reference")
    return chosen


def identity(scenario: Scenario, overrides: list[str], seed: int) -> str:
    """A hash of everything that determines a simulated run: scenario, assignments, seed, engine, controllers' files."""
    plan = StudyPlan.read(scenario.source, overrides)
    return plan.runs({0: [seed]})[0].run_id
