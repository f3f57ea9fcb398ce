"""Percentiles by rank of values that are given with their counts, such as the sketches of an outcome."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache

from ackclock import _core


def by_rank(counts: Iterable[tuple[float, int]], part: float) -> float | None:
    """The smallest of these values, given with their counts, that a part of them does not exceed.

    Infinite where it falls on a message without an end; None for fewer than 1/(1 - part) values.
    """
    ordered = sorted(counts)
    total = sum(count for _, count in ordered)
    if total == 0 or total * (1 - part) < 1 - 1e-9:  # 1/(1 - 0.95) is a little more than 20
        return None
    rank = min(max(math.ceil(part * total - 1e-9), 1), total)
    below = 0
    for value, count in ordered:
        below += count
        if below >= rank:
            return value
    return None


@cache
def bucket_value(bucket: int | None) -> float:
    """The value in the middle of a bucket of a sketch; infinite for messages without an end."""
    value = _core.pooled_quantile([(bucket, 1)], 0.0)
    return math.inf if value is None else value
