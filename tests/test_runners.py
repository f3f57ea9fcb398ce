"""Runs in processes and on clusters: equal results, controllers in Python that fail or end their process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ackclock.base import workers
from ackclock.base.workers import Stop, Work
from ackclock.cli.app import main
from ackclock.study import Store, Study, results, sweep
from ackclock.study.executors import Local
from ackclock.study.runners import Processes, results_of
from conftest import ONE_FLOW

ENDED = "the process of the run ended with exit status 3"


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "one.toml"
    file.write_text(ONE_FLOW)
    return file


def python_control(folder: Path, name: str, when: str) -> str:
    """A controller in Python that does something on each ACK after two seconds, as a value of --control."""
    reno = Path("examples/reno.py").read_text(encoding="utf-8")
    code = f"import os\n{reno}\n\nclass {name}(Reno):\n    def on_ack(self, ack):\n"
    code += f"        if ack.now_s > 2:\n            {when}\n        super().on_ack(ack)\n"
    (folder / f"{name}.py").write_text(code)
    return f"{folder / name}.py:{name}"


def agree(scenario: Path, out: Path, control: str, *more: str) -> int:
    command = ["agree", str(scenario), "--seeds", "3", "--out", str(out), "--allow-code", *more]
    return main([*command, "--control", "reno", "--control", control])


def report(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "agree.json").read_text())
    return {key: value for key, value in found.items() if key != "command"}


@pytest.mark.parametrize("engine", ["local", pytest.param("ray", marks=pytest.mark.nightly)])
def test_processes_and_clusters_give_the_same_samples(scenario: Path, tmp_path: Path, engine: str) -> None:
    control = python_control(tmp_path, "Same", "pass")
    alone, many = tmp_path / "alone", tmp_path / "many"
    assert agree(scenario, alone, control, "--jobs", "1") == 0
    assert agree(scenario, many, control, "--jobs", "2", "--engine", engine) == 0
    assert report(alone) == report(many)
    assert report(many)["controllers"][1]["substrates"]["quic"]["seeds"] == [1, 2, 3]


@pytest.mark.parametrize(
    ("when", "message"), [("os._exit(3)", ENDED), ("raise ValueError('a mistake')", "ValueError: a mistake")]
)
def test_a_controller_that_fails_in_a_process_is_an_error(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], when: str, message: str
) -> None:
    assert agree(scenario, tmp_path / "out", python_control(tmp_path, "Fails", when), "--jobs", "2") == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out" / "agree.json").exists()


def test_a_controller_that_ends_its_process_fails_in_its_runs_alone(scenario: Path, tmp_path: Path) -> None:
    controls = [python_control(tmp_path, name, when) for name, when in (("Goes", "pass"), ("Ends", "os._exit(3)"))]
    axis = ", ".join(f'{{ python = "{control}" }}' for control in controls)
    study = Study.load(scenario, [f"sweep={{ 'flow.f.tcp.congestion_control' = [{axis}], seed = '1..5' }}"])
    with Store.create(tmp_path / "store") as store:
        summary = sweep(study, store, Local(2))
        assert (summary.runs, summary.done, summary.failed) == (10, 5, 5)
        assert {error for _, error in store.failures()} == {ENDED}
        assert results.table(store).height == 5


def doubled(_state: None, tasks: Sequence[int], _stop: Stop | None) -> list[int | str]:
    """Twice each number; odd tasks end their process, 100 waits without an end."""
    for task in tasks:
        if task % 2:
            os._exit(task)
        if task == 100:
            time.sleep(1e6)
    return [2 * task for task in tasks]


def ended(task: int, error: str) -> int | str:
    return f"{task}: {error}"


@pytest.fixture
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers import this file."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


@pytest.mark.usefixtures("importable")
def test_tasks_beside_one_that_ends_its_process_have_results() -> None:
    with closing(Processes(Work(doubled, ended), 2)) as processes:
        processes._ended, processes._seconds = 1, 1e-3  # batches of several tasks
        assert results_of(processes, [2, 4, 3, 6, 8, 10]) == [4, 8, f"3: {ENDED}", 12, 16, 20]


@pytest.mark.usefixtures("importable")
def test_closing_ends_the_tasks() -> None:
    processes = Processes(Work(doubled, ended), 2)
    tasks = processes.run([2, 100, 100])
    first = next(batch for batch in tasks if batch)
    assert first == [(0, 4)]
    pids = [worker._process for worker in processes._every]
    before = time.monotonic()
    processes.close()
    assert time.monotonic() - before < 60
    assert all(process.returncode == -9 for process in pids)


def test_a_process_that_cannot_start_ends_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "COMMAND", "raise SystemExit(7)")
    with closing(Processes(Work(doubled, ended), 2)) as processes, pytest.raises(RuntimeError, match="status 7"):
        results_of(processes, [2, 4])


def test_workers_end_with_the_process_that_started_them(scenario: Path, tmp_path: Path) -> None:
    """A controller that never returns does not keep its process after the command was killed."""
    control = python_control(
        tmp_path, "Waits", f"open('{tmp_path}/pid', 'w').write(str(os.getpid()))\n            time.sleep(1e6)"
    )
    file = tmp_path / "Waits.py"
    file.write_text("import time\n" + file.read_text())
    command = [str(Path(sys.executable).parent / "ackclock"), "agree", str(scenario), "--seeds", "3", "--jobs", "2"]
    command += ["--control", control, "--allow-code", "--out", str(tmp_path / "out")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "")
    process.kill()
    worker = int((tmp_path / "pid").read_text())
    wait_until(lambda: not runs(worker))
    assert "ackclock: runs " in process.communicate()[1]


def runs(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return False


def wait_until(holds: Callable[[], bool]) -> None:
    for _ in range(600):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("not within a minute")


def test_a_controller_in_a_process_has_no_standard_input(scenario: Path, tmp_path: Path) -> None:
    control = python_control(tmp_path, "Reads", "assert sys.stdin.read() == ''")
    (tmp_path / "Reads.py").write_text("import sys\n" + (tmp_path / "Reads.py").read_text())
    assert agree(scenario, tmp_path / "out", control, "--jobs", "2") == 0
