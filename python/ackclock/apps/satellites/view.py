"""Satellites without traffic: paths, delays, hand-offs and positions over time (`ackclock orbit`)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ackclock import _core
from ackclock.base.files import BadInput
from ackclock.base.refusal import utf8
from ackclock.base.source import Source, read_source

if TYPE_CHECKING:
    from ackclock.base.assignment import Override
    from ackclock.scenario import Scenario

LONGEST_S = 600.0
"""The part of a run that `never_connected` looks at, seconds."""


class SatelliteView:
    """The satellites and terminals of a scenario, computed from its start to `until_s` seconds, inclusive.

    `ends` names the two terminals whose paths are computed. `seed` (default: the scenario's) sets the random jitter
    of hand-off checks. Raises ScenarioError, and BadInput for unknown terminals.
    """

    def __init__(
        self,
        file: str | Path | Source,
        until_s: float,
        *,
        ends: tuple[str, str] | None = None,
        overrides: Sequence[Override] = (),
        seed: int | None = None,
        allow_code: bool = False,
    ) -> None:
        utf8(*map(str, overrides), *(ends or ()))
        source = file if isinstance(file, Source) else read_source(file, allow_code=allow_code)
        self._core = _core.SatelliteView(source, list(overrides), until_s, seed)
        self._start: str | None
        self._end: str | None
        self._start, self._end = ends or (None, None)
        self.until_s = until_s
        self.name = Path(source.file).stem
        self._check()

    @property
    def terminals(self) -> list[str]:
        """The names of the terminals."""
        return [name for name, _, _ in self.snapshot(0.0)["terminals"]]

    def between(self, start: str, end: str) -> Self:
        """The same satellites with the paths between two terminals. Raises BadInput for one that does not exist."""
        other = copy(self)
        other._start, other._end = start, end
        other._check()
        return other

    def _check(self) -> None:
        try:
            self.path_at(0.0)
        except ValueError as error:
            raise BadInput(str(error)) from None
        if self._start is not None and self._start == self._end:
            raise BadInput(f"the path needs two different terminals, not {self._start} twice")

    def path_at(self, at_s: float, *, positions: bool = False) -> dict[str, Any]:
        """Path, delay, first and last satellite at a time; with `positions`, also the position of every satellite."""
        path: dict[str, Any] = json.loads(self._core.path_at(at_s, self._start, self._end, positions))
        return path

    def samples(self, every_s: float, *, positions: bool = False) -> Iterator[dict[str, Any]]:
        """The same at every `every_s` seconds from the start to the end."""
        for i in range(int(self.until_s / every_s + 1e-9) + 1):
            yield self.path_at(i * every_s, positions=positions)

    def handoffs(self) -> list[dict[str, Any]]:
        """Every change of a terminal's satellite after its first: terminal, time_s, from, to."""
        rows: list[dict[str, Any]] = json.loads(self._core.handoffs())
        return rows

    def snapshot(self, at_s: float) -> dict[str, Any]:
        """Data for a map at a time: satellites, terminals, links, path (docs/satellites.md)."""
        state: dict[str, Any] = json.loads(self._core.snapshot(at_s, self._start, self._end))
        return state


def never_connected(scenario: Scenario) -> Iterator[tuple[str, str, int]]:
    """Pairs of terminals with a flow between them that have no path, looked at every second of the run.

    Yields the terminals, and the seconds that were looked at: the first ten minutes.
    """
    network = scenario.network
    terminals = {name for name, _, _ in network["terminals"]}
    ends = {(flow["from"], flow["to"]) for flow in network["flows"] if {flow["from"], flow["to"]} <= terminals}
    for until_s in (0.0, min(scenario.duration_s, LONGEST_S)):  # the start alone is computed quickly
        if ends:
            every = SatelliteView(scenario.source, until_s, overrides=scenario.overrides)
            ends = {pair for pair in ends if not any(sample["path"] for sample in every.between(*pair).samples(1.0))}
    yield from ((start, end, int(until_s)) for start, end in sorted(ends))
