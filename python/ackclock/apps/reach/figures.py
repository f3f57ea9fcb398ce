"""Figures of emulations: what the network did over time, and the values of repeated runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ackclock import stats
from ackclock.base.text import drawn
from ackclock.draw.labels import End, label_ends
from ackclock.draw.series import Series
from ackclock.draw.style import COLOURS, DASHES, SOFT, WIDTH, curve, note, panels, point, pt, ratio_axis, size, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ackclock.apps.reach.crossing import Crossing, Direction
    from ackclock.apps.reach.pairs import NetworkRuns
    from ackclock.apps.reach.repeats import Results

BINS = 100
CLOUD = 6_000
"""Points of the delays of each direction."""
MOST_QUEUES = 3
MOST_DROPS = 3
"""Curves of queues and of drops; the largest ones are drawn."""
NOTABLE = 0.05
"""A queue is drawn if its mean is at least this part of the longest one's."""


def overview(crossing: Crossing, heading: str = "") -> Figure:
    """Draw the rates of both directions, the queues, the drops and the delay of each packet over time."""
    end_s = crossing.end_s if crossing.end_s > crossing.begin_s else crossing.begin_s + 1.0
    edges = np.linspace(crossing.begin_s, end_s, BINS + 1)
    dropped = sorted(crossing.drops(), key=lambda drop: -len(drop[2]))[:MOST_DROPS]
    rows = 4 if dropped else 3
    figure, axes = panels(1, rows, 2.0, share="x")
    ends = {
        axes[0]: _rates(axes[0], crossing.directions, edges),
        axes[1]: _queues(axes[1], crossing),
        axes[-1]: _delays(axes[-1], crossing.directions, edges),
    }
    if dropped:
        ends[axes[2]] = _drops(axes[2], dropped, edges)
    axes[-1].set_xlabel("time (s)")
    axes[-1].set_xlim(crossing.begin_s, end_s)
    figure.align_ylabels(axes)
    title(figure, drawn(heading))
    delays = "Delay: each packet's time in the network, with the median of each interval."
    note(figure, delays if crossing.links else "No packet events: no packet was sent, or all went by radio.")
    label_ends(figure, ends)
    return figure


def _names(direction: Direction) -> str:
    return f"{direction.ends[0]} to {direction.ends[1]}"


def _rates(axes: Axes, directions: Sequence[Direction], edges: np.ndarray) -> list[End]:
    ends = []
    for number, direction in enumerate(directions):
        bits, _ = np.histogram(direction.arrived_s, edges, weights=8.0 * direction.arrived_bytes)
        rates = bits / np.diff(edges) / 1e6
        axes.plot((edges[:-1] + edges[1:]) / 2, rates, linewidth=1.2, **curve(number))
        ends.append(End(float(edges[-1]), float(rates[-1]), _names(direction), COLOURS[number]))
    axes.set_ylabel("received\n(Mb/s)")
    axes.set_ylim(bottom=0)
    return ends


def _queues(axes: Axes, crossing: Crossing) -> list[End]:
    """The longest queues of the links that the programs' packets took."""
    held = {link: crossing.queue(link) for link in crossing.links}
    areas = {link: _area(queue, crossing.end_s) for link, queue in held.items()}
    longest = sorted(held, key=lambda link: -areas[link])[:MOST_QUEUES]
    ends = []
    for number, link in enumerate(link for link in longest if areas[link] >= NOTABLE * areas[longest[0]]):
        shown = held[link].thinned()
        style = {"color": COLOURS[number + 2], "linestyle": DASHES[number]}
        axes.step(
            np.append(shown.time_s, crossing.end_s),
            np.append(shown.values, shown.values[-1:]),
            where="post",
            linewidth=0.9,
            **style,
        )
        ends.append(End(crossing.end_s, float(shown.values[-1]) if len(shown.values) else 0.0, link, style["color"]))
    axes.set_ylabel("packets held\nby a link")
    axes.set_ylim(bottom=0)
    return ends


def _area(queue: Series, end_s: float) -> float:
    return float((queue.values * np.diff(np.append(queue.time_s, end_s))).sum()) if len(queue.time_s) else 0.0


def _drops(axes: Axes, dropped: Sequence[tuple[str, str, np.ndarray]], edges: np.ndarray) -> list[End]:
    """Packets dropped in each interval, by link and reason."""
    ends = []
    several = len({link for link, *_ in dropped}) > 1
    for number, (link, reason, times) in enumerate(dropped):
        counts, _ = np.histogram(times, edges)
        style = {"color": COLOURS[number + 4], "linestyle": DASHES[number]}
        axes.step(edges, np.append(counts, counts[-1:]), where="post", linewidth=1.1, **style)
        text = f"{len(times):,} {reason}, {link}" if several else f"{len(times):,} {reason}"
        ends.append(End(float(edges[-1]), float(counts[-1]), text, COLOURS[number + 4]))
    axes.set_ylabel(f"drops in\n{_span(edges)}")
    axes.set_ylim(bottom=0)
    return ends


def _span(edges: np.ndarray) -> str:
    width = float(edges[1] - edges[0])
    return f"{width:.2g} s" if width >= 1 else f"{1e3 * width:.2g} ms"


def _delays(axes: Axes, directions: Sequence[Direction], edges: np.ndarray) -> list[End]:
    """The delay of each packet as a point, and the median of each interval."""
    ends = []
    random = np.random.default_rng(1)
    middle = (edges[:-1] + edges[1:]) / 2
    for number, direction in enumerate(directions):
        n = len(direction.arrived_s)
        rows = np.sort(random.choice(n, min(n, CLOUD), replace=False)) if n else np.empty(0, int)
        cloud: dict[str, Any] = {"s": 2.2, "color": COLOURS[number], "alpha": 0.3, "linewidths": 0, "rasterized": True}
        axes.scatter(direction.arrived_s[rows], 1e3 * direction.delays_s[rows], **cloud)
        (median,) = Series(direction.arrived_s, 1e3 * direction.delays_s).quantiles(edges, (0.5,))
        axes.plot(middle, median, linewidth=1.2, **curve(number))
        present = np.flatnonzero(~np.isnan(median))
        if len(present):
            last = present[-1]
            ends.append(End(float(middle[last]), float(median[last]), _names(direction), COLOURS[number]))
    axes.set_ylabel("delay of\na packet (ms)")
    axes.set_ylim(bottom=0)
    return ends


def values_figure(results: Results) -> Figure:
    """Draw the values of repeated runs with 95 % intervals, a panel for each network.

    Of A and B the ratio B/A, of one program the values over their mean.
    """
    sides, gates = len(results.task.sides), results.task.gates
    shown = [runs.shown(sides, [gate.name for gate in gates]) for runs in results.networks]
    scale = min(1.0, max(size().width / WIDTH, 0.6))
    height = 0.9 + 2.2 * pt(9) / 72 / scale * max(map(len, shown))
    figure, axes = panels(1, len(shown), height, share="x", width=7.4)
    ends: list[float] = []
    for panel, runs, names in zip(axes, results.networks, shown, strict=True):
        for place, name in enumerate(names):
            ratios = _ratios(runs, name, sides)
            estimate = runs.ratio(name) if sides == 2 else stats.mean(ratios)
            ends += _row(panel, place, ratios, estimate)
            for gate in (gate for gate in gates if gate.name == name):
                style: dict[str, Any] = {"markersize": 9, "color": COLOURS[1], "linestyle": "none"}
                panel.plot([gate.bound], [place], "|", markeredgewidth=1.8, **style)
                ends.append(gate.bound)
        panel.axvline(1, color=SOFT, linewidth=0.9)
        panel.set_yticks(range(len(names)), [drawn(runs.label(name)) for name in names])
        panel.set_ylim(len(names) - 0.4, -0.6)
        panel.set_title(drawn(runs.network), fontsize=pt(9), loc="left")
    ratio_axis(axes[-1], ends)
    axes[-1].set_xlabel("ratio B/A" if sides == 2 else "value over the mean")
    marks = "Dots: pairs. Circles: geometric means, with" if sides == 2 else "Dots: runs. Circles: means, with"
    note(figure, f"{marks} 95 % intervals.{' Orange: bounds of gates.' if gates else ''}")
    title(figure, "B beside A" if sides == 2 else f"{results.task.repeats} runs")
    return figure


def _ratios(runs: NetworkRuns, name: str, sides: int) -> list[float]:
    """B/A of each pair, or each value over the mean; without those that are zero or have no ratio."""
    if sides == 2:
        a, b = runs.pairs(name)
        return [y / x for x, y in zip(a, b, strict=True) if x > 0 and y > 0]
    values = list(runs.values(name, 0).values())
    mean = sum(values) / max(len(values), 1)
    return [x / mean for x in values if x > 0 and mean > 0]


def _row(panel: Axes, place: int, ratios: Sequence[float], estimate: stats.Estimate) -> list[float]:
    """Draw the ratios of a value and their mean; returns the ends of what is drawn."""
    if not ratios or not 0 < estimate.value < np.inf:
        return []
    low, high = (estimate.value if x is None or x <= 0 else x for x in (estimate.low, estimate.high))
    panel.plot(ratios, np.full(len(ratios), place + 0.22), ".", color=SOFT, markersize=3, alpha=0.7)
    panel.plot([low, high], [place, place], color=point(0)["color"], linewidth=1.6)
    panel.plot([estimate.value], [place], linestyle="none", markersize=5, **point(0))
    return [low, high, *ratios]
