"""The language of checks: one expression over the record of a run. Nothing of it is executed as Python.

docs/conformance.md lists the values and functions. An expression is parsed once, when its suite is read: names that
nobody has are refused then, with file, position and the nearest name.
"""

from __future__ import annotations

import ast
import difflib
import operator
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ackclock.base.files import BadInput


class Missing(Exception):
    """A value that the run does not have: a state that was never entered, a condition that never held."""


class NotRecorded(Exception):
    """A value that nobody records of this controller on this substrate."""


@dataclass(frozen=True)
class Interval:
    """Parts of a run, both ends included, seconds."""

    parts: tuple[tuple[float, float], ...]


class Values(Protocol):
    """What an expression reads from a run."""

    def value(self, name: str) -> Any:
        """A number or a series. Raises Missing, NotRecorded."""
        ...

    def member(self, table: str, key: str) -> float:
        """A value of a table: `outcome`, `link` or `metric`. Raises Missing."""
        ...

    def call(self, name: str, arguments: list[Any]) -> Any:
        """The value of a function of runs. Raises Missing, NotRecorded."""
        ...


@dataclass(frozen=True)
class Vocabulary:
    """The names that expressions of a suite may have."""

    series: Collection[str]
    """Columns of the window trace, and internal values of controllers."""
    numbers: Collection[str]
    states: Collection[str]
    tables: dict[str, Collection[str]]
    """Keys of `outcome`, `link` and `metric`."""
    texts: dict[str, Collection[str]]
    """Series of texts, and the words that each can have."""


STATE_FUNCTIONS = {"enter": 1, "leave": 1, "count": 1, "during": 1, "number": 1, "why": 1, "next": 2}
"""Functions whose first arguments are names of states, and how many are."""
FUNCTIONS = {
    "enter": (1, 2),
    "leave": (1, 2),
    "count": (1, 1),
    "during": (1, 2),
    "number": (2, 2),
    "why": (2, 3),
    "next": (2, 3),
    "at": (2, 2),
    "before": (2, 2),
    "max": (2, 2),
    "min": (2, 2),
    "mean": (2, 2),
    "median": (2, 2),
    "share": (2, 2),
    "delta": (2, 2),
    "first": (1, 2),
    "span": (2, 2),
    "rounds": (2, 2),
    "sent": (1, 1),
    "fit": (3, 3),
    "isset": (1, 1),
    "step": (1, 1),
    "abs": (1, 1),
    "floor": (1, 1),
    "sqrt": (1, 1),
    "cbrt": (1, 1),
    "log2": (1, 1),
    "w_cubic": (3, 3),
}
"""The functions, with their least and largest number of arguments."""
ARITHMETIC: dict[str, Callable[[Any], Any]] = {
    "abs": np.abs,
    "floor": np.floor,
    "sqrt": np.sqrt,
    "cbrt": np.cbrt,
    "log2": np.log2,
}
OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Pow: lambda base, exponent: np.float64(base) ** exponent if np.ndim(base) == 0 else base**exponent,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
SECONDS = {"ms": "e-3", "us": "e-6", "s": ""}
TIME = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)(ms|us|s)\b")
LONGEST = 1_000
"""Characters of an expression."""
C_CUBIC = 0.4
"""C of RFC 9438, section 5.1."""


@dataclass(frozen=True)
class Expression:
    """An expression that was parsed and whose names exist."""

    text: str
    tree: ast.expr

    @property
    def names(self) -> set[str]:
        """The names of values in it; not those of functions, states and tables."""
        names = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)}
        return names - self.functions - self.states - {table for table, _ in self.tables}

    @property
    def functions(self) -> set[str]:
        """The functions in it."""
        return {call.func.id for call in _calls(self.tree) if isinstance(call.func, ast.Name)}

    @property
    def states(self) -> set[str]:
        """The states in it."""
        return {name for call in _calls(self.tree) for name in _state_names(call)}

    @property
    def tables(self) -> set[tuple[str, str]]:
        """The tables and keys in it, such as ("outcome", "goodput_bps")."""
        members = (node for node in ast.walk(self.tree) if isinstance(node, ast.Attribute))
        return {(node.value.id, node.attr) for node in members if isinstance(node.value, ast.Name)}

    def evaluate(self, values: Values) -> Any:
        """A number, a truth value, a series of either, or an interval. Raises Missing, NotRecorded."""
        try:
            with np.errstate(all="ignore"):
                return _value(self.tree, values)
        except (ArithmeticError, TypeError, ValueError) as error:
            raise Missing(f"{self.text}: {error}") from None

    def number(self, values: Values) -> float:
        """Its value as a number; true is 1. Raises Missing, also for what is no number, and NotRecorded."""
        value = self.evaluate(values)
        if isinstance(value, Interval) or np.ndim(value):
            raise Missing(f"{self.text} is no number")
        try:
            number = float(value)
        except OverflowError:
            number = np.inf
        if np.isnan(number):
            raise Missing(f"{self.text} has no value")
        if np.isinf(number):
            raise Missing(f"{self.text} is infinite")
        return number


def parse(text: str, place: str, vocabulary: Vocabulary) -> Expression:
    """Parse an expression. Raises BadInput with the place, the position and the nearest name."""
    if len(text) > LONGEST:
        raise BadInput(f"{place}: an expression has at most {LONGEST:,} characters, not {len(text):,}")
    converted, places = _converted(text)

    def fail(node: ast.AST, what: str) -> BadInput:
        at = _original(places, getattr(node, "col_offset", 0))
        return BadInput(f"{place}: {text!r}, position {at + 1}: {what}")

    try:
        tree = ast.parse(converted, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        at = _original(places, (getattr(error, "offset", None) or 1) - 1)
        raise BadInput(f"{place}: {text!r}, position {at + 1}: is no expression") from None
    try:
        _check(tree, vocabulary, fail)
    except RecursionError:
        raise BadInput(f"{place}: an expression is too deep") from None
    return Expression(text, tree)


def _converted(text: str) -> tuple[str, list[tuple[int, int]]]:
    """The text with times such as 5ms as numbers, and pairs of positions there and in the text."""
    parts, places, last, length = [], [(0, 0)], 0, 0
    for match in TIME.finditer(text):
        number = match[1] + SECONDS[match[2]]
        parts += [text[last : match.start()], number]
        length += match.start() - last + len(number)
        last = match.end()
        places.append((length, last))
    return "".join([*parts, text[last:]]), places


def _original(places: list[tuple[int, int]], position: int) -> int:
    there, here = max((pair for pair in places if pair[0] <= position), default=(0, 0))
    return here + position - there


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _state_names(call: ast.Call) -> list[str]:
    number = STATE_FUNCTIONS.get(call.func.id, 0) if isinstance(call.func, ast.Name) else 0
    return [argument.id for argument in call.args[:number] if isinstance(argument, ast.Name)]


def _nearest(name: str, names: Collection[str]) -> str:
    near = difflib.get_close_matches(name, names, 1)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(names))}"


Fail = Callable[[ast.AST, str], BadInput]


def _check(node: ast.AST, vocabulary: Vocabulary, fail: Fail) -> None:
    """Raise BadInput for anything but the nodes and names of the language."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            raise fail(node, "a text stands beside `cause` or `phase` only, or is the reason of `why`")
        if isinstance(node.value, (bool, int, float)):
            return
    elif isinstance(node, ast.Name):
        known = {*vocabulary.series, *vocabulary.numbers}
        if node.id not in known:
            raise fail(node, f"there is no value {node.id}; {_nearest(node.id, known)}")
        return
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        table, keys = node.value.id, vocabulary.tables.get(node.value.id)
        if keys is None:
            raise fail(node, f"there is no table {table}; {_nearest(table, vocabulary.tables)}")
        if node.attr not in keys:
            raise fail(node, f"{table} has no {node.attr}; {_nearest(node.attr, keys)}")
        return
    elif isinstance(node, ast.Call):
        return _check_call(node, vocabulary, fail)
    elif isinstance(node, ast.Compare) and any(_is_text(one) for one in (node.left, *node.comparators)):
        return _check_text(node, vocabulary, fail)
    elif isinstance(node, (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare)):
        operators = node.ops if isinstance(node, ast.Compare) else [node.op]
        allowed = (*OPERATORS, ast.Div, ast.USub, ast.Not, ast.And, ast.Or)
        if all(isinstance(one, allowed) for one in operators):
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    _check(child, vocabulary, fail)
            return
    raise fail(node, "is not part of the language")


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _check_text(node: ast.Compare, vocabulary: Vocabulary, fail: Fail) -> None:
    """A comparison of a series of texts with one of its words. Raises BadInput."""
    both = [node.left, *node.comparators]
    words = [one for one in both if isinstance(one, ast.Constant)]
    series = [one.id for one in both if isinstance(one, ast.Name)]
    fits = len(both) == 2 and len(words) == len(series) == 1 and isinstance(node.ops[0], (ast.Eq, ast.NotEq))
    if not fits or series[0] not in vocabulary.texts:
        raise fail(node, f"a text is compared with {' or '.join(vocabulary.texts)} only, by == or !=")
    word, known = words[0].value, vocabulary.texts[series[0]]
    if word not in known:
        raise fail(words[0], f"there is no {series[0]} {word!r}; {_nearest(str(word), known)}")


def _check_call(node: ast.Call, vocabulary: Vocabulary, fail: Fail) -> None:
    if not isinstance(node.func, ast.Name):
        raise fail(node, "is not part of the language")
    name = node.func.id
    if name not in FUNCTIONS:
        raise fail(node, f"there is no function {name}; {_nearest(name, FUNCTIONS)}")
    least, most = FUNCTIONS[name]
    if node.keywords or not least <= len(node.args) <= most or any(isinstance(a, ast.Starred) for a in node.args):
        raise fail(node, f"{name} has {least if least == most else f'{least} or {most}'} arguments")
    of_states = STATE_FUNCTIONS.get(name, 0)
    for argument in node.args[:of_states]:
        if not isinstance(argument, ast.Name):
            raise fail(argument, f"{name} needs the name of a state")
        if argument.id not in vocabulary.states:
            raise fail(argument, f"there is no state {argument.id}; {_nearest(argument.id, vocabulary.states)}")
    for argument in node.args[of_states:]:
        if name == "why" and argument is node.args[of_states]:
            if not _is_text(argument):
                raise fail(argument, "why needs the reason as a text")
            continue
        _check(argument, vocabulary, fail)


def _value(node: ast.AST, values: Values) -> Any:
    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            return values.value(node.id)
        case ast.Attribute(value=ast.Name(id=table)):
            return values.member(table, node.attr)
        case ast.UnaryOp(op=ast.Not()):
            return np.logical_not(_truth(_value(node.operand, values)))
        case ast.UnaryOp():
            return -_value(node.operand, values)
        case ast.BoolOp():
            return _boolean(node, values)
        case ast.BinOp(op=ast.Div()):
            below = _value(node.right, values)
            if np.ndim(below) == 0 and below == 0:
                raise Missing("a division by zero")
            return _value(node.left, values) / below
        case ast.BinOp():
            return OPERATORS[type(node.op)](_value(node.left, values), _value(node.right, values))
        case ast.Compare():
            operands = [_value(one, values) for one in (node.left, *node.comparators)]
            if any(isinstance(one, float) and np.isnan(one) for one in operands):
                raise Missing("a comparison with what has no value")
            pairs = zip(node.ops, operands, operands[1:], strict=False)
            results = [OPERATORS[type(op)](left, right) for op, left, right in pairs]
            return results[0] if len(results) == 1 else np.logical_and.reduce(results)
        case ast.Call(func=ast.Name(id=name)):
            states = _state_names(node)
            rest = [_value(argument, values) for argument in node.args[len(states) :]]
            if name in ARITHMETIC:
                return ARITHMETIC[name](rest[0])
            if name == "w_cubic":
                return w_cubic(*rest)
            return values.call(name, [*states, *rest])
    raise AssertionError(ast.dump(node))


def _truth(value: Any) -> Any:
    """A value that is a number, a truth value, or a series of either."""
    if isinstance(value, Interval):
        raise Missing("an interval is neither true nor false")
    return value


def _boolean(node: ast.BoolOp, values: Values) -> Any:
    """`and`, `or`: of numbers only as far as they are needed."""
    is_and = isinstance(node.op, ast.And)
    result = _truth(_value(node.values[0], values))
    for operand in node.values[1:]:
        if np.ndim(result) == 0 and bool(result) != is_and:
            return result
        result = (np.logical_and if is_and else np.logical_or)(result, _truth(_value(operand, values)))
    return result


def w_cubic(elapsed: Any, w_max: Any, cwnd_epoch: Any) -> Any:
    """W_cubic of RFC 9438 section 4.2, segments, so many seconds after the begin of a congestion avoidance epoch."""
    k = np.cbrt(np.maximum(w_max - cwnd_epoch, 0.0) / C_CUBIC)
    return C_CUBIC * (elapsed - k) ** 3 + np.maximum(w_max, cwnd_epoch)
