"""The catalog of models, scenarios, papers and suites."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ackclock._core import ScenarioError
from ackclock.experiment import Scenario
from ackclock.models import models


def entries(kind: str) -> list[dict[str, Any]]:
    """List the entries of one kind: dictionaries with name, summary, status, source, params."""
    if kind == "scenarios":
        return _scenarios(Path("scenarios"))
    if kind == "papers":
        return _papers()
    if kind == "suites":
        return _suites()
    return models(kind)


def _entry(name: str, summary: str, status: str | None = None, source: str | None = None) -> dict[str, Any]:
    """An entry that is not a model: it has no parameters, trace columns or limits."""
    about = {"name": name, "summary": summary, "status": status, "source": source}
    return about | {"params": [], "trace": [], "limits": []}


def _papers() -> list[dict[str, Any]]:
    from ackclock import papers

    found = [papers.find(key) for key in papers.known()]
    return [_entry(p.key, p.title, p.status, f"{p.authors}. {p.venue}") for p in found]


def _suites() -> list[dict[str, Any]]:
    from ackclock.suite import folder

    found = [folder.find(name) for name in folder.known()]
    return [_entry(s.key, s.title, source=s.source) for s in found]


def _scenarios(folder: Path) -> list[dict[str, Any]]:
    """Entries of the scenarios in the subfolder `scenarios` of the current folder."""
    found: list[dict[str, Any]] = []
    for path in sorted(folder.rglob("*.toml")):
        try:
            summary = Scenario.load(path).title
        except ScenarioError as error:
            summary = f"cannot be run: {error.message}"
        found.append(_entry(str(path), summary))
    return found
