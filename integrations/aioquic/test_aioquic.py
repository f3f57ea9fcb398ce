"""aioquic over the reference network: `pip install -r requirements.txt`, then `pytest test_aioquic.py`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("aioquic", reason="aioquic is not installed; pip install -r requirements.txt")

FOLDER = Path(__file__).parent
SCENARIO = str(FOLDER / "scenario.toml")
sys.path.insert(0, str(FOLDER))
stack = __import__("stack")


@pytest.mark.parametrize(("controller", "expected"), [("reno", 19.045), ("cubic", 18.933)])
def test_goodput(controller, expected):
    assert stack.run(SCENARIO, controller)["goodput_mbps"] == pytest.approx(expected, rel=0.005)


@pytest.mark.parametrize("controller", ["reno", "cubic"])
def test_another_process_sends_the_same_packets(controller):
    command = [sys.executable, str(FOLDER / "stack.py"), SCENARIO, controller, "3", "duration=3s"]
    printed = subprocess.run(command, capture_output=True, check=True, timeout=100).stdout
    assert json.loads(printed) == stack.run(SCENARIO, controller, 3, ["duration=3s"])


def test_a_transfer_finishes():
    driven = stack.run(SCENARIO, "reno", 1, ["flow.bulk.bytes=1000000"])
    assert driven["finished"]
    assert driven["delivered_bytes"] == 1_000_000
