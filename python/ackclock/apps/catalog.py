"""The catalog of models, scenarios, papers and suites."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from ackclock._core import ScenarioError
from ackclock.base import shipped
from ackclock.base.models import models
from ackclock.scenario import Scenario


def entries(kind: str) -> list[dict[str, Any]]:
    """List the entries of one kind: dictionaries with name, summary, family, status, source, params."""
    if kind == "scenarios":
        return _scenarios(Path("scenarios"))
    if kind == "examples":
        return _examples()
    if kind == "papers":
        return _papers()
    if kind == "suites":
        return _suites()
    if kind == "controllers":
        failures = _failures()
        controllers = [one | {"failure": failures.get(one["name"])} for one in models(kind)]
        families = [one["family"] for one in controllers]
        return sorted(controllers, key=lambda one: families.index(one["family"]))
    return models(kind)


def _failures() -> dict[str, dict[str, Any]]:
    """The smallest known failure of each controller: its scenario, what fails, the value, and the space."""
    file = shipped.failures() / "regression.toml"
    expected = tomllib.loads(file.read_text(encoding="utf-8"))["expect"] if file.is_file() else []
    return {
        one["control"]: {
            "scenario": f"@failures/{one['control']}",
            **{key: one[key] for key in ("objective", "value", "space")},
        }
        for one in expected
    }


def _entry(name: str, summary: str, status: str | None = None, source: str | None = None) -> dict[str, Any]:
    """An entry that is not a model: it has no parameters, trace columns or limits."""
    about: dict[str, Any] = {"name": name, "summary": summary, "status": status, "source": source}
    about |= {"year": None, "needs": []}
    return about | {"family": None, "params": [], "trace": [], "states": [], "limits": []}


def _papers() -> list[dict[str, Any]]:
    from ackclock.apps import papers

    papers_by_key = [papers.find(key) for key in papers.known()]
    return [_entry(p.key, p.title, p.status, f"{p.authors}. {p.venue}") for p in papers_by_key]


def _suites() -> list[dict[str, Any]]:
    from ackclock.apps.suite import folder

    all_suites = [folder.find(name) for name in folder.known()]
    return [_entry(s.key, s.title, source=s.source) for s in all_suites]


def _scenarios(folder: Path) -> list[dict[str, Any]]:
    """Entries of the scenarios in the subfolder `scenarios` of the current folder, then of the shipped ones.

    A shipped scenario that is in this subfolder, as in the repository, is listed once, with its short name as status.
    """
    names = {path: f"@{name}" for name, path in shipped.scenarios().items()}
    here = {path: path.resolve() for path in sorted(folder.rglob("*.toml")) if path.name != "regression.toml"}
    rows = [_entry(str(path), _title(path), names.get(full)) for path, full in here.items()]
    others = {path: name for path, name in names.items() if path not in here.values()}
    return rows + [_entry(name, _title(path)) for path, name in others.items()]


def _title(path: Path) -> str:
    """The title of a scenario; the reason if it cannot be run."""
    try:
        return Scenario.load(path).title
    except ScenarioError as error:
        return f"cannot be run: {error.message}"


def _examples() -> list[dict[str, Any]]:
    """Entries of the shipped example programs, with the first sentence of each."""
    rows = []
    for path in shipped.examples():
        text = path.read_text(encoding="utf-8")
        lines = [line.lstrip('# "') for line in text.splitlines()]
        title = next(line for line in lines if line and not line.startswith("%%"))
        rows.append(_entry(str(shipped.short(path)), title.rstrip('"').split(";")[0]))
    return rows
