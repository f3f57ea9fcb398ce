from collections.abc import Callable
from typing import Final

__version__: Final[str]
ENGINE: Final[str]
KINDS: Final[list[str]]

class ScenarioError(ValueError):
    """A scenario that cannot be run: where, which key, what is wrong and what would be right."""

    file: str
    line: int | None
    key: str
    message: str

class Scenario:
    @property
    def title(self) -> str: ...
    @property
    def duration_s(self) -> float: ...
    @property
    def seed(self) -> int: ...
    @property
    def is_study(self) -> bool: ...

class Finished:
    outcome: str
    flow_names: list[str]
    link_names: list[str]
    violations: list[str]
    violation_count: int
    fingerprint: str
    windows: dict[str, bytes | dict[str, bytes]]
    packets: dict[str, bytes]
    pcapng: bytes

def parse(file: str, text: str, assignments: list[str]) -> Scenario: ...
def run(
    scenario: Scenario,
    *,
    seed: int | None = None,
    trace: str = "off",
    packets: bool = False,
    audit: bool = False,
    pcapng: bool = False,
    fingerprint: bool = False,
    progress: Callable[[float], object] | None = None,
) -> Finished: ...
def bench(flows: int, duration_s: float, rate_bps: int) -> str: ...
def catalog(kind: str) -> str: ...
def codes() -> dict[str, list[str]]: ...

class Study:
    @property
    def title(self) -> str: ...
    @property
    def axes(self) -> list[tuple[str, list[str]]]: ...
    @property
    def seeds(self) -> list[int]: ...
    @property
    def points(self) -> int: ...
    def labels(self, point: int) -> list[str]: ...
    def scenario(self, point: int) -> Scenario: ...
    def run_ids(self, point: int, seeds: list[int]) -> list[str]: ...

class Pool:
    def __init__(self, study: Study, jobs: list[tuple[int, int]], threads: int) -> None: ...
    def collect(self, timeout_s: float) -> list[tuple[int, str | None, str | None, float]] | None: ...
    def stop(self) -> None: ...

def parse_study(file: str, text: str, assignments: list[str]) -> Study: ...
