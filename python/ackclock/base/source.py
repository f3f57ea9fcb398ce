"""Where a scenario comes from: a file, a shipped file, a link, a text; and what its text may name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ackclock.base.files import foreign
from ackclock.base.link import Shared, contents, is_link, unpack
from ackclock.base.refusal import refused, utf8
from ackclock.base.shipped import locate

Code = Literal["none", "folder", "anywhere"]
"""Which controllers in Python a scenario may name: none, those in the folder of its file or below it, or all.

Base files (`extends`) are in that folder or below it, except with "anywhere"."""


@dataclass(frozen=True)
class Source:
    """A scenario as it is written: its text, the assignments that come with it, and what both may name."""

    file: str
    """The file in messages. Paths in the text are relative to its folder."""
    text: str
    code: Code = "folder"
    assignments: Sequence[str] = ()
    """KEY=VALUE that come with the text. Those of the user are no part of it: they may name everything."""
    files: Mapping[str, bytes] | None = None
    """The files that come with the text; they are all that it may name, and none of them is code. None: it names files
    of the disk."""
    link: Shared | None = None
    """The content of the link that holds it."""
    libraries: bool = False
    """Whether native libraries that the text or the user's assignments name may run."""

    @classmethod
    def of_link(cls, shared: Shared) -> Source:
        """The scenario of a link, whose seed is the default seed. Raises BadInput if a file of it is damaged."""
        seed = [f"seed={shared['seed']}"] if "seed" in shared else []
        return cls("link", shared["text"], "none", [*shared.get("set", []), *seed], contents(shared), shared)

    def with_text(self, text: str) -> Source:
        """Another text in this one's place, without assignments, which may name what this one may."""
        if self.link is None:
            return replace(self, text=text, assignments=())
        shared: Shared = {"v": 1, "text": text}
        if "files" in self.link:
            shared["files"] = self.link["files"]
        return Source.of_link(shared)


def read_source(path: str | Path, *, allow_code: bool = False) -> Source:
    """Read a file, a shipped scenario such as `@dumbbell`, or a link. Raises as `Scenario.load`."""
    if is_link(str(path)):
        return replace(Source.of_link(unpack(str(path))), libraries=allow_code)  # those of the user; a link names none
    file = locate(str(path))
    is_shipped = str(path).startswith("@")  # it came with the program, and so did what it extends
    return Source(file, read_text(file), "anywhere" if allow_code or is_shipped else "folder", libraries=allow_code)


def read_text(path: str | Path) -> str:
    """Read a scenario's text. Raises ScenarioError if it, or its name, is not UTF-8, OSError if it cannot be read."""
    utf8(str(path))
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        why = foreign(Path(path), "a scenario (TOML)") or f"not UTF-8 text (byte {error.start})"
        raise refused(str(path), why) from None
