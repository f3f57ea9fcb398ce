"""The style of all figures: colours, dashes, markers, panels, legends.

Curves differ in colour and in a second channel (dashes or markers), so that no reader depends on colour alone.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
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
LONGEST = 26
"""Letters of a label; longer labels are shortened."""


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

    `height` is that of a row, `width` that of the figure, in inches.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height * rows), layout="constrained")
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
    axes.tick_params(labelsize=9, color=SOFT)


def title(figure: Figure, text: str) -> None:
    """A title at the upper left. The text is drawn as it is."""
    if text:
        figure.suptitle(text, fontsize=12, x=0.008, ha="left", color=INK)


def note(figure: Figure, text: str) -> None:
    """A note below the panels on what the figure shows."""
    if text:
        figure.supxlabel(
            textwrap.fill(text, int(14.5 * figure.get_figwidth())), fontsize=8, x=0.008, ha="left", color=SOFT
        )


def legend(figure: Figure, axes: Sequence[Axes], title: str = "") -> None:
    """One legend for all panels, to the right of them, with each label once."""
    entries: dict[str, Any] = {}
    for panel in axes:
        handles, labels = panel.get_legend_handles_labels()
        entries = dict(zip(labels, handles, strict=True)) | entries
    figure.legend(
        list(entries.values()),
        list(entries),
        loc="outside right center",
        title=title or None,
        fontsize=8,
        frameon=False,
        handlelength=2.8,
    )


def key(figure: Figure, handles: Sequence[Any], labels: Sequence[str], heading: str, columns: int = 6) -> None:
    """A title and, below it, rows of labels, above all panels. The texts are drawn as they are."""
    found = figure.legend(
        list(handles),
        list(labels),
        loc="outside upper left",
        ncols=max(1, min(len(labels), columns)),
        fontsize=9,
        frameon=False,
        handlelength=2.8,
        borderaxespad=0.3,
        title=heading or None,
        title_fontsize=12,
        alignment="left",
    )
    found.get_title().set_color(INK)


def wrapped(text: str, columns: int) -> str:
    """A label in lines that fit a panel, if there are so many panels side by side."""
    return textwrap.fill(text, 78 // columns)
