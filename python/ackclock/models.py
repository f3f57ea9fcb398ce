"""Models of the core: controllers, recoveries, queues, losses."""

from __future__ import annotations

import json
from typing import Any

from ackclock import _core


def drop_reasons() -> dict[str, str]:
    """Names of the reasons for which links drop packets, with their descriptions."""
    codes = _core.codes()
    return dict(zip(codes["reason"], codes["reason_words"], strict=True))


def models(kind: str) -> list[dict[str, Any]]:
    """List the models of one kind: dictionaries with name, summary, status, source, params, trace, limits.

    `kind` is "controllers", "recoveries", "queues" or "losses".
    """
    found: list[dict[str, Any]] = json.loads(_core.catalog(kind))
    return found
