"""The figures of docs/design.md are those of their drawings, which name files and functions that are there."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from xml.etree import ElementTree

import pytest

NAMES = ("life-of-a-packet", "life-of-an-ack")


def test_the_figures_are_those_of_the_drawings(root: Path) -> None:
    figures = runpy.run_path(str(root / "tools/drawings.py"))["figures"](root)
    assert {file.stem for file in figures} == set(NAMES)
    for file, text in figures.items():
        assert file.read_text(encoding="utf-8") == text, f"{file.name}: run python tools/drawings.py"
        ElementTree.fromstring(text)
    page = (root / "docs/design.md").read_text(encoding="utf-8")
    assert all(f"](figures/{name}.svg)" in page for name in NAMES)


def functions(text: str) -> set[str]:
    """The functions of a file: alone, or as Type::function for each type or trait to whose block they belong."""
    names = set(re.findall(r"^(?:pub(?:\(\w+\))? )?fn (\w+)", text, re.M))
    for head, body in re.findall(r"^((?:impl|pub trait|pub\(crate\) trait)\b[^{]*)\{\n(.*?)^\}", text, re.M | re.S):
        of = re.findall(r"\b[A-Z]\w*", head)
        names |= {f"{each}::{name}" for each in of for name in re.findall(r"^    .*\bfn (\w+)", body, re.M)}
    return names


@pytest.mark.parametrize("name", NAMES)
def test_what_a_drawing_names_is_there(root: Path, name: str) -> None:
    tool = runpy.run_path(str(root / "tools/drawings.py"))
    drawing = tool["read"](root / "docs/drawings" / f"{name}.toml")
    assert len(drawing.code()) > 10
    for place in drawing.code():
        path, _, names = place.partition(": ")
        file = root / "crates" / path
        assert file.is_file(), f"{name}: no file crates/{path}"
        missing = set(names.split(", ")) - {""} - functions(file.read_text(encoding="utf-8"))
        assert not missing, f"{name}: crates/{path} has no {missing}"


def test_calls_of_the_controller_are_those_of_its_trait(root: Path) -> None:
    drawing = runpy.run_path(str(root / "tools/drawings.py"))["read"](root / "docs/drawings/life-of-an-ack.toml")
    methods = functions((root / "crates/cc/src/controller.rs").read_text(encoding="utf-8"))
    steps = [step for box in drawing.boxes for step in box.steps]
    calls = {name for step in steps for names in (*step.calls, *step.asks) for name in names.split(", ")}
    assert {f"Controller::{name}" for name in calls} <= methods


def test_what_does_not_fit_fails(root: Path) -> None:
    tool = runpy.run_path(str(root / "tools/drawings.py"))
    with pytest.raises(ValueError, match="wider than"):
        tool["CODE"].wrap("a_name_without_a_place_to_break", 100)
    assert not functions("impl Sender {\n    fn on_ack(&self) {}\n}\n") & {"on_ack", "Rack::on_ack"}
