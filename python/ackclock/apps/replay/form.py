"""The forms of recordings, and the options of a sender that correspond to them."""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ackclock.base.files import BadInput, foreign

Line = dict[str, Any]

STATES = {"open": 0, "disorder": 1, "cwr": 2, "recovery": 3, "loss": 4}


def read(path: Path) -> Iterator[Line]:
    """The objects of a file: JSON lines, `.gz` or not, or one JSON object over several lines.

    Raises BadInput with the place of the first line that is not a JSON object.
    """
    if path.suffix != ".gz" and (why := foreign(path, "a script, vector or case", json=True)):
        raise BadInput(f"{path}: {why}")
    try:
        text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise BadInput(f"{path}: {error}") from None
    try:
        whole = json.loads(text)
    except ValueError:
        lines = list(enumerate(text.splitlines(), 1))
    else:
        lines = [(1, json.dumps(whole))]
    for number, line in lines:
        if not line.strip():
            continue
        try:
            document = json.loads(line)
        except ValueError as error:
            raise BadInput(f"{path}, line {number}: not JSON: {error}") from None
        if not isinstance(document, dict):
            raise BadInput(f"{path}, line {number}: must be a JSON object")
        yield document


def kind(line: Line) -> str:
    """The form of a line: `script`, `receiver`, `vector` or `case`. Raises BadInput if it is none of them."""
    if "link" in line and "writes" in line:
        return "case"
    events = line.get("events")
    if isinstance(events, list) and all(isinstance(event, dict) for event in events):
        if "first" in line:
            return "vector"
        if all("do" in event for event in events):
            return "receiver" if line.get("role") == "receiver" else "script"
    name = line.get("id", line.get("name", ""))
    raise BadInput(
        f"{name or 'the line'}: neither a script (events with do), nor a vector (first, and events with sent), "
        "nor a case (link and writes)"
    )


def identity(line: Line) -> str:
    """The name of a line: `id`, `name`, or controller and seed."""
    return str(line.get("id", line.get("name", f"{line.get('cc', 'line')}-{line.get('seed', 0)}")))


def scenario_text(tcp: dict[str, object]) -> str:
    """A scenario whose flow has the TCP options `tcp`."""
    options = ", ".join(f"{key} = {toml(value)}" for key, value in tcp.items())
    return (
        'duration = "1s"\n'
        'link = [{ ends = ["a", "b"], rate = "1Gbps", delay = "1ms" }]\n'
        f'flow = [{{ from = "a", to = "b", tcp = {{ {options} }} }}]\n'
    )


def toml(value: object) -> str:
    """A value in TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(part)}" for key, part in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def tcp_options(options: Line) -> dict[str, object]:
    """The TCP options of a scenario that correspond to the options and sysctls of a recording."""
    sysctl = {key.rsplit(".", 1)[-1]: value for key, value in options.get("sysctl", {}).items()}
    control: dict[str, object] = {"kind": options.get("cc", "cubic")}
    if control["kind"] == "cubic":
        control["hz"] = options.get("hz", 250)
        if not options.get("hystart", 1):
            control["slow_start"] = "standard"
    tcp: dict[str, object] = {
        "profile": "linux",
        "congestion_control": control,
        "mss": f"{options['mss']}B",
        "timestamps": bool(options.get("timestamps", 0)),
        "sack": bool(options.get("sack", 1)),
        "ecn": bool(options.get("ecn", 0)),
        "min_rto": f"{sysctl.get('tcp_rto_min_us', 200000)}us",
    }
    if not sysctl.get("tcp_early_retrans", 3):
        tcp["tail_loss_probe"] = False
    if not sysctl.get("tcp_frto", 2):
        tcp["undo"] = ["dsack", "timestamps"]
    if not sysctl.get("tcp_slow_start_after_idle", 1):
        tcp["idle_restart"] = "none"
    if "win" in options:
        tcp["receive_window"] = max(1, (options["win"] << options.get("wscale", 10)) // options["mss"])
    return tcp


def whole(state: dict[str, Any]) -> dict[str, Any]:
    """The state of a sender in the words of TCP_INFO."""
    ssthresh = state["ssthresh"]
    return {
        "cwnd": int(state["cwnd"]),
        "ssthresh": -1 if math.isinf(ssthresh) else int(ssthresh),
        "ca_state": STATES[state["state"]],
        "packets_out": state["packets_out"],
        "sacked_out": state["sacked_out"],
        "lost_out": state["lost_out"],
        "retrans_out": state["retrans_out"],
        "total_retrans": state["retransmitted"],
        "reordering": state["reordering"],
        "reord_seen": state["reord_seen"],
        "dsack_dups": state["dsack_dups"],
        "backoff": state["backoff"],
        "total_rto": state["timeouts"],
        "srtt_us": round(state["srtt_us"] or 0),
        "rto_us": round(state["rto_us"]),
        "min_rtt_us": round(state["min_rtt_us"] or 0),
    }
