"""Films: a figure drawn again and again, into one file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.files import BadInput, write

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = (".gif", ".html", ".mp4")
RATE = 10
"""Frames a second."""


def save(
    figure: Figure,
    draw: Callable[[int], list[Any]],
    frames: int,
    target: Path,
    progress: Callable[[float], object] | None = None,
) -> None:
    """Write `frames` frames to a .gif, .mp4 (needs ffmpeg) or .html file.

    `draw` draws the frame of a number and gives the artists that must go before the next. Raises BadInput.
    """
    import matplotlib as mpl
    from matplotlib.animation import FuncAnimation, HTMLWriter, PillowWriter, writers
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    if target.suffix == ".mp4" and not writers.is_available("ffmpeg"):
        raise BadInput(f"{target}: an .mp4 needs the program ffmpeg, which is not installed; .gif and .html do not")
    shown: list[Any] = []

    def frame(i: int) -> list[Any]:
        for artist in shown:
            artist.remove()
        shown[:] = draw(i)
        if progress is not None:
            progress((i + 1) / frames)
        return shown

    FigureCanvasAgg(figure)
    film = FuncAnimation(figure, frame, frames=frames, init_func=lambda: shown, blit=False)
    mpl.rcParams["animation.embed_limit"] = 500
    make: Any
    match target.suffix:
        case ".gif":
            make = PillowWriter(fps=RATE)
        case ".mp4":
            make = writers["ffmpeg"](fps=RATE)
        case _:
            make = HTMLWriter(fps=RATE, embed_frames=True, default_mode="loop")

    def keep(path: Path) -> None:
        named = path.with_suffix(target.suffix)  # writers go by the name's ending
        try:
            film.save(str(named), writer=make, dpi=80)
            named.replace(path)
        finally:
            named.unlink(missing_ok=True)

    write(target, keep)
