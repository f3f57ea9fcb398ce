"""`ackclock read`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from ackclock.base.files import BadInput, check_picture, check_targets, save_figure
from ackclock.base.si import quantity
from ackclock.base.text import say, shown
from ackclock.base.units import seconds
from ackclock.cli.console import progress, wide_console
from ackclock.cli.tables import milliseconds, table_of

if TYPE_CHECKING:
    from ackclock.apps.traces import Options

EXAMPLE = "ackclock read upload.pcapng --plot upload.svg"
MOST_LISTED = 20


def command(
    file: Path,
    /,
    *files: Path,
    flow: int | None = None,
    at: Literal["sender", "receiver", "middle"] | None = None,
    every: str | None = None,
    out: Path | None = None,
    plot: Path | None = None,
    rates: Path | None = None,
    addresses: bool = False,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
) -> int:
    """Read a capture, qlog or log, and say what limited it.

    Reads pcap and pcapng of TCP, qlog, and the output of ss, tcp_probe, iperf3, Flent, irtt and ping, also compressed
    with gzip. The beginning of a file says what it is, not its name.

    Parameters
    ----------
    file
        The file; - reads standard input.
    files
        More files, each with a table of its own.
    flow
        Number of the flow that is shown in full. Default: the flow with the most data, if --out or --plot needs one.
    at
        Where a capture was taken, if its handshake does not show it.
    every
        Time between the blocks of an ss log without times, such as 200ms.
    out
        Write the rows of the flow to this file (.parquet or .csv).
    plot
        Draw the flow to this file (.svg, .pdf, .png or .eps).
    rates
        Write the rate that the flow achieved, over time, to this file (.csv). `rate = { kind = "file", file = FILE }`
        of a link reads it. It is at most the rate of the path.
    addresses
        Keep addresses in files that are written. Default: A and B in place of them.
    as_json
        Print one JSON object and nothing else.

    """
    from ackclock.apps.traces import Options
    from ackclock.base.table_files import check_table

    options = Options(flow, at, None if every is None else seconds(every, "--every"))
    if plot is not None:
        check_picture(plot)
    if out is not None:
        check_table(out, "--out")
    if rates is not None and rates.suffix != ".csv":
        raise BadInput(f"--rates {rates}: must end in .csv")
    targets = {"out": out, "plot": plot, "rates": rates}
    written = [path for path in targets.values() if path is not None]
    check_targets(written)
    if files and (written or flow is not None):
        raise BadInput("--flow, --out, --plot and --rates belong to one file")
    descriptions = []
    for number, each in enumerate([file, *files]):
        whole = flow is not None or bool(written)
        about = _one(each, options, targets, addresses=addresses, whole=whole, quiet=as_json)
        descriptions.append(about)
        if not as_json:
            if number:
                say("")
            _table(each, about)
    if as_json:
        print(json.dumps(descriptions[0] if len(descriptions) == 1 else descriptions, allow_nan=False))
    else:
        for path in written:
            say(f"written: {path}")
    return 0


def _one(
    file: Path, options: Options, targets: dict[str, Path | None], *, addresses: bool, whole: bool, quiet: bool
) -> dict[str, Any]:
    """The description of a file; the rows of its flow go to the targets."""
    from ackclock.apps.traces import describe, read_flow

    with progress("reading", quiet=quiet) as advance:
        if not whole:
            return describe(file, options, advance)
        recorded = read_flow(file, options, advance)
    rows = recorded.rows()
    if rows.height == 0:
        raise BadInput(f"{file}: the flow has no rows")
    from ackclock.base.table_files import write_frame

    if (out := targets["out"]) is not None:
        write_frame(rows, out)
    if (steps_file := targets["rates"]) is not None:
        from ackclock.apps.traces.rates import steps

        write_frame(steps(recorded), steps_file)
    if (plot := targets["plot"]) is not None:
        _draw(plot, file, recorded, rows, addresses=addresses)
    recorded.about["flows"] = [recorded.flow]
    return recorded.about


def _draw(plot: Path, file: Path, recorded: Any, rows: Any, *, addresses: bool) -> None:
    from ackclock.apps.traces.reading import ends
    from ackclock.apps.traces.summary import shares
    from ackclock.draw.time_shares import transfer

    parts = shares(recorded.flow)
    again = rows.filter(rows["reason"].is_not_null()) if "reason" in rows.columns else rows.clear()
    marks = list(zip(again["time_s"].to_list(), again["reason"].to_list(), strict=True)) if again.height else []
    name = file.name if addresses else recorded.heading
    heading = f"{name}: {ends(recorded.flow, addresses=addresses)}"
    save_figure(transfer(heading, recorded.flow.get("summary", ""), parts, rows, marks), plot)


def _table(file: Path, about: dict[str, Any]) -> None:
    """Print what the file is, what its largest flow was limited by, its flows, and what is missing."""
    console = wide_console()
    console.print(f"{shown(str(file))}: {_what(about)}", highlight=False, markup=False)
    flows = about["flows"]
    sized = [flow for flow in flows if flow.get("sent_bytes") or flow.get("sent_packets")]
    if sized:
        largest = max(sized, key=lambda flow: flow.get("sent_bytes") or flow.get("sent_packets") or 0)
        console.print(f"#{largest['flow']}: {largest['summary']}", highlight=False, markup=False)
    if flows:
        console.print(_rows(about, flows[:MOST_LISTED]))
    left_out = max(about.get("connections_total", 0), len(flows)) - len(flows[:MOST_LISTED])
    if left_out > 0 and len(flows) > 1:
        console.print(f"{left_out:,} more; --json lists {len(flows):,} flows", highlight=False)
    if about.get("distrust"):
        console.print(f"Rates are not trusted: {about['distrust']}.", highlight=False, markup=False)
    if about["unknown_fields"]:
        console.print(f"Fields that are not read: {shown(about['unknown_fields'])}", highlight=False, markup=False)
    for text in about["missing"]:
        console.print(f"Missing: {shown(text)}", highlight=False, markup=False)


def _what(about: dict[str, Any]) -> str:
    if about["form"] == "capture":
        clock = f", clock {quantity(about['clock_s'], 's')}" if about["clock_s"] else ""
        return f"{about['kind']}, {about['packets']:,} packets in {about['span_s']:.3f} s{clock}"
    if about["form"] == "qlog":
        version = f" {about['version']}" if about["version"] else ""
        return f"{about['kind']} ({about['container']}{shown(version)}), {len(about['flows'])} traces"
    return f"{about['kind']}, {about['samples']:,} samples"


def _rows(about: dict[str, Any], flows: list[dict[str, Any]]) -> Any:
    from ackclock.apps.traces.reading import ends
    from ackclock.apps.traces.summary import shares

    def rate(value: float | None) -> str:
        return "-" if not value else quantity(value, "b/s")

    if about["form"] == "samples":
        table = table_of("", ["flow", "series"], ["samples", "rate", "rtt", "lowest", "cwnd"])
        for flow in flows:
            window = "-" if flow["cwnd"] is None else f"{flow['cwnd']:.1f}"
            times = [milliseconds(flow["rtt_s"]), milliseconds(flow["min_rtt_s"])]
            name = shown(flow["name"])
            table.add_row(f"#{flow['flow']}", name, str(flow["samples"]), rate(flow["rate_bps"]), *times, window)
        return table
    right = ["data", "time", "goodput", "min rtt", "sent again", "timeouts", "seen at"]
    table = table_of("", ["flow", "from -> to", "limited by"], right)
    for flow in flows:
        parts = shares(flow)
        limit = "-"
        if parts:
            largest, part = max(parts.items(), key=lambda item: item[1])
            limit = f"{largest} {part:.0%}"
        if about["form"] == "qlog":
            again, total, timeouts, place = flow["lost_packets"], flow["sent_packets"], "-", "qlog"
        else:
            again, total = flow["retransmitted_packets"], flow["data_packets"]
            timeouts, place = str(flow["timeouts"]), flow["place"]
        table.add_row(
            f"#{flow['flow']}",
            ends(flow, addresses=True),
            limit,
            quantity(flow.get("sent_bytes") or 0, "B"),
            f"{flow['duration_s']:.2f} s",
            rate(flow["goodput_bps"]),
            milliseconds(flow["min_rtt_s"]),
            f"{again:,} ({again / total:.2%})" if total else f"{again:,}",
            timeouts,
            place,
        )
    return table
