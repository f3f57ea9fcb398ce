"""Output of text from users. Markup, control sequences and formulas in it have no effect."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def shown(text: str) -> str:
    """The text for a terminal, with non-printable characters (escape sequences, line ends) escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def say(text: str, *, error: bool = False) -> None:
    """Print lines on standard output or standard error, with non-printable characters escaped."""
    print("\n".join(shown(line) for line in text.split("\n")), file=sys.stderr if error else sys.stdout)


def fail(message: str, status: int) -> int:
    """Print one line on standard error; returns the exit status."""
    say(f"ackclock: {message}", error=True)
    return status


def interrupted(folder: Path) -> int:
    """Say that a command that keeps its finished runs in a folder was interrupted; returns the exit status."""
    return fail(f"interrupted; finished runs are kept in {folder}; repeat the command to resume", 130)


def advise(advice: Sequence[str]) -> None:
    """Print the first piece of advice on the input on standard error, with the number of further ones."""
    if advice:
        more = len(advice) - 1
        others = f" ({more:,} more place{'' if more == 1 else 's'})" if more else ""
        say(f"ackclock: advice: {advice[0]}{others}", error=True)


def lost_connections(outcome: Mapping[str, Any]) -> list[str]:
    """One line for each QUIC flow of an outcome (docs/outcome-keys.md) that lost its connection."""
    lost = [flow for flow in outcome["flows"] if flow.get("connection_error")]
    return [f"flow {flow['name']} lost its connection: {flow['connection_error']}" for flow in lost]


def ascii_json(text: str) -> str:
    """The same JSON with non-ASCII characters escaped, so that every terminal and pipe can transfer it."""
    return re.sub(r"[^\x00-\x7f]", lambda match: json.dumps(match[0])[1:-1], text)


def plus_minus() -> str:
    """The sign between a mean and the half-width of its interval: ASCII if standard output has no other letters."""
    try:
        "\u00b1".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return "+-"
    return "\u00b1"


def drawn(text: str) -> str:
    """The text for a figure, with non-printable characters and dollar signs (which start a formula) escaped."""
    return shown(text).replace("$", r"\$")
