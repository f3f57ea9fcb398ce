# %% [markdown]
# # Compare two controllers
#
# Does CUBIC carry more than Reno on a long path that loses packets at random? One run of each
# does not answer that: the result depends on which packets are lost. This tutorial runs both
# with twenty seeds and computes an interval.

# %%
from matplotlib.figure import Figure

from ackclock import Scenario, stats

TEXT = """
duration = "60s"
warmup   = "5s"                                  # goodput is measured after it

[[link]]
name  = "path"
ends  = ["left", "right"]
rate  = "50Mbps"
delay = "50ms"
queue = { kind = "droptail", limit = "1bdp" }
loss  = { kind = "bernoulli", rate = 0.0003 }    # three packets in ten thousand

[[flow]]
name = "f"
from = "left"
to   = "right"
"""
SEEDS = range(1, 21)

# %% [markdown]
# ## Run both with the same seeds
#
# With equal seeds both controllers meet the same random numbers of the link, so their results
# are compared pair by pair.


# %%
def goodputs(control, *changes):
    """Goodput in Mb/s, one value for each seed."""
    scenario = Scenario.parse(TEXT, [f"flow.f.tcp.congestion_control={control}", *changes])
    return [scenario.run(seed=seed).outcome["flows"][0]["goodput_bps"] / 1e6 for seed in SEEDS]


goodput_of = {control: goodputs(control) for control in ("reno", "cubic")}
for control, values in goodput_of.items():
    e = stats.mean(values)
    print(f"{control:6} {e.value:5.2f} Mb/s [{e.low:.2f}, {e.high:.2f}], {e.n} seeds")

# %% [markdown]
# ## Decide
#
# The ratio is the geometric mean over the pairs. If its interval excludes 1, chance alone does
# not explain the difference.


# %%
def decide(cubic, reno):
    """Print the ratio with its interval, and what follows."""
    e = stats.ratio(cubic, reno)
    words = "no difference shown"
    if e.low > 1:
        words = "CUBIC carries more"
    elif e.high < 1:
        words = "CUBIC carries less"
    print(f"CUBIC over Reno: {e.value:.3f} [{e.low:.3f}, {e.high:.3f}]: {words}")


decide(goodput_of["cubic"], goodput_of["reno"])

# %% [markdown]
# ## Show every seed
#
# A mean hides how much single runs differ. Every grey line joins the two results of one seed.

# %%
figure = Figure(figsize=(6, 4), layout="constrained")
axes = figure.subplots()
for pair in zip(goodput_of["reno"], goodput_of["cubic"], strict=True):
    axes.plot([0, 1], pair, color="#888888", linewidth=0.8, marker="o", markersize=3)
for place, values in zip((-0.12, 1.12), goodput_of.values(), strict=True):
    e = stats.mean(values)
    axes.errorbar(place, e.value, e.half_width, color="#0072B2", marker="D", capsize=4)
axes.set_xticks([0, 1], ["Reno", "CUBIC"])
axes.set_xlim(-0.4, 1.4)
axes.set_ylim(bottom=0)
axes.set_ylabel("goodput (Mb/s)")
axes.set_title("Twenty seeds (grey), mean with 95 % interval (blue)", fontsize=10)
axes.spines[["top", "right"]].set_visible(False)
figure

# %% [markdown]
# ## Try another network
#
# The answer holds for this path. On a shorter and slower one CUBIC grows as Reno does, which
# RFC 9438 calls the Reno-friendly region.

# %%
SHORT = ("link.path.rate=20Mbps", "link.path.delay=30ms", "link.path.loss.rate=0.001")
decide(goodputs("cubic", *SHORT), goodputs("reno", *SHORT))

# %% [markdown]
# ## Next
#
# A suite runs a controller in thirty-four situations and compares two results metric by metric
# ([suites](../../docs/suites.md)):
#
# ```sh
# ackclock suite tcpeval --control reno --quick
# ackclock suite tcpeval --control cubic --quick
# ackclock compare out/suites/tcpeval/reno out/suites/tcpeval/cubic
# ```
#
# For many values of a parameter, such as the loss rate, write a study
# ([studies](../../docs/studies.md)).
