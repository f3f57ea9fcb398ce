"""Animations as pages: a whole document that needs no network and works from the keyboard."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from ackclock.animation import save

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


class Document(HTMLParser):
    """The tags of a page with their attributes, and the text inside each kind of tag."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.declared = ""
        self._open: list[str] = []
        self.feed(page)

    def handle_decl(self, decl: str) -> None:
        self.declared = decl

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts.setdefault(self._open[-1], []).append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture
def page(tmp_path: Path) -> Path:
    figure = Figure(figsize=(4, 3))
    axes = figure.subplots()

    def draw(i: int) -> list[Any]:
        axes.set_title(f"t = {i} s")
        return list(axes.plot([0, 1], [0, i]))

    save(figure, draw, 3, tmp_path / "page.html", title='<A> & "B"')
    return tmp_path / "page.html"


def test_a_page_is_a_whole_document(page: Path) -> None:
    content = page.read_bytes()
    assert content.lower().startswith(b"<!doctype html>")
    assert b'<meta charset="utf-8">' in content[:1024]
    text = content.decode("utf-8")
    found = Document(text)
    assert found.all("html") == [{"lang": "en"}]
    assert len(found.all("title")) == 1
    assert '<title>&lt;A&gt; &amp; "B" · Ackclock</title>' in text.replace("&#34;", '"')
    viewports = [meta["content"] for meta in found.all("meta") if meta.get("name") == "viewport"]
    assert viewports == ["width=device-width, initial-scale=1"]


def test_a_page_has_every_frame_and_requests_nothing(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    block = re.search(r'<script id="frames" type="application/json">(.*?)</script>', text, re.S)
    assert block is not None
    frames = json.loads(block[1])
    assert [frame["caption"] for frame in frames] == ["t = 0 s", "t = 1 s", "t = 2 s"]
    assert len({frame["source"] for frame in frames}) == 3
    assert all(frame["source"].startswith("data:image/png;base64,") for frame in frames)
    assert not re.search(r"https?:|//[a-z]+\.", re.sub(r"data:image/png;base64,[^\"&]*", "", text))
    found = Document(text)
    assert not found.all("link")
    assert all("src" not in script for script in found.all("script"))


def test_controls_have_names(page: Path) -> None:
    found = Document(page.read_text(encoding="utf-8"))
    assert found.texts["button"] == ["First", "Back", "Play", "Next", "Last"]
    assert len(found.all("button")) == 5
    assert [field["aria-label"] for field in found.all("input")] == ["Frame"]
    assert found.texts["label"][0].strip() == "Speed"
    assert all("tabindex" not in attributes for _, attributes in found.tags)


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
def test_a_page_plays(page: Path) -> None:
    """The page is paused, stepped to its end by the key End, and back by an arrow key."""
    keys = "<script>for (const key of [' ', 'End', 'ArrowLeft'])"
    keys += "document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));</script></body>"
    page.write_text(page.read_text(encoding="utf-8").replace("</body>", keys), encoding="utf-8")
    command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", page.as_uri()]
    shown = Document(subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout)
    assert shown.texts["output"] == ["t = 1 s (frame 2 of 3)"]
    assert "Play" in shown.texts["button"]
    assert [image["alt"] for image in shown.all("img")] == ["t = 1 s"]
