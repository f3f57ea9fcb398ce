from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ackclock.experiment import Source

__version__: Final[str]
ENGINE: Final[str]
ENGINE_CRATES: Final[list[str]]
KINDS: Final[list[str]]

class ScenarioError(ValueError):
    """A scenario that cannot be run: where, which key, what is wrong and what would be right."""

    file: str
    line: int | None
    key: str
    message: str
    others: list[str]
    """Messages on the other mistakes of the same file, each with its place."""
    unmet_need: bool
    """The controller requires a signal that the scenario does not provide; other controllers can run."""

class ControllerError(RuntimeError):
    """A controller written in Python raised; its own error is the cause."""

    flow: str
    time_s: float
    traceback: str

class FlowInfo:
    """Properties of a flow, given to its controller at creation."""

    packet: int
    """Payload of a segment, bytes."""
    initial_window: float
    """Window before the first acknowledgement, segments."""
    initial_ssthresh: float
    """Slow-start threshold at the start, segments; may be infinite."""
    max_window: float
    """The window should not grow beyond this, segments; infinite for no bound."""
    counts_segments: bool
    """The profile grows windows by the segments acknowledged and keeps them whole (linux); otherwise by ACKs (ns2)."""
    integer_windows: bool
    """Reductions truncate the window."""
    reduce_on_every_timeout: bool
    """A repeated timeout of one segment lowers the threshold again (ns2)."""
    fine_clock: bool
    """The transport lets the controller's fine clock cause retransmissions."""
    abe: bool
    """An ECN echo reduces the window less than a loss does (RFC 8511)."""
    seed: int
    """A number of this flow, derived from the run's seed, for an algorithm that needs random numbers."""

# Events of controllers. A time `_s` is the nearest float in seconds, `_ps` the exact number of picoseconds.

class Handshake:
    """The end of the handshake."""

    now_s: float
    now_ps: int
    rtt_s: float
    """Its round-trip time."""
    rtt_ps: int

class Ack:
    """One acknowledgement."""

    now_s: float
    """When it arrived, simulated seconds."""
    now_ps: int
    newly_acked: int
    """Segments newly acknowledged cumulatively; zero for a duplicate."""
    newly_delivered: int
    """Segments newly reported as delivered, cumulatively or by SACK (only cumulatively without recovery "rack")."""
    newly_lost: int
    """Segments that the sender marked as lost while it processed this ACK (recovery "rack")."""
    delivered_total: int
    """Segments delivered since the start (recovery "rack")."""
    lost_total: int
    """Segments marked as lost since the start; a lost retransmission counts again (recovery "rack")."""
    dupacks: int
    """Duplicates in a row: including this one, or before this one if it acknowledges something new."""
    acked_through: int
    """Number of the highest segment acknowledged."""
    next: int
    """Number of the segment to be sent next."""
    in_flight: float
    """Segments in flight after this ACK, before anything is sent in answer (recovery "rack": without those that are
    reported or lost; otherwise all outstanding ones)."""
    prior_in_flight: float
    """The same before this ACK."""
    rtt_s: float | None
    """Round-trip time of the newest segment acknowledged, never from a retransmitted one."""
    rtt_ps: int | None
    receiver_time_s: float | None
    """The receiver's clock when it sent this ACK (only where `needs` has receiver_time)."""
    receiver_time_ps: int | None
    ece: bool
    """The receiver echoes congestion (RFC 3168)."""
    delivered: int | None
    """Delivery-rate sample (only where `needs` has rate): segments delivered in the interval."""
    interval_s: float | None
    """The longer of its sending and its acknowledging interval; None if it is shorter than the smallest round trip."""
    interval_ps: int | None
    app_limited: bool
    """The sender had too little to send at some time in it."""
    prior_delivered: int | None
    """Segments delivered in total when the segment of the sample was sent."""
    tx_in_flight: int | None
    """Segments in flight when it was sent, with it."""
    lost: int | None
    """Segments marked as lost since it was sent."""
    phase: str
    """The phase that this ACK finds or brings: open, cwr (reduction after an ECN echo), recovery (the window must not
    grow), or loss (after a timeout)."""
    may_grow: bool
    """Whether the transport permits the window to grow on this ACK."""
    paced: bool
    """Whether the transport paces the packets of this flow."""
    pacing_wait_s: float
    """Time until the pacer permits the next packet."""
    pacing_wait_ps: int
    window_limited: bool
    """Whether the window was what kept the sender from sending more."""

class Congestion:
    """A congestion event, reported at most once per window of data and cause."""

    now_s: float
    now_ps: int
    cause: str
    """fast_retransmit or ecn."""
    window: float
    """The window to be reduced, segments: what was in use, as the profile counts it."""
    in_flight: float
    """Segments outstanding."""
    segment_sent_s: float | None
    """When the lost segment was last sent."""
    segment_sent_ps: int | None
    retransmitted: bool
    """Whether it had been retransmitted before."""
    dupacks: int
    """Duplicate ACKs so far."""

class Timeout:
    """A retransmission timeout with data outstanding."""

    now_s: float
    now_ps: int
    window: float
    """The window that was in use, segments."""
    repeated: bool
    """The same segment timed out before and nothing was acknowledged since."""

class Restart:
    """The first sending after an idle time."""

    now_s: float
    now_ps: int
    idle_s: float
    """For how long nothing was sent."""
    idle_ps: int
    window: float
    """The window that the transport's profile gives, segments."""

class TransmitStart:
    """The first transmission after all data in flight was acknowledged."""

    now_s: float
    now_ps: int
    idle_s: float
    """Time since the last transmission."""
    idle_ps: int
    app_limited: bool
    """Whether the application had too little to send before it."""

class Lost:
    """A segment that the sender has marked as lost."""

    now_s: float
    now_ps: int
    seq: int
    """Number of the segment."""
    tx_in_flight: int
    """Segments in flight when it was last sent, with it."""
    lost: int
    """Segments marked as lost since it was last sent, with it."""
    delivered_total: int
    """Segments delivered since the start."""
    app_limited: bool
    """Whether the application had too little data when it was last sent."""
    starts_range: bool
    """The segment before it was not marked at the same time."""

class Delivered:
    """A segment that an ACK newly reports as delivered, cumulatively or by SACK."""

    now_s: float
    now_ps: int
    seq: int
    """Number of the segment; of QUIC of the packet."""
    sent_s: float
    """When it was last sent."""
    sent_ps: int
    rtt_s: float
    """The time since then. If the segment was sent again, the ACK can be that of an earlier transmission."""
    rtt_ps: int

class Sent:
    """A data segment that the sender has transmitted."""

    now_s: float
    now_ps: int
    seq: int
    """Number of the segment."""
    in_flight: int
    """Segments in flight, with it."""
    retransmission: bool
    """Whether it was sent before."""

class PathHint:
    """Information from lower layers."""

    now_s: float
    now_ps: int
    kind: str
    """handoff_begins, handoff_ends, router_rate (value: bits per second), router_feedback (bytes per second)."""
    value: float | None

class Scenario:
    @property
    def advice(self) -> list[str]: ...
    @property
    def title(self) -> str: ...
    @property
    def duration_s(self) -> float: ...
    @property
    def seed(self) -> int: ...
    @property
    def is_study(self) -> bool: ...
    @property
    def radio(self) -> tuple[float, float, float] | None: ...
    @property
    def changes(self) -> list[str]: ...
    def network(self) -> str: ...
    def resolved(self) -> str: ...
    def over_quic(self) -> tuple[Scenario, list[str]]: ...
    def places(self, seed: int | None, times: list[float]) -> bytes: ...

class Finished:
    outcome: str
    flow_names: list[str]
    link_names: list[str]
    flow_ends: list[list[str]]
    segment_bytes: list[int | None]
    limited_s: list[list[float]]
    violations: list[str]
    violation_count: int
    fingerprint: str
    windows: dict[str, bytes | dict[str, bytes]]
    packets: dict[str, bytes]
    radio: dict[str, bytes]
    captured: list[bytes]
    qlogs: list[tuple[str, str, str]]
    causes: list[str]
    causes_until_s: float

def parse(source: Source, assignments: list[str], controllers: dict[str, type] | None = None) -> Scenario: ...
def run(
    scenario: Scenario,
    *,
    seed: int | None = None,
    trace: str = "off",
    packets: bool = False,
    audit: bool = False,
    captures: list[str] = ...,
    fingerprint: bool = False,
    radio: bool = False,
    qlog: bool = False,
    causes: int = 0,
    until_s: float | None = None,
    progress: Callable[[float], object] | None = None,
) -> Finished: ...

class World:
    def __init__(
        self,
        scenario: Scenario,
        *,
        seed: int | None = None,
        trace: str = "off",
        packets: bool = False,
        within_s: float | None = None,
        audit: bool = False,
        fingerprint: bool = False,
    ) -> None: ...
    @property
    def now_ps(self) -> int: ...
    def advance(self, at_ps: int, progress: Callable[[float], object] | None = None) -> None: ...
    def fork(self) -> World: ...
    def adopt(self, scenario: Scenario) -> bool: ...
    def windows(self) -> list[tuple[str, float, float]]: ...
    def finish(self, progress: Callable[[float], object] | None = None) -> Finished: ...

class Environments:
    def __init__(self, plan: str, agents: Sequence[str], count: int, threads: int) -> None: ...
    @property
    def inputs(self) -> int: ...
    @property
    def bounds(self) -> list[tuple[float, float]]: ...
    @property
    def action(self) -> tuple[str, tuple[float, float]]: ...
    def begin(
        self,
        index: int,
        scenario: Scenario,
        seed: int | None = None,
        first: float | None = None,
        observes: bool = False,
    ) -> bool: ...
    def copy(self, to: int, other: Environments, index: int) -> None: ...
    def stay(self, index: int) -> bool: ...
    def step(self, actions: NDArray[np.float64]) -> None: ...
    def show(
        self,
        observations: NDArray[np.float32],
        measured: NDArray[np.float64],
        active: NDArray[np.uint8],
        state: NDArray[np.uint8],
    ) -> None: ...

def check_policy(text: str) -> None: ...
def evaluate_policy(text: str, observations: NDArray[np.float32]) -> list[float]: ...
def policy_features() -> tuple[
    list[tuple[str, str, float, float, str]], list[tuple[str, str]], list[tuple[str, str]]
]: ...
def prepared_for(scenario: Scenario, others: Sequence[Scenario]) -> Scenario: ...
def picoseconds(text: str) -> int: ...
def explain(
    scenario: Scenario, at_s: float, *, flow: str | None = None, seed: int | None = None, cut: bool = False
) -> str: ...
def bench(flows: int, duration_s: float, rate_bps: int) -> str: ...
def catalog(kind: str) -> str: ...
def schema(of: str) -> str: ...
def codes() -> dict[str, list[str]]: ...

class Study:
    @property
    def advice(self) -> list[str]: ...
    @property
    def title(self) -> str: ...
    @property
    def axes(self) -> list[tuple[str, list[str]]]: ...
    @property
    def seeds(self) -> list[int]: ...
    @property
    def has_external(self) -> bool: ...
    @property
    def refused(self) -> list[tuple[int, str]]: ...
    @property
    def points(self) -> int: ...
    def labels(self, point: int) -> list[str]: ...
    def scenario(self, point: int) -> Scenario: ...
    def text(self, point: int, folder: str) -> str: ...
    def run_ids(self, point: int, seeds: list[int]) -> list[str]: ...

class Pool:
    def __init__(self, study: Study, jobs: list[tuple[int, int]], threads: int) -> None: ...
    def collect(self, timeout_s: float) -> list[tuple[int, str | None, str | None, float]] | None: ...
    def stop(self) -> None: ...

class SatelliteView:
    def __init__(self, source: Source, assignments: list[str], until_s: float, seed: int | None) -> None: ...
    def path_at(self, at_s: float, start: str | None, end: str | None, positions: bool) -> str: ...
    def snapshot(self, at_s: float, start: str | None, end: str | None) -> str: ...
    def handoffs(self) -> str: ...

def seconds(text: str) -> float: ...
def parse_study(source: Source, assignments: list[str], most: int | None = None) -> Study: ...

class ScriptedSender:
    """A TCP sender whose receiver and clock are played by the caller. Times in microseconds, data in segments."""

    def __init__(self, text: str) -> None: ...
    def start(self, at_us: float) -> None: ...
    def write(self, at_us: float, segments: int) -> None: ...
    def ack(
        self,
        at_us: float,
        ack: int,
        blocks: list[tuple[int, int]],
        ece: bool,
        echo_us: float,
        window: int | None,
    ) -> None: ...
    def timer_us(self) -> float | None: ...
    def fire(self, at_us: float) -> None: ...
    def transmitted(self) -> list[tuple[float, int, bool]]: ...
    def state(self) -> dict[str, Any]: ...

class UnavailableError(RuntimeError): ...

class FinishedLive:
    outcome: str
    valid: bool
    flow_names: list[str]
    windows: dict[str, bytes | dict[str, bytes]]

KERNEL_BRIDGE: bool

def emulate(
    scenario: Scenario,
    command: list[str],
    other: list[str] | None,
    environment: list[tuple[str, str]],
    *,
    warn: Callable[[str], object],
    seed: int | None = None,
    limit_s: float | None = None,
    output_to_error: bool = False,
) -> str: ...
def run_kernel(
    scenario: Scenario, own: str | None = None, *, seed: int | None = None, progress: Callable[[], object] | None = None
) -> FinishedLive: ...
def run_udp(
    scenario: Scenario, *, seed: int | None = None, progress: Callable[[], object] | None = None
) -> FinishedLive: ...
