"""Scenarios of a suite with pilot times: texts in braces that depend on a first run of the same scenario.

The first run is without what holds a brace; the second one has the values. Both are equal up to the first of these
times, so the second run is in the wanted state then.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ackclock.apps.suite.language import Expression, Missing, NotRecorded, Vocabulary, parse
from ackclock.apps.suite.record import Record
from ackclock.base.files import BadInput
from ackclock.base.source import Source
from ackclock.base.toml_text import document_text

BRACE = re.compile(r"\{(?!n\})([^{}]*)\}")
"""An expression in a text; `{n}` is the number of a counted flow."""
LIST = re.compile(r"\{(every|numbers|segments)\((.*)\)\}")
"""A text that stands for elements of its list."""
ARGUMENTS = {"every": 4, "numbers": 3, "segments": 3}
MOST_ELEMENTS = 100_000


class Template:
    """A scenario of a suite. Raises BadInput if it cannot be read or an expression in braces is none."""

    def __init__(self, source: Source, place: str, vocabulary: Vocabulary) -> None:
        self.source = source
        try:
            self._document = tomllib.loads(source.text)
        except tomllib.TOMLDecodeError as error:
            raise BadInput(f"{place}: {error}") from None
        self._place, self._vocabulary = place, vocabulary
        self._expressions: dict[str, Expression] = {}
        self.is_plain = self._read(self._document) == self._document
        """Whether it holds no brace."""

    def without(self) -> Source:
        """The scenario of the first run: without the `[[change]]` tables and the other values that hold a brace."""
        return self.source if self.is_plain else self.source.with_text(document_text(self._read(self._document)))

    def filled(self, record: Record) -> Source:
        """The scenario with the values of a first run. Raises Missing."""
        return (
            self.source if self.is_plain else self.source.with_text(document_text(self._fill(self._document, record)))
        )

    @property
    def is_constant(self) -> bool:
        """Whether what it holds in braces depends on no run."""
        return not any(one.names or one.functions for one in self._expressions.values())

    def constant(self) -> Source:
        """The scenario, if `is_constant`."""
        return self.filled(Record(None, None, {}, {}, None, lambda _: None))

    def _holds(self, value: Any) -> bool:
        if isinstance(value, str):
            return bool(BRACE.search(value))
        if isinstance(value, Mapping):
            return any(map(self._holds, value.values()))
        return isinstance(value, list) and any(map(self._holds, value))

    def _read(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """The table without the values that hold a brace, whose expressions are parsed."""
        rest: dict[str, Any] = {}
        for key, value in table.items():
            if key == "change" and isinstance(value, list):
                kept = [change for change in value if not self._holds(change)]
                self._parse(value)
                if kept:
                    rest[key] = kept
            elif isinstance(value, Mapping) and "kind" not in value:
                rest[key] = self._read(value)
            elif isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
                rest[key] = [self._read(one) for one in value]
            elif self._holds(value):
                self._parse(value)
            else:
                rest[key] = value
        return rest

    def _parse(self, value: Any) -> None:
        """Parse the expressions in the texts of a value."""
        if isinstance(value, Mapping):
            for one in value.values():
                self._parse(one)
        elif isinstance(value, list):
            for one in value:
                self._parse(one)
        elif isinstance(value, str):
            many = LIST.fullmatch(value)
            for text in _arguments(many, self._place) if many else BRACE.findall(value):
                self._expressions[text] = parse(text, self._place, self._vocabulary)

    def _fill(self, value: Any, record: Record) -> Any:
        if isinstance(value, Mapping):
            return {key: self._fill(one, record) for key, one in value.items()}
        if isinstance(value, list):
            filled: list[Any] = []
            for one in value:
                many = LIST.fullmatch(one) if isinstance(one, str) else None
                filled += self._elements(many, record) if many else [self._fill(one, record)]
            return filled
        if not isinstance(value, str):
            return value
        whole = BRACE.fullmatch(value)
        if whole:
            number = self._expressions[whole[1]].evaluate(record)
            return int(number) if _is_count(number) else _text(number)
        return BRACE.sub(lambda match: _text(self._expressions[match[1]].evaluate(record)), value)

    def _elements(self, many: re.Match[str], record: Record) -> list[Any]:
        """What a text stands for in its list: writes at equal intervals, numbers, or segments that are sent once."""
        begin, end, step, *size = (self._expressions[text].number(record) for text in _arguments(many, self._place))
        if step <= 0 or (end - begin) / step > MOST_ELEMENTS:
            raise BadInput(f"{self._place}: {many[0]}: at most {MOST_ELEMENTS:,} elements, at a distance above 0")
        places = [begin + number * step for number in range(max(int((end - begin) / step + 1e-9), 0))]
        if many[1] == "every":
            return [[_text(float(place)), f"{int(size[0])}B"] for place in places]
        return [int(place) if many[1] == "numbers" else [int(place), 1] for place in places]


def _arguments(many: re.Match[str], place: str) -> list[str]:
    """The arguments of a text that stands for elements of a list: first, end, distance, of writes also bytes."""
    arguments, depth = [""], 0
    for letter in many[2]:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            arguments.append("")
        else:
            arguments[-1] += letter
    if len(arguments) != ARGUMENTS[many[1]]:
        raise BadInput(f"{place}: {many[1]} has {ARGUMENTS[many[1]]} arguments, not those of {many[0]}")
    return [argument.strip() for argument in arguments]


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _text(value: Any) -> str:
    """A count as it is, a time in seconds."""
    if _is_count(value):
        return str(value)
    if not isinstance(value, float) or value != value:
        raise Missing("a time or a count is needed in braces")
    return f"{value:.12f}s"


def pilot_record(record: Record, pilot: Mapping[str, Expression]) -> Record:
    """A record with the pilot times that expressions find in it; those that do not come have a reason."""
    for name, expression in pilot.items():
        try:
            record.numbers = {**record.numbers, name: expression.number(record)}
        except (Missing, NotRecorded) as error:
            record.missing = {**record.missing, name: error}
    return record


def parse_pilot(pilot: Mapping[str, Any], place: str, names: Vocabulary) -> dict[str, Expression]:
    """The expressions of pilot times; a time may use those before it. Raises BadInput."""
    parsed: dict[str, Expression] = {}
    for name, text in pilot.items():
        if not isinstance(text, str):
            raise BadInput(f"{place}: pilot.{name}: must be an expression in quotes")
        known: Sequence[str] = [*names.numbers, *parsed]
        if not name.isidentifier() or name in {*names.series, *names.numbers}:
            raise BadInput(f"{place}: pilot.{name}: the name of a time must be a word, and no other value's")
        parsed[name] = parse(text, f"{place}: pilot.{name}", replace(names, numbers=known))
    return parsed
