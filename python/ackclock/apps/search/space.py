"""The space of a search: a scenario, the values that may change in it, and the events that may happen."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import tomli_w

from ackclock import ScenarioError
from ackclock.apps.search.lattice import Axis, Quantity, axis
from ackclock.apps.search.perturbation import Event, Perturbation, assignments, read
from ackclock.base.assignment import Assignment, Override, key_names, key_text
from ackclock.base.files import BadInput, foreign
from ackclock.base.languages import moved
from ackclock.base.source import Source
from ackclock.scenario import Scenario

PACKET_BITS = 12_000
"""Bits of a packet when a budget of drops is compared with the packets of a run."""


@dataclass(frozen=True)
class Genome:
    """One network of a space: indices of values, lists of events, and what shrinking took away."""

    values: tuple[int, ...]
    events: tuple[tuple[Event, ...], ...]
    halvings: int = 0
    """How often the measured time was halved."""
    without: tuple[str, ...] = ()
    """Flows that were removed."""

    def with_value(self, at: int, index: int) -> Genome:
        """The network with another value of an axis."""
        return replace(self, values=(*self.values[:at], index, *self.values[at + 1 :]))

    def with_events(self, at: int, events: Sequence[Event]) -> Genome:
        """The network with other events of a perturbation."""
        return replace(self, events=(*self.events[:at], tuple(sorted(events)), *self.events[at + 1 :]))

    def with_number(self, at: int, n: int, k: int, index: int) -> Genome:
        """The network with another number `k` of event `n` of a perturbation."""
        events = list(self.events[at])
        events[n] = (*events[n][:k], index, *events[n][k + 1 :])
        return self.with_events(at, events)


@dataclass(frozen=True)
class Number:
    """One number of a network: the value of an axis, or a number of an event."""

    name: str
    axis: Axis
    index: int
    of_event: bool
    change: Callable[[int], Genome]
    """The network with another index."""


@dataclass(frozen=True)
class Limits:
    """What a network of a space must keep: budgets of the perturbation, and guards against trivial failures."""

    cross: float | None = None
    """Largest mean rate of UDP traffic, as a part of the link's rate."""
    drops: float | None = None
    """Largest number of dropped packets, as a part of the packets that the link can send in the run."""
    delay_s: float | None = None
    no_loss_before: int = 20
    """Number of the first packet that may be dropped or marked."""
    queue: int = 0
    """Smallest limit of the bottleneck's queue, packets."""


@dataclass
class Space:
    """A base scenario with axes and perturbations. `read_space` makes one."""

    source: Source
    """The base scenario; it has a silent UDP flow for each perturbation that sends UDP."""
    base: dict[str, Any]
    """The base scenario as a document without those flows."""
    axes: list[Axis]
    perturbations: list[Perturbation]
    limits: Limits
    tested: list[str]
    """Names of the flows under test."""
    bottleneck: str
    """The name of the bottleneck link."""
    start_s: float
    """When the measurement begins; the run's warm-up."""
    duration_s: float
    after_events: bool = False
    """Whether the measurement begins after the last event, if that is later."""
    _admitted: dict[Genome, float] = field(default_factory=dict)
    _sources: dict[tuple[str, ...], Source] = field(default_factory=dict)

    def simplest(self) -> Genome:
        """The network with the simplest values and the fewest events."""
        events = tuple(tuple((0,) * len(p.axes) for _ in range(p.least)) for p in self.perturbations)
        return Genome(tuple(one.simplest for one in self.axes), events)

    @cached_property
    def links(self) -> dict[str, Mapping[str, Any]]:
        """The links of the base by name."""
        return {link["name"]: link for link in self.base.get("link", []) if "name" in link}

    def rate_bps(self, genome: Genome, link: str) -> float:
        """The rate of a link in a network of the space. Raises BadInput if it is not constant."""
        for one, index in zip(self.axes, genome.values, strict=True):
            if key_names(one.key, "space") == ("link", link, "rate"):
                return one.number(index)
        rate = self.links[link].get("rate")
        if not isinstance(rate, str):
            raise BadInput(f"space: the link {link} needs a constant rate, because events are parts of it")
        return float(Quantity.read(rate, f"link.{link}.rate").value)

    def measured(self, genome: Genome) -> tuple[float, float]:
        """When the measurement begins and ends, seconds."""
        start = self.start_s
        if self.after_events:
            ends = (p.end_s(e) for p, events in self.pairs(genome) for e in events)
            start = max([start, *ends])
        return start, start + (self.duration_s - start) / 2**genome.halvings

    def pairs(self, genome: Genome) -> list[tuple[Perturbation, tuple[Event, ...]]]:
        """The perturbations with their events."""
        return list(zip(self.perturbations, genome.events, strict=True))

    def numbers(self, genome: Genome) -> Iterator[Number]:
        """All numbers of a network: those of its events, then its values."""
        for at, (p, events) in enumerate(self.pairs(genome)):
            for n, event in enumerate(events):
                name = p.name if len(events) == 1 else f"{p.name} {n + 1}"
                for k, (one, index) in enumerate(zip(p.axes, event, strict=True)):
                    yield Number(f"{name}: {one.key}", one, index, True, partial(genome.with_number, at, n, k))
        for at, (one, index) in enumerate(zip(self.axes, genome.values, strict=True)):
            yield Number(one.key, one, index, False, partial(genome.with_value, at))

    @property
    def dimensions(self) -> int:
        """Numbers that describe any network: values, numbers of events and all events."""
        return len(self.axes) + sum(1 + p.count * len(p.axes) for p in self.perturbations)

    def overrides(self, genome: Genome) -> list[Assignment]:
        """The assignments that make this network of the base scenario."""
        start, end = self.measured(genome)
        pairs = self.pairs(genome)
        changed = {p.at for p, events in pairs if events and p.kind != "rates" and not p.sends_udp}
        losses = {at: (losses_of(self.links[at]), losses_of(self.links[at], back=True)) for at in sorted(changed)}
        events = assignments(pairs, losses, lambda link: self.rate_bps(genome, link))
        values = [one.assignment(index) for one, index in zip(self.axes, genome.values, strict=True)]
        # An axis can be a number of an impairment, and a change of the rate replaces the rate of an axis.
        lists = [one for one in events if one.key[-1] == "loss"]
        rest = [one for one in events if one.key[-1] != "loss"]
        times = [Assignment(("warmup",), _ms(start)), Assignment(("duration",), _ms(end))]
        return [*lists, *values, *rest, *times]

    def source_of(self, genome: Genome) -> Source:
        """The base scenario without the flows that shrinking removed."""
        if not genome.without:
            return self.source
        if genome.without not in self._sources:
            document = tomllib.loads(self.source.text)
            document["flow"] = [flow for flow in document["flow"] if flow.get("name") not in genome.without]
            self._sources[genome.without] = self.source.with_text(tomli_w.dumps(document))
        return self._sources[genome.without]

    def flows_of(self, genome: Genome) -> list[str]:
        """The flows under test that are there."""
        return [name for name in self.tested if name not in genome.without]

    def scenario(self, genome: Genome, overrides: Sequence[Override] = ()) -> Scenario:
        """The scenario of a network."""
        return Scenario.read(self.source_of(genome), [*self.overrides(genome), *overrides])

    def document(self, genome: Genome, overrides: Sequence[Override] = ()) -> dict[str, Any]:
        """The same as a document in few words: no flow that sends nothing, no table that is empty or repeated."""
        document = self.scenario(genome, overrides).facts().document
        idle = {p.name for p, events in self.pairs(genome) if not events}
        document["flow"] = [flow for flow in document["flow"] if flow["name"] not in idle]
        for link in document["link"]:
            back = link.get("back", {})
            if not link.get("loss") and not back.get("loss"):  # an empty list in `back` keeps it from having the link's
                link.pop("loss", None)
                back.pop("loss", None)
            if not link.get("back", True):
                del link["back"]
        if document.get("warmup") in {"0ms", "0s"}:
            del document["warmup"]
        return _in_fewer_words(document)

    def order(self, genome: Genome) -> tuple[Any, ...]:
        """The order that shrinking descends: events, values that are not the simplest ones, flows, digits, time."""
        changed = sum(index != one.simplest for one, index in zip(self.axes, genome.values, strict=True))
        digits = sum(one.digits(i) for one, i in zip(self.axes, genome.values, strict=True) if i != one.simplest)
        digits += sum(
            one.digits(i) for p, es in self.pairs(genome) for e in es for one, i in zip(p.axes, e, strict=True)
        )
        away = sum(abs(index - one.simplest) for one, index in zip(self.axes, genome.values, strict=True))
        events = sum(map(len, genome.events))
        sizes = sum(i for p, es in self.pairs(genome) for e in es for i in e)
        return (
            events,
            changed,
            -len(genome.without),
            digits,
            -genome.halvings,
            away + sizes,
            genome.values,
            genome.events,
        )

    def budget(self, genome: Genome) -> float:
        """The part of the run's capacity that its UDP traffic takes, or the number of events if it has none."""
        _, end = self.measured(genome)
        udp = sum(p.mean_rate(events, end) for p, events in self.pairs(genome))
        return udp or float(sum(len(e) for p, e in self.pairs(genome) if not p.sends_udp))

    def excess(self, genome: Genome) -> float:
        """By how much a network exceeds the limits; 0 if it keeps them. Nothing is run."""
        if genome not in self._admitted:
            self._admitted[genome] = self._excess(genome)
        return self._admitted[genome]

    def _excess(self, genome: Genome) -> float:
        limits, total = self.limits, 0.0
        start, end = self.measured(genome)
        if start >= end or (self.after_events and end - start < 0.2 * self.duration_s):
            return 10.0
        for p, events in self.pairs(genome):
            if p.kind == "square" and any(p.number(e, "burst") >= p.number(e, "period") for e in events):
                total += 1.0
            if p.kind in {"drops", "marks"} and any(p.number(e, "packet") < limits.no_loss_before for e in events):
                total += 1.0
            if limits.delay_s is not None and p.kind == "delays":
                total += sum(max(0.0, p.number(e, "by") / limits.delay_s - 1) for e in events)
        pairs = self.pairs(genome)
        if limits.cross is not None:
            total += max(0.0, sum(p.mean_rate(events, end) for p, events in pairs) / limits.cross - 1)
        if limits.drops is not None:
            most = limits.drops * self.rate_bps(genome, self.bottleneck) * end / PACKET_BITS
            total += max(0.0, sum(len(events) for p, events in pairs if p.kind == "drops") / max(1.0, most) - 1)
        if limits.queue and not total:
            try:
                links = self.scenario(genome).resolved["links"]
            except ScenarioError:
                return total  # it is refused when it is to be run
            [link, *_] = (one for one in links if one["given"] == self.bottleneck)
            limit = link["limit_packets"] or (link["limit_bytes"] or math.inf) * 8 / PACKET_BITS
            total += max(0.0, limits.queue / limit - 1)
        return total


def _in_fewer_words(document: dict[str, Any]) -> dict[str, Any]:
    """The same scenario in fewer words: the controller of all TCP flows in `[tcp]`, and no value that has no effect."""
    tcp = [flow for flow in document["flow"] if "udp" not in flow and "quic" not in flow]
    for flow in document["flow"]:
        if flow.get("start") in {"0s", "0ms"}:
            del flow["start"]
        control = flow.get("tcp", {}).get("congestion_control")
        if isinstance(control, Mapping) and list(control) == ["kind"]:
            flow["tcp"]["congestion_control"] = control["kind"]
    tables = [flow.get("tcp", {}) for flow in tcp]
    if tables and all(table == tables[0] for table in tables):
        document["tcp"] = {**document.get("tcp", {}), **tables[0]}
        for flow in tcp:
            flow.pop("tcp", None)
    for link in document["link"]:
        loss = link.get("loss")
        if isinstance(loss, Mapping) and loss.get("kind") == "jitter" and loss.get("max") in {"0s", "0ms"}:
            del link["loss"]
    order = ["title", "duration", "warmup", "seed", "tcp", "quic", "link", "flow"]
    return {key: document[key] for key in sorted(document, key=lambda k: order.index(k) if k in order else 3)}


def losses_of(link: Mapping[str, Any], *, back: bool = False) -> list[Any]:
    """The impairments of a link as a list; the reverse direction has those of the link unless it has its own."""
    reverse = link.get("back", {})
    losses = reverse["loss"] if back and "loss" in reverse else link.get("loss", [])
    return list(losses) if isinstance(losses, list) else [] if losses.get("kind") == "none" else [losses]


def _ms(seconds: float) -> str:
    return f"{round(1000 * seconds)}ms" if seconds % 1 else f"{round(seconds)}s"


SPACE_KEYS = ("perturbation",)
SEARCH_KEYS = (
    "objective", "control", "against", "after", "window", "budget", "guard", "seeds", "tested", "bottleneck", "map",
)  # fmt: skip


def read_space(source: Source, overrides: Sequence[Override] = ()) -> tuple[Space, dict[str, Any]]:
    """Read a space file: a scenario with tables `[space]` and `[search]`. Returns the space and the table `[search]`.

    A scenario without them has `default_space` at the slowest link of its first flow. Raises BadInput and
    ScenarioError with the place.
    """
    document = _document(source)
    space, search = document.pop("space", None), document.pop("search", {})
    if not isinstance(search, Mapping) or not isinstance(space or {}, Mapping):
        raise BadInput(f"{source.file}: space and search must be tables")
    if unknown := sorted(search.keys() - set(SEARCH_KEYS)):
        raise BadInput(f"{source.file}: search.{unknown[0]}: unknown key; there are {', '.join(SEARCH_KEYS)}")
    text = source.with_text(tomli_w.dumps(document))
    plain = Scenario.read(replace(text, file=source.file, assignments=source.assignments), overrides)
    if plain.is_study:
        raise BadInput(f"{source.file}: sweep: a search has no [sweep]; its values are in [space]")
    folder = Path(source.file).parent
    base, resolved = with_tables(plain.facts().document, lambda table: _absolute(table, folder)), plain.resolved
    for number, flow in enumerate(base.get("flow", [])):
        flow.setdefault("name", f"flow{number}")
    begin = search.get("tested", "")
    if not isinstance(begin, str):
        raise BadInput(f"{source.file}: search.tested: must be text, the begin of the names of flows")
    tested = _tested(source.file, resolved, begin)
    links, bottleneck = _links(source.file, base, resolved, tested, search)
    if space is None:
        space = default_space(bottleneck, base)
    if not isinstance(space, Mapping):
        raise BadInput(f"{source.file}: space: must be a table [space]")
    if not isinstance(space.get("perturbation", {}), Mapping):
        raise BadInput(f"{source.file}: space.perturbation: must be tables, such as [space.perturbation.bursts]")
    perturbations = [
        read(name, table, [bottleneck, *(one for one in links if one != bottleneck)], tested)
        for name, table in (space.get("perturbation") or {}).items()
    ]
    axes = [
        axis(name, table, f"{source.file}: space.{name}", _value(base, name))
        for name, table in space.items()
        if name not in SPACE_KEYS
    ]
    if not axes and not perturbations:
        raise BadInput(f"{source.file}: space: is empty; give a key with a range, or a perturbation")
    rates = [p.at for p in perturbations if p.kind == "rates"]
    if len(set(rates)) < len(rates):
        raise BadInput(f"{source.file}: space.perturbation: a link has at most one perturbation of the kind rates")
    start, end = _window(source.file, search, plain.duration_s)
    full = dict(base)
    full["flow"] = [
        *base.get("flow", []),
        *(_silent(p, base, links) for p in perturbations if p.sends_udp),
    ]
    of = replace(plain.source, text=tomli_w.dumps(full))
    limits = _limits(source.file, search)
    whole = Space(of, base, axes, perturbations, limits, tested, bottleneck, start, end)
    whole.scenario(whole.simplest())  # errors in the keys of the space are told here
    return whole, dict(search)


def _document(source: Source) -> dict[str, Any]:
    """The text of a source as a document. Raises BadInput if it is not TOML."""
    try:
        return tomllib.loads(source.text)
    except tomllib.TOMLDecodeError as error:
        why = foreign(Path(source.file), "a search space (TOML)") or f"not TOML: {error}"
        raise BadInput(f"{source.file}: {why}") from None


def with_tables(item: Any, change: Callable[[dict[str, Any]], Any]) -> Any:
    """A document with each of its tables changed, the inner ones first."""
    if isinstance(item, dict):
        return change({key: with_tables(value, change) for key, value in item.items()})
    return [with_tables(one, change) for one in item] if isinstance(item, list) else item


def _absolute(table: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A table with the whole path of its controller's file, which is relative to the folder of the file."""
    return moved(table, lambda file: (folder / file).resolve())


def default_space(bottleneck: str, base: Mapping[str, Any]) -> dict[str, Any]:
    """The space of a scenario that describes none: rate, delay, bursts of UDP and drops at its bottleneck."""
    link = next(link for link in base["link"] if link.get("name") == bottleneck)
    space: dict[str, Any] = {}
    for name in ("rate", "delay"):
        value = link.get(name)
        if isinstance(value, str):
            middle = Quantity.read(value, f"link.{bottleneck}.{name}")
            ends = [replace(middle, value=end).written() for end in (middle.value / 10, middle.value * 10)]
            space[key_text(("link", bottleneck, name))] = {"log": ends, "digits": 1}
    events = {"at": bottleneck, "count": 2, "start": ["1s", "5s"]}
    space["perturbation"] = {
        "bursts": {"kind": "cross", **events, "length": ["5ms", "500ms"], "peak": {"range": [0.2, 4.0], "step": 0.1}},
        "drops": {"kind": "drops", "at": bottleneck, "count": 4, "packet": {"log": [20, 5000]}},
    }
    return space


def _tested(file: str, resolved: Mapping[str, Any], prefix: str) -> list[str]:
    names = [one["name"] for one in resolved["flows"] if one["kind"] != "udp" and one["name"].startswith(prefix)]
    if not names:
        what = f"whose name begins with {prefix!r}" if prefix else "to test"
        raise BadInput(f"{file}: search.tested: there is no TCP or QUIC flow {what}")
    return names


def _links(
    file: str, base: dict[str, Any], resolved: Mapping[str, Any], tested: Sequence[str], search: Mapping[str, Any]
) -> tuple[list[str], str]:
    """The names of the links, and that of the bottleneck; links without a name get one."""
    if not base.get("link"):
        raise BadInput(f"{file}: a search needs links; satellites and radio have none")
    for number, link in enumerate(base["link"]):
        link.setdefault("name", f"link{number}")
    names = [str(link["name"]) for link in base["link"]]
    if "bottleneck" in search:
        wanted = str(search["bottleneck"])
        if wanted not in names:
            raise BadInput(f"{file}: search.bottleneck: there is no link {wanted}; there are {', '.join(names)}")
        return names, wanted
    path = next(one["path"] for one in resolved["flows"] if one["name"] == tested[0])
    slowest = min(path, key=lambda number: float(resolved["links"][number]["mean_rate_bps"] or 0)) if path else 0
    if slowest % 2:
        first, second = base["link"][slowest // 2]["ends"]
        raise BadInput(
            f"{file}: link {names[slowest // 2]}: data goes from {second} to {first}; write "
            f'ends = ["{second}", "{first}"], so that a search disturbs the data and not its ACKs'
        )
    return names, names[slowest // 2]


def _value(base: Mapping[str, Any], name: str) -> Any:
    """The value of a key in the base scenario, or None."""
    at: Any = base
    for part in key_names(name, f"space.{name}"):
        step, _, number = part.partition("[")
        if isinstance(at, list):
            at = next((one for one in at if isinstance(one, Mapping) and one.get("name") == step), None)
        else:
            at = at.get(step) if isinstance(at, Mapping) else None
        if number and isinstance(at, list):
            index = number.rstrip("]")
            at = at[int(index)] if index.isdecimal() and int(index) < len(at) else None
    return at


def _silent(p: Perturbation, base: Mapping[str, Any], links: Sequence[str]) -> dict[str, Any]:
    """The UDP flow of a perturbation without events, from end to end of its link."""
    if p.name in {flow.get("name") for flow in base.get("flow", [])}:
        raise BadInput(f"space.perturbation.{p.name}: a flow has this name; choose another one")
    ends = base["link"][links.index(p.at)]["ends"]
    return {"name": p.name, "from": ends[0], "to": ends[1], "udp": {"rate": "0bps"}}


def _window(file: str, search: Mapping[str, Any], duration_s: float) -> tuple[float, float]:
    """When the measurement begins and ends."""
    if "window" in search:
        ends = search["window"]
        if not isinstance(ends, list) or len(ends) != 2:
            raise BadInput(f'{file}: search.window: must be two times, such as ["10s", "20s"]')
        start, end = (float(Quantity.read(one, f"{file}: search.window").value) for one in ends)
    else:
        start, end = float(Quantity.read(search.get("after", "0s"), f"{file}: search.after").value), duration_s
    if not 0 <= start < end:
        raise BadInput(f"{file}: search: the measurement must begin before it ends, at {end:g} s")
    return start, end


def _limits(file: str, search: Mapping[str, Any]) -> Limits:
    limits: dict[str, Any] = {}
    budget, guards = search.get("budget", {}), search.get("guard", [])
    for name, value in budget.items() if isinstance(budget, Mapping) else [("budget", budget)]:
        if name not in {"cross", "drops", "delay"}:
            raise BadInput(f"{file}: search.budget.{name}: unknown key; there are cross, drops, delay")
        quantity = Quantity.read(value, f"{file}: search.budget.{name}")
        number = float(quantity.value)
        if quantity.unit != ("s" if name == "delay" else ""):
            raise BadInput(
                f"{file}: search.budget.{name}: must be {'a time' if name == 'delay' else 'a part, such as 0.1'}"
            )
        if number <= 0:
            raise BadInput(f"{file}: search.budget.{name}: must be more than zero; leave the perturbation out instead")
        limits["delay_s" if name == "delay" else name] = number
    for text in guards if isinstance(guards, list) else [guards]:
        match = re.fullmatch(r"\s*(no_loss_before)\s*=\s*(\d+)\s*|\s*(queue)\s*>=\s*(\d+)p\s*", str(text))
        if match is None:
            raise BadInput(f'{file}: search.guard: "{text}" is none of "no_loss_before = 20" and "queue >= 10p"')
        limits[match[1] or match[3]] = int(match[2] or match[4])
    return Limits(**limits)
