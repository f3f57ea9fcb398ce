"""Tables as files: the ending of the name decides the form, Parquet or CSV."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ackclock.base.files import BadInput, write_table

if TYPE_CHECKING:
    import polars as pl

SUFFIXES = (".parquet", ".csv")
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What begins a formula in a spreadsheet."""


def check_table(path: Path, option: str) -> None:
    """Raise BadInput if the file name does not end in .parquet or .csv."""
    if path.suffix not in SUFFIXES:
        raise BadInput(f"{option} {path}: the name must end in .parquet or .csv")


def cell(text: str) -> str:
    """A text as a cell of CSV that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text


def write_frame(frame: pl.DataFrame, path: Path, metadata: Mapping[str, str] | None = None) -> None:
    """Write a table, whole or not at all. CSV has no metadata; texts in it that look like formulas begin with '.

    Raises BadInput for another ending.
    """
    check_table(path, "table")
    if path.suffix == ".csv":
        save: Callable[[BinaryIO], object] = _as_text(frame).write_csv
    else:
        save = partial(frame.write_parquet, compression="zstd", compression_level=1, metadata=dict(metadata or {}))
    write_table(path, save)


def _as_text(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with its texts and heads as `cell` has them, and with lists and structures as JSON."""
    import polars as pl

    changed: list[pl.Expr | pl.Series] = []
    for name, kind in frame.schema.items():
        if kind.is_nested():
            values = [None if value is None else json.dumps(value) for value in frame[name].to_list()]
            changed.append(pl.Series(name, values, dtype=pl.String))
        if kind in {pl.String, pl.Categorical, pl.Enum}:
            texts = pl.col(name).cast(pl.String)
            formula = texts.str.contains(r"^[=+\-@\t\r]")
            if frame.select(formula.any()).item():
                changed.append(pl.when(formula).then("'" + texts).otherwise(texts).alias(name))
    return frame.with_columns(changed).rename({name: cell(name) for name in frame.columns if name != cell(name)})
