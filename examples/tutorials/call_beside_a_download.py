# %% [markdown]
# # A video call beside a download: does FQ-CoDel help?
#
# A line of 10 Mb/s carries a video call of 3 Mb/s. When somebody starts a download, the call
# stutters, though it needs less than half of the line. Is it the queue of the router, and does
# FQ-CoDel repair it? Does an encoder that adapts its rate?

# %%
from ackclock import Scenario, stats
from ackclock.draw.style import COLOURS, panels

TEXT = """
title    = "A call of 30 frames a second beside a download"
duration = "40s"
warmup   = "2s"

[tcp]
congestion_control = "cubic"

[[link]]
name  = "line"
ends  = ["server", "home"]
rate  = "10Mbps"
delay = "20ms"
queue = { kind = "droptail", limit = "2bdp" }

[[flow]]
name = "call"
from = "server"
to   = "home"
start_jitter = "33ms"
app  = { kind = "frames", rate = "3Mbps" }

[[flow]]
name  = "download"
from  = "server"
to    = "home"
start = "10s"
stop  = "30s"
start_jitter = "100ms"
"""

# %% [markdown]
# ## One run
#
# The call captures a frame of 12,500 bytes each 33 ms and sends it over TCP. A frame that is
# complete at the receiver within 150 ms is on time. A late frame is sent nevertheless, as all
# data of TCP, and delays those behind it.

# %%
outcome = Scenario.parse(TEXT).run().outcome
call = outcome["flows"][0]["app"]
print(f"{call['messages']} frames: {call['on_time']} on time, {call['late']} late")
print(f"{call['freezes']} freezes, together {call['freeze_s']:.1f} s")
print(f"delay of a frame: median {1e3 * call['p50_frame_s']:.0f} ms")
print(f"                  95 % within {1e3 * call['p95_frame_s']:.0f} ms")

# %% [markdown]
# ## The rate of the call during the download
#
# Where the queue is one for all, the two flows get equal parts of the line in the long run,
# but after each loss the call has less than it needs, and it must catch up.

# %%
Scenario.parse(TEXT).run(trace="ack", packets=True).plot(["goodput", "queue"])

# %% [markdown]
# ## Queues and encoders
#
# Three queues: short, long, and FQ-CoDel, which has a queue for each flow and serves them in
# turns. Two encoders: one of constant rate, and one that takes 85 % of what the congestion
# controller permits. Five seeds each; intervals are of the mean over seeds.

# %%
QUEUES = {
    "drop-tail, 0.5 BDP": ["link.line.queue.limit=0.5bdp"],
    "drop-tail, 2 BDP": [],
    "drop-tail, 8 BDP": ["link.line.queue.limit=8bdp"],
    "FQ-CoDel": ["link.line.queue=fq_codel"],
}
ENCODERS = {"constant": [], "adapting": ["flow.call.app.adapt=controller"]}
shares: dict[tuple[str, str], list[float]] = {}
print("queue                encoder   frames on time      call      download")
for queue, settings in QUEUES.items():
    for encoder, more in ENCODERS.items():
        scenario = Scenario.parse(TEXT, [*settings, *more])
        flows = [scenario.run(seed=seed).outcome["flows"] for seed in range(1, 6)]
        apps = [flow[0]["app"] for flow in flows]
        shares[queue, encoder] = [100 * app["on_time"] / app["messages"] for app in apps]
        e = stats.within(shares[queue, encoder], 0, 100)
        rate = sum(app["encoder_bps"] for app in apps) / len(apps) / 1e6
        download = sum(flow[1]["goodput_bps"] for flow in flows) / len(flows) / 1e6
        share = f"{e.value:5.1f} % [{e.low:.0f}, {e.high:.0f}]"
        print(f"{queue:20} {encoder:9} {share:17} {rate:5.2f} Mb/s {download:7.2f} Mb/s")

# %%
figure, (axes,) = panels(1, height=2.6, width=5.6)
for number, encoder in enumerate(ENCODERS):
    for place, queue in enumerate(QUEUES):
        numbers = shares[queue, encoder]
        at = [place + 0.2 * (number - 0.5)] * len(numbers)
        label = encoder if place == 0 else None
        axes.plot(at, numbers, "os"[number], color=COLOURS[number], markersize=5, label=label)
axes.set_xticks(range(len(QUEUES)), list(QUEUES), fontsize=8)
axes.set_ylim(0, 103)
axes.set_ylabel("frames on time, %")
axes.legend(title="encoder", frameon=False, fontsize=8)
figure

# %% [markdown]
# ## What follows
#
# The call has the rate that it needs in the mean; what it lacks is time. A frame waits in the
# queue that the download fills, and behind every frame before it that had to be repeated. So a
# longer queue makes it worse, and where the queue alone is longer than the deadline no encoder
# helps. FQ-CoDel serves the call as soon as it has something to send: all frames are on time,
# and the download loses little.
#
# A fair queue gives equal parts and no more. With two downloads each flow has 3.3 Mb/s, and the
# call needs 3.1 with headers; with three it has 2.5. Then an encoder that adapts is what helps.

# %%
for downloads in (1, 2, 3):
    for encoder, more in ENCODERS.items():
        settings = ["link.line.queue=fq_codel", f"flow.download.count={downloads}", *more]
        app = Scenario.parse(TEXT, settings).run().outcome["flows"][0]["app"]
        share = 100 * app["on_time"] / app["messages"]
        print(f"downloads: {downloads}, encoder: {encoder:8} {share:5.1f} % on time")

# %% [markdown]
# Your own line and call are other values of the same scenario: `ackclock run @call` is one to
# start from, and [applications](../../docs/applications.md) has the keys.
