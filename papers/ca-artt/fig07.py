"""Figure 7: throughput against the packet error rate."""

from matplotlib.figure import Figure


def draw(results) -> Figure:
    """Vegas and CA-ARTT, a line for each K."""
    figure, axes = results.paper.code("measures").by_control(results, "per", "per", {})
    for axis in axes:
        axis.set_xscale("symlog", linthresh=1e-5, linscale=0.5)
        axis.set_xticks([0, 1e-5, 1e-4, 1e-3, 1e-2], ["0", "1e-5", "1e-4", "1e-3", "1e-2"])
        axis.set_xlabel("packet error rate")
    return figure
