"""`ackclock emulate`."""

from __future__ import annotations

import json
import os
import shlex
from typing import Annotated, Any

from cyclopts import Parameter

from ackclock.base.files import BadInput
from ackclock.base.text import advise, fail, say
from ackclock.base.units import seconds
from ackclock.cli.options import AllowCode, File, Overrides, Seed
from ackclock.cli.validity import INVALID, NOTHING, validity_lines
from ackclock.scenario import Scenario

EXAMPLE = "ackclock emulate @starlink --at-to 'iperf3 -s -1' -- iperf3 -c {remote} -t 20"
ADDRESSES = {"local": ["10.77.0.1", "10.77.0.2"], "remote": ["10.77.0.2", "10.77.0.1"]}
"""The addresses of the two ends, as `crates/reach` assigns them: of the source and of the destination."""


def command(
    file: File,
    /,
    *program: str,
    at_to: str | None = None,
    for_: Annotated[str | None, Parameter(name="--for")] = None,
    seed: Seed = None,
    set_: Overrides = None,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
    allow_code: AllowCode = False,
) -> int:
    """Run programs behind a simulated network, in real time.

    Two network namespaces stand for the nodes `from` and `to` of the first flow: 10.77.0.1 and 10.77.0.2. Every packet
    between them crosses the simulated network: rates, delays, queues, losses, satellites, and the other flows of the
    scenario. No other IP address can be reached; files and Unix sockets of this machine can. A new host name holds for
    the programs only. They run as the user of this command: as root if that is root. They see the addresses as
    ACKCLOCK_LOCAL and ACKCLOCK_REMOTE, and {local} and {remote} in their arguments are replaced.

    Linux only; needs user namespaces or root. When the command ends, also by a signal, everything in the namespaces
    ends. Exit status: 0 if the programs ended with status 0 and packets crossed the network; 5 if the program or the
    one at the other end failed or no packet crossed; 4 if the network did not follow the clock; 3 if this machine
    cannot do it. Of a shell: its own.

    Parameters
    ----------
    file
        Scenario file (TOML), or @NAME for a shipped scenario.
    program
        Program to run at `from`, after `--`. Default: a shell.
    at_to
        Program to run at `to`, as one text; it starts first and ends with the other.
    for_
        Longest time, such as 60s. Default: until the program ends; the scenario's duration if satellites, radio nodes
        or random traffic are computed for it.
    seed
        Seed of all random streams, instead of the file's.
    set_
        Replace one value first: KEY=VALUE. May be repeated.
    as_json
        Print what happened as one JSON object on standard output; the programs write to standard error.
    allow_code
        Allow scenario files to name code and base files (`extends`) outside their own folder.

    """
    from ackclock.apps.reach import runs

    runs.need_linux()
    scenario = Scenario.load(file, set_ or (), allow_code=allow_code)
    advise([*scenario.advice, *runs.advice(scenario)])
    if scenario.is_study:
        raise BadInput(f"{file}: sweep: the file is a study; remove it, or select values with --set")
    limit = None if for_ is None else _limit(for_)
    shell = not program
    first = list(program) or [os.environ.get("SHELL") or "/bin/sh"]
    other = None if at_to is None else shlex.split(at_to)
    if other == []:
        raise BadInput("--at-to: names no program")
    if not as_json:
        _announce(scenario)
    report = runs.emulate(
        scenario,
        _addressed(first, 0),
        None if other is None else _addressed(other, 1),
        os.environ,
        warn=lambda text: say(f"ackclock: {text}", error=True),
        seed=seed,
        limit_s=limit,
        output_to_error=as_json,
    )
    if as_json:
        print(json.dumps(report, allow_nan=False))
    else:
        _report(report)
    return _status(report, shell)


def _limit(text: str) -> float:
    limit = seconds(text, "--for")
    if limit <= 0:
        raise BadInput("--for: must be more than 0s")
    return limit


def _addressed(arguments: list[str], end: int) -> list[str]:
    """The arguments with the addresses of an end."""
    for name, addresses in ADDRESSES.items():
        arguments = [text.replace(f"{{{name}}}", addresses[end]) for text in arguments]
    return arguments


def _announce(scenario: Scenario) -> None:
    flows = scenario.resolved["flows"]
    if flows:
        flow, local = flows[0], ADDRESSES["local"]
        say(f"ackclock: {flow['from']} is {local[0]} (this command), {flow['to']} is {local[1]}", error=True)


def _report(report: dict[str, Any]) -> None:
    """Print the packets of both ends and the drops, on standard error: the programs own standard output."""
    if report["status"] is None:
        cause = "the network was too slow" if _was_slow(report) else "the time is over"
        say(f"ackclock: {cause}; the programs were ended", error=True)
    for end in report["ends"]:
        rate = end["received_bytes"] * 8 / max(report["measured_s"], 1e-9) / 1e6
        say(
            f"ackclock: {end['node']} sent {end['sent_packets']:,} packets and received {end['received_packets']:,} "
            f"({rate:.3g} Mb/s on average)",
            error=True,
        )
    for link in report["links"]:
        drops = {reason: n for reason, n in link["dropped_packets"].items() if n}
        if drops or link["marked_packets"]:
            marks = {"marked": link["marked_packets"]} if link["marked_packets"] else {}
            counts = ", ".join(f"{n:,} {reason}" for reason, n in (drops | marks).items())
            say(f"ackclock: {link['name']}: {counts}", error=True)
    for line in validity_lines(report["validity"]):
        if line != NOTHING:  # the reason of the exit status
            say(f"ackclock: {line}", error=True)


FAILED = 5
"""Exit status: a program or the other end failed, or no packet crossed the network."""


def _status(report: dict[str, Any], shell: bool) -> int:
    """The exit status, with the reason if it is not 0. A shell is no measurement: its own status stands."""
    status = 0 if report["status"] is None else int(report["status"])
    if shell:
        return status
    if reason := _failure(report, status):
        return fail(reason, FAILED)
    if _was_slow(report):
        return INVALID
    if not any(end["received_packets"] for end in report["ends"]):
        return fail(NOTHING, FAILED)
    return 0 if report["validity"]["valid"] else INVALID


def _was_slow(report: dict[str, Any]) -> bool:
    return any("slower than real time" in reason for reason in report["validity"]["reasons"])


def _failure(report: dict[str, Any], status: int) -> str:
    """Which program has failed, and how; empty if none has."""
    if report["not_started"]:
        return f"cannot run {', '.join(report['not_started'])}"
    if status != 0:
        return f"the program has ended with status {status}"
    if report["other_status"] not in {None, 0}:
        return f"the command at the other end has ended with status {report['other_status']}"
    return ""
