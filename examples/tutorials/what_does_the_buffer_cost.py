# %% [markdown]
# # What does the shaper's buffer cost?
#
# Internet access is often limited by a shaper: a token bucket with a queue. A long queue looks
# generous, because fewer packets are dropped. What do the users pay for it, and what does a
# queue with CoDel change?

# %%
import tempfile
from pathlib import Path

from ackclock import Scenario
from ackclock.study import Study

TEXT = """
title    = "A shaped line of 20 Mb/s: a download and a call"
duration = "30s"
warmup   = "3s"
delays   = true

[[link]]
name   = "line"
ends   = ["server", "home"]
rate   = "1Gbps"
delay  = "15ms"
shaper = { rate = "20Mbps", burst = "30kB" }
queue  = { kind = "droptail", limit = "100p" }

[[flow]]
name = "download"
from = "server"
to   = "home"
start_jitter = "0.5s"
[[flow]]
name = "call"
from = "server"
to   = "home"
udp  = { rate = "100kbps", packet = 200 }
"""

# %% [markdown]
# ## One run
#
# The download fills the queue, and the call waits behind it.

# %%
result = Scenario.parse(TEXT, ["duration=15s"]).run(trace="ack", packets=True)
for flow in result.outcome["flows"]:
    rate, delay = flow["goodput_bps"] / 1e6, 1e3 * flow["mean_delay_s"]
    print(f"{flow['name']:9} {rate:6.2f} Mb/s, mean delay {delay:.0f} ms")
result.plot(["cwnd", "queue"])

# %% [markdown]
# ## Every length of the queue
#
# The path without a queue takes 15 ms. A call becomes tiring when one direction takes more than
# about 150 ms (ITU-T G.114).

# %%
FOLDER = Path(tempfile.mkdtemp())
LENGTHS = (10, 25, 50, 100, 200, 400, 800)
SWEEP = '[sweep]\nseed = "1..5"\n[sweep.queue]\n'
SWEEP += "".join(f'"{n}" = {{ "link.line.queue.limit" = "{n}p" }}\n' for n in LENGTHS)
SWEEP += '"CoDel" = { "link.line.queue" = { kind = "codel" } }\n'
SWEEP += '"FQ-CoDel" = { "link.line.queue" = { kind = "fq_codel" } }\n'
(FOLDER / "queues.toml").write_text(TEXT + SWEEP)
study = Study.load(FOLDER / "queues.toml").run(FOLDER / "queues")
print("queue      download   call: 95 % of packets within   dropped")
for (queue,), rows in study.table().group_by(["queue"], maintain_order=True):
    goodput = rows["download.goodput_bps"].mean() / 1e6
    delay = 1e3 * rows["call.p95_delay_s"].mean()
    dropped = (rows["server->home.dropped_queue"] + rows["server->home.dropped_aqm"]).mean()
    print(f"{queue:9} {goodput:5.1f} Mb/s {delay:22.0f} ms {dropped:19.0f}")

# %%
study.plot(y=["goodput", "p95_delay"], kind="bars", flows=["call", "download"])

# %% [markdown]
# ## What follows
#
# From some length on the download gains nothing, and each further packet of queue is delay for
# everybody on the line. CoDel limits the time in the queue instead of its length, so it needs
# no choice of a length for each rate. FQ-CoDel also separates the call from the download. With
# another rate, another controller or a trace of your own line the same script answers again.
#
# The same run in the laboratory, where a click on a fall of the window shows its cause:
# [lesson 3](../../python/ackclock/web/lab.html#lesson=3).
