"""Figures 9 to 13, 15, 16 and 20: a printed metric beside ours."""

from matplotlib.figure import Figure

from ackclock import draw as common

TO_MEGABYTES = 1e-6


def label(column: str, unit: str) -> str:
    """The label of an axis; bytes are drawn as megabytes."""
    if unit == "bytes":
        return f"data {column.removeprefix('bytes ')} (MB)"
    return f"{column} ({unit})" if unit else column


def draw(results, columns: str) -> Figure:
    """Bars: printed. Points: means with 95 % intervals for each pair of terminals; dots: single runs."""
    measures = results.paper.code("measures")
    printed = {(r["row"], r["column"]): (float(r["value"]), r["unit"].strip("()")) for r in results.paper.published}
    cells = {(cell.row, cell.column, cell.reading): cell for cell in measures.metrics(results)}
    names = columns.split(";")
    figure, axes = common.panels(len(names), height=3.6, share=False)
    for axis, column in zip(axes, names, strict=True):
        for i, name in enumerate(measures.KINDS.values()):
            value, unit = printed[name, column]
            factor = TO_MEGABYTES if unit == "bytes" else 1.0
            axis.bar(i, factor * value, 0.8, color="#dcdcdc", label="printed (one run)" if i == 0 else None)
            for j, place in enumerate(measures.PLACES):
                cell = cells[name, column, place]
                e, values = cell.estimate().scaled(factor), [factor * x for x in cell.values]
                at = i + 0.17 * (j - 1.5)
                if j == 0:
                    single = {"color": common.COLOURS[0], "markersize": 2.5, "alpha": 0.35}
                    axis.plot([at] * len(values), values, "o", **single, label="single runs" if i == 0 else None)
                style = {"color": common.COLOURS[j], "markersize": 5, "capsize": 2, "fmt": common.MARKERS[j]}
                axis.errorbar(at, e.value, e.half_width or 0, **style, label=place if i == 0 else None)
        axis.set_xticks(range(3), measures.KINDS.values())
        axis.set_ylabel(label(column, unit))
        if column == "packet delivery ratio":
            axis.set_ylim(97, 100)
    common.legend(figure, axes[:1])
    return figure
