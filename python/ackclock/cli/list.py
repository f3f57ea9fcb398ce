"""`ackclock list`."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.table import Table
from rich.text import Text

from ackclock.base.plain_console import PlainConsole
from ackclock.base.text import say, shown
from ackclock.foreign import include

EXAMPLE = "ackclock list controllers"
KINDS = {
    "controllers": "congestion control algorithms, with parameters and sources",
    "recoveries": "loss recoveries of TCP",
    "queues": "queue disciplines of links",
    "losses": "losses, delays and other impairments of links",
    "keys": "keys of a scenario, with types and defaults",
    "scenarios": "shipped scenarios, and those in the folder scenarios",
    "examples": "shipped programs in Python",
    "papers": "reproductions of papers",
    "suites": "sets of test situations for a controller",
    "include": "the folder of ackclock.h, for controllers in C",
}
"""Kinds of entries, with descriptions."""
Kind = Literal[
    "controllers", "recoveries", "queues", "losses", "keys", "scenarios", "examples", "papers", "suites", "include"
]


def command(kind: Kind | None = None, /, *, as_json: Annotated[bool, Parameter(name="--json")] = False) -> None:
    """List scenarios, controllers, queues, keys and others.

    Each has its parameters, units, defaults and sources.

    Parameters
    ----------
    kind
        What to list. Default: the kinds.
    as_json
        Print a JSON list.

    """
    if kind is None:
        if as_json:
            print(json.dumps([{"name": name, "summary": text} for name, text in KINDS.items()]))
        else:
            say("\n".join(f"ackclock list {name:12} {text}" for name, text in KINDS.items()))
        return
    if kind == "include":
        print(json.dumps([{"name": "ackclock.h", "folder": str(include())}]) if as_json else include())
        return
    from ackclock.apps.catalog import entries

    rows = entries(kind)
    if as_json:
        print(json.dumps(rows))
    else:
        listing(kind, rows)


def listing(kind: str, entries: list[dict[str, Any]]) -> None:
    """Print what `ackclock list` found."""
    console = PlainConsole()
    if not entries:
        console.print(f"no {kind} yet")
    if kind in {"scenarios", "examples"}:
        table = Table.grid(padding=(0, 2))
        table.add_column(overflow="fold")
        table.add_column()
        for entry in entries:  # the short name of a shipped scenario is its status
            table.add_row(Text(shown(entry["status"] or entry["name"]), "bold"), entry["summary"])
        console.print(table)
        return
    family = None
    for entry in entries:
        if entry["family"] and entry["family"] != family:
            family = entry["family"]
            console.print(Text(f"{family}:", "bold underline"))
        status = Text(f" ({entry['status']}) " if entry["status"] else "", "dim")
        console.print(Text(shown(entry["name"]), "bold"), status, entry["summary"])
        if entry["source"]:
            console.print(f"    source: {entry['source']}")
        if entry["needs"]:
            console.print(f"    needs: {', '.join(entry['needs'])}")
        for param in entry["params"]:
            usual = f"= {param['default']}" if param["default"] else "(required)"
            console.print(" ".join(filter(None, (f"    {param['name']}", usual, param["unit"]))) + f": {param['doc']}")
        if entry["trace"]:
            console.print(f"    trace columns: {', '.join(entry['trace'])}")
        if entry["states"]:
            console.print(f"    states: {', '.join(entry['states'])}")
        for limit in entry["limits"]:
            text = f"    a single flow uses less than 90 % of an empty path in profile {limit['profile']}"
            console.print(f"{text}: {limit['reason']}")
        if failure := entry.get("failure"):
            text = f"{failure['scenario']}: {failure['objective']} is {failure['value']:.2g}"
            console.print(f"    smallest known failure: {text} (ackclock search {failure['space']})")
