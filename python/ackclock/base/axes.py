"""Names of the axes of a study, from a part of them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence

from ackclock.base.files import BadInput


def named(text: str, names: Sequence[str], option: str) -> str:
    """The axis with this name, or the only axis whose name has this part. Raises BadInput."""
    if text in names:
        return text
    rules: tuple[Callable[[str], bool], ...] = (
        lambda name: name.rpartition(".")[2] == text,
        lambda name: text in name.replace(",", ".").replace(" ", "").split("."),
        lambda name: text.casefold() in name.casefold(),
    )
    for fits in rules:
        matches = [name for name in names if fits(name)]
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise BadInput(
                f"{option} {text}: several axes have this part: {', '.join(matches)}; write more of the name"
            )
    near = difflib.get_close_matches(text, names, 1)
    hint = f"there are {', '.join(names)}" if names else "the study has no axis with several labels here"
    raise BadInput(
        f"{option} {text}: there is no such axis; " + (f"did you mean {near[0]}? T{hint[1:]}" if near else hint)
    )
