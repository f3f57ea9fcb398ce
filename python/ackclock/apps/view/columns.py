"""Columns of a recording as text: differences, byte planes, deflate, base64. Nothing is lost.

`web/src/core/columns.ts` reads what this module writes.
"""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    import numpy as np

SCALES = (1.0, 1e12)
"""A column of floats whose values are multiples of one of these parts is written as whole numbers; 1e12: times are
picoseconds in the core."""
EXACT = 2**53
"""Whole numbers below it are exact as floats; twice a difference must be, too."""


class Column(TypedDict, total=False):
    """A column: `planes` bytes a row, the lowest byte of every row first.

    With a `scale` the bytes are differences of whole numbers (zigzag), which are the values times `scale`; without one,
    the bits of each float, exclusive or those of the float before. `missing` has a bit for each row that is NaN.
    """

    rows: int
    planes: int
    scale: float
    data: str
    missing: str


def pack(values: np.ndarray[Any, Any]) -> Column:
    """A column of numbers as text."""
    import numpy as np

    column = Column(rows=len(values))
    numbers = np.asarray(values)
    if numbers.dtype.kind == "f":
        missing = np.isnan(numbers)
        if missing.any():
            column["missing"] = _text(np.packbits(missing, bitorder="little").tobytes())
            numbers = _filled(numbers, missing)
        scale = next((scale for scale in SCALES if _whole(numbers, scale)), None)
        if scale is None:
            return _planes(column, _changed_bits(numbers))
        column["scale"] = scale
        numbers = np.rint(numbers * scale)
    else:
        column["scale"] = 1.0
    return _planes(column, _differences(numbers.astype(np.int64)))


def _filled(numbers: np.ndarray[Any, Any], missing: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The numbers with the last one before it in place of each that is missing, and zero before the first."""
    import numpy as np

    last = np.maximum.accumulate(np.where(missing, -1, np.arange(len(numbers))))
    return np.where(last < 0, 0.0, numbers[last])


def _whole(numbers: np.ndarray[Any, Any], scale: float) -> bool:
    """Whether whole numbers divided by `scale` give exactly these numbers."""
    import numpy as np

    if not np.isfinite(numbers).all():
        return False
    scaled = np.rint(numbers * scale)
    steps = np.abs(np.diff(scaled, prepend=0.0))
    within = bool((np.abs(scaled) < EXACT).all()) and bool((2 * steps < EXACT).all())
    return within and bool((scaled / scale == numbers).all()) and not bool((np.signbit(numbers) & (numbers == 0)).any())


def _differences(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Each number less the one before, with the sign in the lowest bit."""
    import numpy as np

    steps = np.diff(numbers, prepend=np.int64(0))
    return ((steps << 1) ^ (steps >> 63)).view(np.uint64)


def _changed_bits(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    import numpy as np

    bits = np.ascontiguousarray(numbers, dtype=np.float64).view(np.uint64)
    changed = bits.copy()
    changed[1:] ^= bits[:-1]
    return changed


def _planes(column: Column, numbers: np.ndarray[Any, Any]) -> Column:
    import numpy as np

    most = int(numbers.max()) if len(numbers) else 0
    column["planes"] = (most.bit_length() + 7) // 8
    each = np.ascontiguousarray(numbers.astype("<u8")).view(np.uint8).reshape(-1, 8)
    column["data"] = _text(each[:, : column["planes"]].T.tobytes())
    return column


def _text(data: bytes) -> str:
    deflate = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
    return base64.b64encode(deflate.compress(data) + deflate.flush()).decode("ascii")
