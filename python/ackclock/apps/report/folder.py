"""Which report a folder gets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ackclock.apps.report.document import Report
from ackclock.base.files import BadInput
from ackclock.study.store import FILE


def of_folder(folder: Path, goals: Sequence[str] = (), per: str | None = None, *, allow_code: bool = False) -> Report:
    """The report of a folder of a study, a comparison, a suite or a search.

    `goals` and `per` are those of `ackclock results`, for studies. With `allow_code` a stored scenario may name code.
    Raises BadInput, ScenarioError.
    """
    from ackclock.apps.comparison import FILE as COMPARISON
    from ackclock.apps.report import comparison, search, study, suite

    if not folder.is_dir():
        raise BadInput(f"{folder}: there is no such folder")
    if (folder / search.FILE).is_file():
        _no_goals(goals, per, "a search")
        return search.of_folder(folder, allow_code=allow_code)
    if (folder / "suite.json").is_file():
        _no_goals(goals, per, "a suite")
        return suite.of_folder(folder)
    if (folder / FILE).is_file():
        return study.of_store(folder, goals, per, allow_code=allow_code)
    if (folder / COMPARISON).is_file():
        _no_goals(goals, per, "a comparison")
        return comparison.of_folder(folder)
    raise BadInput(
        f"{folder}: has nothing to report: no study (ackclock sweep), no comparison (ackclock compare), no suite "
        "(ackclock suite), no search (ackclock search); compare --against has --export and --plot"
    )


def _no_goals(goals: Sequence[str], per: str | None, what: str) -> None:
    if goals or per is not None:
        raise BadInput(f"--goal and --per: are for a study of ackclock sweep; this folder is of {what}")
