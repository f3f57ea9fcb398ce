"""The first difference between recorded answers and ours."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ackclock.apps.replay.form import Line, identity
from ackclock.base.files import BadInput

COUNTS = (
    "cwnd", "ssthresh", "ca_state", "packets_out", "sacked_out", "lost_out", "retrans_out", "total_retrans", "backoff",
    "total_rto",
)  # fmt: skip
"""The values that two answers are compared by."""


@dataclass(frozen=True)
class Difference:
    """The first difference of two answers."""

    place: str
    what: str
    expected: object
    actual: object

    def __str__(self) -> str:
        """One line."""
        return f"{self.place}: {self.what}: expected {json.dumps(self.expected)}, the run has {json.dumps(self.actual)}"


def unfold(line: Line) -> list[tuple[int, list[list[Any]], Line]]:
    """The answers of a script with all counts after each: input, segments, counts."""
    state, states = dict(line.get("start", {})), []
    for answer in line["answers"]:
        state.update(answer["info"])
        states.append((answer["in"], answer["sent"], {key: state.get(key) for key in COUNTS}))
    return states


def difference(expected: Line, actual: Line) -> Difference | None:
    """The first difference between a recorded line and ours; None if both are equal in what they have in common.

    Scripts: the segments and the counts after each input, and the segments of timers between two inputs; of a receiver
    the ACKs, without the window. Vectors: all segments and counters. Cases: all totals and loss events; a recorded
    total may be a list, of which any will do.
    Raises BadInput if the two lines have different forms or nothing to compare.
    """
    if "answers" in expected and "answers" in actual:
        if expected.get("role") == "receiver":
            return receiver_difference(expected, actual)
        return script_difference(expected, actual)
    if "first" in expected and "first" in actual:
        return vector_difference(expected, actual)
    recorded = expected.get("recorded", expected)
    totals = [key for key in ("sent", "retransmitted", "timeouts", "loss_events", "goodput_bytes") if key in recorded]
    if not totals or "goodput_bytes" not in actual:
        raise BadInput(f"{identity(expected)}: has no answers that can be compared with those of {identity(actual)}")
    for key in totals:
        value, ours = recorded[key], actual[key]
        if key == "loss_events":
            # Recorded events may lack their times.
            ours = [event[-len(value[0]) :] for event in ours] if value else ours
            equal = value == ours
        else:
            equal = ours in value if isinstance(value, list) else ours == value
        if not equal:
            return Difference("end", key, value, ours)
    return None


def vector_difference(expected: Line, actual: Line) -> Difference | None:
    """The first difference between two vectors."""
    if expected["first"] != actual["first"]:
        return Difference("start", "sent", expected["first"], actual["first"])
    for number, (a, b) in enumerate(zip(expected["events"], actual["events"], strict=False)):
        for key in a:
            if a[key] != b.get(key):
                return Difference(f"event {number} at {a['t']} s", key, a[key], b.get(key))
    if len(expected["events"]) != len(actual["events"]):
        return Difference("end", "number of events", len(expected["events"]), len(actual["events"]))
    return None


def script_difference(expected: Line, actual: Line) -> Difference | None:
    """The first difference between the answers of two scripts."""
    ours, theirs = unfold(actual), unfold(expected)
    times = [answer["t"][0] if isinstance(answer["t"], list) else answer["t"] for answer in expected["answers"]]
    for number, ((a_in, a_sent, a_counts), (b_in, b_sent, b_counts)) in enumerate(zip(theirs, ours, strict=False)):
        place = f"answer {number} ({'a timer' if a_in < 0 else f'input {a_in}'} at {times[number] / 1000:.3f} ms)"
        if a_in != b_in:
            return Difference(place, "input (-1: a timer)", a_in, b_in)
        if a_sent != b_sent:
            return Difference(place, "sent", a_sent, b_sent)
        if a_in >= 0 and (key := next((key for key in COUNTS if a_counts[key] not in (None, b_counts[key])), None)):
            return Difference(place, key, a_counts[key], b_counts[key])
    if len(theirs) != len(ours):
        return Difference("end", "number of answers", len(theirs), len(ours))
    return None


def receiver_difference(expected: Line, actual: Line) -> Difference | None:
    """The first difference between the ACKs of two scripts of a receiver."""
    theirs, ours = expected["answers"], actual["answers"]
    for number, (a, b) in enumerate(zip(theirs, ours, strict=False)):
        at = a["t"][0] / 1000
        where = f"input {a['in']}" if a["in"] >= 0 else f"a timer after input {a['after']}"
        place = f"answer {number} ({where} at {at:.3f} ms)"
        for key in ("in", "after"):
            if a.get(key) != b.get(key):
                return Difference(place, "input (-1: a timer)" if key == "in" else key, a.get(key), b.get(key))
        if [row[:4] for row in a["acks"]] != [row[:4] for row in b["acks"]]:
            return Difference(place, "acks", a["acks"], b["acks"])
    if len(theirs) != len(ours):
        return Difference("end", "number of answers", len(theirs), len(ours))
    return None
