"""What a recording says first: one sentence, and where the time of the transfer went."""

from __future__ import annotations

from typing import Any

from ackclock.base.si import quantity

WORDS = {
    "application": "the application",
    "receive_window": "the receiver's window",
    "congestion_window": "the congestion window",
    "pacing": "pacing",
    "recovery": "loss recovery",
    "idle": "idle time",
    "unknown": "what the file does not show",
}
"""What took the time of a transfer, in the order in which it is shown (`crates/trace/src/limits.rs`)."""
SHORT = {
    "application": "application",
    "receive_window": "receive window",
    "congestion_window": "congestion window",
    "pacing": "pacing",
    "recovery": "loss recovery",
    "idle": "idle",
    "unknown": "not shown",
}
"""The same for tables and figures."""


def shares(flow: dict[str, Any]) -> dict[str, float] | None:
    """The part of the time of each limit, which add up to 1; None if the recording does not show them."""
    times = flow.get("time_s")
    if not times or not (total := sum(times.values())):
        return None
    return {name: times[name] / total for name in WORDS}


def sentence(flow: dict[str, Any]) -> str:
    """What limited the transfer for most of its time, and what follows from it."""
    parts = shares(flow)
    if parts is None:
        if flow.get("place") in {"receiver", "middle", "unknown"}:
            where = "an unknown place" if flow["place"] == "unknown" else f"the {flow['place']}"
            return (
                f"The capture was taken at {where}: only a capture at the sender shows what limited it (--at sender, "
                "if it was there)."
            )
        return "The file does not show what limited the sender."
    name = max(parts, key=lambda key: parts[key])
    part = parts[name]
    if name == "unknown":
        return f"For {part:.0%} of the time the file does not show what limited the sender."
    first = f"{WORDS[name][0].upper()}{WORDS[name][1:]} limited this transfer for {part:.0%} of its time"
    if name in {"recovery", "idle"}:
        first = f"{WORDS[name][0].upper()}{WORDS[name][1:]} took {part:.0%} of the time of this transfer"
    window, rtt = flow.get("largest_window_bytes"), flow.get("min_rtt_s")
    if name == "receive_window" and window and rtt:
        rate = quantity(window * 8 / rtt, "b/s")
        return (
            f"{first}: {quantity(window, 'B')} in each round trip of {quantity(rtt, 's')} are at most {rate}, "
            "whatever the congestion control does."
        )
    second = sorted(parts, key=lambda key: -parts[key])[1]
    return f"{first}, {WORDS[second]} for {parts[second]:.0%}." if parts[second] >= 0.05 else f"{first}."
