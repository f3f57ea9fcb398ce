"""Sequential tests of pairs of runs: fewer seeds where a difference is certain early.

The data are tested in stages, at numbers of seeds that are fixed beforehand. Each stage has a part of the error, and
the parts add up to 1 (Bonferroni): a test with error `a` in all uses `a` times its part at each stage. So the p-value
of all stages is the least of theirs, each divided by its part, and the interval at a stage has the level 1 - 0.05 times
its part. Both hold for any rule that ends the runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ackclock import stats

FEWEST = 4
"""Seeds of the first stage: the interval of fewer is too wide to decide anything."""
PARTS = (0.3, 0.7)
"""Of the error, by stage."""


@dataclass(frozen=True)
class Stage:
    """A number of seeds, and the part of a test's error that is used there."""

    seeds: int
    part: float


def stages(seeds: int, *, early: bool = True) -> list[Stage]:
    """The stages at up to so many seeds: at two fifths of them, and at all.

    At all alone for fewer than eight seeds, or if not `early`.
    """
    if not early or seeds < 2 * FEWEST:
        return [Stage(seeds, 1.0)]
    counts = (max(FEWEST, math.ceil(0.4 * seeds)), seeds)
    return [Stage(count, part) for count, part in zip(counts, PARTS, strict=True)]


def p_value(of: Callable[[int], float | None], schedule: Sequence[Stage], seeds: int) -> float | None:
    """The p-value of all stages at up to `seeds` seeds; `of` has that of a test over so many, or None."""
    p_values = [(of(stage.seeds), stage.part) for stage in schedule if stage.seeds <= seeds]
    return min((min(1.0, p / part) for p, part in p_values if p is not None), default=None)


def level(schedule: Sequence[Stage], seeds: int) -> float:
    """The level of an interval at the stage with `seeds` seeds: those of all stages hold together with 95 %."""
    part = next((stage.part for stage in schedule if stage.seeds == seeds), 1.0)
    return 1 - (1 - stats.LEVEL) * part
