"""Columns of outcomes as a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ackclock.models import definition, schema

if TYPE_CHECKING:
    import polars as pl


def outcome_schema() -> pl.Schema:
    """Columns made from outcomes by their JSON Schema: one row a run, flows and links as lists."""
    import polars as pl

    outcome = schema("outcome")
    types = {"integer": pl.Int64, "number": pl.Float64, "string": pl.String}

    def column(form: dict[str, Any]) -> Any:
        if "$ref" in form:
            return column(outcome["$defs"][definition(form)])
        if "anyOf" in form:  # of something, or null
            return column(form["anyOf"][0])
        kind = form["type"][0] if isinstance(form["type"], list) else form["type"]
        if kind == "array":
            return pl.List(column(form["items"]))
        if kind == "object":
            return pl.Struct({name: column(value) for name, value in form["properties"].items()})
        return types[kind]

    return pl.Schema({name: column(form) for name, form in outcome["properties"].items()})
