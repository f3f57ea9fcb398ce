"""Perturbations of a network by lists of events: their numbers, and the assignments that put them into a scenario."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ackclock.apps.search.lattice import Axis, Quantity, axis
from ackclock.base.assignment import Assignment
from ackclock.base.files import BadInput

Event = tuple[int, ...]
"""Indices of the values of an event's numbers."""

FIELDS: dict[str, tuple[str, ...]] = {
    "cross": ("start", "length", "peak"),
    "square": ("start", "period", "burst", "peak"),
    "drops": ("packet",),
    "marks": ("packet",),
    "delays": ("start", "length", "by"),
    "blackouts": ("start", "length"),
    "stalls": ("start", "length"),
    "rates": ("start", "length", "factor"),
    "acks": ("start", "length"),
}
"""The kinds of perturbations with the numbers of an event: bursts of UDP and a square wave of UDP (peak: part of the
link's rate), dropped and marked data packets of a flow, additional delays, times in which packets are dropped, times in
which they wait, times with another rate (a factor), and times in which ACKs are dropped."""
UNITS = {"start": "s", "length": "s", "period": "s", "burst": "s", "by": "s", "packet": "", "peak": "", "factor": ""}
KEYS = {"kind", "at", "count", "least", "flow"}


@dataclass(frozen=True)
class Perturbation:
    """A list of events of one kind at one link."""

    name: str
    kind: str
    at: str
    """The link."""
    least: int
    count: int
    """The smallest and the largest number of events."""
    axes: tuple[Axis, ...]
    flow: str = ""
    """The flow whose packets are dropped or marked."""

    def number(self, event: Event, name: str) -> float:
        """A number of an event, in seconds, packets or parts."""
        at = FIELDS[self.kind].index(name)
        return self.axes[at].number(event[at])

    def text(self, event: Event, name: str) -> Any:
        """The same as a scenario writes it."""
        at = FIELDS[self.kind].index(name)
        return self.axes[at].written(event[at])

    def end_s(self, event: Event) -> float:
        """When an event is over, seconds; of packets by number and of a square wave it is not known: 0."""
        return self.number(event, "start") + self.number(event, "length") if "length" in FIELDS[self.kind] else 0.0

    def intervals(self, event: Event, duration_s: float) -> list[tuple[float, float]]:
        """The times during which an event lasts, from and to, seconds; none for packets by number."""
        if self.kind != "square":
            end_s = self.end_s(event)
            return [(self.number(event, "start"), end_s)] if end_s else []
        start, period, burst = (self.number(event, name) for name in ("start", "period", "burst"))
        count = max(0, math.ceil((duration_s - start) / period))
        return [(start + k * period, min(start + k * period + burst, duration_s)) for k in range(count)]

    @property
    def sends_udp(self) -> bool:
        """Whether its events are packets of UDP, which an additional flow of the scenario sends."""
        return self.kind in {"cross", "square"}

    def mean_rate(self, events: Sequence[Event], duration_s: float) -> float:
        """The mean rate of the UDP traffic as a part of the link's rate."""
        if self.kind == "cross":
            return sum(self.number(e, "length") * self.number(e, "peak") for e in events) / duration_s
        if self.kind == "square":
            return sum(self.number(e, "burst") / self.number(e, "period") * self.number(e, "peak") for e in events)
        return 0.0

    def words(self, event: Event) -> str:
        """An event in words."""
        of = {name: str(self.text(event, name)) for name in FIELDS[self.kind]}
        if self.kind == "square":
            return f"UDP at {of['peak']} times the link's rate for {of['burst']} of every {of['period']}"
        if self.kind in {"drops", "marks"}:
            return f"packet {of['packet']} {'dropped' if self.kind == 'drops' else 'marked'}"
        what = {
            "cross": f"UDP at {of.get('peak')} times the link's rate",
            "delays": f"delay +{of.get('by')}",
            "blackouts": "all packets dropped",
            "stalls": "packets wait",
            "rates": f"rate x {of.get('factor')}",
            "acks": "all ACKs dropped",
        }[self.kind]
        return f"{what} for {of['length']} at {of['start']}"


def read(name: str, table: Any, links: Sequence[str], flows: Sequence[str]) -> Perturbation:
    """Read `[space.perturbation.NAME]`. Raises BadInput with the place."""
    place = f"space.perturbation.{name}"
    if not isinstance(table, Mapping) or not isinstance(table.get("kind"), str) or table["kind"] not in FIELDS:
        raise BadInput(f"{place}.kind: must be one of {', '.join(FIELDS)}")
    kind = str(table["kind"])
    fields = FIELDS[kind]
    if unknown := sorted(table.keys() - KEYS - set(fields)):
        raise BadInput(f"{place}.{unknown[0]}: unknown key; there are {', '.join([*sorted(KEYS), *fields])}")
    at = str(table.get("at", links[0] if links else ""))
    if at not in links:
        raise BadInput(f"{place}.at: there is no link {at}; there are {', '.join(links)}")
    flow = str(table.get("flow", flows[0]))
    if flow not in flows:
        raise BadInput(f"{place}.flow: there is no tested flow {flow}; there are {', '.join(flows)}")
    count, least = table.get("count", 1), table.get("least", 1 if kind == "square" else 0)
    if not isinstance(count, int) or not isinstance(least, int) or not 0 <= least <= count <= 64 or count < 1:
        raise BadInput(f"{place}.count: must be 1 to 64, and at least `least`")
    if kind == "square" and count > 1:
        raise BadInput(f"{place}.count: a square wave is one; write several perturbations")
    axes = tuple(_axis(f"{place}.{field}", field, table) for field in fields)
    if kind == "square" and axes[fields.index("period")].number(0) <= 0:
        raise BadInput(f"{place}.period: must be more than zero")
    return Perturbation(name, kind, at, least, count, axes, flow)


def _axis(place: str, field: str, table: Mapping[str, Any]) -> Axis:
    if field not in table:
        if field == "start" and table["kind"] == "square":
            return Axis(field, (Quantity.read("0s", place),), 0, ordered=True)
        raise BadInput(f'{place}: is missing: give a range, such as {{ log = ["5ms", "500ms"] }}')
    form = table[field]
    if isinstance(form, list) and len(form) == 2:
        ends = [Quantity.read(end, place).value for end in form]
        wide = 0 < 20 * ends[0] <= ends[1]
        form = {"log": form} if wide else {"range": form}
    numbers = axis(field, form, place)
    unit = numbers.values[0].unit if isinstance(numbers.values[0], Quantity) else None
    if unit != UNITS[field]:
        wanted = 'a time, such as "5ms"' if UNITS[field] == "s" else "a number without a unit"
        raise BadInput(f"{place}: must be {wanted}")
    return numbers


def assignments(
    perturbations: Sequence[tuple[Perturbation, Sequence[Event]]],
    losses: Mapping[str, tuple[list[Any], list[Any]]],
    rate_bps: Callable[[str], float],
) -> list[Assignment]:
    """The assignments that put events into a scenario which has a UDP flow for each cross and square perturbation.

    `losses` has the impairments of the base at each link that gets some, forward and back; `rate_bps` gives the rate
    of a link.
    """
    assigned: list[Assignment] = []
    added: dict[str, tuple[list[Any], list[Any]]] = {at: ([*both[0]], [*both[1]]) for at, both in losses.items()}
    for p, events in perturbations:
        if not events:
            continue
        if p.sends_udp:
            assigned += _udp(p, events, rate_bps(p.at))
        elif p.kind == "rates":
            assigned.append(Assignment(("link", p.at, "rate"), _rates(p, events, rate_bps(p.at))))
        else:
            added[p.at][p.kind == "acks"].append(_impairment(p, events))
    for at, (forward, back) in added.items():
        assigned += [Assignment(("link", at, "loss"), forward), Assignment(("link", at, "back", "loss"), back)]
    return assigned


def _bps(rate: float) -> str:
    return str(Quantity(Decimal(round(rate)), "bps").written())


def _udp(p: Perturbation, events: Sequence[Event], rate: float) -> list[Assignment]:
    if p.kind == "square":
        (event,) = events
        wave = {name: p.text(event, name) for name in ("period", "burst")}
        wave["peak"] = _bps(p.number(event, "peak") * rate)
        start = Assignment(("flow", p.name, "start"), p.text(event, "start"))
        return [start, Assignment(("flow", p.name, "udp"), wave)]
    bursts = [
        [p.text(e, "start"), p.text(e, "length"), _bps(p.number(e, "peak") * rate)]
        for e in sorted(events, key=lambda e: p.number(e, "start"))
    ]
    return [Assignment(("flow", p.name, "udp"), {"bursts": bursts})]


def _impairment(p: Perturbation, events: Sequence[Event]) -> dict[str, Any]:
    if p.kind in {"drops", "marks"}:
        action = {"action": "mark"} if p.kind == "marks" else {}
        packets = sorted({round(p.number(e, "packet")) for e in events})
        return {"kind": "scripted", "flow": p.flow, **action, "packets": packets}
    if p.kind == "delays":
        return {"kind": "delay", "steps": _steps(p, events, "by", "0s", max, str)}
    times = [[_s(start), _s(end)] for start, end in _spans(p, events)]
    return {"kind": "stall" if p.kind == "stalls" else "blackout", "times": times}


def _s(seconds: float) -> str:
    return str(Quantity(Decimal(round(seconds * 1e6)).scaleb(-6), "s").written())


def _spans(p: Perturbation, events: Sequence[Event]) -> list[tuple[float, float]]:
    """Begin and end of the events, those that overlap as one."""
    spans: list[tuple[float, float]] = []
    for begin, end in sorted((p.number(e, "start"), p.end_s(e)) for e in events):
        if spans and begin <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((begin, end))
    return spans


def _steps(
    p: Perturbation,
    events: Sequence[Event],
    field: str,
    base: str,
    combine: Callable[[list[float]], float],
    written: Callable[[str], str],
) -> list[list[str]]:
    """The value from each time on: that of the events that last, combined, and else the base's."""
    times = sorted({0.0, *(p.number(e, "start") for e in events), *(p.end_s(e) for e in events)})
    steps: list[list[str]] = []
    for at in times:
        lasting = [p.number(e, field) for e in events if p.number(e, "start") <= at < p.end_s(e)]
        value = (_s(combine(lasting)) if field == "by" else written(str(combine(lasting)))) if lasting else base
        if not steps or steps[-1][1] != value:
            steps.append([_s(at), value])
    return steps


def _rates(p: Perturbation, events: Sequence[Event], rate: float) -> dict[str, Any]:
    steps = _steps(p, events, "factor", _bps(rate), min, lambda factor: _bps(max(1.0, float(factor) * rate)))
    return {"kind": "steps", "steps": steps}
