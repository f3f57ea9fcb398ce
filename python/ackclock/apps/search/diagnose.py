"""Why a network breaks a controller: what limited the flow, what would have helped, and how wide the failure is."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ackclock import ControllerError, ScenarioError
from ackclock.apps import why
from ackclock.apps.search.evaluate import Evaluator, Value
from ackclock.apps.search.objective import Role
from ackclock.apps.search.space import Genome, Number
from ackclock.base import si
from ackclock.base.files import BadInput
from ackclock.base.toml_text import inline
from ackclock.explanation import Explanation
from ackclock.result import Result

NEIGHBOURS = ("reno", "cubic", "bbr")
"""Controllers that stand in for the tested one."""
TCP_OPTIONS: dict[str, Sequence[Any]] = {
    "recovery": ("sack", "newreno"),
    "delayed_ack": (False, True),
    "ack_delay_max": ("40ms",),
    "undo": ([],),
    "tail_loss_probe": (False, True),
    "sack": (False,),
    "min_rto": ("200ms", "1s"),
    "pacing": (False, True),
    "ecn": (False, True),
    "profile": ("ns2", "linux"),
}
"""Options of TCP that are changed one by one."""
PARAMETERS: dict[str, Sequence[Any]] = {
    "variant": ("linux", "brakmo"),
    "slow_start": ("standard", "hystart"),
    "arithmetic": ("rfc9438",),
}
"""Parameters of controllers that are changed one by one, where a controller has them."""


@dataclass(frozen=True)
class Signature:
    """What kind of failure it is: the limit of the slowest tested flow in its longest time without growth."""

    limit: str
    """A limit of `ackclock why`, or "error" for a controller that raised an exception."""
    phase: str
    reference_fails: bool | None
    """Whether the reference has less than half of what it has in the plain network; None without a reference."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"limit": self.limit, "phase": self.phase, "reference_fails": self.reference_fails}


Explained = tuple[Signature, Explanation | None, float | None]
"""A signature, the explanation that it is taken from, and the time of the explanation, seconds."""


@dataclass(frozen=True)
class Ablation:
    """The same network with one thing changed: its objective, and whether the failure is gone."""

    name: str
    objective: float | None
    fails: bool
    recovered: float
    """By how much the objective moved away from the failure."""


@dataclass(frozen=True)
class Margin:
    """The interval of a value in which the failure holds."""

    name: str
    value: Any
    low: Any
    high: Any
    whole: bool
    """Whether it holds at both ends of the range."""


@dataclass
class Diagnosis:
    """The cause of a failure."""

    sentence: str
    lines: list[str]
    """What `ackclock why` says in the middle of the longest time without growth."""
    at_s: float | None
    ablations: list[Ablation] = field(default_factory=list)
    margins: list[Margin] = field(default_factory=list)


def slowest(evaluator: Evaluator, genome: Genome, outcome: dict[str, Any]) -> str:
    """The tested flow with the least goodput."""
    flows = evaluator.space.flows_of(genome)
    return min((f for f in outcome["flows"] if f["name"] in flows), key=lambda f: float(f["goodput_bps"]))["name"]  # type: ignore[no-any-return]


def stagnation(result: Result, flow: str, start_s: float, end_s: float) -> tuple[float, float]:
    """The longest time without growth of a flow's window within the measured time."""
    import polars as pl

    trace = result.trace.filter(pl.col("flow") == flow)
    times, windows = trace["time_s"].to_list(), trace["cwnd"].to_list()
    grows = [t for t, before, after in zip(times[1:], windows, windows[1:], strict=False) if after > before]
    marks = [start_s, *(t for t in grows if start_s < t < end_s), end_s]
    return max(itertools.pairwise(marks), key=lambda pair: pair[1] - pair[0])


def signature(evaluator: Evaluator, genome: Genome, value: Value) -> Explained:
    """The signature of a failure, with the explanation that it is taken from and its time."""
    explained: Explained | None = evaluator.explained.get((genome, value))
    if explained is None:
        evaluator.explained[genome, value] = explained = _signature(evaluator, genome, value)
    return explained


def _signature(evaluator: Evaluator, genome: Genome, value: Value) -> Explained:
    if value.error:
        return Signature("error", value.error.partition(":")[0], None), None, None
    role = evaluator.objective.tested
    if role.stack:  # its window is its own
        return Signature("stack", role.label, _reference_fails(evaluator, value)), None, None
    scenario = evaluator.scenario(genome, role)
    try:
        result = scenario.run(seed=evaluator.seeds[0], trace="changes")
    except (ControllerError, RuntimeError):
        return Signature("error", "exception", None), None, None
    start, end = evaluator.space.measured(genome)
    flow = slowest(evaluator, genome, result.outcome)
    began = next(one["start_s"] for one in scenario.resolved["flows"] if one["name"] == flow)
    start = min(max(start, began), end)
    quiet = stagnation(result, flow, start, end)
    at = round((quiet[0] + quiet[1]) / 2, 3)
    reference = _reference_fails(evaluator, value)
    try:
        explanation = why.explain(scenario, at, flow=flow, seed=evaluator.seeds[0])
    except BadInput:
        return Signature("handshake", "open", reference), None, at
    limit = explanation.limit.kind if explanation.limit is not None else "growing"
    return Signature(limit, explanation.phase, reference), explanation, at


def _reference_fails(evaluator: Evaluator, value: Value) -> bool | None:
    """Whether the reference does badly too: less than half of what it has in the plain network."""
    if len(value.roles) < 2 or value.roles[1] is None:
        return None
    plain = evaluator.values([evaluator.space.simplest()])[0]
    return len(plain.roles) > 1 and plain.roles[1] is not None and value.roles[1] < 0.5 * plain.roles[1]


def diagnose(evaluator: Evaluator, genome: Genome, value: Value) -> Diagnosis:
    """The cause of a small failure."""
    _, explanation, at = signature(evaluator, genome, value)
    lines = list(explanation.sentences()) if explanation is not None else [value.error] if value.error else []
    # What changes nothing is left out.
    ablations = sorted(_ablations(evaluator, genome, value), key=lambda a: (a.fails, -a.recovered, a.name))
    sentence = _sentence(evaluator, value, ablations)
    return Diagnosis(sentence, lines, at, ablations, _margins(evaluator, genome))


def _every_seed(evaluator: Evaluator, genome: Genome, roles: Sequence[Role] | None = None) -> Value:
    """The value of a network over all seeds."""
    return evaluator.values([genome], seeds=evaluator.seeds, roles=roles)[0]


def _ablations(evaluator: Evaluator, genome: Genome, value: Value) -> list[Ablation]:
    changed: list[tuple[str, Value]] = []
    space = evaluator.space
    for at, (p, events) in enumerate(space.pairs(genome)):
        for n, event in enumerate(events):
            rest = events[:n] + events[n + 1 :]
            if len(rest) >= p.least or p.kind == "square":
                changed.append((f"without: {p.words(event)}", _every_seed(evaluator, genome.with_events(at, rest))))
    simplest = space.simplest()
    for n, one in enumerate(space.axes):
        if genome.values[n] != simplest.values[n]:
            name = f"{one.key} = {one.written(simplest.values[n])} instead of {one.written(genome.values[n])}"
            changed.append((name, _every_seed(evaluator, genome.with_value(n, simplest.values[n]))))
    for name, role in _roles(evaluator, genome):
        try:
            evaluator.scenario(genome, role)
        except (ScenarioError, BadInput):
            continue  # the controller has no such variant, the transport no such option
        changed.append((name, _every_seed(evaluator, genome, [role, *evaluator.objective.roles[1:]])))
    return [
        Ablation(name, one.objective, one.fails, one.fitness - value.fitness)
        for name, one in changed
        if (one.objective is not None or one.error) and one.fitness != value.fitness
    ]


def _roles(evaluator: Evaluator, genome: Genome) -> list[tuple[str, Role]]:
    """The tested role with one option of TCP, one parameter of its controller, or another controller."""
    tested = evaluator.objective.tested
    roles = [(f"{name} = {inline(value)}", Role("", (*tested.set_, (name, value)), tested.quic, "", tested.of_text))
            for name, values in TCP_OPTIONS.items() for value in values]  # fmt: skip
    flows = evaluator.scenario(genome, tested).resolved["flows"]
    name = next(one["control"] for one in flows if one["name"] in evaluator.space.flows_of(genome))
    options = dict(tested.set_)
    named = options.get("congestion_control", name)
    table = named if isinstance(named, dict) else {"kind": named}
    changes = [
        (f"{key} = {inline(value)}", table | {key: value}) for key, values in PARAMETERS.items() for value in values
    ]
    changes += [(f"controller {other}", {"kind": other}) for other in NEIGHBOURS if other != name]
    for words, changed in changes:
        set_ = options | {"congestion_control": changed}
        roles.append((words, Role("", tuple(set_.items()), tested.quic, "", tested.of_text)))
    return roles


def _sentence(evaluator: Evaluator, value: Value, ablations: Sequence[Ablation]) -> str:
    """The cause in a sentence, from the first ablation that is no other controller and no missing event."""
    label, words = evaluator.objective.tested.label, evaluator.objective.metric.replace("_", " ")
    if value.error:
        return f"{label} raises an exception: {value.error}"
    number = si.value(value.objective)
    helped = [a for a in ablations if not a.fails]
    most = max((a.recovered for a in helped), default=0.0)
    by_key = [a for a in helped if not a.name.startswith(("without", "controller")) and a.recovered >= 0.5 * most]
    events = [a for a in helped if a.name.startswith("without")]
    start = f"{label} fails ({evaluator.objective.text}: {number})"
    if by_key:
        return f"{start}; with {by_key[0].name} it does not ({_number(by_key[0])})."
    others = [a for a in helped if a.name.startswith("controller")]
    if events and others:
        event, other = events[0].name.removeprefix("without: "), others[0].name.removeprefix("controller ")
        rest = f"{other} does not ({_number(others[0])}); no option of TCP helps as much"
        return f"{start} because of this: {event}. {rest}."
    if others:
        return f"{start}; {others[0].name.removeprefix('controller ')} does not ({_number(others[0])})."
    return f"{start}; none of the {len(ablations)} changes that were tried ends the failure of {words}."


def _number(ablation: Ablation) -> str:
    return si.value(ablation.objective)


def _margins(evaluator: Evaluator, genome: Genome) -> list[Margin]:
    """The interval in which the failure holds, for each value and each number of an event, by bisection."""
    margins = []
    for one in sorted(evaluator.space.numbers(genome), key=lambda one: one.of_event):
        last = len(one.axis.values) - 1
        if one.axis.ordered and last:
            low, high = (_edge(evaluator, one, end) for end in (0, last))
            ends = (one.axis.written(low), one.axis.written(high))
            margins.append(Margin(one.name, one.axis.written(one.index), *ends, (low, high) == (0, last)))
    return margins


def _edge(evaluator: Evaluator, number: Number, end: int) -> int:
    """The value farthest towards `end` at which the failure still holds, by bisection."""
    good, bad = number.index, end

    def fails(index: int) -> bool:
        genome = number.change(index)
        return evaluator.space.excess(genome) == 0 and _every_seed(evaluator, genome).fails

    if fails(end):
        return end
    while abs(bad - good) > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if fails(middle) else (good, middle)
    return good
