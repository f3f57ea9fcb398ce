"""`ackclock radio`."""

from __future__ import annotations

from pathlib import Path

from ackclock.base.files import check_picture, check_targets, save_figure
from ackclock.base.text import say
from ackclock.base.units import interval, seconds
from ackclock.cli.console import progress
from ackclock.cli.options import AllowCode, File, Overrides, Seed

EXAMPLE = "ackclock radio @manet --plot nodes.svg --at 30s"


def command(
    file: File,
    /,
    *,
    plot: Path = Path("radio.svg"),
    at: str = "0s",
    every: str = "1s",
    set_: Overrides = None,
    seed: Seed = None,
    allow_code: AllowCode = False,
) -> int:
    """Draw the radio network of a scenario.

    Node positions, links in range, packets by kind, drops. `ackclock view FILE` plays the movement and the packets in
    the laboratory.

    Parameters
    ----------
    file
        Scenario file (TOML), or @NAME, with a [radio].
    plot
        File of the map (.svg, .pdf, .png or .eps).
    at
        Time of the map.
    every
        Length of the time span whose packets the map shows.
    set_
        Replace one value first: KEY=VALUE. May be repeated.
    seed
        Seed of the run, instead of the file's.
    allow_code
        Allow scenario files to name code and base files (`extends`) outside their own folder.

    """
    from ackclock.apps import radio

    check_picture(plot)
    check_targets([plot])
    every_s, at_s = interval(every, "--every"), seconds(at, "--at")
    with progress("running", quiet=False) as advance:
        recording = radio.RadioRecording(
            file,
            overrides=set_,
            seed=seed,
            until_s=at_s + every_s,
            moments=[(at_s, "--at")],
            progress=advance,
            allow_code=allow_code,
        )
    save_figure(radio.draw(recording, at_s, every_s), plot)
    say(f"written: {plot}")
    return 0
