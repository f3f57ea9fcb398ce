"""What makes the runs of a scenario on several substrates comparable."""

from __future__ import annotations

from collections.abc import Sequence

from ackclock.apps.reach.flow_parameters import tcp_options
from ackclock.apps.reach.substrates import Substrate
from ackclock.base.assignment import Assignment, Override
from ackclock.scenario import Scenario

PACKET = 1500
"""Bytes on the wire of a packet, if those of the scenario do not fit a substrate."""


def equal_packets(scenario: Scenario, substrates: Sequence[Substrate]) -> list[Override]:
    """Assignments that give each TCP flow packets of 1500 bytes on the wire, if a substrate cannot send its packets.

    QUIC has no packets below 1200 bytes of UDP payload. Packets of one size on every substrate make windows and queue
    limits, which count packets, comparable.
    """
    flows = [flow for flow in scenario.resolved["flows"] if flow["kind"] == "tcp"]
    least = max(substrate.least_packet for substrate in substrates)
    if all(flow["packet_bytes"] >= least for flow in flows):
        return []
    places = [("flow", str(flow["name"]), "tcp", "mss") for flow in flows]
    assignments = [*scenario.overrides, *(Assignment(place, PACKET) for place in places)]
    sized = {flow["name"]: flow for flow in Scenario.read(scenario.source, assignments).resolved["flows"]}
    headers = [sized[flow["name"]]["packet_bytes"] - PACKET for flow in flows]
    return [Assignment(place, PACKET - header) for place, header in zip(places, headers, strict=True)]


def equal_span(scenario: Scenario, substrates: Sequence[Substrate]) -> list[Override]:
    """Assignments after which slow start counts, if a substrate runs in real time: without warm-up."""
    if not any(substrate.real_time for substrate in substrates):
        return []
    places = [scenario.text, *scenario.source.assignments, *map(str, scenario.overrides)]
    return ["warmup=0s"] if any("warmup" in text or "extends" in text for text in places) else []


def has_profile(scenario: Scenario, profile: str) -> bool:
    """Whether a TCP flow of the scenario has a profile, by its file or by an assignment."""
    flows = [flow["name"] for flow in scenario.resolved["flows"] if flow["kind"] == "tcp"]
    return any(tcp_options(scenario, flow).get("profile", "linux") == profile for flow in flows or [""])
