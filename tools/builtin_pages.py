"""Make the built-in web pages: `python tools/builtin_pages.py` writes crates/lab/src/scenario/pages/*.toml.

The files are committed; the seed is fixed, so a second run writes them again.

- `median`: totals of the median desktop page of the Web Almanac 2024 of the HTTP Archive: 71 requests, 2,652 kB, of
  them images 18 with 1,054 kB, scripts 24 with 613 kB, fonts 131 kB, style sheets 78 kB, HTML 18 kB. The medians of
  the types are medians of their own; what they leave of the total is in other requests. The numbers of fonts, style
  sheets and documents are ours.
- `small`, `heavy`: ours, with the same types.
- Sizes of a type are log-normal with sigma 1.2, scaled to its sum (ours). Style sheets, scripts and half of the
  images have the HTML as parent, fonts a style sheet, the rest a script (ours).
"""

from __future__ import annotations

import random
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "crates/lab/src/scenario/pages"
SIGMA = 1.2
"""Of the logarithm of the sizes of a type."""
SMALLEST = 200
"""The smallest object, bytes."""
ALMANAC = (
    "totals of the median desktop page of the HTTP Archive's Web Almanac, 2024; split as tools/builtin_pages.py says"
)
OURS = "a page of our own, 2026, with the types of the Web Almanac's, 2024; split as tools/builtin_pages.py says"

PAGES: dict[str, tuple[str, dict[str, tuple[int, int]]]] = {
    "small": (
        OURS,
        {
            "html": (1, 12_000),
            "css": (1, 10_000),
            "script": (3, 70_000),
            "image": (5, 120_000),
            "font": (1, 25_000),
            "other": (1, 13_000),
        },
    ),
    "median": (
        ALMANAC,
        {
            "html": (1, 18_000),
            "css": (8, 78_000),
            "script": (24, 613_000),
            "image": (18, 1_054_000),
            "font": (4, 131_000),
            "other": (16, 758_000),
        },
    ),
    "heavy": (
        OURS,
        {
            "html": (1, 60_000),
            "css": (12, 250_000),
            "script": (50, 2_200_000),
            "image": (50, 4_000_000),
            "font": (7, 290_000),
            "other": (30, 1_200_000),
        },
    ),
}
"""Source, and number and bytes of each type."""


def sizes(count: int, total: int, draw: random.Random) -> list[int]:
    """`count` sizes, bytes, log-normal and scaled so that their sum is `total`."""
    weights = [draw.lognormvariate(0.0, SIGMA) for _ in range(count)]
    free = total - count * SMALLEST
    parts = [SMALLEST + int(free * weight / sum(weights)) for weight in weights]
    parts[parts.index(max(parts))] += total - sum(parts)
    return parts


def objects(types: dict[str, tuple[int, int]], draw: random.Random) -> list[tuple[str, int, int | None]]:
    """Type, bytes and parent of each object; parents come before their children."""
    rest = {name: sizes(count, total, draw) for name, (count, total) in types.items()}
    images = rest["image"]
    half = len(images) // 2
    page: list[tuple[str, int, int | None]] = [("html", rest["html"][0], None)]
    page += [("css", size, 0) for size in rest["css"]]
    page += [("script", size, 0) for size in rest["script"]]
    page += [("image", size, 0) for size in images[:half]]
    places = {kind: [index for index, (name, *_) in enumerate(page) if name == kind] for kind in ("css", "script")}
    page += [("font", size, draw.choice(places["css"])) for size in rest["font"]]
    page += [("image", size, draw.choice(places["script"])) for size in images[half:]]
    page += [("other", size, draw.choice(places["script"])) for size in rest["other"]]
    return page


def text(source: str, page: list[tuple[str, int, int | None]]) -> str:
    """The file of a page."""
    rows = [
        ", ".join([f'"{kind}"', str(size), *([] if parent is None else [str(parent)])]) for kind, size, parent in page
    ]
    return (
        f"# Source: {source}.\n# Type, bytes, and the index of the parent, from 0.\n"
        + "objects = [\n"
        + "".join(f"    [{row}],\n" for row in rows)
        + "]\n"
    )


def main() -> None:
    """Write the files."""
    for name, (source, types) in PAGES.items():
        page = objects(types, random.Random(f"ackclock page {name}"))
        (FOLDER / f"{name}.toml").write_text(text(source, page), encoding="utf-8")


if __name__ == "__main__":
    main()
