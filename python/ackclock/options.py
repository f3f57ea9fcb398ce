"""What several commands take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

if TYPE_CHECKING:
    from collections.abc import Sequence


def _seed(_type: object, tokens: Sequence[object]) -> int:
    text = str(getattr(tokens[0], "value", ""))
    if not text.isdecimal() or int(text) >= 2**63:
        raise ValueError(f"seed {text} is not a whole number from 0 to 2^63 - 1")
    return int(text)


File = Annotated[str, Parameter(allow_leading_hyphen=False)]
Seed = Annotated[int | None, Parameter(converter=_seed)]
Overrides = Annotated[list[str] | None, Parameter(name="--set", allow_leading_hyphen=True)]
