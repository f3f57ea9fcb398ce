"""The explorer: a low-discrepancy sequence, CMA-ES and a genetic search, with a bandit that divides the runs.

The sequence of networks is a function of the space, the seed and the results alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ackclock.apps.search.evaluate import Value
from ackclock.apps.search.lattice import Axis
from ackclock.apps.search.perturbation import Event, Perturbation
from ackclock.apps.search.space import Genome, Space

ROUND = 32
"""Networks that are evaluated together."""
SHARES = {"sobol": 0.25, "cma": 0.35, "genetic": 0.40}
"""How the rounds are divided until there is a failure."""
POPULATION = 40
TRIES = 200
"""Attempts to make a network that keeps the budget."""


@dataclass(frozen=True)
class Tried:
    """A network that was evaluated: its number from 1 on, the arm that proposed it, and the result."""

    number: int
    arm: str
    genome: Genome
    value: Value


class Sobol:
    """A scrambled Sobol sequence over all values, numbers of events and events."""

    def __init__(self, space: Space, seed: int) -> None:
        from scipy.stats import qmc

        self._space = space
        self._sequence = qmc.Sobol(space.dimensions, seed=seed)
        self._points = self._stream()

    def _stream(self) -> Iterator[Any]:
        while True:
            yield from self._sequence.random(256)

    def ask(self) -> Genome:
        """The next network; some exceed the budget."""
        return decode(self._space, next(self._points))


def decode(space: Space, point: Sequence[float], counts: Sequence[int] | None = None) -> Genome:
    """The network of a point of the unit cube: values, then for each perturbation the number of events and events.

    With `counts` the numbers of events are these, and the point has no coordinates for them.
    """
    rest = iter(point)
    values = tuple(_index(next(rest), len(one.values)) for one in space.axes)
    lists = []
    for number, p in enumerate(space.perturbations):
        count = p.least + _index(next(rest), p.count - p.least + 1) if counts is None else counts[number]
        most = p.count if counts is None else count
        events = [tuple(_index(next(rest), len(one.values)) for one in p.axes) for _ in range(most)]
        lists.append(tuple(sorted(events[:count])))
    return Genome(values, tuple(lists))


def encode(space: Space, genome: Genome) -> list[float]:
    """The point of a network with its numbers of events."""
    point = [(i + 0.5) / len(one.values) for one, i in zip(space.axes, genome.values, strict=True)]
    for p, events in space.pairs(genome):
        point += [(i + 0.5) / len(one.values) for e in events for one, i in zip(p.axes, e, strict=True)]
    return point


def _index(u: float, count: int) -> int:
    return min(count - 1, max(0, int(u * count)))


class Cma:
    """CMA-ES on the numbers of a network; a restart takes the structure of a good network or a new one."""

    SIGMA = 0.3
    STALE = 6
    """Populations without an improvement after which it starts again."""

    def __init__(self, space: Space, rng: np.random.Generator, seed: int) -> None:
        self._space, self._rng, self._seed = space, rng, seed
        self._strategy: Any = None
        self._waiting: list[Any] = []
        self._told: list[tuple[Any, float]] = []
        self._counts: tuple[int, ...] = ()
        self._best, self._stale, self._restarts = math.inf, 0, 0

    def _restart(self, best: Sequence[Tried]) -> bool:
        """Begin a new strategy. False if the networks have fewer than two numbers."""
        import cma

        space = self._space
        start = None
        if best and self._rng.random() < 0.5:
            start = best[int(self._rng.integers(min(5, len(best))))].genome
        if start is None:
            counts = [int(self._rng.integers(max(1, p.least), p.count + 1)) for p in space.perturbations]
            size = len(space.axes) + sum(n * len(p.axes) for n, p in zip(counts, space.perturbations, strict=True))
            point, self._counts = list(self._rng.random(size)), tuple(counts)
        else:
            point, self._counts = encode(space, start), tuple(map(len, start.events))
        if len(point) < 2:
            return False
        self._restarts += 1
        stream = np.random.default_rng([self._seed, self._restarts])
        options = {
            "bounds": [0, 1],
            # Its random numbers are its own, and it reads no file: the default reads `cma_signals.in`.
            "seed": math.nan,
            "randn": lambda *shape: stream.standard_normal(shape),
            "signals_filename": "",
            "popsize": 2 * round(4 + 3 * math.log(len(point))),
            "verbose": -9,
        }
        self._strategy = cma.CMAEvolutionStrategy(point, self.SIGMA, options)
        self._best, self._stale, self._told = math.inf, 0, []
        return True

    def ask(self, best: Sequence[Tried]) -> tuple[Genome, Any] | None:
        """The next network with its point; None while results of the last ones are missing."""
        if not self._waiting:
            if self._told:
                return None
            ended = self._strategy is None or self._stale > self.STALE or self._strategy.stop()
            if ended and not self._restart(best):
                return None
            self._waiting = list(self._strategy.ask())
        point = self._waiting.pop()
        self._told.append((point, math.nan))
        return decode(self._space, point, self._counts), point

    def tell(self, point: Any, fitness: float) -> None:
        """The result of a point; after the last one of a population the strategy moves."""
        for n, (one, _) in enumerate(self._told):
            if one is point:
                self._told[n] = (one, fitness)
        if self._waiting or any(math.isnan(one) for _, one in self._told):
            return
        points, numbers = zip(*self._told, strict=True)
        self._strategy.tell(list(points), [1e6 if math.isinf(one) else one for one in numbers])
        self._stale = 0 if min(numbers) < self._best - 1e-9 else self._stale + 1
        self._best, self._told = min(self._best, *numbers), []


class Genetic:
    """A steady genetic search over the best networks of all arms.

    All its random numbers, from 0 to 1, come from one stream.
    """

    SIGMA = 0.15
    GENES, LIST = 0.15, 0.1
    """Probabilities that a number changes (at least that of one number a network), and that a list of events does."""

    def __init__(self, space: Space, uniform: Callable[[], float]) -> None:
        self._space, self._uniform = space, uniform

    def ask(self, best: Sequence[Genome]) -> Genome:
        """A child of two of the best networks; a random network while there are fewer than two."""
        if len(best) < 2:
            return decode(self._space, [self._uniform() for _ in range(self._space.dimensions)])
        a, b = self._parent(best), self._parent(best)
        values = [x if self._uniform() < 0.5 else y for x, y in zip(a.values, b.values, strict=True)]
        lists = []
        for p, x, y in zip(self._space.perturbations, a.events, b.events, strict=True):
            low, high = sorted((self._below(p.count + 1), self._below(p.count + 1)))
            lists.append(self._mutated_list([*x[:low], *y[low:high], *x[high:]], p))
        rate = max(self.GENES, 1 / max(1, len(values) + sum(len(e) for events in lists for e in events)))
        return Genome(
            self._mutated(values, self._space.axes, rate),
            tuple(
                tuple(sorted(self._mutated(event, p.axes, rate) for event in events))
                for p, events in zip(self._space.perturbations, lists, strict=True)
            ),
        )

    def _below(self, count: int) -> int:
        return int(self._uniform() * count)

    def _parent(self, best: Sequence[Genome]) -> Genome:
        return best[min(self._below(len(best)) for _ in range(3))]

    def _mutated(self, indices: Sequence[int], axes: Sequence[Axis], rate: float) -> tuple[int, ...]:
        return tuple(self._gene(i, one, rate) for i, one in zip(indices, axes, strict=True))

    def _gene(self, index: int, one: Axis, rate: float) -> int:
        if self._uniform() >= rate:
            return index
        count = len(one.values)
        if not one.ordered:
            return self._below(count)
        normal = math.sqrt(-2 * math.log(1 - self._uniform())) * math.cos(2 * math.pi * self._uniform())
        step = math.floor(normal * self.SIGMA * count + 0.5)
        return min(count - 1, max(0, index + (step or (1 if self._uniform() < 0.5 else -1))))

    def _mutated_list(self, events: list[Event], p: Perturbation) -> list[Event]:
        def random() -> Event:
            return tuple(self._below(len(one.values)) for one in p.axes)

        if self._uniform() < self.LIST:
            events.append(random())
        if events and self._uniform() < self.LIST:
            events.pop(self._below(len(events)))
        if events and self._uniform() < self.LIST:
            events.append(events[self._below(len(events))])
        while len(events) > p.count:
            events.pop(self._below(len(events)))
        while len(events) < p.least:
            events.append(random())
        return events


class Explorer:
    """Proposes networks round by round, and learns from their values."""

    def __init__(self, space: Space, seed: int, arms: Sequence[str] = tuple(SHARES)) -> None:
        self._space = space
        rng = np.random.default_rng(seed)
        self._arms = list(arms)
        self._sobol, self._genetic = Sobol(space, seed), Genetic(space, rng.random)
        self._cma = Cma(space, rng, 1000 * seed + 1)
        self.tried: list[Tried] = []
        self.best: list[Tried] = []
        """The best networks, the worst value for the controller first."""
        self._seen: set[Genome] = set()
        self._runs = dict.fromkeys(self._arms, 0)
        self._hits = dict.fromkeys(self._arms, 0)

    def _arm(self) -> str:
        """The arm of the next network: by the shares until there is a failure, then by UCB1 on failures per run."""
        total = sum(self._runs.values())
        if not any(self._hits.values()):
            return max(self._arms, key=lambda arm: SHARES[arm] * (total + 1) - self._runs[arm])
        if unused := [arm for arm in self._arms if not self._runs[arm]]:
            return unused[0]
        return max(
            self._arms,
            key=lambda arm: self._hits[arm] / self._runs[arm] + math.sqrt(2 * math.log(total) / self._runs[arm]),
        )

    def _propose(self, arm: str) -> tuple[str, Genome, Any] | None:
        """A network of an arm that is new and keeps the budget; None if there was none in many attempts."""
        for _ in range(TRIES):
            point = None
            if arm == "sobol":
                genome = self._sobol.ask()
            elif arm == "genetic":
                genome = self._genetic.ask([one.genome for one in self.best])
            else:
                asked = self._cma.ask(self.best)
                if asked is None:
                    return None
                genome, point = asked
            excess = self._space.excess(genome)
            if excess > 0 or genome in self._seen:
                if point is not None:
                    fitness = next((t.value.fitness for t in self.best if t.genome == genome), 1e3)
                    self._cma.tell(point, 1e3 + excess if excess > 0 else fitness)
                continue
            return arm, genome, point
        return None

    def ask(self, count: int) -> list[tuple[str, Genome, Any]]:
        """The next round: at most so many networks, with the arms that propose them."""
        round_: list[tuple[str, Genome, Any]] = []
        simplest = self._space.simplest()
        if not self.tried and self._space.excess(simplest) == 0:
            round_.append(("simplest", simplest, None))
            self._seen.add(simplest)
        while len(round_) < count:
            arm = self._arm()
            proposed = self._propose(arm)
            if proposed is None and arm == "cma":
                self._runs[arm] += 1  # its population waits for results: the share goes to the others in this round
            for other in reversed(self._arms):
                proposed = proposed or (self._propose(other) if other not in {arm, "cma"} else None)
            if proposed is None:
                break
            self._runs[proposed[0]] += 1
            self._seen.add(proposed[1])
            round_.append(proposed)
        return round_

    def tell(self, proposed: Sequence[tuple[str, Genome, Any]], values: Sequence[Value]) -> list[Tried]:
        """The values of a round."""
        new = []
        for (arm, genome, point), value in zip(proposed, values, strict=True):
            one = Tried(len(self.tried) + 1, arm, genome, value)
            self.tried.append(one)
            new.append(one)
            if arm in self._hits:
                self._hits[arm] += value.fails
            if point is not None:
                self._cma.tell(point, value.fitness)
        self.best = sorted([*self.best, *(t for t in new if math.isfinite(t.value.fitness))], key=_worst_first)
        self.best = self.best[:POPULATION]
        return new


def _worst_first(one: Tried) -> tuple[float, int]:
    return one.value.fitness, one.number
