"""Gymnasium's environments over a batch of runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ackclock.experiment import Scenario
from ackclock.files import BadInput
from ackclock.gym.batch import Batch, Networks
from ackclock.policy.conventions import CONVENTIONS, Convention

Info = dict[str, Any]
SHOWN = ("throughput", "rtt", "min_rtt", "loss", "cwnd", "rate", "duration")
"""The measured values in `info`: segments/s, s, s, a part, segments, segments/s, s."""


def convention_of(convention: str | Convention, changes: dict[str, Any]) -> Convention:
    """A convention by name or itself, with changes. Raises BadInput for an unknown name."""
    if isinstance(convention, str):
        if convention not in CONVENTIONS:
            raise BadInput(f'convention: there is no "{convention}"; there are {", ".join(CONVENTIONS)}')
        convention = CONVENTIONS[convention]
    return convention.with_changes(**changes)


def spaces_of(batch: Batch) -> tuple[gymnasium.spaces.Box, gymnasium.Space[Any]]:
    """The spaces of an observation and an action of one agent."""
    kind, (least, largest) = batch.action
    observation = gymnasium.spaces.Box(*batch.bounds, dtype=np.float32)
    if kind == "discrete5":
        return observation, gymnasium.spaces.Discrete(5)
    return observation, gymnasium.spaces.Box(np.float32(least), np.float32(largest), (1,), np.float32)


class VectorEnv(gymnasium.vector.VectorEnv):  # type: ignore[misc]
    """Many environments with one agent each, which step together on several threads.

    Environment `i` runs its episode `e` with a seed that follows from the seed of `reset`, `i` and `e` alone: the same
    actions give the same results with any number of threads.
    """

    def __init__(
        self,
        networks: str | Path | Scenario = "dumbbell",
        num_envs: int = 1,
        *,
        convention: str | Convention = "dumbbell",
        agent: str | None = None,
        overrides: Sequence[str] = (),
        threads: int | None = None,
        autoreset: str | AutoresetMode = AutoresetMode.SAME_STEP,
        strict: bool = False,
        **changes: Any,
    ) -> None:
        """`networks`: a name, a file with or without `[space]`, or a scenario; `overrides`: assignments as for `--set`.

        `changes` are fields of the convention, such as `horizon=200`. `strict` refuses actions outside their space instead
        of setting them to its bounds. Raises BadInput and ScenarioError.
        """
        rules = convention_of(convention, changes)
        batch = Batch(Networks(networks, tuple(overrides)), rules, num_envs, [agent] if agent else None, threads)
        if len(batch.agents) != 1:
            names = ", ".join(batch.agents)
            raise BadInput(f"{len(batch.agents)} flows have a policy ({names}); name one as agent, or use parallel_env")
        self.batch, self.num_envs, self.strict = batch, num_envs, strict
        self.single_observation_space, self.single_action_space = spaces_of(batch)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.mode = AutoresetMode(autoreset)
        self.metadata = {"autoreset_mode": self.mode}
        self._due = np.zeros(num_envs, np.bool_)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], Info]:
        """Begin an episode in every environment, or in those of `options["reset_mask"]`. A seed begins with its first
        episodes; without a seed the next ones follow.
        """
        super().reset(seed=seed)
        if seed is not None:
            self.batch.seed(seed)
        mask = np.asarray((options or {}).get("reset_mask", np.ones(self.num_envs, np.bool_)))
        self._begin(mask)
        return self.observations, self._info()

    def step(
        self, actions: Any
    ) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Info]:
        """Take one action in each environment. Raises BadInput if an action is not finite, or with `strict` outside."""
        if self.strict and not self.action_space.contains(actions):
            raise BadInput(f"action: is not in the action space {self.single_action_space}")
        begun = self._due if self.mode is AutoresetMode.NEXT_STEP else np.zeros(self.num_envs, np.bool_)
        rewards = self.batch.step(np.asarray(actions).reshape(self.num_envs, 1))[:, 0]
        if begun.any():
            # The environments that ended in the step before: this one begins their next episodes.
            self._begin(begun)
            rewards[begun] = 0.0
        ended = self.batch.ended & ~begun
        exhausted = self.batch.exhausted & ~ended & ~begun
        self._due = ended | exhausted
        info = self._info()
        if self.mode is AutoresetMode.SAME_STEP and self._due.any():
            last = np.full(self.num_envs, None, dtype=object)
            for index in np.flatnonzero(self._due):
                last[index] = self.batch.observations[index, 0].copy()
            final = {name: np.where(self._due, values, 0.0) for name, values in info.items() if name[0] != "_"}
            final |= {f"_{name}": self._due.copy() for name in SHOWN}
            due = self._due.copy()
            self._begin(due)
            info = self._info() | {"final_obs": last, "_final_obs": due, "final_info": final, "_final_info": due}
        return self.observations, rewards, ended, exhausted, info

    def _begin(self, mask: NDArray[np.bool_]) -> None:
        for index in np.flatnonzero(mask):
            self.batch.begin(int(index))
        self._due = self._due & ~mask
        self.batch.show()

    @property
    def observations(self) -> NDArray[np.float32]:
        """The present observations."""
        return self.batch.observations[:, 0].copy()

    def _info(self) -> Info:
        of = self.batch.columns
        info: Info = {name: of[name][:, 0].copy() for name in SHOWN}
        return info | {f"_{name}": np.ones(self.num_envs, np.bool_) for name in SHOWN}

    def close_extras(self, **_: Any) -> None:
        """Nothing is open."""


class Env(gymnasium.Env):  # type: ignore[misc]
    """One environment with one agent; the arguments are those of `VectorEnv`."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self, networks: str | Path | Scenario = "dumbbell", *, render_mode: None = None, **options: Any
    ) -> None:
        """Raises BadInput and ScenarioError."""
        self.render_mode = render_mode
        self.vector = VectorEnv(networks, 1, autoreset=AutoresetMode.DISABLED, threads=1, **options)
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


def make(networks: str | Path | Scenario, num_envs: int = 1, **options: Any) -> VectorEnv:
    """A vector environment; a name of a convention, such as "aurora", is its networks too."""
    if isinstance(networks, str) and networks in CONVENTIONS:
        options.setdefault("convention", networks)
        networks = networks if networks == "aurora" else "dumbbell"
    return VectorEnv(networks, num_envs, **options)
