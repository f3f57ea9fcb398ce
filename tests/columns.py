"""Reads the columns that `ackclock.apps.view.columns.pack` writes."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np

from ackclock.apps.view.columns import Column


def unpack(column: Column) -> np.ndarray[Any, Any]:
    """The numbers of a column, as floats."""
    rows, planes = column["rows"], column["planes"]
    data = np.frombuffer(zlib.decompress(base64.b64decode(column["data"]), -zlib.MAX_WBITS), np.uint8)
    each = np.zeros((rows, 8), np.uint8)
    each[:, :planes] = data.reshape(planes, rows).T
    numbers = each.view("<u8").reshape(rows).astype(np.uint64)
    if "scale" in column:
        signed = (numbers >> np.uint64(1)).astype(np.int64) ^ -(numbers & np.uint64(1)).astype(np.int64)
        found = np.cumsum(signed) / column["scale"]
    else:
        found = np.bitwise_xor.accumulate(numbers).view(np.float64).copy()
    if "missing" in column:
        bits = zlib.decompress(base64.b64decode(column["missing"]), -zlib.MAX_WBITS)
        found[np.unpackbits(np.frombuffer(bits, np.uint8), count=rows, bitorder="little").astype(bool)] = np.nan
    return found
