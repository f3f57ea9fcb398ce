"""Progress bars and wide tables of the commands."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ackclock.text import PlainConsole, say, shown

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


@contextmanager
def named_progress() -> Iterator[Callable[[str], Callable[[int, int], None] | None]]:
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
