"""`ackclock compare`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.table import Table

from ackclock.cli.console import wide_console
from ackclock.cli.options import percent
from ackclock.files import BadInput, check_picture, check_targets, save_figure
from ackclock.html import value
from ackclock.suite.measures import METRICS
from ackclock.text import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ackclock.stats import Estimate
    from ackclock.suite.difference import Change
    from ackclock.suite.result import SuiteResult
    from ackclock.text import PlainConsole

MOST_ROWS = 8
"""Changes that are printed after the largest ones, without --all."""
BAR = 6
"""Characters of the longest bar."""
NARROW = 100
"""In narrower terminals, intervals and bars are omitted."""

EXAMPLE = "ackclock compare out/suites/tcpeval/reno out/suites/tcpeval/cubic --tolerance 2%"


def command(
    a: Path,
    b: Path,
    /,
    *,
    tolerance: str = "1%",
    any_change: Annotated[bool, Parameter(name="--any")] = False,
    every: Annotated[bool, Parameter(name="--all")] = False,
    plot: Path | None = None,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
) -> int:
    """Compare two result folders of `ackclock suite`: the largest differences first. Exit status 1 if one is worse.

    Parameters
    ----------
    a
        Folder with the earlier results, or with those of the reference controller.
    b
        Folder with the later results, or with those of the compared controller.
    tolerance
        Largest relative change of the mean that is ignored.
    any_change
        Exit with status 1 for any change, including an improvement.
    every
        Print every changed metric.
    plot
        Draw the ten largest differences with 95 % intervals to this file (.svg, .png or .pdf).
    as_json
        Print every metric as a JSON list and nothing else.

    """
    from ackclock.suite.difference import changes_between, largest
    from ackclock.suite.result import read

    part = percent(tolerance, "--tolerance")
    if plot is not None:
        check_picture(plot)
        check_targets([plot])
    made = (read(a), read(b))
    found = changes_between(*made, tolerance=part)
    if plot is not None:
        from ackclock.suite.figures import differences

        top = largest(found)
        if not top:
            raise BadInput("--plot: no metric differs significantly, so there is nothing to draw")
        before, after = _names(*made)
        heading = f"Largest differences, {before} to {after}"
        save_figure(differences(top, before, after, heading=heading), plot)
        say(f"written: {plot}", error=True)
    if as_json:
        print(json.dumps([_plain(change) for change in found], allow_nan=False))
    else:
        changes(made, found, every=every)
    wrong = {"worse", "missing", "better", "other"} if any_change else {"worse", "missing"}
    return 1 if any(change.verdict in wrong for change in found) else 0


def _names(a: SuiteResult, b: SuiteResult) -> tuple[str, str]:
    """The names of the controllers, or those of the folders if the controllers are the same."""
    if a.metadata.control != b.metadata.control:
        return a.metadata.control, b.metadata.control
    return str(a.folder), str(b.folder)


def _plain(change: Change) -> dict[str, Any]:
    """The change as JSON data, with null for a missing number."""
    found = asdict(change)
    if change.verdict == "missing":
        found["difference"] = None
    return found


def changes(made: tuple[SuiteResult, SuiteResult], found: list[Change], *, every: bool) -> None:
    """Print which metrics changed between two runs of a suite: the largest differences, then the others."""
    from ackclock.suite.difference import largest

    console = wide_console()
    before, after = _names(*made)
    moved = [change for change in found if change.verdict != "same"]
    top = largest(moved)
    if top:
        console.print(changes_table(console, f"Largest differences, {before} to {after}", top))
    counts = {verdict: sum(c.verdict == verdict for c in found) for verdict in ("worse", "missing", "better", "other")}
    console.print(
        f"{len(found)} metrics compared: "
        + ", ".join(f"{number} {verdict}" for verdict, number in counts.items())
        + f"; {len(found) - len(moved)} show no difference",
        highlight=False,
    )
    if every and moved:
        console.print(_table("Every change", moved))
        return
    rest = sorted((c for c in moved if c not in top), key=lambda c: (c.verdict not in {"worse", "missing"}, -c.size))
    if rest:
        console.print(changes_table(console, "More changes, worse ones first", rest[:MOST_ROWS]))
    if len(rest) > MOST_ROWS:
        console.print(f"{len(rest) - MOST_ROWS} more changes: --all prints them, --json prints every metric")


def changes_table(console: PlainConsole, title: str, found: Sequence[Change]) -> Table:
    """A table of changes, one line each, with bars: their lengths are the logarithms of the ratios."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for head, side in (("metric", "left"), ("situation", "left"), ("means", "right"), ("", "left")):
        table.add_column(head, justify="right" if side == "right" else "left", no_wrap=True)
    table.add_column("ratio [95 %]" if console.width >= NARROW else "ratio", no_wrap=True)
    table.add_column("", no_wrap=True)
    longest = max((c.size for c in found), default=1.0) or 1.0
    rows = []
    for c in found:
        means = f"{value(c.a)} to {'-' if c.b is None else value(c.b)}"
        ratio = "" if c.b is None else _ratio(c.ratio, interval=console.width >= NARROW)
        bar = "#" * round(max(1, BAR * c.size / longest)) if c.b is not None and console.width >= NARROW else ""
        place = f"{c.situation}, {c.point}" if c.point else c.situation
        rows.append((c.metric, place, means, METRICS[c.metric].unit, ratio, f"{c.verdict:7} {bar}".rstrip()))
    others = sum(max((len(row[i]) for row in rows), default=0) for i in (0, 2, 3, 4, 5)) + 6
    room = max(14, console.width - max(others, 40))
    for metric, place, *rest in rows:
        table.add_row(metric, place if len(place) <= room else f"{place[: room - 3]}...", *rest)
    return table


def _ratio(e: Estimate, *, interval: bool) -> str:
    """A ratio, and with `interval` its interval if that differs from it in two digits."""
    shown = f"{e.value:.2g}"
    if not interval or e.low is None or e.high is None or f"{e.low:.2g}" == f"{e.high:.2g}":
        return shown
    return f"{shown} [{e.low:.2g}, {e.high:.2g}]"


def _table(title: str, found: Sequence[Change]) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for head in ("situation", "point", "metric", "before", "after", "difference [95 % interval]", "", "p"):
        left = head in {"situation", "point", "metric", ""}
        table.add_column(head, justify="left" if left else "right", overflow="fold")
    for c in found:
        d, unit = c.difference, METRICS[c.metric].unit
        shown = "" if d.low is None else f" [{d.low:+.3g}, {d.high:+.3g}]"
        name = f"{c.metric} ({unit})" if unit else c.metric
        after = "-" if c.b is None else f"{c.b:.4g}"
        numbers = (f"{c.a:.4g}", after, "-" if c.b is None else f"{d.value:+.3g}{shown}")
        p = "-" if c.p is None else f"{c.p:.2g}"
        table.add_row(c.situation, c.point, name, *numbers, c.verdict, p)
    return table
