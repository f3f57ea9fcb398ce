"""`make test`: every part of the tests as a make target, with the time that each took.

    python tests/run.py            run the parts in this folder
    python tests/run.py --fresh    run them in a fresh clone of HEAD and write the table of times into CONTRIBUTING.md

Parts of one stage run at the same time. The first stage with a failure is the last one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as xml
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOGS = ROOT / "out" / "test"
GUIDE = ROOT / "CONTRIBUTING.md"
BEGIN, END = "<!-- test times -->", "<!-- end of test times -->"
ROWS = 12
"""Number of Python test files in the table; the others are one row."""


@dataclass(frozen=True)
class Part:
    """A make target of the tests, and what it does."""

    target: str
    does: str


STAGES = [
    [Part("test-install", "install the Python and Node packages"), Part("test-rust-build", "build the Rust tests")],
    [Part("build", "build the core (release)"), Part("clippy", "clippy")],
    [
        Part("page", "build the page with the core as WebAssembly"),
        Part("test-count-build", "build the programs whose instructions are counted"),
        Part("lint", "formats, ruff, mypy"),
    ],
    [Part("test-publish", "document and package the crates")],
    [Part("test-rust", "run the Rust tests"), Part("test-wheel", "build the wheel of this machine")],
    [Part("test-python", "run the Python tests"), Part("test-page", "run the tests of the page")],
    [Part("test-instructions", "count instructions")],
]
BUILDS = {"test-install", "test-rust-build", "build", "page", "test-count-build", "test-wheel"}
"""The parts that only install or build."""


class Running:
    """A part in progress. Its output goes to a log, and to the terminal when the part ends or if it is `live`."""

    def __init__(self, part: Part, live: bool) -> None:
        self.part = part
        self.began = time.monotonic()
        self.seconds = 0.0
        self.status = -1
        self._live = live
        command = ["make", "--no-print-directory", part.target]
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with (LOGS / f"{self.part.target}.log").open("wb") as log:
            while data := self._process.stdout.read(1 << 16):
                log.write(data)
                log.flush()
                if self._live:
                    sys.stdout.buffer.write(data)
                    sys.stdout.flush()
        self.status = self._process.wait()
        self.seconds = time.monotonic() - self.began

    def finish(self) -> None:
        """Wait for the end; print the output that was not shown, and the result."""
        self._reader.join()
        if not self._live:
            sys.stdout.write((LOGS / f"{self.part.target}.log").read_text(errors="replace"))
        result = "done" if self.status == 0 else f"FAILED (make {self.part.target})"
        print(f"== {self.part.does}: {result}, {self.seconds:.0f} s", flush=True)


def run() -> tuple[int, list[Running]]:
    """Run the stages; returns the exit status and the parts that ran."""
    LOGS.mkdir(parents=True, exist_ok=True)
    ended: list[Running] = []
    for stage in STAGES:
        running = [Running(part, live=part == stage[0]) for part in stage]
        for one in running:
            one.finish()
        ended += running
        if any(one.status for one in running):
            return 1, ended
    return 0, ended


def rust_seconds(log: str) -> dict[str, float]:
    """The run times of the Rust tests by crate, from the output of `cargo test`."""
    owners = {path.stem: path.parents[1].name for path in ROOT.glob("crates/*/tests/*.rs")}
    seconds: defaultdict[str, float] = defaultdict(float)
    crate = ""
    for line in log.splitlines():
        if begin := re.match(r"\s+Running (?:unittests \S+|tests/(\w+)\.rs) \(.*/(?:ackclock_)?(\w+)-\w+\)", line):
            crate = owners.get(begin[1], "?") if begin[1] else begin[2]
        elif begin := re.match(r"\s+Doc-tests (?:ackclock_)?(\w+)", line):
            crate = begin[1]
        elif end := re.search(r"finished in ([\d.]+)s", line):
            seconds[crate] += float(end[1])
    return seconds


def python_seconds(report: Path) -> dict[str, float]:
    """The CPU seconds of the Python tests by file, fixtures included, from pytest's report."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for case in xml.parse(report).iter("testcase"):
        seconds[case.attrib["classname"].replace(".", "/") + ".py"] += float(case.attrib["time"])
    return seconds


def table(ended: list[Running]) -> str:
    """The parts with their times as Markdown: all parts, Rust tests by crate, the longest Python files."""
    total = sum(max(one.seconds for one in ended if one.part in stage) for stage in STAGES)
    after = sum(max(one.seconds for one in ended if one.part in stage) for stage in STAGES if not _only_builds(stage))
    lines = ["| part | seconds |", "|---|---|"]
    lines += [f"| {one.part.does} (`make {one.part.target}`) | {one.seconds:.0f} |" for one in ended]
    lines += [f"| all, with install and build | {total:.0f} |", f"| all, after the build | {after:.0f} |"]
    lines += ["", "| Rust tests of the crate | seconds |", "|---|---|"]
    rust = _longest(rust_seconds((LOGS / "test-rust.log").read_text()))
    lines += [f"| {crate} | {seconds:.0f} |" for crate, seconds in rust if seconds >= 0.5]
    lines += ["", "| Python tests (two processes) | seconds |", "|---|---|"]
    python = _longest(python_seconds(LOGS / "python.xml"))
    lines += [f"| {file} | {seconds:.0f} |" for file, seconds in python[:ROWS]]
    rest = python[ROWS:]
    return "\n".join([*lines, f"| {len(rest)} other files | {sum(seconds for _, seconds in rest):.0f} |"])


def _longest(seconds: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(seconds.items(), key=lambda item: -item[1])


def _only_builds(stage: list[Part]) -> bool:
    return stage[0].target in BUILDS


def fresh() -> int:
    """Run the tests in a fresh clone of HEAD, and write the times into CONTRIBUTING.md of this folder."""
    folder = ROOT / "out" / "fresh" / "ackclock"
    shutil.rmtree(folder.parent, ignore_errors=True)
    folder.parent.mkdir(parents=True)
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    status = subprocess.run(["make", "test"], cwd=folder, env=os.environ | {"CI": "true"}, check=False).returncode
    if status == 0:
        before, rest = GUIDE.read_text().split(BEGIN, 1)
        after = rest.split(END, 1)[1]
        times = (folder / "out" / "test" / "times.md").read_text()
        GUIDE.write_text(f"{before}{BEGIN}\n{times}\n{END}{after}")
        shutil.rmtree(folder.parent)
    return status


def main() -> int:
    """Run the tests; returns the exit status."""
    if sys.argv[1:] == ["--fresh"]:
        return fresh()
    status, ended = run()
    if status == 0:
        (LOGS / "times.md").write_text(table(ended))
        print(table(ended))
    return status


if __name__ == "__main__":
    sys.exit(main())
