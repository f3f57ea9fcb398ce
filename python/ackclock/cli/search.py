"""`ackclock search`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.table import Table

from ackclock.apps.controls import check_controls
from ackclock.base.files import BadInput, check_folder
from ackclock.base.names import folder_name
from ackclock.base.si import value
from ackclock.base.text import interrupted, say
from ackclock.base.units import interval
from ackclock.cli.console import counted_progress, wide_console
from ackclock.cli.options import AllowCode, Engine, Overrides, Seed, TimeLimit, at_most

EXAMPLE = "ackclock search @shrew --control reno"
MOST_NETWORKS = 10_000_000

if TYPE_CHECKING:
    from ackclock.apps.search.findings import Failure, Options
    from ackclock.apps.search.search import Search


def command(
    space: str = "",
    /,
    *,
    control: str | None = None,
    against: str | None = None,
    objective: str | None = None,
    budget: Annotated[int | None, Parameter(validator=at_most("--budget", MOST_NETWORKS))] = None,
    time: str | None = None,
    seed: Seed = None,
    threads: Annotated[int | None, Parameter(validator=at_most("--threads", 1024))] = None,
    time_limit: TimeLimit = None,
    first: bool = False,
    any_cause: bool = False,
    set_: Overrides = None,
    out: Path | None = None,
    engine: Engine = "local",
    as_json: Annotated[bool, Parameter(name="--json")] = False,
    allow_code: AllowCode = False,
) -> int:
    """Search for a network that breaks a controller.

    The network is made small, and the cause is named. After an interruption, the same command goes on. The exit status
    is 0 if a failure was found, 1 if none was.

    Parameters
    ----------
    space
        A space file (docs/search.md), a scenario, or a built-in space: @shrew, @starvation, @scar, @hystart,
        @quic-tcp, @policer, @reordering.
    control
        Tested controller: a name, FILE.py:CLASS, FILE.wasm, or a table of TOML; or your own stack, stack:FILE (see
        ackclock conform). Default: that of the space.
    against
        Reference of a regret, in the same forms. Default: that of the objective.
    objective
        What a failure is, such as "regret(utilisation, reno) >= 0.3". Default: that of the space.
    budget
        Largest number of networks that are evaluated. Default: 1000.
    time
        End the exploration after this time, such as 60s. The result then depends on the machine.
    seed
        Seed of the exploration. Default: 1.
    threads
        Number of threads, or of processes for controllers in Python; no result depends on it. Default: all cores.
    time_limit
        Longest time of one run with a controller in Python, such as 60s; a run that takes longer has failed. 0: no
        limit. Default: 10 minutes.
    first
        Stop at the first failure.
    any_cause
        Make failures small without regard to their cause.
    set_
        Replace one value of the base scenario first: KEY=VALUE. May be repeated.
    out
        Folder of the report. Default: out/search/SPACE-CONTROL.
    engine
        Executor: this machine, or a Ray cluster.
    as_json
        Print one JSON object and nothing else.
    allow_code
        Allow the space file to name code and base files (`extends`) outside its own folder.

    """
    from ackclock.apps.search.findings import BUDGET, Options  # importing numpy takes 0.3 s

    limit = None if time is None else interval(time, "--time")
    most = budget if budget is not None else BUDGET if limit is None else MOST_NETWORKS
    options = Options(
        control, against, objective, most, limit, 1 if seed is None else seed, first, any_cause, tuple(set_ or ())
    )
    check_controls([control] if control and not control.startswith("stack:") else [], allow_code=allow_code)
    check_controls([against] if against else [], "--against", allow_code=allow_code)
    search, target = _begun(space, options, out, allow_code)
    return _search(search, target, threads, engine, time_limit, as_json=as_json)


def _begun(space: str, options: Options, out: Path | None, allow_code: bool) -> tuple[Search, Path]:
    """The search, with its folder."""
    from ackclock.apps.search.search import Search, built_in, space_source

    if not space:
        raise BadInput(f"search needs a space: a file, or one of {', '.join(built_in())}")
    names = [space.removeprefix("@").removesuffix(".toml"), *([options.control] if options.control else [])]
    folder = out or Path("out") / "search" / "-".join(map(folder_name, names))
    return Search(space_source(space, allow_code=allow_code), options), check_folder(folder)


def _search(
    search: Search, target: Path, threads: int | None, engine: str, time_limit_s: float | None, *, as_json: bool
) -> int:
    """Run a search, with progress, and print what it found."""
    try:
        with counted_progress("step", 2) as begin:
            bars: dict[str, Any] = {}

            def progress(what: str, done: int, total: int) -> None:
                if what not in bars:
                    bars[what] = begin(what)
                bars[what](done, total)

            search.run(target, jobs=threads, engine=engine, time_limit_s=time_limit_s, progress=progress)
    except KeyboardInterrupt:
        return interrupted(target)
    if as_json:
        print(json.dumps(search.as_dict(), allow_nan=False))
    else:
        _print(search, target)
    return 0 if search.failures else 1


def _print(search: Search, target: Path) -> None:
    from ackclock.apps.search.findings import file_name

    console = wide_console()
    for number, one in enumerate(search.failures):
        console.print(one.why)
        console.print(
            f"  network {one.first_seen.number} of {search.evaluations}, made small in {one.shrink_evaluations} more"
        )
        for line in one.diagnosis.lines[:6]:
            console.print(f"  {line}")
        console.print(_table(one))
        on = " --on quic" if search.objective.tested.quic else ""
        console.print(
            f"the smallest network: ackclock run {os.path.join(target, file_name(number))}{on}", soft_wrap=True
        )
    if not search.failures:
        nearest = "" if search.nearest is None else f"; the nearest misses it by {value(search.nearest)}"
        console.print(f"no failure in {search.evaluations:,} networks ({search.objective.text}{nearest})")
    if search.refused:
        console.print(f"{len(search.refused):,} networks cannot be run, the first because: {search.refused[0]}")
    cost = f"{search.evaluations:,} networks, {search.runs:,} runs, {search.cpu_s:.1f} CPU s"
    say(f"{cost}; written: {target / 'report.html'}")


def _table(one: Failure) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 2))
    table.add_column("changed")
    table.add_column("objective", justify="right")
    table.add_column("")
    for row in one.ablations[:8]:
        table.add_row(row.name, value(row.objective), "fails" if row.fails else "does not fail")
    return table
