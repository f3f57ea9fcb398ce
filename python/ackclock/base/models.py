"""Models of the core: controllers, recoveries, queues, losses."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from ackclock import _core


def schema(of: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a scenario file or of an outcome; `of` is "scenario" or "outcome"."""
    document: dict[str, Any] = json.loads(_core.schema(of))
    return document


@cache
def interface() -> dict[str, Any]:
    """The interface of controllers: `flow`, `methods` with their events, `answers`, `signals`. Do not change it."""
    table: dict[str, Any] = json.loads(_core.interface())
    return table


def definition(form: dict[str, Any]) -> str:
    """The name of the definition that the `$ref` of a JSON Schema points to."""
    return str(form["$ref"].rsplit("/", 1)[1])


def models(kind: str) -> list[dict[str, Any]]:
    """List the models of one kind: dictionaries with name, summary, family, status, source, params, trace and
    limits.

    `kind` is "controllers", "recoveries", "queues", "losses" or "keys" (the tables of a scenario with their keys).
    """
    entries: list[dict[str, Any]] = json.loads(_core.catalog(kind))
    return entries
