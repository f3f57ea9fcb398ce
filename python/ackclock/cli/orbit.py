"""`ackclock orbit`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.table import Table

from ackclock.base.files import BadInput, check_picture, check_targets, save_figure
from ackclock.base.text import say
from ackclock.base.units import interval, seconds
from ackclock.cli.console import wide_console
from ackclock.cli.options import AllowCode, File, Overrides, Seed

if TYPE_CHECKING:
    from ackclock.apps.satellites import SatelliteView

EXAMPLE = "ackclock orbit @iridium --plot map.svg"


def command(
    file: File,
    /,
    *,
    start: Annotated[str | None, Parameter(name="--from")] = None,
    end: Annotated[str | None, Parameter(name="--to")] = None,
    every: str = "1s",
    until: str = "600s",
    as_json: Annotated[bool, Parameter(name="--json")] = False,
    positions: bool = False,
    plot: Path | None = None,
    at: str | None = None,
    set_: Overrides = None,
    seed: Seed = None,
    allow_code: AllowCode = False,
) -> int:
    """Show the satellite paths of a scenario over time.

    Path, propagation delay and hand-offs, without traffic. `ackclock view FILE` plays the movement on a globe.

    Parameters
    ----------
    file
        Scenario file (TOML), or @NAME, with a constellation and terminals; it needs no flows.
    start
        Terminal where the path begins. Default: the first of two terminals.
    end
        Terminal where it ends. Default: the second of two.
    every
        Sampling interval, such as 10s.
    until
        Time of the last sample.
    as_json
        Print one JSON object per sample: time_s, path, delay_s, up, down.
    positions
        With --json: also latitude, longitude (degrees) and altitude (km) of every satellite.
    plot
        Draw a map to this file (.svg, .pdf, .png or .eps).
    at
        Time of the map. Default: the start.
    set_
        Replace one value first: KEY=VALUE. May be repeated.
    seed
        Seed of the random jitter of hand-off checks, instead of the file's.
    allow_code
        Allow scenario files to name code and base files (`extends`) outside their own folder.

    """
    from ackclock.apps.satellites import SatelliteView

    if plot is not None:
        check_picture(plot)
        check_targets([plot])
    if at is not None and plot is None:
        raise BadInput("--at: needs --plot; it is the time of the map")
    if (start is None) != (end is None):
        raise BadInput("--from and --to: both or neither must be given")
    if positions and not as_json:
        raise BadInput("--positions: needs --json")
    every_s, until_s, at_s = interval(every, "--every"), seconds(until, "--until"), seconds(at or "0s", "--at")
    ends = (start, end) if start is not None and end is not None else None
    satellites = SatelliteView(
        file, max(until_s, at_s), ends=ends, overrides=set_ or (), seed=seed, allow_code=allow_code
    )
    satellites.until_s = until_s
    terminals = satellites.terminals
    if ends is None and len(terminals) == 2:
        ends = (terminals[0], terminals[1])
        satellites = satellites.between(*ends)
    if ends is None and not positions and plot is None:
        raise BadInput("name two terminals with --from and --to, or give --positions or --plot")
    if plot is not None:
        from ackclock.apps.satellites.map import draw

        save_figure(draw(satellites, at_s), plot)
    if as_json:
        for sample in satellites.samples(every_s, positions=positions):
            print(json.dumps(sample))
    elif ends is not None:
        print_paths(satellites, every_s)
    if plot is not None:
        say(f"written: {plot}", error=as_json)
    return 0


def print_paths(satellites: SatelliteView, every_s: float) -> None:
    """Print the paths with their delays, one row for each path change, then the hand-offs."""
    table = Table("from (s)", "path", "mean delay (ms)", "min", "max", title="Paths", title_justify="left", box=None)
    runs: list[tuple[float, list[str] | None, list[float]]] = []
    for sample in satellites.samples(every_s):
        if not runs or runs[-1][1] != sample["path"]:
            runs.append((sample["time_s"], sample["path"], []))
        if sample["delay_s"] is not None:
            runs[-1][2].append(1e3 * sample["delay_s"])
    for at, path, delays in runs:
        numbers = [f"{sum(delays) / len(delays):.2f}", f"{min(delays):.2f}", f"{max(delays):.2f}"] if delays else []
        table.add_row(f"{at:g}", " - ".join(path) if path else "none", *numbers)
    console = wide_console()
    console.print(table)
    handoffs = Table("time (s)", "terminal", "from", "to", title="Hand-offs", title_justify="left", box=None)
    in_time = [handoff for handoff in satellites.handoffs() if handoff["time_s"] <= satellites.until_s]
    for handoff in in_time:
        places = (handoff["from"] or "none", handoff["to"] or "none")
        handoffs.add_row(f"{handoff['time_s']:g}", handoff["terminal"], *places)
    console.print(handoffs if in_time else "No hand-offs.")
