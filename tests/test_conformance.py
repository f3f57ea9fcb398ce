"""Suites with checks: the language, pilot times, verdicts, the suites of the package, gate and scoreboard."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from ackclock.apps.suite.checks import BINDING, Check, CheckResult, Finding, ParsedCheck, judge, vocabulary
from ackclock.apps.suite.folder import Suite, find, known
from ackclock.apps.suite.language import Expression, Missing, NotRecorded, parse, w_cubic
from ackclock.apps.suite.measures import SUITE_METRICS
from ackclock.apps.suite.record import Record, Stay, stays_of
from ackclock.apps.suite.result import SuiteResult, read
from ackclock.apps.suite.run import run
from ackclock.apps.suite.scoreboard import pack, unpack, write
from ackclock.apps.suite.verdict_changes import changes
from ackclock.base.files import BadInput
from ackclock.cli.app import main
from ackclock.study.executors import Local

STATES = ["startup", "drain", "down", "cruise", "refill", "up", "probe_rtt"]
WORDS = vocabulary(STATES, list(SUITE_METRICS))


def expression(text: str) -> Expression:
    return parse(text, "suite.toml: A: check x: value", WORDS)


def record() -> Record:
    """Ten ACKs, 100 ms apart: a window that doubles, a reduction at 0.5 s; of the states one lasts no time."""
    time = np.arange(10) / 10
    trace = pl.DataFrame(
        {
            "time_s": time,
            "cwnd": [10.0, 20, 40, 80, 160, 112, 113, 114, 115, 116],
            "ssthresh": [float("inf")] * 5 + [112.0] * 5,
            "ack": [0, 10, 30, 70, 150, 310, 422, 535, 649, 764],
            "in_flight": [10.0, 20, 40, 80, 160, 112, 113, 114, 115, 116],
            "rtt_s": [0.1] * 10,
            "phase": ["open"] * 5 + ["recovery"] * 2 + ["open"] * 3,
            "cause": [None] * 5 + ["fast_retransmit"] + [None] * 4,
            "pacing_bps": pl.Series([None] * 10, dtype=pl.Float64),
            "app_limited": [False] * 10,
            "max_bw": [float("nan"), 1e6, 2e6, 4e6, 8e6, 8e6, 8e6, 8e6, 8e6, 8e6],
            "min_rtt": [0.1] * 10,
        }
    ).with_columns(bw=pl.col("max_bw"))
    moves = [(0.3, "startup", "drain", "full"), (0.5, "drain", "down", "drained"), (0.5, "down", "cruise", "drained")]
    states = stays_of(moves, "startup", 0.0)
    numbers = {"rate": 8e6, "rtt0": 0.1, "mss": 1000, "bdp": 100.0, "duration": 1.0, "inf": float("inf"), "t": 0.4}
    flow = {"goodput_bps": 7.2e6, "completion_s": None}
    return Record(
        trace, states, numbers, flow, None, lambda name: 5.0 if name == "loss" else None, {}, frozenset({"max_bw"})
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3 - 4 / 8", 6.5),
        ("2 ** 3", 8),
        ("200ms + 1s - 500us", 1.1995),
        ("-3 < 2 < 3 and not 1 > 2", 1),
        ("at(cwnd, 350ms)", 80),
        ("before(cwnd, 300ms)", 40),
        ("at(cwnd, enter(drain))", 80),
        ("leave(drain) - enter(drain)", 0.2),
        ("count(cruise) + count(up)", 1),
        ("number(cruise, 400ms)", 1),
        ("max(cwnd, during(startup))", 40),
        ("max(cwnd, during(drain))", 160),
        ("min(cwnd, span(200ms, 400ms))", 40),
        ("max(4, bdp / 2)", 50),
        ("delta(cwnd, span(0, 300ms))", 70),
        ("share(cwnd > 100, span(300ms, 600ms))", 0.75),
        ("mean(cwnd, span(0, 100ms))", 10),
        ("mean(cwnd, span(150ms, 250ms))", 30),
        ("median(cwnd, span(0, 200ms))", 20),
        ("first(cwnd >= 80)", 0.3),
        ("first(cwnd >= 80, 350ms)", 0.4),
        ("next(drain, cruise)", 1),
        ("next(startup, cruise)", 0),
        ("why(startup, 'full')", 1),
        ("isset(at(max_bw, 0))", 0),
        ("isset(at(pacing_bps, 0))", 0),
        ("at(bdp1, 500ms)", 100),
        ("first(cause == 'fast_retransmit')", 0.5),
        ("leave(recovery) - enter(recovery)", 0.2),
        ("rounds(0, 300ms)", 3),
        ("sent(300ms)", 150),
        ("max(step(cwnd), span(0, 900ms))", 80),
        ("fit(cwnd, 10 * cwnd / 10 + 1, span(0, 1s))", 1),
        ("abs(floor(-1.5)) + sqrt(4) + cbrt(8) + log2(8)", 9),
        ("outcome.goodput_bps / rate", 0.9),
        ("metric.loss", 5),
        ("(t - 100ms) * 10", 3),
    ],
)
def test_the_language(text: str, value: float) -> None:
    words = WORDS if "(t " not in text else vocabulary(STATES, list(SUITE_METRICS))
    if "(t " in text:
        from dataclasses import replace

        words = replace(words, numbers=[*words.numbers, "t"])
    parsed = parse(text, "place", words)
    assert parsed.number(record()) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("max(pacing_gian, during(drain))", "position 5: there is no value pacing_gian; did you mean pacing_gain?"),
        ("enter(drian)", "position 7: there is no state drian; did you mean drain?"),
        ("200ms + entre(drain)", "position 9: there is no function entre; did you mean enter?"),
        ("outcome.goodput", "outcome has no goodput; did you mean goodput_bps?"),
        ("outcom.goodput_bps", "there is no table outcom; did you mean outcome?"),
        ("at(cwnd)", "at has 2 arguments"),
        ("enter('drain')", "enter needs the name of a state"),
        ("1 +", "is no expression"),
        ("__import__('os').system('id')", "is not part of the language"),
        ("[x for x in (1,)]", "is not part of the language"),
        ("(lambda: 1)()", "is not part of the language"),
        ("cwnd.real", "there is no table cwnd"),
        ("cause == 'undoo'", "there is no cause 'undoo'; did you mean undo?"),
        ("cwnd == 'undo'", "a text is compared with cause or phase only"),
        ("first('a' * 4)", "a text stands beside `cause` or `phase` only"),
        ("why(drain, 1)", "why needs the reason as a text"),
        ("9" * 2000, "has at most 1,000 characters"),
        ("(" * 500 + "1" + ")" * 499, "is no expression"),
    ],
)
def test_what_is_no_expression_is_refused_with_its_place(text: str, reason: str) -> None:
    with pytest.raises(BadInput) as error:
        expression(text)
    assert str(error.value).startswith("suite.toml: A: check x: value: ")
    assert reason in str(error.value)


def test_what_never_happened_is_missing_and_what_nobody_records_is_not_recorded() -> None:
    for text in (
        "enter(up)",
        "leave(cruise)",
        "first(cwnd > 1000)",
        "1 / 0",
        "at(max_bw, 0)",
        "metric.goodput",
        "2 ** 5000.0",
    ):
        with pytest.raises(Missing):
            expression(text).number(record())
    for text in ("at(full_bw, 1)", "max(w_max, span(0, 1))"):
        with pytest.raises(NotRecorded):
            expression(text).number(record())
    without = record()
    without.states = None
    with pytest.raises(NotRecorded):
        expression("enter(drain)").number(without)
    assert expression("enter(recovery)").number(without) == 0.5


def test_what_has_no_value_decides_nothing() -> None:
    for text in ("at(max_bw, 0) != 5", "not (at(max_bw, 0) > 5)", "not during(drain)", "at(cwnd, 2s)", "rounds(0, 2s)"):
        with pytest.raises(Missing):
            expression(text).number(record())


def test_rounds_end_after_an_idle_time() -> None:
    """What is acknowledged can be more than what was seen sent before: it did not end."""
    idle = record()
    idle.numbers = {**idle.numbers, "duration": 30.0}
    assert idle.trace is not None
    idle.trace = idle.trace.with_columns(in_flight=pl.lit(0.0))
    assert 0 < expression("rounds(0, 900ms)").number(idle) <= 9


def test_the_curve_of_cubic_has_the_values_of_the_rfc() -> None:
    assert [round(float(w_cubic(t, 100.0, 70.0)), 4) for t in (0.0, 1.0, 2.0, 6.0)] == [
        70.0,
        86.6808,
        95.6403,
        102.2667,
    ]


def parsed_check(**keys: object) -> ParsedCheck:
    return ParsedCheck(Check(id="x", **keys), "place", "test", WORDS)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("keys", "verdict"),
    [
        ({"value": "at(cwnd, 0)", "equals": 10}, "pass"),
        ({"value": "at(cwnd, 0)", "equals": 11}, "fail"),
        ({"value": "at(cwnd, 0)", "equals": 11, "tolerance": "1 segment"}, "pass"),
        ({"value": "at(cwnd, 0)", "equals": 11, "tolerance": "5 %"}, "fail"),
        ({"value": "at(cwnd, 0)", "least": "bdp / 20", "most": 12}, "pass"),
        ({"value": "enter(drain)", "most": 0.25, "tolerance": "50 ms"}, "pass"),
        ({"value": "enter(drain)", "most": 0.25, "tolerance": "1 rtt"}, "pass"),
        ({"value": "enter(up)", "least": 0}, "not shown"),
        ({"value": "at(cwnd, 0)", "equals": 10, "premise": "bdp < 4"}, "not shown"),
        ({"value": "at(cwnd, 0)", "equals": 10, "premise": "enter(up) > 0"}, "not shown"),
        ({"value": "at(full_bw, 1)", "least": 0}, "not observable"),
    ],
)
def test_verdicts(keys: dict[str, object], verdict: str) -> None:
    check = parsed_check(**keys)
    result = judge(check, "A", [("seed 1", check.find(record()))], None)
    assert result.verdict == verdict
    assert result.failed == (verdict == "fail")


def test_a_check_over_several_runs() -> None:
    def verdict(over: str, values: list[float | None]) -> str:
        check = parsed_check(value="at(cwnd, 0)", most=10, over=over)
        found = [Finding(v, check.find(record()).bounds) if v is not None else Finding(reason="none") for v in values]
        return judge(check, "A", [(f"seed {i}", one) for i, one in enumerate(found)], None).verdict

    assert verdict("each", [9, 10, None]) == "pass"
    assert verdict("each", [9, 11, 9]) == "fail"
    assert verdict("each", [None, None]) == "not shown"
    check = parsed_check(value="at(cwnd, 0)", most=10)
    one, none, crash = check.find(record()), Finding(reason="none"), Finding(reason="it ended", failed=True)
    assert judge(check, "A", [("1", one), ("2", none)], None).reason == "shown in 1 of 2 runs"
    assert judge(check, "A", [("1", one), ("2", crash)], None).verdict == "not shown"
    assert verdict("share:0.6", [9, 11, 9]) == "pass"
    assert verdict("mean", [9, 9.1, 9.2]) == "pass"
    assert verdict("mean", [9, 11.5, 9]) == "fail"  # the interval of the mean is not within the bounds


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"value": "1"}, "needs least, most or equals"),
        ({"value": "1", "least": 1, "equals": 1}, "equals stands alone"),
        ({"value": "1", "least": 1, "tolerance": "1 parsec"}, "tolerance: must be"),
        ({"value": "1", "least": 1, "over": "most"}, "over: must be each, mean, or share:0.9"),
        ({"value": "1", "least": 1, "level": "shall"}, "level: must be one of"),
        ({"value": "", "least": 1}, "value: is empty"),
        ({"value": "1", "least": float("nan")}, "least: must be a finite number"),
        ({"value": "1", "least": 1, "tolerance": -1}, "tolerance: must be"),
        ({"value": "1", "least": 1, "controllers": ["bbr9"]}, "there is no controller bbr9; did you mean bbr"),
    ],
)
def test_a_check_that_cannot_be_is_refused(keys: dict[str, object], reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        parsed_check(**keys)


def test_states_that_last_no_time_are_stays() -> None:
    stays = stays_of([(1.0, "a", "b", "x"), (1.0, "b", "c", "y")], "a", 0.0)
    assert stays == {"a": [Stay(0.0, 1.0, "x", "b")], "b": [Stay(1.0, 1.0, "y", "c")], "c": [Stay(1.0)]}


# ---- suites ---------------------------------------------------------------------------------------------------------


def suite_with(folder: Path, situation: str, checks: str, scenario: str, more: str = "") -> Suite:
    folder.mkdir(exist_ok=True)
    (folder / "A.toml").write_text(scenario)
    head = f'title = "t"\nsource = "s"\nsummary = "m"\nstates = {json.dumps(STATES)}\n{more}\n'
    (folder / "suite.toml").write_text(f'{head}[[situation]]\nid = "A"\ntitle = "a"\n{situation}\n{checks}')
    return Suite(folder)


NETWORK = """
title = "n"
duration = "4s"
[[link]]
name = "b"
ends = ["s", "r"]
rate = "20Mbps"
delay = "20ms"
queue = { kind = "droptail", limit = "2bdp" }
[[flow]]
name = "t"
from = "s"
to = "r"
"""
CHANGE = '[[change]]\nat = "{t + 5ms}"\nset = { "link.b.rate" = "8Mbps" }\n'


def check_of(value: str, bound: str = "least = 0", name: str = "x") -> str:
    return f'[[situation.check]]\nid = "{name}"\nvalue = "{value}"\n{bound}\n'


def result_of(suite: Suite, out: Path, control: str = "bbr3", **options: object) -> SuiteResult:
    return run(suite, control, out, Local(1), **options)  # type: ignore[arg-type]


def test_a_pilot_time_is_that_of_a_run_without_the_change(tmp_path: Path) -> None:
    checks = check_of("rounds(enter(drain), leave(drain))", "least = 3", "rounds") + check_of(
        "enter(drain) - t", "equals = 0", "same"
    )
    suite = suite_with(tmp_path / "s", 'pilot = { t = "enter(drain)" }', checks, NETWORK + CHANGE)
    result = result_of(suite, tmp_path / "out")
    assert [(one.check, one.verdict) for one in result.checks] == [("rounds", "pass"), ("same", "pass")]
    plain = suite_with(tmp_path / "p", "", check_of("rounds(enter(drain), leave(drain))", "least = 3"), NETWORK)
    assert result_of(plain, tmp_path / "plain").checks[0].verdict == "fail"  # one round trip without the change


def test_a_pilot_time_that_does_not_come_shows_nothing(tmp_path: Path) -> None:
    checks = check_of("at(cwnd, 1s)")
    suite = suite_with(tmp_path / "s", 'pilot = { t = "enter(probe_rtt)" }', checks, NETWORK + CHANGE)
    (one,) = result_of(suite, tmp_path / "out").checks
    assert one.verdict == "not shown"
    assert "the time t does not come: the controller did not enter probe_rtt" in one.reason


def test_a_pilot_time_beyond_the_end_shows_nothing(tmp_path: Path) -> None:
    change = CHANGE.replace("t + 5ms", "t + 100")
    suite = suite_with(tmp_path / "s", 'pilot = { t = "enter(drain)" }', check_of("at(cwnd, 1s)"), NETWORK + change)
    (one,) = result_of(suite, tmp_path / "out").checks
    assert one.verdict == "not shown"
    assert "the times of the first run do not fit" in one.reason


def test_writes_and_segments_of_a_template(tmp_path: Path) -> None:
    loss = 'loss = { kind = "scripted", flow = "t", segments = ["{segments(50, 80, 10)}"] }\n'
    text = NETWORK.replace("[[flow]]", f"{loss}[[flow]]")
    text += 'writes = [["0s", "{sent(t) * mss}B"], "{every(t, 4s, 100ms, 1448)}"]\n'
    checks = check_of("outcome.retransmitted_packets", "equals = 3") + check_of(
        "max(step(ack), span(t + 1s, 4s))", "most = 1", "slow"
    )
    suite = suite_with(tmp_path / "s", 'pilot = { t = "1.0" }', checks, text)
    result = result_of(suite, tmp_path / "out", "reno")
    assert [one.verdict for one in result.checks] == ["pass", "pass"], result.checks


@pytest.mark.parametrize(
    ("situation", "checks", "text", "reason"),
    [
        ("", check_of("at(cwdn, 1)"), NETWORK, "suite.toml: A: check x: value: 'at(cwdn, 1)', position 4"),
        ('pilot = { t = "entr(drain)" }', check_of("1"), NETWORK, "suite.toml: A: pilot.t: "),
        ("pilot = { t = 3 }", check_of("1"), NETWORK, "must be an expression in quotes"),
        ("", check_of("1"), NETWORK + CHANGE, "A.toml: 't + 5ms', position 1: there is no value t"),
        ("", check_of("1") + check_of("2"), NETWORK, "check x: the id is used twice"),
        ('pilot = { cwnd = "1" }', check_of("1"), NETWORK, "the name of a time must be a word, and no other value's"),
        ("seeds = -3", check_of("1"), NETWORK, "seeds and quick must be at least 1"),
        ("", '[[situation.check]]\nid = "x"\nvalue = "1"\nlest = 0\n', NETWORK, "did you mean least?"),
        ('from = "../../etc"', check_of("1"), NETWORK, "from: must be SUITE/ID"),
        ('from = "tcpeval/nothing"', check_of("1"), NETWORK, "has no tcpeval/nothing"),
    ],
)
def test_a_suite_that_cannot_be_read_is_refused(
    tmp_path: Path, situation: str, checks: str, text: str, reason: str
) -> None:
    with pytest.raises(BadInput) as error:
        suite_with(tmp_path / "s", situation, checks, text)
    assert reason in str(error.value)


def test_known_failures(tmp_path: Path) -> None:
    checks = check_of("at(cwnd, 0)", "equals = 99", "wrong") + check_of("at(cwnd, 0)", "least = 0", "right")
    entry = '[[known]]\nsituation = "A"\ncheck = "{}"\ncontrol = "reno"\nsince = "1"\nwhy = "so"\n'
    folder = tmp_path / "s"
    suite_with(folder, "", checks, NETWORK)
    (folder / "known.toml").write_text(entry.format("wrong") + entry.format("right"))
    suite = Suite(folder)
    of_reno = result_of(suite, tmp_path / "reno", "reno")
    assert [one.verdict for one in of_reno.checks] == ["known", "fixed"]
    assert not any(one.failed for one in of_reno.checks)
    assert [one.verdict for one in result_of(suite, tmp_path / "cubic", "cubic").checks] == ["fail", "pass"]
    (folder / "known.toml").write_text(entry.format("absent"))
    with pytest.raises(BadInput, match=r"there is no check A\.absent"):
        Suite(folder)


def test_metrics_and_checks_in_one_suite(tmp_path: Path) -> None:
    checks = check_of("metric.goodput", "least = 15") + check_of("link.utilisation", "least = 0.8", "used")
    situation = 'metrics = ["goodput"]\nseeds = 2\nquick = 1\nbottleneck = "s->r"'
    suite = suite_with(tmp_path / "s", situation, checks, NETWORK)
    result = result_of(suite, tmp_path / "out", "cubic", quick=True)
    assert [one.verdict for one in result.checks] == ["pass", "pass"]
    assert len(result.measures) == 1
    assert read(tmp_path / "out").checks == result.checks


def test_finished_runs_are_kept_and_a_changed_check_is_judged_anew(tmp_path: Path) -> None:
    calls: list[tuple[int, int]] = []

    def begin(_: str) -> Callable[[int, int], object]:
        return lambda done, total: calls.append((done, total))

    suite = suite_with(tmp_path / "s", "", check_of("at(cwnd, 1s)"), NETWORK)
    first = result_of(suite, tmp_path / "out", progress=begin)
    assert calls == [(0, 1), (1, 1)]
    calls.clear()
    assert result_of(suite, tmp_path / "out", progress=begin).checks == first.checks
    assert calls == [(1, 1)]
    calls.clear()
    other = suite_with(tmp_path / "s", "", check_of("at(cwnd, 2s)"), NETWORK)
    result_of(other, tmp_path / "out", progress=begin)
    assert calls == [(0, 1), (1, 1)]


def test_two_threads_give_the_same_verdicts(tmp_path: Path) -> None:
    suite = find("ratelimited")
    results = [run(suite, "reno", tmp_path / str(jobs), Local(jobs), page=False) for jobs in (1, 2)]
    assert results[0].checks == results[1].checks
    assert results[0].curves == results[1].curves


# ---- the suites of the package --------------------------------------------------------------------------------------

CHECKED = [name for name in known() if find(name).has_checks]


def counts(result: SuiteResult) -> dict[str, int]:
    return {verdict: n for verdict in ("pass", "fail", "known", "fixed", "not shown") if (n := result.count(verdict))}


def test_every_case_of_the_bbr_draft_is_shown(tmp_path: Path) -> None:
    result = run(find("bbr-draft"), "bbr3", tmp_path / "o", Local(), quick=True)
    assert counts(result) == {"pass": 68, "known": 8}
    cases = {one.situation.split("-")[0] for one in result.checks if one.level == "test" and one.verdict == "pass"}
    assert cases == {f"A{number}" for number in range(1, 23)}
    assert not result.failed
    assert not result.refused


@pytest.mark.parametrize("control", ["bbr", "reno"])
def test_another_controller_is_not_observable_and_never_fails(tmp_path: Path, control: str) -> None:
    result = run(find("bbr-draft"), control, tmp_path / "o", Local(), quick=True, page=False)
    assert {one.verdict for one in result.checks} == {"not observable"}


def test_cubic_as_the_rfc_has_it_and_as_linux_has_it(tmp_path: Path) -> None:
    suite = find("rfc9438")
    rfc = run(suite, '{ kind = "cubic", arithmetic = "rfc9438" }', tmp_path / "rfc", Local(), quick=True, page=False)
    assert counts(rfc) == {"pass": 32}
    linux = run(suite, "cubic", tmp_path / "linux", Local(), quick=True, page=False)
    assert counts(linux) == {"pass": 23, "known": 9}


@pytest.mark.parametrize("control", ["reno", "cubic"])
def test_hystart_plus_plus(tmp_path: Path, control: str) -> None:
    assert counts(run(find("rfc9406"), control, tmp_path / "o", Local(), page=False)) == {"pass": 10}
    standard = f'{{ kind = "{control}", slow_start = "standard" }}'
    wrong = run(find("rfc9406"), standard, tmp_path / "w", Local(), page=False)
    assert counts(wrong)["fail"] >= 3


def test_an_unused_window_may_not_grow(tmp_path: Path) -> None:
    suite = find("ratelimited")
    assert counts(run(suite, "reno", tmp_path / "o", Local(), page=False)) == {"pass": 9}
    none = run(suite, "reno", tmp_path / "n", Local(), page=False, overrides=["tcp.validation=none"])
    assert {(one.situation, one.check) for one in none.checks if one.verdict == "fail"} >= {
        ("L1", "second"),
        ("L2", "window"),
    }


def test_suites_on_quic(tmp_path: Path) -> None:
    result = run(find("bbr-draft"), "bbr3", tmp_path / "b", Local(), quick=True, page=False, on="quic")
    assert not any(one.failed for one in result.checks)
    assert result.count("pass") >= 60
    cubic = run(find("rfc9438"), "cubic", tmp_path / "c", Local(), quick=True, page=False, on="quic")
    assert cubic.count("pass") >= 23
    assert not any(one.failed for one in cubic.checks)
    assert {one.verdict for one in cubic.checks if one.situation == "C3"} == {"not observable"}  # a change of TCP


def test_a_controller_from_outside_shows_its_states_by_a_value(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from ackclock import Controller\n"
        "class Mine(Controller):\n"
        "    probes = ('state', 'max_bw')\n"
        "    def __init__(self, flow):\n"
        "        self.cwnd, self.ssthresh, self.state, self.max_bw = 10.0, 1e9, 0, 1e6\n"
        "    def on_ack(self, ack):\n"
        "        self.state = 0 if ack.now_s < 1 else 1\n"
        "    def on_congestion(self, event): pass\n"
        "    def on_rto(self, event): pass\n"
        "    def set_window(self, cwnd): self.cwnd = cwnd\n"
    )
    checks = check_of("enter(drain)", "least = 1", "enter") + check_of("why(startup, 'full')", "equals = 1", "why")
    suite = suite_with(tmp_path / "s", "", checks, NETWORK)
    result = result_of(suite, tmp_path / "out", f"{tmp_path / 'mine.py'}:Mine")
    assert [one.verdict for one in result.checks] == ["pass", "not observable"], result.checks


@pytest.mark.parametrize("name", CHECKED)
def test_every_suite_of_the_package_has_texts_for_its_page(name: str) -> None:
    suite = find(name)
    for situation in suite.situations:
        for check in suite.checks(situation).checks:
            assert check.check.say, (situation.id, check.id)
    assert all(one.why and one.since for one in suite.known)
    assert suite.status or name in {"startup"}


# ---- gate, expect, scoreboard ---------------------------------------------------------------------------------------


def changed(tmp_path: Path, before: str, after: str) -> list[str]:
    suite = suite_with(tmp_path / "s", "", check_of("at(cwnd, 1s)", before), NETWORK)
    first = result_of(suite, tmp_path / "a")
    second = result_of(suite_with(tmp_path / "s", "", check_of("at(cwnd, 1s)", after), NETWORK), tmp_path / "b")
    return [f"{one.before} {one.after} {one.is_worse}" for one in changes(first, second)]


def test_changes_of_verdicts(tmp_path: Path) -> None:
    assert changed(tmp_path, "least = 0", "least = 0") == []
    assert changed(tmp_path, "least = 0", "least = 9999") == ["pass fail True"]
    assert changed(tmp_path, "least = 9999", "least = 0") == ["fail pass False"]
    assert changed(tmp_path, "least = 0", 'least = 0\npremise = "1 > 2"') == ["pass not shown True"]
    assert changed(tmp_path, 'least = 0\nlevel = "text"', 'least = 9999\nlevel = "text"') == ["pass fail False"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_gate_fails_if_a_demand_does_not_hold_any_more(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite_with(place / "s", "", check_of("at(cwnd, 1s)", "least = 5"), NETWORK)
    arguments = ["suite", "s", "--control", "reno", "--jobs", "1", "--out", "o"]
    assert main(arguments) == 0
    assert main([*arguments, "--gate", "--markdown", "m.md", "--junit", "j.xml"]) == 0
    assert "No verdict has changed." in (place / "m.md").read_text()
    suite_with(place / "s", "", check_of("at(cwnd, 1s)", "least = 5000"), NETWORK)
    assert main([*arguments, "--gate", "--markdown", "m.md", "--junit", "j.xml"]) == 1
    said = capsys.readouterr()
    assert "--gate: A.x: pass, now fail " in said.err
    assert "| A.x | test | pass | **fail** |" in (place / "m.md").read_text()
    assert ElementTree.parse(place / "j.xml").getroot().get("failures") == "1"
    assert main([*arguments, "--gate", "--set", "link.b.rate=1Mbps"]) == 2
    assert "were made with other options of --on, --set or --quick" in capsys.readouterr().err
    # Without a gate the demands of the document decide.
    assert main(["suite", "s", "--control", "reno", "--jobs", "1", "--out", "other"]) == 1


def test_expect_runs_a_result_again(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite_with(place / "s", "", check_of("at(cwnd, 1s)", "least = 5"), NETWORK)
    assert main(["suite", "s", "--control", "reno", "--jobs", "1", "--out", "o"]) == 0
    before = {path: path.read_bytes() for path in (place / "o").rglob("*") if path.is_file()}
    capsys.readouterr()
    assert main(["expect", "o"]) == 0
    assert "as known: s reno: 1 verdicts" in capsys.readouterr().out
    suite_with(place / "s", "", check_of("at(cwnd, 1s)", "least = 5000"), NETWORK)
    assert main(["expect", "o"]) == 1
    assert "changed: s reno: A.x: pass, now fail" in capsys.readouterr().out
    assert {path: path.read_bytes() for path in (place / "o").rglob("*") if path.is_file()} == before


def test_the_scoreboard(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for control in ("reno", "cubic"):
        assert main(["suite", "ratelimited", "--control", control, "--jobs", "1"]) == 0
    assert main(["suite", "rfc9406", "--control", "reno", "--quick", "--jobs", "1"]) == 0
    for out in ("one", "two"):
        assert main(["scoreboard", "out/suites", "--out", out]) == 0
    files = {
        path.relative_to(place / "one"): path.read_bytes() for path in (place / "one").rglob("*") if path.is_file()
    }
    assert files == {
        path.relative_to(place / "two"): path.read_bytes() for path in (place / "two").rglob("*") if path.is_file()
    }
    index = (place / "one" / "index.html").read_text()
    assert "9 of 9" in index
    assert "10 of 10" in index
    assert "What may be concluded" in index
    assert index.count("<li>") >= 20
    board = (place / "one" / "ratelimited" / "index.html").read_text()
    assert 'href="reno.html#L1"' in board
    assert 'id="L1"' in (place / "one" / "ratelimited" / "reno.html").read_text()
    # A pack of results gives the same pages.
    results = [read(place / "out" / "suites" / "ratelimited" / control) for control in ("reno", "cubic")]
    (place / "kept").mkdir()
    (place / "kept" / "ratelimited.json.gz").write_bytes(pack(results))
    again = unpack(place / "kept" / "ratelimited.json.gz")
    assert [one.checks for one in again] == [one.checks for one in results]
    assert pack(again) == pack([*again])
    write(again, place / "three")
    assert (place / "three" / "ratelimited" / "index.html").read_text() == board


def test_what_is_no_result_is_refused(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "empty").mkdir()
    assert main(["scoreboard", "empty"]) == 2
    assert "has no results of a suite with checks" in capsys.readouterr().err
    (place / "empty" / "x.json.gz").write_bytes(b"no gzip")
    assert main(["scoreboard", "empty"]) == 2
    assert main(["scoreboard", "absent"]) == 2
    about = {"suite": "startup", "title": "t", "control": "reno", "quick": True, "engine": "e", "runs": 1}
    check: dict[str, Any] = {"situation": "form", "check": "time", "level": "test", "verdict": "pass", "value": ""}
    check |= {"demand": ""}
    check |= {"reason": "", "runs": 1}
    whole: dict[str, Any] = {"about": about, "checks": [check], "curves": {}, "refused": {}}
    for wrong in (
        {"about": about | {"control": 5}},
        {"about": about | {"runs": "x"}},
        {"about": about | {"overrides": 5}},
        {"checks": [check | {"verdict": "zzz"}]},
        {"checks": 5},
        {"curves": 5},
    ):
        (place / "empty" / "x.json.gz").write_bytes(gzip.compress(json.dumps({"results": [whole | wrong]}).encode()))
        assert main(["scoreboard", "empty"]) == 2, wrong
        assert "x.json.gz: is no pack of results" in capsys.readouterr().err
    odds: tuple[dict[str, Any], ...] = (
        {"curves": {"form": {}}},
        {"curves": {"form": {"time": [0, 1], "series": {"cwnd": [1, 2]}, "stays": [[1, 2]], "scenario": 5}}},
        {"about": about | {"control": "{ kind = "}},
        {"about": about | {"control": "x" * 900}},
    )
    for odd in odds:
        (place / "empty" / "x.json.gz").write_bytes(gzip.compress(json.dumps({"results": [whole | odd]}).encode()))
        assert main(["scoreboard", "empty", "--out", "board"]) == 0, odd
    assert not (place / "out").exists()


def test_texts_of_a_stranger_are_no_mark_up(place: Path) -> None:
    suite = suite_with(place / "s", 'demand = "<script>alert(1)</script>"', check_of("at(cwnd, 0)"), NETWORK)
    result = result_of(suite, place / "out")
    page = (place / "out" / "index.html").read_text()
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page
    bad = CheckResult("A", "x", "test", "fail", "<b>|</b>", "1", "[x](javascript:1)", 1)
    from ackclock.cli.verdicts import as_markdown

    result.checks[:] = [bad]
    assert "<b>" not in as_markdown(suite, result, None)
    assert "[x](" not in as_markdown(suite, result, None)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_script_of_the_action_compares_two_revisions(tmp_path: Path) -> None:
    """In a clean repository, without the service: a table in the summary, the exit status of the gate."""
    script = Path(__file__).parent.parent / "tools" / "action.sh"
    repository = tmp_path / "repository"
    repository.mkdir()

    def git(*arguments: str) -> None:
        own = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *own, *arguments], cwd=repository, check=True, capture_output=True)

    controller = (
        "from ackclock import Controller\n"
        "class Mine(Controller):\n"
        "    def __init__(self, flow): self.cwnd, self.ssthresh = {}, 1e9\n"
        "    def on_ack(self, ack): pass\n"
        "    def on_congestion(self, event): pass\n"
        "    def on_rto(self, event): pass\n"
        "    def set_window(self, cwnd): pass\n"
    )
    suite_with(repository / "s", "", check_of("at(cwnd, 1s)", "most = 20"), NETWORK)
    git("init", "-q")
    (repository / "mine.py").write_text(controller.format("10.0"))
    git("add", ".")
    git("commit", "-qm", "before")
    (repository / "mine.py").write_text(controller.format("40.0"))
    git("commit", "-qam", "after")
    summary = tmp_path / "summary.md"
    environment = {
        **{name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ},
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "SUITE": "s",
        "CONTROL": "mine.py:Mine",
        "BEFORE": "HEAD^",
        "OPTIONS": "--quick --jobs 1",
        "GITHUB_STEP_SUMMARY": str(summary),
    }
    done = subprocess.run(["bash", str(script)], cwd=repository, env=environment, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert "| A.x | test | pass | **fail** |" in summary.read_text()
    same = {**environment, "BEFORE": "HEAD"}
    done = subprocess.run(["bash", str(script)], cwd=repository, env=same, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "No verdict has changed." in summary.read_text()
    broken = {**environment, "SUITE": "absent"}
    done = subprocess.run(["bash", str(script)], cwd=repository, env=broken, capture_output=True, text=True)
    assert done.returncode == 2
    assert "no suite absent" in done.stderr
    added = {**environment, "CONTROL": "new.py:Mine"}
    (repository / "new.py").write_text(controller.format("10.0"))
    done = subprocess.run(["bash", str(script)], cwd=repository, env=added, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr  # nothing to compare with: the demands of the suite hold
    assert "there is nothing to compare with" in done.stderr
    left = subprocess.run(["git", "worktree", "list"], cwd=repository, capture_output=True, text=True).stdout
    assert left.count("\n") == 1
    assert BINDING == ("test", "must")


def test_a_module_without_the_parameters_of_a_situation_is_run_without_them(tmp_path: Path) -> None:
    """A class in JavaScript, which is called as a controller of the package, has none of its parameters."""
    (tmp_path / "reno.js").write_text(
        "class reno {\n"
        "  constructor(flow) { this.cwnd = 10; this.ssthresh = 1e9; }\n"
        "  onAck(ack) {}\n  onCongestion(event) {}\n  onRto(event) {}\n  setWindow(cwnd) { this.cwnd = cwnd; }\n"
        "}\n"
    )
    suite = suite_with(
        tmp_path / "s", 'parameters = { reno = { slow_start = "hystart_pp" } }', check_of("at(cwnd, 1s)"), NETWORK
    )
    (one,) = result_of(suite, tmp_path / "out", f"{tmp_path / 'reno.js'}:reno").checks
    assert one.verdict == "pass", one
