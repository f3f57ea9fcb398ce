"""Recordings of other programs are data (docs/security.md Q1 to Q3)."""

from __future__ import annotations

import json
import socket
import struct
import time

import pytest

from ackclock import _core
from ackclock.cli.app import main
from security import NETWORK, Place, line


def _capture(place: Place) -> None:
    """Write `c.pcapng`."""
    place.write("plain.toml", NETWORK.replace("0.5s", "3s"))
    assert main(["run", "plain.toml", "--pcap", "a=c.pcapng"]) == 0
    place.files()


@line("Q1")
def test_nothing_of_a_recording_is_executed(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def connect(*_: object) -> None:
        raise AssertionError("a recording led to a connection")

    for name in ("connect", "connect_ex", "bind", "sendto"):
        monkeypatch.setattr(socket.socket, name, connect)
    hostile = {"qlog_version": "0.3", "title": "mine.py:X", "traces": [{"title": "\x1b[2J", "events": []}]}
    place.write("q.qlog", json.dumps(hostile))
    assert main(["read", "q.qlog"]) == 0
    assert "\x1b" not in capsys.readouterr().out
    _capture(place)
    assert main(["read", "c.pcapng"]) == 0
    assert main(["why", "c.pcapng", "--at", "1s"]) == 0
    assert not place.files()
    assert not place.executed()


@line("Q2")
def test_hostile_recordings_take_bounded_work() -> None:
    """Many traces, deep JSON, an endless line and blocks of 4 GB: the work stays that of their length."""
    traces = b'{"qlog_version":"0.3","traces":[' + b'{"events":[]},' * 70_000
    deep = b'{"qlog_version":"0.3","traces":' + b"[" * 1_000_000
    endless = b"ESTAB cwnd:1 rtt:1 " + b"x" * 8_000_000
    blocks = struct.pack("<IIIIIII", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0xFFFFFFFF, 0xFFFFFFFF, 28)
    blocks += struct.pack("<III", 77, 0xFFFFFFFC, 0) * 100
    for content in (traces, deep, endless, blocks):
        began = time.process_time()
        reader = _core.TraceReader(0, 0, None, None)
        reader.push(content)
        about = json.loads(reader.finish())
        assert time.process_time() - began < 20
        assert len(json.dumps(about)) < 1_000_000


@line("Q3")
def test_what_is_written_has_no_addresses(place: Place) -> None:
    _capture(place)
    assert main(["read", "c.pcapng", "--out", "r.csv", "--plot", "f.svg"]) == 0
    main(["model", "c.pcapng", "--control", "reno", "--out", "p.toml"])
    assert main(["view", "c.pcapng", "--no-open", "--out", "v.html"]) == 0
    for name in ("r.csv", "f.svg", "p.toml", "v.html"):
        text = (place.folder / name).read_text(encoding="utf-8")
        assert (
            "10.0.0." not in text.partition('id="ackclock-recording"')[2] if name == "v.html" else "10.0.0." not in text
        )
    held = json.loads(
        (place.folder / "v.html").read_text(encoding="utf-8").split('id="ackclock-recording">')[1].split("</script>")[0]
    )
    flow = held["transfer"]["about"]["flows"][0]
    assert flow["label"] == "A -> B"
    assert not {"ends", "names", "name", "title"} & set(flow)
    assert "c.pcapng" not in json.dumps(held)
    assert main(["read", "c.pcapng", "--plot", "g.svg", "--addresses"]) == 0


@line("Q3")
@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "ss.txt",
            "Time: 1700000000\nESTAB 0 0 192.0.2.7:443 198.51.100.55:50000\n\t cubic rtt:5/1 cwnd:10\n",
        ),
        (
            "f.flent",
            json.dumps(
                {
                    "metadata": {"BATCH_NAME": ""},
                    "x_values": [0, 1, 2],
                    "results": {"Ping (ms) ICMP 192.0.2.7 (extra)": [5, 6, 7]},
                }
            ),
        ),
        (
            "q.qlog",
            json.dumps(
                {
                    "qlog_version": "0.3",
                    "title": "alice 192.0.2.7",
                    "traces": [
                        {
                            "title": "alice 192.0.2.7",
                            "events": [
                                {
                                    "time": at,
                                    "name": "recovery:metrics_updated",
                                    "data": {"congestion_window": 12000, "latest_rtt": 5, "secret_192_0_2_7": 1},
                                }
                                for at in range(30)
                            ],
                        }
                    ],
                }
            ),
        ),
    ],
)
def test_logs_and_qlogs_have_no_addresses_either(place: Place, name: str, content: str) -> None:
    place.write(name, content)
    assert main(["view", name, "--no-open", "--out", "v.html"]) == 0
    assert main(["read", name, "--out", "r.csv", "--plot", "f.svg"]) == 0
    held = (place.folder / "v.html").read_text(encoding="utf-8").partition('id="ackclock-recording"')[2]
    shared = [held.partition("</script>")[0], *((place.folder / one).read_text("utf-8") for one in ("r.csv", "f.svg"))]
    for text in shared:
        assert "192.0.2" not in text
        assert "192_0_2" not in text
        assert "198.51" not in text
        assert "alice" not in text
