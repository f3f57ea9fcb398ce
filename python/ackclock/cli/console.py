"""Progress bars and wide tables of the commands."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ackclock.text import PlainConsole, say, shown

LINES_EVERY_S = 30.0


def wide_console() -> PlainConsole:
    """A console for wide tables: a file or a pipe has room."""
    console = PlainConsole()
    if not console.is_terminal:
        console.width = 240
    return console


@contextmanager
def progress(doing: str, *, quiet: bool) -> Iterator[Callable[[float], None] | None]:
    """A bar on standard error while something lasts; none where that is no terminal."""
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
    """What is done so far, a line on standard error every half minute: for logs."""
    last = time.monotonic()

    def advance(ended: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= LINES_EVERY_S:
            last = time.monotonic()
            say(f"ackclock: {name}: {ended:,} of {total:,} runs", error=True)

    return advance


@contextmanager
def study_progress(*, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A bar with rate and time left on standard error while a study runs; lines where that is no terminal."""
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
    """A bar for each of several studies; lines now and then where standard error is no terminal."""
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
