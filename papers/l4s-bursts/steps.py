"""Prague's share by the length of the bursts over the step, for four steps."""

from matplotlib.figure import Figure

from ackclock import draw as common
from ackclock import stats
from ackclock.apps.papers.results import Results


def draw(results: Results) -> Figure:
    """Points for each step: they lie on one curve."""
    shares = results.paper.code("measures").shares
    figure, axes = common.panels(1, height=3.8)
    study = results.study("steps").axes
    lengths = [bursts for bursts in study["bursts"] if bursts != "none"]
    for number, step in enumerate(study["step"]):
        points = [stats.mean(shares(results, "steps", {"step": step, "bursts": bursts})) for bursts in lengths]
        x = [float(bursts.split()[0]) / float(step.split()[0]) for bursts in lengths]
        y = [100 * e.value for e in points]
        halves = [100 * (e.half_width or 0) for e in points]
        style = {**common.curve(number), "marker": common.MARKERS[number]}
        axes[0].errorbar(x, y, halves, capsize=3, label=f"step of {step}", **style)
    law = [1 + 0.1 * k for k in range(71)]
    axes[0].plot(law, [100 / ratio for ratio in law], color="black", linewidth=1, linestyle=":", label="step / length")
    axes[0].set_xscale("log", base=2)
    ticks = [0.125, 0.25, 0.5, 1, 2, 4, 8]
    axes[0].set_xticks(ticks, ["1/8", "1/4", "1/2", "1", "2", "4", "8"])
    axes[0].set_xlabel("length of the bursts over the step")
    axes[0].set_ylabel("Prague's share of the goodput (%)")
    axes[0].set_ylim(0, 100)
    common.legend(figure, axes)
    return figure
