"""The names of folders and networks that commands derive from what the user wrote."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import Path

from ackclock.base.link import is_link


def folder_name(control: str) -> str:
    """The name of the result folder for a controller."""
    return _plain(control.removeprefix("./")).strip("-") or "controller"


def network_names(files: Sequence[str | Path]) -> list[str]:
    """A name for each network: that of its file, with a number where several have one name."""
    names: list[str] = []
    for file in files:
        text = str(file)
        stem = "link" if is_link(text) else Path(text.removeprefix("@")).name.removesuffix(".toml")
        stem = _plain(stem)
        names.append(next(name for n in itertools.count(1) if (name := stem if n == 1 else f"{stem}-{n}") not in names))
    return names


def _plain(text: str) -> str:
    return re.sub(r"[^\w.+-]+", "-", text)
