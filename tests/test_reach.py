"""Runs in real time: programs, sockets and the kernel's TCP through a scenario's network.

What this machine cannot do is skipped with the reason, and so is a run that was too late three times.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ackclock import _core
from ackclock.apps.reach import Unavailable, run_kernel, run_linux, run_udp, runs
from ackclock.apps.reach.emulation import Programs, Surroundings, emulate
from ackclock.base.files import BadInput
from ackclock.scenario import Scenario
from namespaces import DROPTAIL, SCENARIO, namespaces, running, until

pytestmark = pytest.mark.skipif(not hasattr(_core, "emulate"), reason="runs in real time need Linux")
Command = Callable[..., subprocess.CompletedProcess[str]]

LATE = re.compile(r"^(p99|maximum) lateness |slower than real time")
"""Reasons against a run that are due to the speed of this machine."""


@pytest.fixture
def ackclock(ackclock_process: Command) -> Command:
    """Runs in namespaces change the process that makes them."""
    return ackclock_process


@pytest.fixture
def scenario(tmp_path: Path) -> Callable[..., Path]:
    def write(duration: float = 4, queue: str = DROPTAIL, ecn: bool = False) -> Path:
        path = tmp_path / "flow.toml"
        path.write_text(SCENARIO.format(duration=duration, queue=queue, ecn=str(ecn).lower()))
        return path

    return write


def measured(run: Callable[..., dict[str, Any]], path: Path) -> dict[str, Any]:
    """A valid run; skips the test if there can be none, or if every reason against it is the speed of this machine."""
    try:
        found = run(path)
    except Unavailable as error:
        pytest.skip(str(error))
    validity = found["validity"]
    if not validity["valid"]:
        reasons = "; ".join(validity["reasons"])
        assert all(LATE.search(reason) for reason in validity["reasons"]), reasons
        pytest.skip(f"machine too slow in three attempts: {reasons}")
    return found


def test_only_lateness_is_skipped() -> None:
    """A run without packets is a failure of the program, whatever the machine."""

    def broken(_: Path) -> dict[str, Any]:
        reasons = ["p99 lateness 3.000 ms is more than 1.000 ms", "no packet crossed the network"]
        return {"validity": {"valid": False, "reasons": reasons}}

    with pytest.raises(AssertionError, match="no packet crossed"):
        measured(broken, Path())


@pytest.mark.parametrize(("run", "cwnd_part"), [(run_linux, 0.1), (run_udp, 0.1)])
def test_reno_of_other_stacks_is_near_the_simulators(
    scenario: Callable[..., Path], run: Callable[..., dict[str, Any]], cwnd_part: float
) -> None:
    path = scenario()
    found = measured(run, path)
    simulated = Scenario.load(path).run().outcome
    flow, expected = found["flows"][0], simulated["flows"][0]
    assert flow["goodput_bps"] == pytest.approx(expected["goodput_bps"], rel=0.1)
    assert flow["mean_cwnd"] == pytest.approx(expected["mean_cwnd"], rel=cwnd_part)
    assert flow["window_cuts"] == pytest.approx(expected["window_cuts"], abs=2)
    assert found["links"][0]["dropped_packets"]["queue"] > 0
    assert flow["retransmitted_packets"] >= found["links"][0]["dropped_packets"]["queue"] / 2
    trace = found["trace"]
    assert trace["time_s"].is_sorted()
    assert 0 < trace["time_s"][-1] <= 4.1
    assert trace["cwnd"].max() > flow["mean_cwnd"] > trace["cwnd"].min()
    assert found["validity"]["lateness_s"]["p50"] <= found["validity"]["lateness_s"]["max"]


@pytest.mark.parametrize("run", [run_linux, run_udp])
def test_the_warm_up_is_excluded(scenario: Callable[..., Path], run: Callable[..., dict[str, Any]]) -> None:
    """Without slow start a flow is as fast as the link, and nothing that it sent before counts."""
    path = scenario(5)
    late = measured(lambda path: run(path, ["warmup=3s"]), path)
    simulated = Scenario.load(path, ["warmup=3s"]).run().outcome
    assert (late["duration_s"], late["warmup_s"]) == (5, 3)
    flow, expected = late["flows"][0], simulated["flows"][0]
    link, link_expected = late["links"][0], simulated["links"][0]
    for key in ("goodput_bps", "delivered_bytes", "sent_packets", "acked_packets", "mean_cwnd", "mean_rtt_s"):
        assert flow[key] == pytest.approx(expected[key], rel=0.15), key
    assert link["delivered_packets"] == pytest.approx(link_expected["delivered_packets"], rel=0.1)
    assert flow["retransmitted_packets"] <= expected["retransmitted_packets"] + 3


@pytest.mark.parametrize("run", [run_linux, run_udp])
def test_marks_reach_the_other_end(scenario: Callable[..., Path], run: Callable[..., dict[str, Any]]) -> None:
    """With ECN a queue marks, and the sender reduces its window without losses."""
    path = scenario(queue='codel", ecn = true, limit = "1000p', ecn=True)
    found = measured(run, path)
    assert found["links"][0]["marked_packets"] > 0
    assert found["flows"][0]["window_cuts"] > 0
    assert found["flows"][0]["retransmitted_packets"] == 0


def test_a_flow_with_an_end_completes(scenario: Callable[..., Path]) -> None:
    path = scenario(3)
    path.write_text(path.read_text().replace('to = "d"', 'to = "d"\nbytes = "1MB"\nstart = "500ms"'))
    for run in (run_udp, run_linux):
        try:
            flow = run(path)["flows"][0]
        except Unavailable as error:
            pytest.skip(str(error))
        assert flow["delivered_bytes"] == 1_000_000
        assert 0.8 < flow["completion_s"] < 2.4


def test_programs_see_only_the_network(scenario: Callable[..., Path], ackclock: Command) -> None:
    namespaces()
    path = scenario()
    program = (
        "import os, socket\n"
        "s = socket.socket(); s.connect((os.environ['ACKCLOCK_REMOTE'], 7)); print('got', s.recv(9).decode())\n"
        "try:\n    socket.socket().connect(('192.0.2.1', 80))\n"
        "except OSError as error:\n    print('else', error.errno)\n"
    )
    server = (
        "import socket\n"
        "s = socket.socket(); s.bind(('10.77.0.2', 7)); s.listen(); c, a = s.accept(); c.send(a[0].encode())\n"
    )
    (path.parent / "server.py").write_text(server)
    other = f"{sys.executable} {path.parent / 'server.py'}"
    done = ackclock("emulate", path, "--at-to", other, "--", sys.executable, "-c", program)
    assert done.stdout == "got 10.77.0.1\nelse 101\n", done.stderr
    assert "s sent" in done.stderr
    assert done.returncode in {0, 4}
    done = ackclock("emulate", path, "--json", "--", "sh", "-c", "echo text; exit 5")
    assert done.returncode == 5
    assert done.stderr == "text\nackclock: the program has ended with status 5\n"
    assert json.loads(done.stdout)["ends"][0]["node"] == "s"
    done = ackclock("emulate", path, "--", "true")
    assert done.returncode == 5
    assert "no packet crossed the network" in done.stderr
    assert "valid" not in done.stderr
    done = ackclock("emulate", path, "--for", "300ms", "--", "sleep", "60")
    assert "the time is over" in done.stderr
    done = ackclock("emulate", path, "--", "no-such-program")
    assert done.returncode == 5
    assert "cannot run no-such-program" in done.stderr
    # The message is cut in the middle of a character.
    done = ackclock("emulate", path, "--", "xx" + "é" * 600)
    assert done.returncode == 5
    assert "cannot run xxéé" in done.stderr
    assert "Traceback" not in done.stderr
    with pytest.raises(BadInput, match=r"10\.77\.0\.1 is empty"):
        emulate(Scenario.load(path), Programs([]), Surroundings(os.environ), warn=print)


def test_a_network_slower_than_real_time_ends(scenario: Callable[..., Path], ackclock: Command) -> None:
    """It would keep a processor with real-time priority for the whole run."""
    namespaces()
    path = scenario(60)
    text = path.read_text().replace("10Mbps", "400Gbps").replace("20p", "2000p")
    path.write_text(text + '[[flow]]\nname = "u"\nfrom = "s"\nto = "d"\nudp = { rate = "300Gbps" }\n')
    begin = time.monotonic()
    done = ackclock("emulate", path, "--", "sleep", "60")
    assert done.returncode == 4
    assert "the network was too slow" in done.stderr
    assert "NOT VALID: the network is slower than real time" in done.stderr
    assert time.monotonic() - begin < 30


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_behind(scenario: Callable[..., Path], tmp_path: Path, sent: signal.Signals) -> None:
    """Programs that left their session and their parent end with the command, however it ends."""
    namespaces()
    marker = f"60.{os.getpid()}{int(sent)}"
    script = f"sleep {marker} & setsid sleep {marker} & touch {tmp_path / 'ready'}; exec sleep {marker}"
    command = [str(Path(sys.executable).parent / "ackclock"), "emulate", str(scenario()), "--", "sh", "-c", script]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    try:
        assert until(lambda: (tmp_path / "ready").exists() and running(marker) == 3)
        process.send_signal(sent)
        process.wait(20)
        assert until(lambda: running(marker) == 0)
    finally:
        process.kill()


def test_without_privileges(scenario: Callable[..., Path]) -> None:
    """As root without capabilities, as in a container, a user namespace has what is needed."""
    setpriv = shutil.which("setpriv")
    if os.geteuid() != 0 or setpriv is None:
        pytest.skip("needs root and setpriv, to give up capabilities")
    namespaces()
    command = [setpriv, "--bounding-set=-all,+setfcap", "--inh-caps=-all"]
    command += [str(Path(sys.executable).parent / "ackclock"), "emulate", str(scenario()), "--", "sh", "-c"]
    done = subprocess.run([*command, "grep CapAmb /proc/self/status"], capture_output=True, text=True)
    if done.returncode == 3:
        pytest.skip(done.stderr.strip())
    assert done.stdout.split() == ["CapAmb:", "0000000000003000"], done.stderr


def test_what_cannot_be_run_says_why(scenario: Callable[..., Path], ackclock: Command) -> None:
    path = scenario()
    done = ackclock("run", path, "--on", "linux:nonsense")
    assert done.returncode == 3
    assert "nonsense" in done.stderr or "network namespaces" in done.stderr
    if not _core.KERNEL_BRIDGE:
        done = ackclock("run", path, "--on", "kernel", "--control", "reno")
        assert (done.returncode, "make kernel" in done.stderr) == (3, True)
    for arguments, text in {
        ("run", path, "--on", "linux:"): "there is no such substrate",
        ("run", path, "--on", "linux", "--trace", "x.txt"): "must end in .parquet or .csv",
        ("emulate", path, "--for", "0s", "--", "true"): "--for",
        ("emulate", path, "--set", "flow.f.tcp.mss=40", "--set", "flow.f.tcp.header=40", "--", "true"): "128",
        ("run", path, "--on", "udp", "--set", "flow.f.tcp.congestion_control=xcp"): "xcp",
    }.items():
        done = ackclock(*arguments)
        assert done.returncode == 2, arguments
        assert text in done.stderr
    text = path.read_text().replace('tcp = { congestion_control = "reno", ecn = false }', 'udp = { rate = "1Mbps" }')
    udp = Scenario.parse(text)
    with pytest.raises(BadInput, match=r"flow\[0\]: must be a TCP flow"):
        runs.run("linux", udp, kernel_controller="reno")
    with pytest.raises(BadInput, match=r"flow\[0\]: must be a QUIC or a TCP flow"):
        runs.run("udp", udp)
    with pytest.raises(BadInput, match="sweep"):
        runs.run("udp", Scenario.parse(path.read_text() + "[sweep]\nseed = [1, 2]\n"))


def test_advice_names_the_limits(scenario: Callable[..., Path]) -> None:
    text = scenario().read_text()
    assert runs.advice(Scenario.parse(text)) == []
    fast = runs.advice(Scenario.parse(text, ["link.b.rate=1Gbps", "link.b.delay=1ms"]))
    assert len(fast) == 2
    assert "100 Mb/s" in fast[1]


def test_the_commands_write_traces(scenario: Callable[..., Path], tmp_path: Path, ackclock: Command) -> None:
    import polars as pl

    path = scenario(1)
    done = ackclock("run", path, "--on", "udp", "--trace", tmp_path / "t.parquet", "--json")
    assert done.returncode in {0, 4}, done.stderr
    outcome = json.loads(done.stdout)
    assert outcome["substrate"] == "udp"
    assert outcome["validity"]["valid"] == (done.returncode == 0)
    columns = pl.read_parquet(tmp_path / "t.parquet").columns
    assert columns == Scenario.load(path).run(trace="changes").trace.columns


def test_the_session_and_the_size_of_datagrams_are_those_of_the_scenario(
    scenario: Callable[..., Path], ackclock: Command
) -> None:
    path = scenario(1)
    for tls, session in (("true", "session: TLS 1.3"), ("false", "session: without encryption")):
        done = ackclock(
            "run", path, "--on", "udp", "--set", f"quic.tls={tls}", "--set", "flow.f.tcp.mss=9000", "--json"
        )
        assert done.returncode in {0, 4}, done.stderr
        outcome = json.loads(done.stdout)
        assert session in outcome["validity"]["degraded"]
        assert outcome["flows"][0]["connection_error"] is None
        assert outcome["flows"][0]["delivered_bytes"] > 100_000
    text = path.read_text().replace('tcp = { congestion_control = "reno", ecn = false }', "quic = {}")
    with pytest.raises(BadInput, match=r"flow\[0\]: max_datagram_size is 65508 bytes"):
        runs.run("udp", Scenario.parse(text, ["flow.f.quic.max_datagram_size=65508"]))


def bridged() -> None:
    if not _core.KERNEL_BRIDGE:
        pytest.skip("this core was built without the kernel bridge (make kernel)")
    if os.geteuid() != 0:
        pytest.skip("the kernel bridge needs root")


def test_reno_in_the_kernel_is_near_the_kernels_own(scenario: Callable[..., Path]) -> None:
    bridged()
    path = scenario(6)
    ours = measured(run_kernel, path)["flows"][0]
    own = measured(run_linux, path)["flows"][0]
    assert ours["goodput_bps"] == pytest.approx(own["goodput_bps"], rel=0.05)
    assert ours["mean_cwnd"] == pytest.approx(own["mean_cwnd"], rel=0.1)
    assert ours["window_cuts"] == pytest.approx(own["window_cuts"], abs=2)


def test_a_policy_decides_once_an_interval_in_the_kernel(scenario: Callable[..., Path]) -> None:
    bridged()
    path = scenario(6)
    linux = ["flow.f.tcp.congestion_control=policy", "flow.f.tcp.profile=linux", "flow.f.tcp.recovery=rack"]
    kernel = measured(lambda path: run_kernel(path, linux), path)["flows"][0]
    udp = measured(lambda path: run_udp(path, linux), path)["flows"][0]
    assert kernel["goodput_bps"] == pytest.approx(udp["goodput_bps"], rel=0.1)
    assert kernel["mean_rtt_s"] == pytest.approx(udp["mean_rtt_s"], rel=0.25)


def test_the_bridge_refuses_what_the_kernel_cannot_give(scenario: Callable[..., Path]) -> None:
    bridged()
    options = ("ecn=true", "ecn_feedback=per_packet", "congestion_control=dctcp")
    with pytest.raises(BadInput, match="dctcp needs an ECN echo per packet"):
        run_kernel(scenario(), [f"flow.f.tcp.{option}" for option in options])


def test_the_bpf_object_is_built_from_its_source(root: Path, tmp_path: Path) -> None:
    """A rebuild has the same program: instructions and relocations of every section."""
    clang, strip, objcopy = (shutil.which(name) for name in ("clang", "llvm-strip", "llvm-objcopy"))
    if clang is None or strip is None or objcopy is None or not Path("/usr/include/bpf/bpf_helpers.h").exists():
        pytest.skip("needs clang, llvm and the headers of libbpf")
    folder = root / "crates" / "reach" / "bpf"
    built = tmp_path / "built.o"
    done = subprocess.run(["make", "-C", str(root), "bpf", f"BPF_OBJECT={built}"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    version = subprocess.run([clang, "--version"], capture_output=True, text=True).stdout.split()
    if "version" in version and not version[version.index("version") + 1].startswith("14."):
        pytest.skip("the object was built by clang 14; other versions give other instructions")

    def section(file: Path, name: str) -> bytes:
        subprocess.run([objcopy, f"--dump-section={name}={tmp_path / 'section'}", str(file)], check=True)
        return (tmp_path / "section").read_bytes()

    for name in ("struct_ops", ".maps", ".struct_ops.link", "license"):
        assert section(built, name) == section(folder / "ccbridge.bpf.o", name), name
