"""The results of a paper's studies, as its tables, claims and figures ask for them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import stats
from ackclock.experiment import Result, Trace
from ackclock.files import BadInput
from ackclock.papers.folder import Paper, StudySpec, Value, Where, call
from ackclock.study import Store, Study, sweep
from ackclock.study.executors import Executor
from ackclock.study.store import outcome_schema

if TYPE_CHECKING:
    import polars as pl

    from ackclock.study.sweep import Progress


@dataclass(frozen=True, slots=True)
class Cell:
    """A number that a published table has a place for."""

    row: str
    column: str
    reading: str
    values: Sequence[float]

    def estimate(self) -> stats.Estimate:
        """Mean and 95 % interval over the seeds."""
        return stats.mean(self.values)


class Results:
    """Runs studies when they are first asked for, and keeps them in `folder`/studies."""

    def __init__(
        self,
        paper: Paper,
        folder: Path,
        executor: Executor,
        *,
        quick: bool = False,
        progress: Callable[[str], Progress | None] | None = None,
    ) -> None:
        self.paper = paper
        self.folder = folder
        self.quick = quick
        self.runs = 0
        self.failed: list[tuple[str, str]] = []
        self._executor = executor
        self._progress = progress
        self._tables: dict[str, dict[str, pl.DataFrame]] = {}
        self._studies: dict[str, Study] = {}
        self._traces: dict[tuple[Any, ...], Result] = {}

    def spec(self, name: str) -> StudySpec:
        """The study of this name. Raises BadInput."""
        for spec in self.paper.studies:
            if spec.name == name:
                return spec
        raise BadInput(f"{self.paper.folder}: no study {name}")

    def seeds(self, name: str) -> int:
        """How many seeds the study is run under."""
        spec = self.spec(name)
        return spec.quick if self.quick else spec.seeds

    def study(self, name: str) -> Study:
        """A study of the paper, with its seeds."""
        if name not in self._studies:
            path = self.paper.folder / "studies" / f"{name}.toml"
            self._studies[name] = Study.load(path, [f'sweep.seed="1..{self.seeds(name)}"'])
        return self._studies[name]

    def flows(self, name: str) -> pl.DataFrame:
        """Of every run and flow a row: seed, a column for each axis, `name`, and the outcome's numbers.

        A label such as "K=2;Cf=2Mbps" also gives columns K and Cf. An axis may be called like a column of the outcome
        (`control`): then the axis is meant.
        """
        return self._frames(name)["flows"]

    def links(self, name: str) -> pl.DataFrame:
        """The same of every link."""
        return self._frames(name)["links"]

    def radio(self, name: str) -> pl.DataFrame:
        """Of every run a row named "radio": its part of the outcome, goodput and throughput of all flows together."""
        return self._frames(name)["radio"]

    def _owned(self, name: str, owner: str) -> pl.DataFrame:
        if owner == "radio":
            return self.radio(name)
        return self.links(name) if "->" in owner else self.flows(name)

    def _frames(self, name: str) -> dict[str, pl.DataFrame]:
        import polars as pl

        if name in self._tables:
            return self._tables[name]
        study = self.study(name)
        advance = self._progress(name) if self._progress is not None else None
        with Store.create(self._store(name)) as store:
            summary = sweep(study, store, self._executor, progress=advance, replace=True)
            self.failed += store.failures()
            frame = store.outcomes()
        self.runs += summary.runs
        axes = pl.DataFrame([_spread(json.loads(text)) for text in frame["axes"]], infer_schema_length=None)
        found = {}
        for kind in ("flows", "links"):
            fields = outcome_schema()[kind].inner.fields  # type: ignore[attr-defined]
            parts = [frame.select("seed", kind), *([axes] if axes.width else [])]
            columns = [pl.col(kind).struct.field(f.name) for f in fields if f.name not in axes.columns]
            found[kind] = pl.concat(parts, how="horizontal").explode(kind).with_columns(columns).drop(kind)
        rates = ("goodput_bps", "throughput_bps")
        of_flows = pl.col("flows").list
        totals = [of_flows.eval(pl.element().struct.field(rate)).list.sum().alias(rate) for rate in rates]
        whole = frame.with_columns(*totals, pl.lit("radio").alias("name")).unnest("radio")
        wanted = [c for c in whole.columns if c in outcome_schema()["radio"].to_schema()]  # type: ignore[attr-defined]
        parts = [whole.select("seed", "name", *rates, *wanted), *([axes] if axes.width else [])]
        found["radio"] = pl.concat(parts, how="horizontal")
        self._tables[name] = found
        return found

    def _store(self, name: str) -> Path:
        folder = self.folder / "studies" / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def select(self, name: str, where: Where, owner: str = "fwd") -> pl.DataFrame:
        """Rows of a flow, a link such as "a->b", or the "radio", at the points where the axes have these labels."""
        import polars as pl

        frame = self._owned(name, owner).filter(pl.col("name") == owner)
        for axis, label in where.items():
            if axis not in frame.columns:
                raise BadInput(f"{self.paper.folder}: study {name} has no axis {axis}")
            frame = frame.filter(pl.col(axis) == label)
        if frame.is_empty():
            raise BadInput(f"{self.paper.folder}: study {name} has no runs where {where}")
        return frame

    def metric(self, name: str, metric: str) -> tuple[str, str]:
        """Owner and column of a metric such as `fwd.goodput_bps`. Raises BadInput if there is no such column."""
        owner, _, column = metric.rpartition(".")
        owner = owner or "fwd"
        known = self._owned(name, owner).columns
        if column not in known:
            raise BadInput(f"{self.paper.folder}: {metric}: there is no {column}; there are {', '.join(known)}")
        return owner, column

    def pairs(self, name: str, metric: str, of: Where, to: Where, where: Where) -> pl.DataFrame:
        """Runs of `of` beside those of `to` with the same seed and the same other axes: columns seed, a, b."""
        import polars as pl

        flow, column = self.metric(name, metric)
        study_axes = [c for c in _axes(self.study(name)) if c not in of and c not in to]
        left = self.select(name, {**where, **of}, flow).select("seed", *study_axes, pl.col(column).alias("a"))
        right = self.select(name, {**where, **to}, flow).select("seed", *study_axes, pl.col(column).alias("b"))
        return left.join(right, on=["seed", *study_axes], how="inner").drop_nulls(["a", "b"])

    def log_ratios(self, name: str, metric: str, of: Where, to: Where, where: Where) -> list[float]:
        """Of each seed the mean logarithm of a/b over the points."""
        import polars as pl

        frame = self.pairs(name, metric, of, to, where).with_columns(pl.col("a", "b").cast(pl.Float64))
        if frame.filter((pl.col("a") <= 0) | (pl.col("b") <= 0)).height:
            raise BadInput(f"{self.paper.folder}: a ratio of {metric} in {name} has zeros; take a difference")
        ratios = frame.with_columns((pl.col("a") / pl.col("b")).log().alias("r"))
        return ratios.group_by("seed").agg(pl.col("r").mean()).sort("seed")["r"].to_list()

    def differences(self, name: str, metric: str, of: Where, to: Where, where: Where) -> list[float]:
        """Of each seed the mean difference a - b over the points."""
        import polars as pl

        frame = self.pairs(name, metric, of, to, where).with_columns((pl.col("a") - pl.col("b")).alias("d"))
        return frame.group_by("seed").agg(pl.col("d").mean()).sort("seed")["d"].to_list()

    def means(self, name: str, metric: str, where: Where) -> list[float]:
        """Of each seed the mean over the points."""
        import polars as pl

        flow, column = self.metric(name, metric)
        frame = self.select(name, where, flow)
        return frame.group_by("seed").agg(pl.col(column).mean()).sort("seed")[column].drop_nulls().to_list()

    def ratio(self, name: str, metric: str, of: Where, to: Where, where: Where) -> stats.Estimate:
        """Geometric mean of a/b over points and seeds, with its 95 % interval over the seeds."""
        return stats.geometric(self.log_ratios(name, metric, of, to, where))

    def effect(self, kind: str, name: str, metric: str, of: Where, to: Where, where: Where) -> stats.Estimate:
        """The `ratio`, or the mean `difference` over points and seeds with its 95 % interval over the seeds."""
        if kind == "ratio":
            return self.ratio(name, metric, of, to, where)
        return stats.mean(self.differences(name, metric, of, to, where))

    def say(self, value: Value) -> str:
        """A number for a sentence, with its 95 % interval."""
        if value.code:
            logs: list[float] = call(self.paper, "measures", value.code, self)
            e = stats.geometric(logs)
        elif value.kind == "mean":
            e = stats.mean(self.means(value.study, value.metric, {**value.where, **value.of}))
        else:
            e = self.effect(value.kind, value.study, value.metric, value.of, value.to, value.where)
        e = e.scaled(value.factor)
        centre, low, high = (
            "-" if x is None else f"{x:.3g}" if abs(x) < 1000 else f"{x:.0f}" for x in (e.value, e.low, e.high)
        )
        return centre if low == high else f"{centre} ({low} to {high})"

    def trace(self, name: str, seed: int, where: Where, trace: Trace = "ack", *, packets: bool = False) -> Result:
        """One run of a study again, with its window trace, or with every packet event instead.

        Raises BadInput unless `where` names one point.
        """
        key = (name, seed, tuple(sorted(where.items())), trace)
        if key in self._traces and not packets:
            return self._traces[key]
        study = self.study(name)
        points = [
            point
            for point in range(study.points)
            if all(_spread(study.labels(point)).get(axis) == label for axis, label in where.items())
        ]
        if len(points) != 1:
            raise BadInput(f"{self.paper.folder}: {where} names {len(points)} points of {name}, not one")
        scenario = study.scenario(points[0])
        if packets:  # too large to be kept
            return scenario.run(seed=seed, packets=True)
        self._traces[key] = scenario.run(seed=seed, trace=trace)
        return self._traces[key]


def _said(label: str) -> dict[str, str]:
    """What a label like "K=2;Cf=2Mbps" says; nothing for any other."""
    pairs = [part.split("=", 1) for part in label.split(";")]
    return {key.strip(): value.strip() for key, value in pairs} if all(len(pair) == 2 for pair in pairs) else {}


def _spread(axes: dict[str, str]) -> dict[str, str]:
    """Axes, and what their labels say."""
    found = dict(axes)
    for label in axes.values():
        found |= _said(label)
    return found


def _axes(study: Study) -> list[str]:
    """The axes of a study; in place of one whose labels say more, what they say."""
    found: dict[str, None] = {}
    for axis, labels in study.axes.items():
        found |= dict.fromkeys(_said(labels[0]) or [axis])
    return list(found)
