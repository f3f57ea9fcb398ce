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
    """Run known failures, or the suite of a result, again.

    The exit status is 1 if one has changed: if it is fixed, milder or worse, or if a verdict is another one.

    Parameters
    ----------
    targets
        Files `regression.toml` of `ackclock search`, folders with such files, or results of `ackclock suite`.
    time_limit
        Longest time of the runs of one failure with a controller in Python, such as 60s. 0: no limit. Default: 10
        minutes.
    allow_code
        Allow the files to name code outside their own folder, and results to name controllers in Python or a stack.

    """
    from ackclock.apps.search.expect import check, files

    if not targets:
        raise BadInput("expect needs a folder of ackclock search or ackclock suite, or a file regression.toml")
    changed = 0
    results = [target for target in targets if (target / "suite.json").is_file()]
    for folder in results:
        changed += _of_suite(folder, time_limit, allow_code=allow_code)
    for file in files([target for target in targets if target not in results]) if len(results) < len(targets) else ():
        states = check(file, allow_code=allow_code)
        while (state := _next(states, time_limit)) is not None:
            say(f"{state.state}: {state.scenario}: {state.text}")
            changed += state.state != "as known"
    return 1 if changed else 0


def _of_suite(folder: Path, limit_s: float | None, *, allow_code: bool) -> int:
    """Run the suite of a result again, and print the changes of its verdicts; returns their number."""
    from ackclock.apps.suite.expected import again
    from ackclock.study.executors import Local

    result, changes = again(folder, Local(None, limit_s), allow_code=allow_code)
    about = result.metadata
    for change in changes:
        say(f"changed: {about.suite} {about.control}: {change}")
    if not changes:
        say(f"as known: {about.suite} {about.control}: {len(result.checks)} verdicts")
    for run_id, error in result.failed[:5]:
        say(f"failed: {about.suite} {about.control}: {run_id}: {error}")
    return len(changes) + len(result.failed)


def _next(states: Iterator[State], limit_s: float | None) -> State | None:
    """The state of the next failure, whose runs have a time limit; None at the end."""
    with guard.time_limit(limit_s):
        return next(states, None)
