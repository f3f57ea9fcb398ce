"""A score as a formula over metrics, from a TOML file. It is never run as Python: only arithmetic is evaluated."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ackclock.base.files import BadInput
from ackclock.base.formula import Formula, FormulaError, Function, Language, read
from ackclock.base.records import read_record, read_toml

REFERENCE = "reference"
"""What precedes a metric of the reference controller: `reference.goodput`."""
DEFAULT = "goodput / rtt * reference.rtt / reference.goodput"
"""Kleinrock's power, goodput over round-trip time, divided by that of the reference, which has the score 1."""
MOST_LETTERS = 500
"""Length of the longest formula."""
UNITS = {
    **{"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0},
    **{"bps": 1.0, "kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9, "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "%": 0.01},
}
"""Units of numbers in a formula, in SI units."""
QUANTITY = re.compile(rf"(?<![\w.])(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?) ?({'|'.join(UNITS)})(?!\w)")
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
FUNCTIONS = {"min": Function(min, 2, math.inf), "max": Function(max, 2, math.inf), "log": Function(math.log)}
"""`log` is the natural logarithm."""


class NoScore(Exception):
    """A formula has no value for a run: a division by zero, or a metric that the run does not have."""


@dataclass(frozen=True)
class Score:
    """A formula over metrics, in SI units; more is better."""

    formula: str
    place: str = "score.formula"
    """What messages name."""

    @cached_property
    def _read(self) -> Formula:
        """The formula. Raises BadInput."""
        if len(self.formula) > MOST_LETTERS:
            raise BadInput(f"{self.place}: is longer than {MOST_LETTERS:,} letters")
        text = QUANTITY.sub(lambda m: f"({float(m[1]) * UNITS[m[2]]!r})", self.formula.strip())
        try:
            return read(text, Language(OPERATORS, "+ - * /", FUNCTIONS, _check_name, letters=20 * MOST_LETTERS))
        except FormulaError as error:
            raise BadInput(f"{self.place}: {error}") from None

    def check(self, check_metric: Callable[[str], None]) -> None:
        """Raise BadInput for what is no arithmetic, and with `check_metric` for a metric that there is not."""
        for name in self.own:
            try:
                check_metric(name)
            except BadInput as error:
                raise BadInput(f"{self.place}: {error}") from None
        if not self.metrics:
            raise BadInput(f"{self.place}: has no metric, so that every score is equal")

    @property
    def metrics(self) -> list[str]:
        """The metrics of the formula, those of the reference with `reference.` before the name. Raises BadInput."""
        return self._read.names

    @property
    def own(self) -> list[str]:
        """The metrics without `reference.`, each once."""
        return list(dict.fromkeys(name.removeprefix(f"{REFERENCE}.") for name in self.metrics))

    def value(self, values: Mapping[str, float | None]) -> float:
        """The score of a run by its metrics. Raises NoScore."""
        for name in self.metrics:
            if values[name] is None:
                raise NoScore(f"there is no value of {name}")
        try:
            score = float(self._read.value(values))
        except (ZeroDivisionError, ValueError, OverflowError) as error:
            shown = ", ".join(f"{name} = {value:.4g}" for name, value in values.items() if value is not None)
            raise NoScore(f"the score has no value: {error} ({shown})") from None
        if not math.isfinite(score):
            raise NoScore("the score has no value: it is infinite")
        return score


def _check_name(name: str) -> None:
    """Raise FormulaError for a name with a dot that is no metric of the reference."""
    if "." in name and name.partition(".")[0] != REFERENCE:
        raise FormulaError(f"`{name}` is not permitted; the only name before a dot is {REFERENCE}")


@dataclass(frozen=True)
class _Table:
    formula: str


def read_score(path: Path) -> Score:
    """The score of a TOML file: a table [score] with a `formula`. Raises BadInput with the place."""
    document = read_toml(path)
    if set(document) != {"score"}:
        raise BadInput(f'{path}: must have one table, [score], with formula = "{DEFAULT}" or another one')
    return Score(read_record(_Table, document["score"], f"{path}: score").formula, f"{path}: score.formula")
