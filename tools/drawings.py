"""Make the figures of docs/design.md from docs/drawings: `python tools/drawings.py` writes docs/figures/NAME.svg.

A drawing is a TOML file. Its boxes stand below each other in the order of the file, and an arrow leads to the next one.

    title     what the drawing shows, for readers who do not see it
    observer  the box on the right that the steps call or ask: title, text, code, folder
    [[box]]   name; title; then: the label of the arrow to the next box; numbered: whether its steps have numbers;
              folder: that of its files, if it is not the crate's
    [[box.step]]
        text   what happens
        code   where: "file: function, Type::function", with the file below crates/
        calls  what the observer gets; an arrow leads to it
        ends   the same, and the packet ends there
        asks   what the observer answers; an arrow leads from it
        back   the name of an earlier box at which the packet goes on
"""

from __future__ import annotations

import textwrap
import tomllib
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
WIDTH, EDGE, BACK, BOX, GAP, PAD = 740, 12, 28, 456, 34, 13
"""The drawing, its edge, the room for arrows back, a box, the room between box and observer, the inside of a box."""
OBSERVER = WIDTH - 2 * EDGE - BACK - BOX - GAP
BETWEEN = 44
"""The length of an arrow between two boxes."""
SERIFLESS = "'Segoe UI', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
MONOSPACE = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
COLOURS = {
    "cc": ("#fff1dd", "#c77a12"),
    "lab": ("#f1eef8", "#7b68ae"),
    "net": ("#e6f5ea", "#3f9157"),
    "transport": ("#e5f0fb", "#3a78b5"),
}
"""Of each crate: the ground of its boxes and their border."""
INK, SOFT, END = "#16202a", "#3d4a57", "#b3261e"


@dataclass(frozen=True)
class Style:
    """A kind of text: size and line height in pixels, the mean width of a letter in units of the size."""

    size: int
    height: int
    letter: float
    attributes: str

    def wrap(self, text: str, width: float, indent: str = "") -> list[str]:
        """The lines of a text that is at most `width` pixels wide; all but the first are indented."""
        letters = int(width / self.size / self.letter)
        wrapper = textwrap.TextWrapper(
            letters, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
        lines = wrapper.wrap(text)
        if any(len(line) > letters for line in lines):
            raise ValueError(f"{text!r}: a word is wider than {width:.0f} pixels")
        return lines


TITLE = Style(21, 28, 0.62, 'font-size="21" font-weight="bold"')
TEXT = Style(19, 25, 0.54, 'font-size="19"')
CODE = Style(16, 21, 0.603, f'font-size="16" font-family="{MONOSPACE}"')
LABEL = Style(18, 24, 0.54, 'font-size="18" font-style="italic"')


@dataclass(frozen=True)
class Step:
    """A step of a box: the keys of the file."""

    text: str
    code: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    asks: list[str] = field(default_factory=list)
    back: str = ""


@dataclass(frozen=True)
class Box:
    """A box: the keys of the file."""

    name: str
    title: str
    steps: list[Step]
    then: str = ""
    numbered: bool = False
    folder: str = ""

    @property
    def crate(self) -> str:
        """The crate of its code."""
        return next(place for step in self.steps for place in step.code).split("/")[0]

    def short(self, place: str) -> str:
        """A place in the code as the box names it: without its folder, and functions without their types."""
        path, _, functions = place.partition(": ")
        names = ", ".join(name.split("::")[-1] for name in functions.split(", "))
        path = path.removeprefix(f"{self.folder or f'{self.crate}/src'}/")
        return f"{path}: {names}" if names else path


@dataclass(frozen=True)
class Drawing:
    """A drawing: the content of its file."""

    title: str
    observer: Box
    boxes: list[Box]

    def code(self) -> list[str]:
        """Every place in the code that it names."""
        return [place for box in (self.observer, *self.boxes) for step in box.steps for place in step.code]


def read(file: Path) -> Drawing:
    """Read a drawing."""
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    observer = table["observer"]
    boxes = [Box(steps=[Step(**step) for step in box.pop("step")], **box) for box in table["box"]]
    steps = [Step(observer.pop("text"), observer.pop("code"))]
    return Drawing(table["title"], Box("observer", steps=steps, **observer), boxes)


class Page:
    """The elements of a drawing, from top to bottom."""

    def __init__(self, drawing: Drawing) -> None:
        self.drawing = drawing
        self.shapes: list[str] = []
        self.texts: list[str] = []
        self.tops: dict[str, int] = {}
        self.left = EDGE + BACK
        self.right = self.left + BOX + GAP

    def line(self, style: Style, x: float, y: int, text: str, colour: str, anchor: str = "") -> int:
        """Write a line below `y`; return its lower edge."""
        place = f' text-anchor="{anchor}"' if anchor else ""
        base = y + round(style.height * 0.76)
        self.texts.append(f'<text x="{x:g}" y="{base}" fill="{colour}" {style.attributes}{place}>{escape(text)}</text>')
        return y + style.height

    def arrow(self, path: str, colour: str = INK) -> None:
        """Draw an arrow."""
        head = "end" if colour == END else "ink"
        self.shapes.append(
            f'<path d="{path}" stroke="{colour}" stroke-width="2" fill="none" marker-end="url(#{head})"/>'
        )

    def frame(self, x: int, top: int, width: int, bottom: int, crate: str) -> None:
        """Draw the frame of a box behind everything else."""
        ground, border = COLOURS[crate]
        self.shapes.insert(
            0,
            f'<rect x="{x}" y="{top}" width="{width}" height="{bottom - top}" rx="7" fill="{ground}" '
            f'stroke="{border}" stroke-width="1.5"/>',
        )

    def head(self, box: Box, x: int, y: int, width: int) -> int:
        """Write the title of a box, with the crate at its right end; return its lower edge."""
        crate = CODE.size * CODE.letter * (len(box.crate) + 1)
        self.line(CODE, x + width - PAD, y + 4, box.crate, COLOURS[box.crate][1], "end")
        for line in TITLE.wrap(box.title, width - 2 * PAD - crate):
            y = self.line(TITLE, x + PAD, y, line, INK)
        folder = box.folder.removeprefix(f"{box.crate}/src/")
        return self.line(CODE, x + PAD, y, f"{folder}/", SOFT) if folder else y

    def body(self, box: Box, step: Step, x: int, y: int, width: int) -> int:
        """Write text and code of a step; return its lower edge."""
        number = f"{box.steps.index(step) + 1}" if box.numbered else ""
        inside = x + PAD + (30 if number else 0)
        room = x + width - PAD - inside
        if number:
            self.line(TEXT, inside - 8, y, number, INK, "end")
        for line in TEXT.wrap(step.text, room):
            y = self.line(TEXT, inside, y, line, INK)
        for place in step.code:
            for line in CODE.wrap(box.short(place), room, "  "):
                indent = len(line) - len(line.lstrip())
                y = self.line(CODE, inside + indent * CODE.size * CODE.letter, y, line.lstrip(), SOFT)
        return y

    def signals(self, step: Step, y: int) -> int:
        """Draw the arrows between a step and the observer; return their lower edge."""
        edge = self.left + BOX
        for names, start, end, colour in (
            (step.calls, edge, self.right, INK),
            (step.ends, edge, self.right, END),
            (step.asks, self.right, edge, INK),
        ):
            for name in names:
                middle = y + CODE.height // 2 + 2
                self.arrow(f"M{start} {middle}H{end}", colour)
                for line in CODE.wrap(name, OBSERVER - PAD):
                    y = self.line(CODE, self.right + 8, y + 2, line, colour)
                y += 2
        return y

    def box(self, box: Box, top: int) -> int:
        """Draw a box; return its lower edge."""
        self.tops[box.name] = top
        y = self.head(box, self.left, top + 8, BOX)
        for step in box.steps:
            y += 5
            if step.back:
                aim, start = self.tops[step.back] + 22, y + TEXT.height // 2
                self.arrow(f"M{self.left} {start}H{EDGE + 4}V{aim}H{self.left}")
            y = max(self.body(box, step, self.left, y, BOX), self.signals(step, y))
        self.frame(self.left, top, BOX, y + 10, box.crate)
        return y + 10

    def label(self, text: str, x: int, top: int) -> None:
        """Write the label of the arrow that begins at `top`."""
        if len(LABEL.wrap(text, self.left + BOX - x)) != 1:
            raise ValueError(f"{text!r}: a label has one line")
        self.line(LABEL, x, top + (BETWEEN - LABEL.height) // 2, text, INK)

    def svg(self) -> str:
        """The whole drawing."""
        observer = self.drawing.observer
        y, middle = EDGE, self.left + 60
        for box in self.drawing.boxes:
            bottom = self.box(box, y)
            y = bottom + BETWEEN
            if box is not self.drawing.boxes[-1]:
                self.arrow(f"M{middle} {bottom}V{y}")
                self.label(box.then, middle + 14, bottom)
        low = self.head(observer, self.right, EDGE + 8, OBSERVER) + 4
        self.body(observer, observer.steps[0], self.right, low, OBSERVER)
        self.frame(self.right, EDGE, OBSERVER, bottom, observer.crate)
        height = bottom + EDGE
        heads = "".join(
            f'<marker id="{name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="6" markerHeight="6" '
            f'orient="auto"><path d="M0 0L10 5L0 10z" fill="{colour}"/></marker>'
            for name, colour in (("ink", INK), ("end", END))
        )
        title = escape(self.drawing.title)
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
                f'height="{height}" font-family="{SERIFLESS}" role="img" aria-label="{title}">',
                f"<title>{title}</title>",
                f"<defs>{heads}</defs>",
                f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
                *self.shapes,
                *self.texts,
                "</svg>\n",
            ]
        )


def figures(root: Path = ROOT) -> dict[Path, str]:
    """Every figure, and its text."""
    files = sorted((root / "docs/drawings").glob("*.toml"))
    return {root / "docs/figures" / f"{file.stem}.svg": Page(read(file)).svg() for file in files}


if __name__ == "__main__":
    for figure, text in figures().items():
        figure.write_text(text, encoding="utf-8")
