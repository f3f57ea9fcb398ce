"""What a scenario file and its assignments say about a flow's TCP, before defaults."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ackclock.experiment import Scenario

Table = dict[str, Any]
ALIAS = "control"
"""Another name of the key `congestion_control`."""


def tcp_options(scenario: Scenario, flow: str) -> Table:
    """The TCP options that are given for a flow: in the file, its base files, and the assignments of the scenario.

    The options of the flow replace those of the table `[tcp]`, and later ones replace earlier ones. The controller is a
    table with `kind` or `python` and its parameters. Options that are not given are missing.
    """
    common: Table = {}
    own: Table = {}
    for document in _documents(scenario.text, Path(scenario.file).parent):
        _merge(common, document.get("tcp"))
        for one in document.get("flow", []):
            if isinstance(one, Mapping) and one.get("name") == flow:
                _merge(own, one.get("tcp"))
    for assignment in scenario.overrides:
        given = _assignment(assignment)
        _merge(common, given.get("tcp"))
        _merge(own, (given.get("flow") or {}).get(flow, {}).get("tcp"))
    _merge(common, own)
    return common


def controller_parameters(scenario: Scenario, flow: str) -> Table:
    """The parameters of a flow's controller that are given and are not the default ones, by name.

    A controller in Python has the parameter `python`.
    """
    from ackclock import models

    table = tcp_options(scenario, flow).get("congestion_control", {})
    registered = {model["name"]: model["params"] for model in models.models("controllers")}
    defaults = {one["name"]: one["default"] for one in registered.get(table.get("kind"), [])}
    return {name: value for name, value in table.items() if name != "kind" and not _same(value, defaults.get(name))}


def _same(value: Any, default: str | None) -> bool:
    """Whether a value is the default, which is a text."""
    if default is None:
        return False
    if isinstance(value, (bool, str)):
        return str(value).lower() == default.strip('"').lower()
    try:
        return float(value) == float(default)
    except (TypeError, ValueError):
        return False


def _documents(text: str, folder: Path) -> list[Table]:
    """The document of a text, after those of its base files."""
    document = tomllib.loads(text)
    base = document.get("extends")
    file = folder / base if isinstance(base, str) else None
    if file is None or not file.is_file():
        return [document]
    return [*_documents(file.read_text(encoding="utf-8"), file.parent), document]


def _assignment(text: str) -> Table:
    """KEY=VALUE as a document; a value that is no TOML is a text."""
    key, _, value = text.partition("=")
    try:
        return tomllib.loads(f"{key} = {value}")
    except tomllib.TOMLDecodeError:
        pass
    found: Table = {}
    try:
        found = tomllib.loads(f"{key} = 0")
    except tomllib.TOMLDecodeError:
        return found
    _replace(found, value.strip())
    return found


def _replace(table: Table, value: str) -> None:
    """Put a text in the place of the only value of nested tables."""
    for name, item in table.items():
        if isinstance(item, dict):
            _replace(item, value)
        else:
            table[name] = value


def _merge(into: Table, options: Any) -> None:
    """Add options to others; a controller that is named replaces the parameters of the one before."""
    if not isinstance(options, Mapping):
        return
    for name, value in options.items():
        if name not in {"congestion_control", ALIAS}:
            into[name] = value
            continue
        table = {"kind": value} if not isinstance(value, Mapping) else dict(value)
        before = into.get("congestion_control", {})
        into["congestion_control"] = table if {"kind", "python"} & table.keys() else {**before, **table}
