"""Figures 9 to 13, 16 and 20: the nine metrics."""

from matplotlib.figure import Figure

from ackclock.papers import draw as common


def draw(results) -> Figure:
    """A panel for each metric: published bars, our points for each pair of terminals."""
    measures = results.paper.code("measures")
    printed = {(r["row"], r["column"]): (float(r["value"]), r["unit"].strip("()")) for r in results.paper.published}
    cells = {(cell.row, cell.column, cell.reading): cell.estimate() for cell in measures.metrics(results)}
    columns = list(dict.fromkeys(column for row, column in printed if row == "BIC"))
    figure = Figure(figsize=(9.2, 8.2), layout="constrained")
    for axis, column in zip(figure.subplots(3, 3).flat, columns, strict=True):
        for i, name in enumerate(measures.KINDS.values()):
            value, unit = printed[name, column]
            axis.bar(i, value, 0.8, color="#dcdcdc", label="published" if i == 0 else None)
            for j, place in enumerate(measures.PLACES):
                e = cells[name, column, place]
                axis.errorbar(
                    i + 0.16 * (j - 1.5),
                    e.value,
                    e.half_width or 0,
                    fmt=common.MARKERS[j],
                    color=common.COLOURS[j],
                    markersize=4,
                    capsize=2,
                    label=place if i == 0 else None,
                )
        common.tidy(axis)
        axis.set_xticks(range(3), measures.KINDS.values(), fontsize=8)
        axis.set_title(f"{column} ({unit})" if unit else column, fontsize=9)
        axis.tick_params(axis="y", labelsize=8)
        if column == "packet delivery ratio":
            axis.set_ylim(98, 100)
    common.legend(figure, [figure.axes[0]])
    return figure
