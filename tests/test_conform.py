"""`ackclock conform`: its statistics, a controller beside itself, what differs, and failing stacks."""

from __future__ import annotations

import json
import random
import shutil
import sys
import xml.etree.ElementTree as xml
from pathlib import Path
from typing import Any

import pytest

from ackclock import _core
from ackclock.apps.agree.compare import compare as agree_compare
from ackclock.apps.agree.compare import judge as agree_judge
from ackclock.apps.agree.metrics import Metric
from ackclock.apps.conform.compare import compare, count, metrics, situations
from ackclock.apps.conform.stack import load
from ackclock.base.files import BadInput
from conftest import ONE_FLOW, Command


def metric(part: float, least: float) -> Metric:
    """A metric of `ackclock agree` with this region."""
    from dataclasses import replace

    from ackclock.apps.agree.metrics import METRICS

    return replace(METRICS[0], part=part, least=least)


def test_the_tests_are_those_of_agree() -> None:
    """The p-values of 1,000 random samples against one reference, in Rust and with SciPy."""
    draw = random.Random(70)
    compared = 0
    for _ in range(1000):
        n = draw.randrange(3, 25)
        part, least = draw.choice([(0.05, 0.0), (0.1, 0.02), (0.0, 0.05)])
        level = draw.choice([0.0, 0.1, 1.0, 20.0])
        reference = [level * draw.uniform(0.9, 1.1) for _ in range(n)]
        ratio = draw.uniform(0.85, 1.15)
        own = [value * ratio * draw.uniform(0.97, 1.03) for value in reference]
        row = agree_judge(
            [agree_compare(metric(part, least), dict(enumerate(reference)), dict(enumerate(own)), paired=True)]
        )[0]
        ours = json.loads(_core.conform_compare(own, [reference], part, least))
        assert ours["verdict"] == row.verdict.replace(" ", "_"), (own, reference, part, least)
        for key in ("p_agrees", "p_differs"):
            expected = getattr(row, key)
            assert (ours[key] is None) == (expected is None), (own, reference, part, least)
            if expected is not None:
                assert ours[key] == pytest.approx(expected, abs=1e-9)
                compared += 1
    assert compared > 1000


def test_the_list_of_situations_is_fixed(root: Path) -> None:
    """Version 1: names, and scenarios of at most 15 lines."""
    listed = situations()
    assert [one["name"] for one in listed] == [
        *("bdp", "shallow", "deep", "loss", "light-loss", "jitter", "reorder", "drop-rate", "outage"),
        *("start", "frames", "ecn", "against-cubic", "two"),
    ]
    assert [one["name"] for one in listed if one["quick"]] == ["bdp", "deep", "loss", "jitter", "start"]
    files = {path.stem for path in (root / "crates/ackclock/situations").glob("*.toml")}
    assert files == {one["name"] for one in listed}
    for one in listed:
        assert one["scenario"].count("\n") <= 22, one["name"]
        assert one["title"]
        assert one["title"] in one["scenario"]


def report(control: str, reference: str, chosen: list[str], seeds: int) -> dict[str, Any]:
    stack = load(f"quinn:{control}")
    return compare(stack, control, reference, chosen=chosen, seeds=seeds)


def test_a_controller_agrees_with_itself_and_not_with_another_decrease() -> None:
    same = report("cubic:rfc9438", "cubic:rfc9438", ["bdp", "loss", "start"], 5)
    assert set(count(same)) == {"agrees"}
    other = report("cubic:rfc9438,beta=0.5", "cubic:rfc9438", ["light-loss"], 8)
    goodput = next(metric for _, metric in metrics(other) if metric["metric"] == "goodput")
    assert goodput["standing"] == "differs"
    said = "; ".join(goodput["checks"])
    assert "10 fresh seeds say the same" in said
    assert "the stack's Reno agrees with ours" in said
    # 0.5 in place of 0.7 makes a cut deeper.
    assert goodput["comparison"]["value"] < 0.95
    # The variants of the reference span the region.
    assert same["variants"] == [f"{t}, slow_start = {s}" for s in ("standard", "hystart_pp") for t in ("TCP", "QUIC")]


def test_a_reference_is_named_exactly() -> None:
    linux = report("cubic:linux", "cubic:rfc9438", ["loss"], 5)
    own = report("cubic:linux", "cubic:linux", ["loss"], 5)
    assert linux["reference"] == "cubic, arithmetic = rfc9438"
    low = [metric["comparison"]["value"] for _, metric in [*metrics(linux), *metrics(own)]]
    assert low[0] < low[1]
    for name, message in (
        ("cubic:rfc8312", 'cubic has no variant "rfc8312"; variants of cubic: rfc9438, linux'),
        ("cubicc", 'there is no controller "cubicc" to refer to; there are'),
        ("reno,bet=0.5", "bet"),
        ("reno,beta", '"beta" is not PARAMETER=VALUE'),
    ):
        with pytest.raises(BadInput, match=message):
            report("reno", name, ["bdp"], 3)


@pytest.fixture
def toy(root: Path, tmp_path: Path) -> Path:
    """The folder of the toy transport."""
    for name in ("toy.py", "child.py", "stack.toml"):
        shutil.copy(root / "examples/stack" / name, tmp_path)
    text = (tmp_path / "stack.toml").read_text().replace('"python3"', json.dumps(sys.executable))
    (tmp_path / "stack.toml").write_text(text)
    return tmp_path


def test_a_class_and_a_program_have_one_report(ackclock: Command, toy: Path) -> None:
    options = ("--situations", "start", "--seeds", "3", "--out")
    by_class = ackclock("conform", "toy.py:Toy", *options, "one", "--junit", "one.xml", cwd=toy)
    by_program = ackclock("conform", "stack.toml", *options, "two", "--strict", cwd=toy)
    assert by_class.returncode == 0, by_class.stderr
    assert by_class.stdout.splitlines()[0].startswith("toy 1, toy, beside reno: ")
    reports = [json.loads((toy / name / "conform.json").read_text())[0] for name in ("one", "two")]
    assert reports[0]["situations"][0]["metrics"] == reports[1]["situations"][0]["metrics"]
    assert by_program.stdout.splitlines()[1:-2] == by_class.stdout.splitlines()[1:-3]
    # Reno that is compared with Reno has no control.
    goodput = reports[0]["situations"][0]["metrics"][0]
    assert goodput["standing"] == "suspect"
    assert "Reno is its own control: nothing tells the controller from loss recovery and pacing" in goodput["checks"]
    divergence = reports[0]["situations"][0]["divergence"]
    assert divergence.startswith("at 0.")
    assert "the stack had delivered" in divergence
    cases = xml.parse(toy / "one.xml").getroot().iter("testcase")
    assert {case.get("classname") for case in cases} == {"toy.toy.start"}
    page = (toy / "one/index.html").read_text()
    assert "toy 1 beside the reference" in page
    assert "http" not in page.replace("http://www.w3.org", "").replace("https://matplotlib.org", "").replace(
        "http://purl.org", ""
    ).replace("http://creativecommons.org", "")
    assert (toy / "one/cases/start.toml").is_file()


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["nothing.toml"], 2, "nothing.toml: No such file or directory; a stack is stack.toml"),
        (["toy.py"], 2, "toy.py: name the class too"),
        (["toy.py:Tox"], 2, "toy.py: has no Tox; did you mean Toy?"),
        (["stack.toml", "--situations", "bpd"], 2, "did you mean bdp?"),
        (["stack.toml", "--seeds", "2"], 2, "--seeds 2: must be a whole number from 3"),
        (["two.toml", "--as", "cubic:rfc9438"], 2, "which controller of two is it? write --control, one of a, b"),
        (["stack.toml", "--control", "x"], 2, "--control x: name its reference with --as"),
        (["wrong.toml"], 2, "comand: unknown key; did you mean command?"),
        (["header.toml"], 2, "header.toml: header: must be from 0 to 65535 bytes"),
        (["gone.toml"], 3, "./no-such-program cannot be started: it is not there"),
        (["dies.toml", "--situations", "bdp", "--seeds", "3"], 4, "stack failed in bdp, seed 1"),
        (["silent.py:Silent", "--as", "reno", "--situations", "bdp", "--seeds", "3"], 4, "no datagram in 30 s"),
    ],
)
def test_bad_input_and_failing_stacks(
    ackclock: Command, toy: Path, words: list[str], status: int, message: str
) -> None:
    (toy / "wrong.toml").write_text('comand = ["x"]\n')
    (toy / "two.toml").write_text('command = ["true"]\ncontrollers = { a = "reno", b = "bbr3" }\n')
    (toy / "header.toml").write_text('command = ["true"]\nheader = -5\n')
    (toy / "gone.toml").write_text('command = ["./no-such-program"]\ncontrollers = { reno = "reno" }\n')
    dies = json.dumps([sys.executable, "-c", "raise SystemExit(7)"])
    (toy / "dies.toml").write_text(f'command = {dies}\ncontrollers = {{ reno = "reno" }}\n')
    (toy / "silent.py").write_text(
        "class End:\n    def receive(self, now, d): pass\n"
        "    def poll(self, now): return []\n    def timer(self): pass\n"
        "def Silent(case): return End(), End()\n"
    )
    done = ackclock("conform", *words, cwd=toy)
    assert done.returncode == status, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (toy / "out").exists()


def test_a_stack_is_a_substrate(ackclock: Command, toy: Path) -> None:
    """`run`, `agree` and `search` with a stack: a program and a class, with the payload that they count."""
    (toy / "s.toml").write_text(ONE_FLOW)
    outcomes = []
    for name in ("stack.toml", "toy.py:Toy"):
        done = ackclock("run", "s.toml", "--on", f"stack:{name}", "--json", cwd=toy)
        assert done.returncode == 0, done.stderr
        outcomes.append(json.loads(done.stdout))
        del outcomes[-1]["engine"]
    assert outcomes[0] == outcomes[1]
    flow = outcomes[0]["flows"][0]
    assert (flow["kind"], flow["control"]) == ("attached", "toy")
    assert flow["goodput_bps"] > 3e6
    assert flow["delivered_bytes"] % 1200 == 0
    refused = ackclock("run", "s.toml", "--on", "stack:stack.toml", "--control", "cubic", cwd=toy)
    assert refused.returncode == 2
    assert "toy has no cubic; its controllers claim to be reno" in refused.stderr
    options = ["--on", "tcp,stack:stack.toml", "--seeds", "3", "--out", "agreed"]
    agreed = ackclock("agree", "s.toml", *options, cwd=toy)
    assert agreed.returncode == 0, agreed.stderr
    document = json.loads((toy / "agreed/agree.json").read_text())
    compared = document["controllers"][0]["comparisons"][0]
    assert compared["substrate"] == "stack:stack.toml"
    assert len(compared["rows"]) > 3
    options = ["--objective", "goodput <= 3e6", "--budget", "4", "--out", "found"]
    searched = ackclock("search", "s.toml", "--control", "stack:toy.py:Toy", *options, cwd=toy)
    assert searched.returncode in (0, 1), searched.stderr
    assert (toy / "found/report.html").is_file()


FINISHING = """
NAME = "../<b>&"

from toy import Destination, Source


class Finishing(Source):
    def __init__(self, most):
        super().__init__()
        self.most = most

    def poll(self, now_ns):
        for data in super().poll(now_ns):
            if int.from_bytes(data[:8], "little") < self.most:
                yield data
        self.sent_ns = {number: at for number, at in self.sent_ns.items() if number < self.most}

    def finished(self):
        return not self.sent_ns


class Last(Destination):
    def finished(self):
        return True


def Stack(case):
    return Finishing((case["bytes"] or 10**9) // 1200 + 1), Last()
"""


def test_a_stack_that_finishes_early_has_its_completion_time(ackclock: Command, toy: Path) -> None:
    """And its name, which is a stranger's text, names no other folder and is no part of the page."""
    (toy / "finishing.py").write_text(FINISHING)
    done = ackclock("conform", "finishing.py:Stack", "--as", "reno", "--situations", "start", "--seeds", "3", cwd=toy)
    assert done.returncode == 0, done.stderr
    folder = toy / "out/conform/_<b>&".replace("<", "_").replace(">", "_").replace("&", "_")
    assert folder.is_dir(), list((toy / "out/conform").iterdir())
    [made] = json.loads((folder / "conform.json").read_text())
    completion = made["situations"][0]["metrics"][0]
    assert completion["metric"] == "completion"
    # 2 MB in windows of 24,000 bytes, a round trip of 100 ms each.
    assert completion["comparison"]["stack"] == pytest.approx(8.4, abs=0.4)
    assert "<b>" not in (folder / "index.html").read_text()
    assert "ackclock run start.toml --on stack:STACK --seed" in (folder / "cases/start.toml").read_text()


def test_a_stack_plays_no_udp_flow(ackclock: Command, toy: Path) -> None:
    udp = ONE_FLOW.replace('tcp = { congestion_control = "reno" }', 'udp = { rate = "1Mbps" }')
    (toy / "udp.toml").write_text(udp)
    done = ackclock("run", "udp.toml", "--on", "stack:stack.toml", cwd=toy)
    assert done.returncode == 2
    assert "has no TCP or QUIC flow in a [[flow]] table, which a stack could play" in done.stderr


def test_the_payload_of_a_warm_up_is_not_counted(ackclock: Command, toy: Path) -> None:
    (toy / "s.toml").write_text('warmup = "2s"\n' + ONE_FLOW)
    done = ackclock("run", "s.toml", "--on", "stack:toy.py:Toy", "--json", cwd=toy)
    flow = json.loads(done.stdout)["flows"][0]
    assert flow["goodput_bps"] == pytest.approx(flow["throughput_bps"] * 1200 / 1228, rel=0.02)
