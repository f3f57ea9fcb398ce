"""`ackclock scoreboard`."""

from __future__ import annotations

from pathlib import Path

from ackclock.base.text import say

EXAMPLE = "ackclock scoreboard out/suites"


def command(*folders: Path, out: Path = Path("out/scoreboard")) -> int:
    """Make a page of controllers by suites from kept results.

    Every cell leads to the demands with values, curves and runs. The same results give the same bytes.

    Parameters
    ----------
    folders
        Folders with results of `ackclock suite`, at any depth. Default: out/suites.
    out
        Folder for the pages.

    """
    from ackclock.apps.suite.scoreboard import results_in, write

    results = results_in(folders or (Path("out/suites"),))
    for remark in write(results, out):
        say(f"note: {remark}")
    say(f"written: {out / 'index.html'} ({len(results)} results)")
    return 0
