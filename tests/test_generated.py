"""Generated scenarios and command lines: each gives a result or one message, and no false violation.

`ACKCLOCK_GENERATED=20000 pytest tests/test_generated.py` tries more of them, of the same sequence.
"""

from __future__ import annotations

import itertools
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from ackclock import Scenario, ScenarioError
from ackclock.catalog import entries
from ackclock.cli.app import main

COUNT = int(os.environ.get("ACKCLOCK_GENERATED", "300"))
CONTROLLERS = [entry["name"] for entry in entries("controllers")]
RATES = ("100kbps", "1Mbps", "3.7Mbps", "10Mbps", "0bps", "1Gbps")
TIMES = ("0s", "1us", "3ms", "20ms", "250ms", "-1s")
SIZES = ("1B", "1kB", "30kB", "1MB")


class Generator:
    """Documents of scenarios, most of which can be run."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)

    def some(self, *values: Any) -> Any:
        return self.draw.choice(values)

    def maybe(self, part: float, table: dict[str, Any]) -> dict[str, Any]:
        return table if self.draw.random() < part else {}

    def queue(self) -> dict[str, Any]:
        limit = self.some("1p", "5p", "50p", "3000B", "20kB", "1bdp")
        if self.some(True, True, False):
            return {"kind": "droptail", "limit": limit}
        return {"kind": "red", "limit": self.some("20p", "30kB")} | self.maybe(0.5, {"ecn": True})

    def loss(self) -> dict[str, Any]:
        rate = self.draw.choices((0.0, 0.01, 0.3, 1.0, 1.5), [9, 9, 9, 3, 1])[0]
        flow = self.some("f0", "f0", "f0", "nobody")
        kinds: list[dict[str, Any]] = [
            {"kind": "bernoulli", "rate": rate},
            {"kind": "gilbert_elliott", "p": 0.01, "r": 0.3, "loss_good": 0.0, "loss_bad": 0.5},
            {"kind": "list", "flow": flow, "packets": [1, 3, 4]},
        ]
        return self.draw.choice(kinds)

    def link(self, a: str, b: str) -> dict[str, Any]:
        rate = self.draw.choices(RATES, [20, 90, 90, 90, 1, 20])[0]
        delay = self.draw.choices(TIMES, [20, 20, 90, 90, 30, 1])[0]
        table = {"ends": [a, b], "rate": rate, "delay": delay}
        return table | self.maybe(0.7, {"queue": self.queue()}) | self.maybe(0.3, {"loss": self.loss()})

    def tcp(self) -> dict[str, Any]:
        return (
            {"profile": self.some("ns2", "linux"), "control": self.draw.choice(CONTROLLERS)}
            | self.maybe(0.6, {"recovery": self.some("tahoe", "reno", "newreno", "sack", "westwood_module")})
            | self.maybe(0.5, {"window": self.some(1, 7, 20, 300, 100_000)})
            | self.maybe(0.3, {"timestamps": self.some(True, False)})
            | self.maybe(0.3, {"delayed_ack": self.some(True, False)})
            | self.maybe(0.2, {"syn": False})
            | self.maybe(0.2, {"ecn": True})
            | self.maybe(0.2, {"packet": self.some(1, 100, 1000, 9000)})
            | self.maybe(0.2, {"header": self.some(0, 40, 60)})
            | self.maybe(0.1, {"pacing": True})
            | self.maybe(0.1, {"initial_window": self.some(1, 10, 1e5)})
            | self.maybe(0.1, {"max_burst": self.some(0, 1, 5)})
            | self.maybe(0.02, {"speed": 3})
        )

    def flow(self, number: int, nodes: list[str]) -> dict[str, Any]:
        table: dict[str, Any] = {"name": f"f{number}", "from": nodes[0], "to": nodes[-1]}
        table |= self.maybe(0.5, dict(zip(("from", "to"), self.draw.sample(nodes, 2), strict=True)))
        table |= self.maybe(0.02, {"to": nodes[0]})
        table |= self.maybe(0.5, {"start": self.some("0s", "10ms", "700ms")})
        table |= self.maybe(0.2, {"stop": self.some("500ms", "1500ms", "9s")})
        if self.draw.random() < 0.2:
            return table | {"udp": {"packet": self.some(1, 500, 1500), "rate": self.some("50kbps", "2Mbps")}}
        return table | self.maybe(0.4, {"bytes": self.draw.choice(SIZES)}) | self.maybe(0.8, {"tcp": self.tcp()})

    def document(self) -> dict[str, Any]:
        """A scenario: nodes in a line with some more links between them, flows, sometimes traffic or a warm-up."""
        nodes = [f"n{i}" for i in range(self.draw.randrange(2, 6))]
        links = [self.link(a, b) for a, b in itertools.pairwise(nodes)]
        links += [self.link(*self.draw.sample(nodes, 2)) for _ in range(self.draw.randrange(3))]
        flows = [self.flow(i, nodes) for i in range(self.draw.randrange(1, 5))]
        traffic = {"from": nodes[0], "to": nodes[-1], "load": self.some("200kbps", "1Mbps"), "size": "20kB"}
        return (
            {"duration": self.some("200ms", "1s", "2500ms"), "link": links, "flow": flows}
            | self.maybe(0.2, {"warmup": self.some("100ms", "190ms", "5s")})
            | self.maybe(0.2, {"traffic": [traffic]})
            | self.maybe(0.2, {"delays": True})
            | self.maybe(0.1, {"title": self.some("[/] oops", "a\x1b[31mb", "$x", "")})
        )


def test_generated_scenarios_run_clean_or_are_refused() -> None:
    """No panic, no false violation, and the same outcome with and without auditor and captures."""
    found: Counter[str] = Counter()
    for seed in range(COUNT):
        document = Generator(seed).document()
        try:
            scenario = Scenario.build(document)
            result = scenario.run(seed=seed, audit=True, captures=[""])
        except ScenarioError as error:
            found["refused" if len(str(error).splitlines()) == 1 else "refused in many lines"] += 1
            continue
        assert result.violations == [], tomli_w.dumps(document)
        found["run"] += 1
        if seed % 10 == 0:
            plain = scenario.run(seed=seed).outcome
            for outcome in (plain, result.outcome):
                del outcome["engine"]["cpu_s"], outcome["engine"]["wall_s"]
            assert plain == result.outcome, tomli_w.dumps(document)
    assert set(found) == {"run", "refused"}
    assert found["run"] > COUNT / 5
    assert found["refused"] > COUNT / 20


WORDS = (
    *(
        "--set",
        "duration=1s",
        "link.0.rate=fast",
        "flow.f0.tcp.congestion_control=cubic",
        "--seed",
        "3",
        "-1",
        "--json",
    ),
    *("--audit", "--plot", "x.svg", "x.doc", "--trace", "t.parquet", "--pcap", "n0=c.pcapng", "nowhere=c.pcapng", "="),
    *("--out", "out", "good.toml", "bad.toml", "gone.toml", "--metric", "jain", "--where", "a=b", "--runs", "--help"),
    *("--at", "0.5s", "soon", "--jobs", "0", "2", "--until", "jain:2%", "", "--", "\x1b[31m", "controllers", "\udcff"),
)
COMMANDS = ("run", "check", "sweep", "results", "list", "why", "orbit", "radio", "identify", "nothing")


def test_generated_command_lines_end_with_a_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every command line ends with exit status 0, 1 or 2; every error gives a message."""
    monkeypatch.chdir(tmp_path)
    document = {"duration": "1s", "link": [{"ends": ["n0", "n1"], "rate": "1Mbps", "delay": "1ms"}]}
    good = document | {"flow": [{"name": "f0", "from": "n0", "to": "n1"}]}
    (tmp_path / "good.toml").write_text(tomli_w.dumps(good))
    (tmp_path / "bad.toml").write_text("duration = 3\n[[[")
    draw = random.Random(1)
    statuses: Counter[int] = Counter()
    for _ in range(max(60, COUNT * 900 // 20_000)):
        line = [draw.choice(COMMANDS), *(draw.choice(WORDS) for _ in range(draw.randrange(5)))]
        try:
            status = main(line)
        except SystemExit as left:
            status = int(left.code or 0)
        told = capsys.readouterr()
        assert "Traceback" not in told.err + told.out, line
        assert status in {0, 1, 2}, line
        assert status != 2 or told.err.startswith("ackclock:"), line
        statuses[status] += 1
    assert statuses[0] > 0
    assert statuses[2] > 0
