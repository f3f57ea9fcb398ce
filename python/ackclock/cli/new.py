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
BUILT_IN = 'tcp   = { congestion_control = "reno" }                # { python = "mine.py:Mine", gain = 2 }'
"""Line of the template that names the controller of the tested flow."""


def command(
    name: Annotated[str, Parameter(allow_leading_hyphen=False)] = "scenario",
    /,
    *,
    python: bool = False,
    force: bool = False,
) -> None:
    """Write a scenario to start from, and a controller.

    Two flows share one link; every table of the file has a comment.

    Parameters
    ----------
    name
        Name or path of the file, with or without .toml.
    python
        Also write a controller in Python, NAME.py, and use it in the scenario.
    force
        Replace existing files.

    """
    path = Path(name if Path(name).suffix else f"{name}.toml")
    code = path.with_suffix(".py")
    if not re.fullmatch(r"\w[\w-]*\.toml", path.name):
        raise BadInput(f"new {name}: a name has letters, digits, '_' and '-' and ends in .toml, such as mine.toml")
    targets = [path, code] if python else [path]
    check_targets(targets)
    for target in targets:
        if target.exists() and not force:
            raise BadInput(f"{target}: the file exists; choose another name, or give --force to replace it")
    texts = files("ackclock.cli") / "templates"
    scenario = (texts / "scenario.toml").read_text(encoding="utf-8")
    if python:
        write_text(code, (texts / "controller.txt").read_text(encoding="utf-8"))
        control = f'tcp   = {{ congestion_control = {{ python = "{code.name}:Mine" }} }}'
        scenario = scenario.replace(BUILT_IN, f"{control}  # and parameters: gain = 2")
    write_text(path, scenario)
    for target in targets[::-1]:
        say(f"written: {target}")
    say(f"next: ackclock check {path}; ackclock run {path} --plot run.svg")
