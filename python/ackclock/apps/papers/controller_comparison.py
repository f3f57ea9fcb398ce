"""The comparison of every controller on every paper's network (papers/comparison)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ackclock import stats
from ackclock.apps.suite.folder import Suite
from ackclock.apps.suite.page import render
from ackclock.apps.suite.result import SuiteResult, read
from ackclock.apps.suite.run import run
from ackclock.apps.suite.situation import Situation
from ackclock.base.files import UnmetNeed, write_text
from ackclock.base.models import models
from ackclock.study.executors import Executor
from ackclock.study.sweep import Progress


@dataclass(frozen=True)
class ControllerComparison:
    """The result: a suite run for each controller, and the controllers that no network supports, with reasons."""

    suite: Suite
    results: list[SuiteResult]
    refused: dict[str, str]

    @property
    def names(self) -> list[str]:
        """The controllers that were compared."""
        return [result.metadata.control for result in self.results]

    def rows(self, situation: Situation) -> list[tuple[str, dict[str, stats.Estimate]]]:
        """Controllers with their metrics in a situation, most goodput first."""
        cells = []
        for result in self.results:
            estimates = {metric: e for (name, _, metric), e in result.estimates().items() if name == situation.id}
            if estimates:
                cells.append((result.metadata.control, estimates))
        return sorted(cells, key=lambda row: -row[1]["goodput"].value)


def compare_controllers(
    folder: Path,
    out: Path,
    executor: Executor,
    *,
    quick: bool = False,
    progress: Callable[[str], Progress | None] | None = None,
) -> ControllerComparison:
    """Run every registered controller through the suite in `folder`; finished runs are kept."""
    suite = Suite(folder)
    results, refused = [], {}
    for entry in models("controllers"):
        name = entry["name"]
        target = out / "comparison" / name
        advance = _as_one(progress, name)
        try:  # the suite extends networks from the folders of the papers
            result = run(suite, name, target, executor, quick=quick, page=False, progress=advance, allow_code=True)
            results.append(result)
        except UnmetNeed as error:
            refused[name] = str(error).removeprefix(f"{name}: ")
    for result in results:  # a page compares with the results of other controllers, so these come first
        write_text(result.folder / "index.html", render(suite, result))
    return ControllerComparison(suite, results, refused)


def read_comparison(suite: Suite, folder: Path) -> ControllerComparison:
    """The comparison from the results that are in a folder, with those of a reader's own controllers."""
    results = [read(path.parent) for path in sorted(folder.glob("*/suite.json"))]
    of_suite = {result.metadata.control: result for result in results if result.metadata.suite == suite.key}
    registered = [entry["name"] for entry in models("controllers")]
    order = [*(name for name in registered if name in of_suite), *(name for name in of_suite if name not in registered)]
    return ControllerComparison(suite, [of_suite[name] for name in order], {})


def _as_one(progress: Callable[[str], Progress | None] | None, name: str) -> Callable[[str], Progress | None] | None:
    """Report the studies of a controller as one, called `name`."""
    if progress is None:
        return None
    report, counts = progress(name), dict[str, tuple[int, int]]()

    def advance(study: str) -> Progress:
        def show(done: int, total: int) -> None:
            counts[study] = (done, total)
            if report is not None:
                report(sum(d for d, _ in counts.values()), sum(t for _, t in counts.values()))

        return show

    return advance
