"""Options of the size of a figure, for commands that draw one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from ackclock.base.files import BadInput, check_picture, check_targets
from ackclock.draw.style import NAMED_WIDTHS, chosen_size

if TYPE_CHECKING:
    from ackclock.draw.style import Size


WIDTH_HELP = (
    "Width of the figure: a length in inches or centimetres, such as 3.5in or 9cm, or that of a column (3.5in) or a "
    "page (7.16in) of a journal. A figure narrower than 5in has one column of panels. Default: 9.2in."
)


@Parameter(name="*", show_default=False)
@dataclass(frozen=True)
class Print:
    """How a figure is printed."""

    width: Annotated[str | None, Parameter(help=WIDTH_HELP)] = None
    height: str | None = None
    """Height of the figure, such as 2.5in. Default: by its panels."""
    font_size: float | None = None
    """Size of the labels, points. Default: 8 in a figure narrower than the default, otherwise 9."""
    no_title: bool = False
    """Draw no title, for a figure with a caption."""
    format_: Annotated[Literal["svg", "pdf", "png", "eps"] | None, Parameter(name="--format")] = None
    """Format of the figure, if no file name says it. Default: svg."""

    @property
    def size(self) -> Size | None:
        """The size of the figure; None: the usual one. Raises BadInput."""
        width = self.width if self.width in NAMED_WIDTHS else _inches(self.width, "--width", NAMED_WIDTHS)
        return chosen_size(width, _inches(self.height, "--height"), self.font_size, title=not self.no_title)

    def size_of(self, file: Path) -> Size | None:
        """The size of a figure in this file. Raises BadInput."""
        self.file(file, file)
        return self.size

    def file(self, out: Path | None, default: Path) -> Path:
        """The file of the figure. Raises BadInput if it cannot be written, or has not the name of the format."""
        file = default.with_suffix(f".{self.format_ or 'svg'}") if out is None else out
        check_picture(file, "--out")
        if self.format_ is not None and file.suffix != f".{self.format_}":
            raise BadInput(f"--format {self.format_}: the name of --out ends in {file.suffix}")
        check_targets([file])
        return file


NO_CHOICE = Print()


def _inches(text: str | None, option: str, names: dict[str, float] | None = None) -> float | None:
    """A length in inches. Raises BadInput."""
    if text is None:
        return None
    length = re.fullmatch(r"(\d+(?:\.\d+)?)(in|cm)", text)
    if length is None:
        raise BadInput(f"{option} {text}: must be a length such as {', '.join(['3.5in', '9cm', *(names or ())])}")
    return float(length[1]) / (2.54 if length[2] == "cm" else 1.0)
