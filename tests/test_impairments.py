"""`impair` beside `loss`, delays from files, rates behind goodputs, and whether a seed changes a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.patches import StepPatch

from ackclock import Scenario, ScenarioError
from ackclock.apps.agree import perturb
from ackclock.base.files import save_figure
from ackclock.cli.app import main
from ackclock.draw import runs
from ackclock.draw.traces import read_recordings
from ackclock.study import Study

NETWORK = """
duration = "4s"
[[link]]
name = "l"
ends = ["a", "b"]
rate = "10Mbps"
delay = "10ms"
queue = { kind = "droptail", limit = "50p" }
[[flow]]
name = "f"
from = "a"
to = "b"
tcp = {}
"""


def outcome(*assignments: str) -> str:
    """The outcome of the network, without what depends on the machine."""
    return Scenario.parse(NETWORK, assignments).run().json.split('"engine"')[0]


def test_impair_is_loss_by_another_name() -> None:
    jitter = '{ kind = "jitter", min = "0ms", max = "3ms" }'
    policer = '{ kind = "policer", rate = "8Mbps", burst = "20kB" }'
    assert outcome(f"link.l.impair={jitter}") == outcome(f"link.l.loss={jitter}") != outcome()
    both = outcome(f"link.l.loss={policer}", f"link.l.impair={jitter}")
    assert both == outcome(f"link.l.loss=[{policer}, {jitter}]")
    assert both == outcome(f"link.l.impair=[{policer}, {jitter}]")


def test_the_reverse_direction_has_its_own_impairments() -> None:
    """`back.impair` replaces that of the link and leaves `loss`."""
    jitter, none = '{ kind = "jitter", min = "0ms", max = "3ms" }', '{ kind = "none" }'
    losses = [
        link["loss"]
        for link in Scenario.parse(
            NETWORK, ["link.l.loss=1%", f"link.l.impair={jitter}", f"link.l.back={{ impair = {none} }}"]
        ).resolved["links"]
    ]
    assert losses == ["loss 1 %, jitter 0s to 3ms", "loss 1 %"]


def test_a_mistake_names_impair() -> None:
    with pytest.raises(ScenarioError, match=r"link\.l\.impair: must be a table or an array of tables"):
        Scenario.parse(NETWORK, ["link.l.impair=0.3"])


def test_a_delay_from_a_file(tmp_path: Path) -> None:
    """Its least value is the link's delay, and the rest are steps; the other direction has its own."""
    (tmp_path / "delays.csv").write_text("time_s,delay_ms\n0,10\n2,30\n")
    (tmp_path / "n.toml").write_text(
        NETWORK.replace('delay = "10ms"', 'delay = { kind = "file", file = "delays.csv" }')
    )
    from_file = Scenario.load(tmp_path / "n.toml")
    steps = '{ kind = "delay", steps = [["0s", "0ms"], ["2s", "20ms"]] }'
    assert from_file.run().json.split('"engine"')[0] == outcome(f"link.l.impair={steps}")
    of_link = Scenario.load(tmp_path / "n.toml", ['link.l.back={ delay = "4ms" }'])
    described = [(link["delay_s"], link["loss"]) for link in of_link.resolved["links"]]
    assert described == [(0.01, "2 steps of delay"), (0.004, "")]
    # It stays a file.
    assert not any(change.key[0] == "link" for change in perturb.overrides(from_file.resolved, 2))
    (tmp_path / "delays.csv").write_text("time_s,rtt_ms\n0,10\n")
    with pytest.raises(
        ScenarioError, match=r"link\.l\.delay\.file: .*delays\.csv:1: the column rtt_ms is a round-trip time"
    ):
        Scenario.load(tmp_path / "n.toml")


@pytest.mark.parametrize(
    ("assignment", "matters"),
    [
        ("duration=3s", False),
        ("link.l.queue=codel", False),
        ('link.l.queue={ kind = "red", limit = "50p", min = "5p", max = "15p" }', True),
        ("link.l.queue=pie", True),
        ("link.l.queue=fq_codel", True),
        ("link.l.loss=1%", True),
        ('link.l.impair={ kind = "delay", steps = [["0s", "1ms"]] }', False),
        ('link.l.impair={ kind = "jitter", min = "0ms", max = "3ms" }', True),
        ('link.l.rate={ kind = "steps", steps = [["0s", "9Mbps"], ["1s", "5Mbps"]] }', False),
        ('link.l.rate={ kind = "random_steps", interval = "1s", min = "5Mbps", max = "9Mbps" }', True),
        ("flow.f.start_jitter=10ms", True),
        ("flow.f.tcp.congestion_control=cubic", False),
        ("flow.f.tcp.congestion_control=bbr", True),
        ("flow.f.tcp.congestion_control=cdg", True),
        ("routing=ecmp", True),
        ('change=[{ at = "1s", set = { "link.l.loss" = 0.1 } }]', True),
        ('change=[{ at = "1s", set = { "link.l.rate" = "5Mbps" } }]', False),
        ('change=[{ at = "1s", set = { "flow.f.tcp.congestion_control" = "bbr" } }]', True),
    ],
)
def test_whether_the_seed_matters(assignment: str, matters: bool) -> None:
    """Where it is said not to matter, two seeds give equal runs."""
    scenario = Scenario.parse(NETWORK, [assignment])
    assert scenario.resolved["seed_matters"] == matters
    if not matters:
        a, b = (scenario.run(seed=seed, fingerprint=True) for seed in (1, 2))
        assert a.fingerprint == b.fingerprint


def test_seeds_that_change_nothing_are_told() -> None:
    seeds = 'sweep={ seed = [1, 2, 3], "link.l.delay" = ["5ms", "9ms"] }'
    told = Study.parse(NETWORK, [seeds], file="s.toml").idle_seeds
    assert told == (
        "s.toml: the seed changes nothing here, so the 3 runs of a point are equal: "
        "add start_jitter to a flow, or write one seed"
    )
    assert Study.parse(NETWORK, [seeds, "flow.f.start_jitter=9ms"]).idle_seeds == ""
    mixed = seeds.replace("link.l.delay", "link.l.queue").replace('"5ms", "9ms"', '"codel", "pie"')
    assert Study.parse(NETWORK, [mixed]).idle_seeds == ""
    assert Study.parse(NETWORK, ['sweep={ "link.l.delay" = ["5ms", "9ms"] }']).idle_seeds == ""


STEPS = 'link.l.rate={ kind = "steps", steps = [["0s", "8Mbps"], ["2s", "2Mbps"]] }'


@pytest.mark.parametrize("assignment", [STEPS, 'change=[{ at = "2s", set = { "link.l.rate" = "2Mbps" } }]'])
def test_a_rate_that_varies_is_behind_the_goodputs(assignment: str) -> None:
    first = "8Mbps" if assignment == STEPS else "10Mbps"
    result = Scenario.parse(NETWORK, [assignment]).run(trace="ack", packets=True)
    bits = result.capacities["a->b"]
    rate = {"8Mbps": 8e6, "10Mbps": 10e6}[first]
    assert bits[0] == 0.0
    assert bits[-1] == pytest.approx(2 * rate + 2 * 2e6, rel=1e-3)
    figure = runs.timelines(result)
    panel = figure.axes[-1]
    [area] = [patch for patch in panel.patches if isinstance(patch, StepPatch)]
    shown, _, _ = area.get_data()
    assert shown[0] == pytest.approx(rate / 1e6)
    assert shown[-1] == pytest.approx(2.0)
    assert panel.get_title(loc="right") == "grey: rate of a->b"


def test_a_recording_knows_the_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("n.toml").write_text(NETWORK, encoding="utf-8")
    assert main(["run", "n.toml", "--set", STEPS, "--packets", "p.parquet", "--trace", "t.parquet"]) == 0
    [recording] = read_recordings([Path("t.parquet"), Path("p.parquet")])
    rates = recording.capacity("a->b", np.array([0.0, 1.0, 2.0, 4.0]))
    assert rates is not None
    assert rates == pytest.approx([8e6, 8e6, 2e6])
    assert recording.capacity("b->c", np.array([0.0, 1.0])) is None


def test_a_constant_rate_is_not_shaded() -> None:
    result = Scenario.parse(NETWORK).run(trace="ack", packets=True)
    assert result.capacities == {}
    assert not [patch for patch in runs.timelines(result).axes[-1].patches if isinstance(patch, StepPatch)]
    assert Scenario.parse(NETWORK, [STEPS]).run().capacities == {}


def test_the_capacity_of_a_trace_is_that_of_its_opportunities(tmp_path: Path) -> None:
    (tmp_path / "phone.down").write_text("3\n3\n3\n")
    (tmp_path / "n.toml").write_text(NETWORK.replace('"10Mbps"', '{ kind = "trace", file = "phone.down" }'))
    bits = Scenario.load(tmp_path / "n.toml").run(packets=True).capacities["a->b"]
    assert np.diff(bits).sum() / 4 == pytest.approx(12.032e6, rel=1e-3)


def test_eps_is_opaque_and_the_same_twice(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """matplotlib logs a line about a transparent artist, which EPS cannot have."""
    result = Scenario.parse(NETWORK, [STEPS]).run(trace="ack", packets=True)
    for name in "ab":
        save_figure(runs.timelines(result), tmp_path / f"{name}.eps")
    text = (tmp_path / "a.eps").read_bytes()
    assert text == (tmp_path / "b.eps").read_bytes()
    assert text.startswith(b"%!PS-Adobe-3.0 EPSF-3.0")
    assert b"CreationDate" not in text
    assert caplog.records == []
