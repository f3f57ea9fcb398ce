"""`ackclock expect`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.base.files import BadInput
from ackclock.base.text import say
from ackclock.cli import guard
from ackclock.cli.options import AllowCode, TimeLimit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ackclock.apps.search.expect import State

EXAMPLE = "ackclock expect out/search/shrew-reno"


def command(*targets: Path, time_limit: TimeLimit = None, allow_code: AllowCode = False) -> int:
    """Run known failures again.

    The exit status is 1 if one has changed: if it is fixed, milder or worse.

    Parameters
    ----------
    targets
        Files `regression.toml` of `ackclock search`, or folders with such files.
    time_limit
        Longest time of the runs of one failure with a controller in Python, such as 60s. 0: no limit. Default: 10
        minutes.
    allow_code
        Allow the files to name code outside their own folder.

    """
    from ackclock.apps.search.expect import check, files

    if not targets:
        raise BadInput("expect needs a folder of ackclock search, or a file regression.toml")
    changed = 0
    for file in files(targets):
        states = check(file, allow_code=allow_code)
        while (state := _next(states, time_limit)) is not None:
            say(f"{state.state}: {state.scenario}: {state.text}")
            changed += state.state != "as known"
    return 1 if changed else 0


def _next(states: Iterator[State], limit_s: float | None) -> State | None:
    """The state of the next failure, whose runs have a time limit; None at the end."""
    with guard.time_limit(limit_s):
        return next(states, None)
