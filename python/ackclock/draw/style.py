"""The style of all figures: colours, dashes, markers, panels, legends.

Curves differ in colour and in a second channel (dashes or markers), so that no reader depends on colour alone.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ackclock.base.files import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#777777")
"""The palette of Okabe and Ito, which colour-blind readers can distinguish."""
MARKERS = "os^Dv<>*"
DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (6, 1.5, 1.2, 1.5)),
    (0, (2.5, 1)),
    (0, (8, 1.5, 1.2, 1.5, 1.2, 1.5)),
)
"""Line styles. Dotted lines are kept for references and thresholds."""
MOST_CURVES = 7
"""With more curves, a figure shows quantiles and a few chosen curves."""
INK, SOFT, BAND = "#1c2430", "#5b6675", "#b8c0ca"
"""Colours of text, of secondary text and lines, and of bands that belong to no curve."""
WIDTH = 9.2
"""Width of a figure, inches."""
NARROW = 5.0
"""A narrower figure, inches, has one column of panels, and its legend below them."""
NAMED_WIDTHS = {"column": 3.5, "page": 7.16}
"""The widths of a column and of a page in the journals of the IEEE, inches."""
LONGEST = 26
"""Letters of a label; longer labels are shortened."""
POINTS = 9.0
"""Size of the labels of a figure of the usual width, points; other texts are larger or smaller in proportion."""


@dataclass(frozen=True)
class Size:
    """How large a figure is: width and height in inches, the labels in points, and whether it has a title.

    Without a height, panels keep about their shape.
    """

    width: float = WIDTH
    height: float | None = None
    font_size: float = POINTS
    title: bool = True


def chosen_size(
    width: float | str | None, height: float | None, font_size: float | None, *, title: bool = True
) -> Size | None:
    """A size from what was chosen; None: nothing was.

    `width` is a number of inches, "column" (3.5 inches) or "page" (7.16 inches), `height` a number of inches. Figures
    narrower than usual have labels of 8 points, unless `font_size` is chosen. Raises BadInput.
    """
    if width is None and height is None and font_size is None and title:
        return None
    inches = NAMED_WIDTHS.get(width) if isinstance(width, str) else WIDTH if width is None else width
    if inches is None:
        raise BadInput(f"width {width}: must be a number of inches, such as 3.5in, or {' or '.join(NAMED_WIDTHS)}")
    points = font_size if font_size is not None else POINTS if inches >= WIDTH else 8.0
    _check_range("width", inches, 1.5, 60.0, "inches")
    _check_range("height", height, 1.0, 60.0, "inches")
    _check_range("font size", points, 4.0, 40.0, "points")
    return Size(inches, height, points, title)


def _check_range(name: str, value: float | None, least: float, most: float, unit: str) -> None:
    if value is not None and not least <= value <= most:
        raise BadInput(f"{name} {value:g}: must be from {least:g} to {most:g} {unit}")


_size: ContextVar[Size | None] = ContextVar("size", default=None)


def size() -> Size:
    """The size of the figures that are made now."""
    return _size.get() or Size()


def pt(points: float) -> float:
    """The size of a text that has `points` in a figure of the usual size."""
    return points * size().font_size / POINTS


@contextmanager
def sized(chosen: Size) -> Iterator[None]:
    """Make figures of a size."""
    import matplotlib as mpl

    token = _size.set(chosen)
    try:
        with mpl.rc_context({"font.size": pt(10)}):
            yield
    finally:
        _size.reset(token)


def fitted(make: Callable[[], Figure], chosen: Size | None) -> Figure:
    """A figure of a chosen size, whose tick labels do not overlap; without one, the usual size."""
    with sized(chosen) if chosen is not None else nullcontext():
        figure = make()
        settle(figure)
    return figure


def most_columns() -> int:
    """How many panels fit side by side."""
    return 1 if size().width < NARROW else 2 if size().width < WIDTH else 3


def settle(figure: Figure) -> None:
    """Let no label of a figure be cut or overlap another one.

    Names of vertical axes get as many lines as their panels need. Of tick labels that overlap, numbers are omitted and
    names are turned.
    """
    figure.draw_without_rendering()
    panels = [axes for axes in figure.axes if axes.get_visible()]
    changed = [_shorten(axes) for axes in panels]
    if any(changed):
        figure.draw_without_rendering()
    turned = [_separate(axes.xaxis, 0) for axes in panels]
    for axes in panels:
        _separate(axes.yaxis, 1)
    if any(turned):
        figure.draw_without_rendering()


def _shorten(axes: Axes) -> bool:
    """Write the name of the vertical axis in lines that are no longer than the axis. Returns whether it changed."""
    label = axes.yaxis.label
    text, room = label.get_text(), axes.get_window_extent().height
    length = label.get_window_extent().height
    if not text or length <= 1.1 * room:
        return False
    longest = max(map(len, text.split("\n")))
    label.set_text(textwrap.fill(text.replace("\n", " "), max(8, int(longest * room / length))))
    return True


def _separate(axis: Axis, side: int) -> bool:
    """Separate the tick labels of an axis along x (0) or y (1). Returns whether labels were turned.

    Names along y stay as they are.
    """
    shown = [label for label in axis.get_ticklabels(minor=False) if label.get_visible() and label.get_text()]
    small = [label for label in axis.get_ticklabels(minor=True) if label.get_visible() and label.get_text()]
    if small and overlapping([*shown, *small], side):
        for label in small:
            label.set_visible(False)
        small = []
    labels = sorted([*shown, *small], key=lambda label: float(label.get_window_extent().min[side]))
    numbers = all(_is_number(label.get_text()) for label in labels)
    while numbers and len(labels) > 2 and overlapping(labels, side):
        for label in labels[1::2]:
            label.set_visible(False)
        labels = labels[::2]
    if numbers or side == 1 or not overlapping(labels, side):
        return False
    for label in labels:
        label.set(rotation=40, ha="right", rotation_mode="anchor")
    return True


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[-\u2212+\d.,e]+|\$.*\$", text) is not None


def overlapping(labels: Sequence[Any], side: int) -> bool:
    """Whether two of these texts, in their order along an axis, overlap."""
    boxes = sorted((label.get_window_extent() for label in labels), key=lambda box: float(box.min[side]))
    return any(b.min[side] < a.max[side] + 1 for a, b in pairwise(boxes))


def curve(number: int) -> dict[str, Any]:
    """Colour and dashes of a curve by its number from 0, as keywords of `plot`."""
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": DASHES[number % len(DASHES)]}


def point(number: int) -> dict[str, Any]:
    """Colour and marker of a series of points by its number from 0, as keywords of `plot`."""
    # After a round of colours, the markers are shifted, so that the pairs differ.
    marker = MARKERS[(number + 3 * (number // len(COLOURS))) % len(MARKERS)]
    return {"color": COLOURS[number % len(COLOURS)], "marker": marker}


def short(text: str) -> str:
    """The text, with its middle omitted if it is too long for a label."""
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2
    return f"{text[:half]}…{text[1 - half :]}"


def panels(
    columns: int, rows: int = 1, height: float = 3.4, *, share: bool | str = True, width: float = WIDTH
) -> tuple[Figure, list[Axes]]:
    """A figure and its panels, row by row. With `share`, the panels have common axes; "x" shares only that axis.

    `height` is that of a row, `width` that of the figure, in inches, in the usual size.
    """
    from matplotlib.figure import Figure

    scale = size().width / WIDTH
    tall = size().height or height * rows * min(1.0, max(scale, 0.6))
    figure = Figure(figsize=(width * scale, tall), layout="constrained")
    share_x, share_y = (share is True or share == axis for axis in "xy")
    axes = list(figure.subplots(rows, columns, sharex=share_x, sharey=share_y, squeeze=False).flat)
    for one in axes:
        tidy(one)
    return figure, axes


def tidy(axes: Axes) -> None:
    """Light grid, no box."""
    axes.set_axisbelow(True)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(SOFT)
    axes.tick_params(labelsize=pt(9), color=SOFT)


def title(figure: Figure, text: str) -> None:
    """A title at the upper left. The text is drawn as it is."""
    if text and size().title:
        figure.suptitle(_in_lines(figure, text, 12), fontsize=pt(12), x=0.008, ha="left", color=INK)


def note(figure: Figure, text: str) -> None:
    """A note below the panels on what the figure shows."""
    if text:
        figure.supxlabel(_in_lines(figure, text, 8), fontsize=pt(8), x=0.008, ha="left", color=SOFT)


def _in_lines(figure: Figure, text: str, points: float) -> str:
    """A text in lines that are as wide as the figure."""
    return textwrap.fill(text, max(12, int(116 * figure.get_figwidth() / pt(points))))


def legend(figure: Figure, axes: Sequence[Axes], title: str = "") -> None:
    """One legend for all panels, to the right of them or, in a narrow figure, below them, with each label once."""
    entries: dict[str, Any] = {}
    for panel in axes:
        handles, labels = panel.get_legend_handles_labels()
        entries = dict(zip(labels, handles, strict=True)) | entries
    figure.legend(
        list(entries.values()),
        list(entries),
        loc="outside lower center" if size().width < NARROW else "outside right center",
        ncols=2 if size().width < NARROW else 1,
        title=title or None,
        fontsize=pt(8),
        frameon=False,
        handlelength=2.8,
    )


def key(figure: Figure, handles: Sequence[Any], labels: Sequence[str], heading: str, columns: int = 6) -> None:
    """A title and, below it, rows of labels, above all panels. The texts are drawn as they are."""
    box = figure.legend(
        list(handles),
        list(labels),
        loc="outside upper left",
        ncols=max(1, min(len(labels), round(columns * min(1.0, size().width / WIDTH)))),
        fontsize=pt(9),
        frameon=False,
        handlelength=2.8,
        borderaxespad=0.3,
        title=_in_lines(figure, heading, 12) if heading and size().title else None,
        title_fontsize=pt(12),
        alignment="left",
    )
    box.get_title().set_color(INK)


def ratio_axis(panel: Axes, ends: Sequence[float]) -> None:
    """Make the horizontal axis one of ratios: logarithmic, with 1 and these values."""
    panel.set_xscale("log")
    low, high = min([*ends, 0.8]) / 1.15, max([*ends, 1.25]) * 1.15
    panel.set_xlim(low, high)
    steps = (1, 2, 5) if high / low < 200 else (1,)
    ticks = [s * 10.0**k for k in range(-6, 7) for s in steps]
    if high / low < 8:
        ticks = [0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.25, 1.5, 2, 2.5, 3, 4, 5]
    if high / low < 3:
        ticks = [0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2]
    ticks = [x for x in ticks if low <= x <= high]
    panel.set_xticks(ticks, [f"{x:g}" for x in ticks])
    panel.minorticks_off()


def wrapped(text: str, columns: int) -> str:
    """A label in lines that fit a panel, if there are so many panels side by side."""
    return textwrap.fill(text, max(12, int(78 * min(1.0, size().width / WIDTH) / pt(1)) // columns))
