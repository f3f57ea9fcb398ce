"""The page of a report: one self-contained HTML file, made from the document."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ackclock.apps.agree import figures
from ackclock.apps.agree.document import Document, rows_of
from ackclock.apps.agree.metrics import DISTANCE, DISTANCE_CAP, DISTANCE_FLOOR
from ackclock.base.files import svg_text
from ackclock.base.si import value
from ackclock.draw.page import environment

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def render(document: Document) -> str:
    """The page as HTML."""
    names = [substrate["name"] for substrate in document["substrates"]]
    every = rows_of(document)
    templates = environment("ackclock.apps.agree")
    templates.filters["label"] = figures.label
    return templates.get_template("agree.html").render(
        d=document,
        names=names,
        live=any(substrate["real_time"] for substrate in document["substrates"]),
        invalid=any(
            runs_of_substrate["invalid"]
            for one in document["controllers"]
            for runs_of_substrate in one["substrates"].values()
        ),
        findings=[row for row in every if row[2]["verdict"] == "differs" and row[2]["known"] is None],
        forest=_svg(figures.forest(document), "forest"),
        windows=_svg(figures.windows(document), "windows"),
        distributions=_svg(figures.distributions(document), "distributions"),
        floor=DISTANCE_FLOOR,
        cap=DISTANCE_CAP,
        shown={one["name"]: one for one in document["shown"]},
        command=shlex.join(document["command"]),
        label=figures.label,
        words_of=figures.words_of,
        row_of=row_of,
        mean_of=mean_of,
        notes_of=lambda name: _notes(document, name),
        result=result,
        spread=spread,
        ms=lambda seconds: "-" if seconds is None else value(1e3 * seconds),
    )


def _svg(figure: Figure, name: str) -> str:
    """A figure without a background of its own, so that it fits light and dark pages."""
    for patch in (figure.patch, *(axes.patch for axes in figure.axes)):
        patch.set_visible(False)
    return svg_text(figure, name)


def _notes(document: Document, substrate: str) -> list[str]:
    """What a substrate does not take over from the scenario, each remark once."""
    notes = [note.rstrip(".") for c in document["controllers"] for note in c["substrates"][substrate]["notes"]]
    return list(dict.fromkeys(notes))


def row_of(controller: Mapping[str, Any], metric: str) -> dict[str, Any]:
    """The rows of a metric by substrate; empty if the metric does not apply."""
    return {
        comparison["substrate"]: row
        for comparison in controller["comparisons"]
        for row in comparison["rows"]
        if row["metric"] == metric
    }


def result(row: Mapping[str, Any]) -> str:
    """The ratio, difference or distance of a row."""
    if row["test"] == "both 0":
        return "both 0"
    if row["value"] is None:
        return ""
    return format(row["value"], {"ratio": ".3f", "difference": "+.3g"}.get(row["test"], ".3g"))


def spread(row: Mapping[str, Any]) -> str:
    """The 90 % interval of a ratio and its region; of a difference or a distance its bound; else the reason."""
    if row["test"] == "ratio":
        interval = "" if row["low90"] is None else f"[{row['low90']:.3f}, {row['high90']:.3f}]; "
        return f"{interval}region {row['low']:.3g} to {row['high']:.3g}"
    if row["value"] is None or row["high"] is None:
        return "" if row["test"] == "both 0" else str(row["reason"])
    if row["verdict"] == "not compared":
        return str(row["reason"])
    return (
        f"{row['test']}, region ±{value(row['high'])}" if row["low"] else f"{row['test']}, bound {value(row['high'])}"
    )


def mean_of(controller: Mapping[str, Any], substrate: str, metric: str, *, bare: bool = False) -> str:
    """The mean of a metric on a substrate with the half-width of its interval (not if `bare`), as text."""
    mean = None if metric == DISTANCE else controller["substrates"][substrate]["means"].get(metric)
    if mean is None:
        return "" if metric == DISTANCE else "-"
    text = value(mean["value"])
    if bare or mean["low"] is None or mean["high"] == mean["low"]:
        return text
    return f"{text} ± {value((mean['high'] - mean['low']) / 2, 2)}"
