"""Decisions a second of a learning environment, alternately with that of Aurora's authors on the same network.

.venv/bin/python benches/learning.py [PAIRS] [PCC-RL]

PCC-RL is a checkout of PCCproject/PCC-RL, whose network_sim.py runs unchanged; without it only ours is measured.
The network: 400 packets/s, 130 ms each way, a queue of 50 packets, 1 % of losses, a constant rate of 95 %: 50 packets
a decision.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from ackclock import Scenario
from ackclock.gym import AURORA, VectorEnv
from ackclock.gym.speed import Speed, measure

DECISIONS = 4000
RATE, DELAY_S, QUEUE, LOSS, PART = 400, 0.13, 50, 0.01, 0.95
NETWORK = f"""
duration = "100000s"
tcp = {{ congestion_control = "policy", receive_window = 20000, ack_compression = false }}
flow = [{{ name = "f", from = "a", to = "b" }}]
[[link]]
ends = ["a", "b"]
rate = "{RATE * 12}kbps"
delay = "{DELAY_S * 1000}ms"
queue = {{ kind = "droptail", limit = "{QUEUE}p" }}
loss = [{{ kind = "bernoulli", rate = {LOSS} }}]
back = {{ queue = {{ kind = "droptail", limit = "10000p" }}, loss = [] }}
"""


def ours(environments: int, threads: int) -> Speed:
    """The speed of an environment with this network."""
    convention = AURORA.with_changes(bounds=(PART * RATE, PART * RATE), warm_up=10, horizon=10**9)
    env = VectorEnv(Scenario.parse(NETWORK), environments, convention=convention, threads=threads)
    return measure(env, threads, 4 * DECISIONS)


def aurora(checkout: Path) -> tuple[float, float]:
    """The same of Aurora's environment."""
    simulator = load_aurora(checkout)
    with contextlib.redirect_stdout(io.StringIO()):
        env = simulator.SimulatedNetworkEnv()
        for name, value in {"bw": RATE, "lat": DELAY_S, "queue": np.log(QUEUE - 1), "loss": LOSS}.items():
            setattr(env, f"min_{name}", value)
            setattr(env, f"max_{name}", value)
        env.dump_events_to_file = lambda *_: None
        env.reset()
        env.senders[0].rate = PART * RATE
        packets = 0
        begin = time.process_time()
        for step in range(DECISIONS):
            if step % 399 == 0:
                env.steps_taken = 0  # no reset: the network is always the same
            env.step(np.zeros(1))
            packets += env.senders[0].acked + env.senders[0].lost
    return DECISIONS / (time.process_time() - begin), packets / DECISIONS


def load_aurora(checkout: Path) -> Any:
    """Import Aurora's environment; Gymnasium takes the place of the gym of its time."""
    for name in ("", ".spaces", ".utils", ".utils.seeding", ".envs", ".envs.registration"):
        sys.modules[f"gym{name}"] = importlib.import_module(f"gymnasium{name}")
    sys.path[:0] = [str(checkout / "src" / "gym"), str(checkout / "src")]
    sys.argv = sys.argv[:1]  # it reads the command line
    return importlib.import_module("network_sim")


def main() -> None:
    """Print the rates, and the median of the pairwise ratios."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    checkout = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    ratios, cores = [], []
    for _ in range(pairs):
        one, two = ours(64, 1), ours(64, 2)
        cores.append(two.per_s / one.per_s)
        line = f"{one.per_cpu_s:,.0f} decisions a CPU second of {one.packets_each:.1f} packets"
        line += f"; two threads {cores[-1]:.2f} times as fast"
        if checkout:
            theirs, their_packets = aurora(checkout)
            ratios.append(one.per_cpu_s * one.packets_each / (theirs * their_packets))
            line += f"; Aurora's {theirs:,.0f} of {their_packets:.1f} packets, ratio of packets {ratios[-1]:.1f}"
        print(line, flush=True)
    print(f"two threads: {statistics.median(cores):.2f}", end="")
    print(f", ratio: {statistics.median(ratios):.1f}" if ratios else "")


if __name__ == "__main__":
    main()
