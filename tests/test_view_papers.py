"""Links and commands from the tables of a paper's page to their runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ackclock.apps.papers import find
from ackclock.apps.papers.results import Results, StudyUse
from ackclock.apps.papers.runs import PaperRuns
from ackclock.apps.papers.tables import Entry, cells_of
from ackclock.stats import Estimate
from ackclock.study.executors import Local

ROOT = Path(__file__).parents[1]


def test_the_studies_behind_computed_cells_are_those_that_were_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paper = find("ca-artt")
    results = Results(paper, tmp_path, Local())
    runs = PaperRuns(results, None, None)
    table = next(table for table in paper.tables if any(part.code for part in table.part))
    named, other = runs.behind(table), paper.studies[-1].name
    assert named

    def measure(*_: object) -> list[Any]:
        results.studies_used.extend([StudyUse(other), StudyUse(other)])
        return []

    monkeypatch.setattr("ackclock.apps.papers.tables.call", measure)
    for one in table.part:
        if one.code:
            cells_of(results, table, one)
    assert runs.behind(table) == [other] != named


def test_a_run_that_no_link_holds_has_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number leads to its run in the list of runs, which has a link or the command."""
    monkeypatch.chdir(ROOT)
    paper = find("ca-artt")
    linked = PaperRuns(Results(paper, tmp_path, Local()), None, "../").points("symmetric")
    monkeypatch.setattr("ackclock.apps.share.LONGEST", 100)
    runs = PaperRuns(Results(paper, tmp_path, Local()), None, "../")
    cells = [
        Entry("T5", row, column, "", reading, "", Estimate(1.5, None, None, 1))
        for row, column, reading in runs.of_table("T5")
    ]
    assert cells
    points = runs.points("symmetric")
    assert all(run.href for run in linked)
    assert not any(run.href for run in points)
    assert [run.anchor for run in points] == [run.anchor for run in linked]
    for cell in cells:
        run = runs.cell(cell)
        assert run in points
        assert run is not None
        assert run.command.startswith("ackclock view ")
