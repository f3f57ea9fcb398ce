"""The controllers of a command: those that are named, or those of the scenario's TCP flows."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock import ScenarioError
from ackclock.base.assignment import Assignment, control_table
from ackclock.base.files import BadInput
from ackclock.base.languages import SANDBOXED, language_of, moved, name_of, named_in
from ackclock.base.shipped import argument
from ackclock.base.source import Source
from ackclock.base.toml_text import inline
from ackclock.scenario import Scenario

ANY_NETWORK = """
duration = "1s"
link = [{ ends = ["a", "b"], rate = "1Mbps", delay = "1ms" }]
flow = [{ from = "a", to = "b" }]
"""
"""A network in which controllers are checked."""


@dataclass(frozen=True)
class Control:
    """A controller: its label, its name, and the assignments that give it to every TCP flow of a scenario."""

    label: str
    name: str
    overrides: tuple[Assignment, ...]


def controls(
    scenario: Scenario, named: Sequence[str], places: Sequence[tuple[str, ...]] | None = None
) -> list[Control]:
    """The controllers that are named, or else those of the scenario's TCP flows, each once.

    Every TCP flow of the scenario gets the controller, or with `places` those whose keys these are. If the scenario has
    one controller only and none is named, no assignment is made. Raises BadInput if the scenario has no TCP flow, or if
    a controller is named twice.
    """
    flows: Sequence[dict[str, Any]] = ()
    if places is None:
        flows, places = _places(scenario)
    if named:
        chosen = [(text, control_table(text)) for text in named]
        if len(set(named)) < len(named):
            raise BadInput("--control: a controller is named twice")
    else:
        written = _written(scenario)
        tables = [(flow["control"], written.get(flow["name"]) or control_table(flow["control"])) for flow in flows]
        distinct = {inline(table): (name, table) for name, table in tables}
        if len(distinct) <= 1:
            name = flows[0]["control"] if flows else "the scenario's"
            return [Control(name, name, ())]
        names = [name for name, _ in distinct.values()]
        chosen = [(name if names.count(name) == 1 else text, table) for text, (name, table) in distinct.items()]
    return [_control(label, table, places, of_text=not named) for label, table in chosen]


def with_control(scenario: Scenario, named: str) -> Scenario:
    """The scenario with a controller in every TCP flow. Raises BadInput if there is none."""
    _, places = _places(scenario)
    return scenario.with_overrides(_control(named, control_table(named), places, of_text=False).overrides)


def _places(scenario: Scenario) -> tuple[list[dict[str, Any]], list[tuple[str, ...]]]:
    """The TCP flows of the file, and the keys of all controllers of TCP flows. Raises BadInput if there is none."""
    resolved = scenario.resolved
    flows = [flow for flow in resolved["flows"] if flow["kind"] == "tcp"]
    places = [*dict.fromkeys(control_place(flow, scenario) for flow in flows), *traffic_places(scenario)]
    if not places:
        raise BadInput(f"{argument(scenario.file)}: there is no TCP flow, so there is no controller to compare")
    return flows, places


def control_place(flow: Mapping[str, Any], scenario: Scenario) -> tuple[str, ...]:
    """The key of the controller of a TCP or QUIC flow of `Scenario.resolved`.

    Connections of an application, `NAME/0`, `NAME/1` and so on, have the controller of the flow `NAME`.
    """
    written = {one.get("name") for one in scenario.facts().document.get("flow", [])}
    name = flow["name"] if flow["name"] in written else re.sub(r"/\d+$", "", flow["name"])
    return ("flow", name, flow["kind"], "congestion_control")


def traffic_places(scenario: Scenario) -> list[tuple[str, ...]]:
    """The keys of the controllers of the flows that a scenario generates."""
    return [("traffic", source["name"], "tcp", "congestion_control") for source in scenario.resolved["traffic"]]


def check_controls(named: Sequence[str], option: str = "--control", *, allow_code: bool = False) -> None:
    """Check controllers before the networks are read. Raises BadInput or ScenarioError for one that no flow can have.

    What a network must provide for a controller is not checked. A native library needs `allow_code`.
    """
    for text in named:
        place = f"{option} {text}"
        of_user = Assignment(("tcp", "congestion_control"), control_table(text, option=option), place, of_text=False)
        try:
            Scenario.read(Source("scenario", ANY_NETWORK, libraries=allow_code), [of_user])
        except ScenarioError as error:
            if not error.unmet_need:
                raise


def is_pattern(text: str) -> bool:
    """Whether a text names all controllers of a file, or several files."""
    if text.startswith("{"):
        return False
    named = language_of(text)
    if named is not None and named[0] in SANDBOXED and named[2] is None:  # such as 'handins/*.html'
        return re.search(r"[*?[]", text) is not None and not Path(text).exists()
    files, colon, name = text.rpartition(":")
    if not colon:
        return False
    return name == "*" or (re.search(r"[*?[]", files) is not None and not Path(files).exists())


def _control(label: str, table: Mapping[str, Any], places: Sequence[tuple[str, ...]], *, of_text: bool) -> Control:
    """A controller that every flow gets; that of a user may be any code."""
    code = named_in(table)
    name = table.get("kind") or (name_of(*code) if code else "")
    assigned = (Assignment(place, dict(table), f"--control {label}", of_text) for place in places)
    return Control(label, str(name or inline(table)), tuple(assigned))


def _written(scenario: Scenario) -> dict[str, dict[str, Any]]:
    """The controllers of flows as the file has them; those from a base file are missing."""
    document = tomllib.loads(scenario.text)
    folder = Path(scenario.file).parent
    common = _of(document.get("tcp"), folder)
    tables = {}
    for flow in document.get("flow", []):
        table = _of(flow.get("tcp"), folder) or common
        if table is not None and "name" in flow:
            tables[flow["name"]] = table
    return tables


def _of(tcp: Any, folder: Path) -> dict[str, Any] | None:
    """The controller of a table of TCP options. Code and policies get their whole paths."""
    value = tcp.get("congestion_control", tcp.get("control")) if isinstance(tcp, Mapping) else None
    if isinstance(value, Mapping):
        paths = {name: str((folder / value[name]).resolve()) for name in ("file",) if name in value}
        return moved({**value, **paths}, lambda file: (folder / file).resolve())
    return None if value is None else {"kind": str(value)}
