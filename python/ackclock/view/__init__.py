"""The laboratory as a page: one HTML file with the simulator, which opens from disk."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.files import BadInput, write_text
from ackclock.link import PAGE, Shared

if TYPE_CHECKING:
    from ackclock.view.recording import Recording

ELEMENT = "ackclock-scenario"
"""The identifier of the element that holds a scenario; `web/src/share/files.ts` reads it."""
RECORDING = "ackclock-recording"
"""The identifier of the element that holds a recorded run; `web/src/state/recording.svelte.ts` reads it."""
START = '<div id="app">'
MISSING = "this installation has no page of the laboratory; run make web in its folder"


def page(shared: Shared | None = None, recording: Recording | None = None) -> str:
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


def is_built() -> bool:
    """Whether the package has the page."""
    return (resources.files("ackclock") / "web" / PAGE).is_file()


def check_built() -> None:
    """Raise BadInput if the package has no page."""
    if not is_built():
        raise BadInput(MISSING)


def place(folder: Path) -> None:
    """Put the page into a folder, for the links of other pages. Raises BadInput if the package has no page."""
    text = page()
    target = folder / PAGE
    if not target.is_file() or target.read_bytes() != text.encode():
        write_text(target, text)


def _element(name: str, content: Any) -> str:
    text = json.dumps(content, allow_nan=False).replace("<", "\\u003c")  # no text can end the element
    return f'<script type="application/json" id="{name}">{text}</script>'
