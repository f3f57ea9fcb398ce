"""Links and commands from the tables of a paper's page to their runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from markupsafe import escape

from ackclock.html import environment
from ackclock.papers import find
from ackclock.papers.results import Results, StudyUse
from ackclock.papers.runs import PaperRuns
from ackclock.papers.tables import Entry, cells_of
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

    monkeypatch.setattr("ackclock.papers.tables.call", measure)
    for one in table.part:
        if one.code:
            cells_of(results, table, one)
    assert runs.behind(table) == [other] != named


def test_a_number_whose_run_no_link_holds_leads_to_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("ackclock.papers.runs.LONGEST", 100)
    paper = find("ca-artt")
    runs = PaperRuns(Results(paper, tmp_path, Local()), None, "../")
    [table] = [table for table in paper.tables if table.id == "T3"]
    cells = [
        Entry("T3", row, column, "", reading, "", Estimate(1.5, None, None, 1))
        for row, column, reading in runs.of_table("T3")
        if not table.main or reading in table.main
    ]
    commands = runs.commands(table, [*cells, *cells])
    assert len(commands) == len(set(commands)) > 10
    macros: Any = environment("ackclock.papers").get_template("cell.html").module
    text = macros.obtained(cells[-1], 3, runs.cell(cells[-1]), "T3", commands)
    found = re.search(r'<a class="run" href="#(T3-command-\d+)">1.5</a>', text)
    assert found is not None
    run = runs.cell(cells[-1])
    assert run is not None
    listed = macros.commands_of(commands, "T3")
    assert f'<li id="{found[1]}">{escape(run.label)}: <code>{escape(run.command)}</code></li>' in str(listed)
