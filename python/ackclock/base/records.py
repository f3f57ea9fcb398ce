"""Tables of TOML as dataclasses."""

from __future__ import annotations

import dataclasses
import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from ackclock.base.files import BadInput

T = TypeVar("T")
SIMPLE: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "float | None": (int, float),
    "bool": (bool,),
    "list[str]": (list,),
}


def read_record(kind: type[T], table: Any, place: str, nested: Mapping[str, type[Any]] = MappingProxyType({})) -> T:
    """Convert a TOML table to a dataclass. `nested` gives the dataclass of each key that holds a list of tables.

    Raises BadInput with the place.
    """
    if not isinstance(table, Mapping):
        raise BadInput(f"{place}: must be a table")
    fields = {f.name: f for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for key in table:
        if key not in fields:
            near = difflib.get_close_matches(key, fields, 1)
            raise BadInput(f"{place}.{key}: unknown key" + (f"; did you mean {near[0]}?" if near else ""))
    for name, f in fields.items():
        if name not in table and f.default is f.default_factory is dataclasses.MISSING:
            raise BadInput(f"{place}: {name} is missing")
    for key, value in table.items():
        allowed = SIMPLE.get(str(fields[key].type))
        if allowed is not None and (
            not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed)
        ):
            raise BadInput(f"{place}.{key}: must be {fields[key].type}, not {value!r}")
    values = dict(table)
    for key in nested.keys() & table.keys():
        values[key] = [
            read_record(nested[key], item, f"{place}.{key}[{i}]", nested) for i, item in enumerate(table[key])
        ]
    return kind(**values)


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file of a folder, which must be a regular file. Raises BadInput with its name."""
    if path.exists() and not path.is_file():
        raise BadInput(f"{path}: is no regular file")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: {error}") from None
