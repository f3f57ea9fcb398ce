"""Studies on other substrates than simulated TCP: `ackclock sweep --on`."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ackclock import Scenario
from ackclock.apps.reach import substrates
from ackclock.apps.reach.flow_parameters import controller_parameters
from ackclock.apps.reach.real_time import BySubstrate, prepare
from ackclock.apps.reach.runs import kernel_name
from ackclock.base.files import BadInput
from ackclock.study import Store, Study, results, run_of, sweep, sweep_variants
from ackclock.study.executors import Local

Command = Callable[..., "subprocess.CompletedProcess[str]"]
TEXT = """
duration = "1s"
sweep = { "flow.f.tcp.congestion_control" = ["reno", "vegas"], seed = "1..2" }
[[link]]
name = "l"
ends = ["a", "b"]
rate = "2Mbps"
delay = "10ms"
loss = { kind = "bernoulli", rate = 0.01 }
[[flow]]
name = "f"
from = "a"
to = "b"
tcp = { mss = 1400, delayed_ack = false }
"""


class Clock(substrates.RealTime):
    """A substrate that takes place in real time by its name only."""

    def __init__(self) -> None:
        super().__init__("clock", "by the wall clock")
        self.runs: list[tuple[str, int]] = []
        self.late: set[int] = set()

    def available(self, scenario: Scenario) -> str | None:
        return None

    def run(self, scenario: Scenario, seed: int, stop: Any = None) -> substrates.FinishedRun:
        control = scenario.resolved["flows"][0]["control"]
        self.runs.append((control, seed))
        result = scenario.run(seed=seed, trace="changes")
        late = ["p99 of the lateness is 9 ms"] if seed in self.late else []
        validity = {"valid": not late, "reasons": late}
        return substrates.FinishedRun({**result.outcome, "validity": validity}, result.trace)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    carrier = Clock()
    monkeypatch.setitem(substrates.SUBSTRATES, "clock", carrier)
    return carrier


def test_quic_is_an_axis_and_its_runs_are_those_of_run(ackclock: Command, tmp_path: Path) -> None:
    file, out = tmp_path / "s.toml", tmp_path / "out"
    file.write_text(TEXT)
    done = ackclock("sweep", str(file), "--out", str(out), "--on", "tcp,quic")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "8 runs: 0 kept, 8 done, 0 failed")
    assert "no counterpart of these TCP options, which are ignored: delayed_ack" in done.stderr
    with Store.open(out) as store:
        table = results.table(store)
        assert table["on"].to_list() == ["tcp"] * 4 + ["quic"] * 4
        [run_id] = table.filter(pl.col("on") == "quic", pl.col("seed") == 2).filter(
            pl.col("flow.f.tcp.congestion_control") == "vegas"
        )["run_id"]
        study, point, seed = run_of(store, run_id)
        result = study.scenario(point).run(seed=seed)
        assert result.outcome["flows"][0]["kind"] == "quic"
        with pytest.raises(BadInput, match="use ackclock run --on quic"):
            study.standalone(point)
    direct = Scenario.load(file, ["flow.f.tcp.congestion_control=vegas"]).over("quic").run(seed=2)
    assert result.outcome["flows"] == direct.outcome["flows"]
    repeated = ackclock("sweep", str(file), "--out", str(out), "--on", "tcp,quic")
    assert repeated.stdout.startswith("8 runs: 8 kept, 0 done")
    another = ackclock("sweep", str(file), "--out", str(out))
    assert (another.returncode, "give another folder" in another.stderr) == (2, True)


def test_runs_in_real_time_are_made_once_and_those_that_were_late_again(clock: Clock, tmp_path: Path) -> None:
    clock.late = {2}
    file = tmp_path / "s.toml"
    file.write_text(TEXT)
    study = Study.load(file, on="clock")
    executor = BySubstrate(Local(1))

    def again() -> tuple[int, int, int]:
        with Store.create(tmp_path / "out") as store:
            summary = sweep(study, store, executor)
            for _, error in store.failures():
                assert "did not follow the wall clock: p99 of the lateness is 9 ms" in error
            return summary.kept, summary.done, summary.failed

    assert again() == (0, 2, 2)
    assert clock.runs == [("reno", 1), ("reno", 2), ("vegas", 1), ("vegas", 2)]
    clock.late = set()
    assert again() == (2, 2, 0)
    assert clock.runs[4:] == [("reno", 2), ("vegas", 2)]
    with Store.open(tmp_path / "out") as store:
        assert results.table(store)["on"].to_list() == ["clock"] * 4
        [run_id, *_] = results.table(store)["run_id"]
        with pytest.raises(BadInput, match="took place in real time, on clock, and cannot be repeated exactly"):
            run_of(store, run_id)
    with pytest.raises(BadInput, match="BySubstrate"):
        list(Local(1).run(study, study.runs()))


def test_several_substrates_in_one_store(clock: Clock, tmp_path: Path) -> None:
    studies = {name: Study.parse(TEXT, on=name) for name in ("tcp", "clock")}
    variants = {name: (study, range(study.points)) for name, study in studies.items()}
    with Store.create(tmp_path / "out") as store:
        sweep_variants(variants, store, BySubstrate(Local(1)), axis="on")
        frame = results.table(store)
    assert frame["on"].to_list() == ["tcp"] * 4 + ["clock"] * 4
    assert frame["run_id"].n_unique() == 8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--on", "quik"), "did you mean quic?"),
        (("--on", "tcp,tcp"), "tcp is named twice"),
        (("--on", "tcp,,quic"), "a name is empty"),
        (("--on", "udp", "--jobs", "2"), "--jobs with --on udp: runs in real time take place one after the other"),
        (
            ("--on", "linux:cubic"),
            "different controllers (reno, vegas), and --on linux:cubic runs the kernel's cubic in all",
        ),
        (("--on", "tcp,quic", "--until", "f.goodput_bps:2%"), "takes one substrate"),
    ],
)
def test_bad_input(ackclock: Command, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    file = tmp_path / "s.toml"
    file.write_text(TEXT)
    done = ackclock("sweep", str(file), "--out", str(tmp_path / "out"), *arguments)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "out").exists()


def test_an_axis_of_the_name_is_refused() -> None:
    text = TEXT.replace("sweep = {", "sweep = { on = { a = {}, b = {} },")
    assert Study.parse(text).axes["on"] == ["a", "b"]
    with pytest.raises(BadInput, match="is the axis of --on"):
        Study.parse(text, on="quic")


@pytest.mark.parametrize("on", ["tcp", "quic"])
def test_a_first_point_that_cannot_run_does_not_stop_the_others(on: str, ackclock: Command, tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(TEXT.replace('["reno", "vegas"], seed = "1..2"', '["xcp", "reno"]'))
    done = ackclock("sweep", str(file), "--out", str(tmp_path / "out"), "--on", on)
    assert "2 runs: 0 kept, 1 done, 1 failed" in done.stdout


def test_what_a_substrate_ignores_is_told_once() -> None:
    vegas = TEXT.replace('["reno", "vegas"]', '["vegas"]')
    assert prepare(Study.parse(vegas, on="linux:reno")) == [
        "the kernel has its own values of these TCP options, which are ignored: delayed_ack",
        "the kernel's reno runs in place of vegas",
    ]
    options = TEXT.replace("congestion_control", "timestamps").replace('["reno", "vegas"]', "[false, true]")
    options = options.replace(", delayed_ack = false", "")
    assert prepare(Study.parse(options, on="linux")) == [
        "the kernel has its own values of these TCP options, which are ignored: timestamps"
    ]


def test_a_point_has_its_own_parameters() -> None:
    """The kernel's CUBIC has other parameters than those of the second point."""
    text = TEXT.replace('["reno", "vegas"]', '["reno", { kind = "cubic", beta = 0.5 }]')
    study = Study.parse(text, on="linux")
    assert kernel_name(study.scenario(0)) == "reno"
    with pytest.raises(BadInput, match="beta cannot be set there"):
        kernel_name(study.scenario(1))
    betas = TEXT.replace('congestion_control" = ["reno", "vegas"]', 'congestion_control.beta" = [0.5, 0.9]')
    betas = betas.replace("mss = 1400", 'mss = 1400, congestion_control = { kind = "cubic" }')
    with pytest.raises(BadInput, match=r"cubic beta=0\.5, cubic beta=0\.9"):
        prepare(Study.parse(betas, on="linux:cubic"))


def test_parameters_belong_to_flows_without_names_and_to_each_of_a_count() -> None:
    given = 'tcp = { congestion_control = { kind = "cubic", beta = 0.5 } }'
    text = TEXT[: TEXT.index("[[flow]]")].replace("sweep", "#") + "".join(
        f'[[flow]]\n{name}from = "a"\nto = "b"\n{tcp}\n'
        for name, tcp in (("", given), ('name = "g"\ncount = 2\n', given), ("", ""))
    )
    scenario = Scenario.parse(text)
    names = [flow["name"] for flow in scenario.resolved["flows"]]
    assert names == ["flow0", "g0", "g1", "flow3"]
    assert [list(controller_parameters(scenario, name)) for name in names] == [["beta"]] * 3 + [[]]


def test_the_other_flows_stay_tcp_on_udp() -> None:
    other = '[[flow]]\nname = "g"\nfrom = "a"\nto = "b"\ntcp = { timestamps = true }\n'
    assert prepare(Study.parse(TEXT + other, on="udp")) == [
        "QUIC has no counterpart of these TCP options, which are ignored: delayed_ack"
    ]
    xcp = '[[flow]]\nname = "g"\nfrom = "a"\nto = "b"\ntcp = { congestion_control = "xcp" }\n'
    text = TEXT.replace("loss = {", 'router = { kind = "xcp" }\nloss = {')
    assert len(prepare(Study.parse(text + xcp, on="udp"))) == 1


@pytest.mark.parametrize("first", [True, False])
def test_a_controller_that_raises_fails_the_run_over_udp(first: bool, ackclock: Command, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(
        "from ackclock import Controller\n\nclass Bad(Controller):\n    def on_ack(self, ack):\n        1 / 0\n"
    )
    file = tmp_path / "s.toml"
    bad = '{ python = "bad.py:Bad" }'
    text = TEXT.replace('["reno", "vegas"], seed = "1..2"', f"[{bad}]" if first else '["reno"]')
    if not first:
        text += f'[[flow]]\nname = "g"\nfrom = "a"\nto = "b"\ntcp = {{ congestion_control = {bad} }}\n'
    file.write_text(text)
    done = ackclock("sweep", str(file), "--out", str(tmp_path / "out"), "--on", "udp")
    assert done.returncode == 1
    assert "1 runs: 0 kept, 0 done, 1 failed" in done.stdout
    assert f"flow {'f' if first else 'g'}: its controller failed at" in done.stderr
    assert "ZeroDivisionError" in done.stderr
