"""The shrinker of `ackclock search` beside that of Hypothesis, on twenty failures.

Which smallest network is smaller, and how many networks does each evaluate?

    python validation/search/shrinkers.py           2 minutes on one core

Both get one predicate: the network is a failure for all seeds of the space. Hypothesis looks for its first failure
itself (`find`); only the networks that it evaluates after that are counted.
"""

from __future__ import annotations

import random
import statistics
from typing import Any

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from ackclock.search import Search
from ackclock.search.evaluate import Evaluator, runner
from ackclock.search.explore import ROUND, Explorer, Tried
from ackclock.search.lattice import Axis
from ackclock.search.shrink import Shrinker
from ackclock.search.space import Genome, Space

FAILURES = [
    ("@shrew", "reno"),
    ("@shrew", "cubic"),
    ("@scar", '{ kind = "vegas", variant = "ns2" }'),
    ("@starvation", "bbr"),
]
SEEDS = range(1, 6)


def indices(one: Axis, simplest: int) -> st.SearchStrategy[int]:
    """Indices of an axis; Hypothesis shrinks towards the simplest one."""
    order = sorted(range(len(one.values)), key=lambda i: (abs(i - simplest), i))
    return st.integers(0, len(order) - 1).map(order.__getitem__)


def networks(space: Space) -> st.SearchStrategy[Genome]:
    """All networks of a space."""
    values = st.tuples(*(indices(one, one.simplest) for one in space.axes))
    lists = st.tuples(
        *(
            st.lists(st.tuples(*(indices(one, 0) for one in p.axes)), min_size=p.least, max_size=p.count).map(
                lambda events: tuple(sorted(events))
            )
            for p in space.perturbations
        )
    )
    return st.builds(Genome, values, lists)


def first_failure(search: Search, evaluator: Evaluator, seed: int) -> Tried:
    """The first failure of the explorer."""
    explorer = Explorer(search.space, seed)
    while True:
        proposed = explorer.ask(ROUND)
        for one in explorer.tell(proposed, evaluator.confirmed([genome for _, genome, _ in proposed])):
            if one.value.fails:
                return one


def hypothesis(search: Search, evaluator: Evaluator, seed: int) -> tuple[Genome | None, int]:
    """The smallest network of Hypothesis, and the networks that it evaluated after its first failure."""
    after: list[Genome] = []
    known: dict[Genome, bool] = {}

    def fails(genome: Genome) -> bool:
        if search.space.excess(genome) > 0:
            return False
        if genome not in known:
            known[genome] = evaluator.confirmed([genome])[0].fails
            if any(known.values()):
                after.append(genome)
        return known[genome]

    options: dict[str, Any] = {"suppress_health_check": list(HealthCheck), "phases": [Phase.generate, Phase.shrink]}
    try:
        smallest = find(
            networks(search.space),
            fails,
            settings=settings(max_examples=3000, deadline=None, database=None, **options),
            random=random.Random(seed),
        )
    except NoSuchExample:
        return None, 0
    return smallest, len(after) - 1


def main() -> None:
    """Print a table."""
    print(f"{'space':12} {'seed':>4}  {'search':>28}  {'Hypothesis':>28}")
    ours, theirs, smaller, equal = [], [], 0, 0
    for name, control in FAILURES:
        for seed in SEEDS:
            search = Search.load(name, control=control)
            with Evaluator(
                search.space, search.objective, search.seeds, None, runner("local", 2, python=False)
            ) as evaluator:
                tried = first_failure(search, evaluator, seed)
                small = Shrinker(evaluator, lambda _: True).shrink(tried.genome, tried.value)
                other, count = hypothesis(search, evaluator, seed)
            order = search.space.order
            a, b = order(small.genome)[:4], None if other is None else order(other)[:4]
            shown = "none" if b is None else f"{b[0]} events {b[1]} values {b[3]} digits"
            left = f"{a[0]} events {a[1]} values {a[3]} digits"
            print(f"{name:12} {seed:4}  {left:>28} {small.evaluations:4}  {shown:>28} {count:4}")
            smaller += b is None or a < b
            equal += a == b
            ours.append(small.evaluations)
            if other is not None:
                theirs.append(count)
    print(
        f"smaller {smaller}, equal {equal} of {len(ours)}; networks: median {statistics.median(ours)}, sum {sum(ours)};"
    )
    print(f"Hypothesis: median {statistics.median(theirs)}, sum {sum(theirs)}")


if __name__ == "__main__":
    main()
