"""The numbers of an outcome by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from ackclock.base.files import BadInput

TEXT_COLUMNS = {"name", "kind", "control", "recovery", "connection_error", "connection_lost", "connection_lost_s"}
TABLE_COLUMNS = {"app", "dropped_packets", "limited_s", "low_latency"}
"""Keys of flows and links whose values are objects."""
COST_COLUMNS = {"cpu_s", "wall_s"}
"""Numbers that differ between executions of the same run and are not part of its result."""
APP_TABLES = {"kind", "bins", "sketch", "slowdown_sketch", "chunk_log"}
"""What the object of an application has besides numbers."""


def _numbers(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for flow in row["flows"]:
        for key, value in flow.items():
            if key == "limited_s":
                yield from ((f"{flow['name']}.{key}.{name}", seconds) for name, seconds in (value or {}).items())
            elif key == "app":
                numbers_of_app = ((name, number) for name, number in (value or {}).items() if name not in APP_TABLES)
                yield from ((f"{flow['name']}.app.{name}", number) for name, number in numbers_of_app)
            elif key not in TEXT_COLUMNS:
                yield f"{flow['name']}.{key}", value
    for link in row["links"]:
        for key, value in link.items():
            if key == "dropped_packets":
                yield from ((f"{link['name']}.dropped_{reason}", count) for reason, count in value.items())
            elif key == "low_latency":  # of a link with DualPI2
                yield from ((f"{link['name']}.{key}.{name}", number) for name, number in (value or {}).items())
            elif key not in TEXT_COLUMNS:
                yield f"{link['name']}.{key}", value
    for key, value in (row.get("radio") or {}).items():
        if isinstance(value, dict):
            yield from ((f"radio.{key}.{name}", count) for name, count in value.items())
        else:
            yield f"radio.{key}", value
    yield "jain", row["fairness"]["jain"]
    yield from ((key, value) for key, value in row["engine"].items() if key not in COST_COLUMNS)


def numbers(row: Mapping[str, Any]) -> dict[str, Any]:
    """Every number of an outcome by its name. Raises BadInput if two have one name."""
    by_name: dict[str, Any] = {}
    for name, value in _numbers(row):
        if name in by_name:
            raise BadInput(f"two numbers of the outcome are called {name}: rename the flow {name.split('.', 1)[0]}")
        by_name[name] = value
    return by_name


def metric_of(by_name: Mapping[str, Any], name: str) -> float | None:
    """One of the `numbers` of an outcome. Raises BadInput if it has no such number."""
    if name not in by_name:
        near = difflib.get_close_matches(name, by_name, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(list(by_name)[:8])}, ..."
        raise BadInput(f"there is no metric {name}; {hint}")
    value = by_name[name]
    return None if value is None else float(value)
