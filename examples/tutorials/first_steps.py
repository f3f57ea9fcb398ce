# %% [markdown]
# # First steps
#
# This tutorial describes a network in a few lines, runs it, draws what happened, and changes
# one value. It takes ten minutes. You need Python, but no knowledge of the simulator.
#
# A **scenario** is a text with links, queues and flows. A **run** is a scenario with a seed;
# the same scenario and the same seed give the same result, bit for bit, on every machine.

# %%
from pathlib import Path

from ackclock import Scenario
from ackclock.draw import timelines

OUT = Path("out/tutorials")
OUT.mkdir(parents=True, exist_ok=True)

# %% [markdown]
# ## Describe a network
#
# Two TCP flows share a link of 10 Mb/s. The link delays a packet by 20 ms, so the round-trip
# time of an empty path is 40 ms. At most one bandwidth-delay product (`1bdp`) waits in the
# queue: 10 Mb/s times 40 ms is 50 kB, or 33 packets of 1500 bytes. CUBIC starts five seconds
# after Reno.
#
# [Scenario keys](../../docs/scenario-keys.md) lists everything that a scenario can contain.

# %%
TEXT = """
title    = "Reno and CUBIC over one bottleneck"
duration = "30s"
delays   = true                                  # measure the delay of every packet

[[link]]
name  = "bottleneck"
ends  = ["left", "right"]
rate  = "10Mbps"
delay = "20ms"
queue = { kind = "droptail", limit = "1bdp" }

[[flow]]
name = "reno"
from = "left"
to   = "right"
tcp  = { congestion_control = "reno" }

[[flow]]
name  = "cubic"
from  = "left"
to    = "right"
start = "5s"
tcp   = { congestion_control = "cubic" }
"""
scenario = Scenario.parse(TEXT)

# %% [markdown]
# ## Run it
#
# `trace="ack"` records the window at every ACK, `packets=True` every packet at every link.
# `audit=True` checks the run against a second account of all packets; a violation would be a
# mistake of the simulator.

# %%
result = scenario.run(trace="ack", packets=True, audit=True)
print(f"{result.outcome['engine']['events']:,} events, {result.violation_count} violations")

# %% [markdown]
# The tables of flows and links are [polars](https://pola.rs) data frames. Units are in the
# names: `_bps` bits per second, `_s` seconds. [Outcome keys](../../docs/outcome-keys.md)
# defines every column.

# %%
result.flows.select("name", "goodput_bps", "retransmitted_packets", "mean_rtt_s", "p95_delay_s")

# %%
result.links.select("name", "utilisation", "mean_queue_packets", "dropped_queue")

# %% [markdown]
# The link is full (`utilisation` is nearly 1), and the two flows share it unequally. The mean
# round-trip time is far above 40 ms: the rest is the time that packets wait in the queue.
#
# ## Draw it

# %%
figure = timelines(result, title=scenario.title)
figure.savefig(OUT / "first_steps.svg")
figure

# %% [markdown]
# From top to bottom: the windows with their slow-start thresholds (dotted), the round-trip
# times, the queue with its drops, and the rates at the receivers. A window grows until the
# queue overflows; a lost packet reduces it. When CUBIC starts after five seconds, it takes its
# share within a few round trips.
#
# ## Change one value
#
# A second argument replaces values without a new text. The same on the command line: `ackclock
# run FILE --set link.bottleneck.rate=5Mbps --seed 2`.

# %%
slower = Scenario.parse(TEXT, ["link.bottleneck.rate=5Mbps"]).run(seed=2)
for flow in slower.outcome["flows"]:
    print(f"at 5 Mb/s, {flow['name']:5} gets {flow['goodput_bps'] / 1e6:.2f} Mb/s")

# %% [markdown]
# ## Next
#
# - [Explain a window reduction](explain_a_reduction.py): which packet was lost, where, and who
#   filled the queue.
# - [Compare two controllers](compare_two_controllers.py) over many seeds, with intervals.
# - [Add a controller](add_a_controller.py): your own algorithm as a Python class.
