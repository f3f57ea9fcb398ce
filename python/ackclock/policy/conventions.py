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
from ackclock.files import BadInput

FORMAT = "ackclock policy 1"
"""The value of `format` in a policy file."""
FEATURES, MEASURED, ACTIONS = _core.policy_features()
"""Features (name, unit, smallest, largest, text), measured values (name, unit), kinds of actions (name, text)."""

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
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "log": np.log,
    "exp": np.exp,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "min": np.minimum,
    "max": np.maximum,
    "mean": _mean,
}
"""What a reward as a text can call; `mean` is over the agents of a network."""
SYNTAX: tuple[type[ast.AST], ...] = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Constant, ast.Name, ast.Load, ast.Call)
SYNTAX += (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.USub)
NAMES = (*(name for name, _ in MEASURED), "capacity", "fair_share")


def reward_of(text: str) -> Reward:
    """A reward by name, or from an expression such as `log(max(throughput, 1)) - 2 * loss`. Raises BadInput."""
    if text in REWARDS:
        return REWARDS[text]
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise BadInput(f'reward "{text}": is no reward and no expression ({error.msg})') from None
    for node in ast.walk(tree):
        if not isinstance(node, SYNTAX) or (isinstance(node, ast.Constant) and not isinstance(node.value, int | float)):
            raise BadInput(f'reward "{text}": "{ast.unparse(node)}" is not permitted; use + - * / ** and {_calls()}')
        if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS):
            raise BadInput(f'reward "{text}": there is no function "{ast.unparse(node.func)}"; there are {_calls()}')
        if isinstance(node, ast.Name) and node.id not in (*FUNCTIONS, *NAMES):
            raise BadInput(
                f'reward "{text}": there is no reward and no value "{node.id}"; there are the rewards '
                f"{', '.join(REWARDS)} and the values {', '.join(NAMES)}"
            )
    code = compile(tree, "reward", "eval")

    def expression(m: Columns) -> NDArray[np.float64]:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            values = eval(code, {"__builtins__": {}}, {**FUNCTIONS, **m})
        return np.broadcast_to(np.asarray(values, np.float64), m["duration"].shape)

    return expression


def _calls() -> str:
    return ", ".join(FUNCTIONS)


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
    bounds: tuple[float, float] = (2.0, 1e7)
    """Bounds of the window (segments) or the rate (segments a second)."""
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
        action: dict[str, Any] = {"kind": self.action, "least": self.bounds[0], "largest": self.bounds[1]}
        action |= {name: value for name in ("scale", "limit") if (value := getattr(self, name)) is not None}
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

    def with_changes(self, **changes: Any) -> Convention:
        """The convention with other values. Raises BadInput for a name that does not exist."""
        known = self.__dataclass_fields__.keys()
        if unknown := sorted(changes.keys() - known):
            raise BadInput(f"{unknown[0]}: an environment has no such option; there are {', '.join(sorted(known))}")
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
    rtts=0.0,
    least_s=0.02,
    reward="power",
)
"""Abbasloo et al., SIGCOMM 2020: a decision every 20 ms multiplies the window by 2^a. CUBIC does not run below it."""
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
