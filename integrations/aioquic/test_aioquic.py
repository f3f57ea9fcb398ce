"""aioquic over the reference network: `pip install -r requirements.txt`, then `pytest test_aioquic.py`."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("aioquic", reason="aioquic is not installed; pip install -r requirements.txt")

FOLDER = Path(__file__).parent
SCENARIO = str(FOLDER / "scenario.toml")
sys.path.insert(0, str(FOLDER))
stack = importlib.import_module("stack")


@pytest.mark.parametrize(("controller", "expected"), [("reno", 19.045), ("cubic", 18.933)])
def test_goodput(controller, expected):
    """Within 0.5 %."""
    assert stack.run(SCENARIO, controller)["goodput_mbps"] == pytest.approx(expected, rel=0.005)


@pytest.mark.parametrize("controller", ["reno", "cubic"])
def test_another_process_sends_the_same_packets(controller):
    """Equal results, fingerprint included."""
    command = [sys.executable, str(FOLDER / "stack.py"), SCENARIO, controller, "3", "duration=3s"]
    printed = subprocess.run(command, capture_output=True, check=True, timeout=100).stdout
    assert json.loads(printed) == stack.run(SCENARIO, controller, 3, ["duration=3s"])


@pytest.mark.parametrize(
    ("application", "size"),
    [("flow.bulk.bytes=1MB", 1_000_000), ('flow.bulk.writes=[["0s", "16kB"], ["2s", "5kB"]]', 21_000)],
)
def test_the_application_finishes(application, size):
    """The run ends when everything is acknowledged."""
    driven = stack.run(SCENARIO, "reno", 1, [application])
    assert (driven["finished"], driven["delivered_bytes"]) == (True, size)
