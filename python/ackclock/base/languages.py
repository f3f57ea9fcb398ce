"""Controllers in files: the keys of their languages, and the values of those keys, FILE:NAME."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

UNGUARDED = ("python", "library")
"""Languages whose controllers run as they are, with all that the user may do."""
SANDBOXED = ("wasm", "javascript")
"""Languages whose controllers see their events only; any scenario, suite or link may name one."""
LANGUAGES = (*UNGUARDED, *SANDBOXED)
"""The keys of a table `congestion_control` that name a file."""
SUFFIXES = {
    ".py": "python",
    ".so": "library",
    ".dylib": "library",
    ".dll": "library",
    ".wasm": "wasm",
    ".js": "javascript",
    ".mjs": "javascript",
    ".html": "javascript",
}
"""The language of a file by its suffix."""


def language_of(control: str) -> tuple[str, str, str | None] | None:
    """The language, the file and the name of `FILE.wasm:NAME`, `FILE.js` and the like; None for other texts."""
    if language := SUFFIXES.get(Path(control).suffix):
        return language, control, None
    file, colon, name = control.rpartition(":")
    if colon and (language := SUFFIXES.get(Path(file.strip()).suffix)):
        return language, file.strip(), name.strip()
    return None


def parted(value: str, language: str) -> tuple[str, str | None]:
    """The file and the name of the value of a language's key."""
    file, colon, name = value.rpartition(":")
    if colon and file and name and (language == "python" or name.replace("_", "").isalnum()):
        return file, name
    return value, None


def joined(file: str | Path, name: str | None) -> str:
    """The value of a language's key."""
    return f"{file}:{name}" if name else str(file)


def named_in(table: Mapping[str, Any]) -> tuple[str, str] | None:
    """The language of a table `congestion_control` and its value FILE:NAME; None if it names no file of code."""
    return next(((key, table[key]) for key in LANGUAGES if isinstance(table.get(key), str)), None)


def name_of(language: str, value: str) -> str:
    """The name of a controller in a file, for figures: that in the file, or that of the file."""
    file, name = parted(value, language)
    return name or Path(file).stem


def moved(table: dict[str, Any], move: Callable[[str], str | Path]) -> dict[str, Any]:
    """The table with another path for its file of code, if it names one."""
    named = named_in(table)
    if named is None:
        return table
    file, name = parted(named[1], named[0])
    return table | {named[0]: joined(move(file), name)}
