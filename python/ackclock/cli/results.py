"""`ackclock results`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from ackclock.cli.console import wide_console
from ackclock.text import say

if TYPE_CHECKING:
    from ackclock.stats import Estimate

EXAMPLE = "ackclock results out/study --metric jain --export runs.csv"
SCALES = {"_bps": (1e-3, "kb/s"), "_s": (1e3, "ms"), "_bytes": (1e-3, "kB")}
"""Factor and unit in which a quantity is printed, by the ending of its name."""


def command(
    folder: Path,
    /,
    *,
    runs: bool = False,
    export: Path | None = None,
    metric: list[str] | None = None,
    where: list[str] | None = None,
) -> int:
    """Show the results of a study: mean and 95 % interval over the seeds for each point. Works during a sweep.

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
    where
        Show only the points at which an axis has this label: AXIS=LABEL. May be repeated.

    """
    from ackclock.study import Store
    from ackclock.study import results as tables

    with Store.open(folder) as store:
        if runs:
            found = list(store.runs())
            keep = tables.matching(where or (), [run["axes"] for run in found])
            for run in (run for run, kept in zip(found, keep, strict=True) if kept):
                print(json.dumps(run))
        if export is not None:
            tables.export(store, export, where or ())
            say(f"written: {export}", error=True)
        if not runs and export is None:
            study_results(store.about("title") or str(folder), tables.summary(store, metric or (), where or ()))
        for note in store.notes:
            say(f"ackclock: {folder}: {note}", error=True)
        return 1 if store.damaged else 0


def study_results(title: str, rows: list[dict[str, Any]]) -> None:
    """Print a table of points: axes, runs, means with 95 % intervals."""
    console = wide_console()
    if not rows:
        console.print(f"{title}: no run has finished yet")
        return
    table = Table(title=f"{title}: mean [95 % interval] over the seeds", title_justify="left", box=None, pad_edge=False)
    for axis in rows[0]["axes"]:
        table.add_column(axis, overflow="fold")
    table.add_column("runs", justify="right")
    for name in rows[0]["means"]:
        table.add_column(_headed(name), justify="right", overflow="fold")
    for row in rows:
        counted = 1 if row["deterministic"] else row["runs"]
        cells = [_interval(name, estimate, counted) for name, estimate in row["means"].items()]
        runs = f"{row['runs']}, deterministic (n = 1)" if row["deterministic"] else str(row["runs"])
        table.add_row(*row["axes"].values(), runs, *cells)
    console.print(table)
    if any(row["deterministic"] for row in rows):
        console.print("Deterministic: all seeds gave the same outcome, so the means have no interval.")


def _scale(name: str) -> tuple[float, str]:
    return next((scale for ending, scale in SCALES.items() if name.endswith(ending)), (1.0, ""))


def _headed(name: str) -> str:
    unit = _scale(name)[1]
    ending = next((ending for ending in SCALES if name.endswith(ending)), "")
    return f"{name.removesuffix(ending)} ({unit})" if unit else name


def _interval(name: str, e: Estimate, runs: int) -> str:
    """Mean and interval, with n if some runs lack the metric."""
    factor = _scale(name)[0]
    if e.n == 0:
        return "-"
    ends = "" if e.low is None or e.high is None else f" [{e.low * factor:.5g}, {e.high * factor:.5g}]"
    return f"{e.value * factor:.5g}{ends}" + (f" (n = {e.n})" if e.n < runs else "")
