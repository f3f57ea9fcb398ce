"""How flows start: SEARCH, Rapid Start, Careful Resume, jumps, and the limit by what was in flight."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest

from ackclock import Scenario, ScenarioError

PATH = """
duration = "20s"
[[link]]
name = "l"
ends = ["a", "b"]
rate = "100Mbps"
delay = "50ms"
queue = { kind = "droptail", limit = "20bdp" }
"""
FLOW = '[[flow]]\nname = "f"\nfrom = "a"\nto = "b"\n'
B = 100e6 * 0.1 / 8 / 1500
"""The bandwidth-delay product, packets."""

SATELLITE = """
duration = "40s"
[[link]]
name = "sat"
ends = ["server", "home"]
rate = "100Mbps"
delay = "300ms"
queue = { kind = "droptail", limit = "1bdp" }
[[flow]]
name = "first"
from = "server"
to = "home"
bytes = "40MB"
[[flow]]
name = "second"
from = "server"
to = "home"
start = "25s"
bytes = "5.3MB"
"""
SAVED = '{ cwnd = "7.24MB", rtt = "600ms" }'


def cubic(**parameters: str) -> str:
    words = "".join(f', {key} = "{value}"' for key, value in parameters.items())
    return f'tcp.congestion_control={{ kind = "cubic"{words} }}'


def outcome(scenario: Scenario, name: str) -> dict[str, Any]:
    return next(flow for flow in scenario.run().outcome["flows"] if flow["name"] == name)


# ---- SEARCH ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exit_", ["stop", "rollback", "drain"])
def test_search_ends_slow_start_five_round_trips_after_the_capacity(exit_: str) -> None:
    """As the fluid of specs/startup.md section 2 says: 5.0 round trips, at 5.2 to 6.3 bandwidth-delay products."""
    control = cubic(slow_start="search", slow_start_exit=exit_)
    scenario = Scenario.parse(PATH + FLOW, [control, "tcp.delayed_ack=false", "duration=5s"])
    trace = scenario.run(trace="ack").trace
    full = trace.filter(pl.col("cwnd") >= B)["time_s"][0]
    ends = trace.filter(pl.col("ssthresh").is_finite())
    at, before = ends["time_s"][0], trace.filter(pl.col("time_s") < ends["time_s"][0])["cwnd"][-1]
    assert (at - full) / 0.1 == pytest.approx(5.0, abs=0.5)
    assert 5.2 <= before / B <= 6.3
    after = trace.filter((pl.col("time_s") > at) & (pl.col("time_s") < at + 2))["cwnd"].min()
    assert isinstance(after, float)
    if exit_ == "stop":
        assert after >= before
    elif exit_ == "rollback":
        assert after < before - 1.5 * B  # two initial round trips of the path
    else:
        assert after == pytest.approx(1.055 * B, rel=0.05)  # what the path delivers in one


def test_search_does_not_end_slow_start_by_jitter() -> None:
    """No exit below half of the capacity in 100 runs with 0 to 20 ms of jitter at 1 Gb/s."""
    impaired = PATH + 'impair = { kind = "jitter", max = "20ms" }\n' + FLOW
    jitter = [cubic(slow_start="search"), "tcp.delayed_ack=false", "link.l.rate=1Gbps", "duration=1s"]
    for seed in range(1, 101):
        run = Scenario.parse(impaired, [*jitter, f"seed={seed}"]).run(trace="changes")
        early = run.trace.filter((pl.col("cwnd") < 5 * B) & pl.col("ssthresh").is_finite())
        assert early.is_empty(), f"seed {seed}: {early.head(1)}"


def test_a_loss_before_search_ends_slow_start_as_always() -> None:
    runs = [
        Scenario.parse(PATH + FLOW, [cubic(slow_start=kind), "link.l.queue.limit=1bdp"]).run(trace="ack")
        for kind in ("standard", "search")
    ]
    first, second = (run.trace for run in runs)
    lost = first.filter(pl.col("cause") == "fast_retransmit")["time_s"][0]
    columns = ["time_s", "cwnd", "ssthresh", "ack"]
    upto = [trace.filter(pl.col("time_s") <= lost).select(columns) for trace in (first, second)]
    assert upto[0].equals(upto[1])


# ---- Rapid Start ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(1, 9))
def test_rapid_start_completes_earlier(seed: int) -> None:
    transfer = [f"seed={seed}", "link.l.queue.limit=2bdp", "flow.f.bytes=10MB", "flow.f.start_jitter=100ms"]
    times = [
        outcome(Scenario.parse(PATH + FLOW, [cubic(slow_start=kind), *transfer]), "f")["completion_s"]
        for kind in ("standard", "rapid")
    ]
    assert times[1] < times[0]


def test_rapid_start_reaches_the_capacity_in_five_round_trips_in_place_of_seven() -> None:
    rounds = {}
    for kind in ("standard", "rapid"):
        control = [cubic(slow_start=kind), "tcp.delayed_ack=false", "duration=2s"]
        trace = Scenario.parse(PATH + FLOW, control).run(trace="ack").trace
        # The window has passed a round's growth when its last ACK has arrived.
        full = trace.filter(pl.col("cwnd") >= B)["time_s"][0]
        rounds[kind] = math.floor(full / 0.1) - 1  # the handshake takes one
    assert rounds == {"standard": 7, "rapid": 5}


@pytest.mark.parametrize(("over", "beta"), [("tcp", 0.7), ("tcp", 0.5), ("quic", 0.7)])
def test_the_first_recovery_ends_at_beta_of_what_was_acknowledged(over: str, beta: float) -> None:
    kind = "cubic" if beta == 0.7 else "reno"
    control = f'tcp.congestion_control={{ kind = "{kind}", slow_start = "rapid" }}'
    scenario = Scenario.parse(PATH + FLOW, [control, "link.l.queue.limit=1bdp", "duration=4s"])
    trace = (scenario.over("quic") if over == "quic" else scenario).run(trace="ack").trace
    lost = trace.filter(pl.col("cause") == "fast_retransmit")
    begin = lost["time_s"][0]
    window = trace.filter(pl.col("time_s") < begin)["cwnd"][-1]
    recovery = trace.filter(pl.col("time_s") >= begin)
    end = recovery.filter(pl.col("phase") == "open")["time_s"][0]
    final = recovery.filter(pl.col("time_s") == end)["cwnd"][0]
    run = (scenario.over("quic") if over == "quic" else scenario).run(packets=True)
    dropped = run.packets.filter((pl.col("event") == "drop") & (pl.col("time_s") < end)).height
    assert final == pytest.approx(beta * (window - dropped), abs=max(2.0, 0.01 * window))


# ---- Careful Resume -------------------------------------------------------------------------------------


def test_the_second_download_has_the_time_of_the_closed_form() -> None:
    """Four round trips, and what is left of 3,660 segments after the jump of 2,500 at the rate of the link."""
    values = Scenario.parse(SATELLITE, [f"flow.second.tcp.resume={SAVED}"])
    second = outcome(values, "second")
    assert second["resume"]["why"] == "validated"
    assert second["resume"]["jump"] == 2500
    closed = 4 * 0.6 + (3660 - 2510) * 12e-5  # half a round trip more than at the receiver: the last ACK
    assert second["completion_s"] == pytest.approx(closed, rel=0.02)
    plain = outcome(Scenario.parse(SATELLITE), "second")
    ratio = (second["completion_s"] - 0.3) / (plain["completion_s"] - 0.3)  # at the receiver
    assert ratio == pytest.approx(0.384, rel=0.02)  # the closed form of both


@pytest.mark.parametrize("over", ["tcp", "quic"])
def test_a_flow_resumes_what_an_earlier_one_has_observed(over: str) -> None:
    wide = ["link.sat.queue.limit=8bdp", "flow.first.tcp.initial_ssthresh=4000"]
    scenario = Scenario.parse(SATELLITE, ['flow.second.tcp.resume.flow="first"', *wide])
    result = (scenario.over("quic") if over == "quic" else scenario).run()
    first, second = result.outcome["flows"]
    assert second["resume"]["saved"] == first["observed"]
    assert second["resume"]["why"] == "validated"
    phases = {name: at for name, at in second["resume"]["phases_s"].items() if at is not None}
    assert sorted(phases, key=phases.__getitem__) == [
        "reconnaissance",
        "unvalidated",
        "validating",
        "normal",
    ]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ('{ cwnd = "7.24MB", rtt = "1201ms" }', "rtt_not_confirmed"),
        ('{ cwnd = "7.24MB", rtt = "59ms" }', "rtt_not_confirmed"),
        ('{ cwnd = "7.24MB", rtt = "600ms", age = "3601s" }', "expired"),
        ('{ cwnd = "20kB", rtt = "600ms" }', "small"),
    ],
)
def test_values_that_do_not_fit_are_not_used(change: str, why: str) -> None:
    """The run is that without them, bit for bit."""
    with_values, without = (
        Scenario.parse(SATELLITE, assignments).run(trace="ack")
        for assignments in ([f"flow.second.tcp.resume={change}"], [])
    )
    assert with_values.outcome["flows"][1]["resume"]["why"] == why
    assert with_values.trace.equals(without.trace)


def test_one_flow_only_uses_the_values_of_another() -> None:
    third = (
        '[[flow]]\nname = "third"\nfrom = "server"\nto = "home"\nstart = "30s"\nbytes = "5.3MB"\n'
        'tcp = { resume = { flow = "first" } }\n'
    )
    result = Scenario.parse(SATELLITE + third, ['flow.second.tcp.resume.flow="first"']).run()
    assert [flow["resume"]["why"] for flow in result.outcome["flows"][1:]] == ["validated", "nothing_saved"]


def test_a_flow_that_has_not_ended_saves_nothing() -> None:
    result = Scenario.parse(SATELLITE, ['flow.second.tcp.resume.flow="first"', "flow.second.start=5s"]).run()
    assert result.outcome["flows"][1]["resume"]["why"] == "nothing_saved"


HARM = """
duration = "25s"
[[link]]
name = "l"
ends = ["a", "b"]
rate = "10Mbps"
delay = "50ms"
queue = { kind = "droptail", limit = "1bdp" }
[[flow]]
name = "rival"
from = "a"
to = "b"
[[flow]]
name = "resumed"
from = "a"
to = "b"
start = "12s"
start_jitter = "2s"
bytes = "5MB"
"""
OLD = '{ cwnd = "1.2MB", rtt = "101ms" }'
"""What a path of 100 Mb/s carried: the link has a tenth of it now."""


@pytest.mark.parametrize("rate", ["25Mbps", "10Mbps"])
def test_safe_retreat_takes_from_a_rival_what_the_rfc_permits(rate: str) -> None:
    """Twenty seeds on a path with a quarter and with a tenth of its old rate: the jump is half of what was saved, the
    retreat comes within a round trip of the first loss, its window is half of what was acknowledged, and so is the
    threshold at its end. The rival keeps 0.8 of its goodput beside a plain start (bound of specs/startup.md section
    5.6)."""
    ratios, whys = [], []
    for seed in range(1, 21):
        changes = [f"link.l.rate={rate}", f"seed={seed}"]
        plain = Scenario.parse(HARM, changes).run().outcome["flows"][0]["goodput_bps"]
        result = Scenario.parse(HARM, [f"flow.resumed.tcp.resume={OLD}", *changes]).run(trace="ack", packets=True)
        rival, resumed = result.outcome["flows"]
        ratios.append(rival["goodput_bps"] / plain)
        whys.append(resumed["resume"]["why"])
        if whys[-1] == "congestion":  # the queue dropped a packet of the initial window: no jump
            continue
        assert whys[-1] == "retreated"
        assert resumed["resume"]["jump"] == 1.2e6 // 1448 // 2
        phases = resumed["resume"]["phases_s"]
        of_flow = pl.col("flow") == "resumed"
        lost = result.packets.filter(of_flow & (pl.col("event") == "drop") & (pl.col("time_s") > phases["unvalidated"]))
        # With a full queue a round trip takes twice the 100 ms.
        assert phases["retreat"] - lost["time_s"][0] < 0.25
        retreat = (pl.col("time_s") >= phases["retreat"]) & (pl.col("time_s") < phases["normal"])
        held = result.trace.filter(of_flow & retreat)
        assert held["cwnd"].n_unique() == 1
        assert held["cwnd"][0] <= resumed["resume"]["pipe"] / 2
        end = result.trace.filter(of_flow & (pl.col("time_s") == phases["normal"]))
        assert end["ssthresh"][0] == resumed["resume"]["pipe"] / 2
    assert whys.count("retreated") >= 10
    assert min(ratios) >= 0.8, ratios


# ---- a jump without knowledge ---------------------------------------------------------------------------


@pytest.mark.parametrize("over", ["tcp", "quic"])
def test_a_jump_is_paced_over_a_round_trip(over: str) -> None:
    scenario = Scenario.parse(PATH + FLOW, ["flow.f.tcp.jump=40", "flow.f.bytes=1MB"])
    result = (scenario.over("quic") if over == "quic" else scenario).run(packets=True)
    flow = result.outcome["flows"][0]
    assert flow["resume"]["why"] == "validated"
    assert flow["resume"]["jump"] == 40
    phases = flow["resume"]["phases_s"]
    sent = result.packets.filter(
        (pl.col("event") == "enqueue")
        & (pl.col("link") == "a->b")
        & (pl.col("time_s") > phases["unvalidated"])
        & (pl.col("time_s") < phases["unvalidated"] + 0.09)
    )["time_s"]
    gaps = sent.diff().drop_nulls()
    assert gaps.median() == pytest.approx(0.1 / 40, rel=0.05)


# ---- limit by what was in flight ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["reno", "cubic", "bic", "westwood"])
@pytest.mark.parametrize("over", ["tcp", "quic"])
def test_a_flow_that_uses_its_window_is_not_limited(kind: str, over: str) -> None:
    """Without a pacer, which keeps the flight below the window."""
    traces = []
    for validation in ("none", "ratelimited"):
        assignments = [
            f"tcp.congestion_control={kind}",
            f"tcp.validation={validation}",
            "tcp.delayed_ack=false",
            "link.l.queue.limit=1bdp",
            "link.l.rate=20Mbps",
            "quic.pacing=none",
        ]
        scenario = Scenario.parse(PATH + FLOW, assignments)
        traces.append((scenario.over("quic") if over == "quic" else scenario).run(trace="ack").trace)
    assert traces[0].equals(traces[1])


@pytest.mark.parametrize("over", ["tcp", "quic"])
def test_a_flow_that_does_not_use_its_window_is_limited(over: str) -> None:
    """Four segments in each round trip: slow start grows to twice the initial window and no further."""
    writes = ", ".join(f'["{n * 100 + 500}ms", "5kB"]' for n in range(60))
    windows = {}
    for validation in ("none", "ratelimited"):
        scenario = Scenario.parse(PATH + FLOW + f"writes = [{writes}]\n", [f"tcp.validation={validation}"])
        run = (scenario.over("quic") if over == "quic" else scenario).run()
        windows[validation] = run.outcome["flows"][0]["final_cwnd"]
    assert windows["ratelimited"] == 20
    assert windows["none"] > 100


# ---- what is refused ------------------------------------------------------------------------------------

REFUSED = [
    ([], 'there is no flow "x"', 'tcp.resume={ flow = "x" }'),
    ([], "is the flow itself", 'flow.f.tcp.resume={ flow = "f" }'),
    ([], "is missing: the saved round-trip time confirms the path", 'tcp.resume={ cwnd = "1MB" }'),
    ([], "is missing: give cwnd and rtt", 'tcp.resume={ rtt = "100ms" }'),
    ([], "name a flow, or give cwnd and rtt", 'tcp.resume={ flow = "f", cwnd = "1MB" }'),
    (["tcp.congestion_control=copa"], "copa, which sets its window itself", f"tcp.resume={SAVED}"),
    (["tcp.congestion_control=bbr"], "bbr, which sets its window itself", "tcp.jump=40"),
    (["tcp.profile=ns2"], 'needs recovery = "rack"', f"tcp.resume={SAVED}"),
    (
        ["tcp.profile=ns2"],
        'slow_start = "rapid" needs recovery = "rack"',
        'tcp.congestion_control={ kind = "reno", slow_start = "rapid" }',
    ),
    (["tcp.jump=40"], "remove one of them", f"tcp.resume={SAVED}"),
    (
        [],
        'has no effect with slow_start = "standard"',
        'tcp.congestion_control={ kind = "reno", slow_start_exit = "drain" }',
    ),
    ([], "bbr has no such parameter", 'tcp.congestion_control={ kind = "bbr", slow_start = "search" }'),
]


@pytest.mark.parametrize(("others", "message", "assignment"), REFUSED, ids=[row[1] for row in REFUSED])
def test_combinations_without_sense_are_refused(others: list[str], message: str, assignment: str) -> None:
    with pytest.raises(ScenarioError, match=r".") as error:
        Scenario.parse(PATH + FLOW + 'bytes = "1MB"\n', [*others, assignment])
    assert message in str(error.value)


def test_values_of_another_path_or_of_a_flow_without_end_are_refused() -> None:
    later = '[[flow]]\nname = "g"\nfrom = "{ends[0]}"\nto = "{ends[1]}"\nstart = "5s"\n'
    later += 'tcp = {{ resume = {{ flow = "f" }} }}\n'
    with pytest.raises(ScenarioError, match="another path"):
        Scenario.parse(PATH + FLOW + 'bytes = "1MB"\n' + later.format(ends="ba"))
    with pytest.raises(ScenarioError, match='"f" never ends'):
        Scenario.parse(PATH + FLOW + later.format(ends="ab"))
    with pytest.raises(ScenarioError, match='"f" does not start before "g"'):
        Scenario.parse(PATH + FLOW + 'start = "9s"\nbytes = "1MB"\n' + later.format(ends="ab"))


def test_quic_takes_the_keys_of_its_own_table_and_values_of_tcp() -> None:
    """`jump` and `resume` in `[quic]`; a segment of the earlier flow has another size than one of the later flow."""
    jumped = Scenario.parse(PATH + FLOW + 'bytes = "1MB"\nquic = { jump = 40 }\n').run().outcome["flows"][0]
    assert jumped["resume"]["jump"] == 40
    flows = (
        '[[flow]]\nname = "first"\nfrom = "a"\nto = "b"\nbytes = "10MB"\ntcp = { mss = 500 }\n'
        '[[flow]]\nname = "second"\nfrom = "a"\nto = "b"\nstart = "15s"\nbytes = "3MB"\n'
    )
    for later in ('tcp = { resume = { flow = "first" } }', 'quic = { resume = { flow = "first" } }'):
        first, second = Scenario.parse(PATH + flows + later).run().outcome["flows"]
        observed, saved = first["observed"]["cwnd_bytes"], second["resume"]["saved"]["cwnd_bytes"]
        assert saved == pytest.approx(observed, rel=0.001)


@pytest.mark.parametrize("control", ["cubic", "dctcp"])
def test_a_mark_ends_the_jump(control: str) -> None:
    """DCTCP answers marks itself: the retreat begins with the first of them all the same."""
    path = PATH.replace('{ kind = "droptail", limit = "20bdp" }', '{ kind = "codel", ecn = true }')
    path = path.replace("100Mbps", "20Mbps")
    tcp = f'tcp = {{ congestion_control = "{control}", ecn = true, ecn_feedback = "accurate", '
    tcp += 'resume = { cwnd = "5MB", rtt = "100ms" } }\n'
    [flow] = Scenario.parse(path + FLOW + 'bytes = "20MB"\n' + tcp).run().outcome["flows"]
    assert flow["resume"]["phases_s"]["retreat"] < 0.5


def test_an_attempt_that_found_nothing_leaves_the_values() -> None:
    flows = '[[flow]]\nname = "first"\nfrom = "a"\nto = "b"\nbytes = "10MB"\n' + "".join(
        f'[[flow]]\nname = "{name}"\nfrom = "a"\nto = "b"\nstart = "{start}"\nbytes = "1MB"\n'
        'tcp = { resume = { flow = "first" } }\n'
        for name, start in (("early", "0.5s"), ("second", "8s"), ("third", "12s"))
    )
    outcome = Scenario.parse(PATH + flows).run().outcome
    whys = [flow["resume"]["why"] for flow in outcome["flows"][1:]]
    assert whys == ["nothing_saved", "validated", "nothing_saved"]
