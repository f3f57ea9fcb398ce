"""Arithmetic over named values as a user writes it: rewards, scores. It is parsed, and never run as Python."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Evaluate = Callable[[Mapping[str, Any]], Any]
"""The value of a formula for the values of its names."""


class FormulaError(ValueError):
    """A text that is no formula; the message has no place."""


@dataclass(frozen=True)
class Function:
    """A function of a formula."""

    call: Callable[..., Any]
    least: int = 1
    """Number of arguments."""
    most: float = 1
    """The largest number of arguments."""


@dataclass(frozen=True)
class Language:
    """What a formula may have: operators, functions, names."""

    operators: Mapping[type[ast.operator], Callable[[Any, Any], Any]]
    signs: str
    """How the operators are written, for messages."""
    functions: Mapping[str, Function]
    check_name: Callable[[str], object]
    """Raises FormulaError for a name that has no value. A name may have one dot."""
    number: Callable[[float], Any] = float
    """Makes a constant of a number."""
    letters: int = 1000
    """Length of the longest formula."""

    @property
    def words(self) -> str:
        """What is permitted."""
        return f"numbers, names, {self.signs} and {', '.join(self.functions)}"


@dataclass(frozen=True)
class Formula:
    """A formula that was read."""

    names: list[str]
    """The names in it, each once."""
    value: Evaluate


def read(text: str, language: Language) -> Formula:
    """Read a formula. Raises FormulaError."""
    if len(text) > language.letters:
        raise FormulaError(f"is longer than {language.letters:,} letters")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        names: dict[str, None] = {}
        value = _compiled(tree, language, names)
    except FormulaError:
        raise
    except SyntaxError as error:
        rest = text[max(0, (error.offset or 1) - 1) :][:20]
        raise FormulaError(f"is no formula: {error.msg}, near `{rest or text[-20:]}`") from None
    except (ValueError, RecursionError, MemoryError, OverflowError):
        raise FormulaError("is no formula") from None
    return Formula(list(names), value)


def _compiled(node: ast.expr, language: Language, names: dict[str, None]) -> Evaluate:
    """A function for a node; its names are added to `names`. Raises FormulaError for what is no arithmetic."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            number = language.number(float(value))
            return lambda _: number
        case ast.Name() | ast.Attribute(value=ast.Name()):
            name = ast.unparse(node)
            language.check_name(name)
            names[name] = None
            return lambda values: values[name]
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
            inner = _compiled(operand, language, names)
            return (lambda values: -inner(values)) if isinstance(sign, ast.USub) else inner
        case ast.BinOp(left=left, op=op, right=right) if type(op) in language.operators:
            first, second = _compiled(left, language, names), _compiled(right, language, names)
            combine = language.operators[type(op)]
            return lambda values: combine(first(values), second(values))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            return _call(name, arguments, language, names)
    raise FormulaError(f"`{ast.unparse(node)[:40]}` is not permitted; a formula has {language.words}")


def _call(name: str, arguments: list[ast.expr], language: Language, names: dict[str, None]) -> Evaluate:
    function = language.functions.get(name)
    if function is None:
        raise FormulaError(f"there is no function {name}; there are {', '.join(language.functions)}")
    if not function.least <= len(arguments) <= function.most:
        count = {1: "one argument", 2: "two arguments"}[function.least]
        raise FormulaError(f"{name} needs {count}{' or more' if math.isinf(function.most) else ''}")
    parts = [_compiled(argument, language, names) for argument in arguments]
    return lambda values: function.call(*(part(values) for part in parts))
