"""Reference pages made from the JSON Schemas of scenarios and outcomes."""

from __future__ import annotations

import json
import keyword
import textwrap
from typing import Any

from ackclock.base.models import definition, schema

LARGE = 1e9
"""A larger upper bound is no news to a reader."""

PAGES = {
    "scenario": ("Scenario keys", "The keys of scenario files by table"),
    "outcome": ("Outcome keys", "The keys of outcomes by object"),
}


def page(of: str) -> str:
    """The reference page of "scenario" or "outcome" as Markdown."""
    title, about = PAGES[of]
    command = f"`ackclock schema {of}`"
    lines = [f"# {title}", "", f"{about}, from the JSON Schema that {command} prints.", ""]
    whole = schema(of)
    definitions = whole.get("$defs", {})
    if "properties" in whole:
        lines += _table("outcome", whole)
    for name, form in definitions.items():
        if "properties" in form:
            lines += _table(name, form)
        elif all("$ref" in each for each in form["anyOf"]):
            names = ", ".join(_type(each) for each in form["anyOf"])
            lines += [f"## {name}", "", f"{form['description']} One of {names}.", ""]
        for each in form.get("anyOf", []):
            kind = each.get("properties", {}).get("kind", {}).get("const")
            if kind:
                lines += _table(f"{name}: {kind}", each)
    return "\n".join(lines)


def _table(name: str, form: dict[str, Any]) -> list[str]:
    rows = [f"| `{key}` | {_type(value)} | {_meaning(value)} |" for key, value in form["properties"].items()]
    about = [form["description"], ""] if form.get("description") else []
    return [f"## {name}", "", *about, "| key | value | meaning |", "|---|---|---|", *rows, ""]


def _meaning(form: dict[str, Any]) -> str:
    return " ".join(form.get("description", "").split()).replace("|", "\\|")


def _type(form: dict[str, Any]) -> str:
    """The type of a value in words."""
    if "$ref" in form:
        name = definition(form)
        return "a controller" if name == "controller" else f"[{name}](#{name.lower()})"
    if "anyOf" in form:
        parts = [_type(part) for part in form["anyOf"] if part.get("type") != "null"]
        return " or ".join(dict.fromkeys(parts)) + (" or null" if {"type": "null"} in form["anyOf"] else "")
    if "enum" in form:
        words = [f"`{word}`" for word in form["enum"]]
        return ", ".join(words) if len(words) <= 8 else "a name"
    if "const" in form:
        return f"`{form['const']}`"
    kinds = form.get("type", "value")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if kinds == ["array"] and "items" in form:
        return f"array of {_type(form['items'])}"
    text = " or ".join("text" if kind == "string" else kind for kind in kinds)
    if "maximum" in form:
        text += f" from {_number(form['minimum'])}"
        text += f" to {_number(form['maximum'])}" if form["maximum"] < LARGE else ""
    if "examples" in form:
        text += f", such as `{form['examples'][-1]}`"
    return text


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


PYTHON = {"integer": "int", "number": "float", "string": "str", "boolean": "bool"}


def types() -> str:
    """The module `ackclock.outcome`: the outcome as TypedDicts."""
    whole = schema("outcome")
    # What others name comes first.
    definitions = dict(sorted(whole["$defs"].items(), key=lambda item: "$ref" in json.dumps(item[1])))
    classes = [_typed_dict(name, form) for name, form in definitions.items()]
    classes.append(_typed_dict("Outcome", whole))
    head = '"""The outcome of a run as types. `make reference` writes this file from `ackclock schema outcome`."""'
    imports = "from __future__ import annotations\n\nfrom typing import NotRequired, TypedDict"
    return "\n\n\n".join([f"{head}\n\n{imports}", *classes]) + "\n"


def _typed_dict(name: str, form: dict[str, Any]) -> str:
    required = form.get("required", form["properties"].keys())
    about = " ".join(form.get("description", "The outcome of a run.").split())
    keys = {
        key: _python_type(value) if key in required else f"NotRequired[{_python_type(value)}]"
        for key, value in form["properties"].items()
    }
    if any(keyword.iskeyword(key) for key in keys):
        items = "".join(f'        "{key}": "{kind}",\n' for key, kind in keys.items())
        return f'{name} = TypedDict(\n    "{name}",\n    {{\n{items}    }},\n)\n"""{about}"""'
    lines = [
        f"class {name}(TypedDict):",
        *textwrap.wrap(f'"""{about}"""', 116, initial_indent="    ", subsequent_indent="    "),
        "",
    ]
    for key, value in form["properties"].items():
        lines.append(f"    {key}: {keys[key]}")
        text = f'"""{" ".join(value.get("description", "").split())}"""'
        lines += textwrap.wrap(text, 116, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines)


def _python_type(form: dict[str, Any]) -> str:
    if "$ref" in form:
        return definition(form)
    if "anyOf" in form:
        return " | ".join("None" if part.get("type") == "null" else _python_type(part) for part in form["anyOf"])
    kinds = form["type"] if isinstance(form["type"], list) else [form["type"]]
    return " | ".join(_python_kind(kind, form) for kind in kinds)


def _python_kind(kind: str, form: dict[str, Any]) -> str:
    """The type of one of the kinds of a form."""
    if kind == "array" and "prefixItems" in form:  # JSON has no tuples
        each = dict.fromkeys(kind for item in form["prefixItems"] for kind in _python_type(item).split(" | "))
        return f"list[{' | '.join(each)}]"
    if kind == "array":
        return f"list[{_python_type(form['items'])}]"
    if kind == "object":
        return f"dict[str, {_python_type(form.get('additionalProperties') or {'type': 'integer'})}]"
    return "None" if kind == "null" else PYTHON[kind]
