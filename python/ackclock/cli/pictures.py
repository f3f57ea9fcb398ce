"""Checks that `ackclock orbit` and `ackclock radio` share: names of pictures, intervals."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

from ackclock.cli.options import seconds
from ackclock.files import BadInput, check_targets


def check_pictures(plot: Path | None, animate: Path | None) -> None:
    """Check that a map and an animation can be written to these files. Raises BadInput."""
    from ackclock.animation import ENDINGS

    for target, endings in ((plot, (".svg", ".png", ".pdf")), (animate, ENDINGS)):
        if target is not None and target.suffix not in endings:
            raise BadInput(f"{target}: the name must end in one of {', '.join(endings)}")
    check_targets([target for target in (plot, animate) if target is not None])


def interval_s(every: str, at: str | None, plot: Path | None) -> float:
    """The value of `--every` in seconds. Raises BadInput if it is not above zero, or for `--at` without `--plot`."""
    if at is not None and plot is None:
        raise BadInput("--at: needs --plot; it is the time of the map")
    every_s = seconds(every, "--every")
    if every_s <= 0:
        raise BadInput("--every: must be more than zero")
    return every_s


def report_written(plot: Path | None, animate: Path | None, stream: TextIO) -> None:
    """Print the names of the files written."""
    for target in (plot, animate):
        if target is not None:
            print(f"written: {target}", file=stream)
