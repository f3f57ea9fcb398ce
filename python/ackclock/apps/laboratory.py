"""The laboratory as a page: one HTML file with the simulator, which opens from disk."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from ackclock.base.files import BadInput, write_text
from ackclock.base.link import PAGE, Shared

ELEMENT = "ackclock-scenario"
"""The identifier of the element that holds a scenario; `web/src/share/files.ts` reads it."""
RECORDING = "ackclock-recording"
"""The identifier of the element that holds a recorded run; `web/src/state/recording.svelte.ts` reads it."""
DOORS = "ackclock-doors"
"""The identifier of the element that holds addresses of other pages; `web/src/share/files.ts` reads it."""
START = '<div id="app">'
SITE = "site/index.html"
"""The home page of the documentation, from a folder of results (`make docs`)."""
DOCUMENTATION = "<!-- documentation -->"
"""What stands in pages of results (`ackclock/draw/base.html`) for the link to the documentation."""
RESULTS_TITLE = "<title>Results · Ackclock</title>".encode()
"""The title of the index of results (`ackclock/apps/papers/index.html`)."""
MISSING = "this installation has no page of the laboratory; run make web in its folder"


def page(shared: Shared | None = None, recording: Mapping[str, Any] | None = None) -> str:
    """The page; with a content of a link, or with a recorded run, the page that opens with it.

    Raises BadInput if the package has no page.
    """
    file = resources.files("ackclock") / "web" / PAGE
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BadInput(MISSING) from None
    if shared is None and recording is None:
        return text
    if text.count(START) != 1:
        raise BadInput("the page of this installation is damaged; build it again with: make web")
    inside = _element(ELEMENT, shared) if recording is None else _element(RECORDING, recording)
    return text.replace(START, inside + START)


def with_doors(text: str, doors: Mapping[str, str]) -> str:
    """The page of the laboratory with links to other pages: relative addresses by the words of the links."""
    return text.replace(START, _element(DOORS, dict(doors)) + START) if doors else text


def doors_of(file: Path) -> dict[str, str]:
    """What the page in this file can lead to: results and documentation that were made in its folder, or the one above.

    The results are those of `ackclock paper`, the documentation is that of `make docs`.
    """
    doors = {}
    for folder in (file.resolve().parent, file.resolve().parent.parent):
        for words, place, is_there in (
            ("Results", folder / "index.html", _is_of_results),
            ("Documentation", folder / SITE, Path.is_file),
        ):
            if words not in doors and is_there(place):
                doors[words] = Path(os.path.relpath(place, file.resolve().parent)).as_posix()
    return doors


def _is_of_results(page: Path) -> bool:
    """Whether a file is the index of results."""
    try:
        with page.open("rb") as file:
            return RESULTS_TITLE in file.read(1000)
    except OSError:
        return False


def link_documentation(folder: Path) -> None:
    """Let the pages of results in a folder lead to the documentation in it (`make docs`), if it is there."""
    if not (folder / SITE).is_file():
        return
    for place in [*folder.glob("index.html"), *folder.glob("*/index.html")]:
        text = place.read_text(encoding="utf-8")
        if DOCUMENTATION in text:
            up = "../" * (len(place.relative_to(folder).parts) - 1)
            write_text(place, text.replace(DOCUMENTATION, f'<a href="{up}{SITE}">Documentation</a>'))


def is_built() -> bool:
    """Whether the package has the page."""
    return (resources.files("ackclock") / "web" / PAGE).is_file()


def check_built() -> None:
    """Raise BadInput if the package has no page."""
    if not is_built():
        raise BadInput(MISSING)


def place(folder: Path) -> None:
    """Put the page into a folder, for the links of other pages. Raises BadInput if the package has no page."""
    target = folder / PAGE
    text = with_doors(page(), doors_of(target))
    if not target.is_file() or target.read_bytes() != text.encode():
        write_text(target, text)


def _element(name: str, content: Any) -> str:
    text = json.dumps(content, allow_nan=False).replace("<", "\\u003c")  # no text can end the element
    return f'<script type="application/json" id="{name}">{text}</script>'
