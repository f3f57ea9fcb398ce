"""The values that a search may choose: quantities on a grid of few digits, so that what it finds can be read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

from ackclock.base.assignment import Assignment, key_names
from ackclock.base.files import BadInput

UNITS: dict[str, tuple[str, Decimal]] = {
    **{name: ("s", Decimal(f"1e{e}")) for name, e in (("ns", -9), ("us", -6), ("ms", -3), ("s", 0))},
    **{name: ("bps", Decimal(f"1e{e}")) for name, e in (("bps", 0), ("kbps", 3), ("Mbps", 6), ("Gbps", 9))},
    **{name: ("B", Decimal(f"1e{e}")) for name, e in (("B", 0), ("kB", 3), ("MB", 6), ("GB", 9))},
    "p": ("p", Decimal(1)),
    "bdp": ("bdp", Decimal(1)),
    "": ("", Decimal(1)),
}
"""Units as scenarios write them, with the unit in which they are counted here and its factor."""
MOST_VALUES = 10_000


@dataclass(frozen=True)
class Quantity:
    """A number with its unit: s, bps, B, p (packets), bdp, or none."""

    value: Decimal
    unit: str

    @classmethod
    def read(cls, text: Any, place: str) -> Quantity:
        """Read `"20ms"`, or a number without a unit. Raises BadInput with the place."""
        match = re.fullmatch(r"(-?\d+(?:\.\d+)?(?:e-?\d+)?)\s*([A-Za-z]*)", str(text).strip())
        if match is None or match[2] not in UNITS or isinstance(text, bool):
            raise BadInput(f'{place}: {text!r} is no quantity such as "20ms", "10Mbps", "50p" or 0.5')
        unit, factor = UNITS[match[2]]
        return cls(Decimal(match[1]) * factor, unit)

    def written(self) -> str | int | float:
        """As a scenario writes it, with the largest unit that needs no leading zero; without a unit, a number."""
        return _written(self)

    @property
    def digits(self) -> int:
        """Its number of significant digits."""
        return len(self.value.normalize().as_tuple().digits) if self.value else 1


@lru_cache(maxsize=1 << 16)  # a search writes the values of a space many times
def _written(quantity: Quantity) -> str | int | float:
    value, unit = quantity.value, quantity.unit
    if unit == "":
        return int(value) if value == value.to_integral_value() else float(value)
    units = [(name, factor) for name, (base, factor) in UNITS.items() if base == unit]
    fitting = [one for one in units if abs(value) >= one[1]] or units[:1]
    name, factor = max(fitting, key=lambda one: one[1]) if value else units[-1 if unit == "s" else 0]
    return f"{_plain(value / factor)}{name}"


def _plain(value: Decimal) -> str:
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


@dataclass(frozen=True)
class Axis:
    """A parameter of a space, or a number of an event: the values it can have, in order; `simplest` is an index."""

    key: str
    values: tuple[Any, ...]
    """Quantities, or what `choice` lists."""
    simplest: int
    ordered: bool
    """Whether neighbours are similar: False for a choice."""

    def written(self, index: int) -> Any:
        """A value as a scenario writes it."""
        value = self.values[index]
        return value.written() if isinstance(value, Quantity) else value

    def assignment(self, index: int) -> Assignment:
        """The assignment that gives the value to the key."""
        return Assignment(key_names(self.key, "space"), self.written(index))

    def number(self, index: int) -> float:
        """The value as a number, in seconds, bits a second, bytes or packets; a choice as its index."""
        value = self.values[index]
        return float(value.value) if isinstance(value, Quantity) else float(index)

    def digits(self, index: int) -> int:
        """Significant digits of the value: what shrinking makes fewer."""
        value = self.values[index]
        return value.digits if isinstance(value, Quantity) else 1


def axis(key: str, table: Any, place: str, default: Any = None) -> Axis:
    """Read an axis: `{ log = [a, b], digits = 2 }`, `{ range = [a, b], step = c }` or `{ choice = [...] }`.

    Two values alone are a range. `default` is the value that the scenario has, which is the simplest one if `simplest`
    names none. Raises BadInput with the place.
    """
    if isinstance(table, list):
        table = {"range": table}
    kinds = ("log", "range", "choice")
    if not isinstance(table, Mapping) or sum(kind in table for kind in kinds) != 1:
        raise BadInput(f'{place}: must be a table with one of log, range and choice, such as {{ log = ["1ms", "1s"] }}')
    kind = next(kind for kind in kinds if kind in table)
    allowed = {kind, "simplest", *{"log": ["digits"], "range": ["step"], "choice": []}[kind]}
    if unknown := sorted(table.keys() - allowed):
        raise BadInput(f"{place}: unknown key {unknown[0]}; there are {', '.join(sorted(allowed))}")
    if kind == "choice":
        values: Sequence[Any] = table["choice"] if isinstance(table["choice"], list) else ()
        if len(values) < 2:
            raise BadInput(f"{place}.choice: must list two values or more")
        first = table.get("simplest", default)
        return Axis(key, tuple(values), values.index(first) if first in values else 0, ordered=False)
    grid = _grid(kind, table, place)
    first = table.get("simplest", default)
    at = _nearest(grid, first, place, required="simplest" in table)
    return Axis(key, tuple(grid), at, ordered=True)


def _grid(kind: str, table: Mapping[str, Any], place: str) -> list[Quantity]:
    ends = table[kind]
    if not isinstance(ends, list) or len(ends) != 2:
        raise BadInput(f'{place}.{kind}: must be two quantities, such as ["1ms", "100ms"]')
    low, high = (Quantity.read(end, f"{place}.{kind}") for end in ends)
    if 0 in (low.value, high.value):  # "0ms" and "5ms", 0 and "5ms"
        unit = high.unit or low.unit
        low, high = (Quantity(end.value, unit) if end.value == 0 else end for end in (low, high))
    if low.unit != high.unit:
        raise BadInput(f"{place}.{kind}: {ends[0]} and {ends[1]} have different units")
    if low.value >= high.value:
        raise BadInput(f"{place}.{kind}: the range from {ends[0]} to {ends[1]} is empty; give the smaller end first")
    if kind == "log":
        if low.value <= 0:
            raise BadInput(f"{place}.log: must be more than zero; use range, or a smallest value such as 1")
        digits = table.get("digits", 2)
        if not isinstance(digits, int) or not 1 <= digits <= 4:
            raise BadInput(f"{place}.digits: must be 1 to 4")
        values = _log_grid(low.value, high.value, digits)
        if low.unit == "p":
            values = sorted({value.to_integral_value() for value in values})
    else:
        step = Quantity.read(table["step"], f"{place}.step").value if "step" in table else _step(high.value - low.value)
        if step <= 0 or (high.value - low.value) / step > MOST_VALUES:
            raise BadInput(f"{place}.step: must be more than zero, and give at most {MOST_VALUES:,} values")
        count = int((high.value - low.value) / step)
        values = [low.value + n * step for n in range(count + 1)]
    return [Quantity(value, low.unit) for value in values]


def _log_grid(low: Decimal, high: Decimal, digits: int) -> list[Decimal]:
    """All numbers with so many significant digits between two, which are in it."""
    exponent, values = low.adjusted(), {low, high}
    while Decimal(10) ** exponent <= high:
        unit = Decimal(10) ** (exponent - digits + 1)
        values |= {m * unit for m in range(10 ** (digits - 1), 10**digits) if low <= m * unit <= high}
        exponent += 1
    return sorted(values)


def _step(width: Decimal) -> Decimal:
    """About a hundredth of a width, one of 1, 2, 5 times a power of ten."""
    unit = Decimal(10) ** (width / 100).adjusted()
    return next(m * unit for m in (1, 2, 5, 10) if m * unit >= width / 100)


def _nearest(grid: Sequence[Quantity], wanted: Any, place: str, *, required: bool) -> int:
    """The index of the value nearest to the one that is wanted; the first one if that is no such quantity."""
    if wanted is None:
        return 0
    try:
        value = Quantity.read(wanted, f"{place}.simplest")
    except BadInput:
        if required:
            raise
        return 0
    if value.unit != grid[0].unit and value.value != 0:
        if required:
            raise BadInput(f"{place}.simplest: {wanted} has another unit than the range")
        return 0
    return min(range(len(grid)), key=lambda i: abs(grid[i].value - value.value))
