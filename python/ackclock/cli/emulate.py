"""`ackclock emulate`."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ackclock.base.files import BadInput
from ackclock.base.link import is_link
from ackclock.base.text import advise, fail, say
from ackclock.base.units import interval
from ackclock.cli.emulate_files import NO_FILES, EmulationFiles, write_files
from ackclock.cli.emulate_pairs import ONCE, Repeated
from ackclock.cli.options import AllowCode, Overrides, Seed, located
from ackclock.cli.printed import NO_CHOICE, Print
from ackclock.cli.validity import FAILED, INVALID, NOTHING, validity_lines
from ackclock.scenario import Scenario

if TYPE_CHECKING:
    from ackclock.apps.reach.emulation import Programs
    from ackclock.draw.style import Size

EXAMPLE = "ackclock emulate @starlink --at-to 'iperf3 -s -1' -- iperf3 -c {remote} -t 20"


def command(
    file: Annotated[Path, Parameter(allow_leading_hyphen=False)],
    /,
    *program: str,
    at_to: str | None = None,
    for_: Annotated[str | None, Parameter(name="--for")] = None,
    seed: Seed = None,
    set_: Overrides = None,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
    files: EmulationFiles = NO_FILES,
    repeated: Repeated = ONCE,
    print_: Print = NO_CHOICE,
    allow_code: AllowCode = False,
) -> int:
    """Run programs behind a simulated network, in real time.

    Two network namespaces stand for the nodes `from` and `to` of the first flow: 10.77.0.1 and 10.77.0.2. Every packet
    between them crosses the simulated network: rates, delays, queues, losses, satellites, and the other flows of the
    scenario. No other IP address can be reached; files and Unix sockets of this machine can. A new host name holds for
    the programs only. They run as the user of this command: as root if that is root. They see the addresses as
    ACKCLOCK_LOCAL and ACKCLOCK_REMOTE, and {local} and {remote} in their arguments are replaced.

    With --b two programs run in turns and are compared, with --repeats one program runs several times. Values: elapsed
    time, goodput, loss, delays, queues, and what the programs write as lines NAME=NUMBER into the file whose name is in
    ACKCLOCK_VALUES. What they print is shown if one fails.

    Linux only; needs user namespaces or root. When the command ends, also by a signal, everything in the namespaces
    ends. Exit status: 0 if the programs ended with status 0 and packets crossed the network; 1 if a gate fails; 5 if
    the program or the one at the other end failed or no packet crossed; 4 if the network did not follow the clock; 3 if
    this machine cannot do it. Of a shell: its own.

    Parameters
    ----------
    file
        Scenario file (TOML), or @NAME for a shipped scenario; with --b or --repeats also several, separated by commas.
    program
        Program to run at `from`, after `--`. Default: a shell.
    at_to
        Program to run at `to`, as one text; it starts first and ends with the other.
    for_
        Longest time, such as 60s. Default: until the program ends; the scenario's duration if satellites, radio nodes
        or random traffic are computed for it.
    seed
        Seed of all random streams, instead of the file's. Each further repeat has the next one.
    set_
        Replace one value first: KEY=VALUE. May be repeated.
    as_json
        Print what happened as one JSON object on standard output; the programs write to standard error.
    files
        What is recorded and drawn.
    repeated
        Programs A and B, and how often they run.
    print_
        How the figure of --plot is printed.
    allow_code
        Allow scenario files to name code and base files (`extends`) outside their own folder.

    """
    from ackclock.apps.reach import runs

    runs.need_linux()
    limit = None if for_ is None else interval(for_, "--for")
    size = files.check(print_)
    sides = repeated.sides(program, at_to)
    scenarios = [_scenario(path, set_, allow_code=allow_code) for path in _networks(file, several=repeated.asked)]
    if repeated.asked:
        from ackclock.cli.emulate_pairs import run_several

        files.refuse_recordings()
        task = repeated.task(scenarios, sides, seed, limit)
        return run_several(task, repeated, files.plot, size, as_json=as_json)
    shell = not program and repeated.a is None
    return _once(scenarios[0], sides[0], files, size, seed=seed, limit_s=limit, as_json=as_json, shell=shell)


def _networks(file: Path, *, several: bool) -> list[Path]:
    """The scenario files of the argument: one, or several that commas separate."""
    text = str(file)
    names = [text] if is_link(text) or file.exists() else [part for part in text.split(",") if part]
    if len(names) > 1 and not several:
        raise BadInput(f"{text}: several networks need --repeats or --b; name one")
    return [located(name) for name in names]


def _scenario(file: Path, assignments: Sequence[str] | None, *, allow_code: bool) -> Scenario:
    from ackclock.apps.reach import runs

    scenario = Scenario.load(file, assignments or (), allow_code=allow_code)
    advise([*scenario.advice, *runs.advice(scenario)])
    if scenario.is_study:
        raise BadInput(f"{file}: sweep: the file is a study; remove it, or select values with --set")
    return scenario


def _once(
    scenario: Scenario,
    programs: Programs,
    files: EmulationFiles,
    size: Size | None,
    *,
    seed: int | None,
    limit_s: float | None,
    as_json: bool,
    shell: bool,
) -> int:
    """Run the programs once, write and print what happened."""
    from ackclock.apps.reach import crossing, emulation

    if not as_json:
        _announce(scenario)
    emulated = emulation.emulate(
        scenario,
        programs,
        emulation.Surroundings(os.environ, to_error=as_json),
        files.recording(series=as_json),
        warn=lambda text: say(f"ackclock: {text}", error=True),
        seed=seed,
        limit_s=limit_s,
    )
    written = write_files(files, scenario, emulated, size=size)
    if as_json:
        series = crossing.over_time(crossing.Crossing.of(emulated))
        print(json.dumps(emulated.report | {"series": series}, allow_nan=False))
    else:
        _report(emulated.report)
        for path in written:
            say(f"ackclock: written: {path}", error=True)
    return _status(emulated.report, shell)


def _announce(scenario: Scenario) -> None:
    from ackclock.apps.reach.emulation import ADDRESSES

    flows = scenario.resolved["flows"]
    if flows:
        flow, local = flows[0], ADDRESSES["local"]
        say(f"ackclock: {flow['from']} is {local[0]} (this command), {flow['to']} is {local[1]}", error=True)


def _report(report: dict[str, Any]) -> None:
    """Print the packets of both ends and the drops, on standard error: the programs own standard output."""
    from ackclock.apps.reach.emulation import was_slow

    if report["status"] is None:
        cause = "the network was too slow" if was_slow(report) else "the time is over"
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


def _status(report: dict[str, Any], shell: bool) -> int:
    """The exit status, with the reason if it is not 0. A shell is no measurement: its own status stands."""
    from ackclock.apps.reach.emulation import failure, was_slow

    if shell:
        return 0 if report["status"] is None else int(report["status"])
    if reason := failure(report):
        return fail(reason, FAILED)
    if was_slow(report):
        return INVALID
    if not any(end["received_packets"] for end in report["ends"]):
        return fail(NOTHING, FAILED)
    return 0 if report["validity"]["valid"] else INVALID
