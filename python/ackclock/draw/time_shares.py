"""Where the time of a recorded transfer went: a bar, and the series of the recording below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ackclock.base.text import drawn
from ackclock.draw.style import COLOURS, INK, SOFT, note, panels, pt, title

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SMALLEST = 0.035
"""The smallest part of the bar that has its number in it."""
MOST_POINTS = 8000


def transfer(
    heading: str,
    sentence: str,
    parts: Mapping[str, float] | None,
    rows: pl.DataFrame,
    letters: Sequence[tuple[float, str]],
) -> Figure:
    """Draw a recorded transfer.

    `parts`: the part of the time of each limit; `letters`: retransmissions with their rules.
    """
    has_window = rows["cwnd"].null_count() < rows.height if "cwnd" in rows.columns else False
    count = 3 + int(parts is not None)
    figure, axes = panels(1, count, 1.75, share="none")
    panel = iter(axes)
    if parts is not None:
        _bar(next(panel), parts)
    series = list(panel)
    _flight(series[0], rows, has_window=has_window, letters=letters)
    _round_trips(series[1], rows)
    _rate(series[2], rows)
    end = float(rows["time_s"][-1]) if rows.height else 1.0
    for each in series:
        each.set_xlim(0, end)
    series[-1].set_xlabel("time (s)")
    figure.align_ylabels(series)
    title(figure, drawn(heading))
    note(figure, drawn(sentence))
    return figure


def _bar(axes: Axes, parts: Mapping[str, float]) -> None:
    left = 0.0
    for number, (name, part) in enumerate(parts.items()):
        if part <= 0:
            continue
        axes.barh(0, part, left=left, height=0.5, color=COLOURS[number % len(COLOURS)], alpha=0.85, label=name)
        if part >= SMALLEST:
            axes.text(left + part / 2, 0, f"{part:.0%}", ha="center", va="center", fontsize=pt(8.5), color="white")
        left += part
    axes.set_xlim(0, 1)
    axes.set_ylim(-0.4, 0.9)
    axes.set_yticks([])
    axes.set_xticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.grid(visible=False)
    axes.set_ylabel("share of\nthe time")
    axes.legend(loc="upper left", ncols=4, fontsize=pt(8), frameon=False, handlelength=1.0, columnspacing=1.2)


def _thin(rows: pl.DataFrame, column: str, factor: float = 1.0) -> tuple[Any, Any]:
    kept = rows.select("time_s", column).drop_nulls()
    step = max(1, kept.height // MOST_POINTS)
    kept = kept.gather_every(step)
    return kept["time_s"].to_numpy(), kept[column].to_numpy() * factor


def _flight(axes: Axes, rows: pl.DataFrame, *, has_window: bool, letters: Sequence[tuple[float, str]]) -> None:
    axes.set_ylabel("in flight\n(kB)")
    highest = 1.0
    if "outstanding" in rows.columns:
        time_s, flight = _thin(rows, "outstanding", 1e-3)
        axes.plot(time_s, flight, color=COLOURS[0], linewidth=0.8, label="in flight")
        highest = float(np.max(flight, initial=1.0))
    elif has_window:
        axes.set_ylabel("window\n(segments)")
        time_s, window = _thin(rows, "cwnd")
        axes.step(time_s, window, where="post", color=COLOURS[0], linewidth=0.9)
        highest = float(np.max(window, initial=1.0))
    if "window_bytes" in rows.columns and rows["window_bytes"].null_count() < rows.height:
        time_s, window = _thin(rows, "window_bytes", 1e-3)
        axes.step(time_s, window, where="post", color=SOFT, linewidth=0.9, linestyle=":", label="receiver permits")
    for at, letter in letters[:400]:
        axes.plot([at], [highest * 1.06], marker="v", color=COLOURS[1], markersize=3)
        if len(letters) <= 12:
            axes.annotate(letter, (at, highest * 1.06), (0, 3), textcoords="offset points", fontsize=pt(7), color=INK)
    axes.set_ylim(0, highest * 1.25)


def _round_trips(axes: Axes, rows: pl.DataFrame) -> None:
    axes.set_ylabel("round-trip\ntime (ms)")
    if "rtt_s" in rows.columns:
        time_s, rtt = _thin(rows, "rtt_s", 1e3)
        axes.plot(time_s, rtt, ".", color=COLOURS[2], markersize=1.5, rasterized=len(time_s) > 2000)
    axes.set_ylim(bottom=0)


def _rate(axes: Axes, rows: pl.DataFrame) -> None:
    axes.set_ylabel("delivery\nrate (Mb/s)")
    if "delivery_bps" in rows.columns:
        time_s, rate = _thin(rows, "delivery_bps", 1e-6)
        axes.plot(time_s, rate, color=COLOURS[3], linewidth=0.8)
    axes.set_ylim(bottom=0)
