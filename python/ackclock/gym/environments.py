"""Gymnasium's environments over a batch of runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ackclock.apps.policy.conventions import CONVENTIONS, Convention
from ackclock.base.files import BadInput
from ackclock.gym.batch import Batch, Networks
from ackclock.scenario import Scenario

if TYPE_CHECKING:
    from ackclock.apps.search import Search

Info = dict[str, Any]
SHOWN = ("throughput", "rtt", "min_rtt", "loss", "cwnd", "rate", "duration", "acks")
"""The measured values in `info`: segments/s, s, s, a part, segments, segments/s, s, a number."""
PRIVILEGED = ("capacity", "fair_share")


def convention_of(convention: str | Convention, changes: dict[str, Any]) -> Convention:
    """A convention by name or itself, with changes. Raises BadInput for an unknown name."""
    if isinstance(convention, str):
        if convention not in CONVENTIONS:
            raise BadInput(f'convention: there is no "{convention}"; there are {", ".join(CONVENTIONS)}')
        convention = CONVENTIONS[convention]
    if not isinstance(convention, Convention):
        raise BadInput(f"convention: {convention!r} is no name and no Convention")
    return convention.with_changes(**changes)


def spaces_of(batch: Batch) -> tuple[gymnasium.spaces.Box, gymnasium.Space[Any]]:
    """The spaces of an observation and an action of one agent."""
    kind, (least, largest) = batch.action
    observation = gymnasium.spaces.Box(*batch.bounds, dtype=np.float32)
    if kind == "discrete5":
        return observation, gymnasium.spaces.Discrete(5)
    return observation, gymnasium.spaces.Box(np.float32(least), np.float32(largest), (1,), np.float32)


class VectorEnv(gymnasium.vector.VectorEnv):
    """Many agents that step together on several threads: one in each network, or several with one policy.

    Network `i` runs its episode `e` with a seed that follows from the seed of `reset`, `i` and `e` alone: the same
    actions give the same results with any number of threads.
    """

    def __init__(
        self,
        networks: str | Path | Scenario = "dumbbell",
        num_envs: int | None = None,
        *,
        convention: str | Convention = "dumbbell",
        agents: Sequence[str] | None = None,
        overrides: Sequence[str] = (),
        threads: int | None = None,
        autoreset: str | AutoresetMode = AutoresetMode.SAME_STEP,
        strict: bool = False,
        privileged: bool = False,
        **changes: Any,
    ) -> None:
        """`networks`: a name, a file with or without `[space]`, or a scenario; `overrides`: assignments as for `--set`.

        `num_envs`: the number of agents in all networks, by default those of one.

        `agents`: the flows with a policy, by default all of the networks; those of one network are environments that
        follow each other, and begin and end together. `changes` are fields of the convention, such as `horizon=200`.
        `strict` refuses actions outside their space instead of setting them to its bounds. `privileged` adds to `info`
        what no sender sees: `capacity` and `fair_share`, packets/s. Raises BadInput and ScenarioError.
        """
        rules = convention_of(convention, changes)
        self._networks = Networks(networks, tuple(overrides))
        names = list(agents or []) or self._networks.names()
        self.each = max(1, len(names))
        """Agents in a network."""
        num_envs = self.each if num_envs is None else num_envs
        if isinstance(num_envs, int) and num_envs % self.each:
            raise BadInput(
                f"num_envs: {num_envs} is no multiple of the {self.each} flows with a policy in each network"
            )
        count = num_envs // self.each if isinstance(num_envs, int) else num_envs
        self.batch = Batch(self._networks, rules, count, names, threads)
        self.num_envs, self.strict, self._seeded = num_envs, strict, False
        self.single_observation_space, self.single_action_space = spaces_of(self.batch)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        try:
            self.mode = AutoresetMode(autoreset)
        except ValueError:
            modes = ", ".join(mode.value for mode in AutoresetMode)
            raise BadInput(f"autoreset: there is no mode {autoreset!r}; there are {modes}") from None
        self.metadata = {"autoreset_mode": self.mode}
        self._shown = SHOWN + (PRIVILEGED if privileged else ())
        all_have_it = np.ones(num_envs, np.bool_)
        all_have_it.flags.writeable = False
        self._masks = {f"_{name}": all_have_it for name in (*self._shown, "active")}
        self._due: NDArray[np.bool_] = np.zeros(self.batch.count, np.bool_)

    def curriculum(self, search: Search, part: float = 0.3) -> int:
        """Take the failures of a search as networks of a part of the episodes. Returns their number.

        Raises BadInput if there is none.
        """
        return self._networks.add(search, part, self.batch.agents)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], Info]:
        """Begin an episode in every network, or in those of `options["reset_mask"]`. A seed begins with its first
        episodes; without a seed the next ones follow, at first those of a random seed.
        """
        super().reset(seed=seed)
        if seed is not None or not self._seeded:
            self.batch.seed(int(self.np_random.integers(2**62)) if seed is None else seed)
            self._seeded = True
        mask = np.asarray((options or {}).get("reset_mask", np.ones(self.num_envs, np.bool_)))
        if mask.shape != (self.num_envs,):
            raise BadInput(f"reset_mask: has the shape {mask.shape}, not ({self.num_envs},)")
        self._begin(np.asarray(mask.reshape(-1, self.each).any(axis=1)))
        return self.observations, self._info()

    def step(
        self, actions: Any
    ) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Info]:
        """Take one action for each agent. Raises BadInput if an action is not finite, or with `strict` outside."""
        if self.strict and not self._permits(actions):
            raise BadInput(f"action: {actions!r} is not in the action space {self.single_action_space}")
        begun = self._due if self.mode is AutoresetMode.NEXT_STEP and self._due.any() else None
        try:
            ordered = np.asarray(actions, np.float64).reshape(self.batch.count, self.each)
        except (ValueError, TypeError):
            raise BadInput(f"action: has the shape {np.shape(actions)}, not ({self.num_envs}, 1)") from None
        rewards = self.batch.step(ordered)
        ended, exhausted = self.batch.terminated, self.batch.truncated
        if begun is not None:
            # The networks that ended in the step before: this one begins their next episodes.
            self._begin(begun)
            rewards[begun] = 0.0
            ended, exhausted = ended & ~begun, exhausted & ~begun
        self._due = np.asarray(ended | exhausted)
        info = self._info()
        if self.mode is AutoresetMode.SAME_STEP and self._due.any():
            due, networks = self._each(self._due), self._due.copy()
            last = np.full(self.num_envs, None, dtype=object)
            for index in np.flatnonzero(due):
                last[index] = self.observations[index]
            final = {name: np.where(due, values, 0.0) for name, values in info.items() if name[0] != "_"}
            final |= {f"_{name}": due.copy() for name in (*self._shown, "active")}
            self._begin(networks)
            info = self._info() | {"final_obs": last, "_final_obs": due, "final_info": final, "_final_info": due}
        return self.observations, rewards.ravel(), self._each(ended), self._each(exhausted), info

    def _permits(self, actions: Any) -> bool:
        """Whether actions are in their space, as numbers of any type."""
        space = self.action_space
        try:
            cast = np.asarray(actions).astype(space.dtype).reshape(space.shape)
        except (ValueError, TypeError):
            return False
        return bool(space.contains(cast) and (cast == np.asarray(actions, np.float32).reshape(space.shape)).all())

    def _each(self, of_networks: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """A value of each network, for each agent."""
        return np.repeat(of_networks, self.each) if self.each > 1 else of_networks

    def _begin(self, mask: NDArray[np.bool_]) -> None:
        for index in np.flatnonzero(mask):
            self.batch.begin(int(index))
        self._due = self._due & ~mask
        self.batch.show()

    @property
    def observations(self) -> NDArray[np.float32]:
        """The present observations."""
        return self.batch.observations.reshape(self.num_envs, -1).copy()

    def _info(self) -> Info:
        of = self.batch.columns
        info: Info = {name: of[name].flatten() for name in self._shown}
        info["active"] = self.batch.active.astype(np.bool_).flatten()
        return info | self._masks

    def close_extras(self, **_: Any) -> None:
        """Nothing is open."""


class Env(gymnasium.Env):
    """One environment with one agent; the arguments are those of `VectorEnv`."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self, networks: str | Path | Scenario = "dumbbell", *, render_mode: None = None, **options: Any
    ) -> None:
        """Raises BadInput, also if the networks have several flows with a policy; name one as `agents=["f"]` then."""
        self.render_mode = render_mode
        if "num_envs" in options:
            raise BadInput("num_envs: an Env is one environment; use VectorEnv")
        self.vector = VectorEnv(networks, autoreset=AutoresetMode.DISABLED, threads=1, **options)
        if self.vector.num_envs != 1:
            names = ", ".join(self.vector.batch.agents)
            raise BadInput(f"flows {names} have a policy; name one as agents=[...], or use VectorEnv or parallel_env")
        self.observation_space = self.vector.single_observation_space
        self.action_space = self.vector.single_action_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], Info]:
        """Begin an episode: the first one of a seed, or the next one."""
        super().reset(seed=seed)
        observations, info = self.vector.reset(seed=seed)
        return observations[0], _single(info)

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, Info]:
        """Take an action."""
        observations, rewards, ended, exhausted, info = self.vector.step(np.asarray(action)[None])
        return observations[0], float(rewards[0]), bool(ended[0]), bool(exhausted[0]), _single(info)


def _single(info: Info) -> Info:
    return {name: float(values[0]) for name, values in info.items() if name[0] != "_"}


def named(networks: str | Path | Scenario, convention: str | Convention | None) -> tuple[Any, str | Convention]:
    """Networks and convention: a name of a convention, such as "aurora", is its networks too."""
    if isinstance(networks, str) and networks in CONVENTIONS:
        return networks if networks == "aurora" else "dumbbell", convention or networks
    return networks, convention or "dumbbell"


def make(
    networks: str | Path | Scenario,
    num_envs: int | None = None,
    *,
    convention: str | Convention | None = None,
    **options: Any,
) -> VectorEnv:
    """A vector environment; a name of a convention, such as "aurora", is its networks too."""
    networks, rules = named(networks, convention)
    return VectorEnv(networks, num_envs, convention=rules, **options)
