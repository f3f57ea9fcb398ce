"""Plays scripts of a receiver: segments that arrive at given times."""

from __future__ import annotations

import math
from typing import Any

from ackclock._core import ScriptedReceiver
from ackclock.apps.replay.form import Line, identity, scenario_text, tcp_options
from ackclock.base.files import BadInput

EARLY_US = 300
"""How much earlier than ours a recorded timer may expire: our timers are exact, and its clock has an error."""
ECN = ("not", "ect", "ce")
"""The marks of a segment."""
LATE_US = 9000
"""How much later it may expire: the timer wheel of a kernel with 250 Hz."""


class ReceiverScript:
    """A script being played."""

    def __init__(self, line: Line, guided: bool) -> None:
        """Create the receiver and let the SYN arrive."""
        self.line, self.guided = line, guided
        options = line["options"]
        self.mss: int = options["mss"]
        self.stamped = bool(options.get("timestamps", 0))
        tcp = tcp_options(options)
        tcp["gro"] = any(event.get("segments", 1) > 1 for event in line["events"])
        self.receiver = ScriptedReceiver(scenario_text(tcp))
        self.receiver.data(0.0, 0, 0.0, False, False, False)
        self.receiver.acks()
        self.answers: list[Line] = []

    def play(self) -> Line:
        """Play the script. Returns its answers in the recorded form."""
        line, events = self.line, self.line["events"]
        before = 0.0
        for index, event in enumerate(events):
            if not before <= event["t"] < math.inf:
                raise BadInput(f"{identity(line)}, event {index}: its time {event['t']} is before {before}")
            before = event["t"]
            self.run_timers(before, index)
            if event["do"] == "data":
                self.arrive(event)
            elif event["do"] != "read":
                raise BadInput(f"{identity(line)}, event {index}: unknown do {event['do']!r}; known: data, read")
            self.answer(index, before)
        self.run_timers(line.get("end", before), len(events))
        return {"id": identity(line), "answers": self.answers}

    def arrive(self, event: Line) -> None:
        """Let the segments of an event arrive."""
        first, rest = divmod(event["seq"], self.mss)
        if rest or first < 0:
            raise BadInput(f"{identity(self.line)}, event at {event['t']}: byte {event['seq']} begins no segment")
        ecn = event.get("ecn", "ect" if self.line["options"].get("ecn", 0) else "not")
        if ecn not in ECN:
            raise BadInput(
                f"{identity(self.line)}, event at {event['t']}: unknown ecn {ecn!r}; known: {', '.join(ECN)}"
            )
        sent = event["sent_ms"] * 1000.0 if "sent_ms" in event else event["t"]
        for segment in range(first, first + event.get("segments", 1)):
            self.receiver.data(event["t"], segment + 1, sent, ecn != "not", ecn == "ce", bool(event.get("cwr")))
        # Merged segments are acknowledged a picosecond later.
        if (due := self.receiver.timer_us()) is not None and due <= event["t"] + 0.001:
            self.receiver.fire(due)

    def run_timers(self, until_us: float, index: int) -> None:
        """Let timers expire before `until_us`: at their time, or, guided, at the recorded times."""
        answers = self.line.get("answers", []) if self.guided else []
        recorded = [answer["t"][0] for answer in answers if answer.get("after") == index - 1]
        while (due := self.receiver.timer_us()) is not None and due < until_us:
            at = due
            if self.guided:
                if recorded and due - EARLY_US <= recorded[0] <= due + LATE_US:
                    at = recorded.pop(0)
                elif not recorded and until_us <= due + LATE_US:
                    return
            self.receiver.fire(at)
            self.answer(-1, at, after=index - 1)

    def answer(self, index: int, at_us: float, **place: int) -> None:
        """Record the ACKs."""
        rows: list[list[Any]] = []
        for ack, blocks, ece, echo_us in self.receiver.acks():
            edges = [[(start - 1) * self.mss, (end - 1) * self.mss] for start, end in blocks]
            echo = int(echo_us // 1000) if self.stamped else -1
            rows.append([(ack - 1) * self.mss, edges, "e" if ece else "", echo])
        if rows:
            self.answers.append({"in": index, **place, "t": [round(at_us), round(at_us)], "acks": rows})
