"""The summary of a run: tables of flows, traffic sources and links."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from ackclock.base.plain_console import PlainConsole
from ackclock.base.si import quantity
from ackclock.base.text import lost_connections, say, shown
from ackclock.cli.applications_table import print_applications, span
from ackclock.cli.console import wide_console
from ackclock.cli.media_tables import print_media
from ackclock.cli.tables import milliseconds, number, table_of
from ackclock.metrics.applications import families
from ackclock.result import Result

if TYPE_CHECKING:
    from ackclock.scenario import Scenario

FlowRow = tuple[dict[str, Any], dict[str, float]]
"""The outcome of a flow, and the seconds under each limit."""
MOST_ROWS = 40
"""Flows and links that are shown by default."""
SHORT = {"congestion window": "cwnd", "receive window": "rwnd", "application": "app"}
"""Names of limits in narrow columns."""


def summary(scenario: Scenario, result: Result, written: Sequence[Path], *, complete: bool) -> None:
    """Print the flows, the applications, the links and the names of the files written.

    With `complete`, every flow and link; otherwise the first ones, and as one row each the flows of a `[[traffic]]`
    table and the connections of an application.
    """
    traffic, most = ([], None) if complete else (_sources(scenario, result), MOST_ROWS)
    outcome = result.outcome
    console = wide_console()
    title = outcome["title"] or "run"
    console.print(Text(shown(title), "bold"), f" seed {outcome['seed']}, {outcome['duration_s']:g} s")
    rows = list(zip(outcome["flows"], result.limits, strict=True))
    sources: dict[str, list[FlowRow]] = defaultdict(list)
    single: list[FlowRow] = []
    for row in rows:
        source = next((name for name in traffic if _is_of(row[0]["name"], name)), None)
        (single if source is None else sources[source]).append(row)
    shown_flows = _by_application(single) if most else [[row] for row in single]
    if shown_flows:
        console.print(_flows(shown_flows[:most]))
    if sources:
        console.print(_traffic(sources))
    of_sources = {name: [flow for flow, _ in of] for name, of in sources.items()}
    print_applications(console, [flow for flow, _ in single], of_sources, most)
    links = outcome["links"]
    if links:
        console.print(_links(links[:most]))
    print_media(console, outcome, most)
    if outcome["radio"] is not None:
        _radio(console, outcome["radio"])
    more = [max(0, len(those) - (most or len(those))) for those in (shown_flows, links)]
    if any(more):
        console.print(f"({more[0]} more flows, {more[1]} more links; --all shows them)")
    _cost(console, outcome)
    for path in written:
        console.print(f"written: {path}", soft_wrap=True)


def report_faults(result: Result) -> int:
    """Print what the auditor found; returns the exit status."""
    for line in lost_connections(result.outcome):
        say(f"ackclock: {line}", error=True)
    if not result.violation_count:
        return 0
    say(f"ackclock: the audit found {result.violation_count} violations:", error=True)
    for violation in result.violations:
        say(f"  {violation}", error=True)
    return 1


def _sources(scenario: Scenario, result: Result) -> list[str]:
    """Names of the traffic sources. Without flows beyond those of the file there is none, and no value is derived."""
    if len(result.outcome["flows"]) <= len(scenario.network["flows"]):
        return []
    return [source["name"] for source in scenario.resolved["traffic"]]


def _is_of(flow: str, source: str) -> bool:
    """Whether a flow is one of a traffic source: the source's name and a number."""
    return flow.startswith(source) and flow.removeprefix(source).isdecimal()


def _cost(console: PlainConsole, outcome: dict[str, Any]) -> None:
    cost = outcome["engine"]
    time_s, clock = (cost["cpu_s"], "s of CPU") if cost["cpu_s"] > 0 else (cost["wall_s"], "s")  # no CPU time: Windows
    speed = cost["packet_hops"] / time_s / 1e6 if time_s > 0 else 0.0
    jain = outcome["fairness"]["jain"]
    fairness = f"Jain {jain:.3f}   " if jain is not None and len(outcome["flows"]) > 1 else ""
    console.print(
        f"{fairness}{cost['packet_hops']:,} packet-hops in {time_s:.2f} {clock} ({speed:.1f} million a second)",
        highlight=False,
    )


def limited_by(limits: dict[str, float]) -> str:
    """The limit that held for the largest part of a flow's time, with that part."""
    total = sum(limits.values())
    if total <= 0:
        return "-"
    name = max(limits, key=lambda limit: limits[limit])
    return f"{SHORT.get(name, name)} {100 * limits[name] / total:.0f} %"


def transport(flow: dict[str, Any]) -> str:
    """Controller and recovery of a TCP flow, controller of a QUIC flow, or the kind of another flow."""
    if flow["kind"] == "tcp":
        return f"{flow['control']}/{flow['recovery']}"
    return f"{flow['control']}/quic" if flow["kind"] == "quic" else str(flow["kind"])


def _by_application(rows: Sequence[FlowRow]) -> list[list[FlowRow]]:
    """The flows, and the connections of each application together."""
    limits = {flow["name"]: limits_of_flow for flow, limits_of_flow in rows}
    together = families([flow for flow, _ in rows]).values()
    return [[(dict(flow), limits[flow["name"]]) for flow in flows] for flows in together]


def _flows(rows: Sequence[Sequence[FlowRow]]) -> Table:
    """A row for each flow, or for several connections with their sums and means."""
    completing = any(flow["completion_s"] is not None for together in rows for flow, _ in together)
    heads = ["goodput", "limited\nby", "rtx", "RTOs", "mean\ncwnd", "mean\nRTT"]
    table = table_of("Flows", ("flow", "control"), [*heads, *(["finished\nafter"] if completing else [])])
    for together in rows:
        flows = [flow for flow, _ in together]
        ends = [flow["completion_s"] for flow in flows]
        cells = [
            span(flows),
            _controls(flows),
            quantity(sum(flow["goodput_bps"] for flow in flows), "b/s"),
            limited_by(_summed(together)),
            number(_sum(flows, "retransmitted_packets"), ",d"),
            number(_sum(flows, "timeouts"), ",d"),
            number(_mean(flows, "mean_cwnd")),
            milliseconds(_mean(flows, "mean_rtt_s")),
        ]
        done = "-" if ends[0] is None else f"{ends[0]:.3f} s"
        table.add_row(*cells, *([done] if completing else []))
    return table


def _controls(flows: Sequence[dict[str, Any]]) -> str:
    return ", ".join(dict.fromkeys(transport(flow) for flow in flows))


def _summed(rows: Sequence[FlowRow]) -> dict[str, float]:
    """The seconds of several flows under each limit."""
    limits: dict[str, float] = defaultdict(float)
    for _, one in rows:
        for limit, seconds in one.items():
            limits[limit] += seconds
    return limits


def _values(flows: Sequence[dict[str, Any]], key: str) -> list[float]:
    return [flow[key] for flow in flows if flow[key] is not None]


def _sum(flows: Sequence[dict[str, Any]], key: str) -> float | None:
    values = _values(flows, key)
    return sum(values) if values else None


def _mean(flows: Sequence[dict[str, Any]], key: str) -> float | None:
    values = _values(flows, key)
    return sum(values) / len(values) if values else None


def _traffic(sources: dict[str, list[FlowRow]]) -> Table:
    table = table_of("Traffic", ("source", "control"), ("flows", "goodput", "limited\nby", "rtx"))
    for name, rows in sources.items():
        flows = [flow for flow, _ in rows]
        table.add_row(
            name,
            _controls(flows),
            f"{len(flows):,}",
            quantity(sum(flow["goodput_bps"] for flow in flows), "b/s"),
            limited_by(_summed(rows)),
            f"{sum(flow['retransmitted_packets'] for flow in flows):,}",
        )
    return table


def by_rank(ordered: Sequence[float], part: float) -> float:
    """The smallest of these ordered values that a part of them does not exceed."""
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)]


def _links(links: list[dict[str, Any]]) -> Table:
    heads = ("delivered", "drops", "losses", "marks", "used", "mean\nqueue", "mean\nwait")
    table = table_of("Links", ("link",), heads)
    for link in links:
        table.add_row(
            link["name"],
            f"{link['delivered_packets']:,}",
            f"{link['queue_drops']:,}",
            f"{sum(link['dropped_packets'].values()) - link['queue_drops']:,}",
            f"{link['marked_packets']:,}",
            f"{link['utilisation'] * 100:.1f} %",
            f"{link['mean_queue_packets']:.2f} p",
            milliseconds(link["mean_sojourn_s"]),
        )
    return table


def _radio(console: PlainConsole, radio: dict[str, Any]) -> None:
    ratio, load, hops = (radio[key] for key in ("delivery_ratio", "routing_load", "mean_hops"))
    said = [
        f"{radio['received_packets']:,} of {radio['offered_packets']:,} data packets received",
        "" if ratio is None else f"delivery ratio {ratio:.3f}",
        "" if load is None else f"routing load {load:.3f}",
        "" if hops is None else f"{hops:.2f} hops",
    ]
    console.print(f"Radio: {', '.join(part for part in said if part)}", soft_wrap=True)
    for head, key in (("dropped", "dropped_packets"), ("MAC", "mac_drops")):
        counts = ", ".join(f"{name} {count:,}" for name, count in radio[key].items() if count)
        console.print(f"  {head}: {counts or 'nothing'}", soft_wrap=True)
