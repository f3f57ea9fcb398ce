"""Figure 5: goodput against the loss rate."""

from matplotlib.figure import Figure

from ackclock import draw as common


def draw(results) -> Figure:
    """A line for each controller."""
    figure, axes = common.panels(1, height=4)
    for i, control in enumerate(results.study("goodput").axes["control"]):
        rows = results.select("goodput", {"control": control})
        common.line(axes[0], rows, "loss", "goodput_bps", factor=1e-6, number=i, label=control)
    printed = results.paper.printed("text")
    for i, (rival, column) in enumerate((("reno", "Reno"), ("westwood", "Westwood"))):
        gain = 1 + float(printed["", f"gain over {column} at 1% loss"][0]) / 100
        base = results.select("goodput", {"control": rival, "loss": "0.01"})["goodput_bps"].mean() / 1e6
        label = f"printed: {gain:.3f} times {column}"
        axes[0].plot(
            [0.01], [gain * base], "x+"[i], color="black", markersize=10, markeredgewidth=2, label=label, zorder=6
        )
    axes[0].set_xscale("log")
    axes[0].set_xlabel("packet loss rate of the wireless link")
    axes[0].set_ylabel("goodput (Mb/s)")
    axes[0].set_ylim(bottom=0)
    common.legend(figure, axes)
    return figure
