"""The interface of controllers as texts: the class `Controller`, the types of its events, and the reference page.

All follow from the tables of the crate cc; `write.py` has their files.
"""

from __future__ import annotations

import json
import textwrap
from typing import Any

from ackclock.base.models import interface

TYPES = {"number": "float", "count": "int", "flag": "bool", "time": "float", "word": "str"}
MADE = "Made by `make reference` from the tables of the crate cc."


def classes() -> list[dict[str, Any]]:
    """The classes of a flow and of the events with fields: `class`, `about`, `fields`."""
    table = interface()
    return [table["flow"], *(method for method in table["methods"] if method["class"])]


def _doc(text: str, indent: str) -> list[str]:
    return textwrap.wrap(f'"""{text}"""', 116, initial_indent=indent, subsequent_indent=indent)


def _method_doc(text: str) -> list[str]:
    lines = _doc(text, "        ")
    return lines if len(lines) == 1 else [*lines[:-1], lines[-1].removesuffix('"""'), '        """']


def _type(field: dict[str, Any]) -> str:
    return TYPES[field["kind"]] + (" | None" if field["optional"] else "")


def _default(answer: dict[str, Any]) -> str:
    """The default of an answer as Python writes it."""
    number = answer["default"]
    if number is None:
        return "None"
    if answer["kind"] == "word":
        return f'"{answer["words"][int(number)]}"'
    return str(bool(number) if answer["kind"] == "flag" else int(number))


def _answer_type(answer: dict[str, Any]) -> str:
    """The type of an answer: it can be None if it has no other default and is not required."""
    return TYPES[answer["kind"]] + ("" if answer["required"] or answer["default"] is not None else " | None")


def _meaning(field: dict[str, Any]) -> str:
    words = f" One of {', '.join(field['words'])}." if field["words"] else ""
    return str(field["doc"]) + words


def event_types() -> str:
    """The stub `_events.pyi`: a class for a flow and for each event that has fields."""
    lines = [f"# {MADE}", "# A time `_s` is the nearest float in seconds, `_ps` the exact number of picoseconds."]
    for of in classes():
        lines += ["", f"class {of['class']}:", *_doc(of["about"], "    "), ""]
        for field in of["fields"]:
            lines += [f"    {field['name']}: {_type(field)}", *_doc(_meaning(field), "    ")]
            if field["exact"]:
                lines.append(f"    {field['exact']}: int{' | None' if field['optional'] else ''}")
    return "\n".join(lines) + "\n"


def _argument(method: dict[str, Any]) -> tuple[str, str]:
    """The name and the type of a method's argument."""
    if method["class"]:
        return method["argument"], method["class"]
    name = method["argument"] + ("_s" if method["fields"][0]["kind"] == "time" else "")
    return name, "float"


def _body(method: dict[str, Any], argument: str) -> list[str]:
    """What the method of the base class does."""
    if method["name"].startswith("set_"):
        return [f"        self.{argument} = {argument}"]
    if method["name"] == "on_restart":
        return [f"        self.set_window({argument}.window)"]
    return ["        raise NotImplementedError"] if method["required"] else []


def base_class() -> str:
    """The module `controller.py` with the class `Controller`."""
    table = interface()
    signals = "\n".join(_doc(f"Required signals: {', '.join(table['signals'])}.", ""))
    lines = [
        f'"""The base class of controllers in Python. {MADE}"""',
        "",
        "from __future__ import annotations",
        "",
        "from collections.abc import Sequence",
        "from typing import ClassVar",
        "",
        "from ackclock._core import (",
        *(f"    {name}," for name in sorted(of["class"] for of in classes())),
        ")",
        "",
        "",
        "class Controller:",
        *textwrap.indent(HEAD.replace("SIGNALS", signals), "    ").rstrip().split("\n"),
        "",
    ]
    for answer in table["answers"]:
        need = f" Read only if `needs` has {answer['needs']}." if answer["needs"] else ""
        name = answer["name"]
        default = "" if answer["required"] else f" = {_default(answer)}"
        lines.append(f"    {name}: {_answer_type(answer)}{default}")
        lines += _doc(answer["doc"] + need, "    ")
    lines += [
        "",
        "    def __init__(self, flow: FlowInfo) -> None:",
        "        self.cwnd = flow.initial_window",
        "        self.ssthresh = flow.initial_ssthresh",
    ]
    for method in table["methods"]:
        argument, type_ = _argument(method)
        lines += ["", f"    def {method['name']}(self, {argument}: {type_}) -> None:"]
        lines += [*_method_doc(method["doc"]), *_body(method, argument)]
    return "\n".join(lines) + "\n"


HEAD = '''"""A congestion control algorithm. Derive from this class, or write a class with the same interface.

A scenario names the class: `congestion_control = { python = "mine.py:Mine", gain = 2 }`. The other numbers,
booleans and strings of that table are keyword arguments of `__init__`. Alternatively, pass the class to
`Scenario.load(..., controllers={"flow": Mine})`. Each flow has its own object. The object must depend only on its
events and on `FlowInfo.seed`; otherwise results cannot be reproduced.
"""

needs: ClassVar[Sequence[str]] = ()
SIGNALS
probes: ClassVar[Sequence[str]] = ()
"""Attributes that are written to the window trace, one column each; None or a missing attribute is null."""
initial_window: ClassVar[float | None] = None
"""Initial window that the algorithm specifies, segments; a value in the scenario has precedence."""
'''


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def page() -> str:
    """The reference page of the interface, as Markdown."""
    table = interface()
    lines = [
        "# Interface of controllers",
        "",
        "Methods, events and answers of a controller in Python. In the page of the laboratory the names are in camel",
        "case (`onAck`, `newlyAcked`, `pacingBps`); in Rust times have no unit in their names. The guide is",
        "[Controllers in Python](python-controllers.md).",
        "",
        "## Methods",
        "",
        "| method | when, and what it does |",
        "|---|---|",
    ]
    for method in table["methods"]:
        argument, type_ = _argument(method)
        link = f": [{type_}](#{type_.lower()})" if method["class"] else ""
        must = " Required." if method["required"] else ""
        lines.append(f"| `{method['name']}({argument})`{link} | {method['doc']}{must} |")
    lines += ["", "## Answers", "", "| attribute | type | meaning |", "|---|---|---|"]
    for answer in table["answers"]:
        need = f" (`needs`: `{answer['needs']}`)" if answer["needs"] else ""
        lines.append(f"| `{answer['name']}` | {_cell(_answer_type(answer))} | {answer['doc']}{need} |")
    for of in classes():
        lines += ["", f"## {of['class']}", "", of["about"], "", "| field | type | meaning |", "|---|---|---|"]
        for field in of["fields"]:
            rows = [(field["name"], _type(field), _meaning(field))]
            if field["exact"]:
                rows.append((field["exact"], "int | None" if field["optional"] else "int", "The same, exactly."))
            lines += [f"| `{name}` | {_cell(type_)} | {meaning} |" for name, type_, meaning in rows]
    return "\n".join(lines) + "\n"


def page_table() -> str:
    """The table that the page of the laboratory uses: the same without texts."""
    table = interface()

    def plain(fields: list[dict[str, Any]]) -> list[dict[str, Any]]:
        keys = ("name", "exact", "kind", "words", "optional")
        return [{key: field[key] for key in keys} for field in fields]

    methods = [
        {"name": method["name"], "required": method["required"], "fields": plain(method["fields"])}
        for method in table["methods"]
    ]
    answers = [plain([answer])[0] | {"needs": answer["needs"]} for answer in table["answers"]]
    return json.dumps({"flow": plain(table["flow"]["fields"]), "methods": methods, "answers": answers}) + "\n"
