# %% [markdown]
# # Train a controller
#
# A learning environment is the simulator without the decisions of one sender: once an interval
# it shows what the sender measured, and waits for an action. We look at one, give it a rule of
# three lines, and then run the policy that ships, which was trained with PPO in three minutes
# (`examples/train.py` is the program; this page needs no PyTorch).

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np

from ackclock import Scenario
from ackclock.gym import make

warnings.simplefilter("ignore")
env = make("aurora", num_envs=32, threads=2)
observations, _ = env.reset(seed=1)
print(f"{env.num_envs} networks; an observation has {observations.shape[1]} numbers:")
print(", ".join(env.batch.convention.features), f"of {env.batch.convention.history} intervals")

# %% [markdown]
# ## A rule
#
# The observation of Aurora's convention ends with the newest interval: latency inflation,
# latency ratio, send ratio. We raise the rate as long as the latency is near its smallest value
# and the segments that we send arrive, and lower it otherwise.


# %%
def rule(seen):
    latency_ratio, send_ratio = seen[:, 1::3], seen[:, 2::3]
    good = (latency_ratio[:, -1] < 1.05) & (send_ratio.mean(axis=1) < 1.2)
    return np.where(good, 1.0, -1.0)[:, None]


def episode(decide):
    """The mean reward of an episode of 400 decisions, over the networks."""
    seen, _ = env.reset(seed=2)
    total = np.zeros(env.num_envs)
    for _ in range(400):
        seen, rewards, *_ = env.step(decide(seen))
        total += rewards
    return total.mean()


def constant(seen):
    return np.zeros((len(seen), 1))


for name, decide in (("constant rate", constant), ("our rule", rule)):
    print(f"{name:14} {episode(decide):6.0f} an episode")

# %% [markdown]
# ## A trained policy is a controller
#
# The controller `policy` without a file is the policy that ships. It runs where every other
# controller runs: here on a line of 20 Mb/s with a long buffer, beside what CUBIC does there.

# %%
LINE = """
duration = "30s"
[[link]]
name  = "line"
ends  = ["server", "client"]
rate  = "20Mbps"
delay = "20ms"
queue = { kind = "droptail", limit = "4bdp" }
[[flow]]
name = "f"
from = "server"
to   = "client"
"""
figure, axes = plt.subplots(2, 1, sharex=True, figsize=(7, 4.5), layout="constrained")
for control, colour in (("policy", "tab:blue"), ("cubic", "tab:orange")):
    result = Scenario.parse(LINE, [f"tcp.congestion_control={control}"]).run(trace="ack")
    flow = result.outcome["flows"][0]
    goodput, rtt = flow["goodput_bps"] / 1e6, 1e3 * flow["mean_rtt_s"]
    print(f"{control:7} {goodput:.1f} Mb/s, mean RTT {rtt:.0f} ms")
    trace = result.trace
    axes[0].plot(trace["time_s"], trace["cwnd"], label=control, color=colour, linewidth=1)
    axes[1].plot(trace["time_s"], 1e3 * trace["rtt_s"], color=colour, linewidth=1)
axes[0].set_ylabel("window [segments]")
axes[0].legend(frameon=False)
axes[1].set_ylabel("round-trip time [ms]")
axes[1].set_xlabel("time [s]")
figure

# %% [markdown]
# ## Where is it worse?
#
# `ackclock suite tcpeval --control policy` compares it in 42 situations with CUBIC and BBR,
# and `ackclock search @hystart --control policy --against cubic` looks for the network in which
# it is worst beside CUBIC. Your own policy takes its place: `--control mine.policy`.
