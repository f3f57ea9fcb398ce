"""`make nightly`: the long forms of the tests, generated scenarios, fuzzers, mutants.

    python tests/nightly.py [NAME...]      run what is left, or only the jobs whose names begin with NAME
    python tests/nightly.py --left         print what is left

It can be interrupted and repeated: results are kept per commit in out/nightly, and a job that ended is not run again.
The results of the last run stand in docs/trust.md.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "out" / "nightly"
PAGE = ROOT / "docs" / "trust.md"
BEGIN, END = "<!-- nightly -->", "<!-- end of nightly -->"
PYTEST = [sys.executable, "-m", "pytest", "-n", "2"]
PGO = f"""
make pgo && {shlex.join([*PYTEST, "tests/test_fingerprints.py"])}; status=$?
rm -rf target/pgo; make build >/dev/null; exit $status"""
"""The core is built again without PGO for the jobs that follow."""
OLDEST_RUST = """
version=$(sed -n 's/^rust-version = "\\(.*\\)"/\\1/p' Cargo.toml)
rustup toolchain install $version --profile minimal --no-self-update
CARGO_TARGET_DIR=out/nightly/oldest cargo +$version check --locked --workspace"""
"""Every crate builds with the `rust-version` of Cargo.toml."""
MODULES = f"""
set -e
{sys.executable} validation/linux_modules/record_modules.py
{sys.executable} validation/linux_modules/modules_report.py
git diff --stat --exit-code -- validation/linux_modules docs/validation-modules.md
echo as recorded"""
"""The modules are compiled from the Debian package, run again, and give the recorded numbers."""
FUZZ_SECONDS = 3600
RECORDINGS, FUZZ_RUNS = ("capture", "qlog", "tools", "rates"), 100_000_000
"""Parsers of files of strangers, and the inputs that each gets: three to six hours."""
SHARDS = {"cc": 16, "transport": 48}
"""Parts into which the mutants of a crate are divided; each part is a job."""
MUTANTS = OUT / "crates"
"""A copy of the crates, which `cargo mutants --in-place` changes."""


@dataclass(frozen=True)
class Job:
    """A command with its environment, and the function that reduces its output to a few words."""

    name: str
    command: list[str]
    environment: dict[str, str]
    words: Callable[[str], str]
    folder: Path = ROOT


@dataclass(frozen=True)
class Ended:
    """The result of a job."""

    passed: bool
    words: str
    seconds: int
    date: str


def last_line(output: str) -> str:
    """The last line of an output that is not empty."""
    return next((line.strip(" =") for line in reversed(output.splitlines()) if line.strip()), "no output")


def fuzz_words(output: str) -> str:
    """The number of runs of a fuzzer."""
    runs = re.findall(r"^#(\d+)", output, flags=re.M)
    return f"{int(runs[-1]):,} inputs" if runs else last_line(output)


def mutant_words(output: str) -> str:
    """The counts of cargo-mutants: `40 mutants tested in 5m: 3 missed, 30 caught, 7 unviable`."""
    summary = re.findall(r"\d+ mutants? tested.*", output)
    return summary[-1] if summary else last_line(output)


def jobs() -> list[Job]:
    """All jobs, the shortest first."""
    targets = sorted(path.stem for path in (ROOT / "fuzz" / "fuzz_targets").glob("*.rs"))
    fuzz = ["cargo", "fuzz", "run", "--sanitizer", "none"]

    def limits(target: str) -> list[str]:
        of_target = (
            [f"-runs={FUZZ_RUNS}", "-timeout=5"] if target in RECORDINGS else [f"-max_total_time={FUZZ_SECONDS}"]
        )
        return ["--", *of_target, "-max_len=4096"]

    mutants = [
        Job(f"mutants {crate} {part + 1}/{count}", _mutants(crate, part, count), {}, mutant_words, MUTANTS)
        for crate, count in SHARDS.items()
        for part in range(count)
    ]
    return [
        Job("long tests", [*PYTEST, "-m", "nightly"], {}, last_line),
        Job("crates with the oldest Rust", ["sh", "-c", OLDEST_RUST], {}, last_line),
        Job("fingerprints on aarch64", ["validation/aarch64.sh"], {}, last_line),
        Job("fingerprints of a core with PGO", ["sh", "-c", PGO], {}, last_line),
        Job("generated", [*PYTEST, "tests/test_generated.py"], {"ACKCLOCK_GENERATED": "20000"}, last_line),
        Job("search failures", [sys.executable, "validation/failures.py"], {}, last_line),
        Job(
            "copies of runs",
            ["cargo", "test", "--locked", "-p", "ackclock-lab", "--test", "what_if"],
            {"ACKCLOCK_FORKS": "5"},
            last_line,
        ),
        Job(
            "mutated modules",
            [
                "cargo",
                "test",
                "--locked",
                "-p",
                "ackclock-foreign",
                "--test",
                "modules",
                "mutated",
                "--",
                "--nocapture",
            ],
            {"ACKCLOCK_MUTATIONS": "1000000"},
            last_line,
        ),
        Job("modules of Linux 6.12 beside ours", ["sh", "-c", MODULES], {}, last_line),
        *(Job(f"fuzz {target}", [*fuzz, target, *limits(target)], {}, fuzz_words) for target in targets),
        *mutants,
    ]


def _mutants(crate: str, part: int, count: int) -> list[str]:
    """Tests of a mutant: those of its crate, and the fingerprints of whole runs."""
    command = ["cargo", "mutants", "--in-place", "--package", f"ackclock-{crate}", "--shard", f"{part}/{count}"]
    command += ["--output", str(OUT / f"mutants-{crate}-{part}"), "--timeout", "300"]
    command += ["--test-package", f"ackclock-{crate},ackclock-lab", "--", "--lib", "--test", "fingerprints"]
    tests = sorted((ROOT / "crates" / crate / "tests").glob("*.rs"))
    return [*command, *(word for path in tests for word in ("--test", path.stem))]


@cache
def prepare_mutants() -> None:
    """Copy the crates anew."""
    MUTANTS.mkdir(parents=True, exist_ok=True)
    for name in ("Cargo.toml", "Cargo.lock", "clippy.toml", "rustfmt.toml"):
        shutil.copy(ROOT / name, MUTANTS)
    for name in ("crates", "scenarios", "examples"):
        shutil.rmtree(MUTANTS / name, ignore_errors=True)
        shutil.copytree(ROOT / name, MUTANTS / name)


def prepare(job: Job) -> None:
    """Install the program that a job needs, and make its folder."""
    tool = job.command[1] if job.command[0] == "cargo" else ""
    if tool and shutil.which(f"cargo-{tool}") is None:
        print(f"installing cargo-{tool}", flush=True)
        subprocess.run(["cargo", "install", "--locked", "--quiet", f"cargo-{tool}"], check=True)
    if tool == "mutants":
        prepare_mutants()


def run(job: Job) -> Ended:
    """Run a job. Its output goes to a file in out/nightly."""
    prepare(job)
    began = time.monotonic()
    log = OUT / f"{re.sub('[^a-z0-9]+', '-', job.name)}.log"
    with log.open("w") as file:
        environment = os.environ | job.environment
        done = subprocess.run(job.command, cwd=job.folder, stdout=file, stderr=subprocess.STDOUT, env=environment)
    # cargo-mutants ends with 2 if mutants survived, which is a result.
    passed = done.returncode == 0 or (job.command[1] == "mutants" and done.returncode == 2)
    words = job.words(log.read_text(errors="replace")) if passed else f"failed; see {log.relative_to(ROOT)}"
    return Ended(passed, words, round(time.monotonic() - began), time.strftime("%Y-%m-%d"))


class Results:
    """The results of the jobs at one commit, in out/nightly/COMMIT.json."""

    def __init__(self) -> None:
        self.commit = subprocess.run(
            ["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()
        self._file = OUT / f"{self.commit}.json"
        text = json.loads(self._file.read_text()) if self._file.exists() else {}
        self.ended = {name: Ended(**entry) for name, entry in text.items()}

    def add(self, name: str, ended: Ended) -> None:
        """Keep a result, and write the page."""
        self.ended[name] = ended
        text = json.dumps({key: asdict(value) for key, value in self.ended.items()}, indent=1)
        unfinished = self._file.with_suffix(".new")
        unfinished.write_text(text)
        unfinished.replace(self._file)
        before, rest = PAGE.read_text().split(BEGIN, 1)
        PAGE.write_text(f"{before}{BEGIN}\n{self.table()}\n{END}{rest.split(END, 1)[1]}")

    def table(self) -> str:
        """The results as Markdown; mutants are added up by crate."""
        rows = [(name, end.date, end.words) for name, end in self.ended.items() if not name.startswith("mutants ")]
        for crate, count in SHARDS.items():
            ended = [end for name, end in self.ended.items() if name.startswith(f"mutants {crate} ")]
            sums = {
                word: sum(int(n) for end in ended for n in re.findall(rf"(\d+) {word}", end.words))
                for word in ("caught", "missed", "timeouts?", "unviable")
            }
            if ended:
                words = ", ".join(f"{n} {word.rstrip('?')}" for word, n in sums.items())
                rows.append((f"mutants of `{crate}`, {len(ended)} of {count} parts", ended[-1].date, words))
        lines = [f"Commit {self.commit}:", "", "| job | date | result |", "|---|---|---|"]
        return "\n".join([*lines, *(f"| {name} | {date} | {words} |" for name, date, words in rows)])


def main() -> int:
    """Run the jobs that are left; 1 if one failed, 130 after an interrupt."""
    OUT.mkdir(parents=True, exist_ok=True)
    names = [name for name in sys.argv[1:] if name != "--left"]
    results = Results()
    left = [job for job in jobs() if job.name not in results.ended]
    left = [job for job in left if not names or job.name.startswith(tuple(names))]
    if "--left" in sys.argv[1:]:
        print(*(job.name for job in left), sep="\n")
        return 0
    try:
        while left:
            print(f"{left[0].name} ({len(left)} jobs are left)", flush=True)
            ended = run(left[0])
            print(f"  {ended.words}, {ended.seconds} s", flush=True)
            results.add(left.pop(0).name, ended)
    except KeyboardInterrupt:
        print(f"interrupted; {len(left)} jobs are left: {', '.join(job.name for job in left[:5])}, ...")
        return 130
    return 0 if all(end.passed for end in results.ended.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
