"""PettingZoo's environment of several flows in one network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ackclock.apps.policy.conventions import Convention
from ackclock.base.files import BadInput
from ackclock.gym.batch import Batch, Networks
from ackclock.gym.environments import SHOWN, convention_of, named, spaces_of
from ackclock.scenario import Scenario

if TYPE_CHECKING:
    from pettingzoo import ParallelEnv

Each = dict[str, Any]


def parallel_env(
    networks: str | Path | Scenario,
    *,
    convention: str | Convention | None = None,
    agents: Sequence[str] | None = None,
    overrides: Sequence[str] = (),
    **changes: Any,
) -> ParallelEnv[str, Any, Any]:
    """The agents are the flows of one network whose controller is `policy`; all others are rivals.

    A decision is due at the end of the longest interval of all agents. An agent whose flow has sent everything ends; an
    agent without an action goes on as it is. Raises BadInput and ScenarioError.
    """
    networks, chosen = named(networks, convention)
    try:
        from pettingzoo import ParallelEnv
    except ImportError as error:
        raise BadInput('parallel_env needs pettingzoo; install it with: pip install "ackclock[gym]"') from error

    class Parallel(ParallelEnv[str, Any, Any]):  # type: ignore[misc]
        metadata: dict[str, Any] = {"name": "ackclock", "is_parallelizable": True, "render_modes": []}  # noqa: RUF012

        def __init__(self) -> None:
            rules = convention_of(chosen, changes)
            of = Networks(networks, tuple(overrides))
            self.batch = Batch(of, rules, 1, list(agents or []) or of.names(), 1)
            self.possible_agents = list(self.batch.agents)
            self.agents = list(self.possible_agents)
            self.render_mode = None
            spaces = {agent: spaces_of(self.batch) for agent in self.possible_agents}
            self.observation_spaces = {agent: of for agent, (of, _) in spaces.items()}
            self.action_spaces = {agent: of for agent, (_, of) in spaces.items()}

        def observation_space(self, agent: str) -> Any:
            return self.observation_spaces[agent]

        def action_space(self, agent: str) -> Any:
            return self.action_spaces[agent]

        def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Each, Each]:
            if seed is not None:
                self.batch.seed(seed)
            self.agents = list(self.possible_agents)
            self.batch.begin(0)
            self.batch.show()
            self._began = self.batch.active[0].astype(bool)
            return self._observations(), self._infos()

        def step(self, actions: Each) -> tuple[Each, Each, Each, Each, Each]:
            if not self.agents:
                return {}, {}, {}, {}, {}
            ordered = [np.asarray(actions.get(agent, 0), np.float64).reshape(-1)[0] for agent in self.possible_agents]
            rewards: NDArray[np.float64] = self.batch.step(np.array([ordered]))[0]
            active = self.batch.active[0].astype(bool)
            exhausted = bool(self.batch.truncated[0])
            # A flow that had an interval before and has none now has sent everything.
            over = self.batch.terminated[0] | (self._began & ~active & (not exhausted))
            self._began |= active
            running = [(index, agent) for index, agent in enumerate(self.possible_agents) if agent in self.agents]
            result = (
                self._observations(),
                {agent: float(rewards[index]) for index, agent in running},
                {agent: bool(over[index]) for index, agent in running},
                dict.fromkeys(self.agents, exhausted),
                self._infos(),
            )
            self.agents = [] if exhausted else [agent for index, agent in running if not over[index]]
            return result

        def _observations(self) -> Each:
            rows = self.batch.observations[0]
            return {agent: rows[self.possible_agents.index(agent)].copy() for agent in self.agents}

        def _infos(self) -> Each:
            of = self.batch.columns
            places = ((agent, self.possible_agents.index(agent)) for agent in self.agents)
            return {agent: {name: float(of[name][0, index]) for name in SHOWN} for agent, index in places}

    return Parallel()
