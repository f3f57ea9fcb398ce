"""Values and scenarios as text of TOML."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

_ENCODER = json.JSONEncoder(ensure_ascii=False)


def inline(value: Any) -> str:
    """A value as TOML on one line."""
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(str(key))} = {inline(item)}" for key, item in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(inline, value))}]"
    return _ENCODER.encode(value).replace("\x7f", "\\u007f")


@lru_cache(maxsize=4096)
def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else inline(name)


def read_value(text: str) -> Any:
    """The value that text of TOML describes. Raises tomllib.TOMLDecodeError."""
    return tomllib.loads(f"value = {text}")["value"]


def document_text(document: Mapping[str, Any], comments: Sequence[str] = ()) -> str:
    """A scenario as TOML with one line for each link and each flow."""
    lines = [f"# {line}" for line in comments]
    for key, value in document.items():
        if isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
            lines += [f"{_key(key)} = [", *(f"  {inline(one)}," for one in value), "]"]
        else:
            lines.append(f"{_key(key)} = {inline(value)}")
    return "\n".join(lines) + "\n"
