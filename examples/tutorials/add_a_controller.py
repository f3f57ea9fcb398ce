# %% [markdown]
# # Add a controller
#
# A controller is a class with a method for each event: an ACK, a congestion event (a loss or an
# ECN echo), a retransmission timeout. It sets two attributes, `cwnd` and `ssthresh`, in
# segments. Loss detection and retransmission are not its task; the TCP sender does them.
#
# The controller of this tutorial grows its window like Reno, but not while the round-trip time
# is well above its minimum. The tutorial compares it with CUBIC, reads its internal values from
# the trace, and runs it with ten seeds. [Controllers in
# Python](../../docs/python-controllers.md) describes the interface,
# [CONTRIBUTING](../../CONTRIBUTING.md) a controller in Rust.

# %%
from typing import ClassVar

from matplotlib.figure import Figure

from ackclock import Controller, Scenario, stats


class Patient(Controller):
    """Reno that does not grow while the queue adds more than `wait` of the smallest RTT."""

    probes: ClassVar = ("base_rtt", "queueing")  # columns of the trace

    def __init__(self, flow, wait=0.25):
        super().__init__(flow)
        self.wait = wait
        self.base_rtt = None
        self.queueing = None

    def on_ack(self, ack):
        if ack.rtt_s is not None:
            self.base_rtt = min(ack.rtt_s, self.base_rtt or ack.rtt_s)
            self.queueing = ack.rtt_s - self.base_rtt
        patient = self.queueing is not None and self.queueing > self.wait * self.base_rtt
        if ack.may_grow and not patient:
            slow_start = self.cwnd < self.ssthresh
            self.cwnd += ack.newly_acked if slow_start else ack.newly_acked / self.cwnd
        elif patient and self.cwnd < self.ssthresh:
            self.ssthresh = self.cwnd  # end slow start: a queue has built up

    def on_congestion(self, event):
        self.ssthresh = self.cwnd = max(2.0, event.window / 2)

    def on_rto(self, event):
        self.ssthresh, self.cwnd = max(2.0, event.window / 2), 1.0


# %% [markdown]
# ## Compare it with CUBIC
#
# A single flow on a link with a deep buffer, four bandwidth-delay products. CUBIC fills the
# buffer; the new controller should reach the same goodput with less delay.

# %%
TEXT = """
duration = "40s"
warmup   = "10s"
delays   = true
[[link]]
name  = "bottleneck"
ends  = ["left", "right"]
rate  = "10Mbps"
delay = "20ms"
queue = { kind = "droptail", limit = "4bdp" }
[[flow]]
name = "f"
from = "left"
to   = "right"
start_jitter = "1s"
"""
for name, controllers in (("cubic", None), ("patient", {"f": Patient})):
    flow = Scenario.parse(TEXT, controllers=controllers).run().outcome["flows"][0]
    goodput, delay = flow["goodput_bps"] / 1e6, 1e3 * flow["p95_delay_s"]
    print(f"{name:8} {goodput:5.2f} Mb/s, 95 % of packets within {delay:.1f} ms")

# %% [markdown]
# ## Look inside
#
# The names in `probes` become columns of the trace. The window stays where the queueing delay
# reaches a quarter of the smallest round-trip time.

# %%
trace = Scenario.parse(TEXT, controllers={"f": Patient}).run(trace="ack").trace
trace.select("time_s", "cwnd", "base_rtt", "queueing").tail(3)

# %%
figure = Figure(figsize=(8, 4), layout="constrained")
above, below = figure.subplots(2, 1, sharex=True)
above.plot(trace["time_s"], trace["cwnd"], color="#0072B2", linewidth=1)
above.set_ylabel("cwnd (segments)")
below.plot(trace["time_s"], 1e3 * trace["queueing"], color="#D55E00", linewidth=1)
limit = 0.25 * 1e3 * trace["base_rtt"].min()
below.axhline(limit, color="#888888", linestyle="--", linewidth=1, label="limit")
below.set_ylabel("queueing delay (ms)")
below.set_xlabel("time (s)")
below.legend(frameon=False)
for axes in (above, below):
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
figure

# %% [markdown]
# ## Test it against a competitor
#
# A controller that avoids queues shares a link with one that fills them. Its share of the
# goodput: mean and interval over ten seeds, which move the start times.

# %%
BESIDE = TEXT + '[[flow]]\nname = "other"\nfrom = "left"\nto = "right"\nstart_jitter = "1s"\n'
both = Scenario.parse(BESIDE, controllers={"f": Patient})
shares = []
for seed in range(1, 11):
    mine, other = (flow["goodput_bps"] for flow in both.run(seed=seed).outcome["flows"])
    shares.append(mine / (mine + other))
share = stats.mean(shares)
print(f"share beside CUBIC: {share.value:.3f} [{share.low:.3f}, {share.high:.3f}]")
if share.high < 0.5:
    print("it gets less than half, as is usual for delay-based algorithms")

# %% [markdown]
# ## Next
#
# Save the class in a file `patient.py`, then run the whole suite and compare the results with
# those of Reno:
#
# ```sh
# ackclock suite tcpeval --control patient.py:Patient --quick
# ackclock suite tcpeval --control reno --quick
# ackclock compare out/suites/tcpeval/reno out/suites/tcpeval/patient.py-Patient
# ```
