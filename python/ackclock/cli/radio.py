"""`ackclock radio`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ackclock.cli.console import progress
from ackclock.cli.options import AllowCode, File, Overrides, Seed, seconds
from ackclock.cli.pictures import check_pictures, interval_s, report_written
from ackclock.files import BadInput, save_figure

EXAMPLE = "ackclock radio @manet --animate nodes.html --until 30s"


def command(
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
        Scenario file (TOML), or @NAME, with a [radio].
    plot
        Draw a map at one time to this file (.svg, .png or .pdf).
    animate
        Write an animation of the map (.gif, .html, or .mp4 where ffmpeg is installed).
    start
        Start time of the animation.
    until
        End time of the animation. Default: two minutes after the start.
    every
        Length of the time span that one frame, or the map, shows.
    at
        Time of the map. Default: the value of --from.
    set_
        Replace one value first: KEY=VALUE. May be repeated.
    seed
        Seed of the run, instead of the file's.
    allow_code
        Allow scenario files to name code and base files (`extends`) outside their own folder.

    """
    from ackclock import radio_map

    check_pictures(plot, animate)
    if plot is None and animate is None:
        raise BadInput("give --plot for a map or --animate for an animation")
    every_s = interval_s(every, at, plot)
    start_s, at_s = seconds(start, "--from"), seconds(at or start, "--at")
    until_s = start_s + 120 if until is None else seconds(until, "--until")
    if until_s <= start_s:
        raise BadInput("--until: must be later than --from")
    ends = [at_s + every_s if plot is not None else 0.0, until_s if animate is not None else 0.0]
    moments = [(at_s, "--at")] if plot is not None else []
    moments += [(start_s, "--from")] if animate is not None else []
    with progress("running", quiet=False) as advance:
        recording = radio_map.RadioRecording(
            file,
            overrides=set_,
            seed=seed,
            until_s=max(ends),
            moments=moments,
            progress=advance,
            allow_code=allow_code,
        )
    if plot is not None:
        save_figure(radio_map.draw(recording, at_s, every_s), plot, dpi=110)
    if animate is not None:
        with progress("drawing", quiet=False) as advance:
            radio_map.animate(recording, start_s, min(until_s, recording.duration_s), every_s, animate, advance)
    report_written(plot, animate, sys.stdout)
    return 0
