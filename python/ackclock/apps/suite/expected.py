"""A result of a suite as an expectation: the same runs again, and the changes of verdicts."""

from __future__ import annotations

import tempfile
import tomllib
from pathlib import Path

from ackclock import _core
from ackclock.apps.suite.folder import find
from ackclock.apps.suite.result import SuiteResult, read
from ackclock.apps.suite.run import run
from ackclock.apps.suite.verdict_changes import VerdictChange, changes
from ackclock.base.assignment import Assignment, control_table, key_names
from ackclock.base.files import BadInput
from ackclock.base.languages import UNGUARDED, named_in
from ackclock.base.toml_text import read_value
from ackclock.study.executors import Executor


def again(folder: Path, executor: Executor, *, allow_code: bool) -> tuple[SuiteResult, list[VerdictChange]]:
    """Run the suite of a result again with the same controller, and compare. The folder is not changed.

    Raises BadInput if it has no checks, if its suite is not there, or, without `allow_code`, if it names code that
    would run outside a sandbox: a result can be a stranger's.
    """
    earlier = read(folder)
    about = earlier.metadata
    if not earlier.checks:
        raise BadInput(f"{folder}: is a result without checks; compare two results with ackclock compare A B")
    code = named_in(control_table(about.control))
    if code is not None and code[0] in UNGUARDED and not allow_code:
        raise BadInput(f"{folder}: its controller {about.control} is code that would run; allow it with --allow-code")
    if about.on.startswith("stack:") and not allow_code:
        raise BadInput(f"{folder}: its stack {about.on} is a program that would run; allow it with --allow-code")
    with tempfile.TemporaryDirectory() as out:
        result = run(
            find(about.place or about.suite),
            about.control,
            Path(out) / "again",
            executor,
            quick=about.quick,
            page=False,
            allow_code=allow_code,
            on=about.on,
            overrides=[_of_text(text) for text in about.overrides],
        )
    return result, changes(earlier, result)


def _of_text(text: str) -> Assignment:
    """An assignment of a result, which may name no more than a scenario may. Raises BadInput."""
    parts = _core.split_assignment(text)
    if parts is None:
        raise BadInput(f"the result has the assignment {text!r}, which is none: KEY=VALUE")
    try:
        value = read_value(parts[1])
    except tomllib.TOMLDecodeError:
        value = parts[1]
    return Assignment(key_names(parts[0], "the result"), value, f"the result's {parts[0]}")
