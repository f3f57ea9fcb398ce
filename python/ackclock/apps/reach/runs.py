"""Runs in real time through the core, repeated if they were too late."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ackclock import _core
from ackclock.apps.reach.results import ATTEMPTS, LiveResult, Substrate, Unavailable
from ackclock.base.files import BadInput

if TYPE_CHECKING:
    from ackclock.scenario import Scenario

KERNEL_NAMES = {"hstcp": "highspeed"}
"""The kernel's names of controllers that have another name here."""
SMALLEST_RTT_S = 0.005
LARGEST_RATE_BPS = 100_000_000
"""Bounds within which runs in real time are accurate on ordinary machines."""


APPLICATION = (
    "flow.app: the first flow has an application, which runs in simulated TCP and QUIC alone; "
    "remove app, put another TCP flow first, or use --on tcp or quic"
)


def run(
    substrate: Substrate,
    scenario: Scenario,
    *,
    seed: int | None = None,
    kernel_controller: str | None = None,
    progress: Callable[[float], object] | None = None,
    report: Callable[[str], object] | None = None,
) -> LiveResult:
    """Run the first flow of a scenario on a substrate, up to three times until the run is valid.

    `kernel_controller` is the kernel's algorithm on the substrate `linux` (by default the flow's controller);
    `progress` receives the completed fraction of the present attempt; `report` receives a line for each attempt that
    was not valid.
    Raises Unavailable, BadInput, ScenarioError.
    """
    need_linux()
    if scenario.is_study:
        raise BadInput(f"{scenario.file}: sweep: the file is a study; a run in real time takes one of its runs")
    if first_has_application(scenario):
        raise BadInput(f"{scenario.file}: {APPLICATION}")
    for attempt in range(1, ATTEMPTS + 1):
        finished = _attempt(substrate, scenario, seed, kernel_controller, progress)
        outcome: dict[str, Any] = json.loads(finished.outcome)
        outcome["validity"]["attempts"] = attempt
        if finished.valid or attempt == ATTEMPTS:
            break
        if report is not None:
            report(f"attempt {attempt} of {ATTEMPTS} is not valid: {'; '.join(outcome['validity']['reasons'])}")
    from ackclock.base import frames

    return LiveResult(outcome, frames.windows(finished))


def _attempt(
    substrate: Substrate,
    scenario: Scenario,
    seed: int | None,
    kernel_controller: str | None,
    progress: Callable[[float], object] | None,
) -> _core.FinishedLive:
    begin = time.monotonic()

    def advance() -> None:
        if progress is not None:
            progress(min(1.0, (time.monotonic() - begin) / scenario.duration_s))

    with errors_of(scenario):
        if substrate == "udp":
            return _core.run_udp(scenario._parsed, seed=seed, progress=advance)
        algorithm = (kernel_controller or kernel_name(scenario)) if substrate == "linux" else None
        return _core.run_kernel(scenario._parsed, algorithm, seed=seed, progress=advance)


@contextmanager
def errors_of(scenario: Scenario) -> Iterator[None]:
    """Raises the errors of the core as Unavailable, ScenarioError or BadInput."""
    try:
        yield
    except _core.UnavailableError as error:
        raise Unavailable(str(error)) from None
    except _core.ScenarioError:
        raise
    except ValueError as error:
        raise BadInput(f"{scenario.file}: {error}") from None


def kernel_name(scenario: Scenario) -> str:
    """The kernel's name of the first flow's controller.

    Raises BadInput if the flow has none, or if the kernel's algorithm of that name would not be the same: a
    controller in Python, or one with parameters that are not the default ones.
    """
    from ackclock.apps.reach.flow_parameters import controller_parameters

    flows = scenario.resolved["flows"]
    if not flows or flows[0]["control"] is None:
        raise BadInput(f"{scenario.file}: the first flow must be a TCP flow to run in the kernel")
    control: str = flows[0]["control"]
    if parameters := controller_parameters(scenario, flows[0]["name"]):
        names = ", ".join(parameters)
        raise BadInput(
            f"{scenario.file}: the kernel's {control} has its own parameters, and {names} cannot be set there; "
            "remove it, or use the substrate kernel, which runs our controller inside the kernel"
        )
    return KERNEL_NAMES.get(control, control)


def advice(scenario: Scenario) -> list[str]:
    """Why a run in real time of this scenario may be inaccurate."""
    lines = []
    resolved = scenario.resolved
    if resolved["flows"]:
        flow = resolved["flows"][0]
        if flow["base_rtt_s"] is not None and flow["base_rtt_s"] < SMALLEST_RTT_S:
            lines.append(
                f"the base round-trip time is {flow['base_rtt_s'] * 1e3:.3g} ms; in real time use 5 ms or more"
            )
        rates = [resolved["links"][link]["mean_rate_bps"] for link in flow["path"]]
        if rates and min(rates) > LARGEST_RATE_BPS:
            lines.append(f"the bottleneck has {min(rates) / 1e6:.4g} Mb/s; in real time use 100 Mb/s or less")
    return lines


def first_has_application(scenario: Scenario) -> bool:
    """Whether the first flow, the one that runs in real time, has an application."""
    flows = scenario.facts().document.get("flow", [])
    return bool(flows) and "app" in flows[0]


def need_linux() -> None:
    """Raise Unavailable on another system."""
    if not hasattr(_core, "emulate"):
        raise Unavailable("runs in real time need Linux")


def obstacle(substrate: Substrate, scenario: Scenario, algorithm: str | None = None) -> str | None:
    """Why a scenario cannot run on a substrate; None if nothing is known against it.

    `algorithm` is the kernel's on the substrate `linux`, by default that of the flow's name.
    """
    if not hasattr(_core, "emulate"):
        return "runs in real time need Linux"
    if not scenario.resolved["flows"]:
        return "flow: is missing; add a [[flow]]"
    kind = scenario.resolved["flows"][0]["kind"]
    if kind == "udp" or (kind == "quic" and substrate != "udp"):
        return f"the first flow is a {kind.upper()} flow; put a TCP flow first"
    if first_has_application(scenario):
        return APPLICATION
    if substrate == "kernel" and not _core.KERNEL_BRIDGE:
        return "this core was built without the kernel bridge (make kernel)"
    if substrate == "linux":
        available = _available()
        name = algorithm or scenario.resolved["flows"][0]["control"]
        name = KERNEL_NAMES.get(name, name)
        if available and name not in available:
            return f"this kernel has no algorithm {name} (it has {', '.join(sorted(available))})"
    return None


def _available() -> set[str]:
    """The congestion control algorithms that the kernel has loaded; empty if unknown."""
    try:
        with open("/proc/sys/net/ipv4/tcp_available_congestion_control", encoding="ascii") as file:
            return set(file.read().split())
    except OSError:
        return set()
