"""Figure 6: TCP beside UDP."""

from matplotlib.figure import Figure

from ackclock import stats
from ackclock.papers import draw as common


def draw(results) -> Figure:
    """Bars for each kind, crosses for what is printed."""
    figure, axes = common.panels(2)
    names = {"throughput Westwood(NR)": "WestwoodNR", "throughput Reno": "Reno", "throughput Westwood": "Westwood"}
    printed = {
        (r["row"], names[r["column"]]): float(r["value"]) for r in results.paper.published if r["table"] == "text"
    }
    for axis, error in zip(axes, ("UDP, no error", "UDP, 0.1 error"), strict=True):
        kinds = results.study("udp").axes["control"]
        for i, kind in enumerate(kinds):
            e = stats.mean(results.means("udp", "f.throughput_bps", {"error": error, "control": kind}))
            half = (e.half_width or 0) / 1e6
            axis.bar(i, e.value / 1e6, 0.6, yerr=half, color=common.COLOURS[i], capsize=3)
            if (error, kind) in printed:
                axis.plot(i, printed[error, kind], "x", color="black", markersize=9)
        axis.set_title(error.removeprefix("UDP, "))
        axis.set_xticks(range(len(kinds)), kinds)
    axes[0].set_ylabel("throughput (Mb/s)")
    return figure
