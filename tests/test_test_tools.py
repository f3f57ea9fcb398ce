"""The tools of the tests: reasons for skips, times of parts, the list of nightly jobs."""

from __future__ import annotations

from pathlib import Path

import pytest

import nightly
import run as parts
from skips import Skips

LIST = """
[[skip]]
reason = "machine too slow"
why    = "busy"
most   = 1
"""


def skips(folder: Path, *reasons: str) -> Skips:
    (folder / "skips.toml").write_text(LIST)
    return Skips.load(folder / "skips.toml", [(f"t{i}", reason) for i, reason in enumerate(reasons)])


def test_listed_skips_are_allowed_up_to_their_number(tmp_path: Path) -> None:
    assert skips(tmp_path).lines() == ["no test was skipped"]
    one = skips(tmp_path, "machine too slow in three attempts: p99")
    assert one.allowed()
    assert one.lines()[1] == "  1 x machine too slow in three attempts: p99: t0"
    assert not skips(tmp_path, "machine too slow: a", "machine too slow: b").allowed()


def test_other_skips_are_faults(tmp_path: Path) -> None:
    one = skips(tmp_path, "needs luck")
    (fault,) = one.faults()
    assert fault == "t0: skipped for a reason that tests/skips.toml does not list: needs luck"
    assert one.lines() == ["not checked: 1 test; CI requires it", "  1 x needs luck: t0"]
    assert one.lines(in_ci=True)[2:] == [f"error: {fault}"]


def test_the_list_of_reasons_can_be_read(root: Path) -> None:
    assert len(Skips.load(root / "tests" / "skips.toml", []).allowed_reasons) > 3


def test_seconds_of_rust_tests_belong_to_their_crate() -> None:
    log = """     Running unittests src/lib.rs (target/debug/deps/ackclock_cc-0a1b)
test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.25s
     Running tests/conformance.rs (target/debug/deps/conformance-0a1b)
test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 2.00s
   Doc-tests ackclock
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.50s
"""
    assert parts.rust_seconds(log) == {"cc": 3.25, "ackclock": 0.5}


def test_seconds_of_python_tests_belong_to_their_file(tmp_path: Path) -> None:
    report = tmp_path / "python.xml"
    report.write_text(
        '<testsuites><testsuite><testcase classname="tests.test_a" name="x" time="1.5"/>'
        '<testcase classname="tests.test_a" name="y" time="2"/></testsuite></testsuites>'
    )
    assert parts.python_seconds(report) == {"tests/test_a.py": 3.5}


def test_every_part_is_a_target_of_the_makefile(root: Path) -> None:
    makefile = (root / "Makefile").read_text()
    for part in [part for stage in parts.STAGES for part in stage]:
        assert f"\n{part.target}:" in makefile or f" {part.target}:" in makefile, part


def test_nightly_jobs_are_distinct_and_cover_every_mutant(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = nightly.jobs()
    names = [job.name for job in jobs]
    assert len(set(names)) == len(names)
    for crate, count in nightly.SHARDS.items():
        shards = [
            job.command[job.command.index("--shard") + 1] for job in jobs if job.name.startswith(f"mutants {crate}")
        ]
        assert shards == [f"{part}/{count}" for part in range(count)]


def test_words_of_nightly_results() -> None:
    assert nightly.fuzz_words("#1\tINITED\n#52013\tREDUCE cov: 3\nDone") == "52,013 inputs"
    assert nightly.mutant_words("x\n40 mutants tested in 5m: 3 missed, 37 caught\n").endswith("3 missed, 37 caught")


def test_results_of_nightly_jobs_are_kept_by_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "trust.md"
    page.write_text(f"a\n{nightly.BEGIN}\n{nightly.END}\nb\n")
    monkeypatch.setattr(nightly, "OUT", tmp_path)
    monkeypatch.setattr(nightly, "PAGE", page)
    for part in (1, 2):
        words = f"40 mutants tested in 5m: {part} missed, 30 caught"
        nightly.Results().add(f"mutants cc {part}/16", nightly.Ended(True, words, 9, "2026-01-01"))
    assert list(nightly.Results().ended) == ["mutants cc 1/16", "mutants cc 2/16"]
    row = "| mutants of `cc`, 2 of 16 parts | 2026-01-01 | 60 caught, 3 missed, 0 timeouts, 0 unviable |"
    assert row in page.read_text()
    assert page.read_text().startswith("a\n")
