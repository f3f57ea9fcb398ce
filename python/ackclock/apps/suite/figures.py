"""Figures of suites: the largest differences, and small multiples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ackclock.apps.suite.difference import Change
from ackclock.apps.suite.measures import SUITE_METRICS
from ackclock.apps.suite.overview import headline
from ackclock.apps.suite.result import SuiteResult
from ackclock.apps.suite.situation import Situation
from ackclock.base.si import value
from ackclock.base.text import drawn
from ackclock.draw.quantities import Axis as StudyAxis
from ackclock.draw.quantities import axis
from ackclock.draw.style import COLOURS, INK, SOFT, curve, key, panels, point

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ackclock.stats import Estimate

VERDICTS = {"better": (COLOURS[0], "o"), "worse": (COLOURS[1], "s"), "other": (SOFT, "D")}
"""Colour and marker of a change."""
RATIOS = (0.001, 0.01, 0.1, 0.5, 1, 2, 10, 100, 1000)
"""Ticks of an axis of ratios."""
LOG_FROM = 8.0
"""A small axis whose largest number is this many times its smallest is logarithmic."""
LONG_NAMES = 22
"""Letters of two controllers that stand on one line."""
MOST_MULTIPLES = 16
LEAST_POINTS = 3


def place_of(change: Change) -> str:
    """Situation and point of a change."""
    return f"{change.situation}, {change.point}" if change.point else change.situation


def means_of(change: Change) -> str:
    """Both means with the unit."""
    unit = SUITE_METRICS[change.metric].unit
    after = "-" if change.b is None else value(change.b)
    return f"{value(change.a)} → {after} {unit}".rstrip()


def differences(changes: Sequence[Change], before: str, after: str, *, heading: str = "") -> Figure:
    """Changes as dots with 95 % intervals: ratios of the means on a logarithmic axis, and both means beside them."""
    figure, (axes,) = panels(1, height=1.1 + 0.42 * max(len(changes), 1), width=6.3)
    lowest, highest = 0.5, 2.0
    for place, change in enumerate(changes):
        colour, marker = VERDICTS[change.verdict]
        e = change.ratio
        ends = [x for x in (e.low, e.high) if x is not None]
        axes.plot(ends, [place] * len(ends), color=colour, linewidth=1.6, solid_capstyle="butt")
        axes.plot([e.value], [place], marker, color=colour, markersize=6)
        lowest, highest = min(lowest, e.value, *ends), max(highest, e.value, *ends)
        texts = (
            (-0.02, "right", change.metric.replace("_", " "), place_of(change)),
            (1.02, "left", means_of(change), ""),
        )
        for at, side, text, below in texts:
            beside: dict[str, Any] = {
                "xycoords": ("axes fraction", "data"),
                "textcoords": "offset points",
                "ha": side,
                "va": "center",
            }
            lift = 4.5 if below else 0
            axes.annotate(drawn(text), (at, place), (0, lift), fontsize=8.5, color=INK, **beside)
            axes.annotate(drawn(_cut(below)), (at, place), (0, -5.5), fontsize=7, color=SOFT, **beside)
    axes.axvline(1, color=INK, linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xlim(lowest / 1.3, highest * 1.3)
    ticks = [x for x in RATIOS if lowest / 1.3 <= x <= highest * 1.3]
    axes.set_xticks(ticks, [f"{x:g}" if x >= 1 else f"1/{1 / x:.0f}" for x in ticks])
    axes.minorticks_off()
    axes.set_yticks([])
    axes.set_ylim(len(changes) - 0.4, -0.6)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(drawn(f"{after} over {before}: ratio of the means"), fontsize=9)
    between = " " if len(before) + len(after) <= LONG_NAMES else "\n"
    both = between.join([drawn(_cut(before)), f"→ {drawn(_cut(after))}"])
    above: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "bottom"}
    axes.annotate(both, (1.02, 1), (0, 6), fontsize=8.5, color=SOFT, **above)  # the layout leaves room for it
    _verdict_key(figure, [change.verdict for change in changes], drawn(heading))
    return figure


def _cut(text: str, most: int = 44) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _verdict_key(figure: Figure, verdicts: Sequence[str], heading: str) -> None:
    from matplotlib.lines import Line2D

    words = {"better": "better", "worse": "worse", "other": "neither is better"}
    present = [name for name in words if name in verdicts]
    marks = [Line2D([], [], color=VERDICTS[name][0], marker=VERDICTS[name][1], linewidth=1.6) for name in present]
    if present:
        key(figure, marks, [words[name] for name in present], heading)


@dataclass(frozen=True)
class Multiple:
    """A small panel: a metric of a situation at some of its points."""

    situation: Situation
    metric: str
    points: list[str]
    axis: StudyAxis
    fixed: str
    """The other parts of the points' names, which are the same at all of these points."""


def multiple(situation: Situation, points: Sequence[str], metric: str) -> Multiple | None:
    """The panel of a situation; None if fewer than three points can be drawn along one axis.

    If several parts of the points' names vary, the first one is the axis, and the others keep their middle value.
    """
    parts = {point: point.split("; ") for point in points}
    if len({len(part) for part in parts.values()}) != 1:
        return None
    labels = [list(dict.fromkeys(part[i] for part in parts.values())) for i in range(len(parts[points[0]]))]
    varying = [i for i, part_labels in enumerate(labels) if len(part_labels) >= LEAST_POINTS]
    if not varying:
        return None
    along = varying[0]
    fixed = {
        i: part_labels[len(part_labels) // 2]
        for i, part_labels in enumerate(labels)
        if i != along and len(part_labels) > 1
    }
    chosen = [point for point in points if all(parts[point][i] == label for i, label in fixed.items())]
    if len(chosen) < LEAST_POINTS:
        return None
    # Of a rate forward and back, the first.
    part_labels = axis("", [parts[point][along].partition(", ")[0] for point in chosen])
    return Multiple(situation, metric, chosen, part_labels, ", ".join(fixed.values()))


def multiples(situations: Sequence[Situation], results: Mapping[str, SuiteResult]) -> Figure | None:
    """A small panel for each situation with three or more points along an axis, with a line for each controller.

    The first of `results` is drawn on top. Returns None if there is no such situation.
    """
    estimates = {name: result.estimates() for name, result in results.items()}
    first = next(iter(estimates.values()))
    chosen: list[Multiple] = []
    for situation in situations:
        metric = headline(situation)
        points = list(dict.fromkeys(p for name, p, m in first if name == situation.id and m == metric))
        diagram = multiple(situation, points, metric) if metric is not None and points else None
        chosen += [] if diagram is None else [diagram]
    chosen = chosen[:MOST_MULTIPLES]
    if not chosen:
        return None
    columns = min(4, len(chosen))
    figure, axes = panels(columns, -(-len(chosen) // columns), 2.35, share=False, width=3.2 * columns)
    for panel in axes[len(chosen) :]:
        panel.set_visible(False)
    for panel, one in zip(axes, chosen, strict=False):
        _draw_multiple(panel, one, estimates)
    key(figure, _samples(len(results)), [drawn(name) for name in results], "", columns=8)
    return figure


def _style(number: int) -> dict[str, Any]:
    """Of the line of a controller; the first is drawn on top."""
    first = number == 0
    shape = {"linewidth": 2.0 if first else 1.0, "markersize": 5 if first else 3.5, "zorder": 4 if first else 2}
    return {**curve(number), **point(number), **shape}


def _samples(count: int) -> list[Any]:
    from matplotlib.lines import Line2D

    return [Line2D([], [], **_style(number)) for number in range(count)]


def _draw_multiple(axes: Axes, one: Multiple, estimates: Mapping[str, Mapping[tuple[str, str, str], Estimate]]) -> None:
    count, numbers = len(one.points), one.axis.numbers
    for number, by_label in enumerate(estimates.values()):
        keys = [(one.situation.id, point, one.metric) for point in one.points]
        shift = 0.6 * ((number + 0.5) / len(estimates) - 0.5)
        places = numbers if numbers is not None else [i + shift for i in range(count)]
        positions = sorted((x, by_label[key].value) for x, key in zip(places, keys, strict=True) if key in by_label)
        style = _style(number) | ({} if numbers is not None else {"linestyle": "none"})
        axes.plot([x for x, _ in positions], [y for _, y in positions], **style)
    axes.set_title(drawn(one.situation.title), fontsize=9, loc="left")
    unit = SUITE_METRICS[one.metric].unit
    axes.set_ylabel(f"{one.metric.replace('_', ' ')}{f' ({unit})' if unit else ''}", fontsize=8)
    axes.set_ylim(0, 1.02 * axes.get_ylim()[1])
    axes.tick_params(axis="y", labelsize=7.5)
    if numbers is None:
        axes.set_xticks(range(count), [drawn(_short(label)) for label in one.axis.labels], fontsize=7)
        if max(map(len, one.axis.labels)) * count > 36:
            axes.tick_params(axis="x", labelrotation=25)
    else:
        if min(numbers) > 0 and max(numbers) >= LOG_FROM * min(numbers):
            axes.set_xscale("log")
        axes.set_xticks(numbers, [f"{x:g}" for x in numbers], fontsize=7)
        axes.minorticks_off()
    unit = one.axis.words.strip()
    unit = unit[1:-1] if unit.startswith("(") else unit  # the axis has no name, only a unit
    words = [text for text in (unit, one.fixed) if text]
    axes.set_xlabel(drawn("; ".join(words)), fontsize=8)


def _short(label: str) -> str:
    return label if len(label) <= 14 else f"{label[:13]}…"
