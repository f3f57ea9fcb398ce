"""Figure 5: goodput against the loss rate."""

from matplotlib.figure import Figure

from ackclock.papers import draw as common


def draw(results) -> Figure:
    """A line for each controller."""
    figure, axes = common.panels(1, height=4)
    for i, control in enumerate(results.study("goodput").axes["control"]):
        rows = results.select("goodput", {"control": control})
        common.line(axes[0], rows, "loss", "goodput_bps", factor=1e-6, number=i, label=control)
    axes[0].set_xscale("log")
    axes[0].set_xlabel("packet loss rate of the wireless link")
    axes[0].set_ylabel("goodput (Mb/s)")
    axes[0].set_ylim(bottom=0)
    common.legend(figure, axes)
    return figure
