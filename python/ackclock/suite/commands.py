"""`ackclock suite` and `ackclock compare`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from ackclock.options import AllowCode, Jobs, percent
from ackclock.text import say

if TYPE_CHECKING:
    from ackclock.suite.compare import Change


def suite(
    name: str,
    /,
    *,
    control: str,
    out: Path | None = None,
    quick: bool = False,
    jobs: Jobs = None,
    engine: Literal["local", "ray"] = "local",
    allow_code: AllowCode = False,
) -> int:
    """Run a controller through every situation of a suite and write one page. Resumable.

    Parameters
    ----------
    name
        The suite (tcpeval), or a folder with a suite.toml.
    control
        A controller's name, FILE.py:CLASS, or a table such as '{ kind = "vegas", alpha = 1 }'.
    out
        Folder for page, measures and runs; out/suites/NAME/CONTROL by default.
    quick
        Fewer seeds; the page says so.
    jobs
        Number of threads (CPUs of a local Ray). Default: all.
    engine
        Executor: this machine, or a Ray cluster.
    allow_code
        Let files name code and bases (`extends`) outside their own folder.

    """
    from ackclock.study.executors import ENGINES
    from ackclock.suite.folder import find
    from ackclock.suite.run import folder_name, run
    from ackclock.terminal import named_progress, suite_results

    found = find(name)
    target = out or Path("out") / "suites" / found.key / folder_name(control)
    try:
        with named_progress() as progress:
            made = run(found, control, target, ENGINES[engine](jobs), quick=quick, progress=progress)
    except KeyboardInterrupt:
        say(f"ackclock: interrupted; finished runs are kept in {target}; the same command goes on", error=True)
        return 130
    suite_results(made)
    return 1 if made.failed else 0


def compare(
    a: Path,
    b: Path,
    /,
    *,
    tolerance: str = "1%",
    any_change: Annotated[bool, Parameter(name="--any")] = False,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
) -> int:
    """Compare two folders that `ackclock suite` made: which metrics changed. Exits with 1 if one got worse.

    Parameters
    ----------
    a
        Results before, or of the reference controller.
    b
        Results after, or of the controller compared with it.
    tolerance
        Largest change of the mean that does not count.
    any_change
        Exit with 1 for any change, also for the better.
    as_json
        Print every metric as a JSON list and nothing else.

    """
    from ackclock.suite.compare import compare as changes_of
    from ackclock.suite.result import read
    from ackclock.terminal import changes

    part = percent(tolerance, "--tolerance")
    made = (read(a), read(b))
    found = changes_of(*made, tolerance=part)
    if as_json:
        print(json.dumps([_plain(change) for change in found], allow_nan=False))
    else:
        changes(made, found)
    wrong = {"worse", "missing", "better", "other"} if any_change else {"worse", "missing"}
    return 1 if any(change.verdict in wrong for change in found) else 0


def _plain(change: Change) -> dict[str, Any]:
    """As JSON has it: null for no number."""
    found = asdict(change)
    if change.verdict == "missing":
        found["difference"] = None
    return found
