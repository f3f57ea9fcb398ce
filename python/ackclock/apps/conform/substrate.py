"""A stack outside as a substrate: what carries the flows of a scenario, in virtual time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ackclock.apps.conform.stack import Stack, kind, load
from ackclock.apps.reach.substrates import FinishedRun, Refused
from ackclock.base.files import BadInput
from ackclock.network import Network

if TYPE_CHECKING:
    from ackclock.base.workers import Stop
    from ackclock.scenario import Scenario

PREFIX = "stack:"
"""Names of stacks in `--on` begin so: stack:stack.toml, stack:FILE.py:CLASS; a controller may follow, `:bbr`."""


@dataclass(frozen=True)
class StackSubstrate:
    """A stack at both ends of every TCP and QUIC flow of a scenario."""

    name: str
    title: str
    stack: Stack
    real_time: bool = False
    least_packet: int = 1228
    """A full datagram of QUIC (RFC 9000 section 14)."""
    controller: str | None = None
    """The stack's own name of the controller that all flows have; None: that which claims to be the flow's."""

    @classmethod
    def of(cls, name: str) -> StackSubstrate:
        """The substrate of a name in `--on`. Raises BadInput."""
        text = name.removeprefix(PREFIX)
        named = re.fullmatch(r"(.+\.toml|.+\.py:\w+):([\w-]+)", text)
        stack = load(named[1] if named else text)
        if stack.make is None and not stack.programs:
            raise BadInput(f"--on {name}: is a controller of the laboratory; use --on quic")
        version = f" {stack.version}" if stack.version else ""
        title = f"the stack {stack.name}{version}, in virtual time"
        return cls(name, title, stack, controller=named[2] if named else None)

    def available(self, scenario: Scenario) -> str | None:
        """See Substrate."""
        return None

    def run(
        self, scenario: Scenario, seed: int, stop: Stop | None = None, *, tested: Sequence[str] = ()
    ) -> FinishedRun:
        """See Substrate. Raises Refused if the stack has no controller of a flow's kind.

        With `tested` the stack plays these flows alone, and the others are simulated.
        """
        flows = [flow for flow in scenario.resolved["flows"] if flow["kind"] in ("tcp", "quic")]
        flows = [flow for flow in flows if not tested or flow["name"] in tested]
        theirs = {flow["name"]: self._theirs(flow["control"]) for flow in flows}
        if not theirs:
            raise BadInput(f"{scenario.file}: has no TCP or QUIC flow in a [[flow]] table, which a stack could play")
        network = Network(
            scenario, list(theirs), seed=seed, header=self.stack.header, mtu=self.stack.mtu, record=("fingerprint",)
        )
        if self.stack.make is not None:
            outcome = _drive(network, self.stack, theirs)
        else:
            programs = {role: program["command"] for role, program in self.stack.programs.items()}
            folder = next(iter(self.stack.programs.values()))["folder"]
            step = self.stack.granularity_ns
            outcome = network.drive_programs(programs, theirs, folder=folder, granularity_ns=step).outcome
        return FinishedRun(*_with_samples(network, outcome, theirs), ["options of TCP have no effect on a stack"])

    def _theirs(self, control: str) -> str:
        """The stack's own name of a controller."""
        if self.controller is not None:
            return self.controller
        for theirs, reference in self.stack.controllers.items():
            if kind(reference) == control:
                return theirs
        if control in self.stack.controllers or not self.stack.controllers:
            return control
        claimed = ", ".join(self.stack.controllers.values())
        raise Refused(f"{self.stack.name} has no {control}; its controllers claim to be {claimed}")


def _drive(network: Network, stack: Stack, theirs: dict[str, str]) -> dict[str, Any]:
    """Run a class in Python at the ends of every flow."""
    assert stack.make is not None
    ends: list[tuple[list[int], Any]] = []
    for flow, controller in theirs.items():
        case = network.case(flow, controller)
        source, destination = stack.make(case)
        ends += [([network.port(flow, "source")], source), ([network.port(flow, "destination")], destination)]
    return network.drive(ends, stack.granularity_ns).outcome


def _with_samples(network: Network, outcome: dict[str, Any], theirs: dict[str, str]) -> tuple[dict[str, Any], Any]:
    """The outcome with the payload that the stack counted, and its window trace from what it said of itself."""
    import polars as pl

    samples = network.trace()
    warmup_s = outcome.get("warmup_s") or 0.0
    for flow in outcome["flows"]:
        if flow["name"] not in theirs:
            continue
        flow["control"] = theirs[flow["name"]]
        port = network.port(flow["name"], "destination")
        rows = samples.filter((pl.col("port") == port) & pl.col("delivered_bytes").is_not_null())
        if rows.height:
            early = rows.filter(pl.col("time_s") <= warmup_s)["delivered_bytes"]
            before = int(early[-1]) if len(early) else 0
            flow["delivered_bytes"] = int(rows["delivered_bytes"][-1]) - before
            flow["goodput_bps"] = 8 * flow["delivered_bytes"] / (outcome["duration_s"] - warmup_s)
    segment = network.mtu - network.header
    sources = samples.filter((pl.col("port") % 2 == 0) & pl.col("cwnd_bytes").is_not_null())
    names = pl.Series([network.flows[port // 2] for port in sources["port"]], dtype=pl.String)
    trace = sources.select(
        pl.col("time_s"),
        names.alias("flow"),
        (pl.col("cwnd_bytes") / segment).alias("cwnd"),
        (pl.col("ssthresh_bytes") / segment).alias("ssthresh"),
        pl.col("srtt_s").alias("rtt_s"),
        (pl.col("in_flight_bytes") / segment).alias("in_flight"),
        (pl.col("pacing_bps")).alias("pacing_bps"),
        pl.col("state"),
    )
    return outcome, trace
