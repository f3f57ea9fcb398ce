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


def assignment(text: str) -> tuple[str, str]:
    """Key and value of KEY=VALUE, split at the first equal sign outside double quotes; without one, no value."""
    quoted = False
    for place, letter in enumerate(text):
        quoted ^= letter == '"'
        if letter == "=" and not quoted:
            return text[:place].strip(), text[place + 1 :].strip()
    return text.strip(), ""


def read_value(text: str) -> Any:
    """The value that text of TOML describes. Raises tomllib.TOMLDecodeError."""
    return tomllib.loads(f"value = {text}")["value"]


def assigned_value(text: str) -> Any:
    """The value of an assignment: that of TOML; what is not TOML is text, so `10ms` needs no quotes."""
    try:
        return read_value(text)
    except tomllib.TOMLDecodeError:
        return text


def document_text(document: Mapping[str, Any], comments: Sequence[str] = ()) -> str:
    """A scenario as TOML with one line for each link and each flow."""
    lines = [f"# {line}" for line in comments]
    for key, value in document.items():
        if isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
            lines += [f"{_key(key)} = [", *(f"  {inline(one)}," for one in value), "]"]
        else:
            lines.append(f"{_key(key)} = {inline(value)}")
    return "\n".join(lines) + "\n"
