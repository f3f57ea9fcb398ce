"""Satellites without traffic: paths, delays, hand-offs and positions over time (`ackclock orbit`)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ackclock import _core
from ackclock.base.files import BadInput
from ackclock.base.refusal import utf8
from ackclock.base.source import read_source


class SatelliteView:
    """The satellites and terminals of a scenario, computed from its start to `until_s` seconds, inclusive.

    `ends` names the two terminals whose paths are computed. `seed` (default: the scenario's) sets the random jitter
    of hand-off checks. Raises ScenarioError, and BadInput for unknown terminals.
    """

    def __init__(
        self,
        file: str | Path,
        until_s: float,
        *,
        ends: tuple[str, str] | None = None,
        overrides: Sequence[str] = (),
        seed: int | None = None,
        allow_code: bool = False,
    ) -> None:
        utf8(*overrides, *(ends or ()))
        source = read_source(file, allow_code=allow_code)
        self._core = _core.SatelliteView(source, list(overrides), until_s, seed)
        self._start: str | None
        self._end: str | None
        self._start, self._end = ends or (None, None)
        self.until_s = until_s
        self.name = Path(source.file).stem
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
