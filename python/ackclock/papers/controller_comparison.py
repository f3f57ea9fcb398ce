"""The comparison of every controller on every paper's network (papers/comparison)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock import stats
from ackclock.files import UnmetNeed, svg_text, write_text
from ackclock.models import models
from ackclock.plot.labels import End, label_points
from ackclock.plot.style import legend, panels, point, settle
from ackclock.study.executors import Executor
from ackclock.study.sweep import Progress
from ackclock.suite.folder import Suite
from ackclock.suite.page import render
from ackclock.suite.result import SuiteResult
from ackclock.suite.run import run
from ackclock.suite.situation import Situation
from ackclock.text import drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class ControllerComparison:
    """The result: a suite run for each controller, and the controllers that no network supports, with reasons."""

    suite: Suite
    results: list[SuiteResult]
    refused: dict[str, str]

    def rows(self, situation: Situation) -> list[tuple[str, dict[str, stats.Estimate]]]:
        """Controllers with their metrics in a situation, most goodput first."""
        cells = []
        for result in self.results:
            estimates = {metric: e for (name, _, metric), e in result.estimates().items() if name == situation.id}
            if estimates:
                cells.append((result.metadata.control, estimates))
        return sorted(cells, key=lambda row: -row[1]["goodput"].value)


def compare_controllers(
    folder: Path,
    out: Path,
    executor: Executor,
    *,
    quick: bool = False,
    progress: Callable[[str], Progress | None] | None = None,
) -> ControllerComparison:
    """Run every registered controller through the suite in `folder`; finished runs are kept."""
    suite = Suite(folder)
    results, refused = [], {}
    for entry in models("controllers"):
        name = entry["name"]
        target = out / "comparison" / name
        advance = _as_one(progress, name)
        try:  # the suite extends networks from the folders of the papers
            result = run(suite, name, target, executor, quick=quick, page=False, progress=advance, allow_code=True)
            results.append(result)
        except UnmetNeed as error:
            refused[name] = str(error).removeprefix(f"{name}: ")
    for result in results:  # a page compares with the results of other controllers, so these come first
        write_text(result.folder / "index.html", render(suite, result))
    return ControllerComparison(suite, results, refused)


def _as_one(progress: Callable[[str], Progress | None] | None, name: str) -> Callable[[str], Progress | None] | None:
    """Report the studies of a controller as one, called `name`."""
    if progress is None:
        return None
    report, counts = progress(name), dict[str, tuple[int, int]]()

    def advance(study: str) -> Progress:
        def show(done: int, total: int) -> None:
            counts[study] = (done, total)
            if report is not None:
                report(sum(d for d, _ in counts.values()), sum(t for _, t in counts.values()))

        return show

    return advance


MOST_NAMED = 5
"""Maximum number of named points in a panel."""


def front(points: dict[str, tuple[float, float]]) -> set[str]:
    """Names of the Pareto-optimal points (delay, goodput)."""
    return {
        name
        for name, (delay, goodput) in points.items()
        if not any(d <= delay and g >= goodput and (d, g) != (delay, goodput) for d, g in points.values())
    }


def draw(comparison: ControllerComparison) -> str:
    """Draw goodput against 95th-percentile queueing delay, a panel for each network; SVG text."""
    situations = comparison.suite.situations
    figure, axes = panels(3, (len(situations) + 2) // 3, 3.5, share=False, width=12.5)
    names = [result.metadata.control for result in comparison.results]
    best = [_panel(panel, comparison, situation, names) for panel, situation in zip(axes, situations, strict=False)]
    for panel in axes[len(situations) :]:
        panel.set_visible(False)
    legend(figure, axes)
    settle(figure)
    label_points(figure, dict(zip(axes, best, strict=False)))
    return svg_text(figure, "comparison")


def _panel(axes: Axes, comparison: ControllerComparison, situation: Situation, names: list[str]) -> list[End]:
    """Draw one network. Returns the Pareto-optimal controllers, which are to be named."""
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    points: dict[str, tuple[float, float]] = {}
    colours: dict[str, str] = {}
    rows = dict(comparison.rows(situation))
    for number, name in enumerate(names):
        if name not in rows or "p95_queueing" not in rows[name]:
            continue
        delay, goodput = rows[name]["p95_queueing"], rows[name]["goodput"]
        # A logarithmic axis cannot show zero: delays below 0.1 ms are drawn at 0.1 ms.
        x = max(delay.value, 0.1)
        left = min(delay.half_width or 0.0, 0.9 * x)
        points[name] = (x, goodput.value)
        style = point(number)
        colours[name] = style["color"]
        axes.errorbar(
            [x],
            [goodput.value],
            [[min(goodput.half_width or 0.0, goodput.value)], [goodput.half_width or 0.0]],
            [[left], [delay.half_width or 0.0]],
            **style,
            markersize=6,
            linewidth=0.8,
            linestyle="none",
            label=name,
        )
    highest = max((goodput for _, goodput in points.values()), default=1.0)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.margins(x=0.15)
    least, most = axes.get_xlim()
    axes.xaxis.set_major_locator(LogLocator(subs=(1,) if most > 100 * least else (1, 2, 5), numticks=9))
    axes.set_ylim(0, 1.18 * max(highest, axes.get_ylim()[1] / 1.1))
    axes.set_title(drawn(f"{situation.title} ({situation.place})"), fontsize=10, loc="left")
    axes.set_xlabel("95th-percentile queueing delay (ms)", fontsize=9)
    axes.set_ylabel("goodput (Mb/s)", fontsize=9)
    best = sorted(front(points), key=lambda name: points[name])
    step = max(1, -(-len(best) // MOST_NAMED))
    return [End(*points[name], name, colours[name]) for name in best[::step]]
