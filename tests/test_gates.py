"""Commands as gates of a continuous integration: each fails for the right reason, and passes without one."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ackclock import _core
from ackclock.apps.reach.results import Unavailable
from ackclock.cli.app import main
from conftest import one_situation

NETWORK = """
duration = "10s"
[[link]]
name = "path"
ends = ["a", "b"]
rate = "5Mbps"
delay = "10ms"
queue = { kind = "droptail", limit = "30p" }
loss = { kind = "bernoulli", rate = 0.01 }
[[flow]]
name = "f"
from = "a"
to = "b"
"""
CONTROLLER = """
from ackclock import Controller


class Mine(Controller):
    def on_ack(self, ack):
        if ack.may_grow:
            self.cwnd += ack.newly_delivered / self.cwnd

    def on_congestion(self, event):
        self.cwnd = self.ssthresh = max(2.0, KEEP * event.window)

    def on_rto(self, event):
        self.ssthresh, self.cwnd = max(2.0, event.window / 2), 1.0
"""
Said = Callable[[], str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "net.toml").write_text(NETWORK)
    (tmp_path / "old.py").write_text(CONTROLLER.replace("KEEP", "0.7"))
    (tmp_path / "worse.py").write_text(CONTROLLER.replace("KEEP", "0.05"))
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "one.toml").write_text(NETWORK.replace('name = "f"', 'name = "tested"'))
    (tmp_path / "suite" / "suite.toml").write_text(one_situation(4))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    return lambda: capsys.readouterr().err


def test_compare(folder: Path, said: Said) -> None:
    def compare(first: str, second: str, *more: str) -> int:
        return main(
            [
                "compare",
                "--control",
                f"{first},{second}",
                "--on",
                "net.toml",
                "--seeds",
                "5",
                *more,
                "--metric",
                "goodput",
            ]
        )

    assert compare("worse.py:Mine", "old.py:Mine") == 0  # a comparison, and no gate
    said()
    assert compare("worse.py:Mine", "old.py:Mine", "--gate") == 1
    reasons = [line for line in said().splitlines() if "--gate" in line]
    assert any("goodput" in line and "worse" in line for line in reasons), reasons
    assert compare("old.py:Mine", "worse.py:Mine", "--gate") == 0
    # A controller that no network can have is no success.
    assert compare("rcp", "old.py:Mine", "--gate") == 1
    assert "rcp" in said()


def test_suite(folder: Path, said: Said) -> None:
    def suite(file: str, *more: str) -> int:
        shutil.copy(folder / file, folder / "mine.py")
        return main(["suite", "suite", "--control", "mine.py:Mine", "--out", "out", *more])

    assert suite("old.py", "--gate") == 2
    assert "has no earlier results" in said()
    assert suite("old.py") == 0
    assert suite("old.py", "--gate") == 0
    said()
    assert suite("worse.py", "--gate") == 1
    assert "--gate: one: goodput is worse" in said()
    # It fails as long as the controller is worse: the earlier results are kept.
    assert suite("worse.py", "--gate") == 1
    assert suite("old.py", "--gate") == 0


def emulated(*arguments: str) -> int:
    if not hasattr(_core, "emulate"):
        pytest.skip("emulation needs Linux")
    try:
        return main(["emulate", *arguments])
    except Unavailable as error:
        pytest.skip(str(error))


SENDS = (
    f"{sys.executable} -c \"import socket; s = socket.socket(2, 2); s.sendto(b'x' * 99, ('10.77.0.2', 9))\"; sleep 1"
)


@pytest.mark.parametrize(
    ("arguments", "status", "reason"),
    [
        (("--", "sh", "-c", SENDS), 0, ""),
        (("--", "sh", "-c", f"{SENDS}; exit 3"), 5, "the program has ended with status 3"),
        (("--at-to", "./nosuch", "--", "sh", "-c", SENDS), 5, "cannot run ./nosuch"),
        (("--at-to", "sh -c 'exit 7'", "--", "sh", "-c", SENDS), 5, "the other end has ended with status 7"),
        (("--", "true"), 5, "no packet crossed the network"),
    ],
)
def test_emulate(folder: Path, said: Said, arguments: tuple[str, ...], status: int, reason: str) -> None:
    ended = emulated("net.toml", *arguments)
    if ended == 3:
        pytest.skip(said())
    if status == 0 and ended == 4:  # this machine was too slow, which the command says
        assert "NOT VALID" in said()
        return
    assert ended == status
    assert reason in said()


def test_emulate_divides_by_the_elapsed_time(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The network would last for 30 days; the program sends for a second."""
    status = emulated("net.toml", "--json", "--", "sh", "-c", SENDS)
    if status == 3:
        pytest.skip(capsys.readouterr().err)
    report = json.loads(capsys.readouterr().out)
    assert 0.5 < report["measured_s"] < 60
    used = next(link["utilisation"] for link in report["links"] if link["name"] == "a->b")
    bits = report["ends"][0]["sent_bytes"] * 8
    assert used == pytest.approx(bits / 5e6 / report["measured_s"], rel=0.2)
