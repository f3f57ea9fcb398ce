"""Captures of this machine's kernel through `ackclock emulate`: needs root, dumpcap and iperf3."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ackclock.apps.traces import Options, read_flow
from ackclock.apps.traces.controller import which

pytestmark = pytest.mark.nightly

NETWORK = """duration = "20s"
[[link]]
ends = ["a", "b"]
rate = "20Mbps"
delay = "15ms"
queue = { kind = "droptail", limit = "60p" }
[[flow]]
name = "f"
from = "a"
to = "b"
"""
SCRIPT = """dumpcap -q -i any -s 128 -w k.pcapng 2>/dev/null & D=$!
sleep 1
iperf3 -J -c $1 -t 10 -C $2 > iperf.json
sleep 0.5
kill -INT $D; wait $D
"""


@pytest.mark.parametrize("control", ["reno", "cubic", "bbr"])
def test_a_capture_of_the_kernel_gives_its_counts_and_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, control: str
) -> None:
    """Retransmissions are those that TCP_INFO counts; rate and base within 1 %, the buffer within two packets."""
    monkeypatch.chdir(tmp_path)
    Path("k.toml").write_text(NETWORK, encoding="utf-8")
    Path("k.sh").write_text(SCRIPT, encoding="utf-8")
    command = [sys.executable, "-m", "ackclock.cli", "emulate", "k.toml", "--at-to", "iperf3 -s -1"]
    subprocess.run([*command, "--", "sh", "k.sh", "{remote}", control], check=True, timeout=120)
    recorded = read_flow(tmp_path / "k.pcapng", Options())
    iperf = json.loads(Path("iperf.json").read_text(encoding="utf-8"))
    assert recorded.flow["retransmitted_packets"] == iperf["end"]["sum_sent"]["retransmits"]
    assert recorded.flow["timeouts"] == 0
    path = json.loads(recorded.reader.path())
    assert path["base_s"][0] == pytest.approx(0.03062, rel=0.01)
    assert abs(path["buffer_packets"] - 61) <= 2
    if control != "bbr":  # which is paced below the link's rate most of the time
        assert path["rate_bps"][0] == pytest.approx(20e6, rel=0.01)
    # CUBIC is told in about half of the runs, and nothing else is said of it.
    assert which(recorded).names in ([], [control])
    assert which(recorded).candidates[0].name == "cubic" or control != "cubic"
