"""Whole scenarios against the rules of RFCs; the page docs/standards.md lists every rule with its test.

Windows are in segments, times in seconds.
"""

from __future__ import annotations

import itertools
from statistics import mean
from typing import Any

import polars as pl
import pytest

from ackclock import Scenario

C, BETA = 0.4, 0.7
"""The constants of RFC 9438 section 4.1."""

MSS = 1448
"""Bytes of payload in a segment of the profile linux."""


def scenario(
    duration_s: float,
    rate: str,
    delay: str,
    *,
    tcp: dict[str, Any] | None = None,
    quic: dict[str, Any] | None = None,
    queue: dict[str, Any] | None = None,
    loss: dict[str, Any] | None = None,
    writes: list[list[str]] | None = None,
    changes: list[tuple[str, dict[str, Any]]] | None = None,
    **more: Any,
) -> Scenario:
    """One flow `t` over one link `b`; losses strike the way of the data alone."""
    link: dict[str, Any] = {"name": "b", "ends": ["s", "r"], "rate": rate, "delay": delay}
    if queue:
        link["queue"] = queue
    if loss:
        link |= {"loss": loss, "back": {"loss": {"kind": "none"}}}
    flow: dict[str, Any] = {"name": "t", "from": "s", "to": "r"}
    if writes:
        flow["writes"] = writes
    if tcp is not None:
        flow["tcp"] = tcp
    if quic is not None:
        flow["quic"] = quic
    document: dict[str, Any] = {"duration": f"{duration_s}s", "link": [link], "flow": [flow]} | more
    if changes:
        document["change"] = [{"at": at, "set": values} for at, values in changes]
    return Scenario.build(document)


def trace(run: Scenario, seed: int = 1) -> pl.DataFrame:
    """A row per ACK of flow `t`."""
    rows = run.run(seed=seed, trace="ack").trace
    assert rows is not None
    return rows.filter(pl.col("flow") == "t")


def at(rows: pl.DataFrame, time_s: float, column: str = "cwnd") -> float:
    """The value of a column in the last row up to a time."""
    return float(rows.filter(pl.col("time_s") <= time_s)[column][-1])


def between(rows: pl.DataFrame, start_s: float, end_s: float) -> pl.DataFrame:
    """The rows of an interval."""
    return rows.filter((pl.col("time_s") >= start_s) & (pl.col("time_s") < end_s))


def cubic(**parameters: Any) -> dict[str, Any]:
    """CUBIC with the arithmetic of RFC 9438 and standard slow start."""
    return {"kind": "cubic", "arithmetic": "rfc9438", "slow_start": "standard"} | parameters


def lost(*segments: int) -> dict[str, Any]:
    """These segments are lost at their first transmission."""
    return {"kind": "scripted", "flow": "t", "segments": [[segment, 1] for segment in segments]}


def portions(start_s: float, end_s: float, every_s: float, segments: int) -> list[list[str]]:
    """An application that writes so many segments each time."""
    count = round((end_s - start_s) / every_s)
    return [[f"{start_s + n * every_s:.3f}s", f"{segments * MSS}B"] for n in range(count)]


# ---- RFC 9438: CUBIC -------------------------------------------------------------------------------------------------

LONG: dict[str, Any] = {"rate": "1Gbps", "delay": "50ms"}
"""A path that the flows here never fill: 100 ms."""


@pytest.fixture(scope="module")
def after_losses() -> pl.DataFrame:
    """Three losses far apart, from slow start at 800 segments on."""
    tcp = {"congestion_control": cubic(), "initial_ssthresh": 800}
    return trace(scenario(25, **LONG, tcp=tcp, loss=lost(6000, 40_000, 80_000)))


def epochs(rows: pl.DataFrame) -> list[pl.DataFrame]:
    """The rows of each congestion avoidance stage that begins with a reduction and ends with the next one."""
    number = pl.col("k").fill_null(0).ne_missing(pl.col("k").fill_null(0).shift()).cum_sum()
    stages = rows.with_columns(stage=number).filter((pl.col("phase") == "open") & pl.col("k").is_not_null())
    return [stage for _, stage in stages.group_by("stage", maintain_order=True) if stage["k"][0] > 0]


def test_cubic_window_follows_its_curve(after_losses: pl.DataFrame) -> None:
    """W_cubic(t) = C (t - K)^3 + W_max with K = cbrt((W_max - cwnd_epoch) / C) (4.2, 4.4, 4.5)."""
    stages = epochs(after_losses)
    assert len(stages) == 3
    for stage in stages:
        k, w_max, start = stage["k"][0], stage["w_max"][0], stage["time_s"][0]
        first = stage["cwnd"][0]
        assert k == pytest.approx(((w_max - first) / C) ** (1 / 3), rel=0.01)
        # The window approaches the curve's value one round trip later within a round trip of 100 ms and a delayed ACK.
        for time_s, cwnd in stage.select("time_s", "cwnd").rows():
            low, high = (C * (time_s - start + shift - k) ** 3 + w_max for shift in (-0.1, 0.15))
            assert low - 1 <= cwnd <= high + 1, time_s
    # Both regions occur: below and above the window of the last loss.
    last = stages[0]
    assert (last["cwnd"] < last["w_max"]).any()
    assert any((stage["cwnd"] > stage["w_max"]).any() for stage in stages)


def test_cubic_reduces_window_and_threshold_at_a_loss_at_once(after_losses: pl.DataFrame) -> None:
    """Both fall to 0.7 of the window when recovery begins (4.6); W_max falls further below an earlier one (4.7)."""
    reductions = after_losses.with_columns(before=pl.col("cwnd").shift()).filter(pl.col("cause") == "fast_retransmit")
    assert reductions.height == 3
    maximum = 0.0
    for time_s, before, ssthresh in reductions.select("time_s", "before", "ssthresh").rows():
        assert ssthresh == pytest.approx(BETA * before, abs=2)
        after = after_losses.filter(pl.col("time_s") > time_s)
        recovered = after.filter(pl.col("phase") == "open")
        assert recovered["cwnd"][0] == pytest.approx(ssthresh, abs=2)
        expected = before * (1 + BETA) / 2 if before < maximum else before
        assert recovered["w_max"].drop_nulls()[0] == pytest.approx(expected, abs=2)
        maximum = expected


def test_cubic_grows_by_at_most_half_a_window_a_round_trip() -> None:
    """The target is at most 1.5 times the window (4.2): a round-trip time of 400 ms, a steep curve."""
    tcp = {"congestion_control": cubic(c=100), "initial_ssthresh": 20}
    rows = trace(scenario(7.5, "1Gbps", "200ms", tcp=tcp, loss=lost(300)))
    reduction = rows.filter(pl.col("cause") == "fast_retransmit")["time_s"][0]
    windows = [at(rows, reduction + 0.8 + 0.4 * n) for n in range(8)]
    growth = [after / before for before, after in itertools.pairwise(windows)]
    assert 1.45 < max(growth) <= 1.51


def test_cubic_is_reno_on_short_paths() -> None:
    """W_est grows by 3 (1 - beta) / (1 + beta) a round trip, by 1 above the window before the loss (4.3)."""
    tcp = {"congestion_control": cubic(), "initial_ssthresh": 40}
    rows = trace(scenario(4, "1Gbps", "5ms", tcp=tcp, loss=lost(4000)))
    reduction = rows.filter(pl.col("cause") == "fast_retransmit")["time_s"][0]
    before = at(rows, reduction - 1e-6)
    stage = rows.filter((pl.col("time_s") > reduction) & (pl.col("phase") == "open"))
    below = stage.filter(pl.col("cwnd") < before - 2)
    above = stage.filter(pl.col("cwnd") > before + 2)

    def slope(part: pl.DataFrame) -> float:
        """Segments a round trip of 10 ms and the time of delayed ACKs."""
        span = part["time_s"][-1] - part["time_s"][0]
        return float((part["cwnd"][-1] - part["cwnd"][0]) / span * mean(part["rtt_s"].drop_nulls()))

    assert slope(below) == pytest.approx(3 * (1 - BETA) / (1 + BETA), rel=0.06)
    assert slope(above) == pytest.approx(1, rel=0.06)


@pytest.mark.parametrize("kind", ["tcp", "quic"])
def test_cubic_has_at_least_the_throughput_of_reno_at_random_loss(kind: str) -> None:
    """4.3: 20 Mb/s, 40 ms, 1 % of losses."""

    def goodput(control: Any) -> float:
        network: dict[str, Any] = {"queue": {"kind": "droptail", "limit": "2bdp"}}
        network |= {"loss": {"kind": "bernoulli", "rate": 0.01}, kind: {"congestion_control": control}}
        run = scenario(20, "20Mbps", "20ms", **network)
        return mean(float(run.run(seed=seed).outcome["flows"][0]["goodput_bps"]) for seed in range(1, 7))

    assert goodput(cubic()) >= 0.95 * goodput("reno")


def transport(kind: str, control: Any) -> dict[str, Any]:
    """The table of a flow over TCP or QUIC, whose window an idle time does not change."""
    return {kind: {"congestion_control": control} | ({"idle_restart": "none"} if kind == "tcp" else {})}


def limited(kind: str, limit: str, **parameters: Any) -> tuple[float, float]:
    """The window 0.5 s after 20 s in which something else limits the flow, and 0.5 s after as much time without them.

    The flow loses a segment at about 300 segments before.
    """
    flow: dict[str, Any] = transport(kind, cubic(**parameters))
    start, pause = 5.0, 20.0

    def window(begin: float, writes: list[list[str]], changes: list[tuple[str, dict[str, Any]]]) -> float:
        run = scenario(begin + 1, **LONG, loss=lost(400), writes=writes, changes=changes, **flow)
        return at(trace(run), begin + 0.5)

    # 7,000 segments take less than five seconds; then there is a tenth of the window, then more than the flow sends.
    first = [["0s", f"{7000 * MSS}B"]]
    without = window(start, [*first, [f"{start}s", "200MB"]], [])
    if limit == "idle":
        return window(start + pause, [*first, [f"{start + pause}s", "200MB"]], []), without
    if limit == "application":
        few = portions(start, start + pause, 0.1, 20)
        return window(start + pause, [*first, *few, [f"{start + pause}s", "200MB"]], []), without
    key = "flow.t.tcp.receive_window"
    changes = [(f"{start}s", {key: 20}), (f"{start + pause}s", {key: 1_000_000})]
    return window(start + pause, [*first, [f"{start}s", "200MB"]], changes), without


@pytest.mark.parametrize("kind", ["tcp", "quic"])
def test_cubic_does_not_count_idle_times(kind: str) -> None:
    """4.2, 5.8: after 20 s without data the curve continues where it was."""
    window, without = limited(kind, "idle")
    assert window == pytest.approx(without, rel=0.1)


@pytest.mark.parametrize("kind", ["tcp", "quic"])
def test_cubic_continues_its_curve_after_bursts_with_pauses(kind: str) -> None:
    """4.2, 5.8: a time is either idle or limited, so it moves the curve once."""
    flow = transport(kind, cubic())
    bursts = portions(5, 25, 0.25, 20)

    def windows(writes: list[list[str]], start: float) -> list[float]:
        rows = trace(scenario(start + 8, **LONG, loss=lost(400), writes=writes, **flow))
        return [at(rows, start + after) for after in (2, 4, 7)]

    first = ["0s", f"{7000 * MSS}B"]
    without = windows([first, ["5s", "300MB"]], 5)
    assert windows([first, *bursts, ["25s", "300MB"]], 25) == pytest.approx(without, rel=0.1)


@pytest.mark.parametrize(("kind", "limit"), [("tcp", "application"), ("tcp", "receiver"), ("quic", "application")])
def test_cubic_does_not_count_the_time_in_which_it_is_limited(kind: str, limit: str) -> None:
    """4.2: the curve continues where it was."""
    window, without = limited(kind, limit)
    assert window == pytest.approx(without, rel=0.1)


@pytest.mark.parametrize("kind", ["tcp", "quic"])
def test_cubic_of_linux_counts_limited_times_that_are_not_idle(kind: str) -> None:
    """Against 4.2, as the kernel: its epoch moves when nothing was in flight (CA_EVENT_TX_START) alone."""
    window, without = limited(kind, "idle", arithmetic="linux")
    assert window == pytest.approx(without, rel=0.1)
    window, without = limited(kind, "application", arithmetic="linux")
    assert window > 4 * without


@pytest.mark.parametrize("kind", ["tcp", "quic"])
@pytest.mark.parametrize("arithmetic", ["rfc9438", "linux"])
def test_cubic_window_does_not_grow_while_it_is_not_used(kind: str, arithmetic: str) -> None:
    """4.6, 5.8: what is in flight is less than the window, by the application or the receiver."""
    flow = transport(kind, cubic(arithmetic=arithmetic))
    few = [["0s", f"{4000 * MSS}B"], *portions(5, 10, 0.1, 20)]
    rows = trace(scenario(10, **LONG, loss=lost(400), writes=few, **flow))
    assert at(rows, 5.2) > 100
    assert at(rows, 9.9) <= at(rows, 5.2)
    if kind == "tcp":
        changes = [("3s", {"flow.t.tcp.receive_window": 50})]
        rows = trace(scenario(8, **LONG, loss=lost(400), changes=changes, **flow))
        assert at(rows, 3.2) > 100
        assert at(rows, 7.9) <= at(rows, 3.2)


def test_cubic_falls_to_one_segment_and_then_slower_under_marks() -> None:
    """4.6: every packet is marked."""
    marks = {"kind": "scripted", "flow": "t", "action": "mark", "packets": list(range(400))}
    tcp = {"congestion_control": cubic(), "ecn": True}
    rows = trace(scenario(20, "10Mbps", "50ms", tcp=tcp, loss=marks))
    late = between(rows, 10, 20)
    assert late["cwnd"].max() == 1
    # The next segment waits for a timeout, which doubles with each echo in a row.
    times = rows.filter(pl.col("cwnd") == 1)["time_s"].unique().sort().to_list()[1:]
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert len(gaps) >= 4
    assert all(later > 1.7 * earlier for earlier, later in itertools.pairwise(gaps))


def test_cubic_after_a_timeout_starts_its_curve_at_its_own_window() -> None:
    """4.8: one segment, threshold 0.7 of the window; in the first avoidance stage K = 0, W_max = W_est = its window."""
    tcp = {"congestion_control": cubic(), "initial_ssthresh": 200}
    outage = {"kind": "blackout", "times": [["4s", "4.4s"]]}
    rows = trace(scenario(10, **LONG, tcp=tcp, loss=outage))
    timeout = rows.filter(pl.col("cause") == "rto").row(0, named=True)
    before = at(rows, timeout["time_s"] - 1e-6)
    assert timeout["cwnd"] == 1
    assert timeout["ssthresh"] == pytest.approx(BETA * before, abs=2)
    avoidance = rows.filter((pl.col("time_s") > timeout["time_s"]) & (pl.col("cwnd") >= pl.col("ssthresh")))
    start, origin = avoidance["time_s"][0], avoidance["cwnd"][0]
    assert avoidance["k"].drop_nulls()[0] == 0
    assert avoidance["w_est"].drop_nulls()[0] == pytest.approx(origin, abs=1)
    for after in (1, 2, 4):
        curve = [C * (after + shift) ** 3 + origin for shift in (-0.1, 0.15)]
        assert curve[0] - 1 <= at(rows, start + after) <= max(curve[1], at(rows, start + after, "w_est")) + 1


def test_cubic_after_hystart_plus_plus_starts_its_curve_at_its_own_window() -> None:
    """4.10: slow start ends without a loss; K = 0, W_max the window at the start of congestion avoidance."""
    tcp = {"congestion_control": cubic(slow_start="hystart_pp")}
    queue = {"kind": "droptail", "limit": "20bdp"}
    rows = trace(scenario(9, "50Mbps", "50ms", tcp=tcp, queue=queue))
    assert rows["cause"].drop_nulls().is_empty()
    avoidance = rows.filter(pl.col("cwnd") >= pl.col("ssthresh"))
    start, origin = avoidance["time_s"][0], avoidance["cwnd"][0]
    assert avoidance["k"].drop_nulls()[0] == 0
    after = 3.0
    # The round-trip time grows with the queue, so that the target is further ahead.
    ahead = at(rows, start + after, "rtt_s")
    assert C * (after - ahead) ** 3 <= at(rows, start + after) - origin <= C * (after + ahead) ** 3 + 1


def test_cubic_doubles_its_window_each_round_trip_below_the_threshold() -> None:
    """4.10: slow start."""
    rows = trace(scenario(1.2, **LONG, tcp={"congestion_control": cubic(), "initial_ssthresh": 300}))
    windows = [at(rows, 0.19 + 0.1 * n) for n in range(6)]
    assert windows == pytest.approx([10, 20, 40, 80, 160, 300], abs=1)
    assert at(rows, 1.1) < 310


def test_cubic_keeps_its_window_when_a_late_undo_finds_it_larger() -> None:
    """4.9.2: a reduction that proves spurious is undone, but never lowers a window that has grown beyond."""
    late = {"kind": "scripted", "flow": "t", "action": "delay", "by": "60ms", "segments": [[3000, 1]]}
    tcp = {"congestion_control": cubic(), "initial_ssthresh": 200, "ack_compression": False}
    rows = trace(scenario(6, **LONG, tcp=tcp, loss=late))
    undone = rows.filter(pl.col("cause") == "undo")
    assert undone.height == 1
    time_s = undone["time_s"][0]
    reduction = rows.filter(pl.col("cause") == "fast_retransmit")["time_s"][0]
    assert at(rows, time_s) >= at(rows, reduction - 1e-6) - 1  # the recovery keeps whole windows
    assert (between(rows, time_s, 6)["cwnd"].diff().drop_nulls() >= 0).all()


def test_fast_convergence_lets_a_new_flow_in() -> None:
    """4.7, and section 4.6 of RFC 8312: the share of a second flow is larger with it."""

    def share(on: bool) -> float:
        document = {
            "duration": "40s",
            "warmup": "25s",
            "link": [
                {
                    "ends": ["s", "r"],
                    "rate": "50Mbps",
                    "delay": "25ms",
                    "queue": {"kind": "droptail", "limit": "1bdp"},
                }
            ],
            "flow": [
                {"name": name, "from": "s", "to": "r", "start": start, "start_jitter": "1s"}
                | {"tcp": {"congestion_control": cubic(fast_convergence=on)}}
                for name, start in (("a", "0s"), ("b", "15s"))
            ],
        }
        run = Scenario.build(document)
        outcomes = [run.run(seed=seed).outcome["flows"] for seed in range(1, 5)]
        return mean(
            float(second["goodput_bps"] / (first["goodput_bps"] + second["goodput_bps"])) for first, second in outcomes
        )

    assert share(True) > share(False)


# ---- RFC 9002: QUIC --------------------------------------------------------------------------------------------------


def test_quic_halves_the_window_and_not_the_flight() -> None:
    """7.3.2, B.6: fifty segments a round trip of a window of about 300; one packet is lost."""
    writes = [["0s", f"{300 * MSS}B"], *portions(3, 6, 0.1, 50)]
    rows = trace(scenario(6, "100Mbps", "50ms", quic={"congestion_control": "reno"}, loss=lost(900), writes=writes))
    reduction = rows.filter(pl.col("cause") == "fast_retransmit")
    assert reduction.height == 1
    before = at(rows, reduction["time_s"][0] - 1e-6)
    assert before > 150
    assert reduction["ssthresh"][0] == pytest.approx(before / 2, abs=1)


# ---- RFC 5681: the receiver ------------------------------------------------------------------------------------------


def data_and_acks(run: Scenario) -> tuple[list[float], list[float]]:
    """When data segments arrive at the receiver, and when it sends ACKs."""
    packets = run.run(packets=True).packets
    assert packets is not None
    data = packets.filter((pl.col("event") == "deliver") & (pl.col("kind") == "data") & (pl.col("seq") > 0))
    acks = packets.filter((pl.col("event") == "enqueue") & (pl.col("kind") == "ack"))
    return data["time_s"].to_list(), acks["time_s"].to_list()


def test_an_ack_leaves_within_half_a_second_and_none_without_a_segment() -> None:
    """4.2: segments alone, far apart; then many, with losses and reordering."""
    data, acks = data_and_acks(scenario(12, "10Mbps", "20ms", tcp={}, writes=portions(0, 11, 0.7, 1)))
    for time_s in data:
        assert any(time_s <= sent < time_s + 0.5 for sent in acks)
    loss = {"kind": "bernoulli", "rate": 0.02}
    data, acks = data_and_acks(scenario(4, "10Mbps", "20ms", tcp={}, loss=loss))
    assert len(data) / 2 <= len(acks) <= len(data) + 1


def test_a_segment_out_of_order_or_into_a_gap_is_acknowledged_at_once() -> None:
    """4.2: with few segments out of order, so that nothing is combined."""
    run = scenario(
        1, "10Mbps", "20ms", tcp={"congestion_control": "reno"}, loss=lost(8), writes=[["0s", f"{11 * MSS}B"]]
    )
    packets = run.run(packets=True).packets
    assert packets is not None
    acks = packets.filter((pl.col("event") == "enqueue") & (pl.col("kind") == "ack"))["time_s"].to_list()
    arrivals = packets.filter((pl.col("event") == "deliver") & (pl.col("kind") == "data") & (pl.col("seq") >= 8))
    assert arrivals.height >= 3  # 9 and 10 beyond the gap, and 8
    assert all(any(abs(sent - time_s) < 1e-9 for sent in acks) for time_s in arrivals["time_s"])


# ---- RFC 9331, RFC 9332: L4S -----------------------------------------------------------------------------------------


def behind_dualpi2(rate: str, delays: dict[str, str], controls: dict[str, dict[str, Any]], **more: Any) -> Scenario:
    """Flows with their own propagation delays over one link with DualPI2."""
    links: list[dict[str, Any]] = [
        {"name": "b", "ends": ["m", "r"], "rate": rate, "delay": "0.1ms", "queue": {"kind": "dualpi2"}}
        | {"back": {"queue": {"kind": "droptail", "limit": "1000p"}}}
    ]
    flows: list[dict[str, Any]] = []
    for name, delay in delays.items():
        links.append({"ends": [name, "m"], "rate": "1Gbps", "delay": delay})
        flows.append({"name": name, "from": name, "to": "r", "start_jitter": "1s", "tcp": controls[name]})
    return Scenario.build({"duration": "20s", "warmup": "8s", "link": links, "flow": flows} | more)


PRAGUE: dict[str, Any] = {"congestion_control": "prague"}
CLASSIC: dict[str, Any] = {"congestion_control": "cubic", "ecn": True}


def test_prague_sends_ect1_and_its_classic_replacement_does_not() -> None:
    """RFC 9331 4.1, 4.3: the low-latency queue has all data of Prague and none of CUBIC with ECN."""
    for tcp, low in ((PRAGUE, True), (CLASSIC, False)):
        outcome = behind_dualpi2("20Mbps", {"a": "5ms"}, {"a": tcp}).run().outcome
        link = next(link for link in outcome["links"] if link["name"] == "m->r")
        sent = link["low_latency"]["sent_packets"]
        assert sent > 0.99 * link["delivered_packets"] if low else sent == 0


def test_prague_halves_its_window_at_a_loss() -> None:
    """RFC 9331 4.3: as a classic controller does."""
    rows = trace(scenario(6, "1Gbps", "25ms", tcp=PRAGUE | {"initial_ssthresh": 100}, loss=lost(5000)))
    reduction = rows.filter(pl.col("cause") == "fast_retransmit").row(0, named=True)
    assert reduction["ssthresh"] == pytest.approx(at(rows, reduction["time_s"] - 1e-6) / 2, abs=1)


def test_marks_a_round_trip_do_not_depend_on_the_rate_of_prague() -> None:
    """RFC 9331 4.3: the time between marks does not grow with the rate."""

    def marks(rate: str) -> float:
        outcome = behind_dualpi2(rate, {"a": "12.5ms"}, {"a": PRAGUE}).run().outcome
        link = next(link for link in outcome["links"] if link["name"] == "m->r")
        return float(link["marked_packets"] / 12 * outcome["flows"][0]["mean_rtt_s"])

    slow, fast = marks("10Mbps"), marks("160Mbps")
    assert slow > 0.5
    assert fast > 0.5 * slow


def test_prague_with_a_short_round_trip_does_not_take_all() -> None:
    """RFC 9331 4.3: the bias by round-trip times of 5 and 25 ms is less than that of the times themselves."""
    run = behind_dualpi2("40Mbps", {"a": "2.4ms", "b": "12.4ms"}, {"a": PRAGUE, "b": PRAGUE})
    ratios = []
    for seed in (1, 2, 3):
        a, b = run.run(seed=seed).outcome["flows"]
        ratios.append(a["goodput_bps"] / b["goodput_bps"])
    assert 0.4 < mean(ratios) < 2.5


def test_flows_of_both_kinds_have_about_the_same_rate_and_none_starves() -> None:
    """RFC 9332 2.1, 2.5.1, with the queue of the classic flow in its round-trip time."""
    run = behind_dualpi2("40Mbps", {"a": "5ms", "b": "5ms"}, {"a": PRAGUE, "b": CLASSIC})
    for seed in (1, 2):
        prague, classic = run.run(seed=seed).outcome["flows"]
        assert 0.5 < prague["goodput_bps"] / classic["goodput_bps"] < 3
    # Ten low-latency flows do not starve a classic one.
    names = [f"p{n}" for n in range(10)]
    run = behind_dualpi2("40Mbps", dict.fromkeys([*names, "c"], "5ms"), dict.fromkeys(names, PRAGUE) | {"c": CLASSIC})
    classic = run.run().outcome["flows"][-1]
    assert classic["goodput_bps"] > 40e6 / 11 / 4


# ---- draft-ietf-ccwg-bbr ---------------------------------------------------------------------------------------------

STARTUP, DRAIN, DOWN, CRUISE, REFILL, UP, PROBE_RTT = range(7)
"""The states of `bbr3` as its trace has them."""


def states(rows: pl.DataFrame) -> list[tuple[float, int]]:
    """The changes of state of `bbr3`."""
    moves = rows.filter(pl.col("state").ne_missing(pl.col("state").shift()))
    return [(time_s, int(state)) for time_s, state in moves.select("time_s", "state").rows()]


def test_bbr3_does_not_count_the_syn_in_its_first_rate_sample() -> None:
    """4.1.2.2, A.14: the bandwidth of 64 kb/s is at most that of its payload."""
    queue = {"kind": "droptail", "limit": "20p"}
    rows = trace(scenario(10, "64kbps", "1ms", tcp={"congestion_control": "bbr3"}, queue=queue))
    assert max(rows["max_bw"].to_list()) <= 1.03 * 64_000 * MSS / 1500


def late(by: str, *segments: int) -> dict[str, Any]:
    """These segments arrive later."""
    return {"kind": "scripted", "flow": "t", "action": "delay", "by": by, "segments": [[n, 1] for n in segments]}


BBR3 = {"congestion_control": {"kind": "bbr3", "probe_rtt_interval": 1000}}
DEEP = {"kind": "droptail", "limit": "4bdp"}


def test_bbr3_goes_on_with_startup_after_an_undo() -> None:
    """5.5.11.2: fifty packets are late, the recovery is spurious."""
    tcp = {"congestion_control": "bbr3", "timestamps": False, "undo": ["dsack"], "reordering_window": "static"}
    tcp |= {"ack_compression": False, "delayed_ack": False}
    loss = late("60ms", *range(600, 1100, 10))
    rows = trace(scenario(1.6, **LONG, tcp=tcp, queue=DEEP, loss=loss))
    undo = rows.filter(pl.col("cause") == "undo")["time_s"][0]
    assert at(rows, undo, "state") == STARTUP
    # Three rounds without growth take three round trips.
    assert at(rows, undo + 0.3, "state") == STARTUP


def test_bbr3_restores_its_bounds_after_the_undo_of_a_timeout() -> None:
    """OnEnterRTO, A.19: packets of 5 ms are late by half a second."""
    steps = [["0s", "0ms"], ["3.1294s", "500ms"], ["3.1344s", "0ms"]]
    rows = trace(scenario(3.8, "20Mbps", "20ms", tcp=BBR3, queue=DEEP, loss={"kind": "delay", "steps": steps}))
    undo = rows.filter(pl.col("cause") == "undo")
    timeout = rows.filter(pl.col("cause") == "rto")
    assert undo.height == timeout.height == 1
    assert rows.filter(pl.col("time_s") < timeout["time_s"][0])["inflight_longterm"].is_null().all()
    assert undo["inflight_longterm"][0] is None


def test_bbr3_refills_for_a_round_after_an_undo() -> None:
    """5.3.3.3, A.18: one late packet while the flow probes."""
    tcp = {"congestion_control": "bbr3"}
    rows = trace(scenario(2, "5Mbps", "20ms", tcp=tcp, queue=DEEP, loss=late("25ms", 525)))
    undo = rows.filter(pl.col("cause") == "undo")["time_s"][0]
    moves = [state for time_s, state in states(rows) if time_s >= undo]
    assert moves[:2] == [REFILL, UP]


def test_bbr3_does_not_probe_again_after_an_undo_if_the_probe_had_ended() -> None:
    """5.5.11: the probe ended by its plateau, not by a loss."""
    queue = {"kind": "droptail", "limit": "2bdp"}
    rows = trace(scenario(3.6, "100Mbps", "20ms", tcp=BBR3, queue=queue, loss=late("30ms", 25_987)))
    down = [time_s for time_s, state in states(rows) if state == DOWN and time_s > 3.3]
    moves = [state for time_s, state in states(rows) if time_s > down[0]]
    assert REFILL not in moves
