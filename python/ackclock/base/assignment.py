"""Values that replace those of a scenario before it is read: text of a user (`--set KEY=VALUE`), or data."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock import _core
from ackclock.base.files import BadInput
from ackclock.base.languages import joined, language_of, name_of, named_in
from ackclock.base.refusal import utf8
from ackclock.base.toml_text import inline, read_value


@dataclass(frozen=True)
class Assignment:
    """What the program assigns. Nothing of it is parsed: a name may hold quotes, dots and equal signs."""

    key: tuple[str, ...]
    """The names of the key, such as ("flow", "f", "start")."""
    value: Any
    """A value of TOML: text, a number, a boolean, a list, a dictionary."""
    place: str = ""
    """What messages name, such as `--control bbr`; by default `--set KEY`."""
    of_text: bool = True
    """Whether the value comes from the text of the scenario, so that it may name what the text may. A value of the user
    may name every file and controller."""

    def __str__(self) -> str:
        """The same as text, for links, stores and messages: KEY=VALUE."""
        return f"{key_text(self.key)}={inline(self.value)}"


Override = str | Assignment
"""Text of the user, or data of the program."""


Overrides = Sequence[Override] | Mapping[str, Any]
"""Changes to a scenario: `["duration=20s"]`, or as data `{"duration": "20s", "link.bottleneck.delay": "40ms"}`."""


def listed(overrides: Overrides) -> list[Override]:
    """Changes as a list; those of a mapping are data, of which nothing is parsed. Raises BadInput."""
    if not isinstance(overrides, Mapping):
        return list(overrides)
    return [_of_data(key, value) for key, value in overrides.items()]


def _of_data(key: str, value: Any) -> Assignment:
    """The assignment of a value, if TOML has it. Raises BadInput."""
    entry = Assignment(key_names(key, f"overrides: {key}"), value, "overrides", of_text=False)
    try:
        read_value(inline(entry.value))
    except (TypeError, tomllib.TOMLDecodeError):
        raise BadInput(
            f"overrides: {key}: {value!r:.40} is no value of TOML: text, numbers, booleans, lists, tables"
        ) from None
    return entry


def key_names(text: str, place: str) -> tuple[str, ...]:
    """The names of a key. Raises BadInput with the place if a name in quotes is none."""
    try:
        return tuple(_core.key_parts(text))
    except ValueError as error:
        raise BadInput(f"{place}: {error}") from None


def key_text(names: Sequence[str]) -> str:
    """The text of a key, of which `key_names` gives the same names: those with dots and the like stand in quotes."""
    return _core.key_text(list(names))


def last_name(key: str) -> str:
    """The last name of a key; the text itself if it is no key."""
    try:
        return _core.key_parts(key)[-1]
    except ValueError:
        return key


def assignment(text: str) -> tuple[str, str]:
    """Key and value of KEY=VALUE, split at the first equal sign outside quotes; without one, no value."""
    return _core.split_assignment(text) or (text.strip(), "")


def assigned_value(text: str) -> Any:
    """The value of an assignment: that of TOML; what is not TOML is text, so `10ms` needs no quotes."""
    try:
        return read_value(text)
    except tomllib.TOMLDecodeError:
        return text


def control_table(
    control: str, parameters: Mapping[str, Mapping[str, Any]] | None = None, option: str = "--control"
) -> dict[str, Any]:
    """A controller as a table: from a name, `FILE.py:CLASS`, `FILE.wasm:NAME`, `FILE.policy`, or a table of TOML.

    `parameters` of a named controller are added, where a table has none of its own. Raises BadInput, which names the
    option, for a table that is no TOML, a file in Python without a class, and a missing policy.
    """
    control = control.strip()
    if control.startswith("{"):
        try:
            table = read_value(control)
        except tomllib.TOMLDecodeError as error:
            wanted = 'a name, FILE.py:CLASS, FILE.wasm, or a table such as { kind = "vegas" }'
            raise BadInput(f"{option} {control}: must be {wanted} ({error})") from None
        code = named_in(table)
        name_of_table = str(table.get("kind") or (name_of(*code) if code else ""))
        return {**(parameters or {}).get(name_of_table, {}), **table}
    named = language_of(control)
    if named is not None and named[0] == "python" and named[2] is None:
        raise BadInput(f"{option} {control}: names no class; write {control}:CLASS")
    if control.endswith(".policy"):
        policy = Path(control).resolve()
        if not policy.is_file():
            raise BadInput(f"{option} {control}: there is no such file")
        utf8(str(policy))
        return {"kind": "policy", "file": str(policy)}
    file, colon, name = (part.strip() for part in control.rpartition(":"))
    if named is not None or colon:
        language, file, name_or_none = named or ("python", file, name)
        path = str(Path(file).resolve())
        utf8(path)
        table = {language: joined(path, name_or_none)}
    else:
        table = {"kind": control}
    return table | dict((parameters or {}).get(name or control, {}))
