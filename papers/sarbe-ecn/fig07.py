"""Figure 7: friendliness to Reno and to Westwood."""

from matplotlib.figure import Figure

from ackclock import draw as common
from ackclock import stats


def draw(results) -> Figure:
    """Two panels; mean goodput of each kind against the number of peers, the fair share dotted."""
    measures = results.paper.code("measures")
    figure, axes = common.panels(2)
    for axis, peer in zip(axes, ("reno", "westwood"), strict=True):
        for i, sarbe in enumerate((True, False)):
            found = [stats.mean(measures.goodputs(results, peer, n, sarbe)) for n in range(1, 10)]
            halves = [e.half_width or 0 for e in found]
            label = "SARBE" if sarbe else "the other kind"
            axis.errorbar(
                range(1, 10),
                [e.value for e in found],
                halves,
                marker=common.MARKERS[i],
                color=common.COLOURS[i],
                markersize=4,
                linewidth=1.2,
                capsize=2,
                label=label,
            )
        fair = [stats.mean(measures.fair_shares(results, peer, n)).value for n in range(1, 10)]
        axis.plot(range(1, 10), fair, color="black", linewidth=0.8, linestyle=":", label="fair share")
        axis.set_title(f"among {peer} flows")
        axis.set_xlabel(f"number of {peer} flows of ten")
        axis.set_xticks(range(1, 10))
    axes[0].set_ylabel("goodput (Mb/s)")
    axes[0].set_ylim(bottom=0)
    common.legend(figure, axes)
    return figure
