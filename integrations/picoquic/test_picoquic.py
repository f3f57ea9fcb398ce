"""Controllers in picoquic over its own simulated link: `pytest -m nightly test_picoquic.py`.

PICOQUIC and PICOTLS are the folders of the sources of both.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.nightly

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent
PAIRS = [("newreno", "ackclock_reno"), ("cubic", "ackclock_cubic"), ("bbr", "ackclock_bbr3")]
OURS = [ours for _, ours in PAIRS]
# The targets of swift and timely are those of data centres: below the delay of this network.
SLOW = ["swift", "timely"]
RUNS = [
    "reno",
    "cubic",
    "bbr",
    "bbr3",
    "vegas",
    "veno",
    "westwood_plus",
    "compound",
    "copa",
    "nv",
    "illinois",
    "htcp",
    "yeah",
]
RUNS += ["scalable", "bic", "hstcp", "hybla", "cdg", "ledbat_pp", *SLOW]
REFUSED = ["vivace", "ledbat", "lp", "sarbe", "prague", "dctcp", "rcp", "xcp"]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """Compiles the library of controllers, both stacks and the program, and gives its path."""
    for name, file in (("PICOQUIC", "picoquic/picoquic.h"), ("PICOTLS", "include/picotls.h")):
        if not os.environ.get(name):
            pytest.skip(f"picoquic: {name} is not set to the folder of its sources (integrations/picoquic/README.md)")
        if not (Path(os.environ[name]) / file).exists():
            pytest.fail(f"{name} is {os.environ[name]}, which has no {file}")
    if not all(shutil.which(tool) for tool in ("make", "cc", "cargo")):
        pytest.skip("picoquic: make, cc or cargo is missing")
    subprocess.run(["cargo", "build", "--release", "-p", "ackclock-capi"], cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    out = tmp_path_factory.mktemp("picoquic")
    settings = [f"OUT={out}", f"ACKCLOCK={target / 'release/libackclock.a'}"]
    settings += [f"{name}={Path(os.environ[name]).resolve()}" for name in ("PICOQUIC", "PICOTLS")]
    subprocess.run(["make", "-s", "transfer", *settings], cwd=FOLDER, check=True)
    return str(out / "transfer")


@pytest.fixture(scope="module")
def transfer(program):
    """Runs transfers, and gives what each connection reports."""

    def run(*algorithms, **network):
        settings = [f"{name}={value}" for name, value in network.items()]
        done = subprocess.run([program, *settings, *algorithms], capture_output=True, timeout=300, check=False)
        assert done.returncode in (0, 1), done
        assert not done.stderr, done
        return [json.loads(line) for line in done.stdout.splitlines()]

    return run


@pytest.mark.parametrize(("theirs", "ours"), PAIRS)
def test_goodput_is_that_of_their_controller(transfer, theirs, ours):
    """Within 5 % on a link without random losses, with at most 60 losses more."""
    (one,), (other,) = transfer(theirs, mb=20), transfer(ours, mb=20)
    assert other["finished"]
    assert other["bytes"] == 20_000_000
    assert other["goodput_mbps"] == pytest.approx(one["goodput_mbps"], rel=0.05)
    assert 0 < other["lost"] < max(one["lost"], 100) + 60


@pytest.mark.parametrize("ours", OURS)
def test_the_same_packets_again(transfer, ours):
    """Everything that is random has a seed."""
    network = {"loss_percent": 0.5, "seed": 7, "mb": 3}
    assert transfer(ours, **network) == transfer(ours, **network)


def test_the_pacing_rate_is_the_controllers(transfer):
    """That of BBR is the rate of the link; from the window it would be a quarter more."""
    (result,) = transfer("ackclock_bbr3", mb=20)
    assert result["pacing_mbps"] == pytest.approx(10, rel=0.05)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_losses(transfer, seed):
    """At 1 %, Reno has the goodput of newreno within a fifth, and BBR twice as much."""
    network = {"loss_percent": 1, "seed": seed}
    (newreno,), (reno,), (bbr,) = (transfer(name, **network) for name in ("newreno", "ackclock_reno", "ackclock_bbr3"))
    assert reno["goodput_mbps"] == pytest.approx(newreno["goodput_mbps"], rel=0.2)
    assert bbr["goodput_mbps"] > 2 * reno["goodput_mbps"]
    assert bbr["cwin"] < 80_000


@pytest.mark.parametrize("ours", OURS)
def test_an_outage_is_a_timeout(transfer, ours):
    """1.5 s without any packet: timers find losses, the window becomes two segments, and the transfer goes on."""
    (result,) = transfer(ours, outage_ms=1500)
    assert result["finished"]
    assert result["timer_losses"] > 0
    assert result["smallest_cwin"] < 3000
    assert result["seconds"] < 8


@pytest.mark.parametrize(
    ("ours", "least"), [("ackclock_reno", 0.98), ("ackclock_cubic", 0.98), ("ackclock_bbr3", 0.88)]
)
def test_spurious_losses_are_undone(transfer, ours, least):
    """Every hundredth packet arrives 10 ms late and is called lost. Without on_undo Reno and CUBIC lose 3 to 11 %."""
    (plain,), (late,) = transfer(ours), transfer(ours, detour=100)
    assert late["spurious"] > 50
    assert late["goodput_mbps"] > least * plain["goodput_mbps"]


@pytest.mark.parametrize("ours", ["ackclock_reno", "ackclock_cubic"])
def test_marks_reduce_the_window(transfer, ours):
    """Marks in place of most losses, and a queue that stays short of the limit after slow start."""
    (plain,), (marked,) = transfer(ours, mb=20), transfer(ours, mb=20, mark_ms=20)
    assert marked["marked"] > 50
    assert marked["lost"] < plain["lost"]
    assert marked["cwin"] < plain["cwin"] + 20_000
    assert marked["goodput_mbps"] > 8


def test_options_are_parameters(transfer):
    """In the text or in the option string of a connection; a wrong option changes nothing."""
    plain, text, option, wrong = (
        transfer(f"ackclock_cubic{rest}")[0] for rest in ("", ": beta = 0.8", "@beta = 0.8", "@beta = 8")
    )
    for result in (plain, text, option, wrong):
        del result["algorithm"]
    assert text == option != plain == wrong


@pytest.mark.parametrize("ours", OURS)
def test_a_pause_and_a_reset(transfer, ours):
    """The connection goes on after 3 s without data, and after its controller began again."""
    (paused,), (again,) = transfer(ours, pause_s=3), transfer(ours, reset_s=2)
    assert paused["finished"]
    assert 7 < paused["seconds"] < 8
    assert again["finished"]
    assert again["goodput_mbps"] > 8


def test_two_share_a_link(transfer):
    """Each has at least a third."""
    for pair in (["ackclock_cubic", "ackclock_cubic"], ["newreno", "ackclock_reno"]):
        results = transfer(*pair, mb=20)
        assert min(result["goodput_mbps"] for result in results) > 10 / 3


@pytest.mark.parametrize("name", RUNS)
def test_every_controller_without_further_signals_runs(transfer, name):
    """1 MB arrives, at 3 Mb/s or more except where the network is not theirs."""
    (result,) = transfer(f"ackclock_{name}", mb=1)
    assert result["finished"]
    assert name in SLOW or result["goodput_mbps"] > 3


@pytest.mark.parametrize("name", REFUSED)
def test_a_controller_with_other_signals_is_refused(program, name):
    """With the signal."""
    done = subprocess.run([program, f"ackclock_{name}"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"{name} needs the signal " in done.stderr


def test_a_wrong_text_is_refused(program):
    """An unknown name, and a value out of range."""
    for text, message in (("renno", 'did you mean "reno"?'), ("cubic: beta = 8", "not between 0.1 and 0.99")):
        done = subprocess.run([program, f"ackclock_{text}"], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert message in done.stderr
