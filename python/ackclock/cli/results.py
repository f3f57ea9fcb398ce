"""`ackclock results`."""

from __future__ import annotations

import json
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ackclock.base import tables
from ackclock.base.files import BadInput, check_picture, check_targets, save_figure
from ackclock.base.table_files import SUFFIXES as RUN_SUFFIXES
from ackclock.base.table_files import check_table
from ackclock.base.text import say
from ackclock.cli.goals_table import judgement
from ackclock.cli.study_table import study_results

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ackclock.study import Store

EXAMPLE = "ackclock results out/study --metric jain --export table.tex"


def command(
    folder: Path,
    /,
    *,
    goal: list[str] | None = None,
    per: str | None = None,
    runs: bool = False,
    export: Path | None = None,
    metric: list[str] | None = None,
    where: list[str] | None = None,
    robust: bool = False,
    plot: Path | None = None,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
) -> int:
    """Show the results of a study: means and 95 % intervals.

    It works during a sweep too. With --goal it shows which labels of an axis keep bounds, in how many conditions, and
    the worst condition of each.

    Parameters
    ----------
    folder
        Folder of the study.
    goal
        A bound: METRIC, FLOW.METRIC or LINK.METRIC, with <, <=, > or >= and a value, such as
        'call.p95_queueing < 30ms'. May be repeated; a condition meets all or does not. Met: the whole interval keeps
        the bound; not met: none of it does; undecided otherwise.
    per
        With --goal: the axis whose labels are judged; the other axes make the conditions. Default: the first axis.
    runs
        Print one JSON object for each finished run instead of the table.
    export
        Write to this file: the table as LaTeX (.tex) or Markdown (.md), or one row per run (.parquet or .csv) with
        run_id, seed, axes, outcome.
    metric
        Metric to show: a number of the outcome, such as fwd.goodput_bps, "r1->r2.utilisation" or jain. May be repeated.
        Default: goodput, round-trip time and retransmissions of the first TCP flows, utilisation and queueing delay
        of the link that is used most, Jain's index.
    where
        Show only the points at which an axis has this label: AXIS=LABEL. May be repeated.
    robust
        Show the median over the seeds beside each mean, with the interval between two of the runs by their ranks, which
        assumes no distribution: from six runs on.
    plot
        Draw the metric of the first goal, or the first metric (default: goodput), with 95 % intervals to this file
        (.svg, .pdf, .png or .eps). For other figures: ackclock plot.
    as_json
        Print the table as JSON, in SI units, and nothing else.

    """
    from ackclock.study import Store, results

    if plot is not None:
        check_picture(plot)
        check_targets([plot])
    if export is not None:
        _check_export(export)
    if per is not None and not goal:
        raise BadInput("--per: names the axis that --goal judges; add --goal 'METRIC < VALUE'")
    if goal and (runs or metric):
        raise BadInput("--goal: judges by its own metrics; omit --runs and --metric")
    if robust and (goal or runs):
        raise BadInput("--robust: adds medians to the table of means; omit --goal and --runs")
    if as_json and runs:
        raise BadInput("--runs: prints JSON already, a line for each run; omit --json")
    with Store.open(folder) as store:
        chosen = where or []
        if plot is not None:
            _draw(store, plot, metric or [], goal or [], chosen)
        if runs:
            _print_runs(store, chosen)
        if export is not None and export.suffix in RUN_SUFFIXES:
            from ackclock.study.results import export as export_runs

            export_runs(store, export, chosen)
            say(f"written: {export}", error=True)
            export = None
            quiet = not goal and not as_json
        else:
            quiet = runs
        if goal:
            _goals(store, goal, per, chosen, export, as_json=as_json)
        elif not quiet:
            rows = results.summary(store, metric or (), chosen, robust=robust)
            _means(store, rows, export, as_json=as_json)
        for note in store.notes:
            say(f"ackclock: {folder}: {note}", error=True)
        return 1 if store.damaged else 0


def _check_export(path: Path) -> None:
    if path.suffix in {".tex", ".md"}:
        tables.check_export(path, "--export")
    elif path.suffix in RUN_SUFFIXES:
        check_table(path, "--export")
    else:
        raise BadInput(f"--export {path}: the name must end in .tex, .md, .csv or .parquet")


def _means(store: Store, rows: list[dict[str, Any]], export: Path | None, *, as_json: bool) -> None:
    """Print the mean of each metric at each point, and write the table."""
    from ackclock.study import results

    if export is not None:
        if not rows:
            raise BadInput(f"--export: {store.folder}: no run has finished yet")
        tables.write(results.columns(rows), export)
        say(f"written: {export}", error=True)
    if as_json:
        print(json.dumps([results.plain(row) for row in rows], allow_nan=False))
    elif export is None:
        study_results(store.about("title") or str(store.folder), rows)


def _goals(
    store: Store, texts: Sequence[str], per: str | None, where: Sequence[str], export: Path | None, *, as_json: bool
) -> None:
    """Print which labels of an axis meet the goals, and write the table."""
    from ackclock.study import goals
    from ackclock.study.results import points

    judged = goals.judge(points(store, where), texts, per)
    if export is not None:
        tables.write(goals.columns(judged), export)
        say(f"written: {export}", error=True)
    if as_json:
        print(json.dumps(goals.as_json(judged), allow_nan=False))
    elif export is None:
        judgement(judged, goals.not_modelled(store.about("scenario") or ""))
        planned, missing = int(store.about("planned") or 0), store.missing()
        if missing:
            say(f"{missing} of {planned} runs have no outcome; what they would have decided is not in the table.")


def _print_runs(store: Store, where: Sequence[str]) -> None:
    from ackclock.study.results import matching

    rows = list(store.runs())
    for run in compress(rows, matching(where, [run["axes"] for run in rows])):
        print(json.dumps(run))


def _draw(store: Store, target: Path, metrics: Sequence[str], texts: Sequence[str], where: Sequence[str]) -> None:
    """Draw the first metric, or that of the first goal."""
    from ackclock.draw.studies import Choice, study_figure
    from ackclock.study.goals import goal
    from ackclock.study.results import points

    table = points(store, where)
    drawn = [goal(text, table).metric for text in texts[:1]] or metrics[:1]
    save_figure(study_figure(table, Choice(y=drawn)), target)
    say(f"written: {target}", error=True)
