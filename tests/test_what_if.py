"""Changes during a run: the command, the Python interface, counterfactuals, refusals."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ackclock import Controller, Scenario, ScenarioError
from ackclock.apps import share
from ackclock.apps.what_if import World, branch, changed, what_if
from ackclock.apps.why import counterfactual, explain
from ackclock.base.assignment import key_text
from ackclock.base.files import BadInput
from ackclock.cli.app import main
from conftest import without_cost
from generator import Generator, repaired

TEXT = """
duration = "10s"
[[link]]
name = "access"
ends = ["s", "r"]
rate = "100Mbps"
delay = "5ms"
[[link]]
name = "l"
ends = ["r", "d"]
rate = "10Mbps"
delay = "20ms"
queue = { kind = "droptail", limit = "30p" }
[[flow]]
name = "f"
from = "s"
to = "d"
[[flow]]
name = "g"
from = "s"
to = "d"
start = "100ms"
tcp = { congestion_control = "cubic" }
[[flow]]
name = "u"
from = "s"
to = "d"
udp = { rate = "100kbps" }
"""
SLOW = {"link.l.rate": "5Mbps"}


def outcome(result: Any) -> dict[str, Any]:
    return without_cost(result.outcome)


@pytest.fixture
def scenario() -> Scenario:
    return Scenario.parse(TEXT)


def test_a_changed_copy_is_the_run_of_the_changed_scenario(scenario: Scenario) -> None:
    world = World(scenario, fingerprint=True)
    world.advance("4s")
    copy = world.fork()
    copy.set("link.l.rate", "5Mbps")
    copy.advance(6)
    copy.change(do="blackout", link="l", duration="100ms")
    assert copy.now_s == 6
    after = changed(changed(scenario, "4s", set=SLOW), "6s", do="blackout", link="l", duration="100ms")
    expected = after.run(fingerprint=True)
    ended = copy.finish()
    assert ended.fingerprint == expected.fingerprint
    assert outcome(ended) == outcome(expected)
    assert world.finish().fingerprint == scenario.run(fingerprint=True).fingerprint
    assert Scenario.load(share.link(after)).run(fingerprint=True).fingerprint == expected.fingerprint
    with pytest.raises(RuntimeError, match="finished"):
        world.finish()


def test_branches_share_their_beginning(scenario: Scenario) -> None:
    branches = {"slow": SLOW, "reno": {"flow.g.tcp.congestion_control": "reno"}, "far": {"link.l.delay": "80ms"}}
    tree = branch(scenario, "5s", branches, packets=True, trace="ack")
    assert list(tree) == ["base", *branches]
    for name, values in branches.items():
        assert outcome(tree[name]) == outcome(changed(scenario, "5s", set=values).run())
        difference, rows = tree.diff("base", name)
        assert difference is not None
        assert difference.time_s >= 5
        assert rows
    assert outcome(tree["base"]) == outcome(scenario.run())
    assert tree.diff("base", "base") == (None, [])
    with pytest.raises(BadInput, match="base"):
        branch(scenario, "5s", {"base": SLOW})


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "s.toml"
    file.write_text(TEXT)
    picture = tmp_path / "f.png"
    line = ["what-if", str(file), "--at", "4s", "--set", "link.l.rate=5Mbps", "--set", "flow.u.udp.rate=1Mbps"]
    assert main([*line, "--plot", str(picture)]) == 0
    said = capsys.readouterr().out
    assert "First difference at 4.0" in said
    assert picture.stat().st_size > 10_000
    assert main([*line, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    written = tmp_path / "changed.toml"
    values = '{ "link.l.rate" = "5Mbps", "flow.u.udp.rate" = "1Mbps" }'
    written.write_text(f'{TEXT}\n[[change]]\nat = "4s"\nset = {values}\n')
    assert main(["run", str(written), "--json"]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert without_cost(printed["changed"]) == without_cost(alone)
    assert 4 <= printed["first_difference_s"] < 4.1
    assert printed["base"]["flows"][0]["goodput_bps"] > printed["changed"]["flows"][0]["goodput_bps"]
    assert main(["what-if", str(file), "--at", "4s", "--control", "vegas"]) == 0
    capsys.readouterr()
    assert main(["what-if", str(file), "--at", "4s", "--set", "link.l.rate=10Mbps"]) == 0
    assert "The change has no effect" in capsys.readouterr().out
    assert main(["what-if", str(file), "--at", "9.9999s", "--set", "flow.f.stop=9.99995s"]) == 0


REFUSED = [
    (["--at", "0s", "--set", "link.l.rate=5Mbps"], "--at: must be after the start and before the end, 10s"),
    (["--at", "10s", "--set", "link.l.rate=5Mbps"], "--at: must be after the start"),
    (["--at", "soon", "--set", "link.l.rate=5Mbps"], '"soon" is not a time'),
    (["--at", "4s"], "name what changes"),
    (["--at", "4s", "--set", "link.l.rate"], "must be KEY=VALUE"),
    (["--at", "4s", "--set", "link.m.rate=5Mbps"], 'there is no "m" here'),
    (["--at", "4s", "--set", "link.l.rate=fast"], '--set link.l.rate: "fast" is not a rate'),
    (["--at", "4s", "--set", "link.l.name=m"], "--set link.l.name: cannot change during a run"),
    (["--at", "4s", "--set", "flow.f.tcp.mss=500"], "--set flow.f.tcp.mss: these options of TCP cannot change"),
    (["--at", "4s", "--set", "duration=20s"], "--set duration: cannot change during a run; what can: rate"),
    (["--at", "4s", "--set", "flow.f.start=5s"], "the start of a flow can only change before the flow starts"),
    (["--at", "4s", "--set", "flow.f.stop=3s"], "a flow can only stop from 4s on"),
    (["--at", "4s", "--set", "title=x"], "--set title: cannot change during a run"),
    (["--at", "4s", "--set", "change.x.at=5s"], "--set change.x.at: cannot change during a run"),
    (["--at", "4s", "--control", "dctcp"], "needs other options of TCP (such as ecn)"),
    (["--at", "4s", "--set", 'link."my=link".rate=5Mbps'], 'there is no "my=link" here'),
    (["--at", "4s", "--set", "link.l.queue.kind=red"], "RED and PIE decide at arrival"),
    (["--at", "4s", "--set", "link.l.rate=5Mbps", "--set", "link.l.rate=6Mbps"], "is written twice"),
    (["--at", "4s", "--control", "nobody"], 'unknown controller "nobody"'),
]


@pytest.mark.parametrize(("options", "message"), REFUSED, ids=[" ".join(options) for options, _ in REFUSED])
def test_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str) -> None:
    file = tmp_path / "s.toml"
    file.write_text(TEXT)
    assert main(["what-if", str(file), *options]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert message in said.err
    assert len(said.err.splitlines()) == 1


WRITTEN = [
    ('at = "4s"', "change.c.set: is missing"),
    ('set = { "link.l.rate" = "5Mbps" }', "change.c.at: is missing"),
    ('at = "4s"\nset = { "link.l.rate" = "5Mbps" }\ncount = 3', "count: needs an action"),
    ('at = "4s"\ndo = "explode"\nlink = "l"', 'unknown value "explode"; known: drop_next'),
    ('at = "4s"\ndo = "drop_next"', "change.c.link: is missing"),
    ('at = "4s"\ndo = "drop_next"\nlink = "m"', 'there is no link "m"'),
    ('at = "4s"\ndo = "drop_next"\nlink = "l"\nflow = "x"', 'there is no flow "x"'),
    ('at = "4s"\ndo = "blackout"\nlink = "l"', "change.c.duration: is missing"),
    ('at = "4s"\ndo = "blackout"\nlink = "l"\nduration = "1ms"\ncount = 2', 'do = "blackout" has no count'),
    ('at = "4s"\ndo = "drop_next"\nlink = "l"\nduration = "1ms"', 'do = "drop_next" has no duration'),
    ('at = "4s"\nset = 3', "must be a table"),
    (
        'at = "4s"\ndo = "drop_next"\nlink = "l"\n[[change]]\nname = "c"\nat = "5s"\ndo = "drop_next"\nlink = "l"',
        'another change is called "c" too',
    ),
    ('at = "4s"\nwhen = "5s"\ndo = "drop_next"\nlink = "l"', "unknown key"),
    ('at = "4s"\nset = { "link.l.loss" = { kind = "duplicate", rate = 0.1 } }', "cannot begin or end during a run"),
]


@pytest.mark.parametrize(("table", "message"), WRITTEN)
def test_bad_tables(table: str, message: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        Scenario.parse(f'{TEXT}\n[[change]]\nname = "c"\n{table}\n')
    assert message in str(refused.value)
    assert refused.value.line is not None


def test_code_in_a_change_of_a_stranger_is_refused() -> None:
    content = {
        "v": 1,
        "text": f'{TEXT}\n[[change]]\nat = "4s"\nset = {{ "flow.f.tcp.congestion_control.python" = "x.py:X" }}\n',
    }
    from ackclock.base.link import pack

    with pytest.raises((ScenarioError, BadInput), match="Python"):
        Scenario.load(pack(content))  # type: ignore[arg-type]


class Counter(Controller):
    """A window that grows by one segment for every tenth ACK."""

    def __init__(self, flow: Any) -> None:
        super().__init__(flow)
        self.flow, self.cwnd = flow, 4.0
        self.acks = [0]

    def on_ack(self, ack: Any) -> None:
        self.acks[0] += 1
        if self.acks[0] % 10 == 0:
            self.cwnd += 1

    def on_congestion(self, event: Any) -> None:
        self.cwnd = max(2.0, self.cwnd / 2)


class Stubborn(Counter):
    """Refuses to be copied."""

    def __deepcopy__(self, memo: object) -> Stubborn:
        raise TypeError("no copies")


class Hooked(Stubborn):
    """Copies itself."""

    def __ackclock_fork__(self) -> Hooked:
        copy = Hooked(self.flow)
        copy.cwnd, copy.ssthresh, copy.acks = self.cwnd, self.ssthresh, list(self.acks)
        return copy


@pytest.mark.parametrize("controller", [Counter, Hooked, Stubborn])
def test_controllers_in_python_are_copied_or_run_again(controller: type, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = Scenario.parse(TEXT, controllers={"f": controller})
    world = World(scenario, fingerprint=True)
    world.advance("3s")
    copy = world.fork()
    assert ("cannot be copied" in capsys.readouterr().err) == (controller is Stubborn)
    assert copy.finish().fingerprint == world.finish().fingerprint == scenario.run(fingerprint=True).fingerprint


def test_a_controller_in_python_takes_over(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from ackclock import Controller\nclass Mine(Controller):\n    def on_ack(self, ack):\n"
        "        self.cwnd += 1 / self.cwnd\n    def on_congestion(self, event):\n"
        "        self.cwnd = max(2, self.cwnd / 2)\n"
    )
    file = tmp_path / "s.toml"
    file.write_text(TEXT)
    code = {"flow.f.tcp.congestion_control": {"python": str(tmp_path / "mine.py:Mine")}}
    compared = what_if(Scenario.load(file), "4s", {"set": code})
    assert compared.changed.outcome["flows"][0]["control"] == "Mine"
    assert compared.first_difference is not None


def test_quic_runs_again(capsys: pytest.CaptureFixture[str]) -> None:
    scenario = Scenario.parse(TEXT).over("quic")
    world = World(scenario, fingerprint=True)
    world.advance("2s")
    copy = world.fork()
    copy.set("link.l.rate", "5Mbps")
    after = changed(scenario, "2s", set=SLOW)
    assert copy.finish().fingerprint == after.run(fingerprint=True).fingerprint
    assert world.finish().fingerprint == scenario.run(fingerprint=True).fingerprint


def test_why_takes_a_drop_back(scenario: Scenario, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cause = explain(scenario, 5.0, flow="g", cut=True)
    without = counterfactual(scenario, cause, 5.0)
    assert without.packet == cause.packet
    result = without.scenario.run(packets=True, audit=True)
    assert result.violations == []
    at = [step.time_s for step in cause.packet_events if step.event == "drop"][-1]
    rows = result.packets.filter((result.packets["time_s"] - at).abs() < 1e-12)
    named = [row for row in rows.iter_rows(named=True) if row["flow"] == "g" and row["seq"] == cause.packet]
    assert {str(row["event"]) for row in named} == {"enqueue"} | ({"deliver"} if len(named) > 1 else set())
    file = tmp_path / "s.toml"
    file.write_text(TEXT)
    assert main(["why", str(file), "--at", "5s", "--flow", "g", "--cut", "--counterfactual"]) == 0
    assert without.sentence in capsys.readouterr().out
    assert main(["why", str(file), "--at", "5s", "--flow", "g", "--cut", "--counterfactual", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counterfactual"]["packet"] == cause.packet
    assert main(["why", str(file), "--at", "50ms", "--flow", "f", "--counterfactual"]) == 2
    assert "no link dropped or marked a packet" in capsys.readouterr().err


def test_the_run_without_the_change_is_that_of_the_file() -> None:
    """A link that is served packet by packet transmits as any other: the outcome is the same at odd rates too."""
    for rate in ("1.5Mbps", "3Mbps", "7Mbps"):
        scenario = Scenario.parse(TEXT, [f"link.l.rate={rate}", "tcp.delayed_ack=false"])
        for values in (SLOW, {"link.l.delay": "30ms"}, {"link.l.queue.limit": "20p"}):
            compared = what_if(scenario, "9s", {"set": values})
            base = outcome(compared.base)
            assert base["flows"] == outcome(scenario.run())["flows"], (rate, values)


def test_a_loss_on_the_link_is_taken_back() -> None:
    """The decision on it is that of this transmission, not of the retransmission behind it."""
    scenario = Scenario.parse(TEXT, ['link.l.loss={ kind = "bernoulli", rate = 0.01 }', "link.l.queue.limit=500p"])
    taken = 0
    for at_s in range(1, 10):
        cause = explain(scenario, float(at_s), flow="g", cut=True)
        if any(step.event == "drop" and step.reason == "loss" for step in cause.packet_events):
            without = counterfactual(scenario, cause, float(at_s))
            outcome = what_if_outcome(without.scenario)
            assert outcome != what_if_outcome(scenario), at_s
            taken += 1
    assert taken > 3


@pytest.mark.parametrize("queue", ["codel", "fq_codel", "fq_pie", "dualpi2", "docsis_pie", "pie"])
def test_drops_and_marks_of_a_discipline_are_taken_back(queue: str) -> None:
    """Also those of packets that it had accepted, and marks: the packet leaves at once, or without the mark."""
    scenario = Scenario.parse(TEXT, [f'link.l.queue={{ kind = "{queue}" }}', "tcp.ecn=true"])
    taken = set()
    for at_s in range(2, 10):
        cause = explain(scenario, float(at_s), flow="g", cut=True)
        undo = cause.prevention
        assert undo is not None
        assert undo.action in {"keep_next", "unmark_next"}
        without = counterfactual(scenario, cause, float(at_s)).scenario.run(packets=True, audit=True)
        assert without.violations == []
        column, packets = pl.col, without.packets
        of_packet = packets.filter(
            (column("flow") == "g") & (column("kind") == "data") & (column("link") == undo.link)
            & (column("seq") == undo.packet) & (column("time_s") <= cause.time_s)
        )  # fmt: skip
        drops = sum(step.event == "drop" and step.link == undo.link for step in cause.packet_events)
        assert of_packet.filter(column("event") == "drop").height == max(0, drops - 1)
        assert undo.action == "keep_next" or not of_packet["marked"].any()
        taken.add(undo.action)
    assert ("unmark_next" in taken) == (queue in {"fq_codel", "dualpi2"})


@pytest.mark.parametrize("queue", ["docsis_pie", "fq_pie", "codel"])
def test_a_change_of_queue_keeps_the_order_of_kept_packets(queue: str) -> None:
    changes = """
[[change]]
name = "k"
at = "2s"
do = "keep_next"
link = "l"
count = 10
[[change]]
name = "c"
at = "3s"
set = { "link.l.queue" = { kind = "droptail", limit = "5p" } }
"""
    text = TEXT.replace('kind = "droptail", limit = "30p"', f'kind = "{queue}"') + changes
    assert (
        Scenario.parse(text, ["tcp.congestion_control=cubic", "flow.u.udp.rate=3Mbps"]).run(audit=True).violations == []
    )


def test_a_link_with_grants_sends_kept_packets() -> None:
    link = """
rate = { kind = "request_grant", rate = "5Mbps", channel = "20Mbps" }
queue = { kind = "codel", limit = "100p", target = "1ms", interval = "5ms" }
"""
    document = {
        "duration": "6s",
        "link": [{"name": "l", "ends": ["a", "b"], "delay": "5ms", **tomllib.loads(link)}],
        "flow": [{"name": "u", "from": "a", "to": "b", "stop": "3s", "udp": {"rate": "6Mbps", "packet": 3000}}],
        "change": [{"name": "k", "at": "1s", "do": "keep_next", "link": "l", "count": 1000}],
    }
    result = Scenario.build(document).run().outcome
    link_, flow = result["links"][0], result["flows"][0]
    assert link_["delivered_packets"] + sum(link_["dropped_packets"].values()) == flow["sent_packets"]


def what_if_outcome(scenario: Scenario) -> str:
    """A hash of all packets."""
    return scenario.run(fingerprint=True).fingerprint


def test_an_order_holds_for_its_change_alone() -> None:
    """Packets that overtake others after one change do not after another one that keeps the order."""
    scenario = Scenario.parse(TEXT)
    first = changed(scenario, "4s", set={"link.l.delay": "5ms"})
    loose = changed(first, "8s", order=False, set={"link.l.delay": "1ms"})
    runs = [one.run(packets=True).packets.filter(one_direction) for one in (first, loose)]
    early = [frame.filter(frame["time_s"] < 8)["seq"].to_list() for frame in runs]
    assert early[0] == early[1]


one_direction = (pl.col("link") == "r->d") & (pl.col("event") == "deliver")


def test_a_source_that_waits_starts_at_its_new_rate() -> None:
    schedule = TEXT.replace('udp = { rate = "100kbps" }', 'udp = { schedule = [["0s", "0bps"], ["8s", "1Mbps"]] }')
    scenario = Scenario.parse(schedule)
    after = changed(scenario, "4s", set={"flow.u.udp.schedule": [["0s", "1Mbps"]]})
    sent = [run.run().outcome["flows"][2]["sent_packets"] for run in (scenario, after)]
    assert sent[1] > 2.5 * sent[0] > 0


@pytest.mark.parametrize(
    ("text", "values", "message"),
    [
        ('start = "100ms"', {"flow.g.start": "6s"}, "before the flow starts"),
        ('start = "5s"\nstart_jitter = "1s"', {"flow.g.start": "6s"}, "start_jitter"),
        ('start = "5s"\nwrites = [["0s", "10kB"]]', {"flow.g.start": "6s"}, "writes"),
        ('start = "100ms"\nstop = "2s"', {"flow.g.stop": "6s"}, "has stopped before the change"),
    ],
)
def test_what_follows_a_start_or_a_stop_does_not_move(text: str, values: dict[str, str], message: str) -> None:
    scenario = Scenario.parse(TEXT.replace('start = "100ms"', text))
    with pytest.raises(ScenarioError, match=message):
        changed(scenario, "4s", set=values)


def test_names_of_changes_are_not_taken_twice() -> None:
    named = f'{TEXT}\n[[change]]\nname = "what_if"\nat = "2s"\nset = {{ "link.l.rate" = "2Mbps" }}\n'
    scenario = Scenario.parse(named)
    compared = what_if(scenario, "5s", {"set": {"flow.u.stop": "6s"}})
    assert compared.base.outcome["flows"][0] == scenario.run().outcome["flows"][0]
    assert compared.first_difference is not None
    assert compared.first_difference.time_s >= 5
    with pytest.raises(BadInput, match="already"):
        changed(scenario, "5s", name="what_if", set=SLOW)


def test_a_world_does_not_go_back(scenario: Scenario) -> None:
    world = World(scenario)
    world.advance("4s")
    assert set(world.windows) == {"f", "g"}
    with pytest.raises(BadInput, match="cannot go back"):
        world.advance("3s")
    with pytest.raises(ScenarioError, match="cannot change"):
        world.set("flow.f.tcp.mss", 500)


@pytest.mark.parametrize("number", range(0, 1600, 16))
def test_the_base_of_a_branch_is_the_run(number: int) -> None:
    """In generated networks, with links built for the change of each of their values: every digit is equal."""
    generator = Generator(number)
    generator.CHANGED = 0
    document = generator.wired() | {"duration": generator.choice("200ms", "1s")}
    if generator.likely(0.3):
        document["warmup"] = "100ms"
    scenario = None
    for _ in range(12):
        try:
            scenario = Scenario.build(document)
            run = scenario.run(seed=number)
            break
        except ScenarioError as error:
            scenario = None
            if not repaired(generator, document, error):
                break
    if scenario is None:
        return  # test_generated.py counts those that cannot be run
    at_ps = int(run.outcome["duration_s"] * generator.random.uniform(0.05, 0.9) * 1e12)
    link = document["link"][0]
    name = link.get("name") or "->".join(link["ends"])
    for key, value in (
        *(("rate", "2.3Mbps"), ("delay", "7ms"), ("loss", "1%")),
        ("queue", {"kind": "droptail", "limit": "9p"}),
    ):
        try:
            after = changed(scenario, at_ps / 1e12, set={key_text(("link", name, key)): value})
            world = World(scenario, seed=number, changes=[after])
        except ScenarioError:
            continue  # such as a medium whose queue cannot change
        world.advance(at_ps / 1e12)
        assert without_cost(world.finish().outcome) == without_cost(run.outcome), (number, key)
