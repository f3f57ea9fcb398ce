"""The laboratory as a page: one HTML file with the simulator, which opens from disk."""

from __future__ import annotations

import json
from importlib import resources

from ackclock.files import BadInput
from ackclock.link import Shared

ELEMENT = "ackclock-scenario"
"""The identifier of the element that holds a scenario; `web/src/share/files.ts` reads it."""
START = '<div id="app">'


def page(shared: Shared | None = None) -> str:
    """The page; with a content of a link, the page that opens with it. Raises BadInput if the package has no page."""
    file = resources.files("ackclock") / "web" / "lab.html"
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BadInput("this installation has no page; build it with: cd web && npm ci && npm run build") from None
    if shared is None:
        return text
    if text.count(START) != 1:
        raise BadInput("the page of this installation is damaged; build it with: cd web && npm run build")
    content = json.dumps(shared).replace("<", "\\u003c")  # no text can end the element
    return text.replace(START, f'<script type="application/json" id="{ELEMENT}">{content}</script>{START}')
