"""The report of a search: `ackclock search` writes its folder."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

from ackclock import _core
from ackclock._core import ScenarioError
from ackclock.apps.report import methods
from ackclock.apps.report.document import NamedFigure, NamedTable, Report, run_link
from ackclock.apps.report.study import question
from ackclock.apps.search import expect
from ackclock.base.files import BadInput
from ackclock.base.source import read_source
from ackclock.base.tables import Column
from ackclock.draw import network
from ackclock.draw.runs import overview
from ackclock.scenario import Scenario
from ackclock.stats import Estimate
from ackclock.study.store import FILE as STORE
from ackclock.study.store import Store

FILE = "regression.toml"
MOST_FIGURES = 3
"""Failures whose runs are drawn."""


def of_folder(folder: Path, *, allow_code: bool = False) -> Report:
    """The report of a search's folder: its failures, run again unless they name code. Raises BadInput, OSError."""
    entries = _entries(folder / FILE)
    sources = [read_source(folder / entry["scenario"], allow_code=allow_code) for entry in entries]
    causes = [question(source.text.partition("\n")[0]) for source in sources]
    parts = [
        Column("network", [entry["scenario"] for entry in entries]),
        Column("controller", [str(entry.get("control", "")) or "the scenario's" for entry in entries]),
        Column("a failure is", [entry["objective"] for entry in entries]),
        Column("value", [_value(entry) for entry in entries]),
        Column("cause, as the search saw it", causes),
    ]
    drawn: list[NamedFigure] = []
    runs, notes = [], []
    for entry, source in zip(entries, sources, strict=True):
        try:
            scenario = Scenario.read(source if allow_code else replace(source, code="none"))
        except (ScenarioError, BadInput) as error:
            notes.append(f"{entry['scenario']} was not run again: {error}")
            continue
        command = f"ackclock view {shlex.quote(str(folder / entry['scenario']))}"
        runs.append(run_link(entry["scenario"], scenario, int(entry["seeds"][0]), command))
        if len(drawn) < 2 * MOST_FIGURES:
            drawn += _drawn(entry, scenario)
    count, tested = len(entries), entries[0].get("control") or "a controller"
    engine = _engine(folder)
    return Report(
        kind="search",
        title=f"{'Networks' if count > 1 else 'A network'} in which {tested} fails",
        question="A search made each network as small as possible."
        if count > 1
        else "A search made it as small as possible.",
        answer=causes[:1],
        table=NamedTable("answer", "The failures", parts),
        figures=drawn,
        numbers=[],
        methods=(
            f"A search looked for networks in which {entries[0]['objective']} holds, and made each small: values and "
            "elements that are not needed for the failure are gone. A value is that of every seed of the list in the "
            f"file. The runs were made packet by packet with {methods.program(engine)}."
        ),
        citations=methods.citations(engine, [str(entry.get("control", "")) for entry in entries], []),
        runs=runs,
        notes=notes,
        command=f"ackclock expect {shlex.quote(str(folder))}",
        engines=[engine],
    )


def _engine(folder: Path) -> str:
    """The engine of the search's runs; the present one if the store has none."""
    if (folder / STORE).is_file():
        with Store.open(folder) as store:
            return store.about("engine") or _core.ENGINE
    return _core.ENGINE


def _drawn(entry: dict[str, Any], scenario: Scenario) -> list[NamedFigure]:
    """The network of a failure, and its run with the first seed."""
    name, seed = Path(entry["scenario"]).stem, int(entry["seeds"][0])
    run = scenario.run(seed=seed, trace="ack", packets=True)
    return [
        NamedFigure(f"{name}-network", f"The network of {entry['scenario']}", network.draw(scenario)),
        NamedFigure(f"{name}-run", f"The run of {entry['scenario']}, seed {seed}", overview(run)),
    ]


def _entries(file: Path) -> list[dict[str, Any]]:
    """The failures of a regression file. Raises BadInput."""
    entries = expect.entries_of(file)
    if not entries:
        raise BadInput(f"{file}: the search has seen no failure, so there is nothing to report")
    return [expect.check_entry(entry, f"{file}: expect[{number}]") for number, entry in enumerate(entries)]


def _value(entry: dict[str, Any]) -> Estimate | None:
    """The value of a failure; None if its controller raises an exception."""
    value = entry.get("value")
    return None if value is None else Estimate(value, None, None, len(entry["seeds"]))
