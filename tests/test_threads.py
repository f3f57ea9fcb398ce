"""Runs on several threads: `ackclock run --threads`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from ackclock import Scenario, ScenarioError
from ackclock.apps.division import division
from conftest import Command, without_cost

sys.path.insert(0, str(Path(__file__).parents[1] / "benches"))
from growth import fabric
from threads import dumbbell

FABRIC = fabric(8, 0.08)
ONE_THREAD = {None, "the machine has one processor", "after a trial with parts, which were slower"}


def test_the_results_do_not_depend_on_the_threads() -> None:
    scenario = Scenario.parse(FABRIC)
    one = scenario.run()
    assert one.one_thread is None
    progress: list[float] = []
    for threads in (2, 3, 8, 64):
        several = scenario.run(threads=threads, progress=progress.append)
        assert several.one_thread in ONE_THREAD
        assert without_cost(several.outcome) == without_cost(one.outcome)
        assert several.outcome["engine"]["packet_hops"] == one.outcome["engine"]["packet_hops"]
    assert max(progress) == 1.0


def test_a_small_run_that_can_go_on_without_parts_has_the_same_results() -> None:
    """With 10 flows the speeds decide in the middle whether the run is divided; with 400 they do not."""
    for flows, duration_s in ((10, 20), (400, 15)):
        scenario = Scenario.parse(dumbbell(flows, "1Gbps", duration_s))
        progress: list[float] = []
        one, two = scenario.run(), scenario.run(threads=2, progress=progress.append)
        assert progress == sorted(progress)
        assert two.one_thread in ONE_THREAD
        assert without_cost(two.outcome) == without_cost(one.outcome)


def test_the_command(tmp_path: Path, ackclock: Command) -> None:
    file = tmp_path / "fabric.toml"
    file.write_text(FABRIC)
    one, two = (ackclock("run", file, "--json", "--threads", threads) for threads in ("1", "2"))
    assert without_cost(json.loads(one.stdout)) == without_cost(json.loads(two.stdout))
    explained = ackclock("run", file, "--explain-threads", "--threads", "2").stdout
    if "one processor" not in explained:
        assert explained.startswith("2 threads, with ")
        assert "1 us" in explained
        assert "of 768 link directions" in explained
        assert "goes on without parts" not in explained
        file.write_text(dumbbell(10, "1Gbps", 20))
        explained = ackclock("run", file, "--explain-threads", "--threads", "2").stdout
        assert "goes on without parts if that is faster" in explained


@pytest.mark.parametrize(
    ("text", "options", "reason"),
    [
        ("@wifi", (), "Wi-Fi"),
        ("@starlink", (), "satellites"),
        ("@dumbbell", (), "million packet-hops"),
        ("@dumbbell", ("--fingerprint",), "a recording needs one thread"),
        ("@dumbbell", ("--on", "quic"), "QUIC flows need one thread"),
    ],
)
def test_what_runs_on_one_thread(text: str, options: tuple[str, ...], reason: str, ackclock: Command) -> None:
    run = ackclock("run", text, "--set", "duration=3s", "--threads", "2", *options)
    assert run.returncode == 0
    assert "one thread: " in run.stderr
    assert reason in run.stderr or "one processor" in run.stderr


def test_bad_numbers(ackclock: Command) -> None:
    refused = ackclock("run", "@dumbbell", "--threads", "0")
    assert refused.returncode == 2
    assert "--threads is a number from 1 to 1,024" in refused.stderr
    real_time = ackclock("run", "@dumbbell", "--on", "udp", "--threads", "2")
    assert real_time.returncode == 2
    assert "--threads" in real_time.stderr
    with pytest.raises(ScenarioError, match="threads: must be at least 1"):
        Scenario.parse(FABRIC).run(threads=0)
    slow = FABRIC.replace('"1us"', '"10ns"')
    with pytest.raises(ScenarioError, match="at least 2"):
        division(Scenario.parse(FABRIC), 1)
    with pytest.raises(ScenarioError, match=r"least delay between two of 2 parts|one processor"):
        division(Scenario.parse(slow), 2)
