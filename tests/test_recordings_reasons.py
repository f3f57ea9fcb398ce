"""200 networks of seven kinds: what a capture says of retransmissions and timeouts, beside what the simulator knows."""

from __future__ import annotations

import json
import random

from ackclock import Scenario, _core

NETWORK = """duration = "10s"
seed = {seed}
[[link]]
ends = ["s", "r"]
rate = "1Gbps"
delay = "0.2ms"
[[link]]
ends = ["r", "d"]
rate = "{mbps:.3f}Mbps"
delay = "{delay:.3f}ms"
queue = {{ kind = "droptail", limit = "{packets}p" }}
{harm}
back = {{ loss = {{ kind = "none" }} }}
[[flow]]
name = "f"
from = "s"
to = "d"
tcp = {{ congestion_control = "{control}"{window} }}
{writes}
"""
KINDS = ("queue", "loss", "reordering", "duplicates", "policer", "writes", "receive_window")
CASES = 200
TOLD = 0.98
"""The part of the retransmissions whose reason must be told."""


def network(number: int) -> tuple[str, Scenario]:
    """A network of one of the kinds."""
    draw = random.Random(5000 + number)
    kind = KINDS[number % len(KINDS)]
    mbps, delay = 10 ** draw.uniform(0.5, 1.7), 10 ** draw.uniform(0.5, 1.7)
    packets = max(8, int(mbps * 1e6 * 2e-3 * delay / 12e3 * 10 ** draw.uniform(-0.4, 0.5)))
    part = draw.choice([0.001, 0.003, 0.01])
    harm = {
        "loss": f'loss = {{ kind = "bernoulli", rate = {part} }}',
        "reordering": f'impair = {{ kind = "reorder", rate = {part}, by = "{delay * draw.uniform(0.1, 1.5):.1f}ms" }}',
        "duplicates": f'impair = {{ kind = "duplicate", rate = {part} }}',
        "policer": f'loss = {{ kind = "policer", rate = "{int(0.6e6 * mbps)}bps", burst = "40kB" }}',
        "writes": f'loss = {{ kind = "bernoulli", rate = {draw.choice([0.01, 0.05])} }}',
    }.get(kind, "")
    writes = ", ".join(f'["{0.5 * k:.2f}s", "{draw.randint(2, 40) * 1448}B"]' for k in range(1, 18))
    text = NETWORK.format(
        seed=number + 1,
        mbps=mbps,
        delay=delay,
        packets=packets,
        harm=harm,
        control=draw.choice(["cubic", "reno", "bbr", "htcp", "vegas"]),
        window=f", receive_window = {draw.randint(6, 12)}" if kind == "receive_window" else "",
        writes=f"writes = [{writes}]" if kind == "writes" else "",
    )
    return kind, Scenario.parse(text)


def test_retransmissions_and_timeouts_are_those_of_the_simulator() -> None:
    again = unknown = 0
    for number in range(CASES):
        kind, scenario = network(number)
        result = scenario.run(captures=["s"])
        reader = _core.TraceReader(0, 0, None, None)
        reader.push(result.captures["s"])
        seen = next(flow for flow in json.loads(reader.finish())["flows"] if flow["direction"] == 0)
        truth = result.outcome["flows"][0]
        assert seen["retransmitted_packets"] == truth["retransmitted_packets"], number
        assert seen["timeouts"] + seen["handshake_again"] == truth["timeouts"], (number, seen["reasons"])
        again += seen["retransmitted_packets"]
        unknown += seen["reasons"].get("unknown", 0)
        if kind == "receive_window" and truth["retransmitted_packets"] == 0:
            times = seen["time_s"]
            assert max(times, key=times.__getitem__) == "receive_window", (number, times)
    assert again > 10_000
    # Of a lost retransmission whose proof was lost too, and of a window that RACK gave up at once, no ACK tells.
    assert unknown <= (1 - TOLD) * again, (unknown, again)
