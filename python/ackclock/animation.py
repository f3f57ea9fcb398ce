"""Animations: the frames of a figure, written to one file."""

from __future__ import annotations

import base64
import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from ackclock.files import BadInput, write, write_text

if TYPE_CHECKING:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL import Image

ENDINGS = (".gif", ".html", ".mp4")
RATE = 10
"""Frames a second of a .gif or .mp4."""
PAGE_RATE = 4
"""Frames a second at which a page starts; its reader can change it."""
DPI = 80
PAGE_DPI = 120


def save(
    figure: Figure,
    draw: Callable[[int], list[Any]],
    frames: int,
    target: Path,
    progress: Callable[[float], object] | None = None,
    *,
    title: str,
) -> None:
    """Write `frames` frames to a .gif, .mp4 (needs ffmpeg) or .html file. `title` is the heading of the .html page.

    `draw(i)` draws frame i and returns the artists to remove before the next frame. Raises BadInput.
    """
    from matplotlib.animation import writers
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
    if target.suffix == ".mp4":
        _save_video(figure, frame, frames, target)
        return
    if target.suffix == ".html":
        figure.set_dpi(PAGE_DPI)
        write_text(target, _page(title, [_embedded(frame, i, figure, canvas) for i in range(frames)]))
        return
    figure.set_dpi(DPI)
    pictures = []
    for i in range(frames):
        frame(i)
        canvas.draw()  # type: ignore[no-untyped-call]
        pictures.append(_indexed(canvas))
    first, rest = pictures[0], pictures[1:]
    options = {"save_all": True, "append_images": rest, "duration": 1000 // RATE, "loop": 0}
    write(target, lambda file: first.save(file, format="gif", **options))


def _save_video(figure: Figure, frame: Callable[[int], list[Any]], frames: int, target: Path) -> None:
    from matplotlib.animation import FuncAnimation, writers

    animation = FuncAnimation(figure, frame, frames=frames, init_func=lambda: [], blit=False)
    make: Any = writers["ffmpeg"](fps=RATE)

    def keep(file: BinaryIO) -> None:
        with tempfile.TemporaryDirectory() as folder:
            named = Path(folder) / f"animation{target.suffix}"  # the name's ending selects the format
            animation.save(str(named), writer=make, dpi=DPI)
            file.write(named.read_bytes())

    write(target, keep)


def _embedded(frame: Callable[[int], object], i: int, figure: Figure, canvas: FigureCanvasAgg) -> dict[str, str | int]:
    """Frame i for a page: its picture as a data URI, its size in pixels, and the title of its axes."""
    frame(i)
    canvas.draw()  # type: ignore[no-untyped-call]
    picture, content = _indexed(canvas), io.BytesIO()
    picture.save(content, format="png", optimize=True)
    source = "data:image/png;base64," + base64.b64encode(content.getvalue()).decode("ascii")
    caption = figure.axes[0].get_title()
    return {"source": source, "caption": caption, "width": picture.width, "height": picture.height}


def _page(title: str, frames: list[dict[str, str | int]]) -> str:
    """A page that plays the frames. It needs no other file and no network."""
    from ackclock.html import environment

    template = environment("ackclock").get_template("animation.html")
    return template.render(title=title, frames=frames, rate=PAGE_RATE)


def _indexed(canvas: FigureCanvasAgg) -> Image.Image:
    """The canvas as an image of 256 colours, with a quantizer that keeps rare colours."""
    from PIL import Image

    picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")  # type: ignore[no-untyped-call]
    return picture.quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
