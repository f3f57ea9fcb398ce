"""How many decisions a second a learning environment makes."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass

import numpy as np

from ackclock.gym.environments import VectorEnv


@dataclass
class Speed:
    """What was measured."""

    threads: int
    decisions: int
    """Those of all environments."""
    cpu_s: float
    """CPU time of this process, s."""
    wall_s: float
    """Time of a clock, s."""
    packets: float
    """Segments delivered or lost, without those of the last interval of an episode."""

    def to_dict(self) -> dict[str, float]:
        """What was measured, with the rates."""
        return asdict(self) | {"per_cpu_s": self.per_cpu_s, "per_s": self.per_s, "packets_each": self.packets_each}

    @property
    def per_cpu_s(self) -> float:
        """Decisions a CPU second, those of all threads together."""
        return self.decisions / self.cpu_s

    @property
    def per_s(self) -> float:
        """Decisions a second."""
        return self.decisions / self.wall_s

    @property
    def packets_each(self) -> float:
        """Segments delivered or lost in an interval."""
        return self.packets / self.decisions


def measure(env: VectorEnv, threads: int, decisions: int, seed: int = 1) -> Speed:
    """The speed of an environment of `threads` threads over about `decisions` decisions with the action 0.

    Episodes that end begin anew, which counts.
    """
    env.reset(seed=seed)
    actions = np.zeros(env.num_envs)
    rounds = max(1, decisions // env.num_envs)
    packets = 0.0
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(rounds):
        env.step(actions)
        of = env.batch.columns
        packets += float((of["delivered"] + of["lost"]).sum())
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return Speed(threads, rounds * env.num_envs, cpu, wall, packets)
