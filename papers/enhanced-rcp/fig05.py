"""Graph 5: link utilisation by time."""

from matplotlib.figure import Figure

from ackclock import draw as common


def draw(results) -> Figure:
    """One panel: what had arrived, and the published lines."""
    measures = results.paper.code("measures")
    figure, (axis,) = common.panels(1)
    cells = [(int(cell.row.split()[1]), cell.estimate()) for cell in measures.by_time_tcp(results)]
    axis.errorbar(
        [t for t, _ in cells],
        [e.value for _, e in cells],
        [e.half_width or 0 for _, e in cells],
        color="black",
        capsize=3,
        label="CBR, mean",
    )
    published = measures.printed(results, "T6")
    times = sorted({int(row.split()[1]) for row, _ in published})
    for i, who in enumerate(measures.COLUMNS):
        values = [published[f"t {t} s", who] for t in times]
        style = {"color": common.COLOURS[i], "marker": common.MARKERS[i], "markersize": 4, "linestyle": "--"}
        axis.plot(times, values, linewidth=1, label=f"{who}, published", **style)
    axis.set_xlabel("time (s)")
    axis.set_ylabel("link utilisation (%)")
    axis.set_ylim(bottom=0)
    common.legend(figure, [axis])
    return figure
