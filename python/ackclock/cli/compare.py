"""`ackclock compare`."""

from __future__ import annotations

import json
import math
import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.table import Table

from ackclock.apps.suite.measures import SUITE_METRICS
from ackclock.base.files import BadInput, check_picture, check_targets, save_figure
from ackclock.base.si import estimate, prefixed, value
from ackclock.base.text import fail, say
from ackclock.base.units import percent
from ackclock.cli.console import counted_progress, wide_console
from ackclock.cli.options import AllowCode, Jobs, Overrides, TimeLimit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ackclock.apps.comparison import Comparison, Row
    from ackclock.apps.suite.difference import Change
    from ackclock.apps.suite.result import SuiteResult
    from ackclock.base.text import PlainConsole
    from ackclock.stats import Estimate
    from ackclock.study.executors import Executor

MOST_ROWS = 8
"""Changes that are printed after the largest ones, without --all."""
BAR = 6
"""Characters of the longest bar."""
NARROW = 100
"""In narrower terminals, intervals and bars are omitted."""

EXAMPLE = "ackclock compare --control bbr,cubic --on @cellular,@bufferbloat"


def command(
    *targets: Path,
    control: list[str] | None = None,
    on: list[str] | None = None,
    seeds: int = 10,
    metric: list[str] | None = None,
    set_: Overrides = None,
    out: Path | None = None,
    jobs: Jobs = None,
    time_limit: TimeLimit = None,
    tolerance: str = "1%",
    gate: bool = False,
    any_change: Annotated[bool, Parameter(name="--any")] = False,
    every: Annotated[bool, Parameter(name="--all")] = False,
    plot: Path | None = None,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
    allow_code: AllowCode = False,
) -> int:
    """Compare controllers on several networks.

    With --control, the first controller is compared with each other one on every network, by runs with the same seeds.
    With two result folders of `ackclock suite`, the largest differences come first; the exit status is 1 if one is
    worse.

    Parameters
    ----------
    targets
        With --control: scenario files (or @NAME). Otherwise two folders: the earlier results, or those of the reference
        controller, and the later ones.
    control
        Controllers, separated by commas or the option repeated: names, FILE.py:CLASS, or tables of TOML. Every TCP flow
        gets the controller.
    on
        With --control: more scenario files (or @NAME), separated by commas or the option repeated.
    seeds
        With --control: number of seeds.
    metric
        With --control: metrics, separated by commas or the option repeated. Default: goodput, 95th percentile of the
        queueing delay (or the round-trip time where the path changes), retransmissions.
    set_
        With --control: replace one value in every scenario first: KEY=VALUE. May be repeated.
    out
        With --control: folder of the runs, which are kept. Default: out/compare/CONTROLLERS.
    jobs
        With --control: number of threads, or of processes for controllers in Python. Default: all cores.
    time_limit
        Longest time of one run with a controller in Python, such as 60s; a run that takes longer has failed. 0: no
        limit. Default: 10 minutes.
    tolerance
        Largest relative change of the mean that is ignored.
    gate
        With --control: exit with status 1 if the first controller is worse in a metric, or was not run in a network.
        Folders: always so.
    any_change
        Folders: exit with status 1 for any change, including an improvement.
    every
        Folders: print every changed metric.
    plot
        Draw the differences with 95 % intervals to this file (.svg, .png or .pdf): of folders, the ten largest.
    as_json
        Print every metric as a JSON list and nothing else.
    allow_code
        Allow scenario files to name code and base files (`extends`) outside their own folder.

    """
    if plot is not None:
        check_picture(plot)
        check_targets([plot])
    if control is not None:
        from ackclock.study.executors import Local

        files = [*map(str, targets), *_parts(on)]
        part = percent(tolerance, "--tolerance")
        what = (files, _parts(control), _parts(metric), seeds, set_ or [], out, Local(jobs, time_limit), plot, part)
        return _networks(*what, gate=gate, as_json=as_json, allow_code=allow_code)
    if on is not None or len(targets) != 2:
        raise BadInput("compare needs two folders of suites, or --control CONTROLLER,CONTROLLER and networks (--on)")
    return _folders(
        *targets, percent(tolerance, "--tolerance"), plot, any_change=any_change, every=every, as_json=as_json
    )


def _folders(a: Path, b: Path, part: float, plot: Path | None, *, any_change: bool, every: bool, as_json: bool) -> int:
    """Compare two result folders of suites."""
    from ackclock.apps.suite.difference import changes_between, largest
    from ackclock.apps.suite.result import read

    results = (read(a), read(b))
    changed = changes_between(*results, tolerance=part)
    if plot is not None:
        from ackclock.apps.suite.figures import differences

        top = largest(changed)
        if not top:
            raise BadInput("--plot: no metric differs significantly, so there is nothing to draw")
        before, after = _names(*results)
        heading = f"Largest differences, {before} to {after}"
        save_figure(differences(top, before, after, heading=heading), plot)
        say(f"written: {plot}", error=True)
    if as_json:
        print(json.dumps([_plain(change) for change in changed], allow_nan=False))
    else:
        changes(results, changed, every=every)
    wrong = {"worse", "missing", "better", "other"} if any_change else {"worse", "missing"}
    return 1 if any(change.verdict in wrong for change in changed) else 0


def _parts(texts: Sequence[str] | None) -> list[str]:
    """Values that commas separate; a comma inside braces separates none."""
    return [part.strip() for text in texts or [] for part in re.split(r",(?![^{]*})", text) if part.strip()]


def _networks(
    files: list[str],
    named: list[str],
    metrics: list[str],
    seeds: int,
    overrides: Sequence[str],
    out: Path | None,
    executor: Executor,
    plot: Path | None,
    tolerance: float,
    *,
    gate: bool,
    as_json: bool,
    allow_code: bool,
) -> int:
    """Compare controllers on networks."""
    from ackclock.apps import comparison
    from ackclock.apps.suite.run import folder_name
    from ackclock.base.files import check_folder
    from ackclock.draw.style import fitted

    if not files:
        raise BadInput("--control: needs networks: scenario files, or --on @cellular,@bufferbloat")
    target = out or Path("out") / "compare" / "-".join(folder_name(name) for name in named)
    check_folder(target)
    try:
        with counted_progress("network", len(files)) as progress:
            result = comparison.compare(
                files,
                named,
                target,
                executor,
                seeds=seeds,
                metrics=metrics or comparison.METRICS,
                overrides=overrides,
                tolerance=tolerance,
                allow_code=allow_code,
                progress=progress,
            )
    except KeyboardInterrupt:
        return fail(f"interrupted; finished runs are kept in {target}; repeat the command to resume", 130)
    if plot is not None:
        save_figure(fitted(lambda: comparison.draw(result), None), plot)
        say(f"written: {plot}", error=True)
    if as_json:
        print(json.dumps([_row(row) for row in result.rows], allow_nan=False))
        return _status(result, gate=gate)
    for reason in result.refused:
        say(reason, error=not result.rows)
    if not result.rows:
        _status(result, gate=False)
        return fail("nothing was compared: no network has values of two controllers", 1)
    wide_console().print(_networks_table(result))
    say(f"{seeds} seeds; ratio: {result.first} over the other, paired by seed, with 95 % interval (not corrected).")
    say(f"Verdicts: at most 5 % of the differences are false over {len(result.rows)} comparisons.")
    folders = ", ".join(str(target / name) for name in dict.fromkeys(row.network for row in result.rows))
    say(f"The runs (ackclock results FOLDER): {folders}")
    return _status(result, gate=gate)


def _status(result: Comparison, *, gate: bool) -> int:
    """Print how runs have failed, and with `gate` what is worse; returns the exit status."""
    for reason in result.failed:
        fail(reason, 1)
    worse = _gate(result) if gate else 0
    return 1 if result.failed else worse


def _gate(result: Comparison) -> int:
    """Exit status 1, with the reasons, if the first controller is worse, or could not be compared."""
    wrong = [
        f"{row.network}: {row.metric.words}: {result.first} is worse than {row.other}"
        for row in result.rows
        if row.verdict == "worse"
    ]
    wrong += [f"{row.network}: {row.metric.words}: too few pairs" for row in result.rows if row.verdict == "too few"]
    wrong += [reason for reason in result.refused if f": {result.first} was not run:" in reason]
    if not result.rows:
        wrong.append("nothing was compared")
    for reason in wrong:
        fail(f"--gate: {reason}", 1)
    return 1 if wrong else 0


def _row(row: Row) -> dict[str, Any]:
    """A row as JSON data, in SI units."""
    return {
        "network": row.network,
        "metric": row.metric.name,
        "other": row.other,
        "first_mean": row.first_mean,
        "other_mean": row.other_mean,
        "ratio": [row.ratio.value, row.ratio.low, row.ratio.high] if math.isfinite(row.ratio.value) else None,
        "pairs": row.ratio.n,
        "p": row.p,
        "verdict": row.verdict,
    }


def _networks_table(result: Comparison) -> Table:
    """One line for each network, metric and other controller."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for head in ("network", "metric", result.first, "other", "", "ratio [95 %]", ""):
        table.add_column(head, justify="right" if head in {result.first, ""} else "left", no_wrap=head != "metric")
    seen: tuple[str, str] = ("", "")
    for row in result.rows:
        factor, unit = prefixed(row.metric.unit, [row.first_mean, row.other_mean])
        place = (row.network, row.metric.name)
        first = (row.network, row.metric.name.replace("_", " "), f"{factor * row.first_mean:.3g} {unit}".rstrip())
        shown = first if place != seen else ("", "", "")
        ratio = estimate(row.ratio) if math.isfinite(row.ratio.value) else "-"
        table.add_row(*shown, row.other, f"{factor * row.other_mean:.3g} {unit}".rstrip(), ratio, row.verdict)
        seen = place
    return table


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
