"""`ackclock results`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.base.files import check_picture, check_targets, save_figure
from ackclock.base.table_files import check_table
from ackclock.base.text import say
from ackclock.cli.study_table import study_results

if TYPE_CHECKING:
    from ackclock.study import Store

EXAMPLE = "ackclock results out/study --metric jain --export runs.csv"


def command(
    folder: Path,
    /,
    *,
    runs: bool = False,
    export: Path | None = None,
    metric: list[str] | None = None,
    where: list[str] | None = None,
    plot: Path | None = None,
) -> int:
    """Show the results of a study: means and 95 % intervals.

    It works during a sweep too.

    Parameters
    ----------
    folder
        Folder of the study.
    runs
        Print one JSON object for each finished run instead of the table.
    export
        Write one row per run (.parquet or .csv): run_id, seed, axes, outcome.
    metric
        Metric to show: a number of the outcome, such as fwd.goodput_bps, "r1->r2.utilisation" or jain. May be repeated.
        Default: goodput, round-trip time and retransmissions of the first TCP flows, utilisation and queueing delay
        of the link that is used most, Jain's index.
    where
        Show only the points at which an axis has this label: AXIS=LABEL. May be repeated.
    plot
        Draw the first metric (default: goodput) with 95 % intervals to this file (.svg, .png or .pdf). For other
        figures: ackclock plot.

    """
    from ackclock.study import Store
    from ackclock.study import results as tables

    if plot is not None:
        check_picture(plot)
        check_targets([plot])
    if export is not None:
        check_table(export, "--export")
    with Store.open(folder) as store:
        if plot is not None:
            _draw(store, plot, metric or [], where or [])
        if runs:
            all_runs = list(store.runs())
            keep = tables.matching(where or (), [run["axes"] for run in all_runs])
            for run in (run for run, kept in zip(all_runs, keep, strict=True) if kept):
                print(json.dumps(run))
        if export is not None:
            tables.export(store, export, where or ())
            say(f"written: {export}", error=True)
        if not runs and export is None:
            study_results(store.about("title") or str(folder), tables.summary(store, metric or (), where or ()))
        for note in store.notes:
            say(f"ackclock: {folder}: {note}", error=True)
        return 1 if store.damaged else 0


def _draw(store: Store, target: Path, metrics: list[str], where: list[str]) -> None:
    from ackclock.draw.studies import Choice, study_figure
    from ackclock.study.results import points

    save_figure(study_figure(points(store, where), Choice(y=metrics[:1])), target)
    say(f"written: {target}", error=True)
