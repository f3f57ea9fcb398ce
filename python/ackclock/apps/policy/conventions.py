"""What an environment shows, what its actions do, and what it rewards: the conventions of published environments."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import tomli_w
from numpy.typing import NDArray

from ackclock import _core
from ackclock.base.files import BadInput
from ackclock.base.formula import FormulaError, Function, Language, read

FORMAT = "ackclock policy 1"
"""The value of `format` in a policy file."""
FEATURES, MEASURED, ACTIONS, TUNABLE = _core.policy_features()
"""Features (name, unit, smallest, largest, text), measured values (name, unit), kinds of actions (name, text), and the
controllers with the parameters that an action can set."""

Columns = Mapping[str, NDArray[np.float64]]
"""Measured values by name, of shape (networks, agents), and what no sender sees: `capacity`, the rate of the bottleneck
in packets a second (nan: not known), and `fair_share`, this rate over the number of agents."""
Reward = Callable[[Columns], NDArray[np.float64]]
"""Rewards of shape (networks, agents) from what the agents measured in one interval."""


def columns(measured: NDArray[np.float64]) -> Columns:
    """The measured values by name; `measured` has shape (networks, agents, values)."""
    return {name: measured[..., index] for index, (name, _) in enumerate(MEASURED)}


def aurora(m: Columns) -> NDArray[np.float64]:
    """Aurora's reward: 0.001 (10 x packets/s - 1000 x latency in s - 2000 x loss); it leaves one packet out."""
    rate = (m["delivered"] - 1) / np.maximum(m["duration"], 1e-6)
    return np.asarray(0.01 * rate - m["rtt"] - 2 * m["loss"])


def mvfst(m: Columns) -> NDArray[np.float64]:
    """mvfst-rl's reward: 0.1 x throughput in MB/s - 0.01 x delay in ms. The delay is the mean round-trip time here."""
    return np.asarray(0.1 * m["throughput"] * PACKET_BYTES / 1e6 - 0.01 * 1e3 * m["rtt"])


def _delay_ratio(m: Columns) -> NDArray[np.float64]:
    """Mean over smallest round-trip time; 1 without a sample."""
    return np.where((m["rtt"] > 0) & (m["min_rtt"] > 0), m["rtt"] / np.maximum(m["min_rtt"], 1e-9), 1.0)


def power(m: Columns) -> NDArray[np.float64]:
    """Throughput in Mb/s over the mean round-trip time in units of the smallest one (Orca's, without its loss term)."""
    ratio = _delay_ratio(m)
    return np.asarray(m["throughput"] * PACKET_BYTES * 8 / 1e6 / ratio)


def utilisation(m: Columns) -> NDArray[np.float64]:
    """Throughput over the rate of the bottleneck - 0.4 (rtt/min_rtt - 1) - 2 x loss. The space must name that rate."""
    ratio = _delay_ratio(m)
    return np.asarray(m["throughput"] / m["capacity"] - 0.4 * (ratio - 1) - 2 * m["loss"])


def alpha_fair(m: Columns) -> NDArray[np.float64]:
    """The same for all agents: the mean of ln(throughput in segments/s) - 0.5 (rtt/min_rtt - 1) - 10 x loss."""
    ratio = _delay_ratio(m)
    each = np.log(np.maximum(m["throughput"], 1.0)) - 0.5 * (ratio - 1) - 10 * m["loss"]
    return _mean(each)


def _mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean over the agents of a network, for each of them."""
    return np.broadcast_to(values.mean(axis=1, keepdims=True), values.shape).copy()


PACKET_BYTES = 1500
"""Bytes of a full packet on the wire."""
REWARDS: dict[str, Reward] = {
    "aurora": aurora,
    "mvfst": mvfst,
    "power": power,
    "utilisation": utilisation,
    "alpha_fair": alpha_fair,
}
"""The rewards by name."""
FUNCTIONS = {
    "log": Function(np.log),
    "exp": Function(np.exp),
    "sqrt": Function(np.sqrt),
    "abs": Function(np.abs),
    "min": Function(np.minimum, 2, 2),
    "max": Function(np.maximum, 2, 2),
    "mean": Function(lambda values: _mean(values) if np.ndim(values) else values),
}
"""What a reward as a text can call; `mean` is over the agents of a network."""
OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
}
NAMES = (*(name for name, _ in MEASURED), "capacity", "fair_share")


def _check_value(name: str) -> None:
    if name not in NAMES:
        raise FormulaError(
            f'there is no reward and no value "{name}"; there are the rewards {", ".join(REWARDS)} and the values '
            f"{', '.join(NAMES)}"
        )


def reward_of(text: str) -> Reward:
    """A reward by name, or from an expression such as `log(max(throughput, 1)) - 2 * loss`. Raises BadInput."""
    if text in REWARDS:
        return REWARDS[text]
    try:
        formula = read(text, Language(OPERATORS, "+ - * / **", FUNCTIONS, _check_value, np.float64))
    except FormulaError as error:
        raise BadInput(f'reward "{text[:200]}": {error}') from None

    def expression(m: Columns) -> NDArray[np.float64]:
        with np.errstate(all="ignore"):
            return np.broadcast_to(np.asarray(formula.value(m), np.float64), m["duration"].shape)

    return expression


def _is_bound(value: object) -> bool:
    """Whether a value is a number, or None for the usual bound."""
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


@dataclass(frozen=True)
class Convention:
    """How an environment and its policies observe and act. `text` is a policy file without a network."""

    features: Sequence[str] = ("latency_inflation", "latency_ratio", "send_ratio", "loss", "throughput_ratio")
    history: int = 10
    """Intervals in an observation."""
    action: str = "rate_delta"
    scale: float | None = None
    """The factor of an action; None: that of its kind."""
    limit: float | None = None
    """The largest absolute value of an action; None: that of its kind."""
    bounds: tuple[float | None, float | None] = (None, None)
    """Bounds of the window (segments), the rate (segments a second) or the parameter; None: 2 and 10^7, or those of the
    parameter."""
    controller: str | None = None
    """The controller that decides between two actions; None: nothing changes between them."""
    parameter: str | None = None
    """The parameter of this controller that an action of kind `parameter` sets."""
    rtts: float = 1.0
    """Length of an interval, round-trip times; 0: `least_s`."""
    of: str = "smallest"
    """Which round-trip time: the smallest one, or the mean of the last interval."""
    least_s: float = 0.01
    reward: str | Reward = "aurora"
    """A name, an expression of measured values, or a function."""
    horizon: int = 400
    """Decisions in an episode."""
    first_rate: tuple[float, float] | None = None
    """The first rate is drawn from this range of parts of the bottleneck's rate; None: the initial window in a
    round-trip time."""
    warm_up: int = 0
    """Decisions without a change before an episode begins."""

    @property
    def table(self) -> dict[str, Any]:
        """The tables of a policy file that do not depend on its network."""
        least, largest = self.bounds
        values = {"kind": self.action, "scale": self.scale, "limit": self.limit, "least": least, "largest": largest}
        values |= {"controller": self.controller, "parameter": self.parameter}
        action = {name: value for name, value in values.items() if value is not None}
        return {
            "format": FORMAT,
            "features": list(self.features),
            "history": self.history,
            "interval": {"rtts": self.rtts, "of": self.of, "least": self.least_s},
            "action": action,
        }

    @property
    def text(self) -> str:
        """A policy file without a network."""
        return tomli_w.dumps(self.table)

    @property
    def reward_function(self) -> Reward:
        """The reward. Raises BadInput if the text is no reward and no expression."""
        return self.reward if callable(self.reward) else reward_of(self.reward)

    def __post_init__(self) -> None:
        """Raises BadInput for a value of the wrong kind; the core checks the rest."""
        for name, least in (("horizon", 1), ("warm_up", 0), ("history", 1)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise BadInput(f"{name}: {value!r} is not a whole number from {least} on")
        part = self.first_rate
        if part is not None and not (len(part) == 2 and 0 < part[0] <= part[1]):
            raise BadInput(f"first_rate: {part!r} is no pair of positive numbers, the smaller one first")
        bounds = self.bounds
        if not isinstance(bounds, Sequence) or len(bounds) != 2 or not all(_is_bound(bound) for bound in bounds):
            raise BadInput(f"bounds: {bounds!r} is no pair of numbers; None in it is the bound of the kind of action")
        for name in ("controller", "parameter"):
            value = getattr(self, name)
            if not (value is None or isinstance(value, str)):
                raise BadInput(f"{name}: {value!r} is no name")
        if not (callable(self.reward) or isinstance(self.reward, str)):
            raise BadInput(f"reward: {self.reward!r} is no name, no expression and no function")

    def with_changes(self, **changes: Any) -> Convention:
        """The convention with other values. Raises BadInput for a name that does not exist."""
        options = self.__dataclass_fields__.keys()
        if unknown := sorted(changes.keys() - options):
            raise BadInput(f"{unknown[0]}: an environment has no such option; there are {', '.join(sorted(options))}")
        return replace(self, **changes)


AURORA = Convention(
    features=("latency_inflation", "latency_ratio", "send_ratio"),
    bounds=(40.0, 1000.0),
    rtts=0.5,
    of="mean",
    least_s=1e-3,
    first_rate=(0.3, 1.5),
    warm_up=2,
)
"""Jay et al., ICML 2019, and the environment of its authors (PCC-RL)."""
ORCA = Convention(
    features=("throughput_ratio", "loss", "queue_ratio", "window_ratio", "limited", "latency_inflation", "last_action"),
    action="cwnd_pow2",
    controller="cubic",
    rtts=0.0,
    least_s=0.02,
    reward="power",
)
"""Abbasloo et al., SIGCOMM 2020: a decision every 20 ms multiplies the window of CUBIC by 2^a."""
MVFST = Convention(
    features=("rtt", "min_rtt", "throughput", "send_rate", "loss", "in_flight", "cwnd", "last_action"),
    history=2,
    action="discrete5",
    rtts=0.0,
    least_s=0.1,
    reward="mvfst",
)
"""Sivakumar et al., 2019: a decision every 100 ms among five changes of the window."""
CONVENTIONS = {"dumbbell": Convention(), "aurora": AURORA, "orca": ORCA, "mvfst": MVFST}
"""The conventions by name."""
