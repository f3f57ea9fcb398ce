"""Stacks outside: their description (stack.toml), classes in Python, or controllers of the laboratory."""

from __future__ import annotations

import difflib
import importlib.util
import os
import shutil
import sys
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ackclock.apps.reach.results import Unavailable
from ackclock.base.controllers import announce
from ackclock.base.files import BadInput
from ackclock.base.units import interval, size

SIMULATED = "quinn:"
"""Names of controllers of the laboratory over QUIC in place of a stack begin so."""
KEYS = (
    *("name", "version", "transport", "command", "source", "destination", "controllers", "reno"),
    *("deterministic", "ecn", "granularity", "header", "mtu", "reply"),
)


@dataclass(frozen=True)
class Stack:
    """A stack and how it is run."""

    name: str
    version: str = ""
    controllers: dict[str, str] = field(default_factory=dict)
    """The stack's names of its controllers, each with the reference that it claims to be."""
    reno: str | None = None
    """The stack's name of its Reno, the control."""
    programs: dict[str, dict[str, Any]] = field(default_factory=dict)
    """`both`, or `source` and `destination`: command and folder."""
    make: Callable[[dict[str, Any]], Any] | None = None
    """A class in Python: it gives the endpoints of source and destination for a case."""
    deterministic: bool = True
    ecn: bool = False
    granularity_ns: int = 1
    header: int = 28
    mtu: int = 1500
    transport: str = "quic"
    reply: str = ""
    """What its maintainers say to a verdict; printed beside it."""


def without_parameters(reference: str) -> str:
    """The exact name of a reference: `cubic:rfc9438` of `cubic:rfc9438,beta=0.8`."""
    return reference.partition(",")[0]


def kind(reference: str) -> str:
    """The controller of a reference: `cubic` of `cubic:rfc9438,beta=0.8`."""
    return without_parameters(reference).partition(":")[0]


def load(text: str) -> Stack:
    """The stack that an argument names: `stack.toml`, `FILE.py:CLASS`, or `quinn:CONTROLLER`. Raises BadInput."""
    if text.startswith(SIMULATED):
        controller = text.removeprefix(SIMULATED)
        return Stack("quinn", controllers={controller: without_parameters(controller)}, reno="reno")
    path, colon, name = text.rpartition(":")
    if colon and path.endswith(".py"):
        return _of_class(Path(path), name)
    if text.endswith(".py"):
        raise BadInput(f"{text}: name the class too, {text}:CLASS")
    return _of_file(Path(text))


def _of_class(path: Path, name: str) -> Stack:
    """A class in Python. The file is run."""
    if not path.is_file():
        raise BadInput(f"{path}: no such file")
    announce(f"runs {path}")
    spec = importlib.util.spec_from_file_location(f"ackclock_stack_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise BadInput(f"{path}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.pop(0)
    make = getattr(module, name, None)
    if make is None:
        near = difflib.get_close_matches(name, dir(module), 1)
        remark = f"; did you mean {near[0]}?" if near else ""
        raise BadInput(f"{path}: has no {name}{remark}")
    about = {key: value for key in KEYS if (value := getattr(module, key.upper(), None)) is not None}
    return _stack(about | {"name": about.get("name", name)}, str(path), {}, make)


def _of_file(path: Path) -> Stack:
    """A description in TOML."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8"
        raise BadInput(f"{path}: {reason}; a stack is stack.toml, FILE.py:CLASS or {SIMULATED}CONTROLLER") from None
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path}: {error}") from None
    for key in table:
        if key not in KEYS:
            near = difflib.get_close_matches(key, KEYS, 1)
            raise BadInput(
                f"{path}: {key}: unknown key{f'; did you mean {near[0]}?' if near else ''}; known: {', '.join(KEYS)}"
            )
    folder = str(path.resolve().parent)
    programs = {}
    for key, role in (("command", "both"), ("source", "source"), ("destination", "destination")):
        if key in table:
            programs[role] = {"command": _command(table[key], f"{path}: {key}"), "folder": folder}
    if set(programs) not in ({"both"}, {"source", "destination"}):
        raise BadInput(
            f'{path}: command: is missing: the program as a list, such as ["python3", "child.py"], '
            "or source and destination"
        )
    for program in programs.values():
        first = program["command"][0]
        place = Path(folder) / first
        if not (os.access(place, os.X_OK) if "/" in first else shutil.which(first)):
            raise Unavailable(f"{path}: {first} cannot be started: it is not there, or not executable")
        announce(f"runs {' '.join(program['command'])}")
    return _stack(table, str(path), programs, None)


def _command(value: object, where: str) -> list[str]:
    if not isinstance(value, list) or not value or not all(isinstance(word, str) for word in value):
        raise BadInput(f'{where}: must be a list of words, such as ["python3", "child.py"]; no shell reads it')
    return [str(word) for word in value]


def _stack(
    table: dict[str, Any],
    where: str,
    programs: dict[str, dict[str, Any]],
    make: Callable[[dict[str, Any]], Any] | None,
) -> Stack:
    def typed(key: str, kind: type, default: Any) -> Any:
        value = table.get(key, default)
        if not isinstance(value, kind):
            raise BadInput(f"{where}: {key}: must be {kind.__name__}, not {value!r}")
        return value

    controllers = typed("controllers", dict, {})
    if not all(isinstance(reference, str) for reference in controllers.values()):
        raise BadInput(f'{where}: controllers: each has its reference, such as {{ cubic = "cubic:rfc9438" }}')
    reno = next((theirs for theirs, ours in controllers.items() if without_parameters(ours) == "reno"), None)
    granularity = typed("granularity", str, "1ns")
    if not isinstance(table.get("reno", ""), str):
        raise BadInput(f"{where}: reno: must be the stack's name of its Reno, as text")
    header, mtu = _bytes(table.get("header", 28), f"{where}: header"), _bytes(table.get("mtu", 1500), f"{where}: mtu")
    if mtu < header:
        raise BadInput(f"{where}: mtu: {mtu} bytes include the header of {header} bytes; use more")
    return Stack(
        name=typed("name", str, Path(where).stem),
        version=typed("version", str, ""),
        controllers=controllers,
        reno=table.get("reno", reno),
        programs=programs,
        make=make,
        deterministic=typed("deterministic", bool, True),
        ecn=typed("ecn", bool, False),
        granularity_ns=max(1, round(interval(granularity, f"{where}: granularity") * 1e9)),
        header=header,
        mtu=mtu,
        transport=typed("transport", str, "quic"),
        reply=typed("reply", str, ""),
    )


MOST_BYTES = 65_535


def _bytes(value: object, where: str) -> int:
    """A number of bytes of an IP packet, as a number or as text with a unit. Raises BadInput."""
    number = int(size(value, where)) if isinstance(value, str) else value
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= MOST_BYTES:
        raise BadInput(f'{where}: must be from 0 to {MOST_BYTES} bytes, such as "28B", not {value!r}')
    return number


def chosen(stack: Stack, control: str | None, reference: str | None) -> list[tuple[str, str]]:
    """The controllers to compare, each with its reference. Raises BadInput if a reference is missing."""
    if control is not None:
        claimed = reference or stack.controllers.get(control)
        if claimed is None:
            raise BadInput(f"--control {control}: name its reference with --as, such as --as cubic:rfc9438")
        return [(control, claimed)]
    if reference is not None:
        names = list(stack.controllers)
        exact = without_parameters(reference)
        same = [theirs for theirs, ours in stack.controllers.items() if without_parameters(ours) == exact]
        base = kind(reference)
        theirs = next(iter([*same, *(names if len(names) == 1 else []), *([base] if not names else [])]), None)
        if theirs is None:
            listed = ", ".join(names)
            raise BadInput(
                f"--as {reference}: which controller of {stack.name} is it? write --control, one of {listed}"
            )
        return [(theirs, reference)]
    if not stack.controllers:
        raise BadInput("--as: is missing: the reference, named exactly, such as reno, cubic:rfc9438, bbr:v1, bbr3")
    return list(stack.controllers.items())


def options(stack: Stack, control: str, reference: str, situations: Sequence[str] | None) -> dict[str, Any]:
    """The options of the core's comparison."""
    return {
        **{"name": stack.name, "version": stack.version, "controller": control, "reference": reference},
        **{"reno": stack.reno, "ecn": stack.ecn, "granularity_ns": stack.granularity_ns},
        **{"header": stack.header, "mtu": stack.mtu, **stack.programs},
        **({} if situations is None else {"situations": list(situations)}),
    }
