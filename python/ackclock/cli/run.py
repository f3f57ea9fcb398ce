"""`ackclock run`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import quote

from cyclopts import Parameter

from ackclock import ScenarioError, scenario_check
from ackclock.agree.controls import check_controls, with_control
from ackclock.cli import guard
from ackclock.cli.console import progress
from ackclock.cli.options import AllowCode, File, Overrides, Seed, TimeLimit, at_most
from ackclock.cli.printed import NO_CHOICE, Print
from ackclock.cli.real_time import real_time
from ackclock.cli.summary import summary
from ackclock.experiment import Scenario
from ackclock.files import BadInput, check_picture, check_targets, save_figure, write_bytes
from ackclock.operating_system import cores
from ackclock.result import Result, Trace
from ackclock.si import quantity
from ackclock.table_files import check_table, write_frame
from ackclock.text import advise, ascii_json, lost_connections, say

if TYPE_CHECKING:
    from ackclock.plot.style import Size

MOST_ROWS = 40
"""Flows and links that are shown by default."""
PCAP_HELP = (
    "Write a packet capture to this pcapng file. FILE captures at all hosts that send data, PLACE=FILE at a node or on "
    "a link (a->b, or a-b for both directions). May be repeated."
)
EXAMPLE = "ackclock run @dumbbell --set link.bottleneck.rate=5Mbps --plot run.svg"


@Parameter(name="*", show_default=False)
@dataclass(frozen=True)
class Files:
    """What a run writes."""

    trace: Path | None = None
    """Write the window trace to this file (.parquet or .csv)."""
    trace_every: Literal["changes", "ack"] = "changes"
    """Write one trace row for each change of a window (changes, the default) or for each ACK (ack)."""
    packets: Path | None = None
    """Write every packet event to this file (.parquet or .csv)."""
    pcap: Annotated[list[str] | None, Parameter(consume_multiple=False, help=PCAP_HELP)] = None
    qlog: Path | None = None
    """Write the qlogs of QUIC flows into this folder: FLOW-sender.sqlog and FLOW-receiver.sqlog, for qvis."""
    plot: Path | None = None
    """Draw windows, round-trip times, queues and goodput to this file (.svg, .png or .pdf)."""

    @property
    def rows(self) -> Trace:
        """Which rows of the window trace are recorded. The figure shows round-trip times, so it needs each ACK."""
        if self.trace is None and self.plot is None:
            return "off"
        return "ack" if self.trace_every == "ack" or self.plot is not None else "changes"


NO_FILES = Files()


@Parameter(name="*", show_default=False)
@dataclass(frozen=True)
class Division:
    """How a run is divided among threads."""

    threads: Annotated[int, Parameter(validator=at_most("--threads", 1024))] = 1
    """Divide the network among at most so many threads, with the same results. Default: 1. If a run uses one thread
    instead, a line says why: it has a recording, or something that cannot be divided, or one thread is faster."""
    explain_threads: bool = False
    """Print how --threads (default here: all processors) divides the network, and do not run it."""


ONE_THREAD = Division()


@dataclass(frozen=True)
class Request:
    """What a run records and writes."""

    seed: int | None
    files: Files
    captures: Mapping[str, Path]
    """The file of each place of `--pcap`."""
    size: Size | None
    """That of the figure; None: the usual one."""
    audit: bool
    fingerprint: bool
    threads: int
    quiet: bool
    """Without a progress bar."""


def command(
    file: File,
    /,
    *,
    seed: Seed = None,
    set_: Overrides = None,
    control: str | None = None,
    on: str = "tcp",
    as_json: Annotated[bool, Parameter(name="--json")] = False,
    files: Files = NO_FILES,
    print_: Print = NO_CHOICE,
    audit: bool = False,
    fingerprint: bool = False,
    all_: Annotated[bool, Parameter(name="--all")] = False,
    division: Division = ONE_THREAD,
    time_limit: TimeLimit = None,
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
    control
        The controller of every TCP flow: a name, FILE.py:CLASS, or a table of TOML.
    on
        What carries the flows: tcp (simulated, as the scenario says), quic (simulated; every TCP flow becomes a QUIC
        flow with its controller, and TCP options without counterpart are named and ignored), or in real time, for the
        first flow: udp (QUIC over UDP sockets), linux (TCP of this kernel with its own algorithm of the controller's
        name), linux:NAME (with another one), kernel (TCP of this kernel with the flow's controller). Real time: exit
        status 4 if the run did not follow the wall clock.
    as_json
        Print the outcome as one JSON object and nothing else.
    files
        What the run writes.
    print_
        How the figure of --plot is printed.
    audit
        Check the run: conservation, causality, rates, queues, ACKs, windows. A violation fails the run.
    fingerprint
        Print the hash of every packet event and nothing else: equal runs give equal hashes, in a browser too.
    all_
        Show every flow and link. Default: the first 40, and the flows of a [[traffic]] table as one row.
    division
        How it is divided among threads.
    time_limit
        Longest time of a run with a controller in Python, such as 60s; after it the run has failed. 0: no limit.
        Default: 10 minutes. Not for runs in real time.
    allow_code
        Allow scenario files to name code and base files (`extends`) outside their own folder.

    """
    if control is not None:
        check_controls([control])
    if on not in {"tcp", "quic"}:
        _check_real_time(on, files, audit=audit, fingerprint=fingerprint, threads=division != ONE_THREAD)
        scenario = _load(file, set_ or (), control, allow_code=allow_code)
        return real_time(on, scenario, seed, as_json, files.trace)
    for option, path in (("--trace", files.trace), ("--packets", files.packets)):
        if path is not None:
            check_table(path, option)
    captures = _captures(files.pcap or ())
    targets = _targets(files.plot, files.trace, files.packets, *captures.values())
    request = Request(
        seed=seed,
        files=files,
        captures=captures,
        size=None if files.plot is None else print_.size_of(files.plot),
        audit=audit,
        fingerprint=fingerprint,
        threads=division.threads,
        quiet=as_json or fingerprint,
    )
    scenario = _load(file, set_ or (), control, allow_code=allow_code)
    scenario = _checked(scenario, on, needs_quic=files.qlog is not None)
    if division.explain_threads:
        recorded = files != NO_FILES or audit or fingerprint
        return _explain_threads(scenario, division.threads, seed, recorded=recorded)
    with guard.time_limit(time_limit):
        result = _run(scenario, request)
    _write_all(scenario, result, request)
    if files.qlog is not None:
        targets += _write_qlogs(result, files.qlog)
    if fingerprint:
        print(result.fingerprint)
    elif as_json:
        print(ascii_json(result.json))
    else:
        _summarise(scenario, result, targets, all_)
    return _report_faults(result)


def _load(file: str, assignments: Sequence[str], control: str | None, *, allow_code: bool) -> Scenario:
    """The scenario with the assignments and the controller of the command line."""
    scenario = Scenario.load(file, assignments, allow_code=allow_code)
    return scenario if control is None else with_control(scenario, control)


def _run(scenario: Scenario, request: Request) -> Result:
    """Run the scenario with a progress bar; say why, if it is divided among fewer threads than asked."""
    files = request.files
    with progress("simulating", quiet=request.quiet) as advance:
        result = scenario.run(
            seed=request.seed,
            trace=files.rows,
            packets=files.packets is not None or files.plot is not None,
            audit=request.audit,
            fingerprint=request.fingerprint,
            qlog=files.qlog is not None,
            captures=list(request.captures),
            threads=request.threads,
            progress=advance,
        )
    if result.one_thread is not None:
        say(f"ackclock: one thread: {result.one_thread}", error=True)
    return result


def _explain_threads(scenario: Scenario, threads: int, seed: int | None, *, recorded: bool) -> int:
    """Print how the network is divided among threads, or why it is not."""
    most = threads if threads > 1 else cores()
    if recorded:
        say("one thread: a recording needs one thread")
        return 0
    try:
        parts = scenario.threads(most, seed=seed)
    except ScenarioError as error:
        say(f"one thread: {error.message}")
        return 0
    shares = ", ".join(f"{100 * share:.0f} %" for share in parts["work"])
    say(f"{len(parts['work'])} threads, with {shares} of the estimated work")
    say(f"{parts['cut_links']} of {parts['links']} link directions lead from one part to another")
    if parts["compared"]:
        say("the run has few flows: after a trial at its begin it goes on without parts if that is faster")
    say(f"least delay between parts: {quantity(parts['lookahead_s'], 's')}, about {parts['hops']:.0f} packet-hops")
    return 0


def _check_real_time(on: str, files: Files, *, audit: bool, fingerprint: bool, threads: bool) -> None:
    """Raise BadInput for an unknown substrate, and for options that runs in real time do not have."""
    from ackclock.substrates import substrate

    substrate(on)
    options: dict[str, object] = {"--packets": files.packets, "--pcap": files.pcap, "--qlog": files.qlog}
    options |= {"--plot": files.plot, "--audit": audit or None, "--fingerprint": fingerprint or None}
    options |= {"--threads": threads or None}
    for option, value in options.items():
        if value is not None:
            raise BadInput(f"--on {on}: runs in real time, which has no {option}")


def _summarise(scenario: Scenario, result: Result, written: Sequence[Path], complete: bool) -> None:
    """Print the summary; with `complete`, every flow and link."""
    sources = [] if complete else _traffic(scenario, result)
    summary(result, [str(path) for path in written], traffic=sources, most=None if complete else MOST_ROWS)


def _targets(plot: Path | None, *others: Path | None) -> list[Path]:
    """Return the files to write. Raises BadInput if one cannot be written."""
    if plot is not None:
        check_picture(plot)
    targets = [path for path in (*others, plot) if path is not None]
    check_targets(targets)
    return targets


def _checked(scenario: Scenario, on: str, *, needs_quic: bool) -> Scenario:
    """The scenario of one run on a substrate; prints the advice on it. Raises BadInput for a study."""
    file = scenario.file
    if on == "quic":
        scenario = scenario.over("quic")
    advise(scenario.advice)
    if scenario.is_study:
        raise BadInput(f"{file}: sweep: the file is a study of many runs; run it with: ackclock sweep {file} --out DIR")
    for warning in scenario_check.describe(scenario)["warnings"]:
        say("ackclock: warning: {key}: {message}; {remedy}".format(**warning), error=True)
    if needs_quic and all(flow["kind"] != "quic" for flow in scenario.network["flows"]):
        raise BadInput("--qlog: the scenario has no QUIC flow; write quic = {} in a flow, or add --on quic")
    return scenario


def _traffic(scenario: Scenario, result: Result) -> list[str]:
    """Names of the traffic sources. Without flows beyond those of the file there is none, and no value is derived."""
    if len(result.outcome["flows"]) <= len(scenario.network["flows"]):
        return []
    return [source["name"] for source in scenario.resolved["traffic"]]


def _report_faults(result: Result) -> int:
    """Print what the auditor found; returns the exit status."""
    for line in lost_connections(result.outcome):
        say(f"ackclock: {line}", error=True)
    if not result.violation_count:
        return 0
    say(f"ackclock: the audit found {result.violation_count} violations:", error=True)
    for violation in result.violations:
        say(f"  {violation}", error=True)
    return 1


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


def _write_qlogs(result: Result, folder: Path) -> list[Path]:
    """Write the qlogs of all QUIC flows. Bytes that a file name cannot have are written as in a URL."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for flow, logs in result.qlogs.items():
        for end, text in zip(("sender", "receiver"), logs, strict=True):
            path = folder / f"{quote(flow, safe=' ')}-{end}.sqlog"
            write_bytes(path, text.encode())
            written.append(path)
    return written


def _write_all(scenario: Scenario, result: Result, request: Request) -> None:
    files = request.files
    if files.trace is not None or files.packets is not None:
        from ackclock import frames
        from ackclock.view.recorded import metadata
        from ackclock.view.recording import about

        said = about(scenario, result, request.seed)
    if files.trace is not None:
        frame = result.trace if files.trace_every == "ack" else frames.changes(result.trace)
        write_frame(frame, files.trace, metadata(said, files.trace_every))
    if files.packets is not None:
        write_frame(result.packets, files.packets, metadata(said))
    if files.plot is not None:
        from ackclock.plot.runs import overview
        from ackclock.plot.style import fitted

        save_figure(fitted(lambda: overview(result, title=scenario.title), request.size), files.plot)
    for place, path in request.captures.items():
        write_bytes(path, result.captures[place])
