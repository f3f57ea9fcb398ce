"""The kinds of figures of studies, each drawn into one panel."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ackclock import stats
from ackclock.base.si import prefixed
from ackclock.base.si import value as number_text
from ackclock.base.text import drawn
from ackclock.draw.labels import End
from ackclock.draw.means import estimates
from ackclock.draw.style import COLOURS, INK, SOFT, curve, point, pt

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ackclock.base.axes import Point
    from ackclock.draw.quantities import Axis
    from ackclock.draw.table import StudyTable
    from ackclock.metrics import RunMetric

Kind = Literal["lines", "box", "ecdf", "bars", "throughput-delay", "heatmap"]
HATCHES = ("", "//", "..", "\\\\", "xx", "--", "oo", "++")
EQUAL_CONTRAST = 0.22
"""Relative luminance on which white and the colour of texts have the same contrast."""
INTERVALS = "Means with 95 % intervals."


def _scale(metric: RunMetric, values: Sequence[float]) -> tuple[float, str]:
    """The factor to the unit in which the values of a metric are drawn, and the label of the axis."""
    factor, unit = prefixed(metric.unit, values)
    return factor, f"{metric.words} ({unit})" if unit else metric.words


@dataclass(frozen=True)
class Panel:
    """What one panel shows."""

    table: StudyTable
    axes: Axes
    metric: RunMetric
    x: Axis | None
    by: Axis | None
    facet: tuple[str, str] | None
    delay: RunMetric | None = None
    log_x: bool | None = None
    log_y: bool = False

    @property
    def series(self) -> list[str | None]:
        """Labels of the axis that gives the series; one without a label if there is none."""
        return [None] if self.by is None else list(self.by.labels)

    def values(
        self, x: str | None, by: str | None, *, each: bool = False, metric: RunMetric | None = None
    ) -> list[float]:
        """The values at a label of the x axis and of a series."""
        where = [pair for pair in (self.facet,) if pair is not None]
        if x is not None and self.x is not None:
            where.append((self.x.name, x))
        if by is not None and self.by is not None:
            where.append((self.by.name, by))
        return self.table.values(metric or self.metric, *where, each=each)

    def at(self, point: Point) -> stats.Estimate:
        """Mean with its interval at a point of the study."""
        return self.metric.estimate(self.table.values(self.metric, *point))

    def estimate(self, x: str | None, by: str | None) -> stats.Estimate:
        """Mean with its interval at a label of the x axis and of a series."""
        return self.metric.estimate(self.values(x, by))


@dataclass
class Drawing:
    """What has been drawn into a panel: what is to be named, what the figure's note says."""

    ends: list[End] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    empty: bool = False
    image: Any = None
    """What a colour bar explains."""
    words: str = ""
    """Label of the colour bar."""
    points: list[End] = field(default_factory=list)
    """Points that are to be named."""
    cells: list[Any] = field(default_factory=list)
    """Texts in the cells of a heat map."""
    span: tuple[float, float] | None = None
    """The least and the largest value on a value axis whose range is to be set; None if it has its range."""


def draw(kind: Kind, panel: Panel) -> Drawing:
    """Draw a panel of a kind."""
    functions: dict[str, Callable[[Panel], Drawing]] = {
        "lines": _lines,
        "bars": _bars,
        "box": _box,
        "ecdf": _ecdf,
        "throughput-delay": _throughput_delay,
        "heatmap": _heatmap,
    }
    return functions[kind](panel)


def handles(by: Axis, kind: Kind) -> list[Any]:
    """Samples of the series for the figure's key."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if kind in {"bars", "box"}:
        return [Patch(**fill(i)) for i in range(len(by.labels))]
    both = [{**curve(i), **point(i)} for i in range(len(by.labels))]
    if kind == "ecdf":
        both = [point(i) for i in range(len(by.labels))]
    return [Line2D([], [], markersize=5, **style) for style in both]


def fill(number: int) -> dict[str, Any]:
    """Colour and hatch of a bar or a box by its number from 0."""
    colour = COLOURS[number % len(COLOURS)]
    # After a round of colours, the hatches are shifted, so that the pairs differ.
    hatch = HATCHES[(number + 3 * (number // len(COLOURS))) % len(HATCHES)]
    return {"facecolor": f"{colour}55", "edgecolor": colour, "hatch": hatch, "linewidth": 1}


def _name(label: str | None) -> str:
    return label or ""


def _places(panel: Panel) -> tuple[list[float], bool]:
    """Positions of the labels of the x axis, and whether they are numbers. Sets the axis's scale, ticks and name."""
    x_axis = panel.x
    assert x_axis is not None
    panel.axes.set_xlabel(drawn(x_axis.words))
    if x_axis.numbers is None:
        _categories(panel.axes, x_axis.labels)
        return [float(i) for i in range(len(x_axis.labels))], False
    log = x_axis.wide if panel.log_x is None else panel.log_x
    if log:
        smallest = min((x for x in x_axis.numbers if x > 0), default=1.0)
        if min(x_axis.numbers) > 0:
            panel.axes.set_xscale("log")
        else:
            panel.axes.set_xscale("symlog", linthresh=smallest, linscale=0.5)
    if len(x_axis.numbers) <= 9:
        ticks = sorted(set(x_axis.numbers))
        panel.axes.set_xticks(ticks, [f"{x:g}" for x in ticks])
        panel.axes.minorticks_off()
    return list(x_axis.numbers), True


def _categories(axes: Axes, labels: Sequence[str]) -> None:
    long = max(map(len, labels)) * len(labels) > 90
    style: dict[str, Any] = {"rotation": 20, "ha": "right", "rotation_mode": "anchor"} if long else {}
    axes.set_xticks(range(len(labels)), [drawn(label) for label in labels], **style)
    axes.set_xlim(-0.6, len(labels) - 0.4)


def _value_axis(panel: Panel, lowest: Sequence[float], highest: Sequence[float], words: str) -> tuple[float, float]:
    """Name and scale of the value axis; returns the least and the largest value."""
    panel.axes.set_ylabel(drawn(words))
    if panel.log_y:
        panel.axes.set_yscale("log")
    return min(lowest), max(highest)


def set_ranges(kind: Kind, drawings: Mapping[Axes, Drawing]) -> None:
    """Set the range of the value axis that these panels share, or that of one panel, after all are drawn.

    It starts at zero unless all values are far above it.
    """
    spans = {axes: drawing.span for axes, drawing in drawings.items() if drawing.span is not None}
    if not spans or next(iter(spans)).get_yscale() == "log":
        return
    bottom, top = min(low for low, _ in spans.values()), max(high for _, high in spans.values())
    if kind == "bars" or 0 <= bottom < 0.6 * top:
        axes = next(iter(spans))
        low, high = axes.get_ylim()
        axes.set_ylim(min(0.0, low) if bottom < 0 else 0.0, max(high, 1.05 * top) if bottom >= 0 else high)


def _estimates(panel: Panel) -> tuple[dict[tuple[str, str | None], stats.Estimate], float, str]:
    """Estimates in the unit of the figure, and factor and name of that unit. Every panel has the same unit."""
    assert panel.x is not None
    estimates_of = {(x, by): panel.estimate(x, by) for by in panel.series for x in panel.x.labels}
    factor, words = _scale(panel.metric, panel.table.values(panel.metric))
    return {key: e.scaled(factor) for key, e in estimates_of.items() if e.n}, factor, words


def _ends(estimates_of: Sequence[stats.Estimate]) -> tuple[list[float], list[float]]:
    """The lower and the upper ends of intervals."""
    low = [e.value if e.low is None else e.low for e in estimates_of]
    return low, [e.value if e.high is None else e.high for e in estimates_of]


def _lines(panel: Panel) -> Drawing:
    estimates_of, _, words = _estimates(panel)
    if not estimates_of:
        return Drawing(empty=True)
    places, numeric = _places(panel)
    assert panel.x is not None
    done = Drawing(notes=[INTERVALS] if any(e.low is not None for e in estimates_of.values()) else [])
    for number, by in enumerate(panel.series):
        shift = 0.0 if numeric else 0.5 * ((number + 0.5) / len(panel.series) - 0.5)
        points = [
            (at + shift, estimates_of[x, by])
            for x, at in zip(panel.x.labels, places, strict=True)
            if (x, by) in estimates_of
        ]
        if not points:
            continue
        points.sort(key=lambda pair: pair[0])
        at, means = [x for x, _ in points], [e for _, e in points]
        estimates(panel.axes, at, means, number=number, label=_name(by), joined=numeric)
        if by is not None:
            done.ends.append(End(at[-1], means[-1].value, by, COLOURS[number % len(COLOURS)]))
    done.span = _value_axis(panel, *_ends(list(estimates_of.values())), words)
    return done


def _bars(panel: Panel) -> Drawing:
    estimates_of, _, words = _estimates(panel)
    if not estimates_of:
        return Drawing(empty=True)
    assert panel.x is not None
    panel.axes.set_xlabel(drawn(panel.x.words))
    _categories(panel.axes, _shown(panel.x))
    panel.axes.grid(visible=False, axis="x")
    width = 0.8 / len(panel.series)
    for number, by in enumerate(panel.series):
        for place, x in enumerate(panel.x.labels):
            if (x, by) not in estimates_of:
                continue
            e = estimates_of[x, by]
            at = place + width * (number + 0.5 - len(panel.series) / 2)
            panel.axes.bar(at, e.value, 0.92 * width, **fill(number))
            if e.low is not None and e.high is not None:
                ends = [[e.value - e.low], [e.high - e.value]]
                panel.axes.errorbar([at], [e.value], ends, color=INK, linewidth=1, capsize=2.5)
    return Drawing(
        notes=[INTERVALS] if any(e.low is not None for e in estimates_of.values()) else [],
        span=_value_axis(panel, *_ends(list(estimates_of.values())), words),
    )


def _shown(x_axis: Axis) -> list[str]:
    """The labels of an axis in its unit."""
    return x_axis.labels if x_axis.numbers is None else [f"{x:g}" for x in x_axis.numbers]


def _box(panel: Panel) -> Drawing:
    assert panel.x is not None
    factor, words = _scale(panel.metric, panel.table.values(panel.metric))
    panel.axes.set_xlabel(drawn(panel.x.words))
    _categories(panel.axes, _shown(panel.x))
    panel.axes.grid(visible=False, axis="x")
    width = 0.8 / len(panel.series)
    every: list[float] = []
    random = np.random.default_rng(1)
    for number, by in enumerate(panel.series):
        for place, x in enumerate(panel.x.labels):
            values = [factor * v for v in panel.values(x, by)]
            if not values:
                continue
            every += values
            at = place + width * (number + 0.5 - len(panel.series) / 2)
            style: dict[str, Any] = {"boxprops": fill(number), "medianprops": {"color": INK, "linewidth": 1.6}}
            lines = {"color": COLOURS[number % len(COLOURS)]}
            panel.axes.boxplot(
                [values],
                positions=[at],
                widths=0.8 * width,
                patch_artist=True,
                manage_ticks=False,
                showfliers=False,
                whiskerprops=lines,
                capprops=lines,
                **style,
            )
            spots = at + 0.5 * width * (random.random(len(values)) - 0.5)
            panel.axes.plot(spots, values, "o", color=INK, markersize=2, alpha=0.5, markeredgewidth=0)
    if not every:
        return Drawing(empty=True)
    return Drawing(
        notes=["Boxes: median and quartiles; whiskers: within 1.5 times the box; dots: single runs."],
        span=_value_axis(panel, every, every, words),
    )


def _ecdf(panel: Panel) -> Drawing:
    factor, words = _scale(panel.metric, panel.table.values(panel.metric, each=True))
    counts = []
    for number, by in enumerate(panel.series):
        values = np.sort([factor * v for v in panel.values(None, by, each=True)])
        if len(values):
            counts.append(len(values))
            # Markers at a few values: dashes are hard to tell apart on steps.
            marks = np.unique(np.linspace(0, len(values), 6 + number % 3, dtype=int)[:-1])
            panel.axes.ecdf(values, linewidth=1.3, markersize=4.5, markevery=list(marks), **point(number))
    if not counts:
        return Drawing(empty=True)
    single = panel.metric.of == "flows"
    if single:
        words = words.replace(panel.metric.words, _of_one_flow(panel.metric))
    panel.axes.set_xlabel(drawn(words))
    panel.axes.set_ylabel(f"fraction of {panel.metric.of}")
    if panel.log_x:
        panel.axes.set_xscale("log")
    panel.axes.set_ylim(0, 1.02)
    few, many = min(counts), max(counts)
    number_of = f"{few:,}" if few == many else f"{few:,} to {many:,}"
    return Drawing(
        notes=[f"Each curve has {number_of} values: every {'flow of every run' if single else 'run'}."],
    )


def _of_one_flow(metric: RunMetric) -> str:
    words = metric.words
    for start in ("total ", "mean "):
        words = words.removeprefix(start)
    return f"{words.partition(' of ')[0]} of a flow" if " of " in words and "percentile" not in words else words


def _throughput_delay(panel: Panel) -> Drawing:
    """Goodput against delay. The delay decreases to the right, as in Pantheon's figures: up and right is better."""
    from matplotlib.patches import Ellipse

    assert panel.delay is not None
    x_factor, x_words = _scale(panel.delay, panel.table.values(panel.delay))
    y_factor, y_words = _scale(panel.metric, panel.table.values(panel.metric))
    dots: list[End] = []
    for number, by in enumerate(panel.series):
        x = x_factor * np.array(panel.values(None, by, metric=panel.delay))
        y = y_factor * np.array(panel.values(None, by))
        if len(x) == 0 or len(x) != len(y):
            continue
        style = point(number)
        panel.axes.plot(x, y, linestyle="none", markersize=2.5, alpha=0.4, markeredgewidth=0, **style)
        panel.axes.plot([x.mean()], [y.mean()], markersize=8, markeredgecolor="white", zorder=5, **style)
        dots.append(End(float(x.mean()), float(y.mean()), _name(by), COLOURS[number % len(COLOURS)]))
        if len(x) >= 3:
            sizes, vectors = np.linalg.eigh(np.cov(x, y))
            width, height = 2 * np.sqrt(np.maximum(sizes, 0))
            angle = math.degrees(math.atan2(vectors[1, 0], vectors[0, 0]))
            shape = {"facecolor": style["color"], "edgecolor": style["color"], "linewidth": 1}
            panel.axes.add_patch(Ellipse((x.mean(), y.mean()), width, height, angle=angle, alpha=0.22, **shape))
    if not dots:
        return Drawing(empty=True)
    panel.axes.set_xlabel(drawn(f"{x_words}, decreasing to the right"))
    panel.axes.set_ylabel(drawn(y_words))
    # All panels have the range of all runs.
    delays = [x_factor * v for v in panel.table.values(panel.delay)]
    if panel.log_x:
        panel.axes.set_xscale("log")
        panel.axes.set_xlim(1.3 * max(delays), 0.7 * min(x for x in delays if x > 0))
    else:
        panel.axes.set_xlim(1.08 * max(delays), 0)
    panel.axes.set_ylim(0, 1.12 * y_factor * max(panel.table.values(panel.metric)))
    if panel.facet is None:
        panel.axes.set_title("better: up and to the right ↗", fontsize=pt(8.5), loc="right", color=SOFT)
    several = panel.by is not None
    return Drawing(
        notes=[
            "Large marks: means; small: single runs; ellipses: one standard deviation (covariance) around the mean."
        ],
        points=dots if several else [],
    )


def _heatmap(panel: Panel) -> Drawing:
    """Means as colours and numbers: a column for each label of x, a row for each series."""
    estimates_of, factor, words = _estimates(panel)
    if not estimates_of:
        return Drawing(empty=True)
    assert panel.x is not None
    rows = panel.series
    grid = np.full((len(rows), len(panel.x.labels)), np.nan)
    for (x, by), e in estimates_of.items():
        grid[rows.index(by), panel.x.labels.index(x)] = e.value
    # All panels have the colours of all points.
    every = [e.value * factor for point in panel.table.points if (e := panel.at(point)).n]
    low, high = min(every), max(every)
    low = 0.0 if 0 <= low < 0.6 * high else low
    shown = panel.axes.imshow(grid, aspect="auto", cmap="cividis", vmin=low, vmax=high)
    if panel.by is not None and panel.by.numbers is not None:
        panel.axes.invert_yaxis()  # numbers grow upward; names are read downward
    panel.axes.grid(visible=False)
    panel.axes.spines[:].set_visible(False)
    panel.axes.tick_params(length=0)
    for edge in range(1, len(panel.x.labels)):
        panel.axes.axvline(edge - 0.5, color="white", linewidth=2)
    for edge in range(1, len(rows)):
        panel.axes.axhline(edge - 0.5, color="white", linewidth=2)
    panel.axes.set_xlabel(drawn(panel.x.words))
    panel.axes.set_xticks(range(len(panel.x.labels)), [drawn(label) for label in _shown(panel.x)])
    panel.axes.set_yticks(range(len(rows)), [drawn(_name(by)) for by in (_shown(panel.by) if panel.by else rows)])
    if panel.by is not None:
        panel.axes.set_ylabel(drawn(panel.by.words))
    cells = []
    for (x, by), e in estimates_of.items():
        row, column = rows.index(by), panel.x.labels.index(x)
        red, green, blue, _ = shown.cmap(shown.norm(grid[row, column]))
        dark = 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2 < EQUAL_CONTRAST
        text = number_text(e.value)
        if e.half_width:
            text += f"\n±{number_text(e.half_width, 2)}"
        colour = "white" if dark else INK
        style: dict[str, Any] = {
            "ha": "center",
            "va": "center",
            "fontsize": pt(8),
            "color": colour,
            "linespacing": 1.05,
        }
        cells.append(panel.axes.text(column, row, text, **style))
    said = (
        ["Means over the seeds ± half of the 95 % interval."]
        if any(e.half_width for e in estimates_of.values())
        else []
    )
    return Drawing(notes=said, image=shown, words=drawn(words), cells=cells)
