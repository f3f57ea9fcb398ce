"""Changes of a scenario with a known effect on the result: scaling, renaming, idle links, split links."""

from __future__ import annotations

import polars as pl
import pytest

from ackclock import Result, Scenario

COLUMNS = ("event", "cwnd", "ssthresh", "ack", "in_flight", "phase")


def text(scale: int = 1, *, control: str = "reno", recovery: str = "newreno", start_ms: int = 0) -> str:
    """A path with losses and a reverse flow, every time divided and every rate multiplied by `scale`."""

    def ms(t: int) -> str:
        return f"{t * 1000 // scale}us"

    return f"""
duration = "{ms(20_000 + start_ms)}"
[tcp]
profile = "ns2"
congestion_control = "{control}"
recovery = "{recovery}"
receive_window = 100
clock_tick = "{ms(10)}"
clock_phase = "0s"
min_rto = "{ms(200)}"
max_rto = "{ms(60_000)}"
initial_rto = "{ms(3000)}"
[[link]]
name = "l"
ends = ["a", "b"]
rate = "{2 * scale}Mbps"
delay = "{ms(20)}"
queue = {{ kind = "droptail", limit = "20p" }}
loss = {{ kind = "bernoulli", rate = 0.003 }}
[[flow]]
name = "f"
from = "a"
to = "b"
start = "{ms(start_ms)}"
[[flow]]
name = "g"
from = "b"
to = "a"
start = "{ms(start_ms + 1000)}"
"""


def trace(run: Result, flow: str = "f") -> pl.DataFrame:
    return run.trace.filter(pl.col("flow") == flow)


def same(a: Result, b: Result, flow: str = "f", other: str | None = None) -> None:
    """The window changes of a flow are the same, event by event."""
    left, right = trace(a, flow), trace(b, other or flow)
    assert len(left) > 500
    assert left.select(COLUMNS).equals(right.select(COLUMNS))


@pytest.mark.parametrize("recovery", ["tahoe", "reno", "newreno", "sack"])
@pytest.mark.parametrize("control", ["reno", "vegas", "hstcp"])
@pytest.mark.parametrize("scale", [2, 5, 10])
def test_faster_by_a_factor(control: str, recovery: str, scale: int) -> None:
    """Rates times k and times over k: the same events, k times as fast (algorithms without a constant in seconds)."""
    slow, fast = (
        Scenario.parse(text(k, control=control, recovery=recovery)).run(trace="ack", audit=True) for k in (1, scale)
    )
    same(slow, fast)
    times = trace(slow)["time_s"] / scale - trace(fast)["time_s"]
    assert times.abs().max() == pytest.approx(0, abs=1e-9)
    was, now = (run.outcome["flows"][0]["goodput_bps"] for run in (slow, fast))
    assert now == pytest.approx(scale * was, rel=1e-12)


def test_later_by_a_constant() -> None:
    """Everything starts an hour later: the same, an hour later."""
    early = Scenario.parse(text().replace('clock_tick = "10000us"', 'clock_tick = "0s"')).run(trace="ack")
    late = Scenario.parse(text(start_ms=3_600_000).replace('clock_tick = "10000us"', 'clock_tick = "0s"')).run(
        trace="ack"
    )
    same(early, late)
    assert (trace(late)["time_s"] - trace(early)["time_s"] - 3600).abs().max() == pytest.approx(0, abs=1e-9)


def test_flows_by_other_names_and_in_another_order() -> None:
    before = text()
    renamed = before.replace('"f"', '"zebra"').replace('"g"', '"aardvark"')
    head, first, second = renamed.split("[[flow]]")
    swapped = f"{head}[[flow]]{second}\n[[flow]]{first}"
    plain = Scenario.parse(before).run(trace="ack")
    for other in (renamed, swapped):
        run = Scenario.parse(other).run(trace="ack")
        same(plain, run, "f", "zebra")
        same(plain, run, "g", "aardvark")


def test_what_does_not_touch_a_flow_does_not_change_it() -> None:
    """An idle link, a busy one elsewhere, a flow of no size to speak of: not one packet differs."""
    plain = Scenario.parse(text()).run(trace="ack", packets=True)
    link = '[[link]]\nends = ["{}", "{}"]\nrate = "1Mbps"\ndelay = "3ms"\nloss = {{ kind = "bernoulli", rate = 0.1 }}\n'
    idle = text() + link.format("x", "y")
    beside = idle + '[[flow]]\nname = "h"\nfrom = "x"\nto = "y"\n'
    detour = text() + link.format("a", "x") + link.format("x", "b")  # longer than the existing path
    for other in (idle, beside, detour):
        run = Scenario.parse(other).run(trace="ack", packets=True)
        same(plain, run)
        same(plain, run, "g")
        own = run.packets.filter(pl.col("flow").is_in(["f", "g"]))
        assert own.equals(plain.packets)


def test_a_link_cut_in_two() -> None:
    """Two links of one rate in a row deliver a stream of equal packets one transmission later than one link does."""
    whole = """
duration = "20s"
[tcp]
profile = "ns2"
syn = false
receive_window = 100
clock_phase = "0s"
[[link]]
ends = ["a", "m"]
rate = "2Mbps"
delay = "30ms"
queue = { kind = "droptail", limit = "20p" }
[[flow]]
name = "f"
from = "a"
to = "m"
"""
    # 1,040 bytes take 4.16 ms at 2 Mb/s, an ACK of 40 takes 0.16 ms: what the second link adds, its delay leaves out.
    half = (
        whole.replace('delay = "30ms"', 'delay = "10ms"')
        .replace('to = "m"', 'to = "b"')
        .replace(
            "[[flow]]",
            '[[link]]\nends = ["m", "b"]\nrate = "2Mbps"\ndelay = "15.84ms"\n[link.back]\ndelay = "19.84ms"\n[[flow]]',
        )
    )
    one, two = (Scenario.parse(t).run(trace="ack", audit=True) for t in (whole, half))
    same(one, two)
    assert (trace(one)["time_s"] - trace(two)["time_s"]).abs().max() == pytest.approx(0, abs=1e-12)
    assert one.outcome["links"][0]["dropped_packets"] == two.outcome["links"][0]["dropped_packets"]


def test_a_seed_gives_two_controllers_the_same_errors() -> None:
    """The first packet lost on a link is the same for both controllers; later packets of the two runs differ."""
    lost = []
    for control in ("reno", "cubic"):
        run = Scenario.parse(text(control=control)).run(packets=True)
        rows = run.packets.filter((pl.col("link") == "a->b") & pl.col("event").is_in(["deliver", "drop"]))
        rows = rows.filter(pl.col("reason").is_null() | (pl.col("reason") == "loss"))
        sent = run.packets.filter((pl.col("link") == "a->b") & (pl.col("event") == "enqueue"))
        keys = sent.with_row_index("n").join(
            rows.filter(pl.col("reason") == "loss"), on=["flow", "kind", "seq"], how="semi"
        )
        lost.append((len(sent), set(keys["n"].to_list())))
    common = min(n for n, _ in lost)
    first = [min(found) for _, found in lost]
    assert first[0] == first[1] < common
