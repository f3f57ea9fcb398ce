"""`ackclock new`."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ackclock.base.files import BadInput, check_targets, write_text
from ackclock.base.text import say

EXAMPLE = "ackclock new mine --python"
LANGUAGES = {".c": "controller.c.txt", ".rs": "controller.rs.txt", ".go": "controller.go.txt"}
"""The templates of controllers that are built before they run, by the suffix of their file."""
TAKEN = """
ackclock answer least most whole state flow ack event decision parameters values window steps acked m s to
math auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
as async await crate dyn false fn impl in let loop match mod move mut pub ref self super trait true type
unsafe use where chan defer func go import interface map package range select var main init
"""
"""Names that mean something else in a template or in its language."""
BUILT_IN = 'tcp   = { congestion_control = "reno" }                # { python = "mine.py:Mine", gain = 2 }'
"""Line of the template that names the controller of the tested flow."""
APPLICATIONS = {
    "rate": 'app   = "3Mbps"   # writes at a rate',
    "on_off": 'app   = { kind = "on_off", on = "2s", off = "3s", random = true }   # means of periods and pauses',
    "requests": 'app   = { kind = "requests", response = "20kB", think = "200ms" }   # others: "web_server"',
    "page": 'app   = { kind = "page", page = "median", repeat = "1s" }   # others: objects, har',
    "video": 'app   = { kind = "video", ladder = ["300kbps", "750kbps", "1.85Mbps", "4.3Mbps"] }',
    "frames": 'app   = { kind = "frames", rate = "3Mbps", deadline = "150ms" }   # over quic late = "cancel"',
}
"""Lines for the tested flow, by the kind of the application."""


def command(
    name: Annotated[str, Parameter(allow_leading_hyphen=False)] = "scenario",
    /,
    *,
    python: bool = False,
    app: str | None = None,
    force: bool = False,
) -> None:
    """Write a scenario to start from, or a controller.

    Two flows share one link; every table of the file has a comment. A name that ends in .c, .rs or .go writes a
    controller in that language instead: the comment at its beginning has the commands that build and run it.

    Parameters
    ----------
    name
        Name or path of the file: a scenario with or without .toml, or a controller such as mine.c.
    python
        Also write a controller in Python, NAME.py, and use it in the scenario.
    app
        Give the tested flow an application of this kind: rate, on_off, requests, page, video or frames.
    force
        Replace existing files.

    """
    if app is not None and app not in APPLICATIONS:
        raise BadInput(f"--app {app}: there is no such kind; there are {', '.join(APPLICATIONS)}")
    if Path(name).suffix in LANGUAGES:
        if app is not None:
            raise BadInput(f"new {name}: --app is for a scenario; leave it out")
        if python:
            raise BadInput(f"new {name}: --python writes a controller beside a scenario; give one of both")
        _controller(Path(name), force=force)
        return
    path = Path(name if Path(name).suffix else f"{name}.toml")
    code = path.with_suffix(".py")
    if not re.fullmatch(r"\w[\w-]*\.toml", path.name):
        raise BadInput(
            f"new {name}: a name has letters, digits, '_' and '-' and ends in .toml, .c, .rs or .go, such as mine.toml"
        )
    targets = [path, code] if python else [path]
    check_targets(targets)
    for target in targets:
        if target.exists() and not force:
            raise BadInput(f"{target}: the file exists; choose another name, or give --force to replace it")
    texts = files("ackclock.cli") / "templates"
    scenario = (texts / "scenario.toml").read_text(encoding="utf-8")
    if app is not None:
        scenario = scenario.replace(BUILT_IN, f"{BUILT_IN}\n{APPLICATIONS[app]}")
    if python:
        write_text(code, (texts / "controller.txt").read_text(encoding="utf-8"))
        control = f'tcp   = {{ congestion_control = {{ python = "{code.name}:Mine" }} }}'
        scenario = scenario.replace(BUILT_IN, f"{control}  # and parameters: gain = 2")
    write_text(path, scenario)
    for target in targets[::-1]:
        say(f"written: {target}")
    say(f"next: ackclock check {path}; ackclock run {path} --plot run.svg")


def _controller(path: Path, *, force: bool) -> None:
    """Write a controller in C, Rust or Go. Raises BadInput."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", path.stem) or path.stem in TAKEN.split():
        raise BadInput(
            f"new {path}: the functions begin with the name: small letters, digits and '_', no word of the language, "
            f"such as mine{path.suffix}"
        )
    check_targets([path])
    if path.exists() and not force:
        raise BadInput(f"{path}: the file exists; choose another name, or give --force to replace it")
    text = (files("ackclock.cli") / "templates" / LANGUAGES[path.suffix]).read_text(encoding="utf-8")
    named = re.sub(r"\bmine\b|(?<![A-Za-z])mine(?=_)", path.stem, text).replace("libmine", f"lib{path.stem}")
    write_text(path, named.replace("Mine", path.stem.title().replace("_", "")))
    say(f"written: {path}")
    say("next: its first lines have the commands that build and run it")
