"""Figure 7: throughput against the packet error rate."""

from matplotlib.figure import Figure


def draw(results) -> Figure:
    """Vegas, CA-ARTT and their ratio, a line for each K."""
    figure, axes = results.paper.code("measures").by_control(results, "per", "per", {}, (1.45, 2.65))
    for axis in axes:
        axis.set_xscale("symlog", linthresh=1e-5, linscale=0.5)
        axis.set_xticks([0, 1e-4, 1e-2], ["0", "1e-4", "1e-2"])
        axis.set_xlim(-4e-6, 2e-2)
        axis.set_xlabel("packet error rate")
    return figure
