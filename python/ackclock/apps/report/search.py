"""The report of a search: `ackclock search` writes its folder."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path
from typing import Any

from ackclock import _core
from ackclock.apps import share
from ackclock.apps.report import methods
from ackclock.apps.report.document import NamedFigure, NamedTable, Report, RunLink
from ackclock.apps.report.study import question
from ackclock.apps.search.expect import check_entry
from ackclock.base.files import BadInput
from ackclock.base.tables import Column
from ackclock.draw import network
from ackclock.draw.runs import overview
from ackclock.scenario import Scenario
from ackclock.stats import Estimate

FILE = "regression.toml"
MOST_FIGURES = 3
"""Failures whose runs are drawn."""


def of_folder(folder: Path, *, allow_code: bool = False) -> Report:
    """The report of a search's folder: its failures, each run once more. Raises BadInput, ScenarioError."""
    entries = _entries(folder / FILE)
    scenarios = [Scenario.load(folder / entry["scenario"], allow_code=allow_code) for entry in entries]
    causes = [question(scenario.text.partition("\n")[0]) for scenario in scenarios]
    files = [entry["scenario"] for entry in entries]
    parts = [
        Column("network", files),
        Column("controller", [str(entry.get("control", "")) or "the scenario's" for entry in entries]),
        Column("a failure is", [entry["objective"] for entry in entries]),
        Column("value", [_value(entry) for entry in entries]),
        Column("cause, as the search saw it", causes),
    ]
    drawn = []
    for number, (entry, scenario) in enumerate(zip(entries, scenarios, strict=True)):
        if number == MOST_FIGURES:
            break
        name = Path(entry["scenario"]).stem
        seed = int(entry["seeds"][0])
        run = scenario.run(seed=seed, trace="ack", packets=True)
        drawn.append(NamedFigure(f"{name}-network", f"The network of {entry['scenario']}", network.draw(scenario)))
        drawn.append(NamedFigure(f"{name}-run", f"The run of {entry['scenario']}, seed {seed}", overview(run)))
    count = len(entries)
    version, _, build = _core.ENGINE.partition("+")
    return Report(
        kind="search",
        title=f"{'Networks' if count > 1 else 'A network'} in which {entries[0].get('control') or 'a controller'} fails",
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
            f"file. The runs were made packet by packet with Ackclock {version} (engine {build})."
        ),
        citations=methods.citations([str(entry.get("control", "")) for entry in entries], []),
        runs=[_link(folder, entry, scenario) for entry, scenario in zip(entries, scenarios, strict=True)],
        command=f"ackclock expect {shlex.quote(str(folder))}",
        engines=[_core.ENGINE],
    )


def _entries(file: Path) -> list[dict[str, Any]]:
    """The failures of a regression file. Raises BadInput."""
    try:
        entries = tomllib.loads(file.read_text(encoding="utf-8")).get("expect", [])
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{file}: {error}") from None
    if not isinstance(entries, list) or not entries:
        raise BadInput(f"{file}: the search has seen no failure, so there is nothing to report")
    return [check_entry(entry, f"{file}: expect[{number}]") for number, entry in enumerate(entries)]


def _value(entry: dict[str, Any]) -> Estimate | None:
    """The value of a failure; None if its controller raises an exception."""
    value = entry.get("value")
    return None if value is None else Estimate(value, None, None, len(entry["seeds"]))


def _link(folder: Path, entry: dict[str, Any], scenario: Scenario) -> RunLink:
    try:
        href: str | None = share.link(scenario, seed=int(entry["seeds"][0]))
    except BadInput:
        href = None
    command = f"ackclock view {shlex.quote(str(folder / entry['scenario']))}"
    return RunLink(entry["scenario"], href if href and len(href) <= share.LONGEST else None, command)
