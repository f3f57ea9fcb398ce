"""The map of a search: a grid over two descriptors of a network, which keeps the worst network of each cell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ackclock.apps.search.explore import Tried
from ackclock.apps.search.space import Genome, Space
from ackclock.base.files import BadInput

COLUMNS, ROWS = 10, 6


@dataclass(frozen=True)
class Descriptor:
    """A number of a network, and the range of the grid."""

    name: str
    low: float
    high: float
    log: bool
    unit: str

    def part(self, value: float) -> float:
        """The place of a value in the range, from 0 to 1."""
        if self.log:
            value, low, high = (math.log(max(x, 1e-12)) for x in (value, self.low, self.high))
        else:
            low, high = self.low, self.high
        return min(1.0, max(0.0, (value - low) / (high - low))) if high > low else 0.0

    def edge(self, part: float) -> float:
        """The value at a part of the range."""
        if self.log:
            return math.exp(math.log(self.low) + part * math.log(self.high / self.low))
        return self.low + part * (self.high - self.low)


class Map:
    """The worst network of each cell."""

    def __init__(self, space: Space, named: Any, place: str) -> None:
        self._space = space
        names = named if named is not None else _default(space)
        if not isinstance(names, list) or len(names) != 2:
            raise BadInput(f"{place}: must be two of {', '.join(_known(space))}")
        for name in names:
            if name not in _known(space):
                raise BadInput(f"{place}: there is no {name}; there are {', '.join(_known(space))}")
        self.descriptors = [_descriptor(space, str(name)) for name in names]
        self.cells: dict[tuple[int, int], Tried] = {}

    def place(self, genome: Genome) -> tuple[float, float]:
        """The two descriptors of a network."""
        x, y = (_number(self._space, one.name, genome) for one in self.descriptors)
        return x, y

    def add(self, tried: Sequence[Tried]) -> None:
        """Add networks."""
        for one in tried:
            if math.isinf(one.value.fitness):
                continue
            x, y = (d.part(v) for d, v in zip(self.descriptors, self.place(one.genome), strict=True))
            cell = min(COLUMNS - 1, int(x * COLUMNS)), min(ROWS - 1, int(y * ROWS))
            if cell not in self.cells or one.value.fitness < self.cells[cell].value.fitness:
                self.cells[cell] = one

    def failures(self, tried: Sequence[Tried]) -> list[Tried]:
        """The first failure, and then the worst one of each cell in the order of their numbers."""
        first = next((one for one in tried if one.value.fails), None)
        cells = sorted((one for one in self.cells.values() if one.value.fails), key=lambda one: one.number)
        return ([first] if first is not None else []) + [one for one in cells if one is not first]


def _known(space: Space) -> list[str]:
    keys = ["start", "period", "budget"] if space.perturbations else []
    return [*keys, *(one.key for one in space.axes)]


def _default(space: Space) -> list[str]:
    keys = [one.key for one in space.axes if one.ordered]
    if len(keys) >= 2 and not space.perturbations:
        return keys[:2]
    if any(p.kind == "square" for p in space.perturbations):
        return ["period", "budget"]
    return ["start", "budget"] if space.perturbations else [keys[0], keys[0]] if keys else [space.axes[0].key] * 2


def _descriptor(space: Space, name: str) -> Descriptor:
    if name == "budget":
        udp = any(p.kind in {"cross", "square"} for p in space.perturbations)
        most = sum(p.count for p in space.perturbations)
        limit = space.limits.cross if udp else None
        return Descriptor(name, 0.0, limit if limit is not None else 1.0 if udp else float(most), False, "")
    if name in {"start", "period"}:
        ends = [p.axes[0 if name == "start" else 1] for p in space.perturbations if name in {a.key for a in p.axes}]
        if not ends:
            return Descriptor(name, 0.0, 64.0, False, "")
        low = min(one.number(0) for one in ends)
        high = max(one.number(len(one.values) - 1) for one in ends)
        return Descriptor(name, low, high, name == "period", "s")
    one = next(one for one in space.axes if one.key == name)
    low, high = one.number(0), one.number(len(one.values) - 1)
    unit = getattr(one.values[0], "unit", "")
    return Descriptor(name, low, high, one.ordered and low > 0 and high / low > 20, unit)


def _number(space: Space, name: str, genome: Genome) -> float:
    if name == "budget":
        return space.budget(genome)
    if name in {"start", "period"}:
        numbers = [
            p.number(e, name) for p, events in space.pairs(genome) for e in events if name in {a.key for a in p.axes}
        ]
        return min(numbers, default=0.0)
    at = next(n for n, one in enumerate(space.axes) if one.key == name)
    return space.axes[at].number(genome.values[at])
