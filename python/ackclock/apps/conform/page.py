"""The page of a comparison: one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ackclock.apps.conform.compare import Report, count, needed, number, sentence, words, worst
from ackclock.base.files import svg_text
from ackclock.base.text import drawn
from ackclock.draw.page import environment
from ackclock.draw.style import BAND, INK, SOFT, panels, pt, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = 3


def render(reports: Sequence[Report], command: str) -> str:
    """The page as HTML."""
    template = environment("ackclock.apps.conform").get_template("conform.html")
    return template.render(
        reports=reports,
        command=command,
        counts=[count(report) for report in reports],
        figures=[svg_text(_clear(curves(report)), f"curves{place}") for place, report in enumerate(reports)],
        words=words,
        sentence=sentence,
        needed=needed,
        ratio=ratio,
    )


def ratio(metric: dict[str, Any]) -> str:
    """The ratio or the difference to the nearer reference, short."""
    comparison = metric["comparison"]
    value = comparison["value"]
    if value is None:
        return "" if comparison["stack"] is None else number(comparison["stack"], metric["unit"])
    if comparison["test"] == "difference":
        return ("+" if value >= 0 else "-") + number(abs(value), metric["unit"])
    return f"{value:.3f}"


def _clear(figure: Figure) -> Figure:
    """A figure without a background of its own, so that it fits light and dark pages."""
    for patch in (figure.patch, *(axes.patch for axes in figure.axes)):
        patch.set_visible(False)
    return figure


def curves(report: Report) -> Figure:
    """The rate of the stack over time beside the range of the references, a panel for each situation."""
    situations = report["situations"]
    columns = min(COLUMNS, len(situations))
    figure, axes = panels(columns, -(-len(situations) // columns), 1.6, share=False)
    for spare in axes[len(situations) :]:
        spare.set_visible(False)
    for place, (panel, situation) in enumerate(zip(axes, situations, strict=False)):
        curve = situation["curve"]
        times = [curve["step_s"] * (n + 0.5) for n in range(len(curve["stack_bps"]))]
        low, high = ([value / 1e6 for value in curve[key]] for key in ("low_bps", "high_bps"))
        panel.fill_between(times, low, high, color=BAND, linewidth=0)
        panel.plot(times, [value / 1e6 for value in curve["stack_bps"]], color=INK, linewidth=1)
        panel.set_title(drawn(f"{situation['name']}: {words(worst(situation))}"), fontsize=pt(9), loc="left")
        panel.set_ylim(bottom=0)
        if place % columns == 0:
            panel.set_ylabel("Mb/s", fontsize=pt(8), color=SOFT)
        if place >= len(situations) - columns:
            panel.set_xlabel("time, s", fontsize=pt(8), color=SOFT)
        tidy(panel)
    return figure
