"""A controller that ends its process, sleeps, forks, takes all memory or writes everywhere costs its own runs only.

It is line T5 of docs/security.md.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import one_situation
from security import line

NETWORK = """
duration = "3s"
[[link]]
ends = ["a", "b"]
rate = "5Mbps"
delay = "5ms"
[[flow]]
name = "f"
from = "a"
to = "b"
tcp = { congestion_control = { python = "bad.py:Bad" } }
"""
BAD = """
import os, pickle, time
from ackclock import Controller


class Bad(Controller):
    acks = 0

    def on_ack(self, ack):
        self.acks += 1
        if self.acks == 200:
            WHAT
        self.cwnd = 20.0

    def on_congestion(self, event):
        pass

    def on_rto(self, event):
        pass
"""
ENDS = {
    "os._exit(0)": "ended with exit status 0",
    "os.kill(os.getpid(), 9)": "ended by signal 9",
    "time.sleep(600)": "time limit of 2 s (--time-limit)",
    "[bytearray(1 << 28) for _ in range(10_000)]": "",
    "raise KeyboardInterrupt": "",
    "raise SystemExit(0)": "SystemExit",
    "[os.write(fd, b'x' * 99) for fd in range(3, 99) if os.path.exists(f'/proc/self/fd/{fd}')]": "descriptors",
}
"""What a controller does, and what is said of its run."""
GOOD = ("os.fork()", "pass")
"""What leaves a result."""


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder; it ends within a minute."""
    return subprocess.run(
        [sys.executable, "-m", "ackclock.cli", *arguments],
        cwd=folder, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def made(folder: Path, what: str) -> Path:
    (folder / "net.toml").write_text(NETWORK)
    (folder / "bad.py").write_text(BAD.replace("WHAT", what))
    return folder


def left(folder: Path) -> list[str]:
    """Processes whose working folder is this one, after they had a moment to end."""
    for _ in range(40):
        running = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if Path(os.readlink(process / "cwd")) == folder:
                    running.append((process / "cmdline").read_text())
            except OSError:
                continue
        if not running:
            return []
        time.sleep(0.05)
    return running


@line("T5")
@pytest.mark.parametrize("what", ENDS)
@pytest.mark.parametrize("arguments", [("run",), ("why", "--at", "2s")])
def test_the_run_of_a_command_fails_with_words(tmp_path: Path, what: str, arguments: tuple[str, ...]) -> None:
    first, *more = arguments
    done = command(made(tmp_path, what), first, "net.toml", *more, "--time-limit", "2s")
    assert done.returncode in {1, 130}, done.stderr
    assert done.stderr.splitlines()[-1].startswith("ackclock: ")
    assert ENDS[what] in done.stderr
    assert "Traceback (most recent call last)" not in done.stderr.replace(BAD, "") or "SystemExit" in what
    assert not left(tmp_path)


@line("T5")
@pytest.mark.parametrize("what", GOOD)
def test_one_result_is_printed(tmp_path: Path, what: str) -> None:
    done = command(made(tmp_path, what), "run", "net.toml", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["flows"][0]["name"] == "f"
    assert not left(tmp_path)


@line("T5")
@pytest.mark.parametrize("what", ENDS)
def test_runs_of_a_study_beside_them_have_results(tmp_path: Path, what: str) -> None:
    """Also with one job, and in a suite and a comparison, which run studies."""
    folder = made(tmp_path, f"if self.__class__.hard: {what}")
    text = (folder / "bad.py").read_text().replace("acks = 0", "acks = 0\n    hard = False")
    hard = (
        text + "\n    def __init__(self, flow, hard=False):\n        super().__init__(flow)\n        Bad.hard = hard\n"
    )
    (folder / "bad.py").write_text(hard)
    study = NETWORK + '[sweep]\nseed = [1, 2]\n"flow.f.tcp.congestion_control.hard" = [false, true]\n'
    (folder / "net.toml").write_text(study)
    done = command(folder, "sweep", "net.toml", "--out", "o", "--json", "--jobs", "1", "--time-limit", "2s")
    summary = json.loads(done.stdout)
    assert (summary["runs"], summary["done"] + summary["failed"], summary["failed"]) == (4, 4, 2), done.stderr
    assert done.returncode == 1
    assert not left(tmp_path)


def test_a_suite_with_a_class_that_ends_its_process(tmp_path: Path) -> None:
    folder = made(tmp_path, "os._exit(0)")
    (folder / "suite").mkdir()
    plain = NETWORK.replace('tcp = { congestion_control = { python = "bad.py:Bad" } }', "")
    (folder / "suite" / "one.toml").write_text(plain)
    (folder / "suite" / "suite.toml").write_text(one_situation(2))
    done = command(folder, "suite", "suite", "--control", "bad.py:Bad", "--quick", "--out", "o", "--jobs", "1")
    assert done.returncode == 1, done.stderr
    assert "ended with exit status 0" in done.stdout + done.stderr
    assert not left(tmp_path)
