"""What a scenario file and its assignments say about a flow's TCP, before defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ackclock.base.languages import LANGUAGES
from ackclock.scenario import Scenario

Table = dict[str, Any]


def tcp_options(scenario: Scenario, flow: str) -> Table:
    """The TCP options that are given for a flow: in the file, its base files, and the assignments of the scenario.

    The options of the flow replace those of the table `[tcp]`, and later ones replace earlier ones. The controller is a
    table with `kind` or `python` and its parameters. Options that are not given are missing.
    """
    document = scenario.facts().document
    options: Table = {}
    _merge(options, document.get("tcp"))
    names = [one["name"] for one in scenario.network["flows"]]
    number = names.index(flow) if flow in names else -1
    tables = document.get("flow", [])
    if 0 <= number < len(tables):  # flows that are generated follow those of tables
        _merge(options, tables[number].get("tcp"))
    return options


def controller_parameters(scenario: Scenario, flow: str) -> Table:
    """The parameters of a flow's controller that are given and are not the default ones, by name.

    A controller in Python has the parameter `python`.
    """
    from ackclock.base import models

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


def _merge(into: Table, options: Any) -> None:
    """Add options to others; a controller that is named replaces the parameters of the one before."""
    if not isinstance(options, Mapping):
        return
    for name, value in options.items():
        if name != "congestion_control":
            into[name] = value
            continue
        table = {"kind": value} if not isinstance(value, Mapping) else dict(value)
        before = into.get("congestion_control", {})
        into["congestion_control"] = table if {"kind", *LANGUAGES} & table.keys() else {**before, **table}
