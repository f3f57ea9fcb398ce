"""`ackclock emulate`: what is recorded of the network, repeats, A against B with gates."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from ackclock import _core, stats
from ackclock.apps.reach import ATTEMPTS, crossing, gates, pairs, repeats
from ackclock.apps.reach.pairs import Attempt, Job, NetworkRuns, ProgramFailed
from ackclock.base import junit
from ackclock.base.files import BadInput
from ackclock.cli.app import main
from ackclock.cli.emulate_verdicts import verdict, write_junit
from ackclock.scenario import Scenario
from namespaces import DROPTAIL, SCENARIO, namespaces, running, until

Command = Callable[..., subprocess.CompletedProcess[str]]

SPREAD = 0.002
"""Standard deviation of the goodput of the kernel's TCP over its mean, as measured."""


def generated(rng: np.random.Generator, mean: float, n: int) -> list[float]:
    """Goodputs of `n` runs."""
    return [float(x) for x in mean * (1 + SPREAD * rng.standard_normal(n))]


def one_verdict(gate: str, a: Sequence[float], b: Sequence[float]) -> str:
    (judged,) = gates.judge([gates.Test(gates.parse(gate), "net", a, b)])
    return judged.verdict


def test_equal_programs_seldom_fail_and_a_slower_one_does() -> None:
    rng = np.random.default_rng(7)
    equal = [one_verdict("goodput >= 1", generated(rng, 1e7, 10), generated(rng, 1e7, 10)) for _ in range(1000)]
    assert equal.count("fail") <= 50
    slower = [one_verdict("goodput >= 0.99", generated(rng, 1e7, 5), generated(rng, 0.95e7, 5)) for _ in range(20)]
    assert slower.count("fail") >= 19
    within = [one_verdict("goodput >= 0.95", generated(rng, 1e7, 5), generated(rng, 1e7, 5)) for _ in range(20)]
    assert within.count("pass") >= 19


@pytest.mark.parametrize("text", ["x >= 0.999", "x <= 1.001"])
def test_one_gate_is_decided_by_its_interval(text: str) -> None:
    rng = np.random.default_rng(8)
    seen = set()
    for _ in range(60):
        test = gates.Test(gates.parse(text), "net", generated(rng, 1e7, 6), generated(rng, 1.001e7, 6))
        (judged,) = gates.judge([test])
        low, high = test.ratio.low, test.ratio.high
        assert low is not None
        assert high is not None
        satisfied = [end >= 0.999 if ">=" in text else end <= 1.001 for end in (low, high)]
        expected = "pass" if all(satisfied) else "undecided" if any(satisfied) else "fail"
        assert judged.verdict == expected
        seen.add(expected)
    assert {"pass", "undecided"} <= seen


def test_several_gates_are_corrected() -> None:
    """Two p-values of 0.03: each alone would decide."""
    a = [1.0, 1.01, 0.99, 1.0]
    b = [1.02, 1.05, 1.05, 1.02]
    test = gates.Test(gates.parse("x >= 1"), "net", a, b)
    (alone,) = gates.judge([test])
    assert alone.p is not None
    assert 0.025 < alone.p < 0.05
    assert alone.verdict == "pass"
    both = gates.judge([test, test])
    assert [judged.verdict for judged in both] == ["undecided", "undecided"]
    assert both[0].p == pytest.approx(2 * alone.p)


def test_the_number_of_repeats_decides() -> None:
    """Of the generated numbers with as many repeats as were asked for, about four in five decide."""
    rng = np.random.default_rng(9)
    contrasts = [0.001, -0.002, 0.003, 0.0]
    n = gates.repeats_needed(contrasts, 0.05)
    assert n is not None
    assert n > 4
    mean, spread = np.mean(contrasts), np.std(contrasts, ddof=1)
    decided = sum(
        (stats.p_value((mean + spread * rng.standard_normal(n)).tolist(), 0.0) or 0) < 0.05 for _ in range(400)
    )
    assert 0.72 < decided / 400 < 0.88
    assert gates.repeats_needed([1.0, -1.0], 0.05) is None
    a, b = [1.0, 1.0, 1.0], [1.0, 1.01, 0.99]
    (judged,) = gates.judge([gates.Test(gates.parse("x >= 1"), "net", a, b)])
    assert "more than 1,000 repeats would decide it" in verdict(judged)


def test_zeros_and_values_without_spread_decide() -> None:
    assert one_verdict("loss <= 1.1", [0, 0, 0], [0, 0, 0]) == "pass"
    assert one_verdict("loss >= 0.9", [0, 0, 0], [0, 0, 0]) == "pass"
    assert one_verdict("x >= 0.95", [2, 2], [2, 2]) == "pass"
    assert one_verdict("x >= 0.95", [2, 2], [1, 1]) == "fail"
    assert one_verdict("loss <= 1.1", [0, 0.01, 0, 0.01], [0.4, 0.42, 0.38, 0.4]) == "fail"
    assert one_verdict("x >= 1", [1], [2]) == "undecided"
    assert one_verdict("x >= 1", [], []) == "undecided"


def test_a_gate_is_an_inequality() -> None:
    assert gates.parse(" p95_queue[a->b]<=1.1 ") == gates.Gate("p95_queue[a->b]", False, 1.1)
    assert str(gates.parse("goodput >= .95")) == "goodput >= 0.95"
    for text in ("goodput", "goodput > 0.9", "goodput >= 0", "goodput >= -1", ">= 1", "goodput => 1", "a >= 1%"):
        with pytest.raises(BadInput, match="must be NAME >= RATIO"):
            gates.parse(text)


def task(sides: int = 2, number: int = 4, texts: Sequence[str] = (), networks: int = 1) -> repeats.Task:
    scenario = Scenario.parse(SCENARIO.format(duration=1, queue=DROPTAIL, ecn="false"))
    programs = [SimpleNamespace(first=[name]) for name in "ab"[:sides]]
    names = ["net", "other"][:networks]
    return repeats.Task([scenario] * networks, names, programs, number, [gates.parse(text) for text in texts], 7)  # type: ignore[arg-type]


def no_progress(_: str) -> None:
    return None


class Stub:
    """Attempts with generated goodputs; those in `late` are not valid."""

    def __init__(self, late: Sequence[int] = (), means: Sequence[float] = (1e7, 1e7)) -> None:
        self.late, self.means = late, means
        self.jobs: list[Job] = []
        self.rng = np.random.default_rng(3)

    def __call__(self, _task: repeats.Task, _scenario: Scenario, job: Job) -> Attempt:
        self.jobs.append(job)
        if len(self.jobs) in self.late:
            return Attempt({}, ["p99 lateness 9 ms is more than 1 ms"])
        goodput = generated(self.rng, self.means[job.side], 1)[0]
        values = {"elapsed": 5.0, "goodput_forward": 100.0, "bytes_forward": 1.0}
        return Attempt(values | {"goodput_back": goodput, "bytes_back": goodput, "mean_queue[a->b]": 2.0, "mine": 3.0})


def test_the_order_is_a_b_b_a_with_equal_seeds_in_a_pair() -> None:
    stub = Stub()
    results = repeats.run(task(number=3, networks=2), no_progress, stub)
    in_turns = [(0, 7), (1, 7), (1, 8), (0, 8), (0, 9), (1, 9)]
    assert [(job.side, job.seed) for job in stub.jobs] == in_turns * 2
    assert [len(network.trials) for network in results.networks] == [6, 6]
    assert results.complete
    assert results.invalid == []
    stub = Stub()
    repeats.run(task(sides=1, number=3), no_progress, stub)
    assert [(job.side, job.seed) for job in stub.jobs] == [(0, 7), (0, 8), (0, 9)]


def test_a_run_that_is_not_valid_has_three_attempts() -> None:
    stub = Stub(late=(2, 4, 5, 6))
    (network,) = repeats.run(task(number=3), no_progress, stub).networks
    assert [trial.attempts for trial in network.trials] == [1, 2, ATTEMPTS, 1, 1, 1]
    (missing,) = network.missing
    assert (missing.job.side, missing.job.repeat, missing.attempts) == (1, 1, ATTEMPTS)
    assert network.complete == 2
    assert [len(side) for side in network.pairs("goodput")] == [2, 2]
    results = repeats.run(task(number=2), no_progress, Stub(late=range(1, 100)))
    assert results.invalid == results.networks


def test_the_pages_say_how_many_attempts_a_run_has(root: Path) -> None:
    count = ["no", "one", "two", "three", "four"][ATTEMPTS]
    pages = [root / "docs" / f"{name}.md" for name in ("real-stacks", "agree", "studies")]
    for page in (*pages, root / "python/ackclock/apps/reach/__init__.py"):
        assert set(re.findall(r"(\w+) attempts\b", page.read_text(encoding="utf-8"))) == {count}, page


def test_a_short_name_is_of_the_direction_with_most_bytes() -> None:
    (network,) = repeats.run(task(number=2), no_progress, Stub()).networks
    assert network.full_name("goodput") == "goodput_back"
    assert network.label("goodput") == "goodput (back)"
    assert network.full_name("mean_queue") == "mean_queue[a->b]"
    assert network.full_name("mine") == "mine"
    assert network.shown(2, ["goodput_forward"]) == ["elapsed", "goodput", "mine", "goodput_forward"]
    units = {"goodput": "b/s", "elapsed": "s", "mine": "", "p95_delay[a->b]": "s", "p50_delay_back": "s", "loss": ""}
    assert {name: pairs.unit(name) for name in units} == units


def test_an_unknown_name_stops_after_the_first_pair() -> None:
    stub = Stub()
    with pytest.raises(BadInput, match="have no such value; did you mean goodput"):
        repeats.run(task(texts=["goodputt >= 1"]), no_progress, stub)
    assert len(stub.jobs) == 2


def test_what_was_run_before_a_failure_or_an_interrupt_is_there() -> None:
    class Failing(Stub):
        error: BaseException

        def __call__(self, *arguments: Any) -> Attempt:
            if len(self.jobs) == 3:
                raise self.error
            return super().__call__(*arguments)

    for error in (ProgramFailed("A, repeat 2: the program has ended with status 1", "no\nroute"), KeyboardInterrupt()):
        Failing.error = error
        results = repeats.run(task(), no_progress, Failing())
        assert len(results.networks[0].trials) == 3
        assert (results.failed is error, results.interrupted) == (error is results.failed, error is not results.failed)
        assert not results.complete


@pytest.mark.parametrize(
    ("stub", "options", "status", "reason"),
    [
        (Stub(means=(1e7, 0.95e7)), ["--gate", "goodput >= 0.99"], 1, "--gate: net: goodput >= 0.99 fails"),
        (Stub(means=(1e7, 0.95e7)), ["--gate", "goodput >= 0.9"], 0, ""),
        (Stub(), ["--gate", "goodput >= 1"], 0, ""),
        (Stub(), ["--gate", "goodput >= 1", "--strict"], 1, "is undecided (--strict)"),
        (
            Stub(late=range(1, 100)),
            ["--gate", "goodput >= 0.9", "--strict"],
            4,
            "net: A, repeat 1 is missing: 3 attempts",
        ),
        (Stub(late=range(2, 6)), ["--gate", "goodput >= 0.9"], 0, "net: B, repeat 1 is missing"),
    ],
)
def test_the_exit_status_says_what_has_happened(
    stub: Stub,
    options: list[str],
    status: int,
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if not hasattr(_core, "emulate"):
        pytest.skip("runs in real time need Linux")
    monkeypatch.setattr(repeats, "emulated_once", stub)
    (tmp_path / "net.toml").write_text(SCENARIO.format(duration=1, queue=DROPTAIL, ecn="false"))
    command = ["emulate", str(tmp_path / "net.toml"), "--a", "a", "--b", "b", "--repeats", "4", *options]
    assert main(command) == status
    printed = capsys.readouterr()
    assert reason in printed.err
    assert ("goodput (back)" in printed.out) == (status != 4)


def test_an_interrupt_prints_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if not hasattr(_core, "emulate"):
        pytest.skip("runs in real time need Linux")
    stub = Stub()

    def attempt(*arguments: Any) -> Attempt:
        if len(stub.jobs) == 6:
            raise KeyboardInterrupt
        return stub(*arguments)

    monkeypatch.setattr(repeats, "emulated_once", attempt)
    (tmp_path / "net.toml").write_text(SCENARIO.format(duration=1, queue=DROPTAIL, ecn="false"))
    assert (
        main(["emulate", str(tmp_path / "net.toml"), "--a", "a", "--b", "b", "--plot", str(tmp_path / "o.png")]) == 130
    )
    printed = capsys.readouterr()
    assert "Pairs: net: 3." in printed.out
    assert "interrupted" in printed.err
    assert not (tmp_path / "o.png").exists()


def test_junit_is_xml(tmp_path: Path) -> None:
    cases = [junit.Case("<net>", "a & b\x1b[31m", "failure", "x < y\x00\nsecond"), junit.Case("n", "é", "pass", "1")]
    root = ElementTree.fromstring(junit.document("suite", cases))
    assert root.attrib | {"tests": "2", "failures": "1"} == root.attrib
    failure = root.find("testsuite/testcase/failure")
    assert failure is not None
    assert failure.get("message") == "x < y\\x00"
    results = repeats.run(task(texts=["goodput >= 0.99", "goodput >= 0.9"]), no_progress, Stub(means=(1e7, 0.95e7)))
    for strict in (False, True):
        write_junit(tmp_path / "out.xml", results, results.judged(), strict=strict)
        names = [
            (case.get("name"), [child.tag for child in case])
            for case in ElementTree.parse(tmp_path / "out.xml").iter("testcase")
        ]
        assert names == [
            ("runs", ["system-out"]),
            ("goodput >= 0.99", ["failure"]),
            ("goodput >= 0.9", ["system-out"]),
        ]
    results.failed = ProgramFailed("A, repeat 1: cannot run x", "output")
    write_junit(tmp_path / "out.xml", results, [], strict=False)
    (case,) = ElementTree.parse(tmp_path / "out.xml").iter("testcase")
    assert [child.tag for child in case] == ["error"]


def test_values_of_programs_are_numbers() -> None:
    assert repeats.printed_values("ttfb_s = 0.12\n\nrequests=3\nrequests=4\n") == {"ttfb_s": 0.12, "requests": 4}
    for text in ("ttfb_s 0.12", "=1", "a=", "a=nan", "a=b"):
        with pytest.raises(ProgramFailed, match="ACKCLOCK_VALUES: the line"):
            repeats.printed_values(text)


ROWS = [
    # time, link, event, reason, kind, number
    (1.0, "a->r", "enqueue", None, "data", 0),
    (1.0, "a->r", "depart", None, "data", 0),
    (1.1, "a->r", "deliver", None, "data", 0),
    (1.1, "r->b", "enqueue", None, "data", 0),
    (1.2, "a->r", "enqueue", None, "data", 1),
    (1.2, "a->r", "depart", None, "data", 1),
    (1.3, "a->r", "deliver", None, "data", 1),
    (1.3, "r->b", "drop", "queue", "data", 1),
    (1.5, "r->b", "depart", None, "data", 0),
    (1.9, "r->b", "deliver", None, "data", 0),
    (1.9, "b->r", "enqueue", None, "ack", 0),
]


def crossed() -> crossing.Crossing:
    """Two packets, of which the second one is dropped, and one on its way back."""
    names = ("time_s", "link", "event", "reason", "kind", "seq")
    packets = pl.DataFrame([dict(zip(names, row, strict=True)) for row in ROWS], infer_schema_length=None)
    packets = packets.with_columns(flow=pl.lit("f"), size=pl.lit(1000), marked=pl.lit(False))
    report = {"ends": [{"node": "a"}, {"node": "b"}]}
    return crossing.Crossing.of(SimpleNamespace(packets=packets, flow="f", report=report, until_s=3.0))  # type: ignore[arg-type]


def test_packets_are_counted_by_direction_and_link() -> None:
    of = crossed()
    forward, back = of.directions
    assert (forward.ends, back.ends) == (("a", "b"), ("b", "a"))
    assert (forward.sent_s.tolist(), forward.arrived_s.tolist(), forward.lost_s.tolist()) == ([1.0, 1.2], [1.9], [1.3])
    assert forward.delays_s.tolist() == pytest.approx([0.9])
    assert (forward.loss, back.loss) == (0.5, None)
    assert (of.begin_s, of.end_s, list(of.links)) == (1.0, 3.0, ["a->r", "r->b", "b->r"])
    assert of.delays("r->b").values.tolist() == pytest.approx([0.8])
    mean, quantiles = crossing.held(of.queue("r->b"), of.end_s)
    assert mean == pytest.approx(0.4 / 1.9)
    assert (quantiles["p50"], quantiles["p95"]) == (0, 1)
    assert [(link, reason, times.tolist()) for link, reason, times in of.drops()] == [("r->b", "queue", [1.3])]


def test_series_have_at_most_two_hundred_bins_and_keep_every_packet() -> None:
    series = crossing.over_time(crossed())
    forward, back = series["directions"]
    assert series["width_s"] * 200 == pytest.approx(2.0)
    assert {len(forward[key]) for key in forward if key not in {"name", "from", "to"}} == {200}
    assert [sum(forward[key]) for key in ("sent_packets", "received_bytes", "lost_packets")] == [2, 1000, 1]
    assert sum(back["sent_packets"]) == 1
    assert forward["p95_delay_s"][90] == pytest.approx(0.9)
    link = series["links"][1]
    assert sum(link["mean_queue_packets"]) / 200 == pytest.approx(0.4 / 2)
    assert sum(link["mean_queue_bytes"]) / 200 == pytest.approx(400 / 2)
    assert {reason: sum(counts) for reason, counts in link["dropped_packets"].items()} == {"queue": 1}
    json.dumps(series, allow_nan=False)


def test_quantiles_are_by_rank() -> None:
    values = np.arange(1.0, 101.0)
    assert crossing.quantiles(values) == {"p50": 50, "p95": 95, "p99": 99}
    assert crossing.quantiles(np.empty(0)) == {"p50": None, "p95": None, "p99": None}
    weights = np.where(values > 90, 9.0, 0.0)
    assert crossing.quantiles(values, weights)["p50"] == 95


# Real emulations.

SERVER = """
import socket
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("10.77.0.2", 7000)); s.listen()
c, _ = s.accept()
while c.recv(1 << 16):
    pass
"""
CLIENT = """
import os, socket, sys
print("client of", sys.argv[1])
if sys.argv[2] == "fail":
    sys.exit(3)
s = socket.create_connection((sys.argv[1], 7000))
s.sendall(bytes(int(sys.argv[2])))
s.shutdown(socket.SHUT_WR)
s.recv(1)
if "ACKCLOCK_VALUES" in os.environ:
    with open(os.environ["ACKCLOCK_VALUES"], "a") as file:
        print(f"sent={sys.argv[2]}", file=file)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    if not hasattr(_core, "emulate"):
        pytest.skip("runs in real time need Linux")
    namespaces()
    (tmp_path / "net.toml").write_text(SCENARIO.format(duration=60, queue=DROPTAIL, ecn="false"))
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "client.py").write_text(CLIENT)
    return tmp_path


@pytest.fixture
def emulate(folder: Path, ackclock_process: Command) -> Command:
    """The command in the folder, with the server at the other end."""

    def run(*arguments: str, server: str = "server.py") -> subprocess.CompletedProcess[str]:
        other = f"{sys.executable} {server}"
        return ackclock_process("emulate", "net.toml", "--at-to", other, *arguments, cwd=folder)

    return run


def client(size: int | str) -> str:
    return f"{sys.executable} client.py {{remote}} {size}"


def test_what_crossed_is_recorded(emulate: Command, folder: Path) -> None:
    files = ("--packets", "p.parquet", "--pcap", "s=s.pcapng", "--pcap", "d=d.pcapng", "--plot", "o.png")
    done = emulate(*files, "--json", "--", *client(200_000).split())
    assert done.returncode in {0, 4}, done.stderr
    report = json.loads(done.stdout)
    ends, series = report["ends"], report["series"]
    assert ends[1]["received_payload_bytes"] >= 200_000
    assert 0 < report["measured_s"] <= report["elapsed_s"]
    assert 0 < report["program_s"] <= report["elapsed_s"]
    for direction, sender, receiver in zip(series["directions"], ends, reversed(ends), strict=True):
        assert sum(direction["sent_packets"]) == sender["sent_packets"]
        assert sum(direction["received_packets"]) == pytest.approx(receiver["received_packets"], abs=2)
    link = series["links"][0]
    assert sum(link["dropped_packets"].get("queue", [])) == report["links"][0]["dropped_packets"]["queue"]
    packets = pl.read_parquet(folder / "p.parquet")
    assert set(packets["event"].unique()) >= {"enqueue", "depart", "deliver"}
    assert (folder / "o.png").stat().st_size > 10_000
    sizes = [(folder / f"{node}.pcapng").stat().st_size for node in "sd"]
    assert all(size > 200_000 for size in sizes)
    assert (folder / "s.pcapng").read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"


def test_a_beside_b(emulate: Command, folder: Path) -> None:
    """B sends twice as much: the values of the programs are compared without any spread."""
    compared = ("--a", client(100_000), "--b", client(200_000), "--repeats", "2")
    options = ("--gate", "sent >= 1.9", "--gate", "sent <= 1.5", "--junit", "out.xml", "--plot", "o.svg", "--json")
    done = emulate(*compared, *options)
    if done.returncode == 4:
        assert "p99 lateness" in done.stderr
        pytest.skip(f"machine too slow in three attempts: {done.stderr.strip()}")
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert [gate["verdict"] for gate in document["gates"]] == ["pass", "fail"]
    (network,) = document["networks"]
    assert [(run["program"], run["seed"]) for run in network["runs"]] == [("a", 1), ("b", 1), ("b", 2), ("a", 2)]
    values = {value["name"]: value for value in network["values"]}
    assert (values["sent"]["a"], values["sent"]["b"]) == ([100_000] * 2, [200_000] * 2)
    assert values["goodput"]["of"] == "goodput_forward"
    assert 1.9 < values["bytes"]["ratio"][0] < 2.1
    assert ElementTree.parse(folder / "out.xml").getroot().get("failures") == "1"
    assert (folder / "o.svg").exists()
    assert "client of" not in done.stdout + done.stderr


def test_repeats_of_one_program(emulate: Command) -> None:
    done = emulate("--repeats", "2", "--", *client(100_000).split())
    assert done.returncode in {0, 4}, done.stderr
    if done.returncode == 0:
        assert "goodput (forward)" in done.stdout
        assert "Runs: net: 2." in done.stdout


def test_programs_that_fail_end_with_status_5(emulate: Command, folder: Path) -> None:
    for arguments, server, reason in (
        (("--a", client(1000), "--b", client("fail")), "server.py", "B, repeat 1: the program has ended with status 3"),
        (("--a", "true", "--b", "true"), "absent.py", "A, repeat 1: the command at the other end has ended with"),
        (("--a", "absent", "--b", "true"), "server.py", "A, repeat 1: cannot run absent"),
        (("--repeats", "2", "--", "true"), "server.py", "A, repeat 1: no packet crossed the network"),
    ):
        done = emulate("--junit", "out.xml", *arguments, server=server)
        assert (done.returncode, reason in done.stderr) == (5, True), done.stderr
        assert ElementTree.parse(folder / "out.xml").getroot().get("errors") == "1"
        if "status 3" in reason:
            assert "client of 10.77.0.2" in done.stderr


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_nothing_of_a_pair_is_left_behind(folder: Path, sent: signal.Signals) -> None:
    marker = f"61.{os.getpid()}{int(sent)}"
    command = [
        str(Path(sys.executable).parent / "ackclock"),
        "emulate",
        "net.toml",
        "--a",
        f"sleep {marker}",
        "--b",
        "true",
    ]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, cwd=folder, env={**os.environ, "TMPDIR": str(folder)}, **quiet)

    try:
        assert until(lambda: running(marker) == 1)
        process.send_signal(sent)
        assert process.wait(20) == (130 if sent == signal.SIGINT else -sent)
        assert until(lambda: running(marker) == 0)
    finally:
        process.kill()


def test_options_that_do_not_go_together(tmp_path: Path, ackclock: Command) -> None:
    (tmp_path / "net.toml").write_text(SCENARIO.format(duration=1, queue=DROPTAIL, ecn="false"))
    if not hasattr(_core, "emulate"):
        pytest.skip("runs in real time need Linux")
    for arguments, reason in (
        (("--gate", "goodput >= 1", "--", "true"), "--gate: needs --b"),
        (("--strict", "--", "true"), "--strict: needs --b"),
        (("--b", "true"), "need program A"),
        (("--a", "true", "--b", "true", "--", "true"), "the program after -- is A already"),
        (("--a", "true", "--b", "true", "--repeats", "0"), "--repeats: is a number from 1"),
        (("--a", "true", "--b", "true", "--repeats", "1", "--gate", "x >= 1"), "a gate needs at least 2"),
        (("--a", "'", "--b", "true"), "--a '"),
        (("--a", "true", "--b", ""), "--b: names no program"),
        (("--a", "true", "--b", "true", "--packets", "p.csv"), "--packets: is of one run"),
        (("--junit", "out.xml", "--", "true"), "--junit: needs --b or --repeats"),
        (("--packets", "p.txt", "--", "true"), "must end in .parquet or .csv"),
        (("--pcap", "nowhere=n.pcapng", "--", "true"), "nowhere"),
    ):
        done = ackclock("emulate", "net.toml", *arguments, cwd=tmp_path)
        assert (done.returncode, reason in done.stderr) == (2, True), done.stderr
        assert len(done.stderr.splitlines()) <= 2
    done = ackclock("emulate", "net.toml,@starlink", "--", "true", cwd=tmp_path)
    assert (done.returncode, "several networks need --repeats or --b" in done.stderr) == (2, True)


def test_a_mean_has_its_spread() -> None:
    from ackclock.cli.emulate_verdicts import mean_spread

    assert mean_spread([1.0, 3.0]) == pytest.approx(math.sqrt(2) / 2)


def test_trials_without_a_valid_run_have_no_names() -> None:
    assert NetworkRuns("net").names(2) == []
    assert NetworkRuns("net").shown(2) == []
