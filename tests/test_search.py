"""The search for networks that break a controller."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ackclock.apps.search import Search
from ackclock.apps.search.evaluate import WORK, Task
from ackclock.apps.search.expect import check
from ackclock.apps.search.lattice import Quantity, axis
from ackclock.apps.search.objective import measure, parse
from ackclock.apps.search.search import built_in, space_source
from ackclock.apps.search.space import read_space
from ackclock.base.files import BadInput
from ackclock.base.source import Source
from ackclock.cli.app import main
from ackclock.scenario import Scenario
from ackclock.study.runners import Processes, results_of

FILES = ("minimal.toml", "regression.toml", "report.html")


def run(name: str, out: Path, jobs: int = 2, **options: object) -> Search:
    return Search.load(name, first=True, **options).run(out, jobs=jobs)  # type: ignore[arg-type]


def test_the_low_rate_attack_is_found_and_small(tmp_path: Path) -> None:
    """Kuzmanovic and Knightly 2003: a square wave with a fifth of the rate takes two thirds of the rest."""
    search = run("@shrew", tmp_path / "a", budget=300)
    [failure, *_] = search.failures
    assert failure.objective is not None
    assert failure.objective <= 0.35
    text = (tmp_path / "a" / "minimal.toml").read_text(encoding="utf-8")
    assert len([line for line in text.splitlines() if not line.startswith("#")]) <= 15
    assert main(["run", str(tmp_path / "a" / "minimal.toml"), "--json"]) == 0
    assert main(["expect", str(tmp_path / "a")]) == 0


def test_the_files_do_not_depend_on_threads(tmp_path: Path) -> None:
    for jobs in (1, 3):
        run("@shrew", tmp_path / str(jobs), jobs, budget=100)
    for file in FILES:
        assert (tmp_path / "1" / file).read_bytes() == (tmp_path / "3" / file).read_bytes()


def test_a_killed_search_gives_the_same_files(tmp_path: Path) -> None:
    command = [
        str(Path(sys.executable).with_name("ackclock")),
        "search",
        "@shrew",
        "--seed",
        "2",
        "--budget",
        "400",
        "--threads",
        "1",
    ]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    subprocess.run([*command, "--out", str(whole)], check=True, capture_output=True)
    for wait in (1.2, 1.6, 2.0):
        process = subprocess.Popen(
            [*command, "--out", str(killed)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(wait)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    subprocess.run([*command, "--out", str(killed)], check=True, capture_output=True)
    for file in FILES:
        assert (whole / file).read_bytes() == (killed / file).read_bytes()


def test_starvation_is_a_difference_of_delays(tmp_path: Path) -> None:
    """Two BBR flows: the one with the longer base delay takes nearly everything."""
    search = run("@starvation", tmp_path / "s", budget=200, overrides=["duration=15s"])
    first = search.failures[0]
    assert first.objective is not None
    assert first.objective <= 0.1
    changed = {one.key for one, i in zip(search.space.axes, first.genome.values, strict=True) if i != one.simplest}
    assert changed & {"link.access1.delay", "link.access2.delay"}


def test_vegas_recovers_with_the_delayed_acks_of_a_recorded_receiver(tmp_path: Path) -> None:
    """The variant `ns2` stayed below two segments after one burst, with ACKs that waited up to 200 ms."""
    search = run("@scar", tmp_path / "v", budget=400, control='{ kind = "vegas", variant = "ns2" }')
    assert search.failures == []


def test_an_exception_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = """from ackclock import Controller


class Bad(Controller):
    def on_ack(self, ack):
        self.cwnd += 1
        if ack.now_s > 3:
            raise ArithmeticError("three seconds")

    def set_window(self, cwnd):
        self.cwnd = cwnd

    def on_congestion(self, event):
        self.cwnd = self.ssthresh = max(2, self.cwnd / 2)

    def on_rto(self, event):
        self.cwnd = 1
"""
    (tmp_path / "bad.py").write_text(code)
    out = tmp_path / "out"
    assert (
        main(["search", "@scar", "--control", f"{tmp_path}/bad.py:Bad", "--budget", "8", "--out", str(out), "--json"])
        == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert found["failures"][0]["signature"]["limit"] == "error"
    assert "three seconds" in found["failures"][0]["error"]
    assert (out / "bad.py").read_text() == code
    assert main(["expect", str(out)]) == 0
    (out / "bad.py").write_text(code.replace("> 3", "> 3000"))
    assert main(["expect", str(out)]) == 1


@pytest.mark.parametrize("name", built_in())
def test_a_built_in_space_can_be_run(name: str, tmp_path: Path) -> None:
    search = Search.load(name, budget=2).run(tmp_path / "o", jobs=2)
    assert search.evaluations == 2
    assert (tmp_path / "o" / "report.html").is_file()


def space(tmp_path: Path, text: str, name: str = "s.toml") -> Path:
    base = 'duration = "5s"\nlink = [{ name = "b", ends = ["x", "y"], rate = "5Mbps", delay = "10ms" }]\n'
    file = tmp_path / name
    file.write_text(f'{base}flow = [{{ name = "f", from = "x", to = "y" }}]\n{text}')
    return file


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[space]\n'link.c.rate' = ['1Mbps', '2Mbps']\n", "there is no"),
        ("[space]\n'link.b.foo' = ['1Mbps', '2Mbps']\n", "foo: unknown key"),
        ("[space]\n'link.b.rate' = ['2Mbps', '1Mbps']\n", "is empty"),
        ("[space]\n'link.b.rate' = ['2Mbps', '1s']\n", "different units"),
        ("[space]\n'link.b.rate' = { log = ['0Mbps', '1Mbps'] }\n", "more than zero"),
        ("[space]\n'link.b.rate' = ['1Mbps', '2Mbps']\n[search]\nobjective = 'speed <= 1'\n", "no metric speed"),
        ("[space]\n'link.b.rate' = ['1Mbps', '2Mbps']\n[search]\nobjective = 'goodput'\n", "no objective such as"),
        ("[space]\n'link.b.rate' = ['1Mbps', '2Mbps']\n[search]\nguard = ['x = 1']\n", "none of"),
        ("[space.perturbation.p]\nkind = 'storm'\n", "must be one of cross"),
        ("[space.perturbation.p]\nkind = 'cross'\nat = 'c'\n", "there is no link c"),
        (
            "[space.perturbation.p]\nkind = 'cross'\nleast = 1\nstart = ['1s', '2s']\nlength = ['1s', '2s']\n"
            "peak = [1.0, 2.0]\n[search]\nbudget = { cross = 0.01 }\n",
            "no network of the space keeps it",
        ),
    ],
)
def test_bad_spaces_are_refused(text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", str(space(tmp_path, text)), "--out", str(tmp_path / "o")]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
    assert not (tmp_path / "o").exists()


def test_a_plain_scenario_has_a_default_space(tmp_path: Path) -> None:
    made, table = read_space(space_source(space(tmp_path, "")))
    assert [one.key for one in made.axes] == ["link.b.rate", "link.b.delay"]
    assert {p.name for p in made.perturbations} == {"bursts", "drops"}
    assert table == {}


def test_values_are_written_as_scenarios_write_them() -> None:
    for text in ("20ms", "1.5Mbps", "50p", "64kB", "1bdp", "250us"):
        assert Quantity.read(text, "x").written() == text
    log = axis("k", {"log": ["1Mbps", "200Mbps"], "digits": 2, "simplest": "20Mbps"}, "k")
    assert (log.written(0), log.written(log.simplest), log.written(len(log.values) - 1)) == (
        "1Mbps",
        "20Mbps",
        "200Mbps",
    )
    assert len(log.values) == 90 + 90 + 11
    with pytest.raises(BadInput, match="no quantity"):
        axis("k", {"range": ["fast", "1s"]}, "k")


def test_objectives_compare_controllers_profiles_and_substrates() -> None:
    plain = parse("residual <= 0.35", "reno", None, "x")
    assert plain.fails(0.3)
    assert not plain.fails(0.4)
    regret = parse("regret(utilisation, cubic) >= 0.25", "vegas", None, "x")
    assert [role.label for role in regret.roles] == ["vegas", "cubic"]
    assert regret.value([0.5, 0.9]) == pytest.approx(0.4)
    assert parse("regret(utilisation) >= 0.25", "vegas", "bbr", "x").text == "regret(utilisation, bbr) >= 0.25"
    ratio = parse("ratio(goodput, quic, tcp) <= 0.8", "bbr", None, "x")
    assert [role.quic for role in ratio.roles] == [True, False]
    parameters = parse('ratio(rtt, { kind = "vegas", alpha = 1 }, vegas) >= 2', "reno", None, "x")
    assert "alpha" in parameters.roles[0].set_[0][1]


def test_the_reward_of_an_environment_is_a_metric() -> None:
    text = """
duration = "20s"
link = [{ name = "b", ends = ["x", "y"], rate = "8Mbps", delay = "10ms", queue = { kind = "droptail", limit = "9p" } }]
flow = [{ name = "f", from = "x", to = "y" }, { name = "g", from = "x", to = "y" }]
"""
    outcome = Scenario.parse(text).run().outcome
    hand = []
    for flow in outcome["flows"]:
        acked, lost = flow["acked_packets"], flow["retransmitted_packets"]
        hand.append(0.01 * (acked - 1) / 20 - flow["mean_rtt_s"] - 2 * lost / (acked + lost))
    assert measure(outcome, "reward_aurora", ["f", "g"], "b", 8e6) == pytest.approx(sum(hand) / 2)
    share = [flow["acked_packets"] / 20 / (8e6 / 12000) for flow in outcome["flows"]]
    reward = measure(outcome, "reward_utilisation", ["f"], "b", 8e6)
    assert reward is not None
    assert 0 < share[0] - reward < 0.5
    assert measure(outcome, "reward_aurora", [], "b", 8e6) is None
    warm = Scenario.parse('warmup = "10s"\n' + text).run().outcome
    late = measure(warm, "reward_utilisation", ["f", "g"], "b", 8e6)
    assert late == pytest.approx(measure(outcome, "reward_utilisation", ["f", "g"], "b", 8e6), abs=0.2)
    regret = parse("regret(reward_power, cubic) >= 1", "policy", None, "x")
    assert regret.value([2.0, 5.0]) == 3.0
    with pytest.raises(BadInput, match="there is no metric reward_none"):
        parse("reward_none <= 1", "reno", None, "x")


def test_events_become_assignments(tmp_path: Path) -> None:
    text = "".join(
        f"[space.perturbation.{kind}]\nkind = '{kind}'\nleast = 1\n{more}"
        for kind, more in {
            "drops": "packet = { log = [20, 99] }\n",
            "delays": "start = ['1s', '2s']\nlength = ['1s', '2s']\nby = ['1ms', '9ms']\n",
            "acks": "start = ['1s', '2s']\nlength = ['1s', '2s']\n",
            "rates": "start = ['1s', '2s']\nlength = ['1s', '2s']\nfactor = [0.5, 1.0]\n",
        }.items()
    )
    made, _ = read_space(Source("s", space(tmp_path, text).read_text()))
    document = made.document(made.simplest())
    [link] = document["link"]
    assert [one["kind"] for one in link["loss"]] == ["scripted", "delay"]
    assert [one["kind"] for one in link["back"]["loss"]] == ["blackout"]
    assert link["rate"]["steps"] == [["0s", "5Mbps"], ["1s", "2.5Mbps"], ["2s", "5Mbps"]]


def test_the_store_of_another_search_is_not_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "o"
    assert main(["search", "@shrew", "--budget", "4", "--out", str(out)]) == 1
    assert main(["search", "@shrew", "--budget", "4", "--seed", "3", "--out", str(out)]) == 2
    assert "holds another search" in capsys.readouterr().err
    shutil.rmtree(out)


@pytest.mark.parametrize("kind", ["blackouts", "stalls", "delays", "drops", "acks"])
def test_the_smallest_network_has_the_recorded_value(kind: str, tmp_path: Path) -> None:
    """`expect` runs minimal.toml alone, and has the value that the search had."""
    numbers = "packet = [20, 40]\n" if kind == "drops" else "start = ['1s', '2s']\nlength = ['1s', '2s']\n"
    numbers += "by = ['5ms', '50ms']\n" if kind == "delays" else ""
    text = f"[space.perturbation.p]\nkind = '{kind}'\nleast = 1\n{numbers}[search]\nobjective = 'goodput <= 1e9'\n"
    out = tmp_path / "o"
    assert main(["search", str(space(tmp_path, text)), "--control", "reno", "--budget", "4", "--out", str(out)]) == 0
    [state, *_] = check(out / "regression.toml")
    known, now = state.text.partition(": ")[2].split(" known, ")
    assert (state.state, f"{known} now") == ("as known", now)


def test_what_a_file_says_runs_no_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Controllers of `[search]`, of a store and of a regression file are not the user's."""
    (tmp_path / "else").mkdir()
    code = tmp_path / "else" / "evil.py"
    code.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    axis = "[space]\n'link.b.rate' = ['1Mbps', '2Mbps']\n[search]\n"
    for name, value in {
        "control": f"{code}:Evil",
        "against": f"{code}:Evil",
        "objective": f"ratio(goodput, {code}:Evil, reno) >= 0",
    }.items():
        file = space(tmp_path, f"{axis}{name} = {json.dumps(value)}\n", f"{name}.toml")
        assert main(["search", str(file), "--out", str(tmp_path / "o")]) == 2
        assert f"search.{name}: names a controller in Python" in capsys.readouterr().err
    known = tmp_path / "known"
    known.mkdir()
    shutil.copy(space(tmp_path, ""), known / "s.toml")
    entry = f'[[expect]]\nscenario = "s.toml"\nobjective = "regret(goodput, {code}:Evil) >= 0"\ncontrol = "reno"\n'
    (known / "regression.toml").write_text(f'{entry}tested = ["f"]\nbottleneck = "x->y"\nrate_bps = 0.0\nseeds = [1]\n')
    assert main(["expect", str(known)]) == 2
    outside = (known / "regression.toml").read_text().replace('"s.toml"', '"../s.toml"')
    (known / "regression.toml").write_text(outside)
    assert main(["expect", str(known)]) == 2
    assert not (tmp_path / "ran").exists()


def test_the_known_failures_are_as_known(root: Path) -> None:
    """What the search found in the controllers of the package; validation/failures.py writes it."""
    states = list(check(root / "scenarios" / "failures" / "regression.toml"))
    assert len(states) >= 15
    assert {state.state for state in states} == {"as known"}


def test_a_controller_that_ends_its_process_fails(tmp_path: Path) -> None:
    code = "import os\n\nfrom ackclock import Controller\n\n\nclass Ends(Controller):\n    def on_ack(self, ack):\n"
    code += "        if ack.now_s > 2:\n            os._exit(3)\n"
    for name in ("on_congestion", "on_rto", "set_window"):
        code += f"\n    def {name}(self, event):\n        pass\n"
    (tmp_path / "ends.py").write_text(code)
    runner = Processes(WORK, 1)
    source = Source("s", space(tmp_path, "").read_text(), "anywhere")
    control = f'flow.f.tcp.congestion_control={{ python = "{tmp_path}/ends.py:Ends" }}'
    tasks = [
        Task(source, (one,), 1, False, "", "goodput", ("f",), "x->y", 0.0, "") for one in (control, "seed=2", control)
    ]
    ended, other, again = results_of(runner, tasks)
    runner.close()
    assert ended.error == again.error == "the process of the run ended with exit status 3"
    assert other.value
