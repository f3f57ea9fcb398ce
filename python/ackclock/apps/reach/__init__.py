"""Runs in real time: a scenario's network by the wall clock, between protocol stacks of this machine. Linux only.

One function for each substrate, all with the same arguments and the same result:

========  =========================================================  ==========================================
name      the ends                                                   needs
========  =========================================================  ==========================================
udp       QUIC over UDP sockets of the loopback device               nothing
linux     the kernel's TCP with its own congestion control           user namespaces or root, /dev/net/tun
kernel    the kernel's TCP, controlled by a controller of Ackclock   root, BTF, a core built with `make kernel`
========  =========================================================  ==========================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.apps.reach.results import ATTEMPTS, LiveResult, Substrate, Unavailable

if TYPE_CHECKING:
    from ackclock.scenario import Scenario

__all__ = [
    "ATTEMPTS",
    "SUBSTRATES",
    "LiveResult",
    "Substrate",
    "Unavailable",
    "run_kernel",
    "run_linux",
    "run_live",
    "run_udp",
    "supported",
]


def run_udp(scenario_path: str | Path, overrides: Sequence[str] = (), seed: int | None = None) -> dict[str, Any]:
    """Run the first flow as QUIC over UDP sockets of the loopback device, with the scenario's network between them.

    Parameters
    ----------
    scenario_path
        Scenario file, or `@NAME` for a shipped scenario. Its first flow is a QUIC flow, or a TCP flow, whose controller
        then controls a QUIC flow.
    overrides
        Assignments such as `"link.bottleneck.rate=5Mbps"`.
    seed
        Seed of losses and of random queues; by default that of the scenario. Real time adds noise of its own: two runs
        with one seed differ.

    Returns
    -------
    dict
        The keys of a simulated run's outcome, as far as they can be measured: `flows[0]` has `goodput_bps`, `mean_cwnd`
        (segments), `retransmitted_packets`, `window_cuts`, `timeouts`, `mean_rtt_s`, ...; `links` has
        `delivered_packets`, `dropped_packets`, `marked_packets`; `duration_s`. Besides: `substrate` ("udp"), `validity`
        (`valid`, `reasons`, `lateness_s` with `p50`, `p90`, `p99`, `max`, ...) and `trace`, a data frame with the
        columns `time_s`, `cwnd`, `ssthresh` among others. A run that is not valid has up to three attempts; then
        the last one is returned, with `validity["valid"]` false.

    Raises
    ------
    Unavailable
        The machine cannot do it; the message says why and what to do.
    ScenarioError, BadInput
        The scenario does not fit.

    """
    return _run("udp", scenario_path, overrides, seed)


def run_linux(scenario_path: str | Path, overrides: Sequence[str] = (), seed: int | None = None) -> dict[str, Any]:
    """Run the first flow as TCP of this machine's kernel, with the kernel's own algorithm of the same name.

    Arguments and result as of `run_udp`. The algorithm is that of the first flow (`reno`, `cubic`, `bbr`, ...), which
    the kernel must have; of the flow's other options the kernel knows `ecn`, `receive_window`, `mss`, `start`,
    `stop` and `bytes`.
    """
    return _run("linux", scenario_path, overrides, seed)


def run_kernel(scenario_path: str | Path, overrides: Sequence[str] = (), seed: int | None = None) -> dict[str, Any]:
    """Run the first flow as TCP of this machine's kernel, with its controller of Ackclock inside, through BPF.

    Arguments and result as of `run_linux`. Needs root and a core that was built with `make kernel`.
    """
    return _run("kernel", scenario_path, overrides, seed)


SUBSTRATES: dict[Substrate, Callable[..., dict[str, Any]]] = {
    "udp": run_udp,
    "linux": run_linux,
    "kernel": run_kernel,
}
"""The function of each substrate; all are called as `run(scenario_path, overrides, seed)`."""


def run_live(
    substrate: Substrate, scenario_path: str | Path, overrides: Sequence[str] = (), seed: int | None = None
) -> dict[str, Any]:
    """Run a scenario in real time on a substrate; see `run_udp` for arguments and result."""
    return SUBSTRATES[substrate](scenario_path, overrides, seed)


def _run(substrate: Substrate, scenario_path: str | Path, overrides: Sequence[str], seed: int | None) -> dict[str, Any]:
    from ackclock.apps.reach.runs import run
    from ackclock.scenario import Scenario

    result = run(substrate, Scenario.load(scenario_path, overrides), seed=seed)
    return {**result.outcome, "trace": result.trace}


def supported(substrate: Substrate, scenario: Scenario) -> str | None:
    """Why a scenario cannot run on a substrate of this machine; None if it can, as far as is known before a run."""
    from ackclock.apps.reach.runs import obstacle

    return obstacle(substrate, scenario)
