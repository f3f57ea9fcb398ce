"""Animations: the frames of a figure, written to one file."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from ackclock.files import BadInput, write

if TYPE_CHECKING:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL import Image

ENDINGS = (".gif", ".html", ".mp4")
RATE = 10
"""Frames a second."""
DPI = 80
SIGNS = {
    "minus": "-",
    "plus": "+",
    "fast-backward": "|◀◀",
    "step-backward": "|◀",
    "play fa-flip-horizontal": "◀",
    "pause": "❚❚",
    "play": "▶",
    "step-forward": "▶|",
    "fast-forward": "▶▶|",
}
"""Labels of the player's buttons, by matplotlib's icon names."""


def save(
    figure: Figure,
    draw: Callable[[int], list[Any]],
    frames: int,
    target: Path,
    progress: Callable[[float], object] | None = None,
) -> None:
    """Write `frames` frames to a .gif, .mp4 (needs ffmpeg) or .html file.

    `draw(i)` draws frame i and returns the artists to remove before the next frame. Raises BadInput.
    """
    import matplotlib as mpl
    from matplotlib.animation import FuncAnimation, HTMLWriter, writers
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    if target.suffix == ".mp4" and not writers.is_available("ffmpeg"):
        raise BadInput(f"{target}: an .mp4 needs ffmpeg, which is not installed; write a .gif or .html instead")
    shown: list[Any] = []

    def frame(i: int) -> list[Any]:
        for artist in shown:
            artist.remove()
        shown[:] = draw(i)
        if progress is not None:
            progress((i + 1) / frames)
        return shown

    canvas = FigureCanvasAgg(figure)
    if target.suffix == ".gif":
        figure.set_dpi(DPI)
        pictures = []
        for i in range(frames):
            frame(i)
            canvas.draw()  # type: ignore[no-untyped-call]
            pictures.append(_indexed(canvas))
        first, rest = pictures[0], pictures[1:]
        options = {"save_all": True, "append_images": rest, "duration": 1000 // RATE, "loop": 0}
        write(target, lambda file: first.save(file, format="gif", **options))
        return
    animation = FuncAnimation(figure, frame, frames=frames, init_func=lambda: shown, blit=False)
    mpl.rcParams["animation.embed_limit"] = 500
    make: Any
    if target.suffix == ".mp4":
        make = writers["ffmpeg"](fps=RATE)
    else:
        make = HTMLWriter(fps=RATE, embed_frames=True, default_mode="loop")

    def keep(file: BinaryIO) -> None:
        with tempfile.TemporaryDirectory() as folder:
            named = Path(folder) / f"animation{target.suffix}"  # the name's ending selects the format
            animation.save(str(named), writer=make, dpi=DPI)
            if target.suffix == ".html":
                file.write(_self_contained(named.read_text(encoding="utf-8")).encode("utf-8"))
            else:
                file.write(named.read_bytes())

    write(target, keep)


def _self_contained(page: str) -> str:
    """The player's page with text labels on its buttons, in place of an icon font from the network."""
    page = re.sub(r'<link rel="stylesheet"\s+href="https://[^>]*>', "", page)
    return re.sub(r'<i class="fa fa-([a-z -]+)"></i>', lambda found: SIGNS.get(found[1], found[1]), page)


def _indexed(canvas: FigureCanvasAgg) -> Image.Image:
    """The canvas as an image of 256 colours, with a quantizer that keeps rare colours."""
    from PIL import Image

    picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")  # type: ignore[no-untyped-call]
    return picture.quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
