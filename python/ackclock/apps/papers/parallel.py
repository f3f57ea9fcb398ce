"""`ackclock paper all`: two processes reproduce papers, so that one simulates while the other judges claims."""

from __future__ import annotations

import gc
import multiprocessing
import os
import queue
import signal
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ackclock.apps.papers.controller_comparison import ControllerComparison, compare_controllers
from ackclock.apps.papers.folder import Paper
from ackclock.apps.papers.reproduce import reproduce
from ackclock.apps.papers.reproduction import Reproduction
from ackclock.base.files import BadInput
from ackclock.base.models import models
from ackclock.study.executors import ENGINES
from ackclock.study.sweep import Progress

AT_ONCE = 2
"""Number of processes. Simulation uses all threads of a process, the judging of claims uses one."""
POLL_S = 0.2
Report = tuple[str, str, int, int]
"""Paper, study, number of finished runs, total number of runs."""


class PapersProgress(Protocol):
    """Shows the progress of several papers."""

    def advance(self, name: str, done: int, kept: int, total: int) -> None:
        """`done` of about `total` runs (0: not known) have ended; `kept` of them had been run before."""

    def finish(self, name: str) -> None:
        """The paper's page is written."""


@dataclass(frozen=True)
class Options:
    """Options common to all papers."""

    out: Path
    engine: str
    jobs: int | None
    quick: bool
    time_limit_s: float | None = None


@dataclass(frozen=True)
class AllResults:
    """The results of all papers, in the requested order, and of the comparison of all controllers."""

    papers: list[Reproduction]
    comparison: ControllerComparison | None
    errors: list[str]
    """The reasons why the result of a paper or of the comparison is missing."""

    @property
    def failed(self) -> bool:
        """Whether a result is missing or a run has no outcome."""
        runs = [one.failed for one in self.papers] + [
            one.failed for one in (self.comparison.results if self.comparison else [])
        ]
        return bool(self.errors) or any(runs)


def reproduce_all(
    papers: list[Paper],
    comparison: Path | None,
    options: Options,
    progress: PapersProgress,
) -> AllResults:
    """Reproduce papers, and run the comparison in this folder if there is one.

    Bad input of one paper does not stop the others. Any other exception, such as KeyboardInterrupt, ends all processes
    at once; finished runs are kept.
    """
    # A process reproduces several papers. Without these limits of glibc it keeps the memory of the largest tables.
    limits = {"MALLOC_MMAP_THRESHOLD_": "262144", "MALLOC_TRIM_THRESHOLD_": "262144", "MALLOC_ARENA_MAX": "2"}
    context = multiprocessing.get_context("spawn")
    reports = context.Queue()
    counts = _Counts(_expected(papers, comparison, options.quick), progress)
    count = 1 if options.engine == "ray" else AT_ONCE  # a local Ray would otherwise be started twice
    with ProcessPoolExecutor(count, mp_context=context, initializer=_begin, initargs=(reports,)) as pool:
        with _environment(limits):  # the processes start when they get their first tasks
            futures = [pool.submit(_reproduce, one, options) for one in papers]
            compared = [pool.submit(_compare, comparison, options)] if comparison is not None else []
        names: dict[Future[Any], str] = {future: one.key for future, one in zip(futures, papers, strict=True)}
        names |= dict.fromkeys(compared, "comparison")
        try:
            waiting = set(names)
            while waiting:
                ended = wait(waiting, timeout=POLL_S).done
                counts.show(reports)
                for future in ended:
                    if _bad_input(future) is None:  # any other exception ends the other processes too
                        progress.finish(names[future])
                waiting -= ended
            errors = {name: error for future, name in names.items() if (error := _bad_input(future))}
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise
    good = [future.result() for future in futures if names[future] not in errors]
    whole = compared[0].result() if compared and "comparison" not in errors else None
    return AllResults(good, whole, [f"{name}: {error}" for name, error in errors.items()])


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Variables of the environment for processes that start within this context; variables that are set stay."""
    added = {name: value for name, value in values.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


def _bad_input(future: Future[Any]) -> str | None:
    """The message if it ended with bad input. Any other exception is raised."""
    error = future.exception()
    if error is not None and not isinstance(error, BadInput):
        raise error
    return None if error is None else str(error)


class _Counts:
    """Finished and expected runs of each paper, from the reports on its studies.

    A study that has not begun counts as the mean of those that have, without the runs of the calibration.
    """

    def __init__(self, expected: Mapping[str, set[str]], shown: PapersProgress) -> None:
        self._expected = expected
        self._shown = shown
        self._studies: defaultdict[str, dict[str, tuple[int, int]]] = defaultdict(dict)
        self._kept: defaultdict[str, dict[str, int]] = defaultdict(dict)

    def show(self, reports: multiprocessing.Queue[Report]) -> None:
        """Show the reports of the processes."""
        changed = set()
        while True:
            try:
                name, study, done, total = reports.get_nowait()
            except queue.Empty:
                break
            self._studies[name][study] = (done, total)
            self._kept[name].setdefault(study, done)
            changed.add(name)
        for name in changed:
            self._shown.advance(name, *self.of(name))

    def of(self, name: str) -> tuple[int, int, int]:
        """Finished runs of a paper, those of them that were there before, expected runs (0: not known yet)."""
        studies = self._studies[name]
        done, total = (sum(counts[i] for counts in studies.values()) for i in (0, 1))
        usual = [count for study, (_, count) in studies.items() if study in self._expected.get(name, set())]
        coming = len(self._expected.get(name, set()) - studies.keys())
        kept = sum(self._kept[name].values())
        if coming and not usual:
            return done, kept, 0
        return done, kept, total + round(coming * sum(usual) / max(1, len(usual)))


def _expected(papers: Sequence[Paper], comparison: Path | None, quick: bool) -> dict[str, set[str]]:
    """Names under which the studies of each paper, and of the comparison, report their progress."""
    names: dict[str, set[str]] = {}
    for paper in papers:
        repeated = {s.name for s in paper.studies if (s.quick_readings if quick else s.readings)}
        run = {s.name for s in paper.studies if s.quick or not quick}
        names[paper.key] = run | {f"{name}.readings" for name in repeated}
    if comparison is not None:
        names["comparison"] = {entry["name"] for entry in models("controllers")}
    return names


_reports: multiprocessing.Queue[Report]


def _begin(reports: multiprocessing.Queue[Report]) -> None:
    """Initialise a worker process. It ignores SIGINT, which only the parent process handles."""
    global _reports
    _reports = reports
    _reports.cancel_join_thread()
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _reporting(paper: str) -> Callable[[str], Progress]:
    return lambda study: lambda done, total: _reports.put((paper, study, done, total))


def _reproduce(paper: Paper, options: Options) -> Reproduction:
    executor = ENGINES[options.engine](options.jobs, options.time_limit_s)
    reproduction = reproduce(paper, options.out, executor, quick=options.quick, progress=_reporting(paper.key))
    paper.forget_code()
    gc.collect()  # the tables of this paper, before the next one has its own
    return reproduction


def _compare(folder: Path, options: Options) -> ControllerComparison:
    executor = ENGINES[options.engine](options.jobs, options.time_limit_s)
    return compare_controllers(folder, options.out, executor, quick=options.quick, progress=_reporting("comparison"))
