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
BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
FUNCTIONS: dict[str, tuple[Callable[..., float], int, float]] = {
    "min": (min, 2, math.inf),
    "max": (max, 2, math.inf),
    "log": (math.log, 1, 1),
}
"""Functions, and how many arguments each has at least and at most. `log` is the natural logarithm."""


class NoScore(Exception):
    """A formula has no value for a run: a division by zero, or a metric that the run does not have."""


@dataclass(frozen=True)
class Score:
    """A formula over metrics, in SI units; more is better."""

    formula: str
    place: str = "score.formula"
    """What messages name."""

    @cached_property
    def _tree(self) -> ast.expr:
        if len(self.formula) > MOST_LETTERS:
            raise BadInput(f"{self.place}: is longer than {MOST_LETTERS:,} letters")
        text = QUANTITY.sub(lambda m: f"({float(m[1]) * UNITS[m[2]]!r})", self.formula.strip())
        try:
            return ast.parse(text, mode="eval").body
        except SyntaxError as error:
            rest = text[max(0, (error.offset or 1) - 1) :][:20]
            raise BadInput(f"{self.place}: is no formula: {error.msg}, near `{rest or text[-20:]}`") from None
        except (ValueError, RecursionError, MemoryError, OverflowError):
            raise BadInput(f"{self.place}: is no formula") from None

    def check(self, check_metric: Callable[[str], None]) -> None:
        """Raise BadInput for what is no arithmetic, and with `check_metric` for a metric that there is not."""
        for name in self.own:
            try:
                check_metric(name)
            except BadInput as error:
                raise BadInput(f"{self.place}: {error}") from None
        if not self.metrics:
            raise BadInput(f"{self.place}: has no metric, so that every score is equal")

    @cached_property
    def metrics(self) -> list[str]:
        """The metrics of the formula, those of the reference with `reference.` before the name. Raises BadInput."""
        return list(dict.fromkeys(_names(self._tree, self.place)))

    @property
    def own(self) -> list[str]:
        """The metrics without `reference.`, each once."""
        return list(dict.fromkeys(name.removeprefix(f"{REFERENCE}.") for name in self.metrics))

    def value(self, values: Mapping[str, float | None]) -> float:
        """The score of a run by its metrics. Raises NoScore."""
        try:
            score = _evaluate(self._tree, values)
        except (ZeroDivisionError, ValueError, OverflowError) as error:
            shown = ", ".join(f"{name} = {value:.4g}" for name, value in values.items() if value is not None)
            raise NoScore(f"the score has no value: {error} ({shown})") from None
        if not math.isfinite(score):
            raise NoScore("the score has no value: it is infinite")
        return score


@dataclass(frozen=True)
class _Table:
    formula: str


def read_score(path: Path) -> Score:
    """The score of a TOML file: a table [score] with a `formula`. Raises BadInput with the place."""
    document = read_toml(path)
    if set(document) != {"score"}:
        raise BadInput(f'{path}: must have one table, [score], with formula = "{DEFAULT}" or another one')
    return Score(read_record(_Table, document["score"], f"{path}: score").formula, f"{path}: score.formula")


def _names(node: ast.expr, place: str) -> list[str]:
    """The metrics below a node. Raises BadInput for what is no arithmetic."""
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return []
        case ast.Name(id=name):
            return [name]
        case ast.Attribute(value=ast.Name(id="reference"), attr=name):
            return [f"{REFERENCE}.{name}"]
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            return _names(operand, place)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
            return [*_names(left, place), *_names(right, place)]
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in FUNCTIONS:
            _, least, most = FUNCTIONS[name]
            if not least <= len(arguments) <= most:
                raise BadInput(f"{place}: {name} needs {'one argument' if most == 1 else 'two arguments or more'}")
            return [one for argument in arguments for one in _names(argument, place)]
    wanted = f"numbers, metrics, {REFERENCE}.METRIC, + - * / and {', '.join(FUNCTIONS)}"
    raise BadInput(f"{place}: `{ast.unparse(node)[:40]}` is not permitted; a formula has {wanted}")


def _evaluate(node: ast.expr, values: Mapping[str, float | None]) -> float:
    """The value of a node that `_names` has accepted."""
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name() | ast.Attribute():
            value = values[ast.unparse(node)]
            if value is None:
                raise NoScore(f"there is no value of {ast.unparse(node)}")
            return value
        case ast.UnaryOp(op=op, operand=operand):
            inner = _evaluate(operand, values)
            return -inner if isinstance(op, ast.USub) else inner
        case ast.BinOp(left=left, op=op, right=right):
            return BINARY[type(op)](_evaluate(left, values), _evaluate(right, values))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return FUNCTIONS[name][0](*(_evaluate(argument, values) for argument in arguments))
    raise AssertionError(ast.dump(node))
