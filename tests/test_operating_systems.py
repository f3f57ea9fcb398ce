"""What a command imports, and commands on a system without the modules and functions that Windows lacks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ackclock.base import operating_system

HEAVY = ("polars", "numpy", "matplotlib", "scipy", "pandas", "statsmodels")
"""Packages that take longer to import than a small scenario takes to run."""
COMMANDS = {
    "run": ["run", "@dumbbell", "--set", "duration=1s"],
    "check": ["check", "@dumbbell", "@cellular"],
    "list": ["list", "controllers"],
    "why": ["why", "@dumbbell", "--at", "2s"],
}
IMPORTED = """
import json, sys
from ackclock.entry import main
status = main()
with open(1, "w", closefd=False) as out:
    print(json.dumps([status, sorted(sys.modules)]), file=out)
"""

WITHOUT = """
import os, select, signal, sys
for name in ("fcntl", "grp", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"):
    sys.modules[name] = None  # its import raises ImportError
import subprocess, threading, multiprocessing
for owner, names in {
    os: "fork forkpty getuid geteuid killpg register_at_fork setsid O_NOFOLLOW O_NONBLOCK O_CLOEXEC O_DIRECTORY",
    signal: "SIGHUP sigtimedwait pthread_sigmask sigwait",
}.items():
    for name in names.split():
        if hasattr(owner, name):
            delattr(owner, name)
"""
"""What Windows lacks. It has no `select` for pipes either, which `ackclock.base.operating_system` alone uses."""
LOCK = "import ackclock.base.operating_system\nackclock.base.operating_system.lock = lambda descriptor: True\n"
"""The lock of Windows needs a module of Windows."""
PROGRAM = f"{WITHOUT}{LOCK}from ackclock.entry import main\nsys.exit(main())\n"


def imported(*arguments: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", IMPORTED, *arguments], capture_output=True, text=True, check=True)
    status, modules = json.loads(done.stdout.splitlines()[-1])
    assert status == 0
    return set(modules)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_that_draw_nothing_import_no_package_for_tables_or_figures(command: str) -> None:
    assert not imported(*COMMANDS[command]) & set(HEAVY)


def test_the_package_imports_none_of_them_before_they_are_used() -> None:
    code = "import json, sys, ackclock, ackclock.draw; ackclock.Scenario, ackclock.Controller; print(list(sys.modules))"
    said = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert "ackclock.scenario" in said
    assert not [name for name in HEAVY if f"'{name}'" in said]


@pytest.mark.parametrize(
    "commands",
    [
        ["new mine --python", "check mine.toml", "run mine.toml --plot run.svg --trace trace.csv"],
        ["run @dumbbell --set duration=1s", "view @dumbbell --out page.html", "link @dumbbell", "list keys"],
        ["new mine --python", "compare --control mine.py:Mine,cubic --on @dumbbell --set duration=3s --seeds 3"],
        ["sweep @dumbbell --set duration=1s --set sweep.seed=[1,2] --out study", "results study", "view study --out a"],
        ["search @shrew --budget 20 --out found"],
        ["why @dumbbell --at 2s", "what-if @dumbbell --at 1s --set link.bottleneck.rate=5Mbps"],
    ],
    ids=lambda commands: commands[-1].split()[0],
)
def test_commands_without_what_windows_lacks(commands: list[str], tmp_path: Path) -> None:
    for text in commands:
        command = [sys.executable, "-c", PROGRAM, *text.split()]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        expected = {0, 1} if text.startswith("search") else {0}
        assert done.returncode in expected, f"{text}: {done.stdout[-500:]} {done.stderr[-2000:]}"


def test_what_a_system_lacks_is_said(tmp_path: Path) -> None:
    """`--time-limit` needs a copy of the process; a run in real time needs Linux."""
    for text, status, said in (
        ("run @dumbbell --set duration=1s --time-limit 5s", 0, "--time-limit has no effect on this operating system"),
        ("run @dumbbell --on linux:cubic", 3, "runs in real time need Linux"),
        ("emulate @starlink -- true", 3, "need Linux"),
    ):
        lacking = PROGRAM.replace(
            "from ackclock.entry", "import ackclock._core\ndel ackclock._core.emulate\nfrom ackclock.entry"
        )
        command = [sys.executable, "-c", lacking, *text.split()]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, said in done.stderr) == (status, True), done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_a_lock_holds_for_one_process(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    first, second = (os.open(file, operating_system.OPEN_ONCE, 0o644) for _ in range(2))
    assert operating_system.lock(first)
    assert not operating_system.lock(second)
    os.close(first)
    assert operating_system.lock(second)
    os.close(second)


def test_a_pipe_is_readable_with_data_and_at_its_end() -> None:
    reads, writes = os.pipe()
    assert not operating_system.readable(reads, 0)
    os.write(writes, b"x")
    assert operating_system.readable(reads, 0)
    assert os.read(reads, 1) == b"x"
    os.close(writes)
    assert operating_system.readable(reads, 0)
    os.close(reads)


def test_the_public_names_import_nothing_for_tables_figures_or_terminals() -> None:
    program = "import json, sys, ackclock\nfor name in ackclock.__all__: getattr(ackclock, name)\n"
    program += "print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not set(json.loads(done.stdout)) & {*HEAVY, "rich", "cyclopts"}
