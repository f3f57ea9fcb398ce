"""`ackclock what-if`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.table import Table

from ackclock._core import ScenarioError
from ackclock.apps.controls import check_controls
from ackclock.base.assignment import assigned_value, assignment, key_text
from ackclock.base.files import BadInput, check_picture, check_targets, save_figure
from ackclock.base.refusal import refused
from ackclock.base.si import prefixed, value
from ackclock.base.text import advise, ascii_json, say
from ackclock.base.toml_text import inline
from ackclock.cli import guard
from ackclock.cli.console import progress, wide_console
from ackclock.cli.options import AllowCode, File, Seed, TimeLimit
from ackclock.cli.printed import NO_CHOICE, Print
from ackclock.scenario import Scenario

if TYPE_CHECKING:
    from ackclock.apps.what_if import Row, WhatIf

EXAMPLE = "ackclock what-if @dumbbell --at 8s --set link.bottleneck.rate=5Mbps"
LARGE = 0.25
"""A value of a link without a queue is shown if it changes by more than this part."""
Changes = Annotated[list[str] | None, Parameter(name="--set", allow_leading_hyphen=True)]


def command(
    file: File,
    /,
    *,
    at: str,
    set_: Changes = None,
    control: str | None = None,
    seed: Seed = None,
    plot: Path | None = None,
    print_: Print = NO_CHOICE,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
    time_limit: TimeLimit = None,
    allow_code: AllowCode = False,
) -> int:
    """Run a scenario without and with a change, and compare.

    The run up to the change is made once and copied. The run with the change is that of the scenario with the same
    [[change]]: a link to it, or a file, reproduces it.

    Parameters
    ----------
    file
        Scenario file (TOML), @NAME for a shipped scenario, or a link.
    at
        Time of the change, such as 8s. It comes before everything else at that time.
    set_
        What changes: KEY=VALUE, as for --set of ackclock run. May be repeated. Rate, delay, queue and loss of a link;
        start, stop, udp.rate, tcp.receive_window and tcp.congestion_control of a flow.
    control
        The controller of every TCP flow from then on: a name, or FILE.py:CLASS, FILE.wasm.
    seed
        Seed of all random streams, instead of the file's.
    plot
        Draw windows, round-trip times, queue and goodput of both runs to this file (.svg, .pdf, .png or .eps).
    print_
        How the figure of --plot is printed.
    as_json
        Print one JSON object and nothing else: first_difference_s, base and changed (outcomes).
    time_limit
        Longest time of the command's runs with a controller in Python, such as 60s. 0: no limit. Default: 10 minutes.
    allow_code
        Allow scenario files to name code and base files (`extends`) outside their own folder.

    """
    from ackclock.apps.what_if import what_if

    if plot is not None:
        check_picture(plot)
        check_targets([plot])
    size = None if plot is None else print_.size_of(plot)
    if control is not None:
        check_controls([control], allow_code=allow_code)
    scenario = Scenario.load(file, allow_code=allow_code)
    advise(scenario.advice)
    if scenario.is_study:
        raise BadInput(
            f"{scenario.file}: sweep: the file is a study of many runs; remove sweep, or add the axis change.NAME.at"
        )
    values = _values(scenario, set_ or (), control)
    if not values:
        raise BadInput("name what changes: --set KEY=VALUE or --control NAME")
    try:
        with progress("simulating", quiet=as_json) as advance, guard.time_limit(time_limit):
            compared = what_if(scenario, at, {"set": values}, seed=seed, whole=plot is not None, progress=advance)
    except ScenarioError as error:
        if error.line is not None:
            raise
        option = "--at" if error.file == "at" else error.file if error.file.startswith("--") else f"--set {error.file}"
        raise refused(option, error.message) from None
    except BadInput as error:
        raise BadInput(f"--{error}" if str(error).startswith("at: ") else str(error)) from None
    if plot is not None:
        from ackclock.apps.what_if.figure import figure
        from ackclock.draw.style import fitted

        save_figure(fitted(lambda: figure(compared), size), plot)
    if as_json:
        difference = compared.first_difference
        first = "null" if difference is None else repr(difference.time_s)
        base, changed = ascii_json(compared.base.json), ascii_json(compared.changed.json)
        print(f'{{"first_difference_s": {first}, "base": {base}, "changed": {changed}}}')
        return 0
    _summarise(compared, values, plot)
    return 0


def _values(scenario: Scenario, texts: list[str] | tuple[()], control: str | None) -> dict[str, Any]:
    """The keys that change with their values. Raises BadInput for text that is no assignment, or a key twice."""
    values: dict[str, Any] = {}
    if control is not None:
        from ackclock.apps.controls import controls

        values = {key_text(one.key): one.value for one in controls(scenario, [control])[0].overrides}
    for text in texts:
        key, assigned = assignment(text)
        if not key or not assigned:
            raise BadInput(f"--set {text}: must be KEY=VALUE, such as link.bottleneck.rate=5Mbps")
        if key in values:
            raise BadInput(f"--set {key}: is written twice; write it once")
        values[key] = assigned_value(assigned)
    return values


def _summarise(compared: WhatIf, values: dict[str, Any], plot: Path | None) -> None:
    """Print the change, the first difference, and the values of the outcome that differ."""
    what = ", ".join(f"{key} = {inline(assigned)}" for key, assigned in values.items())
    title = f"{compared.scenario.title}: " if compared.scenario.title else ""
    say(f"{title}at {compared.at_s:g} s {what}")
    difference = compared.first_difference
    if difference is None:
        say("The change has no effect: every packet and every window is the same.")
        return
    say(f"First difference at {difference.time_s:.6f} s: {difference.words}.")
    table = Table(box=None, pad_edge=False, header_style="")
    table.add_column("", overflow="fold")
    table.add_column("")
    for name in ("without", "with", "change"):
        table.add_column(name, justify="right")
    last, left_out = "", 0
    queued = _queued(compared)
    for row in compared.rows:
        cells = _cells(row)
        idle = row.kind == "links" and row.of not in queued and abs(row.relative or 0) < LARGE
        if cells[0] == cells[1] or idle:
            left_out += 1
            continue
        table.add_row("" if row.of == last else row.of, row.name, *cells)
        last = row.of
    wide_console().print(table)
    if left_out:
        many = "1 small difference" if left_out == 1 else f"{left_out} small differences"
        say(f"left out: {many}, and those of links without a queue; --json has all")
    say("Values of the whole run, the time before the change included.")
    if plot is not None:
        say(f"written: {plot}")


def _queued(compared: WhatIf) -> set[str]:
    """The links that drop packets, or at which a packet or more waits on average, in one of the runs."""
    links = [*compared.base.outcome["links"], *compared.changed.outcome["links"]]
    return {link["name"] for link in links if link["mean_queue_packets"] >= 1 or any(link["dropped_packets"].values())}


def _cells(row: Row) -> tuple[str, str, str]:
    factor, unit = prefixed(row.unit, [x for x in (row.base, row.changed) if x is not None])

    def shown(x: float | None) -> str:
        return "-" if x is None else f"{value(factor * x, 4)} {unit}".rstrip()

    change = (
        "" if row.relative is None else f"{100 * row.relative:+.1f} %".replace("-0.0", "0.0").replace("+0.0", "0.0")
    )
    return shown(row.base), shown(row.changed), change
