"""Makes a failure small: fewer events, values that are the base's, fewer digits, less time, fewer flows.

A smaller network is taken if it is a failure over all seeds with the same signature. The order of `Space.order`
decreases with every step, so the result does not depend on the machine or on the number of threads.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ackclock.apps.search.evaluate import Evaluator, Value
from ackclock.apps.search.lattice import Axis
from ackclock.apps.search.perturbation import FIELDS, Event, Perturbation
from ackclock.apps.search.space import Genome, Space

MOST_RUNS = 400
"""Networks that shrinking evaluates at most."""
BATCH = 4
"""Networks that are evaluated together: the first that fails is taken."""
MOST_HALVINGS = 3
LEAST_S = 4.0
"""Seconds that are measured at least."""


@dataclass
class Shrunk:
    """The smallest failure, its value, and the number of networks that were evaluated."""

    genome: Genome
    value: Value
    evaluations: int


class Shrinker:
    """Shrinks one failure."""

    def __init__(self, evaluator: Evaluator, same: Callable[[Genome], bool]) -> None:
        self._evaluator, self._space = evaluator, evaluator.space
        self._same = same
        self._count = 0
        self._known: dict[Genome, bool] = {}

    def shrink(self, genome: Genome, value: Value) -> Shrunk:
        """Shrink to a fixed point, or until the bound on evaluations."""
        best = Shrunk(genome, value, 0)
        steps = (_few_events, _drop_events, _defaults, _drop_flows, _merge, _descend, _fewer_digits, _halve)
        moved = True
        while moved and self._count < MOST_RUNS:
            moved = False
            for step in steps:
                while self._count < MOST_RUNS and (smaller := self._first(step(self._space, best.genome), best)):
                    best, moved = smaller, True
        best.evaluations = self._count
        return best

    def _first(self, candidates: Iterator[Genome], best: Shrunk) -> Shrunk | None:
        """The first of the candidates that is smaller and still the same failure."""
        order = self._space.order(best.genome)
        batch: list[Genome] = []
        seen: set[Genome] = set()
        for one in candidates:
            if one in seen or self._known.get(one) is False or self._space.order(one) >= order:
                continue
            seen.add(one)
            if self._space.excess(one) == 0:
                batch.append(one)
            if len(batch) == BATCH:
                if smaller := self._try(batch):
                    return smaller
                batch = []
            if self._count >= MOST_RUNS:
                return None
        return self._try(batch)

    def _try(self, batch: Sequence[Genome]) -> Shrunk | None:
        if not batch:
            return None
        self._count += len(batch)
        values = self._evaluator.confirmed(batch)
        for genome, value in zip(batch, values, strict=True):
            self._known[genome] = value.fails and self._same(genome)
            if self._known[genome]:
                return Shrunk(genome, value, 0)
        return None


def _few_events(space: Space, genome: Genome) -> Iterator[Genome]:
    """One or two events instead of many: as they are, then larger, then as large as the space permits."""
    pairs = space.pairs(genome)
    every = [(at, event) for at, (_, events) in enumerate(pairs) for event in events]
    for count in (1, 2):
        for part in (0.0, 0.5, 1.0) if len(every) > count else ():
            for chosen in itertools.combinations(every, count):
                lists: list[list[Event]] = [[] for _ in pairs]
                for at, event in chosen:
                    lists[at].append(_larger(pairs[at][0], event, part))
                if all(len(events) >= p.least for events, p in zip(lists, space.perturbations, strict=True)):
                    yield replace(genome, events=tuple(tuple(sorted(events)) for events in lists))


def _larger(p: Perturbation, event: Event, part: float) -> Event:
    """An event with its sizes moved by a part of the way to the largest ones."""
    ends = [i if one.key in {"start", "packet"} else len(one.values) - 1 for one, i in zip(p.axes, event, strict=True)]
    return tuple(round(i + part * (end - i)) for i, end in zip(event, ends, strict=True))


def _drop_events(space: Space, genome: Genome) -> Iterator[Genome]:
    """All events of a list, then halves, then single ones."""
    for at, (p, events) in enumerate(space.pairs(genome)):
        size = len(events)
        while size >= 1:
            for start in range(0, len(events), size):
                rest = events[:start] + events[start + size :]
                if len(rest) >= p.least:
                    yield genome.with_events(at, rest)
            size //= 2


def _defaults(space: Space, genome: Genome) -> Iterator[Genome]:
    """All values the base's, then single ones."""
    simplest = space.simplest().values
    yield replace(genome, values=simplest)
    for at, index in enumerate(simplest):
        yield genome.with_value(at, index)


def _drop_flows(space: Space, genome: Genome) -> Iterator[Genome]:
    """Without single flows of the base; at least one flow under test stays."""
    keys = {one.key.split(".")[1].strip('"') for one in space.axes if one.key.startswith("flow.")}
    flows = [flow["name"] for flow in space.base["flow"] if flow["name"] not in {*genome.without, *keys}]
    named = {p.flow for p in space.perturbations if p.kind in {"drops", "marks"}}
    for name in flows:
        if name not in named and (name not in space.tested or len(space.flows_of(genome)) > 1):
            yield replace(genome, without=(*genome.without, name))


def _merge(space: Space, genome: Genome) -> Iterator[Genome]:
    """Two neighbouring events as one, from the begin of the first to the end of the second."""
    for at, (p, events) in enumerate(space.pairs(genome)):
        if "length" not in FIELDS[p.kind]:
            continue
        start, length = FIELDS[p.kind].index("start"), FIELDS[p.kind].index("length")
        ordered = sorted(events, key=lambda e: p.number(e, "start"))
        for n in range(len(ordered) - 1):
            a, b = ordered[n : n + 2]
            wanted = p.end_s(b) - p.number(a, "start")
            lengths = p.axes[length]
            merged = list(a)
            merged[length] = min(range(len(lengths.values)), key=lambda i: abs(lengths.number(i) - wanted))
            merged[start] = a[start]
            yield genome.with_events(at, [*ordered[:n], tuple(merged), *ordered[n + 2 :]])


def _towards(one: Axis, index: int, goal: int) -> Iterator[int]:
    """Values between a goal and a value: the goal first, then half of the way, then a quarter."""
    if not one.ordered or index == goal:
        return
    step = index - goal
    while step:
        yield index - step
        step = int(step / 2)


def _descend(space: Space, genome: Genome) -> Iterator[Genome]:
    """Times and sizes of events, then values, by binary descent towards the smallest, or the base's."""
    for one in space.numbers(genome):
        for index in _towards(one.axis, one.index, 0 if one.of_event else one.axis.simplest):
            yield one.change(index)


def _rounder(one: Axis, index: int) -> Iterator[int]:
    """The nearest values with fewer digits."""
    digits = one.digits(index)
    for fewer in range(1, digits):
        near = [i for i in range(len(one.values)) if one.digits(i) <= fewer]
        yield from sorted(near, key=lambda i: (abs(i - index), i))[:2]


def _fewer_digits(space: Space, genome: Genome) -> Iterator[Genome]:
    for one in space.numbers(genome):
        yield from map(one.change, _rounder(one.axis, one.index))


def _halve(space: Space, genome: Genome) -> Iterator[Genome]:
    """Half of the measured time."""
    start, end = space.measured(genome)
    if genome.halvings < MOST_HALVINGS and (end - start) / 2 >= LEAST_S:
        yield replace(genome, halvings=genome.halvings + 1)
