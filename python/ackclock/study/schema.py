"""Columns of outcomes as a frame."""

from __future__ import annotations

import io
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ackclock import _core
from ackclock.base.models import definition, schema

if TYPE_CHECKING:
    import polars as pl

LARGEST = 1 << 28
"""Most bytes of an outcome after decompression; one of 100,000 flows has 120 MB."""
NEVER_NULL = ("title", "seed", "duration_s", "flows", "links", "fairness", "engine")
"""What the tables need of every outcome."""
NEVER_NULL_IN_LISTS = {
    "flows": ("name", "kind"),
    "links": ("name", "utilisation", "delivered_packets", "dropped_packets.queue"),
}
"""What the tables and figures need of each flow and link of an outcome."""


def outcome_schema() -> pl.Schema:
    """Columns made from outcomes by their JSON Schema: one row a run, flows and links as lists."""
    import polars as pl

    outcome = schema("outcome")
    limits = [name.replace(" ", "_") for name in _core.codes()["limit"]]
    types = {"integer": pl.Int64, "number": pl.Float64, "string": pl.String, "boolean": pl.Boolean}

    def column(form: dict[str, Any]) -> Any:
        if "$ref" in form:
            return column(outcome["$defs"][definition(form)])
        if "anyOf" in form:  # of something, or null
            return column(form["anyOf"][0])
        kind = form["type"][0] if isinstance(form["type"], list) else form["type"]
        if "prefixItems" in form:  # of numbers alone
            return pl.List(column(form["prefixItems"][0]))
        if kind == "array":
            return pl.List(column(form["items"]))
        if "additionalProperties" in form and "properties" not in form:  # `limited_s`, the only map
            return pl.Struct({name: column(form["additionalProperties"]) for name in limits})
        if kind == "object":
            return pl.Struct({name: column(value) for name, value in form["properties"].items()})
        return types[kind]

    return pl.Schema({name: column(form) for name, form in outcome["properties"].items()})


def read_outcomes(packed: Sequence[bytes]) -> pl.DataFrame:
    """One row for each outcome (JSON, compressed by zlib). Raises ValueError with the reason if one is no outcome."""
    import polars as pl

    columns = outcome_schema()
    if not packed:
        return pl.DataFrame(schema=columns)
    try:
        frame = pl.read_ndjson(io.BytesIO(b"\n".join(map(_line, packed))), schema=columns)
    except pl.exceptions.PolarsError as error:
        raise ValueError(" ".join(str(error).split())[:200]) from None
    if frame.height != len(packed):
        raise ValueError("it is not one JSON object")
    for name in NEVER_NULL:
        if frame[name].has_nulls():
            raise ValueError(f"{name} is missing")
    for key, names in NEVER_NULL_IN_LISTS.items():
        for name in names:
            value = pl.element()
            for field in name.split("."):
                value = value.struct.field(field)
            if frame[key].list.eval(value.is_null()).list.any().any():
                raise ValueError(f"{name} of one of the {key} is missing")
    return frame


def inflated(packed: bytes) -> bytes:
    """What zlib has compressed; of more than LARGEST bytes no more is unpacked. Raises ValueError with the reason."""
    if not isinstance(packed, bytes):
        raise ValueError("it is not compressed")
    inflate = zlib.decompressobj()
    try:
        content = inflate.decompress(packed, LARGEST + 1)
    except zlib.error:
        raise ValueError("it is not compressed") from None
    if len(content) > LARGEST:
        raise ValueError(f"it has more than {LARGEST:,} bytes")
    if not inflate.eof:
        raise ValueError("it is cut")
    return content


def _line(packed: bytes) -> bytes:
    line = inflated(packed)
    if not line.startswith(b"{") or b"\n" in line:
        raise ValueError("it is not one JSON object")
    return line
