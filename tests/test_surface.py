"""The interface of controllers is the same in Rust, in Python and in the page: events, answers and fields."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from ackclock import Controller, _core

PYTHON = {
    "pacing": "pacing_bps",
    "wake_at": "wake_at_s",
    "fine_timeout": "fine_timeout_s",
    "probe": "probes",
}
"""Answers that have a unit, or another form, in Python."""
EVENTS = {
    "on_handshake": "Handshake",
    "on_ack": "Ack",
    "on_lost": "Lost",
    "on_delivered": "Delivered",
    "on_sent": "Sent",
    "on_congestion": "Congestion",
    "on_rto": "Timeout",
    "on_restart": "Restart",
    "on_transmit_start": "TransmitStart",
    "on_hint": "PathHint",
}
"""The class of an event's argument; the argument of the other methods is a number."""


def methods(root: Path) -> tuple[set[str], set[str]]:
    """The event methods of the trait, and those that answer."""
    text = (root / "crates/cc/src/controller.rs").read_text()
    trait = text[text.index("pub trait Controller {") : text.index("pub trait Algorithm")]
    found = re.findall(r"^    fn (\w+)\(&(mut )?self", trait, re.MULTILINE)
    return {name for name, mutable in found if mutable}, {name for name, mutable in found if not mutable}


def structs(root: Path) -> dict[str, list[tuple[str, str]]]:
    """The fields and their types of the structs that a controller receives."""
    text = "".join((root / "crates/cc/src" / file).read_text() for file in ("events.rs", "flow.rs"))
    bodies = re.findall(r"pub struct (\w+) \{(.*?)\n\}", text, re.DOTALL)
    return {name: re.findall(r"^    pub (\w+): (.+),$", body, re.MULTILINE) for name, body in bodies}


def expected(root: Path, name: str) -> set[str]:
    """The attributes of a class in Python: each time has two, and structs in structs are dissolved."""
    if name == "PathHint":
        return {"now_s", "now_ps", "kind", "value"}
    known = structs(root)
    fields = known.get(name, [("now", "Time"), ("rtt", "Span")])
    names = set()
    for field, kind in fields:
        if kind in ("Option<RateSample>", "Arithmetic"):
            names |= expected(root, kind.removeprefix("Option<").removesuffix(">"))
        elif kind.removeprefix("Option<").removesuffix(">") in ("Time", "Span"):
            names |= {f"{field}_s", f"{field}_ps"}
        else:
            renamed = {("Ack", "delivered"): "newly_delivered", ("Arithmetic", "growth"): "counts_segments"}
            names.add(renamed.get((name, field), field))
    return names


def camel(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(part.capitalize() for part in tail)


def test_the_table_of_events_has_every_event(root: Path) -> None:
    text = (root / "crates/cc/src/external.rs").read_text()
    table = re.findall(r"^            \w+ = (\w+)\(", text, re.MULTILINE)
    assert len(table) == len(set(table))
    assert set(table) == methods(root)[0]


def test_python_has_every_event_and_every_answer(root: Path) -> None:
    events, answers = methods(root)
    members = {name for name in vars(Controller) if not name.startswith("_")} | set(Controller.__annotations__)
    assert members == events | {PYTHON.get(name, name) for name in answers}
    text = (root / "docs/python-controllers.md").read_text()
    assert [name for name in members if not re.search(rf"`{name}\b", text)] == []


def test_the_page_has_every_event_and_every_answer(root: Path) -> None:
    events, answers = methods(root)
    text = (root / "web/src/core/controllers.ts").read_text()
    table = re.findall(r"^            \w+ = (\w+)\(", (root / "crates/cc/src/external.rs").read_text(), re.MULTILINE)
    listed = re.findall(r"'(\w+)'", re.search(r"const METHODS = \[(.*?)\]", text, re.DOTALL)[1])  # type: ignore[index]
    assert listed == [camel(name) for name in table], "the order is that of the kinds"
    assert set(listed) == {camel(name) for name in events}
    types = re.findall(r"^type PageController\w* = \{(.*?)\}", text, re.MULTILINE)
    members = {name for line in types for name in re.findall(r"(\w+)\??: ", line)}
    assert {camel(PYTHON.get(name, name)) for name in answers} <= members
    docs = (root / "docs/laboratory.md").read_text()
    assert [name for name in listed if f"`{name}`" not in docs] == []


@pytest.mark.parametrize("name", [*EVENTS.values(), "FlowInfo"])
def test_every_field_of_an_event_is_in_python(root: Path, name: str) -> None:
    fields = expected(root, name)
    assert {field for field in vars(getattr(_core, name)) if not field.startswith("_")} == fields
    stub = ast.parse((root / "python/ackclock/_core.pyi").read_text())
    [declared] = [node for node in stub.body if isinstance(node, ast.ClassDef) and node.name == name]
    assert {ast.unparse(node.target) for node in declared.body if isinstance(node, ast.AnnAssign)} == fields


@pytest.mark.parametrize("method", [*EVENTS, "__init__"])
def test_every_field_of_an_event_is_in_the_page(root: Path, method: str) -> None:
    text = (root / "web/src/core/controllers.ts").read_text()
    flow = method == "__init__"
    start = "flowOf = (e: Float64Array) => ({" if flow else f"{camel(method)}: (e) => ({{"
    body = text[text.index(start) + len(start) :]
    found = set(re.findall(r"(\w+): ", body[: body.index("})")]))
    expected_names = {camel(name) for name in expected(root, "FlowInfo" if flow else EVENTS[method])}
    assert found == expected_names | ({"seedWords"} if flow else set())
