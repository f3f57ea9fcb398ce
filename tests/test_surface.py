"""The interface of controllers is the same in Rust, in Python and in the page: the tables of the crate cc make it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from ackclock import Controller, _core
from ackclock.base.controllers import check
from ackclock.base.models import interface
from interface import classes


@pytest.mark.parametrize("of", classes(), ids=lambda of: of["class"])
def test_a_class_of_the_module_has_the_fields_of_the_table(of: dict[str, object]) -> None:
    fields = of["fields"]
    assert isinstance(fields, list)
    names = {name for field in fields for name in (field["name"], field["exact"]) if name}
    assert {name for name in vars(getattr(_core, str(of["class"]))) if not name.startswith("_")} == names


def test_the_base_class_has_every_method_and_every_answer() -> None:
    table = interface()
    names = {row["name"] for key in ("methods", "answers") for row in table[key]}
    members = {name for name in vars(Controller) if not name.startswith("_")} | set(Controller.__annotations__)
    assert members == names | {"needs", "probes", "initial_window"}


def test_what_a_class_must_have_is_what_the_table_requires() -> None:
    required = [method["name"] for method in interface()["methods"] if method["required"]]
    with pytest.raises(ValueError, match=", ".join(required)):
        check(type("Empty", (), {}))


def test_the_tables_have_no_name_twice(root: Path) -> None:
    """A macro in Rust would accept a field of a class twice if only its exact name is equal."""
    for of in classes():
        names = [name for field in of["fields"] for name in (field["name"], field["exact"]) if name]
        assert len(names) == len(set(names))
    stub = ast.parse((root / "python/ackclock/_events.pyi").read_text())
    assert [node.name for node in stub.body if isinstance(node, ast.ClassDef)] == [of["class"] for of in classes()]


def test_the_guides_name_no_method_that_does_not_exist(root: Path) -> None:
    table = interface()
    methods = {method["name"] for method in table["methods"]}
    text = (root / "docs/python-controllers.md").read_text()
    assert set(re.findall(r"`(on_\w+)", text)) <= methods | {"on_akc"}  # an example of a misspelt one
    camel = {re.sub(r"_(\w)", lambda letter: letter[1].upper(), name) for name in methods}
    page = (root / "docs/laboratory.md").read_text()
    assert set(re.findall(r"`(on[A-Z]\w+)`", page)) <= camel
