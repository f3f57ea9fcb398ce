# %% [markdown]
# # Reproduce a figure
#
# A paper shows goodput against the loss rate of a wireless last hop for several controllers
# (figure 5 of the [SARBE paper](../../papers/sarbe-ecn/README.md)). This tutorial runs the
# study behind the figure with three seeds, draws it with intervals, and tests one claim.

# %%
from pathlib import Path

from matplotlib.figure import Figure

from ackclock import stats
from ackclock.apps.papers import find
from ackclock.study import Store, Study, sweep
from ackclock.study.executors import Local
from ackclock.study.results import table

STYLES = {
    "sarbe": ("#0072B2", "o"),
    "westwood": ("#D55E00", "s"),
    "newreno": ("#009E73", "^"),
    "reno": ("#CC79A7", "v"),
}
OUT = Path("out/tutorials")
OUT.mkdir(parents=True, exist_ok=True)

# %% [markdown]
# ## Run the study
#
# A study is a scenario with axes: parameters with several values. Every combination is a point,
# and every point runs with every seed. Finished runs are kept in a folder, so a second run of
# this cell simulates nothing.

# %%
STUDIES = find("sarbe-ecn").folder / "studies"
study = Study.load(STUDIES / "goodput.toml", ['sweep.seed="1..3"'])
print(f"{study.title}: {study.points} points, {len(study.seeds)} seeds")
with Store.create(OUT / "sarbe") as store:
    summary = sweep(study, store, Local())
    frame = table(store)
print(summary)

# %% [markdown]
# The table has one row for each run, with the axes and every value of the outcome.

# %%
frame.select("control", "loss", "seed", "fwd.goodput_bps").head(4)

# %% [markdown]
# ## Draw it
#
# Means with 95 % intervals over the seeds, with the axes of the paper. Three seeds give wide
# intervals; the paper's own figure has none.

# %%
figure = Figure(figsize=(7, 4.2), layout="constrained")
axes = figure.subplots()
for control, (colour, marker) in STYLES.items():
    at, means, halves = [], [], []
    runs = frame.filter(frame["control"] == control)
    for (loss,), rows in runs.group_by(["loss"], maintain_order=True):
        e = stats.mean((rows["fwd.goodput_bps"] / 1e6).to_list())
        at.append(float(loss))
        means.append(e.value)
        halves.append(e.half_width or 0.0)
    axes.errorbar(at, means, halves, label=control, color=colour, marker=marker, capsize=2)
axes.set_xscale("log")
axes.set_xlabel("loss rate of the wireless link")
axes.set_ylabel("goodput (Mb/s), mean and 95 % interval, 3 seeds")
axes.set_ylim(bottom=0)
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
figure.savefig(OUT / "sarbe_fig5.svg")
figure

# %% [markdown]
# ## Test a claim
#
# The paper states that SARBE carries 1.711 times as much as Reno at a loss rate of 1 %. The
# runs are paired by seed.

# %%
at_1_percent = frame.filter(frame["loss"] == "0.01").sort("seed")
sarbe, reno = (
    at_1_percent.filter(at_1_percent["control"] == control)["fwd.goodput_bps"].to_list()
    for control in ("sarbe", "reno")
)
e = stats.ratio(sarbe, reno)
print("at 1 % loss")
print(
    f"SARBE has {e.value:.2f} [{e.low:.2f}, {e.high:.2f}] times Reno's goodput (claimed: 1.711)"
)

# %% [markdown]
# `ackclock paper sarbe-ecn --out out` tests all claims of the paper, with every interpretation
# of its text, and writes one page. The claims are data:
# [claims.toml](../../papers/sarbe-ecn/claims.toml). [Papers](../../docs/papers.md) describes
# the method.
