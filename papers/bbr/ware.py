"""The share of one BBR flow in the network of Ware et al., beside their model and beside Linux."""

from matplotlib.figure import Figure

from ackclock import draw as common
from ackclock import stats
from ackclock.apps.papers.results import Results

LINUX = "Linux 6.18, beside 1 CUBIC"


def draw(results: Results) -> Figure:
    """A series for each number of CUBIC flows, with 95 % intervals, the model, and the kernel's runs."""
    measures = results.paper.code("measures")
    shares, model, kernel = measures.ware_shares, measures.ware_model, measures.kernel_shares
    figure, axes = common.panels(1, height=4)
    depths = results.study("ware").axes["buffer"]
    x = [float(depth) for depth in depths]
    axes[0].plot(x, [model(depth) for depth in x], color="black", linewidth=1, label="model of Ware et al.")
    for number, others in enumerate(results.study("ware").axes["others"]):
        estimates = [stats.mean(shares(results, others, depth)) for depth in depths]
        y = [estimate.value for estimate in estimates]
        low = [estimate.value - estimate.low for estimate in estimates]
        high = [estimate.high - estimate.value for estimate in estimates]
        color = common.COLOURS[number]
        axes[0].errorbar(x, y, yerr=[low, high], marker="o^"[number], capsize=3, color=color, label=f"beside {others}")
    points = {float(depth): share for depth, share in kernel().items()}
    color = common.COLOURS[3]
    axes[0].plot(*zip(*points.items(), strict=True), "s", color=color, fillstyle="none", markersize=10, label=LINUX)
    axes[0].set_xscale("log", base=2)
    axes[0].set_xticks(x, depths)
    axes[0].set_xlabel("buffer (bandwidth-delay products)")
    axes[0].set_ylabel("BBR's share of the goodput")
    axes[0].set_ylim(0, 1)
    common.legend(figure, axes)
    return figure
