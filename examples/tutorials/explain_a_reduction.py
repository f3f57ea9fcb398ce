# %% [markdown]
# # Explain a window reduction
#
# A window falls, and the question is why. A run is repeatable bit for bit, so the simulator
# repeats it with all packet events recorded and follows the chain of causes: the change of the
# window, the ACK that triggered it, the packet that was missing, and the queue that dropped the
# packet.

# %%
import polars as pl
from matplotlib.figure import Figure

from ackclock import Scenario
from ackclock.apps.why import explain

scenario = Scenario.load("@dumbbell_ns2")
print(scenario.title)

# %% [markdown]
# ## Ask for the cause
#
# `cut=True` asks for the last reduction before the time; without it, the last change in either
# direction. The same on the command line: `ackclock why @dumbbell_ns2 --at 8s --cut`.

# %%
cause = explain(scenario, 8.0, cut=True)
print("\n".join(cause.sentences()))

# %% [markdown]
# Read it from the top. The first lines are the change and the state of the sender. Then comes
# the cause, with every event of the missing packet: it passed its access link and found the
# queue of the bottleneck full. The last line counts the packets in the queue at the drop, by
# flow.
#
# ## Use it in a program
#
# The explanation is an object. Here it gives the delay from the drop to the reaction: the
# packets ahead in the queue must leave first, then the duplicate ACKs must return.

# %%
drop = next(step for step in cause.packet_events if step.event == "drop")
after_ms = 1e3 * (cause.time_s - drop.time_s)
share = cause.queue.packets[cause.flow] / cause.queue.total
print(f"{cause.flow} reacted {after_ms:.1f} ms after the drop at {drop.link}")
print(f"{cause.flow} had {share:.0%} of the packets in the queue")

# %% [markdown]
# ## Draw the moment
#
# The traces of the same run show the queue before the drop and the window after it.

# %%
result = scenario.run(trace="ack", packets=True, until_s=cause.time_s + 0.2)
shown = pl.col("time_s").is_between(drop.time_s - 0.2, cause.time_s + 0.2)
window = result.trace.filter((pl.col("flow") == cause.flow) & shown)
moves = result.packets.filter(
    (pl.col("link") == drop.link) & pl.col("event").is_in(["enqueue", "depart"])
)
change = pl.col("event").replace_strict({"enqueue": 1, "depart": -1}, return_dtype=pl.Int64)
held = moves.with_columns(change.cum_sum().alias("held")).filter(shown)

figure = Figure(figsize=(8, 4.5), layout="constrained")
above, below = figure.subplots(2, 1, sharex=True)
above.step(held["time_s"], held["held"], where="post", color="#555555", linewidth=0.9)
above.set_ylabel(f"queue {drop.link}\n(packets held)")
below.step(window["time_s"], window["cwnd"], where="post", color="#0072B2")
below.set_ylabel(f"cwnd of {cause.flow}\n(segments)")
below.set_xlabel("time (s)")
for axes in (above, below):
    axes.axvline(drop.time_s, color="#D55E00", linestyle="--", linewidth=1)
    axes.axvline(cause.time_s, color="#009E73", linestyle=":", linewidth=1.5)
    axes.spines[["top", "right"]].set_visible(False)
for at, word, side in ((drop.time_s, "drop ", "right"), (cause.time_s, " reduction", "left")):
    above.text(at, 1.02, word, ha=side, transform=above.get_xaxis_transform())
figure

# %% [markdown]
# [Cause of a window change](../../docs/why.md) describes the options of `ackclock why`.
