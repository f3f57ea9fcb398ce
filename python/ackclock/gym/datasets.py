"""Transitions of classical controllers, for offline learning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ackclock.apps.policy.conventions import Convention
from ackclock.base.files import BadInput
from ackclock.gym.batch import Batch, Networks
from ackclock.gym.environments import convention_of, spaces_of
from ackclock.scenario import Scenario


@dataclass(frozen=True)
class Episode:
    """One flow of one run. Row `t + 1` of the observations follows the action and the reward of row `t`."""

    controller: str
    flow: str
    observations: NDArray[np.float32]
    """(decisions + 1, values)"""
    actions: NDArray[np.float64]
    """(decisions,): what the controller did to its window or rate, as an action of the convention."""
    rewards: NDArray[np.float64]
    """(decisions,)"""


def log(
    networks: str | Path | Scenario,
    controllers: Sequence[str],
    *,
    episodes: int = 1,
    seed: int = 1,
    convention: str | Convention = "orca",
    agents: Sequence[str] | None = None,
    overrides: Sequence[str] = (),
    threads: int | None = None,
    **changes: Any,
) -> list[Episode]:
    """Record what registered controllers do in networks: `episodes` for each controller, all in the same networks.

    The flows with a policy get the controllers; an episode ends after the horizon of the convention, or with the run.
    The actions are those of a policy that decides alone: the `controller` of the convention does not apply. Raises
    BadInput, also for actions that set a parameter, and ScenarioError.
    """
    rules = convention_of(convention, changes)
    if rules.parameter is None:
        rules = rules.with_changes(controller=None)
    recorded: list[Episode] = []
    for controller in controllers:
        of = Networks(networks, tuple(overrides), teacher=controller)
        names = list(agents or []) or of.names()
        batch = Batch(of, rules, episodes, names, threads, observes=True)
        batch.seed(seed)
        for index in range(episodes):
            batch.begin(index)
        batch.show()
        recorded += _record(batch, controller)
    return recorded


def _record(batch: Batch, controller: str) -> list[Episode]:
    """Run the networks to the horizon."""
    nothing = np.zeros((batch.count, len(batch.agents)))
    rows, actions, rewards = [batch.observations.copy()], [nothing], [nothing]
    shown = [batch.active.astype(bool)]
    over = np.zeros(batch.count, np.bool_)
    while not over.all():
        rewards.append(batch.step(nothing))
        actions.append(batch.columns["action"].copy())
        rows.append(batch.observations.copy())
        shown.append(batch.active.astype(bool) & ~over[:, None])
        over |= batch.terminated | batch.truncated
    episodes = []
    for network in range(batch.count):
        for agent, flow in enumerate(batch.agents):
            # The intervals of a flow follow each other; before its begin and after its end it has none.
            steps = [step for step, active in enumerate(shown) if active[network, agent]]
            if len(steps) > 1:
                seen, did, got = ([each[step][network, agent] for step in steps] for each in (rows, actions, rewards))
                episodes.append(Episode(controller, flow, np.stack(seen), np.array(did[1:]), np.array(got[1:])))
    return episodes


def write_minari(
    dataset_id: str, recorded: Sequence[Episode], convention: str | Convention = "orca", **changes: Any
) -> Any:
    """Write episodes as a Minari dataset and return it; needs `pip install minari h5py`. Raises BadInput without."""
    try:
        import minari
        from minari.data_collector.episode_buffer import EpisodeBuffer
    except ImportError as error:
        raise BadInput("write_minari needs minari; install it with: pip install minari h5py") from error
    rules = convention_of(convention, changes)
    observation_space, action_space = spaces_of(Batch(Networks("dumbbell"), rules, 1, ["f"], 1))
    buffers = []
    for number, episode in enumerate(recorded):
        steps = len(episode.actions)
        discrete = action_space.shape == ()
        actions = episode.actions.astype(np.int64) if discrete else episode.actions.astype(np.float32)[:, None]
        buffers.append(
            EpisodeBuffer(
                id=number,
                observations=episode.observations,
                actions=actions,
                rewards=list(episode.rewards),
                terminations=[False] * steps,
                truncations=[False] * (steps - 1) + [True] * min(steps, 1),
                infos={},
            )
        )
    return minari.create_dataset_from_buffers(
        dataset_id,
        buffer=buffers,
        observation_space=observation_space,
        action_space=action_space,
        algorithm_name=", ".join(dict.fromkeys(episode.controller for episode in recorded)),
        description="What classical controllers of Ackclock do, interval by interval",
    )
