"""Controllers written in Python."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from ackclock import Controller, ControllerError, Scenario, ScenarioError
from ackclock._core import Ack, FlowInfo, Handshake, Sent
from ackclock.base.controllers import load

SCENARIO = """
duration = "20s"
seed = 3
[tcp]
profile = "{profile}"
{options}
[[link]]
name = "l"
ends = ["a", "b"]
rate = "5Mbps"
delay = "10ms"
queue = { kind = "red", limit = "40p", ecn = true }
loss = { kind = "bernoulli", rate = 0.002 }
[[flow]]
name = "f"
from = "a"
to = "b"
tcp = { congestion_control = {control} }
[[flow]]
name = "g"
from = "a"
to = "b"
start = "5s"
tcp = { congestion_control = {control} }
"""


Command = Callable[..., "subprocess.CompletedProcess[str]"]


def scenario(control: str, profile: str = "ns2", options: str = "") -> str:
    text = SCENARIO.replace("{control}", control).replace("{profile}", profile)
    return text.replace("{options}", options)


@pytest.mark.parametrize("profile", ["ns2", "linux"])
@pytest.mark.parametrize(
    "options", ["", "ecn = true", "ecn = true\nabe = true", "max_cwnd = 12", "integer_windows = true"]
)
def test_reno_in_python_is_reno(root: Path, profile: str, options: str) -> None:
    """The same window trace, row by row and bit by bit, and the same packets."""
    example = root / "examples" / "reno.py"
    runs = []
    for control in ('"reno"', f'{{ python = "{example}:Reno" }}'):
        made = Scenario.parse(scenario(control, profile, options))
        runs.append(made.run(trace="ack", fingerprint=True, audit=True))
    rust, python = runs
    assert len(rust.trace) > 3000
    assert rust.trace.equals(python.trace)
    assert rust.fingerprint == python.fingerprint
    assert python.violation_count == 0
    assert python.outcome["flows"][0]["control"] == "Reno"


def test_over_satellites(root: Path) -> None:
    """The results are also bit-identical with hand-offs, changing paths and a warm-up."""
    path, common = root / "scenarios" / "iridium.toml", ["duration=100s", "warmup=10s"]
    names = [flow["name"] for flow in Scenario.load(path, common).run().outcome["flows"]]
    prints = []
    for control in ("reno", f'{{ python = "{root / "examples" / "reno.py"}:Reno" }}'):
        made = Scenario.load(path, [*common, *(f"flow.{name}.tcp.congestion_control={control}" for name in names)])
        prints.append(made.run(fingerprint=True).fingerprint)
    assert prints[0] == prints[1]


class Fixed(Controller):
    """A controller with a constant window that uses every optional part of the interface."""

    needs: ClassVar[Sequence[str]] = ("timer", "pacing", "rate")
    probes = ("ticks", "nothing")

    def __init__(self, flow: object, window: float = 4.0) -> None:
        self.cwnd, self.ssthresh = window, float("inf")
        self.ticks, self.wake_at_s, self.pacing_bps = 0, 1.0, 1e6
        self.nothing = None
        self.samples = 0

    def on_open(self, now_s: float) -> None:
        assert now_s >= 0

    def on_ack(self, ack) -> None:  # type: ignore[no-untyped-def]
        assert ack.in_flight >= 0
        self.samples += ack.delivered is not None

    def on_congestion(self, event) -> None: ...  # type: ignore[no-untyped-def]
    def on_rto(self, event) -> None: ...  # type: ignore[no-untyped-def]
    def set_window(self, cwnd: float) -> None: ...

    def on_timer(self, now_s: float) -> None:
        assert now_s == pytest.approx(self.wake_at_s)
        self.ticks += 1
        self.wake_at_s = now_s + 1.0


def test_signals_timers_pacing_and_probes() -> None:
    made = Scenario.parse(scenario('"reno"'), controllers={"f": Fixed})
    run = made.run(trace="ack", packets=True)
    trace = run.trace.filter(run.trace["flow"] == "f")
    assert trace["ticks"].max() == 19
    assert trace["nothing"].null_count() == len(trace)
    assert trace["cwnd"].unique().to_list() == [4.0]
    rows = run.packets.filter((run.packets["flow"] == "f") & (run.packets["kind"] == "data"))
    sent = rows.filter(rows["event"] == "enqueue")["time_s"]
    # The rate counts the payload: a megabit a second is one segment of 1,000 bytes in 8 ms.
    assert sent.diff().drop_nulls().median() == pytest.approx(8e-3, rel=1e-6)


class Owner(Fixed):
    """A window of 20 segments that the class sets itself; it records what the transport reports."""

    needs = ("rate",)
    owns_window = True
    windows: ClassVar[list[float]] = []
    handshakes: ClassVar[list[Handshake]] = []
    limited: ClassVar[list[bool]] = []

    def __init__(self, flow: FlowInfo) -> None:
        super().__init__(flow, 20.0)
        for record in (self.windows, self.handshakes, self.limited):
            record.clear()

    def on_handshake(self, event: Handshake) -> None:
        self.handshakes.append(event)

    def on_ack(self, ack: Ack) -> None:
        if ack.delivered is not None:
            self.limited.append(ack.app_limited)

    def set_window(self, cwnd: float) -> None:
        self.windows.append(cwnd)


class Tenant(Owner):
    owns_window = False


class Limited(Owner):
    limits_application = True


def test_a_class_can_own_its_window_and_limit_rate_samples() -> None:
    text = scenario('"reno"', "linux").replace("0.002", "0.02")
    text = text[: text.rindex("[[flow]]")]
    Scenario.parse(text, controllers={"f": Owner}).run()
    assert Owner.windows == [10.0], "only the initial window: neither recovery nor its end sets one"
    assert not any(Owner.limited)
    [handshake] = Owner.handshakes
    assert handshake.rtt_s is not None
    assert handshake.rtt_ps is not None
    assert 0.02 < handshake.rtt_s < 0.021
    assert handshake.rtt_ps / 1e12 == handshake.rtt_s
    Scenario.parse(text, controllers={"f": Limited}).run()
    assert sum(Owner.limited) > 0.9 * len(Owner.limited) > 1000
    Scenario.parse(text, controllers={"f": Tenant}).run()
    assert len(Owner.windows) > 100, "proportional rate reduction sets it at every ACK of a recovery"


class Broken(Fixed):
    needs = ()

    def on_ack(self, ack) -> None:  # type: ignore[no-untyped-def]
        if ack.now_s > 2:
            self.cwnd = 1 / (self.ticks - self.ticks)


class Observer(Fixed):
    """A controller with a constant window that records what the transport reports."""

    needs = ("sent",)
    initial_window = 7
    sent: ClassVar[list[Sent]] = []
    acks: ClassVar[list[Ack]] = []

    def __init__(self, flow: FlowInfo) -> None:
        super().__init__(flow, flow.initial_window)
        self.sent.clear()
        self.acks.clear()

    def on_sent(self, sent: Sent) -> None:
        self.sent.append(sent)

    def on_ack(self, ack: Ack) -> None:
        self.acks.append(ack)


@pytest.mark.parametrize("recovery", ["newreno", "sack", "rack"])
@pytest.mark.parametrize("profile", ["ns2", "linux"])
def test_transmissions_and_the_segments_in_flight(profile: str, recovery: str) -> None:
    """Every transmission is reported. With SACK, in-flight is the pipe: reported segments do not count."""
    text = scenario('"reno"', profile, f'recovery = "{recovery}"\nsyn = false').replace("0.002", "0.03")
    made = Scenario.parse(text[: text.rindex("[[flow]]")], controllers={"f": Observer})
    result = made.run(trace="ack", audit=True)
    flow = result.outcome["flows"][0]
    assert result.violation_count == 0
    assert len(Observer.sent) == flow["sent_packets"]
    assert sum(sent.retransmission for sent in Observer.sent) == flow["retransmitted_packets"] > 10
    first = [sent.in_flight for sent in Observer.sent if sent.now_s < Observer.acks[0].now_s]
    assert first == [1, 2, 3, 4, 5, 6, 7], "the initial window is what the class specifies"
    acks = [ack for ack in Observer.acks if ack.dupacks >= 3]
    outstanding = [ack.next - ack.acked_through - 1 for ack in acks]
    less = [ack for ack, out in zip(acks, outstanding, strict=True) if ack.in_flight < out]
    assert acks
    assert bool(less) == (recovery != "newreno")
    events: list[Ack | Sent] = [*Observer.acks, *Observer.sent]
    assert all(event.now_ps / 1e12 == event.now_s for event in events)
    rtts = [(ack.rtt_s, ack.rtt_ps) for ack in Observer.acks if ack.rtt_s is not None and ack.rtt_ps is not None]
    assert rtts
    assert all(ps / 1e12 == s for s, ps in rtts)


def test_an_error_ends_the_run_with_its_traceback_and_time() -> None:
    made = Scenario.parse(scenario('"reno"'), controllers={"g": Fixed, "f": Broken})
    with pytest.raises(ControllerError, match=r"flow f: its controller failed at 2\.0") as caught:
        made.run()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert "self.cwnd = 1 / (self.ticks" in caught.value.traceback
    assert 2 < caught.value.time_s < 2.2
    assert caught.value.flow == "f"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("self.cwnd = float('nan')", "cwnd is nan, not a number from 1 on"),
        ("self.cwnd = 0.5", "cwnd is 0.5, not a number from 1 on"),
        ("self.cwnd = 'many'", "cwnd is many, not a number from 1 on"),
        ("self.ssthresh = None", "ssthresh is None, not a number from 1 on"),
        ("self.cwnd = float('inf')", "cwnd is inf, not finite"),
        ("type(self).needs = (); self.cwnd = None", "cwnd is None, not a number from 1 on"),
        ("self.owns_window = 3", "owns_window is 3, not true or false"),
        ("self.ecn_response = 'no'", "ecn_response is no, not reduce, confirm or ignore"),
        ("raise KeyError('gone')", "KeyError: 'gone'"),
    ],
)
def test_answers_that_make_no_sense_are_told(body: str, message: str) -> None:
    space: dict[str, object] = {"Fixed": Fixed}
    exec(f"class Odd(Fixed):\n    needs = ()\n    def on_ack(self, ack):\n        {body}", space)
    odd = space["Odd"]
    assert isinstance(odd, type)
    with pytest.raises(ControllerError, match=message.replace("(", r"\(")):
        Scenario.parse(scenario('"reno"'), controllers={"f": odd}).run()


def test_what_cannot_be_loaded_is_told_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("from ackclock import Controller\nclass Mine(Controller):\n    pass\n")
    (tmp_path / "half.py").write_text("class Half:\n    def on_ack(self, ack): ...\n")
    (tmp_path / "bad.py").write_text("import math\n\nmath.nothing\n")
    (tmp_path / "worse.py").write_text("def f(:\n")
    cases = {
        "mine.py:Mien": "has no class Mien; did you mean Mine?",
        "gone.py:Mine": "cannot be read",
        "mine": "is not FILE:CLASS",
        "half.py:Half": "Half has no on_congestion, on_rto, set_window",
        "bad.py:Bad": "bad.py:3: AttributeError",
        "worse.py:Worse": "worse.py:1: SyntaxError",
    }
    for source, message in cases.items():
        path = tmp_path / "s.toml"
        path.write_text(scenario(f'{{ python = "{source}" }}'))
        with pytest.raises(ScenarioError) as caught:
            Scenario.load(path).run()
        assert message in str(caught.value)
        assert (caught.value.key, caught.value.line) == ("flow.f.tcp.congestion_control.python", 18)
    given = f'flow.f.tcp.congestion_control={{ python = "{tmp_path / "mine.py"}:Mine", gian = 2 }}'
    misspelt = Scenario.parse(scenario('"reno"'), [given])
    with pytest.raises(ScenarioError, match=r"Mine has no parameter gian; it has none"):
        misspelt.run()
    with pytest.raises(ScenarioError, match=r'there is no flow "h"'):
        Scenario.parse(scenario('"reno"'), controllers={"h": Fixed})
    with pytest.raises(ScenarioError, match="int has no on_ack"):
        Scenario.parse(scenario('"reno"'), controllers={"f": int})
    space: dict[str, object] = {"Fixed": Fixed}
    exec("class Wants(Fixed):\n    needs = ('mindreading',)", space)
    with pytest.raises(ValueError, match='"mindreading" is not one of rate, receiver_time'):
        Scenario.parse(scenario('"reno"'), controllers={"f": space["Wants"]})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("probes = ('cwnd',)", "probes has cwnd: columns that the trace has already"),
        ("probes = 'ticks'", "probes must be a tuple of strings"),
        ("needs = 5", "needs must be a tuple|not iterable"),
    ],
)
def test_attributes_that_make_no_sense_are_told(head: str, message: str) -> None:
    space: dict[str, object] = {"Fixed": Fixed}
    exec(f"class Odd(Fixed):\n    {head}", space)
    with pytest.raises(ScenarioError, match=message):
        Scenario.parse(scenario('"reno"'), controllers={"f": space["Odd"]})  # type: ignore[dict-item]


def test_a_wake_that_has_come_is_used_up_and_a_rate_must_be_one() -> None:
    space: dict[str, object] = {"Fixed": Fixed}
    exec("class Stale(Fixed):\n    def on_timer(self, now_s):\n        self.wake_at_s = now_s", space)
    stale = space["Stale"]
    assert isinstance(stale, type)
    assert Scenario.parse(scenario('"reno"'), controllers={"f": stale}).run().outcome["flows"][0]["goodput_bps"] > 0
    exec("class Nil(Fixed):\n    def on_ack(self, ack):\n        self.pacing_bps = 0", space)
    nil = space["Nil"]
    assert isinstance(nil, type)
    with pytest.raises(ControllerError, match="pacing_bps is 0, not a rate"):
        Scenario.parse(scenario('"reno"'), controllers={"f": nil}).run()


def test_parameters_reach_the_class_and_count_in_a_runs_identity(root: Path, tmp_path: Path) -> None:
    """A study over a Python class: parameters and the file's text decide which runs are new."""
    from ackclock.study import Study

    copy = tmp_path / "reno.py"
    copy.write_text((root / "examples" / "reno.py").read_text())
    study = tmp_path / "s.toml"
    sweep = '[sweep]\n"flow.f.tcp.congestion_control.keep" = [0.3, 0.5, 0.7]\n'
    study.write_text(scenario(f'{{ python = "{copy}:Reno" }}').replace("[tcp]", sweep + "[tcp]"))
    found = Study.load(study)
    before = {run.run_id for run in found.runs({point: [1] for point in range(found.points)})}
    assert len(before) == 3
    means = [found.scenario(point).run().outcome["flows"][0]["mean_cwnd"] for point in range(3)]
    assert means[0] < means[1] < means[2]
    copy.write_text(copy.read_text() + "# another text\n")
    again = Study.load(study)
    assert not before & {run.run_id for run in again.runs({point: [1] for point in range(3)})}


def test_a_class_is_read_once(root: Path) -> None:
    path = str(root / "examples" / "reno.py")
    assert load(path, "Reno", ["keep"])[0] is load(path, "Reno", [])[0]


def test_the_command_shows_the_traceback(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(
        "from ackclock import Controller\n\n\nclass Bad(Controller):\n"
        "    def on_ack(self, ack):\n        if ack.now_s > 1:\n            raise ValueError('no more')\n"
    )
    (tmp_path / "s.toml").write_text(scenario('{ python = "bad.py:Bad" }'))
    command = [sys.executable, "-m", "ackclock.cli", "run", str(tmp_path / "s.toml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert 'bad.py", line 7, in on_ack' in done.stderr
    assert "ackclock: flow f: its controller failed at 1.0" in done.stderr.splitlines()[-1]
    sweep = [*command[:3], "sweep", str(tmp_path / "s.toml"), "--out", str(tmp_path / "out")]
    done = subprocess.run(sweep, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ValueError: no more" in done.stderr


TOUCHES = """
from pathlib import Path
from ackclock import Controller
Path(__file__).with_name("ran").touch()
class Mine(Controller):
    def on_ack(self, ack): ...
    def on_congestion(self, event): ...
    def on_rto(self, event): ...
"""


def test_a_file_is_announced_once_for_all_processes(ackclock: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(TOUCHES)
    sweep = "[sweep]\nseed = [1, 2, 3, 4, 5, 6]\n"
    (tmp_path / "s.toml").write_text(scenario('{ python = "mine.py:Mine" }') + sweep)
    done = ackclock("sweep", "s.toml", "--out", "o", "--jobs", "3", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("(class Mine)\n") == 1


def test_code_runs_when_a_run_begins_and_not_before(ackclock: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(TOUCHES)
    (tmp_path / "s.toml").write_text(scenario('{ python = "mine.py:Mine" }'))
    for command in (["check", "s.toml"], ["why", "s.toml", "--at", "soon"], ["sweep", "s.toml", "--out", "s.toml"]):
        ackclock(*command, cwd=tmp_path)
        assert not (tmp_path / "ran").exists(), command
    done = ackclock("run", "s.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("ackclock: runs mine.py (class Mine)\n") == 1
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("link", [False, True])
def test_a_file_names_nothing_outside_its_folder(ackclock: Command, tmp_path: Path, link: bool) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "mine.py").write_text(TOUCHES)
    (tmp_path / "base.toml").write_text(scenario('"reno"'))
    code, base = "../mine.py", "../base.toml"
    if link:  # a symbolic link inside to something outside is outside
        (inner / "mine.py").symlink_to(tmp_path / "mine.py")
        (inner / "base.toml").symlink_to(tmp_path / "base.toml")
        code, base = "mine.py", "base.toml"
    (inner / "code.toml").write_text(scenario(f'{{ python = "{code}:Mine" }}'))
    (inner / "extends.toml").write_text(f'extends = "{base}"\n')
    for name in ("code.toml", "extends.toml"):
        for command in ("check", "run"):
            done = ackclock(command, inner / name)
            assert done.returncode == 2
            assert "is outside the folder" in done.stderr
            assert "--allow-code" in done.stderr
            assert ackclock(command, inner / name, "--allow-code").returncode == 0
    # A path that is given on the command line is not restricted.
    told = f'flow.f.tcp.congestion_control={{ python = "{tmp_path / "mine.py"}:Mine" }}'
    assert ackclock("run", tmp_path / "base.toml", "--set", told).returncode == 0


@pytest.mark.parametrize("given", [Fixed(None), 3, None, "reno", object()])
def test_an_instance_in_place_of_a_class_is_told(given: object) -> None:
    with pytest.raises(ScenarioError, match="a controller is a class, not"):
        Scenario.parse(scenario('"reno"'), controllers={"f": given})  # type: ignore[dict-item]
