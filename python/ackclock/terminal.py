"""What a person sees in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from ackclock.experiment import Result, Scenario

MOST_ROWS = 40


@contextmanager
def progress(scenario: Scenario, *, quiet: bool) -> Iterator[Callable[[float], None] | None]:
    """A bar on standard error while a run lasts; none where that is no terminal."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield None
        return
    columns = (
        TextColumn("simulating"),
        BarColumn(),
        TextColumn("{task.percentage:.0f} %"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("run", total=1.0)
        yield lambda part: bar.update(task, completed=part)


def rate(bps: float | None) -> str:
    """A rate with a unit that suits it."""
    if bps is None:
        return "-"
    for size, unit in ((1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s")):
        if bps >= size:
            return f"{bps / size:.3g} {unit}" if bps < 1e3 * size else f"{bps / size:.0f} {unit}"
    return f"{bps:.3g} b/s"


def milliseconds(seconds: float | None) -> str:
    """Seconds as milliseconds."""
    return "-" if seconds is None else f"{seconds * 1e3:.1f} ms"


def _number(value: float | None, digits: str = ".1f") -> str:
    return "-" if value is None else f"{value:{digits}}"


def summary(result: Result, written: list[str]) -> None:
    """Print flows, links and what was written."""
    outcome = result.outcome
    console = Console()
    title = outcome["title"] or "run"
    console.print(f"[bold]{title}[/]  seed {outcome['seed']}, {outcome['duration_s']:g} s", highlight=False)
    console.print(_flows(outcome["flows"]))
    console.print(_links(outcome["links"]))
    _more(console, outcome)
    cost = outcome["engine"]
    speed = cost["packet_hops"] / cost["cpu_s"] / 1e6 if cost["cpu_s"] > 0 else 0.0
    jain = outcome["fairness"]["jain"]
    fairness = f"Jain {jain:.3f}   " if jain is not None and len(outcome["flows"]) > 1 else ""
    console.print(
        f"{fairness}{cost['packet_hops']:,} packet-hops in {cost['cpu_s']:.2f} s of CPU ({speed:.1f} million a second)",
        highlight=False,
    )
    for path in written:
        console.print(f"written: {path}", highlight=False, soft_wrap=True)


def _flows(flows: list[dict[str, Any]]) -> Table:
    table = Table(title="Flows", title_justify="left", box=None, pad_edge=False)
    table.add_column("flow")
    table.add_column("control")
    for name in ("goodput", "rtx", "timeouts", "mean cwnd", "mean RTT", "completed"):
        table.add_column(name, justify="right")
    for flow in flows[:MOST_ROWS]:
        kind = f"{flow['control']}/{flow['recovery']}" if flow["kind"] == "tcp" else "udp"
        table.add_row(
            flow["name"],
            kind,
            rate(flow["goodput_bps"]),
            _number(flow["retransmitted_packets"], "d"),
            _number(flow["timeouts"], "d"),
            _number(flow["mean_cwnd"]),
            milliseconds(flow["mean_rtt_s"]),
            "-" if flow["completion_s"] is None else f"{flow['completion_s']:.3f} s",
        )
    return table


def _links(links: list[dict[str, Any]]) -> Table:
    table = Table(title="Links", title_justify="left", box=None, pad_edge=False)
    table.add_column("link")
    for name in ("delivered", "drops", "losses", "used", "mean queue", "mean wait"):
        table.add_column(name, justify="right")
    for link in links[:MOST_ROWS]:
        drops = link["dropped_packets"]
        table.add_row(
            link["name"],
            f"{link['delivered_packets']:,}",
            f"{drops['queue']:,}",
            f"{drops['loss'] + drops['list']:,}",
            f"{link['utilisation'] * 100:.1f} %",
            f"{link['mean_queue_packets']:.2f} p",
            milliseconds(link["mean_sojourn_s"]),
        )
    return table


def _more(console: Console, outcome: dict[str, Any]) -> None:
    flows, links = len(outcome["flows"]) - MOST_ROWS, len(outcome["links"]) - MOST_ROWS
    if flows > 0 or links > 0:
        console.print(f"(and {max(flows, 0)} more flows, {max(links, 0)} more links; --json has all)")


def listing(kind: str, entries: list[dict[str, Any]]) -> None:
    """Print what `ackclock list` found."""
    console = Console()
    if not entries:
        where = "here (run in a folder that has `scenarios/`)" if kind == "scenarios" else "yet"
        console.print(f"no {kind} {where}")
    for entry in entries:
        status = f"  [dim]({entry['status']})[/]" if entry["status"] else ""
        console.print(f"[bold]{entry['name']}[/]{status}  {entry['summary']}", highlight=False)
        if entry["source"]:
            console.print(f"    source: {entry['source']}", highlight=False)
        for param in entry["params"]:
            unit = f" {param['unit']}" if param["unit"] else ""
            text = f"    {param['name']} = {param['default']}{unit}: {param['doc']}"
            console.print(text, highlight=False, markup=False)
        if entry["trace"]:
            console.print(f"    in the trace: {', '.join(entry['trace'])}", highlight=False)
