"""Runs a study into a store: finished runs are kept, missing runs are run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ackclock.base.controllers import refuse_while_loading
from ackclock.base.files import BadInput
from ackclock.metrics import metric_of, numbers
from ackclock.study.executors import Executor
from ackclock.study.plan import Run, StudyPlan
from ackclock.study.store import Finished, Store

Progress = Callable[[int, int], object]
"""Function that is called with the number of finished runs and the total number of runs."""
WITHOUT_RESULT = "the run ended without a result"
"""The error of a run that did not even fail."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The result of a sweep, in numbers of runs: planned, kept from before, done now, failed."""

    runs: int
    kept: int
    done: int
    failed: int


@dataclass(frozen=True, slots=True)
class Until:
    """Sequential stopping: more seeds for a point until the 95 % interval of `metric` is narrow.

    `part` is the allowed half-width, as a fraction of the mean. At least `least` and at most `most` seeds are run.
    Repeated tests of the interval make it slightly too narrow; `least` limits this effect.
    """

    metric: str
    part: float
    least: int = 10
    most: int = 200

    @classmethod
    def parse(cls, text: str, most: int) -> Until:
        """Parse `METRIC:PERCENT`, such as `fwd.goodput_bps:2%`. Raises BadInput."""
        metric, colon, percent = text.rpartition(":")
        try:
            part = float(percent.removesuffix("%")) / 100
        except ValueError:
            part = 0.0
        if not colon or not metric or not 0 < part < 1:
            raise BadInput(f"--until {text}: must be METRIC:PERCENT, such as fwd.goodput_bps:2%")
        return cls(metric, part, min(10, most), most)


def sweep(
    study: StudyPlan,
    store: Store,
    executor: Executor,
    *,
    seeds: Mapping[int, Sequence[int]] | None = None,
    until: Until | None = None,
    progress: Progress | None = None,
    replace: bool = False,
) -> Summary:
    """Run the missing runs of a study. Resumable: finished runs are kept.

    `seeds` are those of each point; by default all points have those of the study, or the first ones with `until`.
    With `replace`, the plan of another study in the store is replaced, and its runs are kept. Raises BadInput if
    `until` names a metric that the outcomes do not have, or if the store holds another study and `replace` is false.
    """
    refuse_while_loading()
    if not replace:
        store.check_study(study)
    first = study.seeds if until is None else list(range(1, until.least + 1))
    seeds_of = (
        dict.fromkeys(range(study.points), first) if seeds is None else {p: list(each) for p, each in seeds.items()}
    )
    kept: set[str] = set()
    tried: set[str] = set()
    done = 0
    while True:
        runs = study.runs(seeds_of)
        wanted = list({run.run_id: run for run in runs}.values())
        labels = {run.point: study.labels(run.point) for run in runs}
        store.set_plan(study, [(run, labels[run.point]) for run in runs])
        finished = store.finished()
        missing = [run for run in wanted if run.run_id not in finished]
        kept |= {run.run_id for run in wanted} & finished - tried
        tried |= {run.run_id for run in missing}
        done += _run(study, missing, store, executor, progress, len(wanted))
        if until is None or not _extend(store, runs, seeds_of, until):
            break
    return Summary(runs=len(wanted), kept=len(kept), done=done, failed=_without_result(store, wanted))


def sweep_variants(
    variants: Mapping[str, tuple[StudyPlan, Sequence[int]]],
    store: Store,
    executor: Executor,
    *,
    axis: str,
    progress: Progress | None = None,
) -> Summary:
    """Run several variants of a study, each at the given points, into one store: `axis` holds the variant's label.

    A run that several variants share is run once. Resumable, like `sweep`.
    """
    planned: list[tuple[Run, dict[str, str]]] = []
    missing: list[tuple[StudyPlan, list[Run]]] = []
    finished, seen = store.finished(), set[str]()
    kept = 0
    for label, (study, points) in variants.items():
        wanted = set(points)
        runs = study.runs({point: study.seeds if point in wanted else [] for point in range(study.points)})
        labels = {point: {**study.labels(point), axis: label} for point in points}
        planned += [(run, labels[run.point]) for run in runs]
        new = [run for run in runs if run.run_id not in seen]
        seen |= {run.run_id for run in new}
        kept += sum(run.run_id in finished for run in new)
        missing.append((study, [run for run in new if run.run_id not in finished]))
    first = next(iter(variants.values()))[0]
    store.set_plan(first, planned)
    done, ended = 0, kept
    for study, runs in missing:
        if runs:
            count = len(runs)
            advance = None if progress is None else offset(progress, ended, len(seen))
            done += _run(study, runs, store, executor, advance, count)
            ended += count
    if progress is not None:
        progress(len(seen), len(seen))
    every = {run.run_id: run for run, _ in planned}
    return Summary(runs=len(seen), kept=kept, done=done, failed=_without_result(store, list(every.values())))


def _without_result(store: Store, planned: Sequence[Run]) -> int:
    """The number of planned runs that have no result. One that did not even fail says so in the store."""
    missing = {run.run_id for run in planned} - store.finished()
    silent = sorted(missing - {run_id for run_id, _ in store.failures()})
    if silent:
        store.add([Finished(run_id, None, WITHOUT_RESULT) for run_id in silent])
    return len(missing)


def offset(progress: Progress, before: int, total: int) -> Progress:
    """The progress of a part: `before` runs have ended before it, of so many in all."""
    return lambda ended, _: progress(before + ended, total)


def _run(
    study: StudyPlan, missing: Sequence[Run], store: Store, executor: Executor, progress: Progress | None, total: int
) -> int:
    """Run the missing runs. Returns the number of runs that succeeded."""
    done, ended = 0, total - len(missing)
    if progress is not None:
        progress(ended, total)
    batches = executor.run(study, missing)
    try:
        for batch in batches:
            good, count = sum(run.outcome is not None for run in batch), len(batch)
            if count:
                store.add(batch)
            done, ended = done + good, ended + count
            if progress is not None:
                progress(ended, total)
    finally:
        close = getattr(batches, "close", None)
        if close is not None:
            close()
    return done


def _extend(store: Store, runs: Sequence[Run], seeds: dict[int, list[int]], until: Until) -> bool:
    """Add seeds to the points whose interval is too wide. Returns whether there are such points."""
    from ackclock import stats

    frame = store.outcomes()
    values = defaultdict(list)
    points = {position: run.point for position, run in enumerate(runs)}
    for row in frame.iter_rows(named=True):
        value = metric_of(numbers(row), until.metric)
        if value is not None:
            values[points[row["position"]]].append(value)
    wide = []
    for point, point_seeds in seeds.items():
        if len(point_seeds) >= until.most:
            continue
        mean = stats.mean(values[point])
        if mean.half_width is None or mean.half_width > until.part * abs(mean.value):
            wide.append(point)
    for point in wide:
        more = max(5, len(seeds[point]) // 2)
        seeds[point] = list(range(1, min(until.most, len(seeds[point]) + more) + 1))
    return bool(wide)
