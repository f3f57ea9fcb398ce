"""The comparison of two result folders of suites, for `ackclock compare`, and the table of changes."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.table import Table

from ackclock.apps.suite.measures import SUITE_METRICS
from ackclock.base.files import save_figure
from ackclock.base.si import value
from ackclock.base.text import say
from ackclock.cli.console import wide_console

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ackclock.apps.suite.difference import Change
    from ackclock.apps.suite.result import SuiteResult
    from ackclock.base.plain_console import PlainConsole
    from ackclock.stats import Estimate

MOST_ROWS = 8
"""Changes that are printed after the largest ones, without --all."""
BAR = 6
"""Characters of the longest bar."""
NARROW = 100
"""In narrower terminals, intervals and bars are omitted."""


def compare_folders(
    a: Path, b: Path, part: float, plot: Path | None, *, any_change: bool, every: bool, as_json: bool
) -> int:
    """Compare two result folders of suites."""
    from ackclock.apps.suite.difference import changes_between, largest
    from ackclock.apps.suite.result import read

    results = (read(a), read(b))
    changed = changes_between(*results, tolerance=part)
    if as_json:
        print(json.dumps([_plain(change) for change in changed], allow_nan=False))
    else:
        changes(results, changed, every=every)
    if plot is not None:
        from ackclock.apps.suite.figures import differences

        if top := largest(changed):
            before, after = _names(*results)
            heading = f"Largest differences, {before} to {after}"
            save_figure(differences(top, before, after, heading=heading), plot)
            say(f"written: {plot}", error=True)
        else:
            say(f"not written: {plot}: no metric differs significantly", error=True)
    wrong = {"worse", "missing", "better", "other"} if any_change else {"worse", "missing"}
    return 1 if any(change.verdict in wrong for change in changed) else 0


def _names(a: SuiteResult, b: SuiteResult) -> tuple[str, str]:
    """The names of the controllers, or those of the folders if the controllers are the same."""
    if a.metadata.control != b.metadata.control:
        return a.metadata.control, b.metadata.control
    return str(a.folder), str(b.folder)


def _plain(change: Change) -> dict[str, Any]:
    """The change as JSON data, with null for a missing number."""
    plain = asdict(change)
    if change.verdict == "missing":
        plain["difference"] = None
    return plain


def changes(results: tuple[SuiteResult, SuiteResult], rows: list[Change], *, every: bool) -> None:
    """Print which metrics changed between two runs of a suite: the largest differences, then the others."""
    from ackclock.apps.suite.difference import largest

    console = wide_console()
    before, after = _names(*results)
    moved = [change for change in rows if change.verdict != "same"]
    top = largest(moved)
    if top:
        console.print(changes_table(console, f"Largest differences, {before} to {after}", top))
    counts = {verdict: sum(c.verdict == verdict for c in rows) for verdict in ("worse", "missing", "better", "other")}
    console.print(
        f"{len(rows)} metrics compared: "
        + ", ".join(f"{number} {verdict}" for verdict, number in counts.items())
        + f"; {len(rows) - len(moved)} show no difference",
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


def changes_table(console: PlainConsole, title: str, changed: Sequence[Change]) -> Table:
    """A table of changes, one line each, with bars: their lengths are the logarithms of the ratios."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for head, side in (("metric", "left"), ("situation", "left"), ("means", "right"), ("", "left")):
        table.add_column(head, justify="right" if side == "right" else "left", no_wrap=True)
    table.add_column("ratio [95 %]" if console.width >= NARROW else "ratio", no_wrap=True)
    table.add_column("", no_wrap=True)
    longest = max((c.size for c in changed), default=1.0) or 1.0
    rows = []
    for c in changed:
        means = f"{value(c.a)} to {'-' if c.b is None else value(c.b)}"
        ratio = "" if c.b is None else _ratio(c.ratio, interval=console.width >= NARROW)
        bar = "#" * round(max(1, BAR * c.size / longest)) if c.b is not None and console.width >= NARROW else ""
        place = f"{c.situation}, {c.point}" if c.point else c.situation
        rows.append((c.metric, place, means, SUITE_METRICS[c.metric].unit, ratio, f"{c.verdict:7} {bar}".rstrip()))
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


def _table(title: str, rows: Sequence[Change]) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for head in ("situation", "point", "metric", "before", "after", "difference [95 % interval]", "", "p"):
        left = head in {"situation", "point", "metric", ""}
        table.add_column(head, justify="left" if left else "right", overflow="fold")
    for c in rows:
        d, unit = c.difference, SUITE_METRICS[c.metric].unit
        shown = "" if d.low is None else f" [{d.low:+.3g}, {d.high:+.3g}]"
        name = f"{c.metric} ({unit})" if unit else c.metric
        after = "-" if c.b is None else f"{c.b:.4g}"
        numbers = (f"{c.a:.4g}", after, "-" if c.b is None else f"{d.value:+.3g}{shown}")
        p = "-" if c.p is None else f"{c.p:.2g}"
        table.add_row(c.situation, c.point, name, *numbers, c.verdict, p)
    return table
