"""`ackclock check`: derived values, warnings, all mistakes of a file; the limits that a run reports."""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ackclock import Scenario
from ackclock.apps.scenario_check import describe
from ackclock.cli.summary import by_rank, limited_by

Run = Callable[..., "subprocess.CompletedProcess[str]"]

BASE = """
duration = "10s"
[tcp]
profile = "ns2"
receive_window = 1000
[[link]]
name = "access"
ends = ["a", "b"]
rate = "100Mbps"
delay = "5ms"
[[link]]
name = "narrow"
ends = ["b", "c"]
rate = "10Mbps"
delay = "15ms"
queue = { kind = "droptail", limit = "1bdp" }
[[flow]]
name = "f"
from = "a"
to = "c"
"""
SECOND = '[[flow]]\nname = "g"\nfrom = "b"\nto = "c"\n'


def warnings(text: str) -> dict[str, str]:
    """The key and the message of each warning."""
    return {warning["key"]: warning["message"] for warning in describe(Scenario.parse(text))["warnings"]}


def test_derived_values() -> None:
    """By hand: 40 ms of propagation and 1040 bytes (ns2) over 100 and 10 Mb/s; the ACK has 40 bytes."""
    found = describe(Scenario.parse(BASE + SECOND))
    f, g = found["flows"]
    assert f["path"] == [0, 2]
    assert f["back"] == [3, 1]
    data, ack = 8 * 1040 * (1e-8 + 1e-7), 8 * 40 * (1e-8 + 1e-7)
    assert f["base_rtt_s"] == pytest.approx(0.040 + data + ack, abs=1e-9)
    assert (f["bottleneck"], f["share_bps"], g["share_bps"]) == ("b->c", 5e6, 5e6)
    assert f["bdp_packets"] == pytest.approx(5e6 * f["base_rtt_s"] / 8 / 1040)
    narrow = found["links"][2]
    # 10 Mb/s x 40 ms = 50,000 bytes: 48 packets of 1040 bytes, which take 39.9 ms.
    assert (narrow["limit_bytes"], narrow["limit_packets"]) == (50_000, 48)
    assert narrow["limit_s"] == pytest.approx(48 * 1040 * 8 / 10e6)
    assert found["links"][0]["limit_s"] is None
    assert found["warnings"] == []


def test_shares_are_max_min_fair() -> None:
    """A UDP source takes its rate; what it leaves is shared; a flow with a narrower link leaves more to the others."""
    more = SECOND + '[[flow]]\nname = "u"\nfrom = "a"\nto = "c"\nudp = { rate = "1Mbps" }\n'
    more += '[[link]]\nends = ["d", "b"]\nrate = "2Mbps"\ndelay = "1ms"\n[[flow]]\nname = "h"\nfrom = "d"\nto = "c"\n'
    flows = {flow["name"]: flow for flow in describe(Scenario.parse(BASE + more))["flows"]}
    shares = {name: flow["share_bps"] for name, flow in flows.items()}
    assert shares == pytest.approx({"f": 3.5e6, "g": 3.5e6, "u": 1e6, "h": 2e6})
    assert flows["h"]["bottleneck"] == "d->b"


@pytest.mark.parametrize(
    ("old", "new", "key", "message"),
    [
        ("receive_window = 1000", "receive_window = 20", "flow.f.tcp.receive_window", "below the bandwidth-delay"),
        (', limit = "1bdp"', ', limit = "10B"', "link.narrow.queue.limit", "holds no packet"),
        ('queue = { kind = "droptail", limit = "1bdp" }', "", "link.narrow.queue", "has no limit"),
        ('name = "f"', 'name = "f"\nstart = "10s"', "flow.f.start", "sends nothing"),
        ('name = "f"', 'name = "f"\nwrites = [["11s", "1kB"]]', "flow.f.writes", "sends nothing"),
        ('name = "f"', 'name = "f"\nudp = { rate = "0bps" }', "flow.f.udp.rate", "never sends"),
        (
            'limit = "1bdp" }',
            'limit = "1bdp" }\nloss = { kind = "bernoulli", rate = 0.01 }',
            "link.narrow.loss",
            "c->b drops ACKs too",
        ),
        ('name = "f"', 'name = "f"\nudp = { rate = "20Mbps" }', "link.narrow.queue", "the queue grows"),
    ],
)
def test_probable_mistakes(old: str, new: str, key: str, message: str) -> None:
    text = BASE.replace(old, new)
    if "grows" in message:
        text = text.replace('queue = { kind = "droptail", limit = "1bdp" }', "")
    found = warnings(text)
    assert list(found) == [key]
    assert message in found[key]


def test_links_that_differ_in_their_names_alone_have_one_warning() -> None:
    """1000 segments of 1040 bytes take 83.2 ms at 100 Mb/s; the path holds 40 ms of them."""
    text = BASE.replace('"access"', '"access"\ncount = 3').replace('["a", "b"]', '["a{n}", "b"]')
    text = text.replace('name = "f"', 'name = "f"\ncount = 3').replace('"a"', '"a{n}"').replace('"10Mbps"', '"1Gbps"')
    assert warnings(text) == {
        "link.access0.queue (and 2 more links)": "has no limit at a bottleneck of 100 Mb/s: it drops nothing, and full "
        "receive windows wait 43.2 ms",
    }


def test_no_warning_where_it_would_be_wrong() -> None:
    """Losses of data alone, a short flow, a window of the bandwidth-delay product, data in both directions."""
    loss = 'limit = "1bdp" }\nloss = { kind = "bernoulli", rate = 0.01 }'
    for old, new in (
        ('limit = "1bdp" }', loss + '\nback = { loss = { kind = "none" } }'),
        ("receive_window = 1000", "receive_window = 50"),
        ('queue = { kind = "droptail", limit = "1bdp" }\n[[flow]]', '[[flow]]\nbytes = "20kB"'),
    ):
        assert warnings(BASE.replace(old, new)) == {}, new
    back = SECOND.replace('from = "b"\nto = "c"', 'from = "c"\nto = "a"')
    assert "link.narrow.loss" not in warnings(BASE.replace('limit = "1bdp" }', loss) + back)


def test_shipped_scenarios_have_no_warning(root: Path) -> None:
    for path in (root / "scenarios").glob("*.toml"):
        assert describe(Scenario.load(path))["warnings"] == [], path


def test_the_receive_window_that_is_recommended_is_enough() -> None:
    """The warning states the rate that the run then has; with the recommended window the flow fills the link."""
    narrow = BASE.replace("receive_window = 1000", "receive_window = 20")
    found = describe(Scenario.parse(narrow))["warnings"][0]
    assert "limits the flow to 4.06 Mb/s" in found["message"]
    goodput = Scenario.parse(narrow).run().outcome["flows"][0]["throughput_bps"]
    assert goodput == pytest.approx(4.06e6, rel=0.03)
    window = found["remedy"].split("receive_window = ")[1].split()[0]
    wide = Scenario.parse(narrow, [f"tcp.receive_window={window}"]).run()
    assert wide.outcome["links"][2]["utilisation"] > 0.95


def test_check_shows_values_and_warnings(ackclock: Run, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(BASE)
    (tmp_path / "w.toml").write_text(BASE.replace("receive_window = 1000", "receive_window = 20"))
    done = ackclock("check", "s.toml", cwd=tmp_path)
    assert done.stdout.splitlines()[0] == "s.toml: valid (no title; 10 s)"
    words = " ".join(done.stdout.split())
    assert "f a, c 41 ms b->c 10 Mb/s 50 p 1,000 p" in words
    assert "b->c (narrow) 10 Mb/s 15 ms drop-tail 1bdp 48 p = 39.9 ms" in words
    for options, status in (((), 0), (("--strict",), 2)):
        done = ackclock("check", "w.toml", *options, cwd=tmp_path)
        assert done.returncode == status
        assert "warning: flow.f.tcp.receive_window: 20 segments are below" in done.stdout
    done = ackclock("check", "s.toml", "--set", "flow.f.tcp.receive_window=20", cwd=tmp_path)
    assert "warning: flow.f.tcp.receive_window: 20 segments are below" in done.stdout
    # Of several files there is one line each, and the warnings.
    lines = ackclock("check", "s.toml", "w.toml", cwd=tmp_path).stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == ["s.toml", "w.toml", "warning"]


def test_check_as_json(ackclock: Run, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(BASE)
    (tmp_path / "bad.toml").write_text(BASE.replace("delay", "dealy"))
    done = ackclock("check", "s.toml", "bad.toml", "--json", cwd=tmp_path)
    good, bad = (json.loads(line) for line in done.stdout.splitlines())
    assert done.returncode == 2
    assert (good["valid"], good["runs"], good["warnings"], len(good["links"])) == (True, 1, [], 4)
    assert (bad["valid"], len(bad["errors"])) == (False, 2)
    assert done.stderr.splitlines() == [f"ackclock: {error}" for error in bad["errors"]]


def test_all_mistakes_of_a_file_at_once(ackclock: Run, tmp_path: Path) -> None:
    text = BASE.replace("delay =", "dealy =").replace('limit = "1bdp"', "limit = 3").replace("[[flow]]", "[[flows]]")
    (tmp_path / "s.toml").write_text(text)
    for command in ("run", "check", "sweep"):
        done = ackclock(command, "s.toml", *(["--out", "out"] if command == "sweep" else []), cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr.splitlines() == [
            'ackclock: s.toml:10: link.access.dealy: unknown key; did you mean "delay"?',
            'ackclock: s.toml:15: link.narrow.dealy: unknown key; did you mean "delay"?',
            'ackclock: s.toml:16: link.narrow.queue.limit: 3 has no unit: write it like "50p"',
            'ackclock: s.toml:17: flows: unknown key; did you mean "flow"?',
        ]


def test_messages_say_a_key_once(ackclock: Run, tmp_path: Path) -> None:
    cases = (
        (
            'name = "f"',
            'name = "f"\nbytes = "10MiB"',
            'flow.f.bytes: "10MiB" is not a number of bytes; write "10485760B"',
        ),
        ('kind = "droptail", ', "", 'link.narrow.queue.kind: is missing: write a value such as "droptail"'),
        ('{ kind = "droptail", limit = "1bdp" }', '"droptail"', "link.narrow.queue.limit: is missing: packets, bytes"),
        (
            '{ kind = "droptail", limit = "1bdp" }',
            '"1bdp"',
            "link.narrow.queue: must be a queue discipline: write { kind =",
        ),
    )
    for old, new, message in cases:
        (tmp_path / "s.toml").write_text(BASE.replace(old, new))
        done = ackclock("check", "s.toml", cwd=tmp_path)
        assert message in done.stderr, done.stderr
        assert len(done.stderr.splitlines()) == 1
    done = ackclock("run", "@dumbbell", "--set", "tcp.congestion_control={ kind = 'renno' }")
    assert "--set tcp.congestion_control: kind: unknown controller" in done.stderr


MISSPELT = """
from ackclock import Controller


class Mine(Controller):
    def on_akc(self, ack):
        self.cwnd += 1

    def on_congestion(self, event):
        self.on_losses(event)

    def on_losses(self, event):
        self.cwnd = self.ssthresh = max(2, event.window / 2)
"""


@pytest.mark.parametrize("command", ["check", "run"])
def test_a_misspelt_method_is_refused_before_the_run(ackclock: Run, tmp_path: Path, command: str) -> None:
    """A method that the class itself calls is none: `on_losses` is near to `on_lost`."""
    tcp = 'tcp = { congestion_control = { python = "mine.py:Mine" } }\n'
    (tmp_path / "s.toml").write_text(BASE + tcp)
    (tmp_path / "mine.py").write_text(MISSPELT)
    done = ackclock(command, "s.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.endswith("Mine has a method on_akc, which nothing calls; did you mean on_ack?\n")
    (tmp_path / "mine.py").write_text(MISSPELT.replace("on_akc", "on_ack"))
    assert ackclock("check", "s.toml", cwd=tmp_path).returncode == 0
    (tmp_path / "s.toml").write_text(BASE + tcp.replace(":Mine", ":Mime"))
    assert "has no class Mime; did you mean Mine?" in ackclock("check", "s.toml", cwd=tmp_path).stderr


def test_a_misspelt_method_of_a_class_is_refused() -> None:
    from ackclock import Controller, ScenarioError

    class Mine(Controller):
        def on_recovery_exits(self, now_s: float) -> None: ...

    with pytest.raises(ScenarioError, match=r"did you mean on_recovery_exit\?"):
        Scenario.parse(BASE, controllers={"f": Mine})


def test_what_limits_a_flow() -> None:
    """Receiver, application, congestion window and pacing, each where it must; the times add up to the flow's life."""
    cases: tuple[tuple[str, dict[str, object]], ...] = (
        ("receive window", {"tcp.receive_window": 10}),
        ("congestion window", {}),
        ("application", {"flow.f.writes": [["0s", "10kB"], ["5s", "10kB"]]}),
        ("pacing", {"flow.f.tcp.congestion_control": "bbr", "tcp.profile": "linux"}),
    )
    for limit, changes in cases:
        result = Scenario.parse(BASE, [f"{key}={json.dumps(value)}" for key, value in changes.items()]).run()
        times = result.limits[0]
        flow = result.outcome["flows"][0]
        assert max(times, key=lambda name: times[name]) == limit, times
        assert times[limit] > 0.8 * sum(times.values())
        assert sum(times.values()) == pytest.approx(flow["completion_s"] or 10.0, abs=1e-9)
        assert times["handshake"] == pytest.approx(0.0401, abs=5e-4)  # a round trip of a SYN


def test_limits_without_the_warm_up_and_of_late_flows() -> None:
    late = Scenario.parse(BASE + SECOND + 'start = "8s"\n', ["warmup=4s", "flow.f.tcp.receive_window=5"]).run()
    assert [sum(times.values()) for times in late.limits] == pytest.approx([6.0, 2.0], abs=1e-6)
    assert limited_by(late.limits[0]).startswith("rwnd 9")
    udp = Scenario.parse(BASE + 'udp = { rate = "1Mbps" }\n').run()
    assert udp.limits == [{}]
    assert limited_by({}) == "-"


def test_traffic_is_one_row(ackclock: Run, tmp_path: Path) -> None:
    """Its numbers are those of its flows."""
    text = BASE + '[[traffic]]\nname = "web"\nfrom = "a"\nto = "c"\nload = "2Mbps"\nsize = "20kB"\n'
    (tmp_path / "s.toml").write_text(text)
    flows = json.loads(ackclock("run", "s.toml", "--json", cwd=tmp_path).stdout)["flows"][1:]
    times = sorted(flow["completion_s"] for flow in flows if flow["completion_s"] is not None)
    shown = ackclock("run", "s.toml", cwd=tmp_path).stdout
    traffic, row = (line for line in shown.splitlines() if line.startswith("web"))
    assert "web0" not in shown
    assert traffic.split()[2] == str(len(flows))
    assert row.split()[1:4] == ["transfers", str(len(flows)), str(len(times))]
    median = by_rank([*times, *[math.inf] * (len(flows) - len(times))], 0.5)
    assert f"{1e3 * median:.3g} ms" in row
    assert f"> {times[-1]:.3g} s" in row  # more than 5 % have not ended
    every = ackclock("run", "s.toml", "--all", cwd=tmp_path).stdout
    assert all(f"\n{flow['name']} " in every for flow in flows)


def test_ranks() -> None:
    assert [by_rank([1.0, 2.0, 3.0, 4.0], part) for part in (0.0, 0.5, 0.95, 1.0)] == [1.0, 2.0, 4.0, 4.0]
