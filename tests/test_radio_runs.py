"""The user interface of radio networks: outcomes, `ackclock radio`, studies, and input errors."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ackclock import Scenario
from ackclock.apps.radio import RadioRecording, draw
from ackclock.base.files import BadInput

Run = Callable[..., "subprocess.CompletedProcess[str]"]
MANET, GATEWAY = "scenarios/manet.toml", "scenarios/gateway.toml"
LINE = """
duration = "5s"
[radio]
nodes = 3
mobility = { kind = "static", positions = [[0, 0], [200, 0], [400, 0]] }
[[flow]]
name = "f"
from = "n0"
to = "n2"
udp = { rate = "80kbps", packet = 500 }
"""


def test_the_outcome_says_what_became_of_packets(ackclock: Run) -> None:
    done = ackclock("run", MANET, "--set", "duration=30s", "--json", "--audit")
    assert done.returncode == 0, done.stderr
    radio = json.loads(done.stdout)["radio"]
    assert radio["offered_packets"] > 200
    lost = sum(radio["dropped_packets"].values())
    assert 0 <= radio["offered_packets"] - radio["received_packets"] - lost < 30  # packets still in transit at the end
    assert radio["delivery_ratio"] == radio["received_packets"] / radio["offered_packets"]
    assert radio["routing_load"] == radio["routing_packets"] / radio["received_packets"]
    assert set(radio["mac_drops"]) == {"retry", "collision", "busy", "duplicate"}
    assert 1 <= radio["mean_hops"] < 4


def test_a_wire_and_the_air(ackclock: Run) -> None:
    done = ackclock("run", GATEWAY, "--json", "--audit")
    outcome = json.loads(done.stdout)
    assert outcome["flows"][0]["goodput_bps"] > 1e6
    assert outcome["radio"]["mean_hops"] == 2
    assert outcome["links"][0]["delivered_packets"] > 2000


def test_the_seed_decides_and_nothing_else() -> None:
    made = Scenario.load(MANET, ["duration=20s"])
    prints = [made.run(seed=seed, fingerprint=True).fingerprint for seed in (1, 1, 2)]
    assert prints[0] == prints[1] != prints[2]


def test_radio_keys_can_be_axes(ackclock: Run, tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(LINE + '[sweep]\nseed = "1..2"\n"radio.mac.rate" = ["1Mbps", "2Mbps"]\n')
    assert ackclock("sweep", str(study), "--out", str(tmp_path / "out")).returncode == 0
    found = ackclock("results", str(tmp_path / "out"), "--export", str(tmp_path / "all.csv"))
    assert found.returncode == 0
    assert len((tmp_path / "all.csv").read_text().splitlines()) == 5


def test_a_map(ackclock: Run, tmp_path: Path) -> None:
    plot = tmp_path / "air.png"
    made = ackclock("radio", MANET, "--plot", str(plot), "--at", "20s")
    assert made.returncode == 0, made.stderr
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_what_the_map_shows_is_what_was_sent(tmp_path: Path) -> None:
    file = tmp_path / "line.toml"
    file.write_text(LINE)
    recording = RadioRecording(file)
    steps = recording.between(0.0, 5.0)
    assert recording.range_m == pytest.approx(250.0, abs=0.1)
    assert np.allclose(recording.places(3.0), [[0, 0], [200, 0], [400, 0]])
    hops = [(a, b) for kind, a, b in steps if kind == "data"]
    # Twenty packets a second over two hops, after a route request by broadcast and one reply.
    assert set(hops) == {(0, 1), (1, 2)}
    assert len(hops) == pytest.approx(2 * 5 * 20, abs=4)
    assert any(kind == "routing" and to is None for kind, _, to in steps)
    assert {(a, b) for kind, a, b in steps if kind == "routing" and b is not None} >= {(2, 1), (1, 0)}
    title = draw(recording, 1.0, 1.0).axes[0].get_title()
    assert "40 data frames" in title


def test_movement_files_are_read_beside_the_scenario(ackclock: Run, tmp_path: Path) -> None:
    moves = "$node_(0) set X_ 0.0\n$node_(0) set Y_ 0.0\n$node_(1) set X_ 100.0\n$node_(1) set Y_ 0.0\n"
    moves += '$ns_ at 1.0 "$node_(1) setdest 900.0 0.0 400.0"\n'
    with gzip.open(tmp_path / "moves.tcl.gz", "wt") as packed:
        packed.write(moves)
    file = tmp_path / "scenario.toml"
    text = LINE.replace("nodes = 3", "nodes = 2").replace('to = "n2"', 'to = "n1"')
    file.write_text(text.replace(text.split("\n")[4], 'mobility = { kind = "ns2", file = "moves.tcl.gz" }'))
    outcome = json.loads(ackclock("run", str(file), "--json").stdout)
    # In range for a second and a half of five.
    assert 0.2 < outcome["radio"]["delivery_ratio"] < 0.4
    file.write_text(file.read_text().replace("nodes = 2", "nodes = 4"))
    refused = ackclock("run", str(file))
    assert refused.returncode == 2
    assert "radio.mobility.file: node 2 has no position" in refused.stderr


def test_mistakes(ackclock: Run, tmp_path: Path) -> None:
    for arguments, message in (
        (("scenarios/dumbbell.toml", "--plot", str(tmp_path / "a.png")), "there are no radio nodes"),
        ((MANET, "--plot", str(tmp_path / "a.doc")), "must end in"),
        ((MANET, "--animate", str(tmp_path / "a.gif")), "ackclock view"),
        ((MANET, "--plot", str(tmp_path / "a.png"), "--every", "0s"), "more than zero"),
        ((MANET, "--plot", str(tmp_path / "a.png"), "--at", "1000s"), "the run ends after"),
    ):
        done = ackclock("radio", *arguments)
        assert done.returncode == 2, arguments
        assert message in done.stderr, done.stderr
    assert not list(tmp_path.iterdir())
    file = tmp_path / "s.toml"
    file.write_text(LINE)
    with pytest.raises(BadInput):
        RadioRecording("scenarios/dumbbell.toml")
