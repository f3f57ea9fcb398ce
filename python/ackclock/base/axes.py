"""Names of the axes of a study: from a part of them, and short ones; the labels of each axis."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence

from ackclock.base.files import BadInput

Point = tuple[tuple[str, str], ...]
"""A point of a study: pairs of axis and label."""


def labels_of(points: Iterable[Point]) -> dict[str, list[str]]:
    """The labels of each axis that has several at these points."""
    labels: dict[str, dict[str, None]] = {}
    for point in points:
        for axis, label in point:
            labels.setdefault(axis, {})[label] = None
    return {axis: list(of_axis) for axis, of_axis in labels.items() if len(of_axis) > 1}


def axis_words(axis: str) -> str:
    """The last part of an axis's name in words: `min rtt` of `flow.a.tcp.min_rtt`."""
    return axis.rpartition(".")[2].replace("_", " ")


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
