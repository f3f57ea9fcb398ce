"""What a search looks for: `METRIC op NUMBER`, with forms that compare two controllers in the same network."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ackclock.apps.policy.conventions import PACKET_BYTES, REWARDS, Reward
from ackclock.base.assignment import Assignment, control_table
from ackclock.base.files import BadInput
from ackclock.base.languages import UNGUARDED
from ackclock.metrics import check_name, metric

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt,
}  # fmt: skip
REWARD = "reward_"
SEARCH_METRICS = ("residual", "starvation", *(REWARD + name for name in REWARDS))
"""Metrics of a search besides those of `ackclock plot`: the goodput of the tested flows as a part of the rate that UDP
leaves of the bottleneck, the smallest goodput of a tested flow over the largest, the rewards of environments over the
whole run."""
NEEDS_RATE = ("residual", "reward_utilisation")
"""Metrics that depend on the rate of the bottleneck."""
SUBSTRATES = ("tcp", "quic")
PROFILES = ("linux", "ns2")
EXAMPLE = '"regret(utilisation, reno) >= 0.3", "residual <= 0.35", "ratio(goodput, reno, cubic) <= 0.5"'


@dataclass(frozen=True)
class Role:
    """What runs in a network: a label, and the assignments that the tested flows get."""

    label: str
    set_: tuple[tuple[str, Any], ...] = ()
    """Keys of a flow's transport with values: ("congestion_control", {"kind": "reno"})."""
    quic: bool = False
    stack: str = ""
    """The name of the substrate whose stack plays both ends of the tested flows (`run --on stack:FILE`)."""
    of_text: bool = True
    """Whether it is written in a file, so that it may name what the file may; a role of the user may name any code."""

    def overrides(self, flows: Sequence[str], transports: Mapping[str, str]) -> tuple[Assignment, ...]:
        """The assignments for flows, which are TCP or QUIC."""
        place = f"--control {self.label}"
        return tuple(
            Assignment(("flow", flow, transports[flow], name), value, place, self.of_text)
            for flow in flows
            for name, value in self.set_
        )


@dataclass(frozen=True)
class Objective:
    """A value of one or two roles in one network, and the bound beyond which a network is a failure."""

    text: str
    form: str
    """plain, regret, scar or ratio."""
    metric: str
    roles: tuple[Role, ...]
    """The tested controller first; of a ratio both."""
    comparison: str
    bound: float

    @property
    def tested(self) -> Role:
        """The role that fails."""
        return self.roles[0]

    def value(self, values: Sequence[float | None]) -> float | None:
        """The objective from the metric of each role; None if one has no value."""
        if any(v is None or not math.isfinite(v) for v in values):
            return None
        first, *rest = (float(v) for v in values if v is not None)
        if not rest:
            return first
        if self.form == "ratio":
            return first / rest[0] if rest[0] else None
        return rest[0] - first

    def fails(self, value: float | None) -> bool:
        """Whether a network with this value is a failure."""
        return value is not None and OPERATORS[self.comparison](value, self.bound)

    def fitness(self, value: float | None) -> float:
        """A number that is smaller the worse the controller does, 0 at the bound; infinite without a value."""
        if value is None:
            return math.inf
        return value - self.bound if self.comparison.startswith("<") else self.bound - value


def split(text: str) -> list[str]:
    """Parts that commas separate outside braces."""
    return [part.strip() for part in re.split(r",(?![^{]*})", text)]


def role(text: str, *, of_text: bool = True) -> Role:
    """A role from a controller (name, FILE.py:CLASS, table), a profile or a substrate."""
    if text in SUBSTRATES:
        return Role(text, quic=text == "quic", of_text=of_text)
    if text.startswith("stack:"):
        if of_text:
            raise BadInput(f"{text}: a file names no stack; give it with --control")
        return Role(text, stack=text, of_text=False)
    if text in PROFILES:
        return Role(text, (("profile", text),), of_text=of_text)
    return Role(text, (("congestion_control", control_table(text)),), of_text=of_text)


def names_code(one: Role) -> bool:
    """Whether a role names a controller that runs as it is: in Python, or in a library."""
    return any(isinstance(value, dict) and not value.keys().isdisjoint(UNGUARDED) for _, value in one.set_)


def parse(text: str, control: str | Role, against: str | None, place: str, *, of_text: bool = True) -> Objective:
    """Read an objective. `against` replaces the reference of a regret. Raises BadInput with the place.

    With `of_text` its controllers may name what the file may that the objective is from.
    """
    match = re.fullmatch(r"\s*(?:(\w+)\((.*)\)|(\w+))\s*(<=|>=|<|>)\s*([-+0-9.eE]+)\s*", text)
    try:
        bound = float(match[5]) if match else math.nan
    except ValueError:
        bound = math.nan
    if match is None or not math.isfinite(bound):
        raise BadInput(f'{place}: "{text}" is no objective such as {EXAMPLE}')
    form, inside = match[1] or "plain", split(match[2]) if match[1] else [match[3]]
    counts = {"plain": (1,), "regret": (1, 2), "scar": (1, 2), "ratio": (1, 2, 3)}
    if form not in counts or len(inside) not in counts[form] or not all(inside):
        forms = "METRIC, regret(METRIC, REFERENCE), scar(METRIC, REFERENCE), ratio(METRIC, A, B)"
        raise BadInput(f'{place}: "{text}": the forms are {forms}')
    name = inside[0]
    if name not in SEARCH_METRICS:
        try:
            check_name(name)
        except BadInput as error:
            raise BadInput(f"{place}: {error}, or {' or '.join(SEARCH_METRICS)}") from None
    if against and (form == "plain" or len(inside) == 3):
        raise BadInput(f'{place}: "{text}" has no reference that {against} could replace; omit against')
    named = partial(role, of_text=of_text)
    tested = named(control) if isinstance(control, str) else control
    if form == "plain":
        return Objective(text, form, name, (tested,), match[4], bound)
    if form == "ratio" and len(inside) == 3:
        return Objective(text, form, name, _pair(tested, named, *inside[1:]), match[4], bound)
    other = against or (inside[1] if len(inside) > 1 else "reno")
    text = f"{form}({name}, {other}) {match[4]} {match[5]}"
    return Objective(text, form, name, (tested, named(other)), match[4], bound)


def _pair(tested: Role, named: Callable[[str], Role], a: str, b: str) -> tuple[Role, ...]:
    """Two roles; profiles and substrates keep the tested controller."""
    first, second = named(a), named(b)
    if {a, b} & {*SUBSTRATES, *PROFILES}:
        return tuple(
            Role(one.label, (*tested.set_, *one.set_), one.quic, one.stack, one.of_text) for one in (first, second)
        )
    return first, second


def measure(outcome: Mapping[str, Any], name: str, tested: Sequence[str], link: str, rate_bps: float) -> float | None:
    """A metric of a run: in SI units, parts from 0 to 1. `link` is the bottleneck in the direction of the data."""
    if name.startswith(REWARD):
        return _reward(outcome, REWARDS[name.removeprefix(REWARD)], tested, rate_bps)
    if name in SEARCH_METRICS:
        mine = [float(flow["goodput_bps"]) for flow in outcome["flows"] if flow["name"] in tested]
        if name == "starvation":
            return min(mine) / max(mine) if any(mine) else None
        udp = sum(float(flow["goodput_bps"]) for flow in outcome["flows"] if flow["kind"] == "udp")
        return sum(mine) / (rate_bps - udp) if rate_bps > udp else None
    has_link = any(one["name"] == link for one in outcome["links"])
    return metric(name, [outcome], flows=tested, link=link if has_link else "").value(outcome)


def _reward(outcome: Mapping[str, Any], reward: Reward, tested: Sequence[str], rate_bps: float) -> float | None:
    """The mean reward of the tested flows over the whole run, without the warm-up; as for an interval, a flow without a
    round-trip sample has the round-trip time 0. None without TCP and QUIC flows.
    """
    flows = [flow for flow in outcome["flows"] if flow["name"] in tested]
    if not flows or any("acked_packets" not in flow for flow in flows):
        return None

    def each(key: str) -> NDArray[np.float64]:
        return np.array([[float(flow[key] or 0) for flow in flows]])

    duration = np.full((1, len(flows)), float(outcome["duration_s"]) - float(outcome.get("warmup_s") or 0))
    delivered, lost = each("acked_packets"), each("retransmitted_packets")
    values = {
        "duration": duration,
        "delivered": delivered,
        "throughput": delivered / duration,
        "loss": lost / np.maximum(delivered + lost, 1.0),
        "rtt": each("mean_rtt_s"),
        "min_rtt": each("min_rtt_s"),
        "capacity": np.full_like(duration, rate_bps / (8 * PACKET_BYTES)),
    }
    return float(reward(values).mean())
