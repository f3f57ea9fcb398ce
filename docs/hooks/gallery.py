"""The gallery: pictures of `docs/gallery.toml`, each made by its command lines when the site is built."""

from __future__ import annotations

import shlex
import tomllib
from itertools import groupby
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from outputs import ROOT, Job, run
from tutorials import figure, folded

DATA = ROOT / "docs" / "gallery.toml"
KEYS = {"name", "title", "text", "commands", "file", "sources", "guide"}


def entries() -> list[dict[str, Any]]:
    """The entries of the data file, each with its section. Raises PluginError for one that is not complete."""
    data = tomllib.loads(DATA.read_text(encoding="utf-8"))
    rows = []
    for section in data["section"]:
        for entry in section["picture"]:
            if entry.keys() != KEYS:
                raise PluginError(f"{DATA}: {entry.get('title')}: needs the keys {', '.join(sorted(KEYS))}")
            rows.append(entry | {"section": section["title"]})
    return rows


def job(entry: dict[str, Any]) -> Job:
    """Runs the command lines of an entry and keeps its picture."""

    def build(folder: Path) -> None:
        work = folder / "work"
        work.mkdir()
        for line in entry["commands"]:
            program, *arguments = shlex.split(line)
            if program != "ackclock":
                raise PluginError(f"{DATA}: {line}: the command must be ackclock")
            run(["-m", "ackclock.cli", *arguments], work, f"{DATA}: {line}")
        picture = work / entry["file"]
        if not picture.is_file():
            raise PluginError(f"{DATA}: {entry['title']}: the commands did not write {entry['file']}")
        picture.rename(folder / picture_name(entry))

    return Job(f"gallery-{entry['name']}", "\n".join([*entry["commands"], entry["file"]]), build)


def picture_name(entry: dict[str, Any]) -> str:
    """The name of the picture in the site."""
    return f"{entry['name']}{Path(entry['file']).suffix}"


def page(head: str) -> str:
    """The gallery as Markdown: for each entry the picture, what it shows, the command lines, their input files."""
    parts = [head.rstrip()]
    for section, rows in groupby(entries(), key=lambda entry: entry["section"]):
        parts += [f"## {section}", '<div class="gallery" markdown>', *map(_card, rows), "</div>"]
    return "\n\n".join(parts) + "\n"


def _card(entry: dict[str, Any]) -> str:
    file = f"gallery/{picture_name(entry)}"
    if file.endswith(".html"):
        picture = f'<iframe class="page" src="{file}" title="{entry["title"]}" loading="lazy"></iframe>'
        picture += f"\n\n[Open the page]({file}){{ target=_blank }}"
    else:
        picture = figure(file, entry["title"])
    parts = [
        '<div class="card" markdown>',
        f"### {entry['title']} {{ #{entry['name']} }}",
        picture,
        entry["text"].strip(),
        "```sh\n" + "\n".join(entry["commands"]) + "\n```",
        *(_source(path) for path in entry["sources"]),
        f"Guide: [{_title(entry['guide'])}]({entry['guide']})",
        "</div>",
    ]
    return "\n\n".join(parts)


def _source(path: str) -> str:
    return folded(path, (ROOT / path).read_text(encoding="utf-8"))


def _title(page: str) -> str:
    lines = (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines()
    return next(line.removeprefix("# ") for line in lines if line.startswith("# "))
