"""Stacks outside: which command starts them, and what they may do (docs/security.md)."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

import ackclock as package
from conftest import Command
from security import NETWORK, Place, line

STACK = """
command = [{python}, "-c", "open('started', 'w').close()", "; touch shell"]
controllers = {{ reno = "reno" }}
"""


@line("N1")
def test_a_stack_is_started_by_the_command_that_names_it_alone(ackclock: Command, place: Place) -> None:
    place.write("s.toml", NETWORK)
    place.write("stack.toml", STACK.format(python=json.dumps(sys.executable)))
    for command in (["run", "s.toml", "--json"], ["check", "s.toml"], ["compare", "--control", "reno,cubic", "s.toml"]):
        ackclock(*command, cwd=place.folder)
        assert not (place.folder / "started").exists()
    assert ackclock("check", "stack.toml", cwd=place.folder).returncode == 2
    assert not (place.folder / "started").exists()
    for command in (
        ["conform", "stack.toml", "--situations", "bdp", "--seeds", "3"],
        ["run", "s.toml", "--on", "stack:stack.toml:reno"],
    ):
        done = ackclock(*command, cwd=place.folder)
        assert done.returncode == 4, done.stderr
        assert "ackclock: runs " in done.stderr
        (place.folder / "started").unlink()
        assert not (place.folder / "shell").exists()
        assert not (place.folder / "out/conform").exists()


@line("N2")
def test_a_program_ends_with_the_run_and_its_answers_are_data(place: Place) -> None:
    place.write("s.toml", NETWORK)
    program = (
        "import subprocess, sys, struct\n"
        "child = subprocess.Popen(['sleep', '1000'], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)\n"
        "open('pid', 'w').write(str(child.pid))\n"
        "sys.stdout.buffer.write(struct.pack('<IB', 2**32 - 1, ord('R')))\n"
    )
    with pytest.raises(package.StackFailure, match="a frame R was expected"):
        package.Network("s.toml").drive_programs({"both": [sys.executable, "-c", program]})
    pid = Path("pid").read_text(encoding="utf-8")
    for _ in range(50):
        status = Path(f"/proc/{pid}/stat")
        if not status.exists() or status.read_text(encoding="utf-8").split()[2] == "Z":
            break
        time.sleep(0.1)
    else:
        pytest.fail(f"process {pid} is left")
    assert os.getpid() != int(pid)
