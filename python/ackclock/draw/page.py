"""Shared parts of all pages: templates and style."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ackclock.base.si import interval, signed, value

if TYPE_CHECKING:
    from jinja2 import Environment


def environment(package: str) -> Environment:
    """Templates of a package, with the style of all pages and filters for numbers."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package, "."), PackageLoader("ackclock.draw", ".")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"value": value, "interval": interval, "signed": signed}
    return environment
