"""Labels beside what they name: at the ends of curves, and at points. Labels do not overlap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ackclock.base.text import drawn
from ackclock.draw.style import pt, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = 8.5
"""Font size, points."""
SPACING = 1.25
"""Least distance of two labels, in font sizes."""
ROOM = 0.95
"""The part of a cell that a number may take."""
RIGHT, EARLY = 1.025, 0.88
"""Position of labels to the right of a panel, and the end up to which a curve ends early, in widths of the panel."""


@dataclass(frozen=True, slots=True)
class End:
    """The last point of a curve, in data coordinates, with the curve's name and colour."""

    x: float
    y: float
    text: str
    colour: str


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions at least `gap` apart, between `low` and `high`, with the least squared distance from `wanted`.

    The order is kept. If there is not room for all of them, the gap is reduced.
    """
    n = len(wanted)
    if n == 0:
        return []
    if n > 1:
        gap = min(gap, (high - low) / (n - 1))
    order = sorted(range(n), key=lambda i: wanted[i])
    # With z_i = y_i - i gap the constraint is that z does not decrease: isotonic regression by pooling neighbours.
    pools: list[tuple[float, int]] = []
    for rank, i in enumerate(order):
        mean, count = wanted[i] - rank * gap, 1
        while pools and pools[-1][0] > mean:
            before, members = pools.pop()
            mean, count = (before * members + mean * count) / (members + count), members + count
        pools.append((mean, count))
    flat = [mean for mean, count in pools for _ in range(count)]
    # Bounds on z keep the order, so clipping keeps the gaps.
    top = high - (n - 1) * gap
    placed = [min(max(z, low), top) + rank * gap for rank, z in enumerate(flat)]
    positions = [0.0] * n
    for rank, i in enumerate(order):
        positions[i] = placed[rank]
    return positions


def label_ends(figure: Figure, ends: Mapping[Axes, Sequence[End]]) -> None:
    """Write the names of curves to the right of their panels, each near its curve's end. To be called last.

    A thin line joins a label with its curve. A curve that ends early has its name inside the panel, at its end.
    """
    texts = {axes: [_end_text(axes, end) for end in axes_ends] for axes, axes_ends in ends.items()}
    if not any(texts.values()):
        return
    figure.draw_without_rendering()  # the layout, with room for the labels
    for axes, labels in texts.items():
        gap = SPACING * pt(SIZE) / (axes.get_window_extent().height * 72 / figure.dpi)
        to_fraction = axes.transData + axes.transAxes.inverted()
        places = [to_fraction.transform((end.x, end.y)) for end in ends[axes]]
        early = [bool(x < EARLY) for x, _ in places]
        for inside in (False, True):
            axes_ends = [i for i, is_early in enumerate(early) if is_early == inside]
            heights = [float(places[i][1]) for i in axes_ends]
            natural = [min(max(y, 0.0), 1.0) if np.isfinite(y) else 0.0 for y in heights]
            for i, y in zip(axes_ends, spread(natural, gap, 0.0, 1.0), strict=True):
                labels[i].set_position((float(places[i][0]) + 0.012 if inside else RIGHT, y))


def _end_text(axes: Axes, end: End) -> Any:
    from matplotlib.patheffects import withStroke

    text = short(drawn(end.text))
    # A text with an outline is drawn some 3 % wider than the layout knows: spaces at its end keep room for that.
    return axes.annotate(
        text + "\u00a0" * (len(text) // 8),
        xy=(end.x, end.y),
        xytext=(RIGHT, 0.5),
        textcoords="axes fraction",
        fontsize=pt(SIZE),
        color=end.colour,
        va="center",
        annotation_clip=False,
        path_effects=[withStroke(linewidth=2.5, foreground="white")],
        arrowprops={"arrowstyle": "-", "color": end.colour, "linewidth": 0.6, "alpha": 0.7, "shrinkB": 1},
    )


def fit_cells(figure: Figure, cells: Mapping[Axes, Sequence[Any]]) -> str:
    """Shorten the numbers in the cells of heat maps to their first lines, or remove them, if they do not fit.

    To be called last. Returns a sentence on what is not shown; empty if everything is.
    """
    if not any(cells.values()) or _cells_fit(figure, cells):
        return ""
    texts = [text for texts in cells.values() for text in texts]
    intervals = any("\n" in text.get_text() for text in texts)
    for text in texts:
        text.set_text(text.get_text().partition("\n")[0])
    if intervals and _cells_fit(figure, cells):
        return "The intervals do not fit in the cells; ackclock results prints them."
    for text in texts:
        text.remove()
    return "The numbers do not fit in the cells; ackclock results prints them."


def _cells_fit(figure: Figure, cells: Mapping[Axes, Sequence[Any]]) -> bool:
    figure.draw_without_rendering()
    for axes, texts in cells.items():
        width, height = np.abs(axes.transData.transform((1, 1)) - axes.transData.transform((0, 0)))
        boxes = [text.get_window_extent() for text in texts]
        if any(box.width > ROOM * width or box.height > ROOM * height for box in boxes):
            return False
    return True


def label_points(figure: Figure, points: Mapping[Axes, Sequence[End]]) -> None:
    """Write names beside points, where they hide no other name and no point of their panel. To be called last."""
    if not any(points.values()):
        return
    figure.draw_without_rendering()
    for axes, axes_points in points.items():
        _label_panel(axes, axes_points, figure.dpi / 72)


def _label_panel(axes: Axes, points: Sequence[End], scale: float) -> None:
    from matplotlib.patheffects import withStroke

    frame = axes.get_window_extent()
    dots = [axes.transData.transform((p.x, p.y)) for p in points]
    taken: list[Box] = []
    for p, dot in sorted(zip(points, dots, strict=True), key=lambda pair: -pair[1][1]):
        text = short(drawn(p.text))
        width, height = 0.6 * pt(SIZE) * len(text) * scale, 1.15 * pt(SIZE) * scale
        best = None
        for distance in (8, 14, 24, 38, 55):
            for angle in (20, -20, 160, -160, 70, -70, 110, -110):
                reach, side = distance * scale, np.sign(np.cos(np.radians(angle)))
                cx = dot[0] + reach * np.cos(np.radians(angle)) + (width / 2) * side
                cy = dot[1] + reach * np.sin(np.radians(angle))
                box = (cx - width / 2, cy - height / 2, cx + width / 2, cy + height / 2)
                cost = _cost(box, taken, dots, (frame.x0, frame.y0, frame.x1, frame.y1), scale) + 0.02 * distance
                if best is None or cost < best[0]:
                    best = (cost, cx, cy, box, distance)
        assert best is not None
        _, cx, cy, box, distance = best
        taken.append(box)
        line = {"arrowstyle": "-", "color": p.colour, "linewidth": 0.6, "alpha": 0.8} if distance > 8 else None
        axes.annotate(
            text,
            xy=(p.x, p.y),
            xytext=((cx - dot[0]) / scale, (cy - dot[1]) / scale),
            textcoords="offset points",
            fontsize=pt(SIZE),
            color=p.colour,
            ha="center",
            va="center",
            arrowprops=line,
            zorder=7,
            path_effects=[withStroke(linewidth=2, foreground="white")],
        )


Box = tuple[float, float, float, float]


def _cost(box: Box, taken: Sequence[Box], dots: Sequence[Any], frame: Box, scale: float) -> float:
    """How much a label at `box` would cover: 1 for each label and point, 1 if it leaves the panel."""
    x0, y0, x1, y1 = box
    cost = 0.0
    for a0, b0, a1, b1 in taken:
        cost += float(x0 < a1 and a0 < x1 and y0 < b1 and b0 < y1)
    spare = 3 * scale
    cost += sum(float(x0 - spare < x < x1 + spare and y0 - spare < y < y1 + spare) for x, y in dots)
    return cost + float(x0 < frame[0] or x1 > frame[2] or y0 < frame[1] or y1 > frame[3])
