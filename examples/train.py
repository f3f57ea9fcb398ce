"""Train a policy with PPO and write it as a policy file: `python examples/train.py --out mine.policy`.

Needs `pip install "ackclock[gym]" stable-baselines3`. 300,000 decisions take about three minutes on two cores. Then:

    ackclock policy check mine.policy
    ackclock run @dumbbell --set 'flow.reno.tcp.congestion_control={kind="policy", file="mine.policy"}'
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv

import ackclock
from ackclock.gym import Convention, VectorEnv, make
from ackclock.policy import Layer, write_policy

CONVENTION = Convention(
    features=("latency_inflation", "queue_ratio", "send_ratio", "loss", "throughput_ratio"),
    history=4,
    action="rate_delta",
    scale=0.25,
    reward="utilisation",
    horizon=200,
)


class Adapter(VecEnv):
    """Ackclock's vector environment as that of stable-baselines3."""

    def __init__(self, env: VectorEnv) -> None:
        self.env = env
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)
        self._totals = np.zeros(env.num_envs)

    def reset(self) -> Any:
        return self.env.reset(seed=self._seeds[0])[0]

    def step_async(self, actions: Any) -> None:
        self._actions = actions

    def step_wait(self) -> Any:
        observations, rewards, ended, exhausted, info = self.env.step(np.clip(self._actions, -4, 4))
        self._totals += rewards
        done = ended | exhausted
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for index in np.flatnonzero(done):
            last, truncated = info["final_obs"][index], bool(exhausted[index])
            infos[index] = {"terminal_observation": last, "TimeLimit.truncated": truncated}
            infos[index]["episode"] = {"r": self._totals[index], "l": self.env.batch.convention.horizon}
        self._totals[done] = 0.0
        return observations, rewards, done, infos

    def close(self) -> None:
        self.env.close()

    def get_attr(self, name: str, indices: Any = None) -> Any:
        return [getattr(self.env, name, None)] * self.num_envs

    def set_attr(self, name: str, value: Any, indices: Any = None) -> None:
        raise NotImplementedError

    def env_method(self, name: str, *args: Any, indices: Any = None, **options: Any) -> Any:
        raise NotImplementedError

    def env_is_wrapped(self, wrapper: Any, indices: Any = None) -> Any:
        return [False] * self.num_envs


class Curve(BaseCallback):
    """Notes the mean reward of a decision after each rollout."""

    def __init__(self) -> None:
        super().__init__()
        self.points: list[tuple[int, float]] = []

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        mean = float(self.model.rollout_buffer.rewards.mean())
        self.points.append((self.num_timesteps, round(mean, 4)))
        print(f"{self.num_timesteps:>9,} decisions: mean reward {mean:.4f}", flush=True)


def layers_of(model: PPO) -> list[Layer]:
    """The network that gives the mean action."""
    layers = []
    modules = [*model.policy.mlp_extractor.policy_net, model.policy.action_net]
    for module in modules:
        if isinstance(module, torch.nn.Linear):
            weights, bias = (part.detach().numpy() for part in (module.weight, module.bias))
            layers.append(Layer(weights, bias))
        else:
            layers[-1].activation = type(module).__name__.lower()
    return layers


def main() -> None:
    """Train, and write the policy with its record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", default="dumbbell", help="a name, or a file with [space]")
    parser.add_argument("--decisions", type=int, default=300_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", required=True, help="the policy file")
    asked = parser.parse_args()
    env = Adapter(make(asked.networks, 32, convention=CONVENTION, threads=2))
    shape = {"pi": [32, 32], "vf": [64, 64]}
    options = {"net_arch": shape, "log_std_init": -0.5}
    rates = {
        "n_steps": 128,
        "batch_size": 1024,
        "n_epochs": 8,
        "learning_rate": 7e-4,
        "gamma": 0.97,
        "gae_lambda": 0.95,
    }
    model = PPO("MlpPolicy", env, policy_kwargs=options, seed=asked.seed, device="cpu", **rates)
    curve = Curve()
    model.learn(asked.decisions, callback=curve)
    record = {
        "by": f"examples/train.py with Ackclock {ackclock.__version__} and PPO of stable-baselines3",
        "networks": asked.networks,
        "reward": CONVENTION.reward,
        "seed": asked.seed,
        "decisions": asked.decisions,
        "curve": ", ".join(f"{at}: {mean}" for at, mean in curve.points[:: max(1, len(curve.points) // 20)]),
    }
    write_policy(asked.out, CONVENTION, layers_of(model), record)


if __name__ == "__main__":
    main()
