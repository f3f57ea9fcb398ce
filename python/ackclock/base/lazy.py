"""Names of a package that are imported on first use, so that a command imports what it needs and no more."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def on_first_use(package: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """The function `__getattr__` of a package (PEP 562): `modules` has the full name of the module of each name."""

    def __getattr__(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return __getattr__
