"""A study with its finished runs, for Python programs and notebooks."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ackclock.base.files import BadInput
from ackclock.study.plan import StudyPlan
from ackclock.study.store import Store

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from ackclock.draw.kinds import Kind
    from ackclock.study.sweep import Progress


class Study(StudyPlan):
    """A scenario with axes (`sweep`), or a single run if it has none, and its finished runs.

    docs/studies.md describes the format.

    >>> study = Study.load("study.toml").run("out/study")  # doctest: +SKIP
    >>> study.plot(x="loss", y="goodput", by="control")  # doctest: +SKIP
    """

    folder: Path | None = None
    """Where the finished runs are; None before `run`."""
    _temporary: tempfile.TemporaryDirectory[str] | None = None

    def __repr__(self) -> str:
        axes = ", ".join(f"{name} ({len(labels)})" for name, labels in self.axes.items()) or "no axis"
        state = "not run" if self.folder is None else f"runs in {self.folder}"
        runs = self.points * len(self.seeds)
        return f"<ackclock.Study {self.file}: {self.title or 'no title'}, axes {axes}, {runs:,} runs; {state}>"

    def run(
        self, folder: str | Path | None = None, *, jobs: int | None = None, progress: Progress | None = None
    ) -> Self:
        """Run the missing runs into a folder, in threads; finished runs are kept. Returns the study.

        `jobs` is the number of threads (default: all cores). Without `folder`, the runs are kept until the program
        ends. Raises BadInput if the folder holds another study, and RuntimeError if a run failed.
        """
        from ackclock.study.executors import Local
        from ackclock.study.sweep import sweep

        if folder is None and self._temporary is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="ackclock-")
        target = Path(folder) if folder is not None else Path(str(self._temporary and self._temporary.name)) / "study"
        with Store.create(target) as store:
            summary = sweep(self, store, Local(jobs), progress=progress)
            if summary.failed:
                run_id, error = store.failures()[0]
                raise RuntimeError(f"{summary.failed} of {summary.runs} runs failed; the first is {run_id}: {error}")
        self.folder = target
        return self

    @contextmanager
    def _store(self) -> Iterator[Store]:
        if self.folder is None:
            raise BadInput("the study has not run yet; call run() or run(FOLDER) first")
        with Store.open(self.folder) as store:
            yield store

    def table(self, where: Sequence[str] = ()) -> pl.DataFrame:
        """One row for each finished run: run_id, seed, axes, then every number of the outcome.

        `where` selects points by `AXIS=LABEL`. Raises BadInput before `run`, and for an unknown axis or label.
        """
        from ackclock.study.results import table

        with self._store() as store:
            return table(store, where)

    def plot(
        self,
        x: str | None = None,
        y: str | Sequence[str] = (),
        by: str | None = None,
        kind: Kind = "lines",
        *,
        where: Sequence[str] = (),
        flows: Sequence[str] = (),
        link: str = "",
        log_x: bool | None = None,
        log_y: bool = False,
        title: str = "",
        width: float | str | None = None,
        height: float | None = None,
        font_size: float | None = None,
        show_title: bool = True,
    ) -> Figure:
        """Draw metrics of the study, as `ackclock plot` does (docs/plots.md).

        `width` and `height` are in inches ("column": 3.5, "page": 7.16), `font_size` in points.
        Axes may be named by a part of their names. Raises BadInput before `run`, for an unknown axis or metric, and
        if the study has more axes than the figure can show.
        """
        from ackclock.draw.notebook import show_figures
        from ackclock.draw.studies import Choice, study_figure
        from ackclock.draw.style import chosen_size, fitted
        from ackclock.study.results import points

        show_figures()
        metrics = [y] if isinstance(y, str) else list(y)
        with self._store() as store:
            study_table = points(store, where)
        choice = Choice(x, metrics, by, kind, flows, link, log_x, log_y, title)
        size = chosen_size(width, height, font_size, title=show_title)
        return fitted(lambda: study_figure(study_table, choice), size)

    def _repr_html_(self) -> str:
        """Axes and, after `run`, means and the default figure."""
        from ackclock.draw import notebook
        from ackclock.study.results import summary

        means: list[dict[str, Any]] = []
        figure = None
        if self.folder is not None:
            with self._store() as store:
                means = summary(store)
            try:
                figure = self.plot()
            except BadInput:  # more axes than a figure can show: the tables remain
                figure = None
        network = self.scenario(0)
        return notebook.study_html(self.title, self.axes, self.seeds, self.points, means, figure, network)
