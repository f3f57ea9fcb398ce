"""Write docs/standards.md from statements.toml: `make reference`, or `python validation/rfc/standards_page.py`."""

from __future__ import annotations

import ast
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DATA = Path(__file__).with_name("statements.toml")
PAGE = ROOT / "docs/standards.md"

INTRODUCTION = """# RFCs, rule by rule

The rules of eleven RFCs for congestion control, loss detection, timers and queues, in our words, each with the tests that hold it. A rule that is broken on purpose has its reason, and so has a rule that has no meaning in a simulator. A row MUST NOT states what is forbidden. A test in *italics* fails today: the rule is broken by mistake. `make reference` writes this page from `validation/rfc/statements.toml`.

"TCP" means all loss recoveries of the profile `linux`, unless a row names one. The recovery `rack`, its default, follows RFC 8985 and Linux where these differ from RFC 5681 and 6675. *text* is a rule without a keyword of RFC 2119.
"""

LEVELS = ("MUST", "MUST NOT", "REQUIRED", "SHOULD", "SHOULD NOT", "RECOMMENDED", "MAY", "text")
COMPARED = {
    "whole": "the rules were compared with the whole text",
    "quotations": "they were compared with quotations of the text in public lists of its rules",
    "none": "they were written from knowledge of the document; the numbers of sections may be off",
}
OUTCOMES = ("test", "broken", "not_applicable")
KEYS = {"section", "level", "rule", "of"}


@cache
def _text(file: str) -> str:
    path = ROOT / file
    return path.read_text(encoding="utf-8") if path.is_file() else ""


@cache
def _functions(file: str) -> dict[str, ast.FunctionDef]:
    """The functions of a module by their names."""
    return {node.name: node for node in ast.parse(_text(file)).body if isinstance(node, ast.FunctionDef)}


@dataclass(frozen=True)
class Reference:
    """A test by its file and its name."""

    file: str
    name: str

    @classmethod
    def parse(cls, text: str) -> Reference:
        """The test FILE::NAME."""
        file, _, name = text.partition("::")
        return cls(file, name)

    def exists(self) -> bool:
        """Whether the file has it, as a test."""
        if self.file.endswith(".py"):
            return self.name in _functions(self.file)
        return re.search(rf"#\[test\]\s*(?:#\[[^\n]*\]\s*)*fn {self.name}\(", _text(self.file)) is not None

    def fails(self) -> bool:
        """Whether it is a test of pytest that is expected to fail."""
        if not self.file.endswith(".py"):
            return False
        return any("xfail" in ast.unparse(mark) for mark in _functions(self.file)[self.name].decorator_list)

    def shown(self) -> str:
        """Its text on the page."""
        code = f"`{self.file}::{self.name}`"
        return f"*{code}*" if self.fails() else code


def documents() -> list[dict[str, Any]]:
    """Every RFC with its rules."""
    rfcs: list[dict[str, Any]] = tomllib.loads(DATA.read_text(encoding="utf-8"))["rfc"]
    return rfcs


def references(rule: dict[str, Any]) -> list[Reference]:
    """The tests of a rule."""
    return [Reference.parse(text) for text in rule.get("test", [])]


def _result(rule: dict[str, Any]) -> str:
    if "broken" in rule:
        return f"Broken on purpose: {rule['broken']}"
    if "not_applicable" in rule:
        return f"Not applicable: {rule['not_applicable']}"
    return "<br>".join(test.shown() for test in references(rule))


def _count(rules: list[dict[str, Any]], outcome: str) -> int:
    return sum(outcome in rule for rule in rules)


def page() -> str:
    """The text of docs/standards.md."""
    rfcs = documents()
    text = INTRODUCTION + "\n| RFC | title | tested | broken on purpose | not applicable |\n|---|---|---|---|---|\n"
    for rfc in rfcs:
        counts = " | ".join(str(_count(rfc["rule"], outcome)) for outcome in OUTCOMES)
        text += f"| [{rfc['number']}](#rfc-{rfc['number']}) | {rfc['title']} | {counts} |\n"
    for kind, how in COMPARED.items():
        numbers = ", ".join(str(rfc["number"]) for rfc in rfcs if rfc["text"] == kind)
        text += f"\nRFC {numbers}: {how}."
    text += "\n"
    for rfc in rfcs:
        text += f"\n## RFC {rfc['number']}\n\n{rfc['title']}.\n\n"
        text += "| section | level | rule | holds for | test, or reason |\n|---|---|---|---|---|\n"
        for rule in rfc["rule"]:
            row = (rule["section"], rule["level"], rule["rule"], rule["of"], _result(rule))
            text += f"| {' | '.join(row)} |\n"
    return text


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
