# %% [markdown]
# # Reproduce a figure
#
# Figure 5 of the SARBE paper: goodput against the loss rate of a wireless last hop, for several controllers. The study
# is a file in the paper's folder. This tutorial runs it with three seeds and draws the figure, with intervals, from
# the table of results.

# %%
from pathlib import Path

from matplotlib.figure import Figure

from ackclock import stats
from ackclock.plot import COLOURS, MARKERS, tidy
from ackclock.study import Store, Study, sweep
from ackclock.study.executors import Local
from ackclock.study.results import table

OUT = Path("out/tutorials")
OUT.mkdir(parents=True, exist_ok=True)

# %% [markdown]
# A study is a scenario with axes. Its finished runs are kept in a folder: a second run of this cell simulates nothing.

# %%
study = Study.load("papers/sarbe-ecn/studies/goodput.toml", ['sweep.seed="1..3"'])
print(f"{study.title}: {study.points} points, {len(study.seeds)} seeds")
with Store.create(OUT / "sarbe") as store:
    summary = sweep(study, store, Local())
    frame = table(store)
print(summary)

# %% [markdown]
# The table has one row for each run. Draw means with 95 % intervals over the seeds, with the axes of the paper.

# %%
figure = Figure(figsize=(7, 4.2), layout="constrained")
axes = figure.subplots()
tidy(axes)
for number, control in enumerate(("sarbe", "westwood", "newreno", "reno")):
    at, means, halves = [], [], []
    for (loss,), rows in frame.filter(frame["control"] == control).group_by(["loss"], maintain_order=True):
        e = stats.mean((rows["fwd.goodput_bps"] / 1e6).to_list())
        at.append(float(loss))
        means.append(e.value)
        halves.append(e.half_width or 0.0)
    axes.errorbar(at, means, halves, label=control, color=COLOURS[number], marker=MARKERS[number], capsize=2)
axes.set_xscale("log")
axes.set_xlabel("loss rate of the wireless link")
axes.set_ylabel("goodput (Mb/s), mean and 95 % interval, 3 seeds")
axes.legend(frameon=False)
figure.savefig(OUT / "sarbe_fig5.png", dpi=120)
print("written:", OUT / "sarbe_fig5.png")

# %% [markdown]
# papers/sarbe-ecn/claims.toml has the paper's claims about this figure; `ackclock paper sarbe-ecn --out out` gives the
# verdicts.

# %%
pairs = frame.filter((frame["loss"] == "0.01") & frame["control"].is_in(["sarbe", "reno"])).sort("seed")
goodput = {c: pairs.filter(pairs["control"] == c)["fwd.goodput_bps"].to_list() for c in ("sarbe", "reno")}
ratio = stats.ratio(goodput["sarbe"], goodput["reno"])
print(
    f"at 1 % loss SARBE has {ratio.value:.2f} [{ratio.low:.2f}, {ratio.high:.2f}] times Reno's goodput (claimed: 1.711)"
)
