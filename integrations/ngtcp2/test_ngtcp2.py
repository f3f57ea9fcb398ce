"""ngtcp2 over the reference network: `pytest test_ngtcp2.py`, which compiles both programs."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import ackclock

FOLDER = Path(__file__).parent
SCENARIO = str(FOLDER / "scenario.toml")
LIBRARY = FOLDER / "../../target/release/libackclock.a"
CONTROLLERS = [("reno", 19.044), ("cubic", 19.049), ("bbr", 18.61), ("bbr2", 18.62)]


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    """Compiles a program and gives its path."""
    packages = ["libngtcp2 = 0.12.1", "libngtcp2_crypto_gnutls", "gnutls"]
    if not all(shutil.which(tool) for tool in ("make", "cc", "pkg-config")):
        pytest.skip("make, cc or pkg-config is missing")
    if subprocess.run(["pkg-config", "--exists", *packages], check=False).returncode:
        pytest.skip(
            "ngtcp2 0.12.1 is not installed; apt install libngtcp2-dev libngtcp2-crypto-gnutls-dev libgnutls28-dev"
        )
    folder = tmp_path_factory.mktemp("ngtcp2")

    def build(program):
        target = folder / program
        if not target.exists():
            subprocess.run(["make", "-s", program, f"OUT={folder}"], cwd=FOLDER, check=True)
        return str(target)

    return build


@pytest.fixture(scope="module")
def direct(make):
    """Gives what the program without a pipe prints."""
    if not LIBRARY.exists():
        pytest.skip("the library of the network is not built; cargo build --release -p ackclock-capi")

    def run(controller, seed=1, settings=""):
        command = [make("direct"), SCENARIO, controller, str(seed), *([settings] if settings else [])]
        return json.loads(subprocess.run(command, capture_output=True, check=True, timeout=100).stdout)

    return run


def piped(programs, controller, overrides=(), seed=1):
    """Fingerprint of a run through pipes, its steps, and the last that the destination said of itself."""
    network = ackclock.Network(SCENARIO, seed=seed, overrides=overrides, record=["fingerprint"])
    driven = network.drive_programs(programs, controller)
    return network.fingerprint(), driven.steps, network.trace()["delivered_bytes"].max()


@pytest.mark.parametrize(("controller", "expected"), CONTROLLERS)
def test_goodput_and_equal_packets(direct, controller, expected):
    """Within 0.5 %, and the same again."""
    first = direct(controller)
    assert first["goodput_mbps"] == pytest.approx(expected, rel=0.005)
    assert direct(controller) == first


@pytest.mark.parametrize("controller", ["reno", "cubic", "bbr", "bbr2"])
def test_the_pipe_changes_nothing(make, direct, controller):
    """One program for both ends, and one for each, send the packets of the program without a pipe."""
    child, seed, overrides = make("child"), 2, ["duration=5s"]
    expected = direct(controller, seed, overrides[0])
    for programs in ({"both": [child]}, {"source": [child], "destination": [child]}):
        fingerprint, _, delivered = piped(programs, controller, overrides, seed)
        assert (fingerprint, delivered) == (expected["fingerprint"], expected["delivered_bytes"])


@pytest.mark.parametrize(
    ("application", "size"),
    [("flow.bulk.bytes=1MB", 1_000_000), ('flow.bulk.writes=[["0s", "16kB"], ["2s", "5kB"]]', 21_000)],
)
def test_the_application_is_that_of_the_scenario(make, application, size):
    """So many bytes arrive, and no more."""
    assert piped({"both": [make("child")]}, "reno", [application])[2] == size


def test_another_controller_is_refused(make):
    """With its name and those that there are."""
    with pytest.raises(ackclock.StackFailure, match="no controller vegas; reno, cubic, bbr, bbr2"):
        piped({"both": [make("child")]}, "vegas")
