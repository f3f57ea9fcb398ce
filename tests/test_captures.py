"""Captures: the counts of tshark equal those of the outcome."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ackclock import Result, Scenario, ScenarioError

pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")

NETWORK = """
duration = "20s"
[[link]]
ends = ["s1", "r1"]
rate = "100Mbps"
delay = "1ms"
[[link]]
ends = ["r1", "r2"]
rate = "5Mbps"
delay = "15ms"
queue = { kind = "droptail", limit = "200p" }
[[link]]
ends = ["r2", "d1"]
rate = "100Mbps"
delay = "1ms"
[[flow]]
name = "f"
from = "s1"
to = "d1"
bytes = "3MB"
"""
LINUX = 'profile = "linux", receive_window = 60'
NS2 = 'profile = "ns2", receive_window = 20'


def run(tcp: str, loss: float = 0.0, places: tuple[str, ...] = ("",), more: str = "") -> Result:
    """Run the file transfer with these options."""
    text = f"tcp = {{ {tcp} }}\n{NETWORK}{more}"
    if loss:
        text = text.replace('"200p" }', f'"200p" }}\nloss = {{ kind = "bernoulli", rate = {loss} }}')
    return Scenario.parse(text).run(trace="ack", packets=True, captures=places)


def tshark(tmp_path: Path, capture: bytes, filtered: str, *fields: str) -> list[list[str]]:
    """The fields of the packets that a display filter lets through."""
    file = tmp_path / "c.pcapng"
    file.write_bytes(capture)
    wanted = [part for field in fields for part in ("-e", field)]
    command = ["tshark", "-N", "n", "-r", str(file), "-Y", filtered, "-T", "fields", *wanted]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    "tcp", [LINUX, NS2, f"{LINUX}, delayed_ack = false", f"{NS2}, syn = false", f"{LINUX}, header = 0"]
)
@pytest.mark.parametrize("place", ["", "s1", "d1", "r2", "r1->r2", "r1-r2"])
def test_nothing_is_amiss_in_a_lossless_run(tmp_path: Path, tcp: str, place: str) -> None:
    result = run(tcp, places=(place,))
    capture = result.captures[place]
    assert tshark(tmp_path, capture, "tcp.analysis.flags", "frame.number") == []
    seen = tshark(tmp_path, capture, "tcp.len > 0", "ip.src_host", "tcp.len")
    # With Linux's options the last segment of the 3 MB is short.
    lengths = {1448, 3_000_000 % 1448} if "linux" in tcp else {1000}
    assert {(host, int(length)) for host, length in seen} == {("s1", length) for length in lengths}
    assert len(seen) == result.outcome["flows"][0]["acked_packets"]


def test_options_of_the_handshake(tmp_path: Path) -> None:
    capture = run(LINUX).captures[""]
    names = [
        "options.mss_val",
        "options.wscale.shift",
        "options.sack_perm",
        "options.timestamp.tsval",
        "analysis.ack_rtt",
    ]
    syn, answer = tshark(tmp_path, capture, "tcp.flags.syn == 1", *(f"tcp.{name}" for name in names))
    assert syn[:2] == answer[:2] == ["1460", "1"]
    assert "" not in {syn[2], answer[2]}
    assert syn[3] == "0"
    assert answer[4].startswith("0.034")


def test_losses_retransmissions_and_sacks_are_counted_alike(tmp_path: Path) -> None:
    result = run(LINUX, loss=0.02)
    capture = result.captures[""]
    flow = result.outcome["flows"][0]
    again = "tcp.analysis.retransmission || tcp.analysis.out_of_order"  # Wireshark reports either one
    assert len(tshark(tmp_path, capture, again, "tcp.seq")) == flow["retransmitted_packets"] > 10
    rows = tshark(tmp_path, capture, "tcp.len > 0", "tcp.seq")
    assert len(rows) - len({row[0] for row in rows}) == flow["retransmitted_packets"]
    acks = result.packets.filter((result.packets["kind"] == "ack") & (result.packets["event"] == "deliver"))
    with_blocks = acks.filter((acks["link"] == "r1->s1") & (acks["size"] > 52)).height
    assert len(tshark(tmp_path, capture, "tcp.options.sack_le", "tcp.seq")) == with_blocks > 10
    flags = "tcp.analysis.flags && !tcp.analysis.duplicate_ack && !tcp.analysis.retransmission"
    assert tshark(tmp_path, capture, f"{flags} && !tcp.analysis.out_of_order", "frame.number") == []


@pytest.mark.parametrize("delayed", ["true", "false"])
def test_round_trips_are_those_that_the_controller_was_given(tmp_path: Path, delayed: str) -> None:
    result = run(f"{LINUX}, delayed_ack = {delayed}")
    shown = "tcp.analysis.ack_rtt && tcp.flags.syn == 0 && tcp.len == 0"  # a controller gets no sample of the handshake
    seen = [float(row[0]) for row in tshark(tmp_path, result.captures[""], shown, "tcp.analysis.ack_rtt")]
    given = result.trace["rtt_s"].drop_nulls().to_list()
    assert len(seen) == len(given) > 500
    assert seen == pytest.approx(given, abs=2e-9)


def test_marks_and_echoes(tmp_path: Path) -> None:
    red = 'kind = "red", limit = "100p", ecn = true'
    text = f"tcp = {{ {LINUX}, ecn = true }}\n{NETWORK}".replace('kind = "droptail", limit = "200p"', red)
    result = Scenario.parse(text).run(captures=["", "r1->r2"])
    (bottleneck,) = [link for link in result.outcome["links"] if link["name"] == "r1->r2"]
    marked = bottleneck["marked_packets"]
    on_link = tshark(tmp_path, result.captures["r1->r2"], "ip.dsfield.ecn == 3", "frame.number")
    assert len(on_link) == marked > 0
    host = result.captures[""]
    assert len(tshark(tmp_path, host, "tcp.flags.ece == 1 && tcp.flags.syn == 0", "frame.number")) > 0
    assert len(tshark(tmp_path, host, "tcp.flags.cwr == 1 && tcp.flags.syn == 0", "frame.number")) > 0
    assert {row[0] for row in tshark(tmp_path, host, "tcp.len > 0", "ip.dsfield.ecn")} == {"2"}
    handshake = tshark(tmp_path, host, "tcp.flags.syn == 1", "tcp.flags.ece", "tcp.flags.cwr")
    assert handshake == [["1", "1"], ["1", "0"]]


@pytest.mark.parametrize(("l4s", "kind"), [("false", "172"), ("true", "174")])
def test_accurate_feedback(tmp_path: Path, l4s: str, kind: str) -> None:
    red = 'kind = "red", limit = "100p", ecn = true'
    tcp = f'{LINUX}, ecn = true, ecn_feedback = "accurate", l4s = {l4s}'
    text = f"tcp = {{ {tcp} }}\n{NETWORK}".replace('kind = "droptail", limit = "200p"', red)
    result = Scenario.parse(text).run(captures=["", "r1->r2"])
    marked = len(tshark(tmp_path, result.captures["r1->r2"], "ip.dsfield.ecn == 3", "frame.number"))
    host = result.captures[""]
    assert tshark(tmp_path, host, "_ws.malformed", "frame.number") == []
    flags = ["tcp.flags.ae", "tcp.flags.cwr", "tcp.flags.ece"]
    assert tshark(tmp_path, host, "tcp.flags.syn == 1", *flags) == [["1", "1", "1"], ["0", "1", "0"]]
    acks = tshark(tmp_path, host, "tcp.len == 0 && tcp.flags.syn == 0", "tcp.flags.ace", "tcp.options.acc_ecn.eceb")
    assert all(int(ace) == (int(ce) // 1448 + 5) % 8 for ace, ce in acks)
    assert int(acks[-1][1]) == 1448 * marked > 0
    kinds = tshark(tmp_path, host, "tcp.options.acc_ecn.eceb", "tcp.option_kind")
    assert all(kind in row[0].split(",") for row in kinds)
    assert {row[0] for row in tshark(tmp_path, host, "tcp.len > 0", "tcp.flags.ace")} == {"5"}


def test_udp_and_several_hosts(tmp_path: Path) -> None:
    more = '[[flow]]\nname = "u"\nfrom = "r1"\nto = "d1"\nudp = { packet = 500, rate = "100kbps" }\n'
    result = run(LINUX, more=more)
    udp = tshark(
        tmp_path, result.captures[""], "udp", "ip.src_host", "ip.dst_host", "udp.length", "frame.interface_name"
    )
    assert {tuple(row) for row in udp} == {("r1", "d1", "480", "r1")}


def test_satellites_are_captured_at_terminals(tmp_path: Path, root: Path) -> None:
    text = (root / "scenarios" / "iridium.toml").read_text()
    scenario = Scenario.parse(text, ['duration="20s"'])
    source = scenario.network["flows"][0]["from"]
    capture = scenario.run(captures=[source]).captures[source]
    assert len(tshark(tmp_path, capture, "tcp.len > 0", "frame.number")) > 10


def test_a_place_that_is_not_there_is_told() -> None:
    with pytest.raises(ScenarioError, match='no node or link "r3" to capture at; nodes: s1, d1, r1, r2'):
        run(LINUX, places=("r3",))


def test_a_packet_is_the_same_wherever_it_is_seen(tmp_path: Path) -> None:
    places = ("s1", "r1->r2", "d1")
    result = run(LINUX, loss=0.02, places=places)
    fields = [f"tcp.{name}" for name in ("seq", "options.timestamp.tsval", "options.timestamp.tsecr", "ack", "flags")]
    seen = [tshark(tmp_path, result.captures[place], "tcp.len > 0", *fields) for place in places]
    sent = {tuple(row) for row in seen[0]}
    for rows in seen:
        assert len(rows) > 1000
        assert {tuple(row) for row in rows} <= sent
    assert all(int(echo) <= int(value) - 17 for _, value, echo, *_ in seen[0])


def test_a_link_is_captured_by_its_name(tmp_path: Path) -> None:
    named = NETWORK.replace('ends = ["r1", "r2"]', 'name = "bottleneck"\nends = ["r1", "r2"]')
    result = Scenario.parse(f"tcp = {{ {LINUX} }}\n{named}").run(captures=["bottleneck", "r1-r2"])
    by_name, by_ends = (tshark(tmp_path, result.captures[name], "tcp", "tcp.seq") for name in ("bottleneck", "r1-r2"))
    assert by_name == by_ends
    assert len(by_name) > 1000


def test_radio_nodes_beyond_a_gateway(tmp_path: Path, root: Path) -> None:
    text = (root / "scenarios" / "gateway.toml").read_text()
    lost = (
        'queue = { kind = "droptail", limit = "100p" }\nloss = { kind = "scripted", flow = "download", packets = [1] }'
    )
    text = text.replace('queue = { kind = "droptail", limit = "100p" }', lost)
    result = Scenario.parse(text, ['duration="5s"']).run(captures=["server", "n0"])
    handshake = tshark(tmp_path, result.captures["server"], "tcp.flags.syn == 1 && tcp.flags.ack == 1", "frame.number")
    assert len(handshake) == 1
    assert tshark(tmp_path, result.captures["server"], "tcp.analysis.duplicate_ack", "frame.number") != []
    acks = [len(tshark(tmp_path, result.captures[place], "tcp.len == 0", "tcp.ack")) for place in ("server", "n0")]
    assert acks[1] >= acks[0] > 10
    with pytest.raises(ScenarioError, match="n2 has no link, and packets on the radio channel are not captured"):
        Scenario.parse(text).run(captures=["n2"])


def test_a_place_given_twice_is_told() -> None:
    with pytest.raises(ScenarioError, match="a place is given twice"):
        run(LINUX, places=("s1", "s1"))


QUIC = """
duration = "2s"
[[link]]
name = "x"
ends = ["s", "d"]
rate = "10Mbps"
delay = "10ms"
queue = { kind = "droptail", limit = "20p" }
[[flow]]
name = "q"
from = "s"
to = "d"
bytes = "200kB"
quic = { tls = true }
[[flow]]
name = "r"
from = "d"
to = "s"
bytes = "50kB"
quic = { tls = true }
"""


def test_wireshark_decrypts_quic_under_tls(tmp_path: Path) -> None:
    capture = Scenario.parse(QUIC).run(captures=["x"]).captures["x"]
    assert tshark(tmp_path, capture, "quic.decryption_failed || _ws.malformed", "frame.number") == []
    rows = tshark(tmp_path, capture, "quic.stream.offset", "ip.src_host", "quic.stream.offset")
    for host, size in (("s", 200_000), ("d", 50_000)):
        offsets = [int(offset) for source, text in rows if source == host for offset in text.split(",")]
        assert size - 1500 < max(offsets) < size
    done = tshark(tmp_path, capture, "quic.frame_type == 0x1e", "ip.src_host")
    assert {row[0] for row in done} == {"s", "d"}, "each server confirms the handshake"
    assert tshark(tmp_path, capture, "quic.key_phase == 1", "frame.number") != [], "packets after a key update"


def test_a_capture_of_quic_without_tls_says_what_can_be_read(tmp_path: Path) -> None:
    capture = Scenario.parse(QUIC.replace("tls = true", "tls = false")).run(captures=["x"]).captures["x"]
    file = tmp_path / "c.pcapng"
    file.write_bytes(capture)
    said = subprocess.run(["capinfos", str(file)], capture_output=True, text=True, check=True).stdout
    assert "QUIC without TLS (tls = false)" in said
    assert tshark(tmp_path, capture, "_ws.malformed", "frame.number") == []
    initial = tshark(tmp_path, capture, "quic.long.packet_type == 0", "ip.src_host", "quic.version")
    assert {host for host, *_ in initial} == {"s", "d"}
    tcp = Scenario.parse(NETWORK).run(captures=["r1"]).captures["r1"]
    assert b"QUIC" not in tcp
