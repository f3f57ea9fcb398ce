"""A study's results as tables: one row a run, or one row a point with means and intervals."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import stats
from ackclock.files import BadInput, check_targets, write

if TYPE_CHECKING:
    import polars as pl

    from ackclock.study.store import Store

USUAL = ("goodput_bps", "mean_rtt_s", "retransmitted_packets")
"""Metrics of a flow that are shown where none are asked for."""
WORDS = {"name", "kind", "control", "recovery"}
TAKEN_TIME = {"cpu_s", "wall_s"}
"""Differ from one execution to the next: not part of a result."""


def metrics_of(row: Mapping[str, Any]) -> Iterator[str]:
    """Names of the numbers in an outcome: `FLOW.goodput_bps`, `FROM->TO.utilisation`, `jain`, ..."""
    return (name for name, _ in _numbers(row))


def _numbers(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for flow in row["flows"]:
        yield from ((f"{flow['name']}.{key}", value) for key, value in flow.items() if key not in WORDS)
    for link in row["links"]:
        for key, value in link.items():
            if key == "dropped_packets":
                yield from ((f"{link['name']}.dropped_{reason}", count) for reason, count in value.items())
            elif key not in WORDS:
                yield f"{link['name']}.{key}", value
    yield "jain", row["fairness"]["jain"]
    yield from ((key, value) for key, value in row["engine"].items() if key not in TAKEN_TIME)


def metric_of(row: Mapping[str, Any], name: str) -> float | None:
    """One number of an outcome. Raises KeyError."""
    owner, _, key = name.rpartition(".")
    for thing in (*row["flows"], *row["links"]):
        if thing["name"] == owner:
            reason = key.removeprefix("dropped_")
            value = thing[key] if reason == key else thing["dropped_packets"][reason]
            return None if value is None else float(value)
    value = {"jain": row["fairness"]["jain"], **row["engine"]}[name]
    return None if value is None else float(value)


def table(store: Store) -> pl.DataFrame:
    """One row a finished run, in the order of the plan: run_id, seed, axes, then every number of the outcome.

    What a run cost in time is left out: the table of a study is the same however often it was interrupted.
    """
    import polars as pl

    frame = store.outcomes()
    rows = [
        {"run_id": row["run_id"], "seed": row["seed"], **json.loads(row["axes"]), **dict(_numbers(row))}
        for row in frame.iter_rows(named=True)
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def export(store: Store, path: Path) -> None:
    """Write the table of all runs as Parquet or CSV, by the ending of the name."""
    check_targets([path])
    if path.suffix not in {".parquet", ".csv"}:
        raise BadInput(f"{path}: must end in .parquet or .csv")
    frame = table(store)
    save = frame.write_parquet if path.suffix == ".parquet" else frame.write_csv
    write(path, lambda target: save(target))


def summary(store: Store, metrics: Sequence[str] = (), where: Sequence[str] = ()) -> list[dict[str, Any]]:
    """One row a point: its axes, and for each metric mean, 95 % interval and n over its seeds.

    `where` keeps points by `AXIS=LABEL`. Raises BadInput for a metric or an axis that there is not.
    """
    conditions = [_condition(text) for text in where]
    points: dict[str, list[dict[str, Any]]] = {}
    for row in store.outcomes().iter_rows(named=True):
        axes = json.loads(row["axes"])
        for axis, _ in conditions:
            if axis not in axes:
                raise BadInput(f"--where: there is no axis {axis}; there are {', '.join(axes) or 'none'}")
        if all(axes[axis] == value for axis, value in conditions):
            points.setdefault(row["axes"], []).append(row)
    found = []
    for text, rows in points.items():
        chosen = list(metrics) or _usual(rows[0])
        means: dict[str, Any] = {}
        for name in chosen:
            try:
                values = [x for row in rows if (x := metric_of(row, name)) is not None]
            except KeyError:
                known = ", ".join(list(metrics_of(rows[0]))[:8])
                raise BadInput(f"--metric: there is no {name}; there are {known}, ...") from None
            means[name] = stats.mean(values)
        found.append({"axes": json.loads(text), "runs": len(rows), "means": means})
    return found


def _condition(text: str) -> tuple[str, str]:
    axis, equals, value = text.partition("=")
    if not equals:
        raise BadInput(f"--where {text}: must be AXIS=LABEL")
    return axis.strip(), value.strip()


def _usual(row: Mapping[str, Any]) -> list[str]:
    flows = [flow["name"] for flow in row["flows"] if flow["kind"] == "tcp"][:3]
    several = ["jain"] if len(row["flows"]) > 1 else []
    return [f"{name}.{key}" for name in flows for key in USUAL] + several
