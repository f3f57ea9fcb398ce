"""The benchmark beside other simulators, without them: `benches/peers.py`."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from ackclock.apps.bench import Measurement

sys.path.insert(0, str(Path(__file__).parents[1] / "benches"))
import peers


def test_the_table() -> None:
    """A ratio is that of one round; the median of ratios is not the ratio of medians."""
    row = peers.Row(100, peers.Peer("htsim", lambda flows, seconds: [], 300, (5, 10)), (96e6, 95.52e6))
    mine = [Measurement(10_000_000, cpu_s, 0) for cpu_s in (0.25, 0.5, 0.2)]
    row.pairs.ours.extend(mine)
    row.pairs.theirs.extend(Measurement(10_000_000, cpu_s, 0) for cpu_s in (1.0, 1.0, 2.0))
    lines = peers.table([(mine, [row])], (100,)).splitlines()
    assert lines[2] == "| Ackclock | 100 | 1000 | 40.0 | | | |"
    assert lines[3] == "| htsim | 100 | 300 | 10.00 | 4.0 (2.0 to 10.0) | 96.0 | 95.5 (-0.5 %) |"
    assert len({line.count("|") for line in lines}) == 1


def test_goodput_of_the_second_half() -> None:
    assert peers.second_half(80e6, 90e6) == pytest.approx(100e6)


def test_packet_hops_that_are_derived_wrongly_are_an_error() -> None:
    peer = peers.Peer("ns-2", lambda flows, seconds: [], 200, (5, 10))
    peers.check_count(peer, 10, {"packet_hops": 999, "counted": 1000})
    with pytest.raises(RuntimeError, match=r"ns-2, 1,000 flows: .* differ by -2\.00 %"):
        peers.check_count(peer, 1000, {"packet_hops": 980, "counted": 1000})


def test_programs_that_are_not_installed_are_named_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(peers, "BUILT", tmp_path)
    assert peers.find_peers(None) == []
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(";")[0] for line in lines] == [
        "left out: ns-2 is not installed",
        "left out: htsim: git is not installed",
        "left out: ns-3: no C++ compiler",
    ]
    assert all("apt-get install" in line for line in lines)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["0"], "'0' is not a whole number of at least 1"),
        (["10", "--rounds", "x"], "'x' is not a whole number of at least 1"),
        (["--htsim", "absent"], "absent has no file sim/tcp.h"),
    ],
)
def test_bad_input(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as status:
        peers.main(words)
    assert status.value.code == 2
    assert says in capsys.readouterr().err
