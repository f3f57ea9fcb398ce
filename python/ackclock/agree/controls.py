"""The controllers that a report compares: those of the scenario's TCP flows, or those that are named."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ackclock.agree.perturb import key
from ackclock.experiment import Scenario
from ackclock.files import BadInput
from ackclock.flow_parameters import tcp_options
from ackclock.substrates import Substrate
from ackclock.suite.run import control_table
from ackclock.toml_text import inline, read_value

PACKET = 1500
"""Bytes on the wire of a packet, if those of the scenario do not fit a substrate."""


@dataclass(frozen=True)
class Control:
    """A controller: its label, its name, and the assignments that give it to every TCP flow of a scenario."""

    label: str
    name: str
    overrides: tuple[str, ...]


def controls(scenario: Scenario, named: Sequence[str]) -> list[Control]:
    """The controllers that are named, or else those of the scenario's TCP flows, each once.

    Every TCP flow of the scenario gets the controller. If the scenario has one controller only and none is named, no
    assignment is made. Raises BadInput if the scenario has no TCP flow, or if a controller is named twice.
    """
    resolved = scenario.resolved
    flows = [flow for flow in resolved["flows"] if flow["kind"] == "tcp"]
    sources = [source["name"] for source in resolved["traffic"]]
    if not flows and not sources:
        raise BadInput(f"{scenario.file}: there is no TCP flow, so there is no controller to compare")
    places = [key("flow", flow["name"], "tcp", "congestion_control") for flow in flows]
    places += [key("traffic", name, "tcp", "congestion_control") for name in sources]
    if named:
        chosen = [(text, control_table(text)) for text in named]
        if len({table for _, table in chosen}) < len(chosen):
            raise BadInput("--control: a controller is named twice")
    else:
        written = _written(scenario.text)
        control_of_table = {
            written.get(flow["name"]) or control_table(flow["control"]): flow["control"] for flow in flows
        }
        if len(control_of_table) <= 1:
            name = flows[0]["control"] if flows else "the scenario's"
            return [Control(name, name, ())]
        names = list(control_of_table.values())
        chosen = [(name if names.count(name) == 1 else table, table) for table, name in control_of_table.items()]
    return [Control(label, _name(table), tuple(f"{place}={table}" for place in places)) for label, table in chosen]


def equal_packets(scenario: Scenario, substrates: Sequence[Substrate]) -> list[str]:
    """Assignments that give each TCP flow packets of 1500 bytes on the wire, if a substrate cannot send its packets.

    QUIC has no packets below 1200 bytes of UDP payload. Packets of one size on every substrate make windows and queue
    limits, which count packets, comparable.
    """
    flows = [flow for flow in scenario.resolved["flows"] if flow["kind"] == "tcp"]
    least = max(substrate.least_packet for substrate in substrates)
    if all(flow["packet_bytes"] >= least for flow in flows):
        return []
    places = [key("flow", flow["name"], "tcp", "mss") for flow in flows]
    assignments = [*scenario.overrides, *(f"{place}={PACKET}" for place in places)]
    sized = {flow["name"]: flow for flow in Scenario.read(scenario.source, assignments).resolved["flows"]}
    headers = [sized[flow["name"]]["packet_bytes"] - PACKET for flow in flows]
    return [f"{place}={PACKET - header}" for place, header in zip(places, headers, strict=True)]


def equal_span(scenario: Scenario, substrates: Sequence[Substrate]) -> list[str]:
    """Assignments after which runs count the same time: without warm-up, if a substrate runs in real time.

    Runs in real time count everything from the start.
    """
    if not any(substrate.real_time for substrate in substrates):
        return []
    places = [scenario.text, *scenario.source.assignments, *scenario.overrides]
    return ["warmup=0s"] if any("warmup" in text or "extends" in text for text in places) else []


def has_profile(scenario: Scenario, profile: str) -> bool:
    """Whether a TCP flow of the scenario has a profile, by its file or by an assignment."""
    flows = [flow["name"] for flow in scenario.resolved["flows"] if flow["kind"] == "tcp"]
    return any(tcp_options(scenario, flow).get("profile", "linux") == profile for flow in flows or [""])


def _written(text: str) -> dict[str, str]:
    """The controllers of flows as the file has them, as values of TOML; those from a base file are missing."""
    document = tomllib.loads(text)
    common = _of(document.get("tcp"))
    tables = {}
    for flow in document.get("flow", []):
        table = _of(flow.get("tcp")) or common
        if table is not None and "name" in flow:
            tables[flow["name"]] = table
    return tables


def _of(tcp: Any) -> str | None:
    value = tcp.get("congestion_control", tcp.get("control")) if isinstance(tcp, Mapping) else None
    if isinstance(value, Mapping):
        return inline(value)
    return None if value is None else control_table(str(value))


def _name(table: str) -> str:
    """The name of a controller from its table: its kind, or the class of a controller in Python."""
    parameters = read_value(table)
    name = parameters.get("kind") or parameters.get("python", "").rpartition(":")[2]
    return str(name or table)
