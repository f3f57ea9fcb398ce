"""The files that are made from descriptions in the code. `make reference` runs this file, which writes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import catalog_page
import header
import interface
import keys
import metrics_page
from ackclock.base.files import write_text
from ackclock.base.models import schema
from policy_table import with_table


def _schema(of: str) -> str:
    """A schema with each definition on one line, so that a new option changes one."""
    document = schema(of)
    definitions = ",\n".join(f"{json.dumps(name)}: {json.dumps(one)}" for name, one in document["$defs"].items())
    head = json.dumps({key: value for key, value in document.items() if key != "$defs"})
    return f'{head[:-1]}, "$defs": {{\n{definitions}\n}}}}\n'


def _page_of_policies() -> str:
    return with_table(Path("docs/policies.md").read_text(encoding="utf-8"))


FILES: dict[str, Callable[[], str]] = {
    "python/ackclock/schemas/scenario.schema.json": partial(_schema, "scenario"),
    "python/ackclock/schemas/outcome.schema.json": partial(_schema, "outcome"),
    "docs/scenario-keys.md": partial(keys.page, "scenario"),
    "docs/outcome-keys.md": partial(keys.page, "outcome"),
    "python/ackclock/outcome.py": keys.types,
    "python/ackclock/controller.py": interface.base_class,
    "python/ackclock/_events.pyi": interface.event_types,
    "python/ackclock/include/ackclock.h": header.header,
    "python/ackclock/include/ackclock.rs": header.rust,
    "python/ackclock/include/ackclock_controllers.h": header.host,
    "docs/controller-interface.md": interface.page,
    "web/src/core/interface.json": interface.page_table,
    "docs/policies.md": _page_of_policies,
    "docs/metrics.md": metrics_page.page,
    "docs/models.md": catalog_page.page,
}
"""Every file by its path in the repository, and the function that gives its text."""


if __name__ == "__main__":
    for name, text in FILES.items():
        write_text(Path(name), text())
