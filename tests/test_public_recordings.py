"""Captures and qlogs that others publish, with what their authors' programs say of them (docs/traces.md).

The files are fetched into the cache folder; ACKCLOCK_PUBLIC names a folder that has the repositories already.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from ackclock.apps.traces import Options, describe
from ackclock.base.files import BadInput

REPOSITORIES = {
    "tcptrace": "https://github.com/blitz/tcptrace",
    "tcprs": "https://github.com/jswaro/tcprs",
    "qvis": "https://github.com/quiclog/qvis",
    "picoquic": "https://github.com/private-octopus/picoquic",
}
QLOGS = {
    "qvis/visualizations/public/standalone_data/draft-00/quictrace_example_github.qlog": (18_556, 238),
    "qvis/visualizations/public/standalone_data/draft-01/doublevantage_100ms.qlog": (6_737, None),
    "qvis/visualizations/public/standalone_data/draft-01/parallel_10_50KB_f5.qlog": (None, None),
    "qvis/visualizations/public/standalone_data/draft-01/new_cid.qlog": (None, None),
    "picoquic/picoquictest/qlog_trace_ecn_ref.txt": (None, None),
    "picoquic/picoquictest/multipath_qlog_ref.txt": (None, None),
    "picoquic/picoquictest/binlog_ref.qlog": (None, None),
}
"""Files with their events and losses, if the specification names them."""
TCPTRACE_DIFFERENT = 9
"""Directions that differ.

Two of FDDI, which is not read; two of SYNs that are sent again with data; one each of a reset connection of a Solaris
host, of hardware duplicates, of an HTTP transfer, of urgent data, and of window probes.
"""
TCPRS_EQUAL = 71
"""Captures of 100 with the same number of retransmissions."""

pytestmark = pytest.mark.nightly


def repository(name: str) -> Path:
    """The folder of a repository, which is cloned if it is not there."""
    root = Path(os.environ.get("ACKCLOCK_PUBLIC", Path.home() / ".cache" / "ackclock" / "public"))
    folder = root / name
    if not folder.is_dir():
        root.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "clone", "--quiet", "--depth", "1", REPOSITORIES[name], str(folder)], check=True)
    return folder


@pytest.mark.parametrize("path", QLOGS)
def test_public_qlogs_are_read(path: str) -> None:
    name, _, rest = path.partition("/")
    about = describe(repository(name) / rest, Options())
    events, losses = QLOGS[path]
    assert about["flows"]
    assert sum(flow["events"] for flow in about["flows"]) > 30
    if events is not None:
        assert sum(flow["events"] for flow in about["flows"]) == events
    if losses is not None:
        flow = about["flows"][0]
        assert flow["lost_packets"] == losses
        assert (round(1e3 * flow["min_rtt_s"]), round(1e3 * flow["max_rtt_s"])) == (124, 161)


def _of_tcptrace(text: str) -> dict[tuple[str, str, int], tuple[int, int, int]]:
    """Of each direction with data: packets, bytes, and retransmissions with segments out of order."""
    said: dict[tuple[str, str, int], tuple[int, int, int]] = {}
    for connection in re.split(r"\nTCP connection \d+:", text)[1:]:
        hosts = re.findall(r"host \S+:\s+(\S+)", connection)

        def two(key: str, connection: str = connection) -> tuple[int, int]:
            found = re.search(re.escape(key) + r":\s+(\d+)\s.*?" + re.escape(key) + r":\s+(\d+)", connection)
            return (int(found[1]), int(found[2])) if found else (0, 0)

        packets, size = two("actual data pkts"), two("actual data bytes")
        again, order = two("rexmt data pkts"), two("outoforder pkts")
        for way in (0, 1):
            if len(hosts) >= 2 and packets[way]:
                said[hosts[way], hosts[1 - way], len(said)] = (packets[way], size[way], again[way] + order[way])
    return said


def test_the_set_of_tcptrace() -> None:
    folder = repository("tcptrace") / "input"
    total, different = 0, []
    for output in sorted((folder / "OUTPUTbench").glob("*.long")):
        said = _of_tcptrace(output.read_text(errors="replace"))
        if not said:
            continue
        try:
            flows = describe(folder / output.name.removesuffix(".long"), Options())["flows"]
        except BadInput:
            continue  # a capture of ePeek, NetMetrix and others, which is no pcap
        ours: dict[tuple[str, str], list[Any]] = defaultdict(list)
        for flow in flows:
            source, target = (re.sub(r"[\[\]]", "", end) for end in flow["ends"])
            numbers = (flow["captured_segments"], flow["sent_bytes"])
            ours[source, target].append((*numbers, flow["retransmitted_segments"] + flow["out_of_order"]))
        for (source, target, _), wanted in said.items():
            total += 1
            if wanted not in ours[source, target]:
                different.append((output.name, source, wanted, ours[source, target]))
    assert total == 177
    assert len(different) == TCPTRACE_DIFFERENT, different


def test_the_set_of_tcprs() -> None:
    folder = repository("tcprs") / "tests"
    equal = total = 0
    for log in sorted((folder / "Baseline").glob("*/tcpretransmissions.log")):
        _, group, name = log.parent.name.split(".", 2)
        trace = folder / "Traces" / "tcp" / group / f"{name}.trace"
        if not trace.is_file():
            continue
        rows = [line.split("\t") for line in log.read_text().splitlines() if not line.startswith("#")]
        theirs = len({(row[0], row[7]) for row in rows})
        flows = describe(trace, Options())["flows"]
        total += 1
        equal += theirs == sum(flow["retransmitted_segments"] + flow["out_of_order"] for flow in flows)
    assert total == 100
    assert equal >= TCPRS_EQUAL
