"""`ackclock agree`: what a seed changes, the tests of equivalence, known differences, the command, and the bands."""

from __future__ import annotations

import json
import re
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ackclock import Scenario
from ackclock.apps.agree import document, known_differences, perturb
from ackclock.apps.agree.compare import Row, compare, compare_distributions, judge
from ackclock.apps.agree.equal import equal_packets, equal_span, has_profile
from ackclock.apps.agree.metrics import METRICS, NUMBERS, SHOWN, Setting, distance
from ackclock.apps.agree.page import render
from ackclock.apps.agree.sample import Curve, Sample, falls, from_outcome
from ackclock.apps.agree.table import main as write_tables
from ackclock.apps.agree.table import markdown, section
from ackclock.apps.controls import controls
from ackclock.apps.reach import substrates
from ackclock.apps.reach.flow_parameters import tcp_options
from ackclock.apps.reach.runs import kernel_name
from ackclock.base import models
from ackclock.base.files import BadInput
from ackclock.base.refusal import refused
from ackclock.base.workers import Stop
from ackclock.cli.app import main
from conftest import ONE_FLOW

UTILISATION, CUTS = NUMBERS["utilisation"], NUMBERS["cuts"]


class Beside(substrates.Simulated):
    """Simulated TCP with another recovery, as a substrate."""

    name = "other"
    title = "simulated TCP with the recovery newreno"
    real_time = False

    def __init__(self) -> None:
        self.runs: list[int] = []
        self.interrupt_at = 0
        self.invalid: set[int] = set()
        self.refuses = ""
        self.reason: str | None = None
        self.error: Exception | None = None

    def available(self, scenario: Scenario) -> str | None:
        return self.reason

    def run(self, scenario: Scenario, seed: int, stop: Stop | None = None) -> substrates.FinishedRun:
        control = scenario.resolved["flows"][0]["control"]
        if control == self.refuses:
            raise substrates.Refused(f"{control} needs what this substrate lacks")
        if self.error is not None:
            raise self.error
        self.runs.append(seed)
        if len(self.runs) == self.interrupt_at:
            raise KeyboardInterrupt
        changed = Scenario.parse(scenario.text, [*scenario.overrides, "tcp.recovery=newreno"], file=scenario.file)
        finished = super().run(changed, seed, stop)
        if self.real_time:
            reasons = ["p99 of the lateness is 9 ms"] if seed in self.invalid else []
            stamp = {"valid": not reasons, "reasons": reasons, "lateness_s": {"p50": 1e-4, "p99": 9e-3, "max": 0.02}}
            finished.outcome["validity"] = stamp
        return finished


@pytest.fixture
def beside(monkeypatch: pytest.MonkeyPatch) -> Beside:
    own = Beside()
    monkeypatch.setitem(substrates.SUBSTRATES, "other", own)
    return own


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "one.toml"
    file.write_text(ONE_FLOW)
    return file


def run(
    scenario: Path, out: Path, *more: str, on: str = "tcp,other", seeds: int = 4, jobs: str = "1"
) -> tuple[int, dict[str, Any]]:
    status = main(["agree", str(scenario), "--on", on, "--seeds", str(seeds), "--out", str(out), "--jobs", "1", *more])
    return status, json.loads((out / "agree.json").read_text()) if (out / "agree.json").exists() else {}


# What a seed changes


def test_a_seed_changes_starts_and_delays_and_nothing_else() -> None:
    text = Path("scenarios/dumbbell.toml").read_text(encoding="utf-8")
    plain = Scenario.parse(text)
    found = [perturb.overrides(plain.resolved, seed) for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]
    moved = Scenario.parse(text, found[0])
    before, after = plain.resolved, moved.resolved
    ratios = [b["delay_s"] / a["delay_s"] for a, b in zip(before["links"], after["links"], strict=True)]
    assert all(0.99 <= ratio <= 1.01 for ratio in ratios)
    assert len({round(ratio, 9) for ratio in ratios}) == len(ratios) // 2  # both directions of a link alike
    for a, b in zip(before["flows"], after["flows"], strict=True):
        assert 0 <= b["start_s"] - a["start_s"] <= a["base_rtt_s"]
    assert [link["rate_bps"] for link in before["links"]] == [link["rate_bps"] for link in after["links"]]


def test_numbers_of_a_seed_are_uniform_and_belong_to_names() -> None:
    values = [perturb.uniform(seed, "delay", "b") for seed in range(2000)]
    assert np.mean(values) == pytest.approx(0.5, abs=0.02)
    assert np.quantile(values, [0.1, 0.9]).tolist() == pytest.approx([0.1, 0.9], abs=0.03)
    assert perturb.uniform(1, "delay", "b") != perturb.uniform(1, "start", "b") != perturb.uniform(1, "start", "c")


def test_controllers_of_the_scenario_with_their_parameters() -> None:
    text = ONE_FLOW.replace('"reno" }', '{ kind = "vegas", alpha = 1 } }')
    assert [c.overrides for c in controls(Scenario.parse(text), [])] == [()]
    second = text + '[[flow]]\nname = "g"\nfrom = "s"\nto = "d"\ntcp = { congestion_control = "cubic" }\n'
    found = controls(Scenario.parse(second), [])
    assert [c.label for c in found] == ["vegas", "cubic"]
    assert [str(one) for one in found[0].overrides] == [
        f'flow.{name}.tcp.congestion_control={{ kind = "vegas", alpha = 1 }}' for name in "fg"
    ]
    assert [c.name for c in controls(Scenario.parse(second), ["bic", "examples/reno.py:Reno"])] == ["bic", "Reno"]


def test_the_profile_of_a_scenario() -> None:
    assert has_profile(Scenario.load("scenarios/dumbbell_ns2.toml"), "ns2")
    assert has_profile(Scenario.load("scenarios/dumbbell.toml"), "linux")
    assert has_profile(Scenario.parse(ONE_FLOW), "linux")
    assert has_profile(Scenario.load("scenarios/dumbbell_ns2.toml", ['tcp.profile="linux"']), "linux")


def test_packets_have_one_size_on_every_substrate() -> None:
    small = Scenario.load("scenarios/dumbbell_ns2.toml")
    found = equal_packets(small, substrates.substrates("tcp,quic"))
    assert list(map(str, found)) == [f"flow.{name}.tcp.mss=1460" for name in ("reno", "vegas", "cubic")]
    sized = Scenario.load("scenarios/dumbbell_ns2.toml", found).resolved["flows"]
    assert [flow["packet_bytes"] for flow in sized] == [1500] * 3
    assert equal_packets(small, [substrates.SUBSTRATES["tcp"], substrates.SUBSTRATES["linux"]]) == []
    assert equal_packets(Scenario.parse(ONE_FLOW), substrates.substrates("tcp,quic")) == []


# Tests of equivalence


def seeds_of(values: list[float]) -> dict[int, float | None]:
    return dict(enumerate(values, 1))


def verdict(a: list[float], b: list[float], *, paired: bool = True, metric: Any = UTILISATION) -> Row:
    (row,) = judge([compare(metric, seeds_of(a), seeds_of(b), paired=paired)])
    return row


def test_the_three_verdicts() -> None:
    base = [90.0, 92.0, 88.0, 91.0]
    close = verdict(base, [x * f for x, f in zip(base, (1.01, 1.0, 1.02, 1.01), strict=True)])
    assert (close.test, close.verdict, close.n) == ("ratio", "agrees", 4)
    assert close.value == pytest.approx((1.01 * 1.02 * 1.01) ** 0.25)
    assert (close.low, close.high) == pytest.approx((0.95, 1.05))
    assert verdict(base, [x * f for x, f in zip(base, (0.8, 0.81, 0.79, 0.8), strict=True)]).verdict == "differs"
    noisy = verdict(base, [x * f for x, f in zip(base, (0.8, 1.3, 1.0, 0.9), strict=True)])
    assert noisy.verdict == "undecided"
    assert noisy.low95 is not None
    assert noisy.low90 is not None
    assert noisy.low95 < noisy.low90


def test_pairs_remove_what_the_seeds_share() -> None:
    base = [50.0, 70.0, 90.0, 60.0, 80.0]
    other = [x * f for x, f in zip(base, (1.01, 1.0, 0.99, 1.01, 1.0), strict=True)]
    assert verdict(base, other).verdict == "agrees"
    assert verdict(base, other, paired=False).verdict == "undecided"
    assert verdict([90, 91, 90, 91, 90], [90, 90.5, 90, 91], paired=False).verdict == "agrees"
    assert verdict([90, 91, 90, 91, 90], [60, 60.5, 61, 60], paired=False).verdict == "differs"


def test_zeros() -> None:
    assert (verdict([0, 0, 0], [0, 0, 0]).test, verdict([0, 0, 0], [0, 0, 0]).verdict) == ("both 0", "agrees")
    few = verdict([0, 0.1, 0, 0], [0.1, 0, 0, 0.1], metric=CUTS)
    assert (few.test, few.verdict) == ("difference", "agrees")
    assert (few.low, few.high) == (-0.2, 0.2)
    many = verdict([0, 0, 0, 0], [9, 10, 11, 10], metric=CUTS)
    assert (many.test, many.verdict) == ("difference", "differs")
    assert compare(CUTS, {1: None}, {1: None}, paired=True).verdict == "not compared"


def test_a_deterministic_network_is_one_observation() -> None:
    row = verdict([5.0] * 4, [5.1] * 4)
    assert (row.n, row.verdict, row.low95) == (1, "agrees", None)
    assert verdict([5.0] * 4, [8.0] * 4).verdict == "differs"


def test_small_values_agree_within_the_absolute_bound() -> None:
    loss = NUMBERS["loss"]
    row = verdict([0.1, 0.11, 0.1, 0.1], [0.11, 0.115, 0.105, 0.11], metric=loss)
    assert row.verdict == "agrees"
    assert row.high == pytest.approx(1 + 0.02 / 0.1025)
    tiny = verdict([0.02, 0.021, 0.02, 0.02], [0.03, 0.031, 0.029, 0.03], metric=loss)
    assert (tiny.test, tiny.verdict, tiny.high) == ("difference", "agrees", 0.02)  # a ratio of 1.5 has no region


def test_several_metrics_need_smaller_p_values() -> None:
    a = seeds_of([90.0, 92.0, 88.0, 91.0])
    b = seeds_of([90 * 1.02, 92 * 0.98, 88 * 1.04, 91 * 1.02])
    row = compare(UTILISATION, a, b, paired=True)
    assert row.p_agrees is not None
    assert judge([row])[0].verdict == "agrees"
    assert judge([replace(row, metric=str(i)) for i in range(12)])[0].verdict == "undecided"


def test_distance_of_distributions() -> None:
    assert distance(np.array([10.0, 20, 30, 40]), np.array([30.0, 40, 50, 60])) == 0.5
    assert distance(np.full(9, 76.0), np.full(9, 78.0)) == 0  # within 5 %
    assert distance(np.full(9, 70.0), np.full(9, 78.0)) == 1
    rng = np.random.default_rng(1)
    reference = {i: rng.normal(60 + 6 * i, 6, 2000) for i in range(5)}
    same = compare_distributions(reference, {i: x + 0.1 for i, x in reference.items()}, paired=True)
    assert judge([same])[0].verdict == "agrees"
    assert same.high == 0.15  # the distances between seeds are larger
    far = compare_distributions(reference, {i: x + 9 for i, x in reference.items()}, paired=True)
    assert judge([far])[0].verdict == "differs"


def test_without_pairs_the_distance_of_distributions_has_no_verdict() -> None:
    rng = np.random.default_rng(1)
    reference = {i: rng.normal(60, 6, 500) for i in range(4)}
    (row,) = judge([compare_distributions(reference, {1: reference[1] + 40}, paired=False)])
    assert (row.verdict, row.reason) == ("not compared", "runs are not paired")
    assert row.value is not None
    assert row.value > 0.9


# Metrics


def test_metrics_of_a_run_by_hand() -> None:
    flow = {
        "goodput_bps": 4.5e6, "throughput_bps": 5e6, "sent_packets": 1000, "retransmitted_packets": 20, "timeouts": 1,
        "window_cuts": 6, "mean_delay_s": 0.03, "base_delay_s": 0.01, "min_delay_s": 0.01, "p95_delay_s": 0.05,
    }  # fmt: skip
    link = {"utilisation": 0.5, "delivered_packets": 980, "mean_queue_packets": 3, "dropped": 15}
    sample = Sample(1, 70.0, {"f": flow}, {"b": link}, {"f": Curve(10.0, 1.0, [1, 3, 8], [20.0, 30.0, 60.0])})
    setting = Setting(10e6, {"f": 0.01})
    found = {m.name: m.value(sample, setting) for m in (*METRICS, *SHOWN)}
    assert found == {
        "utilisation": 50.0, "throughput": None, "cwnd": 4.0, "queueing": pytest.approx(20), "epoch": 20.0,
        "p95_queueing": pytest.approx(40), "cuts": 6.0, "loss": 1.5, "retransmissions": 2.0,
        "goodput": 4.5, "headers": pytest.approx(10), "timeouts": 1.0, "smallest_cwnd": 3.0,
    }  # fmt: skip
    assert Sample.restored(json.loads(json.dumps(sample.plain()))) == sample
    assert NUMBERS["throughput"].value(sample, Setting(None, {})) == 5.0


def test_one_cut_more_in_every_run_is_a_difference() -> None:
    assert verdict([37.5] * 4, [45.0] * 4, metric=CUTS).verdict == "differs"
    scattered = verdict([37.5, 45, 37.5, 45, 37.5, 45], [45, 37.5, 45, 45, 45, 45], metric=CUTS)
    assert scattered.verdict == "undecided"
    assert (scattered.low, scattered.high) == pytest.approx((0.9, 1.1))


def test_a_sample_has_the_cuts_of_the_outcome() -> None:
    result = Scenario.parse(ONE_FLOW, ["delays=true"]).run(trace="changes")
    sample = from_outcome(result.outcome, result.trace, 1)
    curve = sample.curves["f"]
    assert len(curve.cuts_s) == sample.flows["f"]["window_cuts"] > 0
    assert np.mean(curve.cwnd) == pytest.approx(result.outcome["flows"][0]["mean_cwnd"], rel=0.01)
    # A trace without causes and flows, as of a stack that is not ours.
    bare = from_outcome(result.outcome, result.trace.drop("cause", "flow"), 1)
    assert bare.curves["f"].cwnd == curve.cwnd
    assert bare.curves["f"].cuts_s == pytest.approx(curve.cuts_s, abs=0.03)


def test_falls_of_a_window() -> None:
    windows = [10, 12, 14, 13.5, 7, 7, 7.1, 7.5, 8, 7, 6, 5, 4, 4.2, 4]
    assert falls(range(len(windows)), windows) == [4, 9]


# Known differences


def test_the_tables_name_what_there_is() -> None:
    tables = known_differences.tables()
    registered = {model["name"] for model in models.models("controllers")} | {"*"}
    ids = [found.id for found in tables.differences]
    assert len(set(ids)) == len(ids)
    for found in tables.differences:
        assert set(found.on) < set(substrates.SUBSTRATES)
        assert set(found.controllers) <= registered
        assert set(found.metrics) <= {metric.name for metric in METRICS} | {"cwnd_distance"}
        assert found.shown in {"", *(metric.name for metric in SHOWN)}
        assert all(size > 0 and size != 1 for size in found.effects.values())
        assert bool(found.command) == bool(found.effects)
        assert found.effects or not found.open
    for signal in tables.signals:
        assert set(signal.controllers) <= registered
    assert "receiver's timestamps" in {signal.name for signal, _ in known_differences.lacking("sarbe", "quic")}
    assert known_differences.lacking("sarbe", "tcp") == known_differences.lacking("cubic", "linux") == []


def test_a_difference_is_known_by_metric_direction_and_size(monkeypatch: pytest.MonkeyPatch) -> None:
    effects = {"cwnd": 1.2, "loss": 0.5, "cwnd_distance": 0.2}
    own = known_differences.Difference("own", "", ["quic", "udp"], ["reno"], "", "", effects, "ackclock agree")
    unclear = replace(own, id="unclear", controllers=["*"], effects={"cwnd": 2.0}, open=True)
    monkeypatch.setattr(known_differences, "tables", lambda: known_differences.Tables([unclear, own], []))
    row = Row("cwnd", "ratio", "differs", reference=10, compared=12, value=1.2)

    def cause(row: Row, control: str = "reno", on: tuple[str, str] = ("tcp", "quic")) -> str | None:
        found = known_differences.explanation(row, control, on)
        return None if found is None else found.id

    assert cause(row) == "own"
    assert cause(row, "cubic") == "unclear"
    assert cause(row, on=("quic", "udp")) is None
    assert cause(replace(row, compared=12.6)) == "own"  # 1.2 to the power of 1.3 is 1.267
    assert cause(replace(row, compared=12.7)) == "unclear"
    assert cause(replace(row, compared=8)) is None
    assert cause(replace(row, compared=8), on=("quic", "tcp")) == "own"
    assert cause(replace(row, metric="queueing")) is None
    assert cause(replace(row, metric="loss")) is None
    assert cause(replace(row, metric="loss", compared=5)) == "own"
    assert cause(replace(row, metric="loss", compared=0)) is None
    distant = Row("cwnd_distance", "distance", "differs", reference=0.1, compared=0.25, value=0.25)
    assert cause(distant) == "own"
    assert cause(replace(distant, value=0.27)) is None


def test_a_finding_with_an_open_cause_remains_a_finding(
    beside: Beside, scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ends = {metric.name: (1e-9, 1e9) for metric in METRICS}
    entries = [
        known_differences.Difference(
            f"open{i}", "Suspected", ["other"], ["*"], "", "", {name: ends[name][i] for name in ends}, "x"
        )
        for i in (0, 1)
    ]
    monkeypatch.setattr(
        known_differences, "tables", lambda: known_differences.Tables([replace(one, open=True) for one in entries], [])
    )
    _status, found = run(scenario, tmp_path / "out", "--set", "link.b.rate=1Mbps", "--set", "link.b.queue.limit=4p")
    differing = [row for row in found["controllers"][0]["comparisons"][0]["rows"] if row["verdict"] == "differs"]
    numbers = [row for row in differing if row["test"] != "distance"]
    assert numbers
    assert all(row["known"] is None and row["suspected"] for row in numbers)
    assert len(found["summary"]["findings"]) == len(differing)
    assert "its cause is open (open" in capsys.readouterr().out
    assert "cause open</a>" in (tmp_path / "out" / "index.html").read_text()


def test_a_distance_is_known_only_with_the_mean_window(
    beside: Beside, scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def same(row: Row, control: str, on: tuple[str, str]) -> known_differences.Difference | None:
        return known_differences.Difference("own", "", ["other"], ["*"], "", "") if row.metric in chosen else None

    def known_rows(out: str) -> set[str]:
        _status, found = run(scenario, tmp_path / out, seeds=2)
        return {row["metric"] for row in found["controllers"][0]["comparisons"][0]["rows"] if row["known"]}

    def differs(rows: list[Row]) -> list[Row]:
        return [replace(row, verdict="differs") for row in rows]

    monkeypatch.setattr(document, "judge", differs)
    monkeypatch.setattr(known_differences, "explanation", same)
    chosen = {"cwnd", "cwnd_distance"}
    assert known_rows("both") == chosen
    chosen = {"cuts", "cwnd_distance"}
    assert known_rows("one") == {"cuts"}


def test_the_profile_ns2_is_a_remark_and_explains_nothing(
    beside: Beside, scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _status, found = run(scenario, tmp_path / "out", "--set", "tcp.profile=ns2")
    assert "--set tcp.profile=linux" in found["remarks"][0]
    assert "profile ns2" in capsys.readouterr().out
    assert found["remarks"][0] in (tmp_path / "out" / "index.html").read_text()
    assert "ns2_profile" not in {one.id for one in known_differences.tables().differences}
    assert run(scenario, tmp_path / "linux")[1]["remarks"] == []


# The command


def test_a_report_is_complete(
    beside: Beside, scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, plot = tmp_path / "out", tmp_path / "p.svg"
    status, found = run(scenario, out, "--plot", str(plot), "--control", "reno", "--control", "cubic")
    printed = capsys.readouterr().out
    assert status == 0
    assert found["summary"]["sentence"] in printed
    assert [c["control"] for c in found["controllers"]] == ["reno", "cubic"]
    rows = found["controllers"][0]["comparisons"][0]["rows"]
    assert {"utilisation", "cwnd", "queueing", "p95_queueing", "cuts", "loss", "cwnd_distance"} <= {
        row["metric"] for row in rows
    }
    own = found["controllers"][0]["substrates"]["tcp"]
    assert own["seeds"] == [1, 2, 3, 4]
    assert len(set(own["values"]["cwnd"])) > 1
    assert sum(found["summary"][v] for v in ("agrees", "differs", "undecided")) == 2 * len(rows)
    html = (out / "index.html").read_text()
    assert html == render(found)
    assert not re.search(r"(?:src|href)=.(?!#)|url\((?!#)|@import", re.sub(r'xlink:href="#', 'href="#', html))
    assert html.count("<svg") == 3
    assert found["summary"]["sentence"] in html
    assert found["command"][:2] == ["ackclock", "agree"]
    assert plot.read_text().count("<svg") == 1
    table = markdown([found]).splitlines()
    assert len(table) == 2 + 4
    assert f"({rows[0]['value']:.3f}" in table[3]


def test_finished_runs_are_kept(beside: Beside, scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    beside.interrupt_at = 3
    assert run(scenario, out)[0] == 130
    assert not (out / "agree.json").exists()
    assert run(scenario, out)[0] == 0
    assert sorted(beside.runs) == [1, 2, 3, 3, 4]
    first = (out / "agree.json").read_bytes()
    assert run(scenario, out)[0] == 0
    assert len(beside.runs) == 5
    assert (out / "agree.json").read_bytes() == first
    with sqlite3.connect(out / "samples" / "runs.sqlite") as index:
        index.execute("UPDATE run SET outcome = substr(outcome, 1, 20)")
    index.close()
    run(scenario, out)
    assert len(beside.runs) == 9
    run(scenario, out, "--set", "link.b.delay=12ms")
    assert len(beside.runs) == 13


def test_runs_in_real_time(beside: Beside, scenario: Path, tmp_path: Path) -> None:
    beside.real_time, beside.invalid = True, {2}
    out = tmp_path / "out"
    status, found = run(scenario, out, "--repeats", "3", seeds=5)
    assert status == 0
    own = found["controllers"][0]["substrates"]["other"]
    assert own["seeds"] == [1, 3]
    assert [stamp["seed"] for stamp in own["invalid"]] == [2]
    row = found["controllers"][0]["comparisons"][0]["rows"][0]
    assert (row["n"], row["n_reference"]) == (2, 5)
    assert not found["controllers"][0]["comparisons"][0]["paired"]
    html = (out / "index.html").read_text()
    assert "p99 of the lateness is 9 ms" in html
    assert "1 run stayed invalid" in html
    run(scenario, out, "--repeats", "3", seeds=5)
    assert beside.runs == [1, 2, 3, 1, 2, 3]  # never taken from an earlier report


def test_all_substrates_count_the_same_time(beside: Beside, scenario: Path, tmp_path: Path) -> None:
    warm = ("--set", "warmup=1s", "--repeats", "2")
    virtual = run(scenario, tmp_path / "virtual", *warm, seeds=2)[1]
    beside.real_time = True
    out = tmp_path / "real"
    live = run(scenario, out, *warm, seeds=2)[1]
    assert (virtual["span"], live["span"]) == ([], ["warmup=0s"])
    starts = [one["controllers"][0]["substrates"]["tcp"]["curve"]["start_s"] for one in (virtual, live)]
    assert starts[0] == 1
    assert starts[1] < 0.1
    assert "warm-up of the scenario is therefore not excluded" in (out / "index.html").read_text()
    assert equal_span(Scenario.parse(ONE_FLOW), [beside]) == []


def test_the_kernel_takes_over_no_parameters() -> None:
    linux = substrates.SUBSTRATES["linux"]
    assert isinstance(linux, substrates.RealTime)
    changed = ONE_FLOW.replace('"reno"', '{ kind = "cubic", c = 0.4, beta = 0.3 }')
    with pytest.raises(substrates.Refused, match="beta cannot be set there"):
        linux.run(Scenario.parse(changed), 1)
    default = Scenario.parse(changed, ["flow.f.tcp.congestion_control.beta=0.7"])
    assert kernel_name(default) == "cubic"
    python = Scenario.parse(
        ONE_FLOW, ["flow.f.tcp.congestion_control={ python = 'examples/reno.py:Reno' }"], file="x.toml"
    )
    with pytest.raises(substrates.Refused, match="python cannot be set there"):
        linux.run(python, 1)
    given = Scenario.parse(ONE_FLOW, ["tcp.recovery=newreno", "tcp.mss=1000"])
    assert [note.partition(": ")[2] for note in linux.ignored(given)] == ["recovery"]
    assert linux.ignored(Scenario.parse(ONE_FLOW)) == []


def test_given_options_of_a_flow(tmp_path: Path) -> None:
    base = tmp_path / "base.toml"
    base.write_text(ONE_FLOW + '[tcp]\nprofile = "ns2"\n')
    (tmp_path / "own.toml").write_text('extends = "base.toml"\n[tcp]\nmss = 900\n')
    loaded = Scenario.load(tmp_path / "own.toml", ["tcp.recovery=newreno", "flow.f.tcp.congestion_control=cubic"])
    assert tcp_options(loaded, "f") == {
        "profile": "ns2", "mss": 900, "recovery": "newreno", "congestion_control": {"kind": "cubic"}
    }  # fmt: skip
    assert has_profile(loaded, "ns2")


def test_a_refused_controller_is_named_and_the_others_run(beside: Beside, scenario: Path, tmp_path: Path) -> None:
    beside.refuses = "cubic"
    status, found = run(scenario, tmp_path / "out", "--control", "cubic", "--control", "rcp", "--control", "reno")
    assert status == 0
    cubic, rcp, reno = found["controllers"]
    assert cubic["substrates"]["other"]["refused"] == "cubic needs what this substrate lacks"
    assert "needs routers" in rcp["substrates"]["tcp"]["refused"]
    assert not cubic["comparisons"][0]["rows"]
    assert reno["comparisons"][0]["rows"]


def test_exit_status(beside: Beside, scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, words in (
        (("--on", "tcp,quik"), "did you mean quic?"),
        (("--on", "tcp"), "name two or more"),
        (("--on", "tcp,tcp"), "twice"),
        (("--on", "tcp,other", "--seeds", "1"), "--seeds 1"),
        (("--on", "tcp,other", "--control", "nothing"), "nothing"),
        (("--on", "tcp,other", "--plot", "x.txt"), ".png"),
    ):
        assert main(["agree", str(scenario), "--out", str(tmp_path / "no"), *arguments]) == 2
        assert words in capsys.readouterr().err
        assert not (tmp_path / "no").exists()
    two = tmp_path / "two.toml"
    two.write_text(ONE_FLOW + '[[flow]]\nname = "g"\nfrom = "s"\nto = "d"\ntcp = {}\n')
    beside.real_time = True
    assert main(["agree", str(two), "--on", "tcp,other"]) == 2
    assert "one TCP flow" in capsys.readouterr().err
    beside.reason = "no such device"
    assert main(["agree", str(scenario), "--on", "tcp,other"]) == 3
    assert "not available: no such device" in capsys.readouterr().err


def test_another_error_of_a_substrate_is_an_error(beside: Beside, scenario: Path, tmp_path: Path) -> None:
    beside.error = refused("one.toml", "a link cannot be used")
    assert run(scenario, tmp_path / "out")[0] == 2


def test_tables_of_a_page(beside: Beside, scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, page = tmp_path / "one", tmp_path / "page.md"
    _status, found = run(scenario, out)
    page.write_text("before\n<!-- begin of agree one -->\nold\n<!-- end of agree one -->\nafter\n")
    assert write_tables(["--into", str(page), str(out)]) == 0
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert section(found) in text
    assert found["summary"]["sentence"] in text
    assert "omits them: " in text
    assert "in ±5%" in text
    page.write_text("nothing\n")
    capsys.readouterr()
    assert write_tables(["--into", str(page), str(out)]) == 2
    assert "once each" in capsys.readouterr().err
    assert page.read_text() == "nothing\n"
    assert write_tables([]) == 2


def test_reports_of_other_formats_are_refused(tmp_path: Path) -> None:
    (tmp_path / "agree.json").write_text('{"format": 0}')
    with pytest.raises(BadInput, match="format 1"):
        document.read(tmp_path)
    with pytest.raises(BadInput, match="no report"):
        document.read(tmp_path / "none")
