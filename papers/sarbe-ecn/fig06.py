"""Figure 6: fairness of ten flows of one kind."""

from matplotlib.figure import Figure

from ackclock import draw as common
from ackclock import stats


def draw(results) -> Figure:
    """Bars for each controller at each loss rate."""
    jains = results.paper.code("measures").jains
    axes_of = results.study("fairness").axes
    figure, axes = common.panels(1, height=3.6)
    for i, control in enumerate(axes_of["control"]):
        found = [stats.mean(jains(results, control, loss)) for loss in axes_of["loss"]]
        places = [x + 0.13 * (i - 2.5) for x in range(len(found))]
        halves = [e.half_width or 0 for e in found]
        axes[0].errorbar(
            places,
            [e.value for e in found],
            halves,
            fmt=common.MARKERS[i],
            color=common.COLOURS[i],
            capsize=2,
            label=control,
        )
    axes[0].set_xticks(range(len(axes_of["loss"])), [f"{100 * float(loss):g} %" for loss in axes_of["loss"]])
    axes[0].set_xlabel("packet loss rate of the wireless link")
    axes[0].set_ylabel("Jain's index (1 is equal)")
    axes[0].set_ylim(0.8, 1.01)
    common.legend(figure, axes)
    return figure
