"""`ackclock run`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.table import Table
from rich.text import Text

from ackclock.cli.console import progress, wide_console
from ackclock.cli.options import AllowCode, Captures, File, Overrides, Seed
from ackclock.experiment import Result, Scenario, Trace
from ackclock.files import BadInput, check_picture, check_targets, save_figure, write, write_bytes
from ackclock.text import PlainConsole, advise, ascii_json, say, shown

EXAMPLE = "ackclock run @dumbbell --set link.bottleneck.rate=5Mbps --plot run.svg"
MOST_ROWS = 40


def command(
    file: File,
    /,
    *,
    seed: Seed = None,
    set_: Overrides = None,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
    trace: Path | None = None,
    trace_every: Literal["change", "ack"] = "change",
    packets: Path | None = None,
    pcap: Captures = None,
    plot: Path | None = None,
    audit: bool = False,
    allow_code: AllowCode = False,
) -> int:
    """Run one scenario and print a summary.

    Parameters
    ----------
    file
        Scenario file (TOML), or @NAME for a shipped scenario.
    seed
        Seed of all random streams, instead of the file's.
    set_
        Replace one value first: KEY=VALUE, such as link.bottleneck.rate=5Mbps. May be repeated.
    as_json
        Print the outcome as one JSON object and nothing else.
    trace
        Write the window trace to this Parquet file.
    trace_every
        Write one trace row for each change of a window (change) or for each ACK (ack).
    packets
        Write every packet event to this Parquet file.
    pcap
        Write a packet capture to this pcapng file. FILE captures at all hosts that send data, PLACE=FILE at a node
        or on a link (a->b, or a-b for both directions). May be repeated.
    plot
        Draw windows, round-trip times, queues and goodput to this file (.svg, .png or .pdf).
    audit
        Check the run: conservation, causality, rates, queues, ACKs, windows. A violation fails the run.
    allow_code
        Allow scenario files to name code and base files (`extends`) outside their own folder.

    """
    captures = _captures(pcap or ())
    targets = [path for path in (trace, packets, *captures.values(), plot) if path is not None]
    if plot is not None:
        check_picture(plot)
    check_targets(targets)
    scenario = Scenario.load(file, set_ or ())
    advise(scenario.advice)
    if scenario.is_study:
        raise BadInput(f"{file}: sweep: the file is a study of many runs; run it with: ackclock sweep {file} --out DIR")
    # The figure shows round-trip times, so the trace needs a row for each ACK.
    every_ack = trace_every == "ack" or plot is not None
    rows: Trace = "off" if trace is None and plot is None else "ack" if every_ack else "changes"

    with progress("simulating", quiet=as_json) as advance:
        result = scenario.run(
            seed=seed,
            trace=rows,
            packets=packets is not None or plot is not None,
            audit=audit,
            captures=list(captures),
            progress=advance,
        )
    _write_all(scenario, result, trace, trace_every, packets, plot)
    for place, path in captures.items():
        write_bytes(path, result.captures[place])
    if as_json:
        print(ascii_json(result.json))
    else:
        summary(result, [str(path) for path in targets])
    if result.violation_count:
        say(f"ackclock: the audit found {result.violation_count} violations:", error=True)
        for violation in result.violations:
            say(f"  {violation}", error=True)
        return 1
    return 0


def _captures(texts: Sequence[str]) -> dict[str, Path]:
    """Map each capture place to its file. Raises BadInput if a place is given twice."""
    wanted = [_place(text) for text in texts]
    if len(dict(wanted)) < len(wanted):
        raise BadInput("--pcap: a place is given twice")
    return dict(wanted)


def _place(text: str) -> tuple[str, Path]:
    """Split the value of `--pcap` into place and file."""
    place, equals, file = text.rpartition("=")
    if not file or (equals and not place):
        raise BadInput(
            f"--pcap {text}: must be FILE or PLACE=FILE, such as bottleneck.pcapng or r1->r2=bottleneck.pcapng"
        )
    return place, Path(file)


def _write_all(
    scenario: Scenario,
    result: Result,
    trace: Path | None,
    trace_every: str,
    packets: Path | None,
    plot: Path | None,
) -> None:
    if trace is not None:
        from ackclock import frames

        frame = result.trace if trace_every == "ack" else frames.changes(result.trace)
        write(trace, lambda file: frame.write_parquet(file, compression="zstd", compression_level=1))
    if packets is not None:
        write(packets, lambda file: result.packets.write_parquet(file, compression="zstd", compression_level=1))
    if plot is not None:
        from ackclock.plot import timelines

        figure = timelines(result, title=scenario.title)
        save_figure(figure, plot)


def summary(result: Result, written: list[str]) -> None:
    """Print the flows, the links and the names of the files written."""
    outcome = result.outcome
    console = wide_console()
    title = outcome["title"] or "run"
    console.print(Text(shown(title), "bold"), f" seed {outcome['seed']}, {outcome['duration_s']:g} s")
    console.print(_flows(outcome["flows"]))
    if outcome["links"]:
        console.print(_links(outcome["links"]))
    if outcome["radio"] is not None:
        _radio(console, outcome["radio"])
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
        console.print(f"written: {path}", soft_wrap=True)


def _flows(flows: list[dict[str, Any]]) -> Table:
    table = Table(title="Flows", title_justify="left", box=None, pad_edge=False)
    table.add_column("flow", overflow="fold")
    table.add_column("control", overflow="fold")
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
    table.add_column("link", overflow="fold")
    for name in ("delivered", "drops", "losses", "used", "mean queue", "mean wait"):
        table.add_column(name, justify="right")
    for link in links[:MOST_ROWS]:
        drops = link["dropped_packets"]
        table.add_row(
            link["name"],
            f"{link['delivered_packets']:,}",
            f"{drops['queue']:,}",
            f"{sum(drops.values()) - drops['queue']:,}",
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


def _more(console: PlainConsole, outcome: dict[str, Any]) -> None:
    flows, links = len(outcome["flows"]) - MOST_ROWS, len(outcome["links"]) - MOST_ROWS
    if flows > 0 or links > 0:
        console.print(f"(and {max(flows, 0)} more flows, {max(links, 0)} more links; --json prints all)")


def rate(bps: float | None) -> str:
    """A rate in b/s, kb/s, Mb/s or Gb/s."""
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
