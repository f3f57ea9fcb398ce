"""The network of a scenario for transport stacks of your own, in virtual time.

>>> import ackclock
>>> network = ackclock.Network("scenarios/dumbbell.toml", header=28)  # doctest: +SKIP
>>> network.send(0, bytes(1200))  # doctest: +SKIP
>>> network.advance(network.next_ns())  # doctest: +SKIP
>>> network.receive()  # doctest: +SKIP
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar

from ackclock import _core
from ackclock.scenario import Scenario

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")
Record = Literal["packets", "rules", "audit", "fingerprint"]
END = {"source": 0, "destination": 1}


class Datagram(NamedTuple):
    """A datagram that has reached a port. Times in ns since the start."""

    port: int
    bytes: bytes
    ecn: int
    """The ECN field of the IP header: 0 not ECT, 1 ECT(1), 2 ECT(0), 3 CE."""
    number: int
    """Among those that the other end has sent, from 0; a copy has the number of the original."""
    sent_ns: int
    arrived_ns: int


class Endpoint(Protocol):
    """A stack, or one end of it, that does no input and output of its own.

    It reads no clock. It may also have `sample`, which gives what it says of itself as keywords of
    `Network.record`, and `finished`, which says whether it has nothing left to do; a run ends early if all endpoints
    have finished.
    """

    def receive(self, now_ns: int, datagram: tuple[int, bytes, int, int, int, int]) -> None:
        """A datagram has arrived, with the values of `Datagram`; `poll` follows at the same time."""

    def poll(self, now_ns: int) -> Iterable[bytes | tuple[bytes, int]] | None:
        """Process due timers and the application; give the datagrams to send, perhaps with an ECN field."""

    def timer(self) -> int | None:
        """When to poll next if nothing arrives, ns; a time in the past means at once."""


@dataclass(frozen=True)
class Application:
    """What the scenario says of the application of a flow; the network enforces none of it. Times in ns."""

    start_ns: int
    stop_ns: int | None
    bytes: int | None
    writes: list[tuple[int, int]]
    """When it writes, since the start of the run, and how many bytes; empty: all data is there at the start."""


@dataclass(frozen=True)
class Driven:
    """What came of `Network.drive`."""

    outcome: dict[str, Any]
    """docs/outcome.md: of the whole run, or up to the time at which all endpoints had finished."""
    steps: int
    finished: bool


class Network:
    """The links, the other flows and the changes of a scenario, with ends outside for some flows.

    Times are whole nanoseconds since the start; a datagram is seen up to 1 ns after it has arrived, never before. No
    clock is read: equal calls give equal runs. A port is 2 k for the source and 2 k + 1 for the destination of
    attached flow k.

    Parameters
    ----------
    scenario
        A scenario, or the path of its file.
    attach
        Names of the flows whose ends are outside; `NAME*` for all that start with it. Default: the first flow.
    seed
        In place of the scenario's.
    header
        Bytes on the wire besides those that are sent: 28 for UDP over IPv4, 48 over IPv6, 0 for whole IP packets.
    mtu
        Largest datagram on the wire, bytes, with the header; a larger one is dropped and counted.
    overrides
        `KEY=VALUE` assignments, as of `Scenario.load`.
    record
        `packets` and `rules` for `why`, `audit`, `fingerprint`. Default: nothing, which is fastest.

    Raises
    ------
    ScenarioError
        If the scenario is not valid, or has no such flow.
    ValueError
        If a value is out of range.

    """

    def __init__(
        self,
        scenario: Scenario | str | Path,
        attach: str | Sequence[str] = (),
        *,
        seed: int | None = None,
        header: int = 28,
        mtu: int = 1500,
        overrides: Sequence[str] = (),
        record: Sequence[Record] = (),
    ) -> None:
        loaded = scenario if isinstance(scenario, Scenario) else Scenario.load(str(scenario), list(overrides))
        names = attach if isinstance(attach, str) else ",".join(attach)
        self.header, self.mtu = header, mtu
        self._core = _core.Network(loaded.core, names, seed, header, mtu, list(record))
        self.flows: list[str] = self._core.flows()
        """Names of the attached flows."""

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return self._core.seed

    @property
    def now_ns(self) -> int:
        """The present."""
        return self._core.now_ns

    @property
    def end_ns(self) -> int:
        """The end of the scenario."""
        return self._core.end_ns

    def port(self, flow: str, end: Literal["source", "destination"]) -> int:
        """The port of an end of an attached flow. Raises ValueError if there is none."""
        if flow not in self.flows or end not in END:
            raise ValueError(f"{flow}, {end}: not an end of an attached flow; attached: {', '.join(self.flows)}")
        return 2 * self.flows.index(flow) + END[end]

    def application(self, flow: str) -> Application:
        """What the scenario says of the application of an attached flow. Raises ValueError if there is none."""
        return Application(*self._attached(flow, self._core.application(flow)))

    def case(self, flow: str, controller: str = "") -> dict[str, Any]:
        """What a stack is told of an attached flow: the argument of what makes its ends (docs/stacks.md)."""
        return self._attached(flow, self._core.case(flow, controller))

    def _attached(self, flow: str, value: T | None) -> T:
        if value is None:
            raise ValueError(f"{flow}: not an attached flow; attached: {', '.join(self.flows)}")
        return value

    def next_ns(self) -> int:
        """A time before which nothing arrives unless something is sent; at most the end."""
        return self._core.next_ns()

    def advance(self, to_ns: int) -> bool:
        """Process everything up to a time, or to the end if it is earlier; returns whether the network still runs.

        Raises ValueError if the time is in the past, ControllerError if the controller of a simulated flow fails.
        """
        return self._core.advance(to_ns)

    def send(self, port: int, data: bytes, ecn: int = 0) -> None:
        """Send a datagram from a port at the present. No socket says whether a queue drops it; `counts` does.

        Raises ValueError after the end, for another port, and for more bytes than an IP packet has.
        """
        self._core.send(port, data, ecn)

    def receive(self) -> Datagram | None:
        """The next datagram that has arrived, in the order of time."""
        values = self._core.receive()
        return None if values is None else Datagram(*values)

    def record(self, port: int, **sample: float | bool | str | None) -> None:
        """Record what the stack at a port says of itself now.

        Values: delivered_bytes, cwnd_bytes, ssthresh_bytes, in_flight_bytes, pacing_bps, srtt_s, lost_packets,
        app_limited, state. A row is kept if one has changed.
        """
        self._core.record(port, sample)

    def counts(self, port: int) -> dict[str, Any]:
        """What was counted of the datagrams that a port has sent: packets, bytes, drops by reason, delays."""
        return self._core.counts(port)

    def outcome(self) -> dict[str, Any]:
        """The outcome (docs/outcome.md); advances to the end first."""
        outcome: dict[str, Any] = json.loads(self._core.outcome())
        return outcome

    def why(self, port: int, number: int) -> list[str]:
        """What happened to a datagram, one line for each step; needs `record=("packets", "rules")`."""
        return self._core.why(port, number)

    def fingerprint(self) -> str | None:
        """A hash of every packet event so far; None unless it is recorded."""
        return self._core.fingerprint()

    def audit(self) -> list[str]:
        """The first violations of conservation that the auditor saw; needs `record=("audit",)`. Call it at the end."""
        return self._core.audit()[0]

    def trace(self) -> pl.DataFrame:
        """What the stacks said of themselves: time_s, port, and the values of `record`."""
        import polars as pl

        rows = self._core.samples()
        columns = {
            **{"time_s": pl.Float64, "port": pl.UInt32, "delivered_bytes": pl.UInt64, "cwnd_bytes": pl.UInt64},
            **{"ssthresh_bytes": pl.UInt64, "in_flight_bytes": pl.UInt64, "pacing_bps": pl.UInt64},
            **{"srtt_s": pl.Float64, "lost_packets": pl.UInt64, "app_limited": pl.Boolean, "state": pl.String},
        }
        return pl.DataFrame(rows, schema=columns, orient="row")

    def drive(
        self, endpoints: Mapping[int, Endpoint] | Sequence[tuple[Sequence[int], Endpoint]], granularity_ns: int = 1
    ) -> Driven:
        """Run endpoints, each at its port or ports, to the end of the scenario, or until all have finished.

        At equal times the endpoints are polled in the order of the mapping. `granularity_ns` is the resolution of
        the stack's clock. Raises StackFailure if an endpoint raises, floods the network or is stuck; the endpoint's
        own error is its cause.
        """
        pairs = endpoints.items() if isinstance(endpoints, Mapping) else endpoints
        listed = [([ports] if isinstance(ports, int) else list(ports), endpoint) for ports, endpoint in pairs]
        outcome, steps, finished = self._core.drive(listed, granularity_ns)
        return Driven(json.loads(outcome), steps, finished)

    def drive_programs(
        self,
        programs: Mapping[str, Sequence[str]],
        controller: str | Mapping[str, str] = "",
        *,
        folder: str | Path | None = None,
        granularity_ns: int = 1,
    ) -> Driven:
        """Run programs of the pipe protocol (docs/stacks.md) at the ends of every attached flow.

        `programs` has the command of `both` ends, or of `source` and `destination`, as a list; no shell reads it.
        `folder` is where they run, `controller` their own name of the controller, or one for each flow. Raises
        StackFailure if one fails.
        """
        place = None if folder is None else str(folder)
        commands = {role: {"command": list(command), "folder": place} for role, command in programs.items()}
        named = dict.fromkeys(self.flows, controller) if isinstance(controller, str) else dict(controller)
        options = {"controllers": named, "granularity_ns": granularity_ns}
        outcome, steps, finished = self._core.drive_programs(json.dumps(commands | options))
        return Driven(json.loads(outcome), steps, finished)
