"""The record of a run that checks read: series of the tested flow, the states of its controller, outcome, metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ackclock.apps.suite.language import Interval, Missing, NotRecorded

if TYPE_CHECKING:
    import polars as pl

COLUMNS = ("cwnd", "ssthresh", "in_flight", "ack", "phase", "cause", "pacing_bps", "app_limited")
"""Columns of the window trace that are series of the same name."""
SERIES = ("time", "rtt", "bdp1", *COLUMNS)
"""Series of every controller."""
LARGEST_WINDOW = 1e9
"""Segments."""
OFTEN_EMPTY = ("cause", "pacing_bps")
"""Columns without a value in a whole run of some controllers: no reduction, no pacing rate."""
PHASES = ("open", "cwr", "recovery", "loss")
"""Phases of recovery, which are states of every flow."""
SIMULATED = ("tcp", "quic", "udp")
COMPLETION = ("completion_s", "completion", "finished")
"""What an outcome has of flows that the simulator plays itself."""
MOST_BRIEF = 16
"""States that last no time, one after the other."""
NUMBERS = ("rate", "rtt0", "bdp", "mss", "duration", "inf")
"""Values of the scenario."""
BANDWIDTHS = ("bw", "bandwidth")
"""Internal values that are a controller's present estimate of the bandwidth, bits per second."""


@dataclass(frozen=True)
class Stay:
    """A stay in a state, seconds. `why` and `next` are the reason of its end and the state after it."""

    begin: float
    end: float = np.inf
    why: str = ""
    next: str = ""


@dataclass
class Record:
    """What is known of a run. It is `Values` of the language."""

    trace: pl.DataFrame | None
    """The window trace of the tested flow, a row for each ACK; None if the checks need none."""
    states: Mapping[str, Sequence[Stay]] | None
    """The stays in each state of the controller; None if they are not recorded."""
    numbers: Mapping[str, float]
    """Values of the scenario (`NUMBERS`), and pilot times."""
    flow: Mapping[str, Any]
    """The tested flow in the outcome."""
    link: Mapping[str, Any] | None
    metric: Callable[[str], float | None]
    """A metric of suites, in the unit of tables."""
    row: Mapping[str, Any] = field(default_factory=dict)
    """The outcome."""
    probes: frozenset[str] = frozenset()
    """Names of the internal values of any controller."""
    missing: Mapping[str, Missing | NotRecorded] = field(default_factory=dict)
    """Numbers that have no value, and why."""

    @cached_property
    def _series(self) -> dict[str, Any]:
        return {}

    @cached_property
    def time(self) -> Any:
        """Times of the rows, seconds."""
        return self._column("time_s")

    @property
    def _frame(self) -> pl.DataFrame:
        if self.trace is None or self.trace.is_empty():
            raise NotRecorded("there is no window trace")
        return self.trace

    def _column(self, name: str) -> Any:
        if name not in self._frame.columns or self._frame[name].null_count() == len(self._frame):
            if name in self._frame.columns and name in {*OFTEN_EMPTY, *self.probes}:
                return np.full(len(self._frame), "" if name == "cause" else np.nan)
            raise NotRecorded(f"{name} is not recorded of this controller here")
        column = self._frame[name]
        if column.dtype == pl_text():
            return column.fill_null("").to_numpy()
        values = column.cast(float).fill_null(np.nan).to_numpy()
        # A stack without a threshold reports the largest number that it has.
        return np.where(values > LARGEST_WINDOW, np.inf, values) if name == "ssthresh" else values

    # ---- values of the language ---------------------------------------------------------------------------------

    def value(self, name: str) -> Any:
        """See Values."""
        if name in self.numbers:
            return self.numbers[name]
        if name in self.missing:
            reason = self.missing[name]
            raise type(reason)(f"the time {name} does not come: {reason}")
        if name not in self._series:
            self._series[name] = self._read(name)
        return self._series[name]

    def _read(self, name: str) -> Any:
        if name == "time":
            return self.time
        if name == "rtt":
            return self._column("rtt_s")
        if name == "bdp1":
            bandwidth = next((one for one in BANDWIDTHS if one in self._frame.columns), "bw")
            return self._column(bandwidth) * self._column("min_rtt") / (8 * self.numbers["mss"])
        return self._column(name)

    def member(self, table: str, key: str) -> float:
        """See Values."""
        if key in COMPLETION and self.flow.get("kind") not in SIMULATED:
            raise NotRecorded(f"{table}.{key} is not recorded of a stack")
        if table == "metric":
            value = self.metric(key)
        else:
            value = (self.flow if table == "outcome" else self.link or {}).get(key)
        if value is None or isinstance(value, (str, dict)):
            raise Missing(f"{table}.{key} has no value")
        return float(value)

    def call(self, name: str, arguments: list[Any]) -> Any:
        """See Values."""
        return getattr(self, f"_{name}")(*arguments)

    # ---- states -------------------------------------------------------------------------------------------------

    @cached_property
    def _phases(self) -> dict[str, list[Stay]]:
        """The stays in the phases of recovery."""
        phases = self.value("phase")
        changes = [0, *(np.flatnonzero(phases[1:] != phases[:-1]) + 1), len(phases)]
        stays: dict[str, list[Stay]] = {name: [] for name in PHASES}
        for first, after in pairwise(changes):
            following = phases[after] if after < len(phases) else ""
            end = self.time[after] if after < len(phases) else np.inf
            stays[phases[first]].append(Stay(self.time[first], end, "", following))
        return stays

    def _stays(self, state: str) -> Sequence[Stay]:
        if state in PHASES:
            return self._phases[state]
        if self.states is None:
            raise NotRecorded("the states of this controller are not recorded here")
        return self.states.get(state, ())

    def _stay(self, state: str, number: float = 1) -> Stay:
        stays = self._stays(state)
        if not 1 <= number <= len(stays):
            times = "" if number == 1 else f" {number:g} times"
            raise Missing(f"the controller did not enter {state}{times}")
        return stays[int(number) - 1]

    def _enter(self, state: str, number: float = 1) -> float:
        return self._stay(state, number).begin

    def _leave(self, state: str, number: float = 1) -> float:
        stay = self._stay(state, number)
        if stay.end == np.inf:
            raise Missing(f"the controller did not leave {state}")
        return stay.end

    def _count(self, state: str) -> int:
        return len(self._stays(state))

    def _during(self, state: str, number: float | None = None) -> Interval:
        stays = self._stays(state) if number is None else [self._stay(state, number)]
        if not stays:
            raise Missing(f"the controller did not enter {state}")
        # The row at the end of a stay is of the state after it.
        return Interval(tuple((stay.begin, np.nextafter(stay.end, 0)) for stay in stays))

    def _number(self, state: str, time: float) -> int:
        """The number of the first stay that begins at `time` or later."""
        for number, stay in enumerate(self._stays(state), 1):
            if stay.begin >= time:
                return number
        raise Missing(f"the controller did not enter {state} after {time:g} s")

    def _why(self, state: str, reason: str, number: float = 1) -> bool:
        self._leave(state, number)
        stay = self._stay(state, number)
        if not stay.why:
            raise NotRecorded("why the controller changes its state is not recorded here")
        return stay.why == reason

    def _next(self, state: str, after: str, number: float = 1) -> bool:
        """Whether the state after a stay is `after`; states that last no time are skipped."""
        stay = self._stay(state, number)
        end, following = self._leave(state, number), stay.next
        if following != after and not stay.why and state not in PHASES:
            raise NotRecorded("states that last no time are not visible here")
        for _ in range(MOST_BRIEF):
            if not following or following == after:
                break
            brief = next((one for one in self._stays(following) if one.begin == end == one.end), None)
            if brief is None:
                return False
            following = brief.next
        return following == after

    # ---- series -------------------------------------------------------------------------------------------------

    def _row(self, time: float, side: str = "right") -> int:
        if time > self.numbers.get("duration", np.inf):
            raise Missing(f"the run has ended before {time:g} s")
        row = int(np.searchsorted(self.time, time, side)) - 1  # type: ignore[call-overload]
        if row < 0:
            raise Missing(f"there is no row of the trace up to {time:g} s")
        return row

    def _at(self, series: Any, time: float) -> Any:
        row = self._row(time)
        return series[row] if np.ndim(series) else series

    def _before(self, series: Any, time: float) -> Any:
        row = self._row(time, "left")
        return series[row] if np.ndim(series) else series

    def _parts(self, interval: Interval) -> tuple[tuple[float, float], ...]:
        if not isinstance(interval, Interval):
            raise Missing("an interval is needed: during(STATE), or span(FROM, TO)")
        return interval.parts

    def _rows(self, interval: Interval) -> Any:
        inside = np.zeros(len(self.time), bool)
        for begin, end in self._parts(interval):
            inside |= (self.time >= begin) & (self.time <= end)
        return inside

    def _within(self, series: Any, interval: Interval) -> Any:
        inside = self._rows(interval)
        values = np.asarray(series, float) if np.ndim(series) else np.full(len(inside), float(series))
        values = values[inside & ~np.isnan(values)]
        if not len(values):
            raise Missing("there is no value in the interval")
        return values

    def _max(self, left: Any, right: Any) -> Any:
        return self._within(left, right).max() if isinstance(right, Interval) else np.maximum(left, right)

    def _min(self, left: Any, right: Any) -> Any:
        return self._within(left, right).min() if isinstance(right, Interval) else np.minimum(left, right)

    def _mean(self, series: Any, interval: Interval) -> float:
        """Over time: each value holds until the next row."""
        if not np.ndim(series):
            return float(series)
        area = total = 0.0
        for begin, end in self._parts(interval):
            first, last = max(begin, self.time[0]), min(end, self.time[-1])
            inside = self.time[(self.time > first) & (self.time < last)]
            edges = np.array([first, *inside, last])
            values = np.asarray(series, float)[np.searchsorted(self.time, edges[:-1], "right") - 1]
            lasting = np.diff(edges)
            known = ~np.isnan(values) & (lasting > 0)
            area, total = area + float(values[known] @ lasting[known]), total + float(lasting[known].sum())
        if total <= 0:
            raise Missing("there is no value in the interval")
        return area / total

    def _median(self, series: Any, interval: Interval) -> float:
        return float(np.median(self._within(series, interval)))

    def _share(self, condition: Any, interval: Interval) -> float:
        inside = self._rows(interval)
        if not inside.any():
            raise Missing("there is no row in the interval")
        return float(np.asarray(condition)[inside].mean()) if np.ndim(condition) else float(bool(condition))

    def _delta(self, series: Any, interval: Interval) -> float:
        values = self._within(series, interval)
        return float(values[-1] - values[0])

    def _fit(self, series: Any, curve: Any, interval: Interval) -> float:
        return float(np.abs(self._within(series - curve, interval)).max())

    def _first(self, condition: Any, time: float = 0.0) -> float:
        rows = np.flatnonzero((self.time >= time) & np.asarray(condition, bool))
        if not len(rows):
            raise Missing("the condition never held")
        return float(self.time[rows[0]])

    def _span(self, begin: float, end: float) -> Interval:
        return Interval(((begin, end),))

    def _isset(self, value: Any) -> Any:
        return ~np.isnan(value)

    def _step(self, series: Any) -> Any:
        """The difference of each row from the one before it."""
        return np.diff(series, prepend=np.nan)

    def _sent(self, time: float) -> int:
        """Segments sent up to a time, those of the initial window at least."""
        row = self._row(time)
        return int(max(self.value("ack")[row], 0) + self.value("in_flight")[row])

    def _rounds(self, begin: float, end: float) -> float:
        """Round trips from one time to another: those that the controller counts, or else of packets."""
        try:
            rounds = self.value("round")
        except NotRecorded:
            return self._packet_rounds(begin, end)
        return float(self._at(rounds, end) - self._at(rounds, begin))

    def _packet_rounds(self, begin: float, end: float) -> float:
        acked = np.maximum(self.value("ack"), 0)
        sent = acked + self.value("in_flight")
        row, last, rounds = self._row(begin), self._row(end), 0
        while True:
            # What was sent before the ACK of this row was processed.
            before = sent[row - 1] if row else acked[row]
            row = max(row + 1, int(np.searchsorted(acked, before, "right")))
            if row > last:
                return float(rounds)
            rounds += 1


def pl_text() -> Any:
    """The type of text in a frame."""
    import polars as pl

    return pl.String


def stays_of(transitions: Sequence[tuple[float, str, str, str]], first: str, begin: float) -> dict[str, list[Stay]]:
    """Stays in states from transitions: time, state before, state after, reason. `first` is entered at `begin`."""
    stays: dict[str, list[Stay]] = {}
    state, since = first, begin
    for time, _, after, why in transitions:
        stays.setdefault(state, []).append(Stay(since, time, why, after))
        state, since = after, time
    stays.setdefault(state, []).append(Stay(since))
    return stays


def states_of_numbers(times: Any, numbers: Any, names: Sequence[str]) -> dict[str, list[Stay]] | None:
    """Stays from an internal value that is the number of the state; None if a number has no name."""
    known = numbers[~np.isnan(numbers)]
    if not len(known) or known.min() < 0 or known.max() >= len(names) or (known != np.floor(known)).any():
        return None
    rows = [0, *(np.flatnonzero(np.diff(numbers) != 0) + 1)]
    states = [names[int(numbers[row])] for row in rows if not np.isnan(numbers[row])]
    begins = [float(times[row]) for row in rows if not np.isnan(numbers[row])]
    moves = [(time, before, after, "") for time, (before, after) in zip(begins[1:], pairwise(states), strict=True)]
    return stays_of(moves, states[0], begins[0])
