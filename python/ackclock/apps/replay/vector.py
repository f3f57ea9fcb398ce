"""Plays vectors: ACKs with the segments that each one sets off."""

from __future__ import annotations

from ackclock._core import ScriptedSender
from ackclock.apps.replay.form import Line, scenario_text, tcp_options, whole


def play_vector(line: Line) -> Line:
    """Play a vector. Returns the same object with our own segments and counters."""
    rtt_us = line["rtt"] * 1e6
    tcp = tcp_options({"cc": line["cc"], "mss": line["mss"], "timestamps": 0})
    sender = ScriptedSender(scenario_text(tcp | {"initial_window": line["initial_window"]}))
    sender.start(0.0)
    sender.ack(rtt_us, 1, [], False, 0.0, None)
    sender.transmitted()
    sender.write(rtt_us, line["written"])
    result = dict(line) | {"first": [segment - 1 for _, segment, _ in sender.transmitted()], "events": []}
    for event in line["events"]:
        at = rtt_us + event["t"] * 1e6
        blocks = [(first + 1, end + 1) for first, end in event["sack"]]
        while (due := sender.timer_us()) is not None and due < at:
            sender.fire(due)
        sender.ack(at, event["ack"] + 1, blocks, False, 0.0, None)
        state = whole(sender.state())
        result["events"].append(
            {key: event[key] for key in ("t", "ack", "sack")}
            | {
                "sent": [segment - 1 for _, segment, _ in sender.transmitted()],
                "state": sender.state()["state"],
                "cwnd": state["cwnd"],
                "ssthresh": None if state["ssthresh"] < 0 else state["ssthresh"],
                "lost": state["lost_out"],
                "retrans": state["retrans_out"],
                "sacked": state["sacked_out"],
                "unacked": state["packets_out"],
            }
        )
    return result
