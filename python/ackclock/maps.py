"""The commands that draw where nodes are: satellites and radio."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, TextIO

from cyclopts import Parameter

from ackclock.files import BadInput, check_targets, save_figure
from ackclock.options import AllowCode, File, Overrides, Seed, seconds


def _check_pictures(plot: Path | None, animate: Path | None) -> None:
    """Raise BadInput unless a map and an animation can be written to these files."""
    from ackclock.animation import ENDINGS

    for target, endings in ((plot, (".svg", ".png", ".pdf")), (animate, ENDINGS)):
        if target is not None and target.suffix not in endings:
            raise BadInput(f"{target}: the name must end in one of {', '.join(endings)}")
    check_targets([target for target in (plot, animate) if target is not None])


def _interval(every: str, at: str | None, plot: Path | None) -> float:
    """Seconds of `--every`. Raises BadInput unless it is a time, and if `--at` has no map."""
    if at is not None and plot is None:
        raise BadInput("--at is the moment of the map: it goes with --plot")
    every_s = seconds(every, "--every")
    if every_s <= 0:
        raise BadInput("--every: must be more than zero")
    return every_s


def _tell(plot: Path | None, animate: Path | None, stream: TextIO) -> None:
    """Say which pictures were written."""
    for target in (plot, animate):
        if target is not None:
            print(f"written: {target}", file=stream)


def orbit(
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
    animate: Path | None = None,
    set_: Overrides = None,
    seed: Seed = None,
    allow_code: AllowCode = False,
) -> int:
    """Follow the satellites of a scenario without traffic: path, propagation delay and hand-offs over time.

    Parameters
    ----------
    file
        Scenario file (TOML) with a constellation and terminals; it needs no flows.
    start
        Terminal where the path begins.
    end
        Terminal where it ends.
    every
        Sampling interval, such as 10s.
    until
        Time of the last sample.
    as_json
        Print one JSON object per sample: time_s, path, delay_s, up, down.
    positions
        With --json: also latitude, longitude (degrees) and altitude (km) of every satellite.
    plot
        Draw a map to this file (.svg, .png or .pdf).
    at
        The moment of the map; the start by default.
    animate
        Write an animation of the map, one frame per sample (.gif, .html, or .mp4 where ffmpeg is installed).
    set_
        Replace one value first: KEY=VALUE. May be repeated.
    seed
        Decides the jitter of checks, instead of the file's.
    allow_code
        Let files name code and bases (`extends`) outside their own folder.

    """
    from ackclock.satellites import SatelliteView
    from ackclock.terminal import passes, progress

    _check_pictures(plot, animate)
    if (start is None) != (end is None):
        raise BadInput("--from and --to go together")
    if start is None and not positions and plot is None and animate is None:
        raise BadInput("name two terminals with --from and --to, or ask for --positions, --plot or --animate")
    if positions and not as_json:
        raise BadInput("--positions goes with --json")
    every_s = _interval(every, at, plot)
    until_s, at_s = seconds(until, "--until"), seconds(at or "0s", "--at")
    ends = (start, end) if start is not None and end is not None else None
    satellites = SatelliteView(file, max(until_s, at_s), ends=ends, overrides=set_ or (), seed=seed)
    satellites.until_s = until_s
    if plot is not None:
        from ackclock.satellite_map import draw

        save_figure(draw(satellites, at_s), plot)
    if animate is not None:
        from ackclock import satellite_map

        with progress("drawing", quiet=as_json) as advance:
            satellite_map.animate(satellites, every_s, animate, advance)
    if as_json:
        for look in satellites.instants(every_s, positions=positions):
            print(json.dumps(look))
    elif ends is not None:
        passes(satellites, every_s)
    _tell(plot, animate, sys.stderr if as_json else sys.stdout)
    return 0


def radio(
    file: File,
    /,
    *,
    plot: Path | None = None,
    animate: Path | None = None,
    start: Annotated[str, Parameter(name="--from")] = "0s",
    until: str | None = None,
    every: str = "1s",
    at: str | None = None,
    set_: Overrides = None,
    seed: Seed = None,
    allow_code: AllowCode = False,
) -> int:
    """Draw the radio network of a scenario: node positions, links in range, packets by kind, drops.

    Parameters
    ----------
    file
        Scenario file (TOML) with a [radio].
    plot
        Draw a map of a moment to this file (.svg, .png or .pdf).
    animate
        Write an animation of the map (.gif, .html, or .mp4 where ffmpeg is installed).
    start
        Where the animation begins.
    until
        Where it ends; default: two minutes after the start.
    every
        Time that one frame, or the map, shows.
    at
        The moment of the map.
    set_
        Replace one value first: KEY=VALUE. May be repeated.
    seed
        Seed of the run, instead of the file's.
    allow_code
        Let files name code and bases (`extends`) outside their own folder.

    """
    from ackclock import radio_map
    from ackclock.terminal import progress

    _check_pictures(plot, animate)
    if plot is None and animate is None:
        raise BadInput("ask for a map with --plot, or for an animation with --animate")
    every_s = _interval(every, at, plot)
    start_s, at_s = seconds(start, "--from"), seconds(at or start, "--at")
    until_s = start_s + 120 if until is None else seconds(until, "--until")
    if until_s <= start_s:
        raise BadInput("--until: must be later than --from")
    ends = [at_s + every_s if plot is not None else 0.0, until_s if animate is not None else 0.0]
    moments = [(at_s, "--at")] if plot is not None else []
    moments += [(start_s, "--from")] if animate is not None else []
    with progress("running", quiet=False) as advance:
        recording = radio_map.RadioRecording(
            file, overrides=set_, seed=seed, until_s=max(ends), moments=moments, progress=advance
        )
    if plot is not None:
        save_figure(radio_map.draw(recording, at_s, every_s), plot, dpi=110)
    if animate is not None:
        with progress("drawing", quiet=False) as advance:
            radio_map.animate(recording, start_s, min(until_s, recording.duration_s), every_s, animate, advance)
    _tell(plot, animate, sys.stdout)
    return 0
