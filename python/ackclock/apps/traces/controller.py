"""Which controller is this? Controllers follow the recording of a flow (`crates/lab/src/identify.rs`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ackclock import _core
from ackclock.apps.traces.reading import Recorded
from ackclock.base.files import BadInput

if TYPE_CHECKING:
    import numpy as np

LEAST_ACKS, LEAST_REDUCTIONS = 200, 2
"""What a recording must show: acknowledgements that were answered outside of recoveries, and reductions."""
EXPLAINED = 0.8
"""The part of the acknowledgements that an answer must explain."""
FACTOR_OFF = 0.1
"""Largest difference of the mean factor of the reductions from that of the recording."""
LEAD = 10.0
"""The lead in likelihood over the next controller, nats."""


@dataclass(frozen=True)
class Candidate:
    """What a controller explains."""

    name: str
    acks: int
    explained: int
    likelihood: float
    """The logarithm of the likelihood, nats."""
    factor: float | None
    """The mean factor of its reductions."""
    fits: bool
    """It explains enough, and its reductions are those of the recording."""

    @property
    def part(self) -> float:
        """The part of the acknowledgements that it explains."""
        return self.explained / self.acks if self.acks else 0.0


@dataclass(frozen=True)
class Verdict:
    """Which controller a sender has."""

    names: list[str]
    """The controller; several that cannot be told apart; none: unknown."""
    reductions: int
    factor: float | None
    """The mean factor of the reductions in the recording: in flight after it over in flight before it."""
    candidates: list[Candidate]
    """The most likely one first."""
    reason: str
    """Why no name, or not one name alone, is the answer; empty otherwise."""
    differ_at_s: float | None
    """When the windows of the first two candidates differ for the first time."""
    differ: tuple[float, float, float] | None
    """There: segments in flight, and the windows of the two."""


def which(recorded: Recorded, names: Sequence[str] | None = None) -> Verdict:
    """Compare controllers with the recording of a sender. Raises BadInput."""
    import numpy as np

    if recorded.about["form"] != "capture" or recorded.flow["place"] != "sender":
        raise BadInput(
            f"{recorded.file}: a capture at the sender shows its controller (--at sender, if it was there); a qlog "
            "names it"
        )
    known = _core.identify_candidates()
    for name in names or []:
        if name not in known:
            raise BadInput(f"--candidates {name}: can be {', '.join(known)}; others need what a capture does not show")
    reductions, factor, rows = recorded.reader.identify(list(names or known))
    seen = None if math.isnan(factor) else factor
    candidates = [_candidate(row, seen) for row in rows]
    fitting = [candidate for candidate in candidates if candidate.fits]
    acks = candidates[0].acks if candidates else 0
    answer, reason = _answer(acks, reductions, candidates, fitting)
    first_two = [rows[candidates.index(candidate)] for candidate in (fitting or candidates)[:2]]
    at, differ = _difference([np.frombuffer(row[5]).reshape(-1, 3) for row in first_two])
    return Verdict(answer, reductions, seen, candidates, reason, at, differ)


def _candidate(row: Any, seen: float | None) -> Candidate:
    name, acks, explained, likelihood, factor, _ = row
    own = None if math.isnan(factor) else factor
    near = seen is None or (own is not None and abs(own - seen) <= FACTOR_OFF)
    return Candidate(name, acks, explained, likelihood, own, bool(acks and explained >= EXPLAINED * acks and near))


def _answer(
    acks: int, reductions: int, candidates: Sequence[Candidate], fitting: Sequence[Candidate]
) -> tuple[list[str], str]:
    if acks < LEAST_ACKS or reductions < LEAST_REDUCTIONS:
        return [], f"too little: {acks} acknowledgements outside of recoveries, {reductions} reductions"
    if not fitting or candidates[0].likelihood - fitting[0].likelihood >= LEAD:
        nearest = candidates[0]
        reason = f"unknown; most likely {nearest.name}, which explains {nearest.part:.0%} of the acknowledgements"
        if nearest.factor is not None and not nearest.fits:
            reason += f" and reduces to {nearest.factor:.2f}"
        if fitting:
            reason += f"; of those that reduce as the recording does, {fitting[0].name} explains {fitting[0].part:.0%}"
        return [], reason
    equal = [each.name for each in fitting if fitting[0].likelihood - each.likelihood < LEAD]
    return equal, "cannot be told apart here" if len(equal) > 1 else ""


def _difference(windows: list[np.ndarray[Any, Any]]) -> tuple[float | None, tuple[float, float, float] | None]:
    """The first acknowledgement at which the windows of two candidates differ."""
    import numpy as np

    if len(windows) < 2 or len(windows[0]) != len(windows[1]):
        return None, None
    places = np.flatnonzero(windows[0][:, 2] != windows[1][:, 2])
    if not len(places):
        return None, None
    at, flight, own = windows[0][places[0]]
    return float(at) / 1e9, (float(flight), float(own), float(windows[1][places[0], 2]))
