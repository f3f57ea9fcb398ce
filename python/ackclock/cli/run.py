"""`ackclock run`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ackclock.apps import scenario_check
from ackclock.apps.controls import check_controls, with_control
from ackclock.base.files import BadInput
from ackclock.base.text import advise, ascii_json, say
from ackclock.cli import guard
from ackclock.cli.console import progress
from ackclock.cli.division import ONE_THREAD, Division, explain_threads
from ackclock.cli.on_stack import on_stack
from ackclock.cli.options import AllowCode, File, Overrides, Seed, TimeLimit
from ackclock.cli.printed import NO_CHOICE, Print
from ackclock.cli.real_time import real_time
from ackclock.cli.run_files import NO_FILES, Files, write_files
from ackclock.cli.summary import report_faults, summary
from ackclock.result import Result
from ackclock.scenario import Scenario

EXAMPLE = "ackclock run @dumbbell --set link.bottleneck.rate=5Mbps --plot run.svg"


@dataclass(frozen=True)
class Recording:
    """What is recorded of a run, and how it is run."""

    seed: int | None
    files: Files
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
        The controller of every TCP flow: a name, FILE.py:CLASS, FILE.wasm, or a table of TOML.
    on
        What carries the flows: tcp (simulated, as the scenario says), quic (simulated; every TCP flow becomes a QUIC
        flow with its controller, and TCP options without counterpart are named and ignored), stack:FILE (your own
        stack at both ends, see ackclock conform), or in real time, for the first flow: udp (QUIC over UDP sockets),
        linux (TCP of this kernel with its own algorithm of the controller's name), linux:NAME (with another one),
        kernel (TCP of this kernel with the flow's controller). Real time: exit status 4 if the run did not follow
        the wall clock.
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
        check_controls([control], allow_code=allow_code)
    if on not in {"tcp", "quic"}:
        _check_real_time(on, files, audit=audit, fingerprint=fingerprint, threads=division != ONE_THREAD)
        scenario = _load(file, set_ or (), control, "tcp", allow_code=allow_code)
        run_on = on_stack if on.startswith("stack:") else real_time
        return run_on(on, scenario, seed, as_json, files.trace)
    files.check()
    size = None if files.plot is None else print_.size_of(files.plot)
    scenario = _load(file, set_ or (), control, on, allow_code=allow_code)
    _check(scenario, files)
    if division.explain_threads:
        recorded = files != NO_FILES or audit or fingerprint
        return explain_threads(scenario, division.threads, seed, recorded=recorded)
    recording = Recording(seed, files, audit, fingerprint, division.threads, quiet=as_json or fingerprint)
    with guard.time_limit(time_limit):
        result = _run(scenario, recording)
    written = write_files(files, scenario, result, seed=seed, size=size)
    if fingerprint:
        print(result.fingerprint)
    elif as_json:
        print(ascii_json(result.json))
    else:
        summary(scenario, result, written, complete=all_)
    return report_faults(result)


def _load(file: Path, assignments: Sequence[str], control: str | None, on: str, *, allow_code: bool) -> Scenario:
    """The scenario with the assignments and the controller of the command line, over TCP or QUIC."""
    scenario = Scenario.load(file, assignments, allow_code=allow_code)
    if control is not None:
        scenario = with_control(scenario, control)
    return scenario.over("quic") if on == "quic" else scenario


def _run(scenario: Scenario, recording: Recording) -> Result:
    """Run the scenario with a progress bar; say why, if it is divided among fewer threads than asked."""
    files = recording.files
    with progress("simulating", quiet=recording.quiet) as advance:
        result = scenario.run(
            seed=recording.seed,
            trace=files.rows,
            packets=files.packets is not None or files.plot is not None,
            audit=recording.audit,
            fingerprint=recording.fingerprint,
            qlog=files.qlog is not None,
            messages=files.messages is not None,
            captures=list(files.captures),
            threads=recording.threads,
            progress=advance,
        )
    if result.one_thread is not None:
        say(f"ackclock: one thread: {result.one_thread}", error=True)
    return result


def _check_real_time(on: str, files: Files, *, audit: bool, fingerprint: bool, threads: bool) -> None:
    """Raise BadInput for an unknown substrate, and for options that runs in real time do not have."""
    from ackclock.apps.reach.substrates import substrate

    substrate(on)
    options: dict[str, object] = {"--packets": files.packets, "--pcap": files.pcap, "--qlog": files.qlog}
    options |= {"--messages": files.messages}
    options |= {"--plot": files.plot, "--audit": audit or None, "--fingerprint": fingerprint or None}
    options |= {"--threads": threads or None}
    for option, value in options.items():
        if value is not None:
            how = "runs a stack" if on.startswith("stack:") else "runs in real time"
            raise BadInput(f"--on {on}: {how}, which has no {option}")


def _check(scenario: Scenario, files: Files) -> None:
    """Print advice and warnings. Raises BadInput for a study, and for a file that the scenario has no content for."""
    advise(scenario.advice)
    if scenario.is_study:
        file = scenario.file
        raise BadInput(f"{file}: sweep: the file is a study of many runs; run it with: ackclock sweep {file} --out DIR")
    for warning in scenario_check.describe(scenario)["warnings"]:
        say("ackclock: warning: {key}: {message}; {remedy}".format(**warning), error=True)
    if files.messages is not None and not scenario.has_applications:
        raise BadInput(
            f"--messages: no flow of {scenario.file} has an application; write one in a [[flow]], such as "
            'app = { kind = "requests", response = "10kB" }'
        )
    if files.qlog is not None and all(flow["kind"] != "quic" for flow in scenario.network["flows"]):
        raise BadInput("--qlog: the scenario has no QUIC flow; write quic = {} in a flow, or add --on quic")
