"""The network as a library: the same vectors and the same toy transport in Python, in C and over the pipe."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest

import ackclock

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
TOY = """
duration = "10s"
[[link]]
name = "bottleneck"
ends = ["a", "b"]
rate = "10Mbps"
delay = "20ms"
{more}
[[flow]]
name = "stack"
from = "a"
to = "b"
"""
LOSSY = 'queue = { kind = "droptail", limit = "12p" }\nloss = { kind = "bernoulli", rate = 0.01 }'


@pytest.fixture(scope="module")
def vectors(root: Path) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = tomllib.loads((root / "tests/vectors/network.toml").read_text())["vector"]
    assert len(listed) >= 13
    return listed


@pytest.fixture(scope="module")
def library(root: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What a C compiler needs to build a program with the library: options before and after its sources."""
    subprocess.run(["cargo", "build", "--quiet", "--locked", "-p", "ackclock-capi"], cwd=root, check=True)
    metadata = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--no-deps", "--offline"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    archive = Path(json.loads(metadata.stdout)["target_directory"]) / "debug" / "libackclock.a"
    return [f"-I{root / 'crates/capi/include'}", str(archive), "-lpthread", "-ldl", "-lm"]


def build(source: Path, program: Path, options: list[str]) -> Path:
    include, libraries = options[:1], options[1:]
    subprocess.run(["cc", "-std=c99", "-O1", *WARNINGS, *include, "-o", program, source, *libraries], check=True)
    return program


def filled(sent_ns: int, length: int) -> bytes:
    return bytes([sent_ns // 1000 & 255 ^ length & 255]) * length


def open_vector(vector: dict[str, Any], folder: Path, **more: Any) -> ackclock.Network:
    file = folder / "vector.toml"
    file.write_text(vector["scenario"])
    return ackclock.Network(file, vector.get("attach", ""), header=vector.get("header", 28), **more)


def test_python_plays_the_vectors(vectors: list[dict[str, Any]], tmp_path: Path) -> None:
    for vector in vectors:
        network = open_vector(vector, tmp_path, record=("packets", "audit"))
        sends, received, running = list(vector["send"]), [], True
        while running:
            running = network.advance(min([network.next_ns(), *(row[0] for row in sends[:1])]))
            while (datagram := network.receive()) is not None:
                port, data, ecn, number, sent, arrived = datagram
                assert data == filled(sent, len(data)), vector["name"]
                assert arrived == network.now_ns
                received.append([network.now_ns, port, len(data), ecn, number, sent])
            while running and sends and sends[0][0] == network.now_ns:
                at, port, length, ecn = sends.pop(0)
                network.send(port, filled(at, length), ecn)
        assert received == vector["receive"], vector["name"]
        for port, *expected in vector["counts"]:
            c = network.counts(port)
            dropped = sum(c["dropped"].values())
            counted = [
                c["sent"],
                c["received"],
                c["received_bytes"],
                c["marked"],
                dropped,
                c["duplicates"],
                c["too_long"],
            ]
            assert counted == expected, vector["name"]
        assert network.audit() == []
        with pytest.raises(ValueError, match="the network has ended"):
            network.send(0, b"")


def test_c_plays_the_vectors(vectors: list[dict[str, Any]], library: list[str], root: Path, tmp_path: Path) -> None:
    player = build(root / "tests/network_player.c", tmp_path / "player", library)
    lines, expected = "", ""
    for vector in vectors:
        text = vector["scenario"]
        lines += f"{len(text)} {vector.get('header', 28)} {len(vector['send'])} {vector.get('attach', '-')}\n{text}\n"
        lines += "".join(f"{' '.join(map(str, row))}\n" for row in vector["send"])
        expected += "".join(f"receive {' '.join(map(str, row))}\n" for row in vector["receive"])
        counts = {row[0]: row[1:] for row in vector["counts"]}
        for port in range(2 * len(vector.get("attach", "x").split(","))):
            row = counts.get(port, [0] * 7)
            expected += f"counts {port} {' '.join(map(str, row))}\n"
        expected += "end -1\n"
    done = subprocess.run([player], input=lines, capture_output=True, text=True, check=False)
    played = done.stdout.splitlines()
    # A port of which the file says nothing has sent something in one vector only.
    assert [line for line in played if not line.startswith("counts")] == [
        line for line in expected.splitlines() if not line.startswith("counts")
    ]
    assert done.returncode == 0
    for vector_counts in (
        line for line in expected.splitlines() if line.startswith("counts") and " 0 0 0 0" not in line
    ):
        assert vector_counts in played


def test_the_pipe_plays_the_vectors(vectors: list[dict[str, Any]], root: Path, tmp_path: Path) -> None:
    for number, vector in enumerate(vectors):
        network = open_vector(vector, tmp_path)
        target = tmp_path / f"arrived{number}"
        sends = json.dumps(vector["send"])
        child = [sys.executable, str(root / "tests/network_child.py"), str(target), ",".join(network.flows), sends]
        network.drive_programs({"both": child})
        received = [
            list(map(int, line.split()))
            for flow in network.flows
            for line in Path(f"{target}.{flow}").read_text(encoding="utf-8").splitlines()
        ]
        assert sorted(received) == sorted(row[:4] for row in vector["receive"]), vector["name"]


def test_the_header_is_one_for_c_and_for_cpp(root: Path, tmp_path: Path) -> None:
    """The sizes are those that crates/capi/src/lib.rs asserts; the functions are those that it exports."""
    header = root / "crates/capi/include/ackclock_network.h"
    values = ", ".join(f"sizeof(ackclock_{name})" for name in ("options", "datagram", "stack_sample", "counts"))
    sizes = f'#include <stdio.h>\nint main(void) {{ printf("%zu %zu %zu %zu", {values}); }}\n'
    for compiler, suffix, standard in (("cc", "c", "c99"), ("c++", "cpp", "c++17")):
        source = tmp_path / f"sizes.{suffix}"
        source.write_text(f'#include "{header}"\n{sizes}')
        subprocess.run([compiler, f"-std={standard}", *WARNINGS, "-o", tmp_path / suffix, source], check=True)
        done = subprocess.run([tmp_path / suffix], capture_output=True, text=True, check=True)
        assert done.stdout == "56 56 72 80"
    names = {
        line.split("(")[0].split()[-1].lstrip("*")
        for line in header.read_text().splitlines()
        if "ackclock_network_" in line and "(" in line and not line.startswith((" ", "/", "*"))
    }
    rust = (root / "crates/capi/src/lib.rs").read_text()
    exported = {line.split("fn ")[1].split("(")[0] for line in rust.splitlines() if 'extern "C" fn' in line}
    assert names == exported
    assert len(exported) == 15


def test_a_toy_transport_is_the_same_in_every_language(library: list[str], root: Path, tmp_path: Path) -> None:
    """In process and over the pipe, in C and in Python, with one process and with two: equal packets."""
    scenario = tmp_path / "lossy.toml"
    scenario.write_text(TOY.format(more=LOSSY))
    examples = root / "examples/stack"
    in_c = build(examples / "toy.c", tmp_path / "toy", library)
    child = build(examples / "child.c", tmp_path / "child", library[:1])
    done = subprocess.run([in_c, scenario, "1"], capture_output=True, text=True, check=True)
    expected = json.loads(done.stdout)
    assert expected["dropped"] > 5
    python = [sys.executable, str(examples / "child.py")]
    ways: list[dict[str, list[str]]] = [
        {"both": [str(child)]},
        {"both": python},
        {"source": python, "destination": python},
    ]
    for way in ways:
        network = ackclock.Network(scenario, seed=1, record=("fingerprint",))
        driven = network.drive_programs(way)
        assert network.fingerprint() == expected["fingerprint"], way
        assert driven.outcome["flows"][0]["kind"] == "attached"
        assert network.trace()["delivered_bytes"].max() == expected["delivered_bytes"]
    own = subprocess.run([sys.executable, examples / "toy.py", scenario], capture_output=True, text=True, check=True)
    assert own.stdout.splitlines()[-1] == expected["fingerprint"]


def test_a_toy_transport_has_the_goodput_of_its_closed_form(library: list[str], root: Path, tmp_path: Path) -> None:
    """A window of 20 datagrams takes a round trip: two delays, and the transmission of a datagram and an ACK."""
    scenario = tmp_path / "plain.toml"
    scenario.write_text(TOY.format(more='queue = { kind = "droptail", limit = "50p" }'))
    toy = build(root / "examples/stack/toy.c", tmp_path / "toy", library)
    done = json.loads(subprocess.run([toy, scenario], capture_output=True, text=True, check=True).stdout)
    datagram, ack = 1228 * 8e-7, 68 * 8e-7
    round_trip = 0.040 + datagram + ack
    assert 20 * datagram < round_trip
    # Datagram k of round r has arrived at r round trips + (k + 1) transmissions + one delay.
    rounds, rest = divmod(10 - 0.020, round_trip)
    delivered = 1200 * (20 * int(rounds) + min(20, int(rest / datagram)))
    assert done["delivered_bytes"] == delivered
    assert done["dropped"] == 0


FRAMES = """
import struct, sys
def read():
    length = struct.unpack("<IB", sys.stdin.buffer.read(5))[0]
    sys.stdin.buffer.read(length)
def write(kind, body):
    sys.stdout.buffer.write(struct.pack("<IB", len(body), ord(kind)) + body)
    sys.stdout.buffer.flush()
"""
"""The frames of the pipe protocol, for programs that answer wrongly."""


class Ends:
    """Two ends that do what a test says."""

    def __init__(self, poll: Any, timer: Any = lambda: None, receive: Any = lambda: None) -> None:
        self._poll, self._timer, self._receive = poll, timer, receive

    def receive(self, now_ns: int, datagram: object) -> None:
        self._receive()

    def poll(self, now_ns: int) -> Any:
        return self._poll(now_ns)

    def timer(self) -> int | None:
        at: int | None = self._timer()
        return at


def _raise() -> None:
    raise ArithmeticError("no such window")


@pytest.mark.parametrize(
    ("end", "message"),
    [
        (Ends(lambda _: [bytes(100)] * 20_000), r"floods the network at 0.000000 s: more than 10000 datagrams"),
        (Ends(lambda _: [], lambda: 0), r"endpoint 0 is polled for ever at 0.000010 s"),
        (Ends(lambda _: [bytes(9)], lambda: 0), r"endpoint 0 is polled for ever at 0.000010 s"),
        (Ends(lambda _: _raise()), r"endpoint 0 failed at 0.000000 s in `poll`: ArithmeticError: no such window"),
        (Ends(lambda _: [], _raise), r"endpoint 0 failed at .* in `poll`: ArithmeticError"),
        (Ends(lambda _: ["text"]), r"poll gives bytes, or pairs of bytes"),
        (Ends(lambda _: [bytes(70_000)]), r"a datagram of 70000 bytes is longer than an IP packet"),
    ],
)
def test_a_stack_that_fails_is_named_with_the_time_and_the_call(end: Ends, message: str, tmp_path: Path) -> None:
    scenario = tmp_path / "s.toml"
    scenario.write_text(TOY.format(more=""))
    with pytest.raises(ackclock.StackFailure, match=message):
        ackclock.Network(scenario).drive({0: end})


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("import sys; sys.exit(3)", "the program ended with status 3"),
        ("import os; os.kill(os.getpid(), 11)", "signal 11"),
        ("print('hello')", "a frame R was expected, and its answer begins with the bytes"),
        ("import sys; sys.stderr.write('no certificate\\n'); sys.exit(1)", "no certificate"),
        (f"{FRAMES}read()\nwrite('R', b'{{\"error\": \"no such controller\"}}')", "it refuses: no such controller"),
        (f"{FRAMES}read()\nwrite('R', b'{{}}')\nread()\nwrite('D', bytes(9))\nread()", "its frame D is cut off"),
        (f"{FRAMES}read()\nwrite('R', b'{{}}')\nread()\nwrite('R', b'')\nread()", "a frame D was expected"),
    ],
)
def test_a_program_that_fails_is_named_with_what_it_did(program: str, message: str, tmp_path: Path) -> None:
    scenario = tmp_path / "s.toml"
    scenario.write_text(TOY.format(more=""))
    with pytest.raises(ackclock.StackFailure, match=message):
        ackclock.Network(scenario).drive_programs({"both": [sys.executable, "-c", program]})


def test_a_program_that_does_not_answer_is_ended_with_what_it_started(tmp_path: Path) -> None:
    scenario = tmp_path / "s.toml"
    scenario.write_text(TOY.format(more=""))
    pid = tmp_path / "pid"
    program = (
        "import subprocess, sys, time\n"
        f"child = subprocess.Popen(['sleep', '1000'])\nopen({str(pid)!r}, 'w').write(str(child.pid))\ntime.sleep(1000)"
    )
    with pytest.raises(ackclock.StackFailure, match="no answer in 10 s"):
        ackclock.Network(scenario).drive_programs({"both": [sys.executable, "-c", program]})
    status = Path(f"/proc/{pid.read_text()}/stat")
    assert not status.exists() or status.read_text(encoding="utf-8").split()[2] == "Z"


def test_a_process_that_a_program_leaves_holds_nothing_up(tmp_path: Path) -> None:
    """It is in a session of its own, and has the pipes of the program that has ended."""
    scenario = tmp_path / "s.toml"
    scenario.write_text(TOY.format(more=""))
    program = (
        "import subprocess, sys\n"
        "subprocess.Popen(['sleep', '20'], start_new_session=True)\nprint('no key', file=sys.stderr)\nsys.exit(3)"
    )
    began = time.monotonic()
    with pytest.raises(ackclock.StackFailure, match="the program ended with status 3\n    no key"):
        ackclock.Network(scenario).drive_programs({"both": [sys.executable, "-c", program]})
    assert time.monotonic() - began < 15


def test_wrong_input_is_refused_with_a_remedy(tmp_path: Path) -> None:
    scenario = tmp_path / "s.toml"
    scenario.write_text(TOY.format(more=""))
    with pytest.raises(ackclock.ScenarioError, match=r'there is no flow "stak"; did you mean "?stack'):
        ackclock.Network(scenario, "stak")
    with pytest.raises(ValueError, match='"traces" is not one of packets'):
        ackclock.Network(scenario, record=("traces",))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the MTU includes the header"):
        ackclock.Network(scenario, header=100, mtu=50)
    network = ackclock.Network(scenario, record=("packets", "rules"))
    with pytest.raises(ValueError, match="port 2 is not of this network"):
        network.send(2, b"")
    with pytest.raises(ValueError, match='"window" is not a value of a sample'):
        network.record(0, window=3)
    network.advance(1000)
    with pytest.raises(ValueError, match="999 ns is before the present"):
        network.advance(999)
    network.send(0, bytes(972), 2)
    network.advance(network.end_ns)
    assert network.why(0, 0) == [
        "0.000001 s a->b: enqueued",
        "0.000801 s a->b: transmitted after 0.800 ms",
        "0.020801 s a->b: delivered",
    ]
    with pytest.raises(ValueError, match="this end has sent 1 datagrams"):
        network.why(0, 1)
    with pytest.raises(ValueError, match="object has no method receive"):
        ackclock.Network(scenario).drive({0: object()})  # type: ignore[dict-item]


def test_the_guide_is_true_of_python(root: Path) -> None:
    """The program of docs/stacks.md; the one in Rust is a documentation test of the crate."""
    [program] = re.findall(r"```python\n(.*?)```", (root / "docs/stacks.md").read_text(), re.DOTALL)
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)
    answered, delay_s = done.stdout.split()
    assert int(answered) > 1000
    assert float(delay_s) > 0.01


def test_the_guide_is_true_of_c(root: Path, tmp_path: Path) -> None:
    """Its commands, with the faster build of the library: no Rust is needed after `make capi`."""
    [commands] = re.findall(r"```sh\n(make capi\n.*?)```", (root / "docs/stacks.md").read_text(), re.DOTALL)
    place = tmp_path / "capi"
    first, *rest = commands.replace("$PWD/out/capi", str(place)).replace("-o toy", f"-o {tmp_path}/toy").splitlines()
    make = [*first.split(), "CAPI_PROFILE=dev", f"CAPI={place}"]
    subprocess.run(make, cwd=root, check=True, capture_output=True)
    script = "\n".join(rest).replace("./toy", f"{tmp_path}/toy")
    bare = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(["sh", "-ec", script], cwd=root, env=bare, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["delivered_bytes"] > 1_000_000
    assert (place / "lib/libackclock.so").resolve().name == "libackclock.so.1"
