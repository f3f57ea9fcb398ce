"""What a scenario means before it runs: bottlenecks, fair shares, and warnings about probable mistakes.

The core derives paths, round-trip times and queue limits (`Scenario.resolved`); this module adds what follows.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ackclock.base.si import quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ackclock.scenario import Scenario

MOST_FLOWS = 2000
"""With more flows no fair shares are computed."""
ENOUGH = 0.95
"""A receive window that permits this part of a flow's share is not reported."""
NAMES = {"flow": "flows", "link": "links", "traffic": "sources"}
"""What the tables of warnings stand for."""


@dataclass(frozen=True)
class Warning:
    """A probable mistake: the key, what follows from its value, and what to write instead."""

    key: str
    message: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.key}: {self.message}; {self.remedy}"


def describe(scenario: Scenario) -> dict[str, Any]:
    """The derived values of a scenario: `links`, `flows`, `traffic`, `warnings` (docs/scenarios.md).

    Flows on fixed paths have `bottleneck` (a link's name), `share_bps` (max-min fair share of the wire rate, bit/s)
    and `bdp_packets` (packets that the path holds at that rate); without a fixed path these are None.
    """
    resolved = scenario.resolved
    links, flows = resolved["links"], [dict(flow) for flow in resolved["flows"]]
    _add_shares(links, flows, scenario.duration_s)
    largest: dict[int, int] = {}
    for flow in flows:
        for index in flow["path"]:
            largest[index] = max(flow["packet_bytes"], largest.get(index, 0))
    for index, link in enumerate(links):
        link["limit_s"] = _limit_s(link, largest.get(index, 0))
    each = [*_warnings(links, flows, resolved["traffic"], scenario.duration_s), *_satellite_warnings(scenario)]
    warnings = _grouped(each)
    return {"links": links, "flows": flows, "traffic": resolved["traffic"], "warnings": [asdict(w) for w in warnings]}


def _limit_s(link: dict[str, Any], size: int) -> float | None:
    """Time in which a full queue of packets of `size` bytes empties, seconds; None without a limit or data.

    Also sets `limit_packets` if the limit is in bytes.
    """
    if link["limit_packets"] is None and link["limit_bytes"] is not None and size:
        link["limit_packets"] = link["limit_bytes"] // size
    if link["limit_packets"] is None or not size or not link["mean_rate_bps"]:
        return None
    return float(8 * size * link["limit_packets"] / link["mean_rate_bps"])


def _add_shares(links: list[dict[str, Any]], flows: list[dict[str, Any]], duration_s: float) -> None:
    """Set bottleneck, share and bandwidth-delay product of each flow: progressive filling, UDP up to its rate."""
    for flow in flows:
        flow |= {"bottleneck": None, "share_bps": None, "bdp_packets": None}
    active = [flow for flow in flows if flow["path"] and flow["start_s"] < duration_s]
    if len(active) > MOST_FLOWS:
        return
    free = {link: float(links[link]["mean_rate_bps"]) for flow in active for link in flow["path"]}
    while active:
        users: dict[int, int] = defaultdict(int)
        for flow in active:
            for link in flow["path"]:
                users[link] += 1
        tight = min(users, key=lambda link: free[link] / users[link])
        level = free[tight] / users[tight]
        modest = [flow for flow in active if flow["rate_bps"] is not None and flow["rate_bps"] <= level]
        fixed = modest or [flow for flow in active if tight in flow["path"]]
        for flow in fixed:
            share = flow["rate_bps"] if modest else level
            # A UDP source below its share has the slowest link of its path as bottleneck.
            slowest = min(flow["path"], key=lambda link: links[link]["mean_rate_bps"])
            flow["bottleneck"] = links[slowest if modest else tight]["name"]
            flow["share_bps"] = share
            if flow["base_rtt_s"] is not None:
                flow["bdp_packets"] = share * flow["base_rtt_s"] / (8 * flow["packet_bytes"])
            for link in flow["path"]:
                free[link] = max(0.0, free[link] - share)
        active = [flow for flow in active if flow["share_bps"] is None]


def _warnings(
    links: list[dict[str, Any]], flows: list[dict[str, Any]], traffic: list[dict[str, Any]], duration_s: float
) -> Iterator[Warning]:
    for flow in flows:
        yield from _flow_warnings(flow, duration_s)
    for source in traffic:
        if source["start_s"] >= duration_s:
            yield _late(f"traffic.{source['name']}.start", source["start_s"], duration_s)
    data: dict[int, list[dict[str, Any]]] = defaultdict(list)
    acks: set[int] = set()
    for flow in flows:
        for link in flow["path"]:
            data[link].append(flow)
        acks |= set(flow["back"]) if flow["kind"] != "udp" else set()
    for index, link in enumerate(links):
        name = f"link.{link['given'] or links[index - index % 2]['name']}" + (".back" if index % 2 else "")
        if index in data:
            yield from _queue_warnings(name, link, data[index])
        elif (
            not traffic
            and index in acks
            and index % 2
            and link["random_loss"]
            and link["loss"] == links[index - 1]["loss"]
        ):
            yield Warning(
                f"{name.removesuffix('.back')}.loss",
                f"holds in both directions, so that {link['name']} drops ACKs too",
                'write back = { loss = { kind = "none" } } if only data is to be lost',
            )


def _satellite_warnings(scenario: Scenario) -> Iterator[Warning]:
    if not scenario.network["terminals"] or scenario.is_study:
        return
    from ackclock.apps.satellites.view import never_connected

    for start, end, of_s in never_connected(scenario):
        yield Warning(
            "constellation",
            f"there is no path from {start} to {end} for {of_s} of {of_s} s",
            "write more satellites, a lower elevation_mask or another epoch (ackclock orbit shows the paths)",
        )


def _late(key: str, start_s: float, duration_s: float) -> Warning:
    message = f"{start_s:g} s is not before the end of the run, {duration_s:g} s, so that it sends nothing"
    return Warning(key, message, f"write a time below {duration_s:g}s, or a longer duration")


def _flow_warnings(flow: dict[str, Any], duration_s: float) -> Iterator[Warning]:
    name = f"flow.{flow['name']}"
    first = flow["start_s"] + (flow["first_write_s"] or 0.0)
    if flow["start_s"] >= duration_s:
        yield _late(f"{name}.start", flow["start_s"], duration_s)
    elif first >= duration_s:
        yield _late(f"{name}.writes", first, duration_s)
    elif flow["rate_bps"] == 0:
        yield Warning(f"{name}.udp.rate", "is zero, so that the flow never sends", 'write a rate such as "1Mbps"')
    elif flow["bdp_packets"] is not None and flow["receive_window"] < ENOUGH * flow["bdp_packets"]:
        window = flow["receive_window"]
        possible = window * 8 * flow["packet_bytes"] / flow["base_rtt_s"]
        need = math.ceil(flow["bdp_packets"])
        bdp = f"{quantity(flow['share_bps'], 'b/s')} x {quantity(flow['base_rtt_s'], 's')} = {need} packets"
        yield Warning(
            f"{name}.tcp.receive_window",
            f"{window} segments are below the bandwidth-delay product of the flow's share ({bdp}), so that the "
            f"receiver limits the flow to {quantity(possible, 'b/s')}",
            f"write receive_window = {2 * need} or more",
        )


def _queue_warnings(name: str, link: dict[str, Any], flows: list[dict[str, Any]]) -> Iterator[Warning]:
    size = max(flow["packet_bytes"] for flow in flows)
    if link["limit_packets"] == 0:
        yield Warning(f"{name}.queue.limit", f"holds no packet of {size} bytes", 'write a larger one, such as "50p"')
    narrow = [flow for flow in flows if flow["bottleneck"] == link["name"]]
    if link["limit_packets"] is not None or link["limit_bytes"] is not None or not narrow:
        return
    fixed = [flow for flow in narrow if flow["kind"] == "udp"]
    if sum(flow["rate_bps"] for flow in fixed) > link["mean_rate_bps"]:
        yield Warning(
            f"{name}.queue",
            "has no limit, and UDP sources send faster than the link's rate: the queue grows to the end",
            'write queue = { kind = "droptail", limit = "50p" }',
        )
        return
    windows = sum(_most_in_flight(flow) for flow in narrow if flow["kind"] != "udp")
    held = link["mean_rate_bps"] * link["round_trip_s"] / 8
    if windows > 2 * held + 10 * size:
        delay = quantity(8 * (windows - held) / link["mean_rate_bps"], "s")
        rate = quantity(link["mean_rate_bps"], "b/s")
        yield Warning(
            f"{name}.queue",
            f"has no limit at a bottleneck of {rate}: it drops nothing, and full receive windows wait {delay}",
            'write queue = { kind = "droptail", limit = "1bdp" }',
        )


def _most_in_flight(flow: dict[str, Any]) -> float:
    """Bytes on the wire that a TCP or QUIC flow can have in flight at the most."""
    window = float(flow["receive_window"] * flow["packet_bytes"])
    return window if flow["bytes"] is None else min(window, flow["bytes"])


def _grouped(warnings: list[Warning]) -> list[Warning]:
    """One warning for all flows, or directions of links, that differ in their names alone."""
    groups: dict[tuple[str, str, bool, str], list[Warning]] = defaultdict(list)
    for warning in warnings:
        table, _, key = warning.key.partition(".")
        groups[table, key.rpartition(".")[2], ".back." in key, warning.message].append(warning)
    return [
        Warning(f"{group[0].key} (and {len(group) - 1} more {NAMES[table]})", group[0].message, group[0].remedy)
        if len(group) > 1
        else group[0]
        for (table, *_), group in groups.items()
    ]
