"""Closed-loop cases of `ackclock replay`: a recorded network as a scenario, its run, and the totals of a recording."""

from __future__ import annotations

import json
import math
from typing import Any

from ackclock.apps.replay.form import STATES, Line, identity, tcp_options, toml
from ackclock.scenario import Scenario

WIRE_BYTES = 1500
"""Size of a full packet in recorded networks, bytes; a header takes what the segment leaves."""


def case_scenario(case: Line) -> str:
    """The scenario of a case, as TOML.

    The numbers of a case count data packets and ACKs; those of a scenario count the SYN and its ACK too.
    """
    net, receiver, link = case.get("net", {}), case.get("receiver", {}), case["link"]
    mss = 1448 if receiver.get("timestamps", 1) else 1460
    options = {"cc": case["cc"], "mss": mss, "sysctl": case.get("sysctl", {})} | {
        key: receiver.get(key, default) for key, default in (("timestamps", 1), ("sack", 1), ("ecn", 0))
    }
    module = case.get("module", {})
    tcp = tcp_options(options | {"hystart": module.get("tcp_cubic/hystart", 1)})
    # The recording application writes in portions of 45 segments while fewer than 1,000 are unacknowledged
    # (oracle tools/peer.py): 1,044 at most.
    tcp |= {"receive_window": 1044}
    tcp |= {"header": f"{WIRE_BYTES - mss}B", "pacing": "max_pacing" in case, "quick_acks": 0}
    # The recording device has gso_max_segs 1 unless the case has another value; 0 is the device's default.
    tcp |= {"gso_max_segs": case.get("gso_max_segs", 1) or 65_535}
    # The receiver of the recordings combined no ACKs and had a window of fixed size.
    tcp |= {"moderate_rcvbuf": False}
    if tcp["sack"]:
        tcp |= {"ack_compression": False}
    every = receiver.get("ack_every", 1)
    delay = f"{receiver.get('ack_delay_ms', 40)}ms"
    tcp |= {"delayed_ack": every > 1, "ack_every": every, "ack_delay": delay, "ack_delay_max": delay}
    forward = {
        "name": "bottleneck",
        "ends": ["sender", "receiver"],
        "rate": f"{WIRE_BYTES * 8 / link['packet_ms'] * 1000:.0f}bps",
        "delay": f"{link['delay_ms']}ms",
        "queue": {"kind": "droptail", "limit": f"{link['buffer']}p", "departures_first": True},
        "loss": losses(net),
        "back": {"rate": "1Tbps", "queue": {"kind": "droptail", "limit": "1000000p"}, "loss": ack_losses(net, case)},
    }
    writes = [[f"{write['at_ms']}ms", f"{write['bytes']}B"] for write in case["writes"]]
    return (
        f"title = {json.dumps(identity(case))}\n"
        f'duration = "{case["duration_ms"]}ms"\n'
        f"tcp = {toml(tcp)}\n"
        f"link = [{toml(forward)}]\n"
        f'flow = [{{ name = "f", from = "sender", to = "receiver", writes = {toml(writes)} }}]\n'
    )


def losses(net: Line) -> list[dict[str, Any]]:
    """The impairments of the link for data."""

    def scripted(**keys: Any) -> dict[str, Any]:
        return {"kind": "scripted", "flow": "f"} | keys

    numbers = []
    if "drop" in net:
        numbers.append(scripted(packets=[number + 1 for number in net["drop"]]))
    if "drop_segment" in net:
        numbers.append(scripted(segments=net["drop_segment"]))
    if "mark" in net:
        numbers.append(scripted(action="mark", packets=[number + 1 for number in net["mark"]]))
    delays: dict[float, list[int]] = {}
    for number, by in net.get("delay", []):
        delays.setdefault(by, []).append(number + 1)
    numbers += [scripted(action="delay", by=f"{by}ms", packets=packets) for by, packets in delays.items()]
    for key, kind in (("blackout_ms", "blackout"), ("stall_ms", "stall")):
        if key in net:
            numbers.append({"kind": kind, "times": [[f"{a}ms", f"{b}ms"] for a, b in net[key]]})
    return numbers


def ack_losses(net: Line, case: Line) -> list[dict[str, Any]]:
    """The impairments of the link for ACKs."""
    lost = set(net.get("ack_drop", []))
    keep = net.get("ack_keep_every", 1)
    if keep > 1:
        packets = int(case["duration_ms"] / case["link"]["packet_ms"]) + 1
        lost |= {number for number in range(packets) if number % keep}
    return [{"kind": "scripted", "flow": "f", "acks": [number + 1 for number in sorted(lost)]}] if lost else []


def play_case(case: Line) -> Line:
    """Run a case. Returns its totals and its loss events."""
    scenario = Scenario.parse(case_scenario(case), file=f"{identity(case)}.toml")
    result = scenario.run(trace="ack", audit=True)
    flow = result.outcome["flows"][0]
    return {
        "name": identity(case),
        "goodput_bytes": flow["delivered_bytes"],
        "sent": flow["sent_packets"],
        "retransmitted": flow["retransmitted_packets"],
        "timeouts": flow["timeouts"],
        "loss_events": loss_events(result.trace),
    }


def loss_events(windows: Any) -> list[list[Any]]:
    """The changes to a state of reduction, recovery or loss: time (us), state, window before, threshold after.

    `windows` is a window trace with a row for every ACK.
    """
    events: list[list[Any]] = []
    before = None
    for row in windows.select("time_s", "phase", "cwnd", "ssthresh").iter_rows():
        time, phase, _, ssthresh = row
        if before is not None and phase != before[1] and phase != "open":
            infinite = ssthresh is None or math.isinf(ssthresh)
            events.append([round(time * 1e6), STATES[phase], int(before[2]), -1 if infinite else int(ssthresh)])
        before = row
    return events
