"""The Python interface."""

from __future__ import annotations

import importlib.util
import re
import runpy
import sys
import threading
import tomllib
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ackclock
from ackclock import Result, Scenario, ScenarioError, Study
from ackclock.base.files import BadInput

DOCUMENT = {
    "duration": "5s",
    "link": [
        {
            "name": "l",
            "ends": ["a", "b"],
            "rate": "1Mbps",
            "delay": "10ms",
            "queue": {"kind": "droptail", "limit": "7p"},
        }
    ],
    "flow": [{"name": "f", "from": "a", "to": "b", "tcp": {"profile": "ns2", "receive_window": 100}}],
}


def run(**options: object) -> Result:
    return Scenario.build(DOCUMENT).run(**options)  # type: ignore[arg-type]


def test_build_run_frames() -> None:
    result = run(trace="ack", packets=True, audit=True)
    assert result.violations == []
    flow = result.flows.row(0, named=True)
    assert flow["goodput_bps"] == pytest.approx(0.9e6, rel=0.1)
    links = result.links
    assert links["name"].to_list() == ["a->b", "b->a"]
    drops = result.packets.filter(result.packets["event"] == "drop").height
    assert drops == links["dropped_queue"][0] > 0
    assert result.trace.filter(result.trace["rtt_s"].is_not_null()).height > 100


def test_time_mean_of_the_window_is_that_of_the_trace() -> None:
    result = run(trace="changes")
    times = [*result.trace["time_s"].to_list(), 5.0]
    area = sum(w * (b - a) for w, a, b in zip(result.trace["cwnd"], times, times[1:], strict=False))
    assert result.outcome["flows"][0]["mean_cwnd"] == pytest.approx(area / 5.0, rel=1e-9)


def test_errors_have_parts() -> None:
    with pytest.raises(ScenarioError) as caught:
        Scenario.parse('duration = "1s"\nspeed = 3\n', file="x.toml")
    error = caught.value
    assert (error.file, error.line, error.key) == ("x.toml", 1, "link")
    with pytest.raises(ScenarioError, match=r"tcp\.receive_windw"):
        Scenario.build(DOCUMENT, ["tcp.receive_windw=1"])
    with pytest.raises(OSError, match="nowhere"):
        Scenario.load("nowhere.toml")


def test_the_interpreter_goes_on_while_a_run_lasts() -> None:
    scenario = Scenario.build(DOCUMENT, ["duration=20000s"])
    ticks = 0
    thread = threading.Thread(target=scenario.run)
    thread.start()
    while thread.is_alive():
        ticks += 1
        thread.join(0.001)
    assert ticks > 20


def test_runs_in_threads_are_the_same_as_alone() -> None:
    scenario = Scenario.build(DOCUMENT)
    alone = scenario.run(fingerprint=True).fingerprint
    prints: list[str] = []
    threads = [
        threading.Thread(target=lambda: prints.append(scenario.run(fingerprint=True).fingerprint)) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert prints == [alone] * 4


def test_progress_is_told() -> None:
    told: list[float] = []
    Scenario.build(DOCUMENT, ["duration=20000s"]).run(progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert len(told) > 2


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=40), st.text(max_size=20))
def test_no_override_breaks_it(key: str, value: str) -> None:
    try:
        scenario = Scenario.build(DOCUMENT, [f"{key}={value}"])
    except ScenarioError:
        return
    assert scenario.duration_s > 0


def test_the_example_compares_three_controllers(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`examples/reno.py` is a controller (tests/test_control.py)."""
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(root / "examples" / "compare_controllers.py"), run_name="__main__")
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows] == ["controller", "reno", "vegas", "cubic"]
    goodputs = [float(row[1]) for row in rows[1:]]
    assert all(8 < goodput < 10 for goodput in goodputs), "the link carries 10 Mb/s"


def test_quantiles_of_delays_are_those_of_the_packets() -> None:
    """Delays from the outcome against delays from the packet events; with a warm-up, of the rest."""
    text = """
duration = "20s"
delays = true
{warmup}
[[link]]
ends = ["a", "b"]
rate = "2Mbps"
delay = "10ms"
queue = {{ kind = "droptail", limit = "20p" }}
[[flow]]
name = "f"
from = "a"
to = "b"
tcp = {{ profile = "ns2", receive_window = 100 }}
"""
    whole = Scenario.parse(text.format(warmup="")).run(packets=True)
    data = whole.packets.filter((whole.packets["kind"] == "data") & (whole.packets["seq"] > 0))
    came = data.filter(data["event"] == "deliver")["time_s"]
    # One link, first in, first out: the n-th that was taken is the n-th that came.
    delays = came - data.filter(data["event"] == "enqueue")["time_s"].head(len(came))
    late = delays.filter(came > 5)
    rest = Scenario.parse(text.format(warmup='warmup = "5s"')).run()
    for found, measured in ((whole.outcome["flows"][0], delays), (rest.outcome["flows"][0], late)):
        assert found["retransmitted_packets"] > 0
        assert found["min_delay_s"] == pytest.approx(delays.min(), rel=1e-3)  # of the whole run
        assert found["base_delay_s"] == pytest.approx(0.01 + 1040 * 8 / 2e6)
        for part in (50, 95, 99):
            assert found[f"p{part}_delay_s"] == pytest.approx(measured.quantile(part / 100, "higher"), rel=1e-3)


def test_traffic_comes_with_the_seed() -> None:
    text = """
duration = "30s"
[[link]]
ends = ["a", "b"]
rate = "10Mbps"
delay = "10ms"
[[traffic]]
name = "web"
from = "a"
to = "b"
load = "2Mbps"
size = "20kB"
shape = 1.5
"""
    runs = [Scenario.parse(text).run(seed=seed, fingerprint=True, audit=True) for seed in (1, 1, 2)]
    assert runs[0].fingerprint == runs[1].fingerprint != runs[2].fingerprint
    flows = runs[0].outcome["flows"]
    assert flows[3]["name"] == "web3"
    assert all(run.violation_count == 0 for run in runs)
    assert sum(flow["completion_s"] is not None for flow in flows) > 0.98 * len(flows) > 300


def test_the_packets_of_a_flow_are_those_rows_of_all_packets() -> None:
    run = Scenario.load("scenarios/dumbbell.toml", ["duration=1s"]).run(packets=True)
    name = run.packets["flow"].drop_nulls()[0]
    assert run.packets_of(name).equals(run.packets.filter(pl.col("flow") == name))
    with pytest.raises(BadInput, match="no flow nobody; there are "):
        run.packets_of("nobody")


MINE = """
import ackclock


class Mine(ackclock.Controller):
    def on_ack(self, ack):
        self.cwnd += ack.newly_delivered / self.cwnd


class Outer:
    class Inner(ackclock.Controller):
        pass
"""
PATH = """
title = "A path"
duration = "2s"
link = [{ ends = ["a", "b"], rate = "5Mbps", delay = "10ms" }]
flow = [{ name = "f", from = "a", to = "b" }]
"""
STUDY = PATH + '[sweep]\nseed = "1..2"\n"link.a->b.delay" = ["10ms", "20ms"]\n'


def _module(folder: Path, text: str = MINE) -> ModuleType:
    (folder / "mine.py").write_text(text)
    specification = importlib.util.spec_from_file_location("mine", folder / "mine.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["mine"] = module  # inspect looks a class up by its module
    specification.loader.exec_module(module)
    return module


def test_a_study_takes_controllers_as_classes(tmp_path: Path) -> None:
    mine = _module(tmp_path).Mine
    study = Study.parse(STUDY, controllers={"f": mine})
    assert study.scenario(0).resolved["flows"][0]["control"] == "Mine"
    table = study.run(tmp_path / "s", jobs=1).table()
    single = Scenario.parse(PATH, controllers={"f": mine}).run(seed=1).outcome["flows"][0]["goodput_bps"]
    assert table["f.goodput_bps"][0] == single


def test_a_class_without_a_file_is_refused_in_a_study(tmp_path: Path) -> None:
    module = _module(tmp_path)
    with pytest.raises(BadInput, match=r"controllers\['f'\]: Outer\.Inner: .* at its top level"):
        Study.parse(STUDY, controllers={"f": module.Outer.Inner})
    with pytest.raises(BadInput, match="a controller is a class"):
        Study.parse(STUDY, controllers={"f": 3})  # type: ignore[dict-item]


def test_a_file_that_runs_a_scenario_when_it_is_loaded_is_refused(tmp_path: Path) -> None:
    text = MINE + '\nackclock.Scenario.load("@dumbbell", {"duration": "1s"}).run()\n'
    (tmp_path / "mine.py").write_text(text)
    own = {"flow.f.tcp.congestion_control": {"python": f"{tmp_path}/mine.py:Mine"}}
    with pytest.raises(ScenarioError, match=r"mine\.py: runs a scenario while its controller is loaded; .*__main__"):
        Scenario.parse(PATH, own).run()


def test_changes_as_data_equal_changes_as_text() -> None:
    text = Scenario.load("@dumbbell", ["duration=2s", "link.bottleneck.rate=5Mbps"])
    data = Scenario.load("@dumbbell", {"duration": "2s", "link.bottleneck.rate": "5Mbps"})
    assert text.run(fingerprint=True).fingerprint == data.run(fingerprint=True).fingerprint
    assert data.with_overrides({"seed": 7}).seed == 7
    assert Study.parse(STUDY, {"sweep.seed": "1..5"}).seeds == [1, 2, 3, 4, 5]
    assert Scenario.build(tomllib.loads(PATH), {"duration": "1s"}).duration_s == 1


@pytest.mark.parametrize("value", [None, object(), float("nan"), {"a": None}])
def test_a_change_that_toml_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(BadInput, match=r"^overrides: duration: .* is no value of TOML"):
        Scenario.load("@dumbbell", {"duration": value})


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("duration", 5, 'overrides: duration: 5 has no unit: write it like "60s"'),
        ("link.q.delay", "1ms", 'overrides: link.q.delay: there is no "q" here; known: a->b'),
    ],
)
def test_a_message_names_the_key_of_a_change_once(key: str, value: object, said: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        Scenario.parse(PATH, {key: value})
    assert str(raised.value) == said


def test_objects_say_what_they_are(tmp_path: Path) -> None:
    scenario = Scenario.parse(PATH)
    assert repr(scenario) == "<ackclock.Scenario scenario: A path, 2 s, seed 1>"
    assert repr(scenario.run()).startswith("<ackclock.Result A path, 2 s, seed 1: goodput f 4.")
    study = Study.parse(STUDY)
    assert repr(study) == "<ackclock.Study study: A path, axes link.a->b.delay (2), 4 runs; not run>"


def test_every_public_name_has_its_place_in_the_reference(root: Path) -> None:
    pages = "\n".join(page.read_text() for page in (root / "docs" / "reference").glob("*.md"))
    classes = {name for name in ackclock.__all__ if isinstance(getattr(ackclock, name), type)}
    assert {"BadInput", "ScenarioError", "ControllerError"} <= classes
    assert classes - {"Study"} == set(re.findall(r"^::: ackclock\.([A-Z]\w+)$", pages, re.M))
    assert "\n::: ackclock.study\n" in pages, "with Study"
    with pytest.raises(ackclock.BadInput, match="there is no shipped scenario"):
        Scenario.load("@nosuch")
