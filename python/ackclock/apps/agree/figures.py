"""Figures of `ackclock agree`: ratios with intervals, windows aligned at the first cut, distributions of windows.

They draw the document that `ackclock.apps.agree.document` describes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ackclock.base.text import drawn
from ackclock.draw.style import BAND, INK, SOFT, curve, key, panels, pt, tidy, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Handles = list[Any]

MARKERS = "osD^v"
MOST_RATIO = 3.0
"""Ratios beyond this factor are drawn at the edge, with their value."""
LEAST_RATIO = 1.16
TICKS = ((1.25, (0.9, 1, 1.1)), (1.6, (0.7, 0.8, 1, 1.2, 1.4)), (MOST_RATIO, (0.5, 0.7, 1, 1.4, 2)))
"""Largest ratio of an axis, and its ticks."""
EPOCHS = 8
"""Epochs between cuts that a figure of windows shows at least; all of them if a run has fewer."""
LABELS = {
    "cwnd": "mean window",
    "queueing": "queueing delay, mean",
    "p95_queueing": "queueing delay, 95 %",
    "cuts": "cuts per minute",
    "epoch": "time between cuts",
    "loss": "loss rate",
    "retransmissions": "retransmission rate",
    "cwnd_distance": "window distribution",
    "headers": "share of headers",
    "smallest_cwnd": "smallest window",
}
"""Names of metrics in figures and tables."""


def forest(document: Mapping[str, Any]) -> Figure:
    """Ratios to the reference with 90 % intervals, a panel for each controller and a row for each metric."""
    controllers = [c for c in document["controllers"] if any(k["rows"] for k in c["comparisons"])]
    metrics = _metrics(controllers)
    columns = max(1, min(3, len(controllers)))
    deep = max(1, -(-len(controllers) // columns))
    figure, axes = panels(columns, deep, 0.8 + _row(document) * len(metrics), share=False)
    for spare in axes[len(controllers) :]:
        spare.set_visible(False)
    limit = _limit(controllers)
    for i, (panel, controller) in enumerate(zip(axes, controllers, strict=False)):
        draw_forest(panel, document, controller, metrics, limit, names=i % columns == 0)
        panel.set_title(drawn(controller["control"]), fontsize=pt(10), loc="left")
        panel.set_xlabel(wrapped(f"ratio to {document['reference']}", columns), fontsize=pt(9))
    key(figure, *_verdict_key(document), "")
    return figure


def windows(document: Mapping[str, Any]) -> Figure:
    """The windows of the first run on each substrate, aligned at the first cut, a panel for each controller."""
    shown = [c for c in document["controllers"] if _with(c, "curve")]
    figure, axes = panels(1, max(1, len(shown)), 2.3, share=False)
    for panel, controller in zip(axes, shown, strict=False):
        draw_windows(panel, document, controller)
        panel.set_title(drawn(controller["control"]), fontsize=pt(10), loc="left")
    key(figure, *_line_key(document), "")
    return figure


def distributions(document: Mapping[str, Any]) -> Figure:
    """The empirical distributions of the window, a panel for each controller."""
    shown = [c for c in document["controllers"] if _with(c, "distribution")]
    columns = max(1, min(3, len(shown)))
    deep = max(1, -(-len(shown) // columns))
    figure, axes = panels(columns, deep, 2.7, share=False)
    for spare in axes[len(shown) :]:
        spare.set_visible(False)
    for i, (panel, controller) in enumerate(zip(axes, shown, strict=False)):
        draw_distribution(panel, document, controller)
        panel.set_title(drawn(controller["control"]), fontsize=pt(10), loc="left")
        if i % columns:
            panel.set_ylabel("")
    key(figure, *_line_key(document), "")
    return figure


def overview(document: Mapping[str, Any]) -> Figure:
    """One figure for a report: of each controller the windows, their distribution, and the ratios."""
    from matplotlib.figure import Figure as NewFigure

    controllers = [c for c in document["controllers"] if _with(c, "curve")]
    metrics = _metrics(controllers)
    height = max(3.1, 0.9 + 0.8 * _row(document) * len(metrics))
    figure = NewFigure(figsize=(13.5, 0.8 + height * max(1, len(controllers))), layout="constrained")
    axes = figure.subplots(max(1, len(controllers)), 3, squeeze=False, width_ratios=[2.1, 1, 1.25])
    limit = _limit(controllers)
    for row, controller in zip(axes, controllers, strict=False):
        for panel in row:
            tidy(panel)
        draw_windows(row[0], document, controller)
        draw_distribution(row[1], document, controller)
        draw_forest(row[2], document, controller, metrics, limit, names=True)
        row[0].set_title(drawn(f"{controller['control']}: congestion window"), fontsize=pt(10), loc="left")
        row[1].set_title("distribution over all runs", fontsize=pt(10), loc="left")
        row[2].set_title(f"ratio to {document['reference']}, 90 % intervals", fontsize=pt(10), loc="left")
    names = (
        " and ".join(c["control"] for c in controllers) if len(controllers) < 4 else f"{len(controllers)} controllers"
    )
    handles, labels = (a + b[-3:] for a, b in zip(_line_key(document), _verdict_key(document), strict=True))
    key(figure, handles, labels, drawn(f"{names} on {len(document['substrates'])} substrates: {document['title']}"))
    return figure


def draw_forest(
    axes: Axes,
    document: Mapping[str, Any],
    controller: Mapping[str, Any],
    metrics: Sequence[str],
    limit: float,
    *,
    names: bool,
) -> None:
    """Draw the rows of a controller: ratios with 90 % intervals, and the region of agreement of each row."""
    order = [s["name"] for s in document["substrates"]]
    count = max(1, len(controller["comparisons"]))
    for j, comparison in enumerate(controller["comparisons"]):
        number = order.index(comparison["substrate"])
        rows = {row["metric"]: row for row in comparison["rows"]}
        for i, metric in enumerate(metrics):
            y = i + 0.62 * ((j + 0.5) / count - 0.5)
            _draw_row(axes, rows.get(metric), y, 0.62 / count, number, limit)
    axes.axvline(1, color=INK, linewidth=0.8, zorder=1)
    axes.set_xscale("log")
    axes.set_xlim(1 / limit, limit)
    ticks = next(ticks for most, ticks in TICKS if limit <= most)
    axes.set_xticks(ticks, [f"{x:g}" for x in ticks], fontsize=pt(8))
    axes.minorticks_off()
    axes.set_yticks(
        range(len(metrics)), [label(metric) for metric in metrics] if names else [""] * len(metrics), fontsize=pt(8.5)
    )
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(metrics) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")


def _draw_row(axes: Axes, row: Mapping[str, Any] | None, y: float, height: float, number: int, limit: float) -> None:
    style = curve(number)
    colour = style["color"]
    if row is None:
        return
    if row["test"] != "ratio" or row["value"] is None:
        axes.annotate(
            words_of(row),
            (0.5, y),
            xycoords=("axes fraction", "data"),
            ha="center",
            va="center",
            fontsize=pt(7.5),
            color=colour,
        )
        return
    half = 0.46 * height
    axes.fill_between([row["low"], row["high"]], y - half, y + half, color=BAND, alpha=0.38, linewidth=0, zorder=0)
    low, high = row["low90"] or row["value"], row["high90"] or row["value"]
    inside = 1 / limit < row["value"] < limit
    at = min(max(row["value"], 1.02 / limit), limit / 1.02)
    axes.plot(
        [max(low, 1 / limit), min(high, limit)], [y, y], color=colour, linewidth=1.6, solid_capstyle="butt", zorder=3
    )
    marker = MARKERS[(number - 1) % len(MARKERS)] if inside else ">" if row["value"] > 1 else "<"
    face = "white" if row["verdict"] == "undecided" else colour
    size = 5.2 if row["verdict"] != "differs" else 7.5
    edge = INK if row["verdict"] == "differs" else colour
    axes.plot([at], [y], marker, color=colour, markerfacecolor=face, markeredgecolor=edge, markersize=size, zorder=4)
    if not inside:
        side = "right" if row["value"] > 1 else "left"
        shift = -8 if side == "right" else 8
        axes.annotate(
            f"{row['value']:.2g}",
            (at, y),
            (shift, 0),
            textcoords="offset points",
            ha=side,
            va="center",
            fontsize=pt(7.5),
            color=colour,
        )


def draw_windows(axes: Axes, document: Mapping[str, Any], controller: Mapping[str, Any]) -> None:
    """Draw the window of one run on each substrate, with time 0 at its first cut."""
    curves = _with(controller, "curve")
    spans = [c["cuts_s"][EPOCHS] - c["cuts_s"][0] for c in curves.values() if len(c["cuts_s"]) > EPOCHS]
    longest = max(spans) if len(spans) == len(curves) else math.inf
    aligned = any(c["cuts_s"] for c in curves.values())
    before, after = 0.0, 0.0
    for number, one in enumerate(document["substrates"]):
        curve_of = curves.get(one["name"])
        if curve_of is None:
            continue
        times = curve_of["start_s"] + curve_of["step_s"] * np.arange(len(curve_of["cwnd"]))
        zero = curve_of["cuts_s"][0] if curve_of["cuts_s"] else curve_of["start_s"] if not aligned else None
        if zero is None:  # no cut, while others have some: aligned at the start of the others' first
            zero = next(c["cuts_s"][0] for c in curves.values() if c["cuts_s"])
        x = times - zero
        before, after = min(before, float(x[0])), max(after, float(x[-1]))
        width = 2.2 if number == 0 else 1.3
        axes.plot(x, curve_of["cwnd"], drawstyle="steps-post", linewidth=width, alpha=0.9, **curve(number))
    after = min(after, longest)
    axes.set_xlim(max(before, -0.25 * after), after)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("time since the first cut (s)" if aligned else "time since the flow's start (s)", fontsize=pt(9))
    axes.set_ylabel("window (segments)", fontsize=pt(9))


def draw_distribution(axes: Axes, document: Mapping[str, Any], controller: Mapping[str, Any]) -> None:
    """Draw the distribution functions of the window, and the range over the runs of the reference as a band."""
    by_substrate = _with(controller, "distribution")
    for number, one in enumerate(document["substrates"]):
        distribution = by_substrate.get(one["name"])
        if distribution is None:
            continue
        parts = np.linspace(0, 1, len(distribution["quantiles"]))
        if number == 0:
            axes.fill_betweenx(
                parts, distribution["low"], distribution["high"], color=BAND, alpha=0.5, linewidth=0, zorder=0
            )
        axes.plot(distribution["quantiles"], parts, linewidth=2.2 if number == 0 else 1.3, **curve(number))
    axes.set_ylim(0, 1)
    if by_substrate:  # the overshoot of slow start would take most of the panel
        axes.set_xlim(0, 1.25 * max(distribution["quantiles"][-4] for distribution in by_substrate.values()))
    axes.set_xlabel("window (segments)", fontsize=pt(9))
    axes.set_ylabel("part of the time below", fontsize=pt(9))


def label(metric: str) -> str:
    """The name of a metric in figures and tables."""
    return LABELS.get(metric, metric)


def words_of(row: Mapping[str, Any]) -> str:
    """The result of a row that has no ratio, in words."""
    if row["test"] == "both 0":
        return "both 0"
    if row["value"] is None:
        return "no value"
    if row["verdict"] == "not compared":
        return f"distance {row['value']:.2g}, {row['reason']}"
    if row["test"] == "distance":
        return f"distance {row['value']:.2g}, bound {row['high']:.2g}: {row['verdict']}"
    return f"difference {row['value']:+.2g}, bound {row['high']:.2g}: {row['verdict']}"


def _row(document: Mapping[str, Any]) -> float:
    """Height of a row of ratios, inches: more for several substrates."""
    return 0.26 + 0.14 * max(1, len(document["substrates"]) - 1)


def _metrics(controllers: Sequence[Mapping[str, Any]]) -> list[str]:
    """The metrics that some row has, in the order of the rows."""
    rows = [row["metric"] for c in controllers for comparison in c["comparisons"] for row in comparison["rows"]]
    names = list(dict.fromkeys(rows))
    return [name for name in names if name != "cwnd_distance"] + [name for name in names if name == "cwnd_distance"]


def _limit(controllers: Sequence[Mapping[str, Any]]) -> float:
    """The largest ratio of the axis, or the inverse of the smallest one."""
    ends = [
        end
        for c in controllers
        for comparison in c["comparisons"]
        for row in comparison["rows"]
        if row["test"] == "ratio"
        for end in (row["low90"], row["high90"], row["value"], row["low"], row["high"])
        if end
    ]
    widest = max((max(end, 1 / end) for end in ends), default=1.0)
    return min(max(LEAST_RATIO, 1.05 * widest), MOST_RATIO)


def _with(controller: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The substrates of a controller that have a curve or a distribution."""
    return {s: substrate[name] for s, substrate in controller["substrates"].items() if substrate[name] is not None}


def _line_key(document: Mapping[str, Any]) -> tuple[Handles, list[str]]:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], linewidth=2.2 if i == 0 else 1.3, **curve(i)) for i in range(len(document["substrates"]))]
    return handles, [
        drawn(f"{s['name']}: {s['title']}") if len(document["substrates"]) < 3 else s["name"]
        for s in document["substrates"]
    ]


def _verdict_key(document: Mapping[str, Any]) -> tuple[Handles, list[str]]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: Handles = []
    labels = []
    for number, one in enumerate(document["substrates"][1:], 1):
        marker = MARKERS[(number - 1) % len(MARKERS)]
        handles.append(Line2D([], [], marker=marker, color=curve(number)["color"], linewidth=1.6))
        labels.append(one["name"])
    handles.append(Line2D([], [], marker="o", color=SOFT, markerfacecolor="white", linewidth=0))
    handles.append(Line2D([], [], marker="o", color=SOFT, markeredgecolor=INK, markersize=7.5, linewidth=0))
    handles.append(Patch(color=BAND, alpha=0.38))
    return handles, [*labels, "undecided", "differs", "region of agreement"]
