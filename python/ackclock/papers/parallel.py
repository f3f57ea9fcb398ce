"""`ackclock paper all`: two processes reproduce papers, so that one simulates while the other judges claims."""

from __future__ import annotations

import multiprocessing
import queue
import signal
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock.files import BadInput
from ackclock.papers.controller_comparison import ControllerComparison, compare_controllers
from ackclock.papers.folder import Paper
from ackclock.papers.reproduce import Reproduction, reproduce
from ackclock.study.executors import ENGINES
from ackclock.study.sweep import Progress

AT_ONCE = 2
"""Number of processes. Simulation uses all threads of a process, the judging of claims uses one."""
POLL_S = 0.2
Report = tuple[str, str, int, int]
"""Paper, study, number of finished runs, total number of runs."""


@dataclass(frozen=True)
class Options:
    """Options common to all papers."""

    out: Path
    engine: str
    jobs: int | None
    quick: bool


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
            one.failed for one in (self.comparison.made if self.comparison else [])
        ]
        return bool(self.errors) or any(runs)


def reproduce_all(
    papers: list[Paper],
    comparison: Path | None,
    options: Options,
    progress: Callable[[str], Progress | None],
) -> AllResults:
    """Reproduce papers, and run the comparison in this folder if there is one.

    Bad input of one paper does not stop the others. Any other exception, such as KeyboardInterrupt, ends all processes
    at once; finished runs are kept.
    """
    context = multiprocessing.get_context("spawn")
    reports = context.Queue()
    bars = _ProgressBars(progress)
    count = 1 if options.engine == "ray" else AT_ONCE  # a local Ray would otherwise be started twice
    with ProcessPoolExecutor(count, mp_context=context, initializer=_begin, initargs=(reports,)) as pool:
        made = [pool.submit(_reproduce, one, options) for one in papers]
        compared = [pool.submit(_compare, comparison, options)] if comparison is not None else []
        names: dict[Future[Any], str] = {future: one.key for future, one in zip(made, papers, strict=True)}
        names |= dict.fromkeys(compared, "comparison")
        try:
            while (ended := wait(names, timeout=POLL_S)).not_done:
                bars.show(reports)
                for future in ended.done:
                    _bad_input(future)  # any other exception ends the other processes too
            errors = {name: error for future, name in names.items() if (error := _bad_input(future))}
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise
    good = [future.result() for future in made if names[future] not in errors]
    whole = compared[0].result() if compared and "comparison" not in errors else None
    return AllResults(good, whole, [f"{name}: {error}" for name, error in errors.items()])


def _bad_input(future: Future[Any]) -> str | None:
    """The message if it ended with bad input. Any other exception is raised."""
    error = future.exception()
    if error is not None and not isinstance(error, BadInput):
        raise error
    return None if error is None else str(error)


class _ProgressBars:
    """A progress bar for each paper: finished runs and total runs of the studies started so far."""

    def __init__(self, begin: Callable[[str], Progress | None]) -> None:
        self._begin = begin
        self._bars: dict[str, Progress | None] = {}
        self._studies: defaultdict[str, dict[str, tuple[int, int]]] = defaultdict(dict)

    def show(self, reports: multiprocessing.Queue[Report]) -> None:
        """Update the bars with the reports of the processes."""
        while True:
            try:
                name, study, done, total = reports.get_nowait()
            except queue.Empty:
                return
            if name not in self._bars:
                self._bars[name] = self._begin(name)
            self._studies[name][study] = (done, total)
            bar = self._bars[name]
            if bar is not None:
                counts = self._studies[name].values()
                bar(sum(d for d, _ in counts), sum(t for _, t in counts))


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
    executor = ENGINES[options.engine](options.jobs)
    return reproduce(paper, options.out, executor, quick=options.quick, progress=_reporting(paper.key))


def _compare(folder: Path, options: Options) -> ControllerComparison:
    executor = ENGINES[options.engine](options.jobs)
    return compare_controllers(folder, options.out, executor, quick=options.quick, progress=_reporting("comparison"))
