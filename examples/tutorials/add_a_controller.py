# %% [markdown]
# # Add a controller
#
# This controller grows its window like Reno, but not while the round-trip time is well above its minimum. It is a
# Python class. The tutorial compares it with CUBIC, reads its internal values from the trace, and runs it with ten
# seeds. docs/python-controllers.md describes the interface; CONTRIBUTING.md describes a controller in Rust.

# %%
from typing import ClassVar

from ackclock import Controller, Scenario, stats


class Patient(Controller):
    """Reno that does not grow while the queue adds more than `wait` of the smallest round-trip time."""

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
            self.cwnd += ack.newly_acked if self.cwnd < self.ssthresh else ack.newly_acked / self.cwnd
        elif patient and self.cwnd < self.ssthresh:
            self.ssthresh = self.cwnd  # end slow start: a queue has built up

    def on_congestion(self, event):
        self.ssthresh = self.cwnd = max(2.0, event.window / 2)

    def on_rto(self, event):
        self.ssthresh, self.cwnd = max(2.0, event.window / 2), 1.0


# %% [markdown]
# A single flow on a link with a deep buffer: compare the delays of CUBIC and of the new controller.

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
    print(f"{name:8} {flow['goodput_bps'] / 1e6:5.2f} Mb/s, 95 % of packets within {flow['p95_delay_s'] * 1e3:.1f} ms")

# %% [markdown]
# The trace has the controller's internal values.

# %%
trace = Scenario.parse(TEXT, controllers={"f": Patient}).run(trace="ack").trace
print(trace.select("time_s", "cwnd", "base_rtt", "queueing").tail(3))

# %% [markdown]
# Compute its share of the goodput against one CUBIC flow: mean and interval over ten seeds.

# %%
BESIDE = TEXT + '[[flow]]\nname = "other"\nfrom = "left"\nto = "right"\nstart_jitter = "1s"\n'
both = Scenario.parse(BESIDE, controllers={"f": Patient})
shares = []
for seed in range(1, 11):
    mine, other = (flow["goodput_bps"] for flow in both.run(seed=seed).outcome["flows"])
    shares.append(mine / (mine + other))
share = stats.mean(shares)
print(f"share beside CUBIC: {share.value:.3f} [{share.low:.3f}, {share.high:.3f}]")
print("it gets less than half, as is usual for delay-based algorithms" if share.high < 0.5 else "it gets about half")

# %% [markdown]
# Save the class in a file `patient.py`, then run the whole suite and compare the results with those of Reno:
#
# ```sh
# ackclock suite tcpeval --control patient.py:Patient --quick
# ackclock suite tcpeval --control reno --quick
# ackclock compare out/suites/tcpeval/reno out/suites/tcpeval/patient.py-Patient
# ```
