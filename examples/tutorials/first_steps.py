# %% [markdown]
# # First steps
#
# A scenario describes links, queues and flows. A run is a scenario with a seed. This tutorial writes a scenario, runs
# it, prints and draws the results, and explains a window reduction. Run it from the top of the repository with
# `python examples/tutorials/first_steps.py`, or cell by cell in an editor that supports `# %%`.

# %%
from pathlib import Path

from ackclock import Scenario
from ackclock.plot import timelines
from ackclock.why import explain

OUT = Path("out/tutorials")
OUT.mkdir(parents=True, exist_ok=True)

# %% [markdown]
# Two flows, Reno and CUBIC, share 10 Mb/s with 40 ms of round trip and a queue of one bandwidth-delay product.

# %%
TEXT = """
title    = "Reno and CUBIC over one bottleneck"
duration = "30s"
delays   = true

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
result = scenario.run(trace="ack", packets=True, audit=True)

# %% [markdown]
# The result has the outcome as a dictionary and as polars data frames: goodput in bit/s, delays in seconds. The
# auditor found no violation; every packet is accounted for.

# %%
print(result.flows.select("name", "goodput_bps", "retransmitted_packets", "mean_rtt_s", "p95_delay_s"))
print(result.links.select("name", "utilisation", "mean_queue_packets", "dropped_queue"))
assert result.violation_count == 0

# %% [markdown]
# Draw windows, round-trip times and queue over time.

# %%
timelines(result, title=scenario.title).savefig(OUT / "first_steps.png", dpi=110)
print("written:", OUT / "first_steps.png")

# %% [markdown]
# Explain the last window reduction before 20 s: the event, the lost packet, and the packets in the queue at its drop.

# %%
print("\n".join(explain(scenario, 20.0, cut=True).sentences()))

# %% [markdown]
# Replace one value and use another seed. The equivalent command is
# `ackclock run FILE --set link.bottleneck.rate=5Mbps --seed 2`.

# %%
slower = Scenario.parse(TEXT, ["link.bottleneck.rate=5Mbps"]).run(seed=2)
print("at 5 Mb/s:", [f"{flow['goodput_bps'] / 1e6:.2f} Mb/s" for flow in slower.outcome["flows"]])
