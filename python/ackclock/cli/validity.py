"""How commands report whether a run in real time followed the wall clock."""

from __future__ import annotations

from typing import Any

INVALID = 4
"""Exit status of a run in real time that did not follow the wall clock closely enough."""
FAILED = 5
"""Exit status of an emulation: a program or the other end failed, or no packet crossed the network."""
NOTHING = "no packet crossed the network: there was nothing to measure"
"""The line about a run in real time without a packet."""


def validity_lines(validity: dict[str, Any]) -> list[str]:
    """What a person reads about the lateness of a run; the last line says whether the run is valid."""
    late = validity["lateness_s"]
    parts = ", ".join(f"{name} {late[name] * 1e3:.3g} ms" for name in ("p50", "p99", "max"))
    lines = [f"lateness of {validity['packets']:,} packets: {parts}; load {validity['load']:.1f}"]
    lines += [f"note: {text}" for text in validity["degraded"]]
    if validity["valid"] and not validity["packets"]:
        return [*lines[1:], NOTHING]
    if validity["valid"]:
        return [*lines, "valid: the network followed the wall clock"]
    return [*lines, f"NOT VALID: {'; '.join(validity['reasons'])}"]
