"""Why: the cause of an event of a recording, as sentences."""

from __future__ import annotations

import json
from typing import Any

from ackclock.apps.traces.reading import Recorded
from ackclock.base.files import BadInput


def cause(recorded: Recorded, at_s: float, *, cut: bool) -> dict[str, Any]:
    """The answer for a time, with `cut` for the last reduction up to it (docs/traces.md). Raises BadInput."""
    if recorded.about["form"] == "samples":
        raise BadInput(f"{recorded.file}: is {recorded.about['kind']}: samples show no cause; a capture or a qlog does")
    try:
        answer: dict[str, Any] = json.loads(recorded.reader.why(at_s, cut))
    except ValueError as error:
        raise BadInput(f"--at: {error}") from None
    return {"flow": recorded.name, **answer}


def sentences(answer: dict[str, Any]) -> list[str]:
    """What, the evidence, what else it could be, and what cannot be told."""
    lines = [f"{answer['time_s']:.6f} s, {answer['flow']}: {answer['what']} [{answer['letter']}]"]
    lines += [f"  {text}" for text in answer["evidence"]]
    lines += [f"  It could also be {text}." for text in answer["otherwise"]]
    if answer["unknown"]:
        lines.append(f"  Cannot be told: {answer['unknown']}.")
    return lines
