"""The recipes of CONTRIBUTING.md, carried out as written in a copy of the repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ackclock import Scenario
from ackclock.apps.papers import reproduce
from ackclock.apps.papers.folder import Paper
from ackclock.study.executors import Local

MORE = ("Add a signal of controllers", "Add a TCP option", "Add a key of a flow", "Add a metric")
"""Sections besides those with a new file whose diffs change crates."""
RUN = """//! The queue and the recovery of CONTRIBUTING.md in one scenario.

use ackclock_lab::{Recording, Run, Scenario, Settings};

#[test]
fn a_scenario_runs_with_the_new_queue_and_recovery() {
    let text = r#"
duration = "20s"
tcp = { recovery = "mine", congestion_control = "reno", ecn = true }
link = [{ ends = ["a", "b"], rate = "10Mbps", delay = "20ms",
  queue = { kind = "mine", limit = "2bdp", threshold = 10 }, loss = { kind = "bernoulli", rate = 0.001 } }]
flow = [{ name = "f", from = "a", to = "b" },
  { name = "p", from = "a", to = "b", offset = "5s", tcp = { congestion_control = "paced", recovery = "sack",
    delayed_ack = false, ack_copies = 2 } }]
"#;
    let scenario = Scenario::parse("mine.toml", text, &[]).unwrap();
    let recording = Recording { audit: true, ..Recording::default() };
    let mut run = Run::new(&scenario, Settings { recording, ..Settings::default() }).unwrap();
    run.finish();
    let interface = ackclock_lab::catalog::interface().to_string();
    assert!(interface.contains("on_rtt_sample"), "Python and the page have the event");
    let samples = cc::Signals::from_name("rtt_samples").unwrap();
    assert_eq!(transport::missing_signal(samples, &transport::Options::linux()), None);
    assert!(quic::missing_signal(samples, &quic::Config::default()).unwrap().starts_with("needs each round-trip"));
    assert_eq!(run.audit().1, 0, "{:#?}", run.audit().0);
    let outcome = run.outcome();
    assert!(outcome.flows[0].rtt_samples > Some(100));
    assert_eq!(outcome.flows[1].active_s, 15.0);
    assert!(outcome.links[0].marked_packets > 10, "the threshold marks");
    assert!(outcome.flows[0].retransmitted_packets > Some(3));
    assert!(outcome.flows.iter().all(|flow| flow.goodput_bps > 1e6));
    let [data, acks] = [0, 1].map(|link: usize| outcome.links[link].delivered_packets);
    assert!(acks > data, "the receiver of the second flow sends two ACKs: {acks} and {data}");
}
"""


@pytest.fixture(scope="module")
def guide(root: Path) -> dict[str, str]:
    """The sections of CONTRIBUTING.md by heading."""
    parts = re.split(r"^## (.*)\n", (root / "CONTRIBUTING.md").read_text(), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _blocks(section: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", section, re.S)


def _apply(folder: Path, diff: str) -> None:
    """Applies a diff without line numbers: the context of each part must occur in its file as it is."""
    for file, change in re.findall(r"^--- (.*)\n((?:[ @+-](?!--).*\n)+)", diff, flags=re.M):
        text = (folder / file).read_text()
        for part in re.split(r"^@@\n", change, flags=re.M):
            lines = part.splitlines(keepends=True)
            before = "".join(line[1:] for line in lines if line[0] in " -")
            after = "".join(line[1:] for line in lines if line[0] in " +")
            assert before in text, f"{file} does not contain:\n{before}"
            text = text.replace(before, after, 1)
        (folder / file).write_text(text)


def _update(source: Path, target: Path) -> None:
    """Make the folder `target` equal to `source`; files that are equal keep their times, so cargo builds them once."""
    for path in [path for path in target.rglob("*") if path.is_file()]:
        if not (source / path.relative_to(target)).is_file():
            path.unlink()
    for path in [path for path in source.rglob("*") if path.is_file()]:
        copy = target / path.relative_to(source)
        if not copy.is_file() or copy.read_bytes() != path.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy)


def _copy_libraries(source: Path, target: Path) -> None:
    """Copy the libraries that cargo has built with their times, so that it builds only what the changes touch."""
    if target.exists() or not source.exists():
        return
    shutil.copytree(source / ".fingerprint", target / ".fingerprint")
    shutil.copytree(source / "build", target / "build")
    (target / "deps").mkdir()
    for path in (source / "deps").iterdir():
        if path.suffix in {".rlib", ".rmeta", ".so", ".d"}:
            shutil.copy2(path, target / "deps")


def _cargo_test(folder: Path, *tests: str) -> None:
    """Run tests, with the features of `make test-rust`, so that the copied libraries are those that they need."""
    done = subprocess.run(
        ["cargo", "test", "--offline", "--quiet", "--features", "ackclock-quic/tls,ackclock/conform"]
        + [word for test in tests for word in ("--test", test)],
        cwd=folder,
        env={**os.environ, "CARGO_TARGET_DIR": str(folder.parent / "target")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("test result: ok") == len(tests)


def test_controllers_event_queue_and_recovery(root: Path, guide: dict[str, str], tmp_path: Path) -> None:
    """The controllers pass the conformance suite with the event; a scenario runs with the queue and the recovery."""
    for name in ("Cargo.toml", "Cargo.lock", "clippy.toml"):
        shutil.copy2(root / name, tmp_path)
    shutil.copytree(root / "crates", tmp_path / "crates", ignore=shutil.ignore_patterns("target"))
    crates = tmp_path / "crates"
    new = {
        "Add a controller": "cc/src/controllers/mine.rs",
        "Add a queue discipline or an impairment": "net/src/qdisc/mine.rs",
        "Add a loss recovery": "transport/src/recovery/mine.rs",
    }
    for heading, file in new.items():
        (crates / file).write_text(_blocks(guide[heading], "rust")[0])
    controllers = crates / "cc/src/controllers"
    (controllers / "paced.rs").write_text(_blocks(guide["Add a controller"], "rust")[1])
    for heading in (*new, "Add an event of controllers", *MORE):
        for diff in _blocks(guide[heading], "diff"):
            if "--- crates/" in diff:
                _apply(tmp_path, diff)
    registration = _blocks(guide["Add a controller"], "diff")[0].replace("mine", "paced").replace("Mine", "Paced")
    _apply(tmp_path, registration)
    (crates / "lab" / "tests" / "mine.rs").write_text(RUN)
    folder = root / "target" / "contributing" / "source"
    _update(tmp_path, folder)
    _copy_libraries(root / "target" / "debug", folder.parent / "target" / "debug")
    with pytest.MonkeyPatch.context() as patch:  # `make reference` writes the tables of the interface
        patch.setenv("ACKCLOCK_INTERFACE", "write")
        _cargo_test(folder, "interface")
    _cargo_test(folder, "conformance", "properties", "mine")


def test_files_of_the_guide_exist(root: Path) -> None:
    """Those that a reader is to write excepted."""
    text = (root / "CONTRIBUTING.md").read_text()
    paths = set(re.findall(r"`((?:crates|python|tests)/[\w./-]+\.(?:rs|py))`", text))
    assert len(paths) > 10
    assert not [path for path in paths if not re.search(r"/(mine|paced)\.", path) and not (root / path).is_file()]


METRIC = """
from ackclock import Scenario
from ackclock.metrics import bounds, metric
from metrics_page import page
from ackclock.apps.suite.measures import SUITE_METRICS

outcome = Scenario.load("scenarios/dumbbell.toml").run().outcome
flows = outcome["flows"]
parts = [flow["retransmitted_packets"] / flow["sent_packets"] for flow in flows]
assert abs(metric("resent", [outcome]).value(outcome) - sum(parts) / len(parts)) < 1e-12
assert bounds("resent") == (0.0, 1.0) and SUITE_METRICS["rivals_resent"].unit == "%" and "resent" in page()
"""


def test_metric(root: Path, guide: dict[str, str], tmp_path: Path) -> None:
    """A run, a suite and the reference page have the metric."""
    shutil.copytree(root / "python", tmp_path / "python", ignore=shutil.ignore_patterns("__pycache__", "web"))
    diff = _blocks(guide["Add a metric"], "diff")[0]
    _apply(tmp_path, diff)
    modules = os.pathsep.join([str(tmp_path / "python"), str(root / "tools" / "reference")])
    environment = {**os.environ, "PYTHONPATH": modules}
    command = [sys.executable, "-c", METRIC]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_scenario(guide: dict[str, str]) -> None:
    """The scenario runs with the auditor."""
    block = _blocks(guide["Add a scenario"], "toml")[0]
    assert block.startswith("# ")
    result = Scenario.parse(block).run(audit=True)
    assert result.violation_count == 0
    assert [flow["name"] for flow in result.outcome["flows"]] == ["early", "late"]


def test_paper(guide: dict[str, str], tmp_path: Path) -> None:
    """The paper is reproduced, and its claim is decided."""
    folder = tmp_path / "papers" / "mine"
    section = guide["Add a paper"]
    for name, text in re.findall(r"`([a-z/]+\.toml)`:\n\n```toml\n(.*?)```", section, re.S):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    made = reproduce(Paper(folder), tmp_path / "out", Local(2), quick=True)
    assert made.failed == []
    assert (tmp_path / "out" / "mine" / "index.html").is_file()
    (verdict,) = made.verdicts
    assert verdict.claim.id == "C1"
    assert verdict.word == "confirmed"
