"""`ackclock schema`."""

from __future__ import annotations

import json
from typing import Literal

from ackclock.models import schema
from ackclock.text import say

EXAMPLE = "ackclock schema scenario > scenario.schema.json"


def command(of: Literal["scenario", "outcome"] = "scenario", /, *, markdown: bool = False, types: bool = False) -> None:
    """Print the JSON Schema of scenarios or of outcomes.

    Editors, checks and other programs read it.

    Parameters
    ----------
    of
        What the schema describes. An editor with TOML support uses the schema of scenarios by a first line such as
        "#:schema ./scenario.schema.json".
    markdown
        Print a reference page instead.
    types
        Print the outcome as types of Python instead.

    """
    if markdown or types:
        from ackclock import reference

        say((reference.types() if types else reference.page(of)).rstrip("\n"))
    else:
        print(json.dumps(schema(of), indent=2))
