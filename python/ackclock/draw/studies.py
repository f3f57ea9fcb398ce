"""Figures of studies: metrics against an axis, by another axis, with intervals over the seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from ackclock.base.files import BadInput
from ackclock.base.text import drawn
from ackclock.draw import kinds
from ackclock.draw.kinds import Kind, Panel
from ackclock.draw.labels import fit_cells, label_ends, label_points
from ackclock.draw.style import key, most_columns, note, panels, pt, title, wrapped
from ackclock.draw.table import StudyTable
from ackclock.metrics import RunMetric, metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ackclock.draw.quantities import Axis

KINDS: tuple[str, ...] = get_args(Kind)
MOST_PANELS = 12
DIRECT = {"heatmap", "throughput-delay"}
"""Kinds that name their series within the panels."""
WITHOUT_X = {"ecdf", "throughput-delay"}
"""Kinds whose horizontal axis is no axis of the study."""


@dataclass(frozen=True)
class Choice:
    """What a figure of a study shows. Axes may be named by a part of their names."""

    x: str | None = None
    y: Sequence[str | RunMetric] = ()
    """Metrics, or names of metrics, which `flows` and `link` restrict."""
    by: str | None = None
    kind: Kind = "lines"
    flows: Sequence[str] = ()
    link: str = ""
    log_x: bool | None = None
    log_y: bool = False
    title: str = ""


@dataclass(frozen=True)
class _Layout:
    """The roles of the axes of a study in a figure."""

    x: Axis | None
    by: Axis | None
    facet: Axis | None
    delay: str = ""
    """The metric of the delay in a figure of throughput against delay."""


def study_figure(table: StudyTable, choice: Choice) -> Figure:
    """Draw metrics of a study. Axes that are not named are chosen; one more axis becomes panels.

    Raises BadInput if an axis or metric is unknown, or if the study has more axes than the figure can show.
    """
    layout = _layout(table, choice)
    wanted = list(choice.y) or ["goodput"]
    rows = table.rows
    metrics = [
        metric(each, rows, flows=choice.flows, link=choice.link) if isinstance(each, str) else each for each in wanted
    ]
    delay = None
    if choice.kind == "throughput-delay":
        delay = metric(layout.delay or _delay(rows), rows, flows=choice.flows, link=choice.link)
    facets = [None] if layout.facet is None else [(layout.facet.name, label) for label in layout.facet.labels]
    if len(metrics) > 1 and len(facets) > 1:
        _too_many(layout.facet, "with several --y")
    grid = [(one, facet) for one in metrics for facet in facets]
    columns = min(most_columns(), 2 if len(facets) == 4 else len(facets))
    deep = -(-len(grid) // columns)
    height = 3.9 if len(grid) == 1 else 3.0
    if choice.kind == "heatmap" and layout.by is not None:
        height = max(height, 0.42 * len(layout.by.labels) + 1.3)
    figure, axes = panels(columns, deep, height, share=len(facets) > 1)
    for spare in axes[len(grid) :]:
        spare.set_visible(False)
    drawings = []
    for place, (one, facet) in enumerate(grid):
        panel = Panel(table, axes[place], one, layout.x, layout.by, facet, delay, choice.log_x, choice.log_y)
        drawings.append(kinds.draw(choice.kind, panel))
        if facet is not None and layout.facet is not None:
            name = layout.facet.words.partition(" (")[0]
            axes[place].set_title(drawn(f"{name}: {facet[1]}"), fontsize=pt(9), loc="left")
        low = len(facets) == 1 or place + columns >= len(grid)
        _label(axes[place], columns, deep, left=place % columns == 0, low=low)
    by_panel = dict(zip(axes, drawings, strict=False))
    for group in [by_panel] if len(facets) > 1 else [{panel: drawing} for panel, drawing in by_panel.items()]:
        kinds.set_ranges(choice.kind, group)
    for empty in [panel for panel, drawing in by_panel.items() if drawing.empty]:
        empty.text(0.5, 0.5, "no value", transform=empty.transAxes, ha="center", fontsize=pt(9))
    if all(drawing.empty for drawing in drawings):
        names = ", ".join(one.name for one in metrics)
        raise BadInput(f"--y {names}: no run has a value; it does not apply to this study")
    heading = drawn(choice.title or table.title)
    note(figure, " ".join([_runs(table), *drawings[0].notes]))
    direct = choice.kind in DIRECT or (choice.kind == "lines" and columns == 1)
    if layout.by is None or direct:
        title(figure, heading)
        label_ends(figure, {panel: drawing.ends for panel, drawing in by_panel.items()})
    else:
        key(figure, kinds.handles(layout.by, choice.kind), [drawn(label) for label in layout.by.labels], heading)
    if drawings[0].image is not None:
        explained = [axes[: len(grid)]] if len(facets) > 1 else [[panel] for panel in axes]
        for text, drawing in zip(explained, drawings, strict=False):
            bar = figure.colorbar(drawing.image, ax=text, pad=0.015, aspect=25)
            bar.ax.tick_params(labelsize=pt(9))
            bar.set_label(wrapped(drawing.words, 3 if len(text) == 1 else 1), fontsize=pt(9))
    label_points(figure, {panel: drawing.points for panel, drawing in by_panel.items()})
    if hidden := fit_cells(figure, {panel: drawing.cells for panel, drawing in by_panel.items()}):
        note(figure, f"{_runs(table)} {hidden}")
    return figure


def _label(axes: Axes, columns: int, rows: int, *, left: bool, low: bool) -> None:
    """Keep the names of the axes of a panel where it is at the left or at the bottom of its grid, in short lines."""
    axes.set_ylabel(wrapped(axes.get_ylabel(), 2 if rows * columns == 1 else 3) if left else "")
    axes.set_xlabel(wrapped(axes.get_xlabel(), columns) if low else "")
    axes.tick_params(labelbottom=low)


def _runs(table: StudyTable) -> str:
    few, many = table.seeds
    if many == 1:
        return "One run (seed) at each point; no intervals."
    count = f"{few if few == many else f'{few} to {many}'} seeds at each point"
    if table.equal_points == len(table.points):
        return f"{count}, with equal outcomes; no intervals."
    if table.equal_points:
        return f"{count}; no intervals where their outcomes are equal."
    return f"{count}."


def _layout(table: StudyTable, choice: Choice) -> _Layout:
    """Decide which axis is x, which gives the series, and which the panels. Raises BadInput."""
    if choice.kind not in KINDS:
        raise BadInput(f"--kind {choice.kind}: there are {', '.join(KINDS)}")
    free = dict(table.axes)
    by = free.pop(table.name_of(choice.by, "--by")) if choice.by else None
    x, delay = None, ""
    if choice.kind == "throughput-delay":
        delay = choice.x or ""
    elif choice.x:
        name = table.name_of(choice.x, "--x")
        if by is not None and name == by.name:
            raise BadInput(f"--x {choice.x}: is the axis of --by too; choose another")
        x = free.pop(name)
    if x is None and choice.kind not in WITHOUT_X:
        numeric = [candidate for candidate in free.values() if candidate.numbers is not None]
        candidates = numeric or list(free.values())
        if not candidates and by is not None:  # the only axis
            free, by = {by.name: by}, None
            candidates = list(free.values())
        if not candidates:
            raise BadInput(f"--kind {choice.kind}: needs an axis with several labels; use --kind ecdf")
        x = free.pop(max(candidates, key=lambda candidate: len(candidate.labels)).name)
    if by is None and free:
        spoken = [candidate for candidate in free.values() if "control" in candidate.name]
        named = [candidate for candidate in free.values() if candidate.numbers is None]
        by = free.pop((spoken or named or list(free.values()))[0].name)
    facet = x if choice.kind == "ecdf" else None
    x = None if choice.kind == "ecdf" else x
    if facet is None and free:
        facet = free.pop(next(iter(free)))
    if free:
        _too_many(next(iter(free.values())), "in addition to those of the figure")
    if facet is not None and len(facet.labels) > MOST_PANELS:
        _too_many(facet, f"and a figure has at most {MOST_PANELS} panels")
    return _Layout(x, by, facet, delay)


def _too_many(free_axis: Axis | None, why: str) -> None:
    assert free_axis is not None
    some = ", ".join(free_axis.labels[:8])
    raise BadInput(
        f"the axis {free_axis.name} has {len(free_axis.labels)} labels {why}; choose one: "
        f"--where '{free_axis.name}={free_axis.labels[0]}' ({some})"
    )


def _delay(rows: Sequence[dict[str, object]]) -> str:
    """The delay of a figure of throughput against delay: the queueing delay if the paths do not change."""
    values = metric("queueing", rows).each(rows[0])
    return "queueing" if values else "rtt"
