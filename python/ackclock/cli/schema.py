"""`ackclock schema`."""

from __future__ import annotations

import json
from typing import Literal

from ackclock.base.models import schema

EXAMPLE = "ackclock schema scenario > scenario.schema.json"


def command(of: Literal["scenario", "outcome"] = "scenario", /) -> None:
    """Print the JSON Schema of scenarios or of outcomes.

    Editors, checks and other programs read it.

    Parameters
    ----------
    of
        What the schema describes. An editor with TOML support uses the schema of scenarios by a first line such as
        "#:schema ./scenario.schema.json".

    """
    print(json.dumps(schema(of), indent=2))
