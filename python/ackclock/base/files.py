"""Output files. A file is written completely or not at all."""

from __future__ import annotations

import errno
import io
import os
import re
import secrets
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ackclock import _core
from ackclock.base.operating_system import OPEN_ONCE

if TYPE_CHECKING:
    from matplotlib.figure import Figure


RECOGNISED_BYTES = 4096
"""The beginning of a file by which that of another program is recognised, bytes."""


class BadInput(Exception):
    """An error in the user's input. It is printed as one line, with exit status 2."""


class UnmetNeed(BadInput):
    """A controller needs a signal or a router that no situation provides."""


def check_targets(paths: Sequence[Path]) -> None:
    """Check, before a run, that these output files can be written after it. Raises BadInput."""
    for path in paths:
        folder = path.parent
        if not folder.is_dir():
            raise BadInput(f"{path}: the folder {folder} does not exist")
        if path.is_dir() or not os.access(folder, os.W_OK):
            raise BadInput(f"{path}: cannot be written")
    if len({path.resolve() for path in paths}) < len(paths):
        raise BadInput("two outputs go to the same file")


def check_folder(path: Path) -> Path:
    """Return the path. Raises BadInput if it, or one of its parent folders, is a file."""
    for one in (path, *path.parents):
        if one.exists():
            if not one.is_dir():
                raise BadInput(f"{one}: is a file; --out names a folder")
            break
    return path


def own_folder(base: Path, *names: str) -> Path:
    """The folder `base/NAME/...`, which is created. Links below `base` are not followed: a folder can be a stranger's.

    Raises BadInput if one is a link or no folder.
    """
    folder = check_folder(base)
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        folder /= name
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise BadInput(f"{folder}: is no folder but a link or a file; remove it, or give another folder with --out")
        folder.mkdir(exist_ok=True)
    return folder


def open_regular(path: Path) -> int:
    """A descriptor of a file for reading and writing, which is created if it is missing; nothing of it is changed.

    Raises BadInput if it is a link, a named pipe or another thing that is no regular file.
    """
    try:
        if not hasattr(os, "O_NOFOLLOW") and path.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        descriptor = os.open(path, OPEN_ONCE, 0o644)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise BadInput(f"{path}: is a link; remove it, or give another folder") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise BadInput(f"{path}: is no regular file; remove it, or give another folder")
    return descriptor


def foreign(path: Path, expected: str, *, json: bool = False) -> str:
    """Why a file is not `expected`, if it is one of another program, such as a packet capture; otherwise empty.

    With `json`, JSON whose kind is not recognised is none of another program.
    """
    try:
        with path.open("rb") as file:
            kind = _core.foreign_kind(file.read(RECOGNISED_BYTES)) if path.is_file() else None
    except OSError:
        return ""
    is_it = kind is not None and kind[0] == "a Parquet table" and path.suffix == ".parquet"  # which is damaged
    if kind is None or is_it or (json and kind[0] == "JSON"):
        return ""
    return f"is {kind[0]}, and not {expected}; {kind[1]}"


def check_regular(path: Path) -> None:
    """Raise BadInput if there is something at a path that is no regular file: a link, a folder, a named pipe."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        what = "a link" if stat.S_ISLNK(mode) else "no regular file"
        raise BadInput(f"{path}: is {what}; a folder of results holds files of its own")


def write(path: Path, save: Callable[[BinaryIO], object]) -> None:
    """Write a temporary file in the same folder, then rename it to `path`, so that `path` is never incomplete.

    Raises OSError, which names `path`.
    """
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        file = open(unfinished, "x+b")  # noqa: SIM115  ("x": never a file or a link that is there)
        try:
            with file:
                save(file)
            os.replace(unfinished, path)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
    except OSError as error:
        if error.errno is not None:
            error.filename = os.fspath(path)
        raise


def write_table(path: Path, save: Callable[[BinaryIO], object]) -> None:
    """Write a table with a method of a polars frame, whole or not at all.

    The file is made in memory first: of a full disk polars would not say what failed.
    """
    content = io.BytesIO()
    save(content)
    write(path, lambda file: file.write(content.getbuffer()))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file, whole or not at all."""
    write(path, lambda file: file.write(content))


def write_text(path: Path, text: str) -> None:
    """Write a file of text (UTF-8), whole or not at all."""
    write_bytes(path, text.encode("utf-8"))


PNG_DPI = 200
"""Dots per inch of a figure in PNG."""
PICTURES: dict[str, dict[str, None]] = {
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
    ".png": {},
    ".eps": {},
}
"""Endings of figure files, with metadata that omits the date, so that the same figure gives the same file."""


def check_picture(path: Path, option: str = "--plot") -> None:
    """Raise BadInput if the file name does not end in .svg, .pdf, .png or .eps."""
    if path.suffix not in PICTURES:
        raise BadInput(f"{option} {path}: the name must end in .svg, .pdf, .png or .eps")


def save_figure(figure: Figure, path: Path, *, name: str = "ackclock") -> None:
    """Write a figure, whole or not at all. Equal figures give equal files; `name` makes SVG identifiers unique.

    Raises BadInput if the file cannot be written.
    """
    import matplotlib as mpl

    check_picture(path)
    kind = path.suffix
    if kind == ".eps":
        _blend(figure)
    # Type 42 fonts: publishers refuse matplotlib's default, Type 3.
    with mpl.rc_context({"svg.hashsalt": name, "svg.id": name, "pdf.fonttype": 42, "ps.fonttype": 42}):
        content = io.BytesIO()
        figure.savefig(content, format=kind[1:], metadata=PICTURES[kind], dpi=PNG_DPI if kind == ".png" else "figure")
    undated = re.sub(rb"^%%CreationDate:.*\n", b"", content.getvalue(), count=1, flags=re.M)
    write_bytes(path, undated if kind == ".eps" else content.getvalue())


COLOURS_OF = ("facecolor", "edgecolor", "color", "markerfacecolor", "markeredgecolor")
"""The colours that an artist of a figure can have."""


def _blend(figure: Figure) -> None:
    """Give transparent artists the colours that they have on white: EPS has no transparency."""
    import numpy as np
    from matplotlib.colors import to_rgba_array
    from matplotlib.text import Annotation, Text

    arrows = [note.arrow_patch for note in figure.findobj(Annotation) if note.arrow_patch is not None]
    boxes = [box for text in figure.findobj(Text) if (box := text.get_bbox_patch()) is not None]
    for artist in [*figure.findobj(), *arrows, *boxes]:
        own = artist.get_alpha()
        colours = {}
        for part in COLOURS_OF:
            if hasattr(artist, f"get_{part}") and hasattr(artist, f"set_{part}"):
                colours[part] = to_rgba_array(getattr(artist, f"get_{part}")())
        artist.set_alpha(None)
        for part, rgba in colours.items():
            alpha = np.minimum(rgba[:, 3:], 1.0 if own is None else own)
            opaque = np.hstack([rgba[:, :3] * alpha + 1 - alpha, alpha > 0])
            if len(opaque) and np.any((alpha > 0) & (alpha < 1)):
                getattr(artist, f"set_{part}")(opaque if len(opaque) > 1 else tuple(map(float, opaque[0])))


def svg_text(figure: Figure, name: str) -> str:
    """A figure as SVG text for a page. Equal figures give equal text; `name` makes the SVG identifiers unique."""
    import matplotlib as mpl

    text = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": name, "svg.id": name}):
        figure.savefig(text, format="svg", metadata=PICTURES[".svg"])
    svg = text.getvalue()
    return svg[svg.index("<svg") :]
