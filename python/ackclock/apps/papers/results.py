"""The results of a paper's studies, for its tables, claims and figures."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import ScenarioError, stats
from ackclock.apps.papers.folder import Paper, StudySpec, Value, Where, call
from ackclock.apps.papers.readings import AS_FILED, Reading, kept, meanings, overrides, said
from ackclock.base.files import BadInput, own_folder
from ackclock.result import Result, Trace
from ackclock.study import Store, Study, sweep, sweep_variants
from ackclock.study.executors import Executor
from ackclock.study.schema import outcome_schema
from ackclock.study.store import FILE, Finished

if TYPE_CHECKING:
    import polars as pl

    from ackclock.study.plan import Run, StudyPlan
    from ackclock.study.sweep import Progress


Keep = Mapping[str, list[str]]
"""The labels of each axis that are run."""
READING = "reading"
"""The axis that holds the label of the interpretation, in a store with several interpretations."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a published table, with the values obtained for it."""

    row: str
    column: str
    reading: str
    values: Sequence[float]
    published: float = math.nan
    """The published number, if it follows from other numbers and is in no table; NaN otherwise."""
    least: float = -math.inf
    most: float = math.inf
    """`least` and `most` are the bounds of the possible values."""
    study: str = ""
    where: Where = field(default_factory=dict)
    """The point whose runs a cell of a function of measures.py comes from, if it comes from one point."""

    def estimate(self) -> stats.Estimate:
        """Mean and 95 % interval over the seeds."""
        if stats.same(self.values):  # all seeds give the same value
            return stats.Estimate(self.values[0], None, None, 1)
        return stats.within(self.values, self.least, self.most)


class UndefinedRatio(BadInput):
    """A ratio does not exist because some of the values are zero."""


@dataclass(frozen=True)
class Variants:
    """A study that was run under several interpretations: the study of each, the tables of all (column `reading`)."""

    studies: dict[str, Study]
    tables: dict[str, pl.DataFrame]


@dataclass(frozen=True)
class StudyUse:
    """That a figure or a table used a study: one run of it, or with no seed the outcomes of all its runs."""

    study: str
    seed: int | None = None
    where: tuple[tuple[str, str], ...] = ()


class SharedRuns:
    """An executor that takes a run from another store of the paper if one has it, and else has it run."""

    def __init__(self, executor: Executor, stores: Path) -> None:
        self._executor = executor
        self._stores = stores

    def run(self, study: StudyPlan, runs: Sequence[Run]) -> Iterator[list[Finished]]:
        """See Executor."""
        missing = {run.run_id: run for run in runs}
        for file in sorted(self._stores.glob(f"*/{FILE}")):
            kept_runs: list[Finished] = []
            with suppress(BadInput), Store.open(file.parent) as store:  # a damaged store is repaired when it is written
                kept_runs = store.outcomes_of(missing)
            yield kept_runs
            for finished in kept_runs:
                del missing[finished.run_id]
        yield from self._executor.run(study, list(missing.values()))


@dataclass
class _ResultsContext:
    """What all interpretations of a paper's results have in common."""

    paper: Paper
    folder: Path
    executor: Executor
    quick: bool
    progress: Callable[[str], Progress | None] | None
    runs: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)
    variants: dict[str, Variants] = field(default_factory=dict)
    axes: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    others: list[Reading] = field(default_factory=list)
    studies_used: list[StudyUse] = field(default_factory=list)
    last_trace: tuple[tuple[Any, ...], Result] | None = None
    """The last run with its trace, and what names it. Only one is kept: it can take a hundred megabytes."""
    used_by_cells: dict[str, list[str]] = field(default_factory=dict)


class Results:
    """Runs each study on first use, and keeps the runs in `folder`/studies.

    These are the results under one interpretation of the paper; `under` gives those of another.
    """

    def __init__(
        self,
        paper: Paper,
        folder: Path,
        executor: Executor,
        *,
        quick: bool = False,
        progress: Callable[[str], Progress | None] | None = None,
        reading: Reading | None = None,
    ) -> None:
        self.paper = paper
        self.quick = quick
        self.reading = reading or Reading(AS_FILED)
        self._shared = _ResultsContext(paper, folder, SharedRuns(executor, folder / "studies"), quick, progress)
        self._calibrated: Results = self
        self._own_seeds: int | None = None
        self._tables: dict[str, dict[str, pl.DataFrame]] = {}
        self._studies: dict[str, Study] = {}
        self._changes: dict[str, bool] = {}

    def with_reading(self, reading: Reading, others: Sequence[Reading]) -> Results:
        """The results under the calibrated interpretation; the others are run in addition. All share the run counts."""
        results = Results(self.paper, self._shared.folder, self._shared.executor, quick=self.quick, reading=reading)
        results._shared = self._shared
        self._shared.others = list(others)
        return results

    def under(self, reading: Reading) -> Results:
        """The results under another interpretation, with the seeds and the points that the studies name for it."""
        results = Results(self.paper, self._shared.folder, self._shared.executor, quick=self.quick, reading=reading)
        results._shared, results._calibrated = self._shared, self._calibrated
        return results

    def at_points(self, reading: Reading, ran: Mapping[str, Variants], seeds: int) -> Results:
        """The results under an interpretation, of variants of studies that have been run with this number of seeds."""
        results = self.under(reading)
        results._own_seeds = seeds
        for name, variants in ran.items():
            results._tables[name] = results._counted(variants.tables, reading.label)
            results._studies[name] = variants.studies[reading.label]
        return results

    @property
    def is_calibrated(self) -> bool:
        """Whether the page's tables and figures use these results."""
        return self._calibrated is self

    @property
    def runs(self) -> int:
        """Number of runs, new or kept, of all interpretations."""
        return self._shared.runs

    @property
    def studies_used(self) -> list[StudyUse]:
        """What was used so far, in order: a caller that cuts the list knows what came after."""
        return self._shared.studies_used

    @property
    def used_by_cells(self) -> dict[str, list[str]]:
        """The studies that each function of measures.py used for cells of tables, once it was called."""
        return self._shared.used_by_cells

    @property
    def failed(self) -> list[tuple[str, str]]:
        """Runs without an outcome, and why."""
        return self._shared.failed

    def spec(self, name: str) -> StudySpec:
        """The study of this name. Raises BadInput."""
        for spec in self.paper.studies:
            if spec.name == name:
                return spec
        raise BadInput(f"{self.paper.folder}: no study {name}")

    def seeds(self, name: str) -> int:
        """Number of seeds of the study."""
        spec = self.spec(name)
        if self._own_seeds is not None:
            return self._own_seeds
        if self.is_calibrated or self.reading.row:
            return spec.quick if self.quick else spec.seeds
        return spec.quick_readings if self.quick else spec.readings

    def study(self, name: str) -> Study:
        """A study of the paper under this interpretation, with its seeds."""
        if name not in self._studies:
            seeds = self.seeds(name)
            if not seeds and self.is_calibrated:
                raise BadInput(
                    f"{self.paper.folder}: study {name} has quick = 0, so what uses it needs full_only = true"
                )
            self._studies[name] = self.load(name, self.reading, seeds)
        return self._studies[name]

    def load(self, name: str, reading: Reading, seeds: int) -> Study:
        """A study of the paper under an interpretation. Raises BadInput with the one that cannot be applied."""
        path = self.paper.folder / "studies" / f"{name}.toml"
        try:
            return Study.load(path, [f'sweep.seed="1..{seeds}"', *self._overrides(name, reading)])
        except ScenarioError as error:
            raise BadInput(f"{self.paper.folder}: interpretation {reading.label}: study {name}: {error}") from None

    def axes_in_file(self, name: str) -> dict[str, list[str]]:
        """The labels of each axis of a study, as its file has them."""
        axes = self._shared.axes
        if name not in axes:
            axes[name] = Study.load(self.paper.folder / "studies" / f"{name}.toml").axes
        return axes[name]

    def _overrides(self, name: str, reading: Reading) -> list[str]:
        """What an interpretation sets in a study."""
        wanted = reading.assignments(self.paper.folder, name)
        return overrides(wanted, self.axes_in_file(name)) if wanted else []

    def flows(self, name: str) -> pl.DataFrame:
        """One row for each run and flow: seed, a column for each axis, `name`, and the outcome's numbers.

        A label such as "K=2;Cf=2Mbps" also gives columns K and Cf. If an axis has the name of a column of the outcome,
        such as `control`, the column holds the axis label; `algorithm` then holds the outcome's `control`.
        """
        return self._frames(name)["flows"]

    def links(self, name: str) -> pl.DataFrame:
        """One row for each run and link, with the same columns."""
        return self._frames(name)["links"]

    def radio(self, name: str) -> pl.DataFrame:
        """One row named "radio" for each run: radio outcome, and total goodput and throughput of all flows."""
        return self._frames(name)["radio"]

    def differs(self, name: str) -> bool:
        """Whether the interpretation sets something else in this study; False if the study is run for no other one."""
        return (
            bool(name)
            and bool(self.spec(name).readings)
            and bool(self.seeds(name))
            and self._differs(name, self.reading)
        )

    def _differs(self, name: str, reading: Reading) -> bool:
        calibrated = self._calibrated.reading
        return meanings(self.paper, reading) != meanings(self.paper, calibrated) or (
            self._overrides(name, reading) != self._overrides(name, calibrated)
        )

    def changes(self, name: str) -> bool:
        """Whether the interpretation changes an outcome of this study at the points and seeds that both have."""
        if name not in self._changes:
            self._changes[name] = self.differs(name) and self._compare(name)
        return self._changes[name]

    def _compare(self, name: str) -> bool:
        ours, theirs = self._frames(name), self._calibrated._frames(name)
        keys = ["seed", "name", *expand_labels(self.study(name).labels(0))]
        return any(_changed(ours[kind], theirs[kind], keys) for kind in ours)

    def _table_of(self, name: str, owner: str) -> pl.DataFrame:
        if owner == "radio":
            return self.radio(name)
        return self.links(name) if "->" in owner else self.flows(name)

    def _frames(self, name: str) -> dict[str, pl.DataFrame]:
        self._shared.studies_used.append(StudyUse(name))
        if name in self._tables:
            return self._tables[name]
        if self.is_calibrated:
            study = self.study(name)
            with Store.create(self._store(name)) as store:
                summary = sweep(study, store, self._shared.executor, progress=self._advance(name), replace=True)
                self._shared.failed += store.failures()
                frames = self._counted(_tables(store.outcomes()))
            self._shared.runs += summary.runs
        else:
            if not self.differs(name):
                return self._calibrated._frames(name)
            kind = f"{name}.rows" if self.reading.row else f"{name}.readings"
            if kind not in self._shared.variants:
                self._shared.variants[kind] = self._run_others(name)
            frames = self._counted(self._shared.variants[kind].tables, self.reading.label)
        self._tables[name] = frames
        return frames

    def _counted(self, tables: Mapping[str, pl.DataFrame], label: str | None = None) -> dict[str, pl.DataFrame]:
        """Tables of outcomes as the interpretation counts them; of several interpretations, the rows of `label`."""
        import polars as pl

        frames = {k: f if label is None else f.filter(pl.col(READING) == label) for k, f in tables.items()}
        counts = [(factor * pl.col(of)).alias(name) for name, (of, factor) in self.reading.counts.items()]
        return frames | {"flows": frames["flows"].with_columns(counts)}

    def _run_others(self, name: str) -> Variants:
        """Run a study under the other interpretations that have as many seeds as this one."""
        spec, seeds = self.spec(name), self.seeds(name)
        if not seeds:
            raise BadInput(f"{self.paper.folder}: study {name} has no other interpretations; give it `readings`")
        changed = [r for r in self._shared.others if r.row == self.reading.row and self._differs(name, r)]
        return self.run_variants(name, changed, seeds, [spec.keep])

    def run_variants(
        self, name: str, readings: Sequence[Reading], seeds: int, keep: Sequence[Keep], counted: int = 0
    ) -> Variants:
        """Run a study under several interpretations at the points that one of `keep` has, into one store.

        `counted`: for how many of the seeds these runs are in the count of runs already.
        """
        studies = {reading.label: self.load(name, reading, seeds) for reading in readings}
        variants = {
            label: (study, sorted({point for one in keep for point in kept(study, one)}))
            for label, study in studies.items()
        }
        purpose = "calibration" if self.is_calibrated else "rows" if self.reading.row else "readings"
        with Store.create(self._store(f"{name}.{purpose}")) as store:
            advance = self._advance(f"{name}.{purpose}")
            summary = sweep_variants(variants, store, self._shared.executor, axis=READING, progress=advance)
            self._shared.failed += store.failures()
            self._shared.runs += summary.runs * (seeds - counted) // seeds
            return Variants(studies, _tables(store.outcomes()))

    def _advance(self, name: str) -> Progress | None:
        return None if self._shared.progress is None else self._shared.progress(name)

    def _store(self, name: str) -> Path:
        return own_folder(self._shared.folder, "studies", name)

    def select(self, name: str, where: Where, owner: str = "fwd", columns: Sequence[str] = ()) -> pl.DataFrame:
        """Rows of a flow, a link such as "a->b", or the "radio", at the points where the axes have these labels.

        With `columns` only those, `name` and the axes: much faster where there are many runs.
        """
        import polars as pl

        frame = self._table_of(name, owner)
        for axis in where:
            if axis not in frame.columns:
                raise BadInput(f"{self.paper.folder}: study {name} has no axis {axis}")
        if columns:
            frame = frame.select(list(dict.fromkeys((*columns, "name", *where))))
        frame = frame.filter(pl.col("name") == owner, *(pl.col(axis) == label for axis, label in where.items()))
        if frame.is_empty():
            raise BadInput(f"{self.paper.folder}: study {name} has no runs where {where}")
        return frame

    def metric(self, name: str, metric: str) -> tuple[str, str]:
        """Owner and column of a metric such as `fwd.goodput_bps`. Raises BadInput if there is no such column."""
        owner, _, column = metric.rpartition(".")
        owner = owner or "fwd"
        columns = self._table_of(name, owner).columns
        if column not in columns:
            raise BadInput(f"{self.paper.folder}: {metric}: there is no {column}; there are {', '.join(columns)}")
        return owner, column

    def pairs(self, name: str, metric: str, of: Where, to: Where, where: Where) -> pl.DataFrame:
        """Runs of `of` beside those of `to` with the same seed and the same other axes: columns seed, a, b."""
        import polars as pl

        flow, column = self.metric(name, metric)
        study_axes = [c for c in _axes(self.study(name)) if c not in of and c not in to and c != READING]
        keys = ("seed", *study_axes)
        left = self.select(name, {**where, **of}, flow, (*keys, column)).select(*keys, pl.col(column).alias("a"))
        right = self.select(name, {**where, **to}, flow, (*keys, column)).select(*keys, pl.col(column).alias("b"))
        return left.join(right, on=keys, how="inner").drop_nulls(["a", "b"])

    def log_ratios(self, name: str, metric: str, of: Where, to: Where, where: Where) -> list[float]:
        """For each seed, the mean logarithm of a/b over the points."""
        import polars as pl

        frame = self.pairs(name, metric, of, to, where).with_columns(pl.col("a", "b").cast(pl.Float64))
        if frame.filter((pl.col("a") <= 0) | (pl.col("b") <= 0)).height:
            raise UndefinedRatio(f"{metric} is zero in some runs: no ratio")
        ratios = frame.with_columns((pl.col("a") / pl.col("b")).log().alias("r"))
        return each_seed(ratios, "r")

    def differences(self, name: str, metric: str, of: Where, to: Where, where: Where) -> list[float]:
        """For each seed, the mean difference a - b over the points."""
        import polars as pl

        frame = self.pairs(name, metric, of, to, where).with_columns((pl.col("a") - pl.col("b")).alias("d"))
        return each_seed(frame, "d")

    def means(self, name: str, metric: str, where: Where) -> list[float]:
        """For each seed, the mean over the points."""
        flow, column = self.metric(name, metric)
        frame = self.select(name, where, flow, ("seed", column))
        return each_seed(frame, column)

    def ratio(self, name: str, metric: str, of: Where, to: Where, where: Where) -> stats.Estimate:
        """Geometric mean of a/b over points and seeds, with its 95 % interval over the seeds."""
        return stats.geometric(self.log_ratios(name, metric, of, to, where))

    def effect(self, kind: str, name: str, metric: str, of: Where, to: Where, where: Where) -> stats.Estimate:
        """The `ratio`, or the mean `difference` over points and seeds with its 95 % interval over the seeds."""
        if kind == "ratio":
            return self.ratio(name, metric, of, to, where)
        return stats.mean(self.differences(name, metric, of, to, where))

    def estimate(self, value: Value) -> stats.Estimate:
        """A number of a sentence with its 95 % interval."""
        if value.code:
            values: list[float] = call(self.paper, "measures", value.code, self)
            e = stats.within(values, 0.0, 1.0) if value.kind == "share" else stats.geometric(values)
        elif value.kind == "mean":
            e = stats.mean(self.means(value.study, value.metric, {**value.where, **value.of}))
        else:
            e = self.effect(value.kind, value.study, value.metric, value.of, value.to, value.where)
        return e.scaled(value.factor)

    def points(self, name: str, where: Where) -> list[int]:
        """The points of a study at which the axes have these labels."""
        study = self.study(name)
        return [
            point
            for point in range(study.points)
            if all(expand_labels(study.labels(point)).get(axis) == label for axis, label in where.items())
        ]

    def trace(self, name: str, seed: int, where: Where, trace: Trace = "ack", *, packets: bool = False) -> Result:
        """Repeat one run of a study with its window trace, or with all packet events instead.

        Raises BadInput unless `where` names one point.
        """
        self._shared.studies_used.append(StudyUse(name, seed, tuple(sorted(where.items()))))
        key = (self.reading.label, name, seed, tuple(sorted(where.items())), trace)
        last = self._shared.last_trace
        if last is not None and last[0] == key and not packets:
            return last[1]
        study = self.study(name)
        points = self.points(name, where)
        if len(points) != 1:
            raise BadInput(f"{self.paper.folder}: {where} names {len(points)} points of {name}, not one")
        scenario = study.scenario(points[0])
        if packets:  # too large to be kept
            return scenario.run(seed=seed, packets=True)
        self._shared.last_trace = None
        result = scenario.run(seed=seed, trace=trace)
        self._shared.last_trace = key, result
        return result


def each_seed(rows: pl.DataFrame, column: str) -> list[float]:
    """For each seed, in order, the mean of a column. Equal rows give bit-identical means."""
    import polars as pl

    # The row order after a join or a group-by depends on threads, and a floating-point sum depends on the order.
    ordered = rows.sort("seed", column).group_by("seed", maintain_order=True)
    return ordered.agg(pl.col(column).mean())[column].drop_nulls().to_list()


def _changed(ours: pl.DataFrame, theirs: pl.DataFrame, keys: list[str]) -> bool:
    """Whether a row of `ours` differs from the one of `theirs` with the same keys, or is missing there."""
    if not set(keys) <= set(theirs.columns):
        return True
    alike = theirs.join(ours.select(keys).unique(), on=keys, how="semi")
    numbers = [c for c in ours.columns if c not in (*keys, READING) and not ours.schema[c].is_nested()]
    ours, alike = (frame.select(*keys, *numbers).sort(keys) for frame in (ours, alike))
    return not ours.equals(alike)


def _tables(frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Outcomes of a store as tables of flows, of links, and of the radio channel."""
    import polars as pl

    schema = outcome_schema()
    axes = pl.DataFrame([expand_labels(json.loads(text)) for text in frame["axes"]], infer_schema_length=None)
    frames = {}
    for kind in ("flows", "links"):
        fields = schema[kind].inner.fields  # type: ignore[attr-defined]
        parts = [frame.select("seed", kind), *([axes] if axes.width else [])]
        columns = [pl.col(kind).struct.field(f.name) for f in fields if f.name not in axes.columns]
        if kind == "flows":
            columns.append(pl.col(kind).struct.field("control").alias("algorithm"))
        frames[kind] = pl.concat(parts, how="horizontal").explode(kind).with_columns(columns).drop(kind)
    rates = ("goodput_bps", "throughput_bps")
    of_flows = pl.col("flows").list
    totals = [of_flows.eval(pl.element().struct.field(rate)).list.sum().alias(rate) for rate in rates]
    whole = frame.with_columns(*totals, pl.lit("radio").alias("name")).unnest("radio")
    wanted = [c for c in whole.columns if c in schema["radio"].to_schema()]  # type: ignore[attr-defined]
    parts = [whole.select("seed", "name", *rates, *wanted), *([axes] if axes.width else [])]
    frames["radio"] = pl.concat(parts, how="horizontal")
    return frames


def expand_labels(axes: dict[str, str]) -> dict[str, str]:
    """The axes, and the pairs in their labels."""
    labels = dict(axes)
    for label in axes.values():
        labels |= said(label)
    return labels


def _axes(study: Study) -> list[str]:
    """The axes of a study. An axis with labels such as "K=2;Cf=2Mbps" is replaced by K and Cf."""
    names: dict[str, None] = {}
    for axis, labels in study.axes.items():
        names |= dict.fromkeys(said(labels[0]) or [axis])
    return list(names)
