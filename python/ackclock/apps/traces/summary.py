"""Where the time of a recorded transfer went."""

from __future__ import annotations

from typing import Any

from ackclock import _core


def labels() -> dict[str, str]:
    """The label of each limit in tables and figures, by its key in `time_s` (`crates/trace/src/limits.rs`)."""
    codes = _core.trace_codes()
    return dict(zip(codes["limit"], codes["limit_label"], strict=True))


def shares(flow: dict[str, Any]) -> dict[str, float] | None:
    """The part of the time of each limit, which add up to 1; None if the recording does not show them."""
    times = flow.get("time_s")
    if not times or not (total := sum(times.values())):
        return None
    return {label: times[name] / total for name, label in labels().items()}
