"""The rules of RFCs in statements.toml: complete, with tests that exist, and as docs/standards.md has them."""

from __future__ import annotations

from typing import Any

import pytest
from standards_page import COMPARED, KEYS, LEVELS, OUTCOMES, PAGE, documents, page, references

RFCS = [5681, 6298, 6675, 8033, 8289, 8312, 9002, 9331, 9332, 9406, 9438]
RULES = [(rfc["number"], rule) for rfc in documents() for rule in rfc["rule"]]


def test_every_rfc_has_rules() -> None:
    assert [rfc["number"] for rfc in documents()] == RFCS
    assert all(rfc["text"] in COMPARED for rfc in documents())
    assert all(set(rfc) == {"number", "title", "text", "rule"} and len(rfc["rule"]) >= 5 for rfc in documents())


@pytest.mark.parametrize(("number", "rule"), RULES, ids=[f"{number} {rule['section']}" for number, rule in RULES])
def test_a_rule_has_one_outcome_and_its_tests_exist(number: int, rule: dict[str, Any]) -> None:
    outcomes = [outcome for outcome in OUTCOMES if outcome in rule]
    assert len(outcomes) == 1, (number, rule)
    assert set(rule) == KEYS | set(outcomes)
    assert rule["level"] in LEVELS
    assert all(rule.values())
    assert all(value.endswith(".") for key, value in rule.items() if key in {"rule", "broken", "not_applicable"})
    missing = [test for test in references(rule) if not test.exists()]
    assert missing == []


def test_no_rule_stands_twice() -> None:
    keys = [(number, rule["section"], rule["rule"], rule["of"]) for number, rule in RULES]
    assert len(keys) == len(set(keys))


def test_the_page_has_the_rules() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "write it again: make reference"
