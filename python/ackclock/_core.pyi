from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ackclock._events import Ack as Ack
from ackclock._events import Congestion as Congestion
from ackclock._events import Delivered as Delivered
from ackclock._events import FlowInfo as FlowInfo
from ackclock._events import Handshake as Handshake
from ackclock._events import Lost as Lost
from ackclock._events import PathHint as PathHint
from ackclock._events import Restart as Restart
from ackclock._events import Sent as Sent
from ackclock._events import Timeout as Timeout
from ackclock._events import TransmitStart as TransmitStart
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
def interface() -> str: ...
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
