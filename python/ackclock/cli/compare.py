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
from ackclock.suite.measures import METRICS

if TYPE_CHECKING:
    from ackclock.suite.difference import Change
    from ackclock.suite.result import SuiteResult

EXAMPLE = "ackclock compare out/suites/tcpeval/reno out/suites/tcpeval/cubic --tolerance 2%"


def command(
    a: Path,
    b: Path,
    /,
    *,
    tolerance: str = "1%",
    any_change: Annotated[bool, Parameter(name="--any")] = False,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
) -> int:
    """Compare two result folders of `ackclock suite` and list changed metrics. Exit status 1 if one is worse.

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
    as_json
        Print every metric as a JSON list and nothing else.

    """
    from ackclock.suite.difference import changes_between
    from ackclock.suite.result import read

    part = percent(tolerance, "--tolerance")
    made = (read(a), read(b))
    found = changes_between(*made, tolerance=part)
    if as_json:
        print(json.dumps([_plain(change) for change in found], allow_nan=False))
    else:
        changes(made, found)
    wrong = {"worse", "missing", "better", "other"} if any_change else {"worse", "missing"}
    return 1 if any(change.verdict in wrong for change in found) else 0


def _plain(change: Change) -> dict[str, Any]:
    """The change as JSON data, with null for a missing number."""
    found = asdict(change)
    if change.verdict == "missing":
        found["difference"] = None
    return found


def changes(made: tuple[SuiteResult, SuiteResult], found: list[Change]) -> None:
    """Print which metrics changed between two runs of a suite."""
    console = wide_console()
    a, b = made
    title = f"{a.metadata.control} ({a.folder}) against {b.metadata.control} ({b.folder})"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for head in ("situation", "point", "metric", "before", "after", "difference [95 % interval]", "", "p"):
        left = head in {"situation", "point", "metric", ""}
        table.add_column(head, justify="left" if left else "right", overflow="fold")
    moved = [change for change in found if change.verdict != "same"]
    for c in moved:
        d, unit = c.difference, METRICS[c.metric].unit
        shown = "" if d.low is None else f" [{d.low:+.3g}, {d.high:+.3g}]"
        name = f"{c.metric} ({unit})" if unit else c.metric
        after = "-" if c.b is None else f"{c.b:.4g}"
        numbers = (f"{c.a:.4g}", after, "-" if c.b is None else f"{d.value:+.3g}{shown}")
        p = "-" if c.p is None else f"{c.p:.2g}"
        table.add_row(c.situation, c.point, name, *numbers, c.verdict, p)
    if moved:
        console.print(table)
    counts = {verdict: sum(c.verdict == verdict for c in found) for verdict in ("worse", "missing", "better", "other")}
    console.print(
        f"{len(found)} metrics compared: "
        + ", ".join(f"{number} {verdict}" for verdict, number in counts.items())
        + f"; {len(found) - len(moved)} show no difference",
        highlight=False,
    )
