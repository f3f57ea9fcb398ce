from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ackclock._events import *  # noqa: F403
from ackclock.base.assignment import Override
from ackclock.base.source import Source

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

class Mention:
    """An entry whose value is the path of a file or a controller in Python."""

    @property
    def file(self) -> str | None:
        """The file that has it: that of the scenario, or one that it extends; None for an assignment."""
    @property
    def assignment(self) -> int | None:
        """The number of the assignment, from 0; None for a file."""
    @property
    def key(self) -> str:
        """The last name of its key: extends, file, fit or python."""
    @property
    def value(self) -> str: ...
    @property
    def path(self) -> Path:
        """Where the file is."""

class Facts:
    """What is known of a scenario after it was read: what its file, its base files and the assignments say."""

    @property
    def document(self) -> dict[str, Any]:
        """The entries, without base files and axes. Keys that are not given are missing.

        The paths of files are relative to the folder of the scenario where they are inside it.
        """
    @property
    def files(self) -> list[str]:
        """The files in it, each once."""
    @property
    def controllers(self) -> list[str]:
        """The controllers in Python in it, FILE:CLASS, each once."""
    @property
    def mentions(self) -> list[Mention]:
        """The files and controllers in Python that are named, also where another value replaces them."""

class Scenario:
    def facts(self) -> Facts: ...
    def assigned(self, assignments: list[Override], controllers: dict[str, type] | None = None) -> Scenario: ...
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
    def first_over_quic(self) -> list[str]: ...
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
    capacities: dict[str, bytes]
    transmissions: dict[str, Any]
    radio: dict[str, bytes]
    captured: list[bytes]
    qlogs: list[tuple[str, str, str]]
    one_thread: str | None
    causes: list[str]
    causes_until_s: float

def set_shipped(folder: str) -> None: ...
def foreign_kind(content: bytes) -> str | None: ...
def key_parts(text: str) -> list[str]: ...
def key_text(parts: list[str]) -> str: ...
def split_assignment(text: str) -> tuple[str, str] | None: ...
def parse(source: Source, assignments: list[Override], controllers: dict[str, type] | None = None) -> Scenario: ...
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
    threads: int = 1,
    progress: Callable[[float], object] | None = None,
) -> Finished: ...
def layout(
    links: Sequence[tuple[str, str]], flows: Sequence[tuple[str, str]]
) -> list[tuple[str, float, float, float]]: ...
def explain_threads(scenario: Scenario, threads: int, *, seed: int | None = None) -> str: ...

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
    list[tuple[str, str, float, float, str]],
    list[tuple[str, str]],
    list[tuple[str, str]],
    list[tuple[str, list[str]]],
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
    def document(self, point: int) -> dict[str, Any]: ...
    def run_ids(self, point: int, seeds: list[int]) -> list[str]: ...

class Pool:
    def __init__(self, study: Study, jobs: list[tuple[int, int]], threads: int) -> None: ...
    def collect(self, timeout_s: float) -> list[tuple[int, str | None, str | None, float]] | None: ...
    def stop(self) -> None: ...

class SatelliteView:
    def __init__(self, source: Source, assignments: list[Override], until_s: float, seed: int | None) -> None: ...
    def path_at(self, at_s: float, start: str | None, end: str | None, positions: bool) -> str: ...
    def snapshot(self, at_s: float, start: str | None, end: str | None) -> str: ...
    def handoffs(self) -> str: ...

def seconds(text: str) -> float: ...
def parse_study(
    source: Source, assignments: list[Override], most: int | None = None, over_quic: bool = False
) -> Study: ...

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

class ScriptedReceiver:
    """A TCP receiver whose sender and clock are played by the caller. Times in microseconds, data in segments."""

    def __init__(self, text: str) -> None: ...
    def data(self, at_us: float, seq: int, sent_us: float, capable: bool, marked: bool, cwr: bool) -> None: ...
    def timer_us(self) -> float | None: ...
    def fire(self, at_us: float) -> None: ...
    def acks(self) -> list[tuple[int, list[tuple[int, int]], bool, float]]: ...

class UnavailableError(RuntimeError): ...

class FinishedLive:
    outcome: str
    valid: bool
    flow_names: list[str]
    windows: dict[str, bytes | dict[str, bytes]]

class FinishedEmulation:
    report: str
    flow_names: list[str]
    link_names: list[str]
    packets: dict[str, bytes]
    packets_until_s: float
    captured: list[bytes]

KERNEL_BRIDGE: bool
PGO: bool

def emulate(
    scenario: Scenario,
    command: list[str],
    other: list[str] | None,
    environment: list[tuple[str, str]],
    *,
    warn: Callable[[str], object],
    seed: int | None = None,
    limit_s: float | None = None,
    output: int | None = None,
    to_error: bool = False,
    packets: str = "off",
    captures: list[str] = ...,
) -> FinishedEmulation: ...
def run_kernel(
    scenario: Scenario, own: str | None = None, *, seed: int | None = None, progress: Callable[[], object] | None = None
) -> FinishedLive: ...
def run_udp(
    scenario: Scenario, *, seed: int | None = None, progress: Callable[[], object] | None = None
) -> FinishedLive: ...
