"""Small curves of a run for the page of a suite, as SVG: a panel for each series, with the states behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

from ackclock.base.si import value

WIDTH, PANEL, LEFT, TOP, GAP = 640, 84, 64, 16, 20
"""Sizes in units of the picture: its width, the height of a panel, the margins, the space between panels."""
TINTS = ("#e3edf5", "#fbe9dd", "#e4f1e7", "#f3e6f1", "#fdf4d7", "#e8e8ee", "#dff0f0")
LEAST_LABEL = 34
"""Width from which on a state has its name in the picture."""
SECONDS = {"rtt", "min_rtt", "cycle_wait"}
BITS = {"bw", "max_bw", "full_bw", "bw_shortterm", "bw_latest", "bandwidth", "pacing_bps"}
SEGMENTS = {"cwnd", "ssthresh", "in_flight", "bdp1", "ack", "w_max", "w_est", "extra_acked"}


def svg(curves: Mapping[str, Any], marks: Sequence[float] = ()) -> str:
    """The curves of a situation; `marks` are times with a vertical line. Empty without any value."""
    times = curves["time"]
    series = {name: of for name, of in curves["series"].items() if any(x is not None for x in of)}
    if len(times) < 2 or not series or times[-1] <= times[0]:
        return ""
    begin, end = float(times[0]), float(times[-1])
    height = TOP + len(series) * (PANEL + GAP) + 14

    def x(time: float) -> float:
        return LEFT + (WIDTH - LEFT - 8) * (min(max(time, begin), end) - begin) / (end - begin)

    parts = [f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(", ".join(series))} over time">']
    bottom = TOP + len(series) * (PANEL + GAP) - GAP
    names = list(dict.fromkeys(name for name, _, _ in curves["stays"]))
    for name, since, until in curves["stays"]:
        left, right = x(since), x(end if until is None else until)
        if right - left < 0.4:
            continue
        tint = TINTS[names.index(name) % len(TINTS)]
        parts.append(
            f'<rect x="{left:.1f}" y="{TOP}" width="{right - left:.1f}" height="{bottom - TOP}" fill="{tint}"/>'
        )
        if right - left >= LEAST_LABEL:
            words = escape(name.replace("_", " "))
            parts.append(f'<text x="{(left + right) / 2:.1f}" y="{TOP - 4}" class="state">{words}</text>')
    for number, (name, of) in enumerate(series.items()):
        parts += _panel(name, times, of, x, TOP + number * (PANEL + GAP))
    parts += [f'<line x1="{x(t):.1f}" x2="{x(t):.1f}" y1="{TOP}" y2="{bottom}" class="mark"/>' for t in marks]
    for time in (begin, (begin + end) / 2, end):
        anchor = "start" if time == begin else "end" if time == end else "middle"
        parts.append(
            f'<text x="{x(time):.1f}" y="{height - 3}" text-anchor="{anchor}">{escape(value(time, 3))} s</text>'
        )
    return "".join([*parts, "</svg>"])


def _panel(
    name: str, times: Sequence[float], of: Sequence[float | None], x: Callable[[float], float], top: float
) -> list[str]:
    numbers = [one for one in of if one is not None]
    low, high = min(0.0, *numbers), max(numbers)
    high = high if high > low else low + 1

    def y(number: float) -> float:
        return top + PANEL - (PANEL - 4) * (number - low) / (high - low)

    factor, unit = _unit(name, high)
    words = escape(name.replace("_", " ")) + (f", {unit}" if unit else "")
    parts = [
        f'<line x1="{LEFT}" x2="{WIDTH - 8}" y1="{top + PANEL}" y2="{top + PANEL}" class="axis"/>',
        f'<text x="{LEFT - 6}" y="{top + 10}" text-anchor="end">{escape(value(high * factor, 3))}</text>',
        f'<text x="{LEFT - 6}" y="{top + PANEL}" text-anchor="end">{escape(value(low * factor, 3))}</text>',
        f'<text x="{LEFT + 4}" y="{top + PANEL + 12}" class="name">{words}</text>',
    ]
    line: list[str] = []
    lines = []
    for time, number in zip(times, of, strict=True):
        if number is None:
            if line:
                lines.append(" ".join(line))
            line = []
        else:
            line.append(f"{x(time):.1f},{y(number):.1f}")
    lines.append(" ".join(line))
    return [*parts, *(f'<polyline points="{points}" class="curve"/>' for points in lines if points)]


def _unit(name: str, high: float) -> tuple[float, str]:
    """The factor and the unit of a series."""
    if name in BITS:
        return (1e-6, "Mb/s") if high >= 1e5 else (1e-3, "kb/s")
    if name in SECONDS:
        return 1e3, "ms"
    return 1.0, "segments" if name in SEGMENTS or name.startswith("inflight") else ""
