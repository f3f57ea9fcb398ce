"""A study's results as tables: one row for each run, or one row for each point with means and intervals."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import stats
from ackclock.base.assignment import assignment
from ackclock.base.axes import Point, axis_words, named
from ackclock.base.files import BadInput, check_targets
from ackclock.base.table_files import check_table, write_frame
from ackclock.base.tables import Column
from ackclock.base.text import lost_connections
from ackclock.draw.table import StudyTable
from ackclock.metrics import bounds, metric, metric_of, numbers
from ackclock.metrics.registry import METRICS, by_logarithm, key_metric

if TYPE_CHECKING:
    import polars as pl

    from ackclock.study.store import Store

DEFAULT_METRICS = ("goodput_bps", "mean_rtt_s", "retransmitted_packets")
"""Metrics of a flow that are shown by default."""
MOST_FLOWS = 6
"""Flows that are shown by default."""


def table(store: Store, where: Sequence[str] = ()) -> pl.DataFrame:
    """One row for each finished run, in the order of the plan: run_id, seed, axes, then every number of the outcome.

    Run times are omitted, so that the table is the same however often the study was interrupted. If a QUIC flow lost
    its connection, there is a column `FLOW.connection_error`. An axis that has the name of another column becomes the
    column `axis.NAME`. `where` selects points by `AXIS=LABEL`. Raises BadInput for
    an unknown axis or label.
    """
    import polars as pl

    rows = []
    for row in _chosen(store, where):
        identity = {"run_id": row["run_id"], "seed": row["seed"]}
        by_name = numbers(row)
        taken = identity.keys() | by_name.keys()
        axes = {f"axis.{name}" if name in taken else name: label for name, label in json.loads(row["axes"]).items()}
        lost = {f"{f['name']}.connection_error": text for f in row["flows"] if (text := f.get("connection_error"))}
        rows.append({**identity, **axes, **by_name, **lost})
    return pl.DataFrame(rows, infer_schema_length=None)


def points(store: Store, where: Sequence[str] = ()) -> StudyTable:
    """The finished runs at the points that `where` selects (`AXIS=LABEL`), as figures need them. Raises BadInput.

    At a point where several seeds gave the same outcome, only the first run counts.
    """
    rows = store.outcomes().to_dicts()
    if not rows:
        raise BadInput(nothing(store))
    labels = [json.loads(row["axes"]) for row in rows]
    runs: dict[Point, list[dict[str, Any]]] = {}
    for row, point in compress(zip(rows, labels, strict=True), matching(where, labels)):
        runs.setdefault(tuple(point.items()), []).append(row)
    if not runs:
        raise BadInput("--where: no point has all of these labels")
    counted = {
        point: rows_of_point[:1] if same_outcome(list(map(numbers, rows_of_point))) else rows_of_point
        for point, rows_of_point in runs.items()
    }
    seeds_of = {point: len(rows_of_point) for point, rows_of_point in runs.items()}
    every = [axes for _, _, axes in store.plan()]
    planned = [tuple(axes.items()) for axes in compress(every, matching(where, every))]
    return StudyTable(store.about("title") or str(store.folder), counted, seeds_of, list(dict.fromkeys(planned)))


def nothing(store: Store) -> str:
    """Why a store has no outcome, as a message."""
    failures = store.failures()
    if not failures:
        return f"{store.folder}: no run has finished yet; run ackclock sweep first"
    return f"{store.folder}: no run has an outcome; {len(failures)} failed, the first: {failures[0][1].splitlines()[0]}"


def _chosen(store: Store, where: Sequence[str]) -> list[dict[str, Any]]:
    """Rows of outcomes at the points that `where` selects."""
    rows = store.outcomes().to_dicts()
    return list(compress(rows, matching(where, [json.loads(row["axes"]) for row in rows])))


def matching(where: Sequence[str], points: Sequence[Mapping[str, str]]) -> list[bool]:
    """Whether each point has these labels. Raises BadInput for an axis or a label that no point has.

    A part of the name of an axis suffices, as in `named`.
    """
    matches = [True] * len(points)
    names = list(dict.fromkeys(name for point in points for name in point))
    for text in where:
        axis, label = assignment(text)
        if label and points:
            axis = named(axis, names, "--where")
        labels = dict.fromkeys(point[axis] for point in points if axis in point)
        if not label:
            raise BadInput(f"--where {text}: must be AXIS=LABEL")
        if points and label not in labels:
            raise BadInput(f"--where: {axis} is never {label}; it is {', '.join(list(labels)[:12])}")
        matches = [match and point.get(axis) == label for match, point in zip(matches, points, strict=True)]
    return matches


def export(store: Store, path: Path, where: Sequence[str] = ()) -> None:
    """Write the table of all runs as Parquet or CSV, by the ending of the name."""
    check_targets([path])
    check_table(path, "--export")
    write_frame(table(store, where), path)


def same_outcome(outcomes: Sequence[Mapping[str, Any]]) -> bool:
    """Whether two or more runs, each given by its `numbers`, all have the same outcome."""
    return len(outcomes) > 1 and all(one == outcomes[0] for one in outcomes[1:])


def summary(
    store: Store, metrics: Sequence[str] = (), where: Sequence[str] = (), *, robust: bool = False
) -> list[dict[str, Any]]:
    """One row for each point: axes, number of runs, and for each metric mean, 95 % interval and n over the seeds.

    A point is deterministic if several seeds gave the same outcome; n is then 1, and there is no interval. `lost` has
    one line for each QUIC flow of a run that lost its connection. With `robust`, `medians` has the median of each
    metric with its interval by ranks. `metrics` are names of the registry or numbers of the outcome; a metric of links
    is that of the link with the highest utilisation over all runs. `where` selects points by `AXIS=LABEL`. Raises
    BadInput for an unknown metric or axis.
    """
    by_point: dict[str, list[dict[str, Any]]] = {}
    for row in _chosen(store, where):
        by_point.setdefault(row["axes"], []).append(row)
    table_rows = []
    chosen = list(metrics) or _usual([rows[0] for rows in by_point.values()])
    every = [row for rows in by_point.values() for row in rows]
    first_values = numbers(every[0]) if every else {}
    of_runs = {name: metric(name, every) for name in chosen if every and name not in first_values and "." not in name}
    for text, rows in by_point.items():
        counted = [numbers(row) for row in rows]
        deterministic = same_outcome(counted)
        decided = counted[:1] if deterministic else counted
        means, medians = {}, {}
        for name in chosen:
            if name in of_runs:
                values = [of_runs[name].value(row) for row in rows[: len(decided)]]
            else:
                values = [metric_of(row, name) for row in decided]
            present = [x for x in values if x is not None]
            means[name] = stats.over_runs(present, *bounds(name), by_logarithm=by_logarithm(name))
            medians[name] = stats.median(present)
        lost = [f"seed {row['seed']}: {line}" for row in rows for line in lost_connections(row)]
        axes = json.loads(text)
        row_of_point = {"axes": axes, "runs": len(rows), "deterministic": deterministic, "means": means, "lost": lost}
        table_rows.append(row_of_point | ({"medians": medians} if robust else {}))
    return table_rows


def _usual(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Metrics shown by default: those that every point, given by the outcome of one run, has."""
    if not rows:
        return []
    names = [f"{flow['name']}.{key}" for flow in rows[0]["flows"] if flow["kind"] != "udp" for key in DEFAULT_METRICS]
    names = names[: MOST_FLOWS * len(DEFAULT_METRICS)]
    used: dict[str, float] = {}
    for link in (link for row in rows for link in row["links"]):
        used[link["name"]] = used.get(link["name"], 0.0) + link["utilisation"]
    if used:
        narrow = max(used, key=lambda name: used[name])
        names += [f"{narrow}.utilisation", f"{narrow}.mean_sojourn_s"]
    names += ["radio.delivery_ratio", "radio.routing_load"] if rows[0].get("radio") else []
    names += ["jain"] if len(rows[0]["flows"]) > 1 else []
    outcomes = [numbers(row) for row in rows]
    return [name for name in names if all(name in outcome for outcome in outcomes)]


def columns(rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    """The rows of `summary` as columns of a table: the axes that vary, then the metrics with their intervals."""
    axes = list(rows[0]["axes"])
    varying = [axis for axis in axes if len({row["axes"][axis] for row in rows}) > 1] or axes[:1]
    parts = [Column(axis_words(axis), [row["axes"][axis] for row in rows], key=True) for axis in varying]
    for name in rows[0]["means"]:
        entity, _, key = name.rpartition(".")
        measured = METRICS.get(name) or key_metric(key, "run")
        head = f"{entity} {measured.words}".strip()
        parts.append(Column(head, [row["means"].get(name) for row in rows], measured.unit))
        if "medians" in rows[0]:
            parts.append(Column(f"{head}, median", [row["medians"].get(name) for row in rows], measured.unit))
    return parts


def plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of `summary` as JSON data: value, interval and number of runs of each metric, in SI units."""
    estimates = {
        part: {
            name: None if e.n == 0 else {"value": e.value, "low": e.low, "high": e.high, "n": e.n}
            for name, e in row[part].items()
        }
        for part in ("means", "medians")
        if part in row
    }
    return {**row, **estimates}
