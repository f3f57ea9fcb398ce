"""Progress bars and wide tables of the commands."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ackclock.base.plain_console import PlainConsole
from ackclock.base.text import say, shown

LINES_EVERY_S = 30.0


def wide_console() -> PlainConsole:
    """A console for wide tables: 240 columns if the output is a file or a pipe."""
    console = PlainConsole()
    if not console.is_terminal:
        console.width = 240
    return console


@contextmanager
def progress(doing: str, *, quiet: bool) -> Iterator[Callable[[float], None] | None]:
    """Show a progress bar on standard error; yield None if standard error is not a terminal."""
    console = PlainConsole(stderr=True)
    if quiet or not console.is_terminal:
        yield None
        return
    columns = (
        TextColumn(shown(doing), markup=False),
        BarColumn(),
        TextColumn("{task.percentage:.0f} %"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("run", total=1.0)
        yield lambda part: bar.update(task, completed=part)


def _lines(name: str) -> Callable[[int, int], None]:
    """Print the number of finished runs on standard error every 30 s, for log files."""
    last = time.monotonic()

    def advance(ended: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= LINES_EVERY_S:
            last = time.monotonic()
            say(f"ackclock: {name}: {ended:,} of {total:,} runs", error=True)

    return advance


@contextmanager
def study_progress(*, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Show a study's progress on standard error: a bar with rate and time left, or lines if it is not a terminal."""
    console = PlainConsole(stderr=True)
    if quiet or not console.is_terminal:
        yield None if quiet else _lines("running")
        return
    columns = (
        TextColumn("running"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    began, first = time.monotonic(), -1
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("study", total=None, rate="")

        def advance(ended: int, total: int) -> None:
            nonlocal first
            first = ended if first < 0 else first
            elapsed = time.monotonic() - began
            rate = f"{(ended - first) / elapsed:.3g} runs/s" if elapsed > 0.5 else ""
            bar.update(task, completed=ended, total=total, rate=rate)

        yield advance


class PaperLines:
    """A line for each paper: a bar, the number of runs, the time left. Without a terminal, a line every 30 s."""

    def __init__(self, bars: Progress | None, names: Sequence[str]) -> None:
        self._bars = bars
        width = max(map(len, names), default=0)
        self._tasks = (
            {name: bars.add_task(f"{name:{width}}", total=None, told="waiting", start=False) for name in names}
            if bars
            else {}
        )
        self._began: dict[str, float] = {}
        self._last: dict[str, float] = {}

    def advance(self, name: str, done: int, kept: int, total: int) -> None:
        """Show that `done` of about `total` runs (0: not known) have ended; `kept` of them had been run before."""
        now = time.monotonic()
        began = self._began.setdefault(name, now)
        self._last.setdefault(name, now)
        told = f"{done:,} runs"
        if total:
            told = f"{done:,} of about {total:,} runs{time_left(now - began, done - kept, total - done)}"
        if self._bars is not None:
            if done == kept:
                self._bars.start_task(self._tasks[name])
            self._bars.update(self._tasks[name], completed=done, total=total or None, told=told)
        elif now - self._last[name] >= LINES_EVERY_S:
            self._last[name] = now
            say(f"ackclock: {name}: {told}", error=True)

    def finish(self, name: str) -> None:
        """Show that a paper's page is written."""
        told = f"done in {time.monotonic() - self._began.get(name, time.monotonic()):.0f} s"
        if self._bars is not None:
            self._bars.update(self._tasks[name], completed=1, total=1, told=told)
        else:
            say(f"ackclock: {name}: {told}", error=True)


def time_left(elapsed_s: float, done: int, remaining: int) -> str:
    """The time left at the present rate as text; empty in the first two seconds, and before the first run."""
    if remaining <= 0:
        return ", judging claims"
    if elapsed_s < 2 or done <= 0:
        return ""
    seconds = round(elapsed_s * remaining / done)
    return f", about {seconds // 60}:{seconds % 60:02d} left"


@contextmanager
def papers_progress(names: Sequence[str]) -> Iterator[PaperLines]:
    """Show a line for each paper on standard error."""
    console = PlainConsole(stderr=True)
    if not console.is_terminal:
        yield PaperLines(None, names)
        return
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=20), TextColumn("{task.fields[told]}"))
    with Progress(*columns, console=console, transient=True) as bars:
        yield PaperLines(bars, names)


Begin = Callable[[str], Callable[[int, int], None] | None]
"""Begins to show the progress of a part with this name; returns a function of the runs that have ended and of all."""


@contextmanager
def named_progress() -> Iterator[Begin]:
    """Show a progress bar for each study, or a line every 30 s if standard error is not a terminal."""
    console = PlainConsole(stderr=True)
    if not console.is_terminal:
        yield _lines
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:

        def begin(name: str) -> Callable[[int, int], None]:
            task = bar.add_task(name, total=None)
            return lambda ended, total: bar.update(task, completed=ended, total=total)

        yield begin


@contextmanager
def counted_progress(what: str, count: int) -> Iterator[Begin]:
    """Show which of `count` parts runs, how many of its runs have ended, and the time left, on one line.

    Without a terminal, a line every 30 s.
    """
    console = PlainConsole(stderr=True)
    began = last = time.monotonic()
    names: dict[str, None] = {}

    def line(name: str, ended: int, total: int) -> tuple[str, float]:
        """What is shown, and how many parts have ended."""
        done = len(names) - 1 + (ended / total if total else 0.0)
        elapsed = time.monotonic() - began
        left = ""
        if elapsed > 2 and done > 0:
            minutes = elapsed * (count - done) / done / 60
            left = f", about {minutes:.0f} min left" if minutes >= 1.5 else f", about {60 * minutes:.0f} s left"
        return f"{what} {len(names)} of {count}: {name}, {ended} of {total} runs{left}", done

    def counting(show: Callable[[str, float], None]) -> Begin:
        def begin(name: str) -> Callable[[int, int], None]:
            names[name.removesuffix("-standard")] = None
            return lambda ended, total: show(*line(name, ended, total))

        return begin

    if not console.is_terminal:

        def print_line(text: str, _: float) -> None:
            nonlocal last
            if time.monotonic() - last >= LINES_EVERY_S:
                last = time.monotonic()
                say(f"ackclock: {text}", error=True)

        yield counting(print_line)
        return
    with Progress(TextColumn("{task.description}"), BarColumn(bar_width=20), console=console, transient=True) as bar:
        task = bar.add_task(what, total=count)
        yield counting(lambda text, done: bar.update(task, completed=done, description=text))
