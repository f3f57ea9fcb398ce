"""Train a policy with PPO, write it as a policy file, and compare it with CUBIC and BBR.

    pip install "ackclock[gym]" stable-baselines3
    python examples/train.py --out mine.policy --evaluate out/mine

Training takes a minute and a half on two cores. `--evaluate` runs the policy through the situations of `ackclock suite`
beside CUBIC and BBR, and searches the network in which it is worst beside CUBIC: two minutes more. A policy is a
controller:

    ackclock policy check mine.policy
    ackclock compare --control mine.policy,cubic,bbr --on @bufferbloat,@cellular
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv

import ackclock
from ackclock.apps.policy import Layer, write_policy
from ackclock.gym import CONVENTIONS, Convention, VectorEnv, make

CONVENTION = Convention(
    features=("latency_inflation", "queue_ratio", "send_ratio", "loss", "throughput_ratio", "log_backlog"),
    history=4,
    action="rate_delta",
    scale=0.25,
    limit=4.0,
    reward="log(max(throughput / fair_share, 0.05)) - 0.5 * (max(rtt, min_rtt) / max(min_rtt, 0.001) - 1) - 2 * loss",
    horizon=300,
)
"""What the policy observes, does and is rewarded for: shares of the bottleneck, without a queue or losses."""


class Adapter(VecEnv):
    """Ackclock's vector environment as that of stable-baselines3."""

    def __init__(self, env: VectorEnv) -> None:
        self.env = env
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)
        self.rewards: list[float] = []
        """Mean reward of each decision of all flows, since they were last taken."""

    def reset(self) -> Any:
        return self.env.reset(seed=self._seeds[0])[0]

    def step_async(self, actions: Any) -> None:
        self._actions = actions

    def step_wait(self) -> Any:
        observations, rewards, ended, exhausted, info = self.env.step(self._actions)
        self.rewards.append(float(rewards.mean()))
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for index in np.flatnonzero(ended | exhausted):
            last, truncated = info["final_obs"][index], bool(exhausted[index])
            infos[index] = {"terminal_observation": last, "TimeLimit.truncated": truncated}
        return observations, rewards, ended | exhausted, infos

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
    """Notes the mean reward of a decision in each rollout."""

    def __init__(self, env: Adapter) -> None:
        super().__init__()
        self.env = env
        self.points: list[tuple[int, float]] = []

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        mean = float(np.mean(self.env.rewards))
        self.env.rewards = []
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


def train(networks: str, convention: Convention, decisions: int, seed: int) -> tuple[PPO, Curve]:
    """Train with PPO on 64 flows at once."""
    torch.set_num_threads(1)  # the networks are small; threads that wait for each other cost more than they bring
    env = Adapter(make(networks, 64, convention=convention, threads=2))
    shape = {"pi": [32, 32], "vf": [64, 64]}
    model = PPO(
        "MlpPolicy",
        env,
        policy_kwargs={"net_arch": shape, "log_std_init": -0.5},
        seed=seed,
        device="cpu",
        n_steps=64,
        batch_size=1024,
        n_epochs=8,
        learning_rate=lambda left: 7e-4 * left,
        target_kl=0.03,
        gamma=0.98,
        gae_lambda=0.95,
    )
    curve = Curve(env)
    model.learn(decisions, callback=curve)
    return model, curve


def evaluate(policy: Path, out: Path) -> None:
    """The situations of the suite beside CUBIC and BBR, and the network in which the policy is worst beside CUBIC."""
    for command in (
        f"suite tcpeval --control {policy} --quick --out {out / 'suite'}",
        f"search @hystart --control {policy} --against cubic --budget 200 --out {out / 'search'}",
    ):
        print(f"ackclock {command}", flush=True)
        status = subprocess.run([sys.executable, "-m", "ackclock.entry", *command.split()], check=False).returncode
        if status == 2:
            sys.exit(status)


def main() -> None:
    """Train, write the policy with its record, and compare it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", default="shared", help="a name of the package, or a file with [space]")
    parser.add_argument("--convention", choices=CONVENTIONS, help="a published one; default: that of this file")
    parser.add_argument("--decisions", type=int, default=1_500_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="the policy file")
    parser.add_argument("--evaluate", type=Path, help="a folder for the comparison")
    asked = parser.parse_args()
    convention = CONVENTIONS[asked.convention] if asked.convention else CONVENTION
    model, curve = train(asked.networks, convention, asked.decisions, asked.seed)
    record = {
        "by": f"examples/train.py with Ackclock {ackclock.__version__} and PPO of stable-baselines3",
        "networks": asked.networks,
        "reward": str(convention.reward),
        "seed": asked.seed,
        "decisions": asked.decisions,
        "curve": ", ".join(f"{at}: {mean}" for at, mean in curve.points[:: max(1, len(curve.points) // 20)]),
    }
    write_policy(asked.out, convention, layers_of(model), record)
    if asked.evaluate:
        evaluate(asked.out, asked.evaluate)


if __name__ == "__main__":
    main()
