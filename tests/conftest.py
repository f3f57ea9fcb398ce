"""Fixtures and reports that all tests share."""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from ackclock.apps import laboratory
from security import Place
from skips import Skips

ROOT = Path(__file__).parents[1]

Command = Callable[..., "subprocess.CompletedProcess[str]"]
Once = Callable[[str, Callable[[Path], None]], Path]

ONE_FLOW = """
title = "One flow"
duration = "4s"
[[link]]
name = "b"
ends = ["s", "d"]
rate = "5Mbps"
delay = "10ms"
queue = { kind = "droptail", limit = "15p" }
[[flow]]
name = "f"
from = "s"
to = "d"
tcp = { congestion_control = "reno" }
"""


def one_situation(seeds: int) -> str:
    """The text of a suite with the situation `one`, whose metric is the goodput."""
    return f"""
title = "One situation"
source = "a test"
standard = "reno"
summary = "For tests."
[[situation]]
id = "one"
title = "One"
place = "here"
question = "How much?"
metrics = ["goodput"]
seeds = {seeds}
quick = {seeds}
"""


def without_cost(outcome: dict[str, Any]) -> dict[str, Any]:
    """An outcome without what the run cost."""
    return {key: value for key, value in outcome.items() if key != "engine"}


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture
def ackclock(monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command `ackclock` with arguments, in this process; returns its exit status and what it printed.

    Tests of signals, pipes, child processes and process-wide settings use `ackclock_process`.
    """
    from ackclock.cli.app import main

    def run(*arguments: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
        line = [str(argument) for argument in arguments]
        streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)]
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.chdir(cwd))
            stack.enter_context(contextlib.redirect_stdout(streams[0]))
            stack.enter_context(contextlib.redirect_stderr(streams[1]))
            try:
                status = main(line)
            except SystemExit as end:
                status = int(end.code or 0)
        out, err = (stream.buffer.getvalue().decode() for stream in streams)
        return subprocess.CompletedProcess(line, status, out, err)

    monkeypatch.setenv("COLUMNS", "120")
    return run


@pytest.fixture(scope="session")
def ackclock_process() -> Command:
    """The command `ackclock` with arguments, as a process of its own."""

    def run(*arguments: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"RUST_BACKTRACE": "0", "COLUMNS": "120"}
        command = [str(Path(sys.executable).parent / "ackclock"), *map(str, arguments)]
        return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)

    return run


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """An empty folder, which is the current one (tests/security.py)."""
    found = Place(tmp_path)
    monkeypatch.chdir(found.folder)
    found.executed()
    yield found
    found.executed()


@pytest.fixture
def blank(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A page without the laboratory, which need not be built."""
    package = tmp_path_factory.mktemp("package")
    (package / "web").mkdir()
    head = "<head><meta content=\"default-src 'none'; connect-src 'none'\"></head>"
    (package / "web/lab.html").write_text(f"{head}<body>{laboratory.START}</div></body>")
    monkeypatch.setattr("ackclock.apps.laboratory.resources.files", lambda _package: package)


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Once:
    """Make a folder once for all processes that run tests: `once(name, make)` returns the folder that `make` fills.

    The other processes wait. `make` receives the folder; if it fails, the next process tries again.
    """
    alone = not hasattr(request.config, "workerinput")
    base = tmp_path_factory.getbasetemp() if alone else tmp_path_factory.getbasetemp().parent

    def folder(name: str, make: Callable[[Path], None]) -> Path:
        target = base / name
        done = base / f"{name}.done"
        with (base / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                shutil.rmtree(target, ignore_errors=True)
                target.mkdir()
                make(target)
                done.touch()
        return target

    return folder


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run of CI that skipped a test for a reason that tests/skips.toml does not list."""
    if _in_ci() and not hasattr(session.config, "workerinput") and not _skips(session.config).allowed():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print what was not checked: skipped tests with their reasons."""
    for line in _skips(config).lines(in_ci=_in_ci()):
        terminalreporter.write_line(line)


def _in_ci() -> bool:
    return "CI" in os.environ


def _skips(config: pytest.Config) -> Skips:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    reports = reporter.stats.get("skipped", []) if isinstance(reporter, pytest.TerminalReporter) else []
    reasons = [(report.nodeid, str(report.longrepr[2]).removeprefix("Skipped: ")) for report in reports]
    return Skips.load(ROOT / "tests" / "skips.toml", reasons)


def reduce(folder: Path) -> None:
    """Make a paper quick to reproduce: few seeds, two candidates of two unknown parameters, short runs."""
    text = (folder / "paper.toml").read_text()
    for key, most in (("quick", 3), ("quick_readings", 1)):
        text = re.sub(rf"^({key} *=) *(\d+)", lambda match: f"{match[1]} {min(int(match[2]), most)}", text, flags=re.M)  # noqa: B023
    (folder / "paper.toml").write_text(text)
    if (calibration := folder / "calibration.toml").exists():
        document = tomllib.loads(calibration.read_text()) | {"seeds": 1}
        for number, parameter in enumerate(document["parameter"]):
            parameter["candidate"] = parameter["candidate"][: 2 if number < 2 else 1]
        calibration.write_text(tomli_w.dumps(document))
    network = folder / "studies" / "network.toml"
    if network.exists():
        network.write_text(re.sub(r'^(duration *=) "[235]00s"', r'\1 "100s"', network.read_text(), flags=re.M))


@pytest.fixture
def small(root: Path, once: Once) -> Path:
    """A folder `papers` with few seeds, and the pages made from it in `out`: enough for everything but verdicts."""

    def make(folder: Path) -> None:
        shutil.copytree(root / "papers", folder / "papers")
        (folder / "validation").symlink_to(root / "validation")
        for paper in folder.glob("papers/*/paper.toml"):
            reduce(paper.parent)
        command = [sys.executable, "-m", "ackclock.cli", "paper", "all", "--quick", "--allow-code", "--out", "out"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    return once("papers", make)


@pytest.fixture
def pages(small: Path) -> Path:
    """The pages of all papers, with few seeds."""
    return small / "out"
