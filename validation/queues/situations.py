"""The networks of docs/validation-queues.md: queue disciplines, BBR, DCTCP and L4S against theory and references."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

from ackclock import Scenario, stats

DISCIPLINES = {
    "drop-tail": '{ kind = "droptail", limit = "400p" }',
    "RED": '{ kind = "red", limit = "400p", min = "auto", weight = "auto", adaptive = true }',
    "PIE": '{ kind = "pie" }',
    "CoDel": '{ kind = "codel" }',
    "FQ-CoDel": '{ kind = "fq_codel", ecn = false }',
}
"""Discipline by name, for the bottleneck of scenarios/bufferbloat.toml."""


@dataclass(frozen=True)
class Bloat:
    """A bulk flow and a sparse flow behind a discipline: goodput, Mb/s; 95th percentiles of the queueing delay, ms."""

    goodput: stats.Estimate
    bulk_delay: stats.Estimate
    sparse_delay: stats.Estimate


def bufferbloat(root: str, discipline: str, seeds: range) -> Bloat:
    """The scenario of this name behind a discipline; the start of the bulk flow depends on the seed."""
    scenario = Scenario.load(
        f"{root}/scenarios/bufferbloat.toml",
        [f"link.bottleneck.queue={DISCIPLINES[discipline]}", "flow.bulk.start_jitter=2s"],
    )
    goodputs: list[float] = []
    bulk: list[float] = []
    sparse: list[float] = []
    for seed in seeds:
        flows = scenario.run(seed=seed).outcome["flows"]
        goodputs.append(flows[0]["goodput_bps"] / 1e6)
        for flow, delays in zip(flows, (bulk, sparse), strict=True):
            delays.append(1e3 * (flow["p95_delay_s"] - flow["base_delay_s"]))
    return Bloat(stats.mean(goodputs), stats.mean(bulk), stats.mean(sparse))


NS3_RECEIVER = "moderate_rcvbuf = false\nack_compression = false\n"
"""The receivers of ns-3 combine no ACKs, and delay them in slow start too."""


def star(
    flows: int,
    control: str,
    queue: str,
    *,
    rate: str,
    access: str,
    delays: tuple[str, str],
    tcp: str = "",
    **top: str,
) -> str:
    """Flows from hosts of their own over one bottleneck `r->d`; `delays` are those of access and of the bottleneck."""
    text = "".join(f'{key} = "{value}"\n' for key, value in top.items())
    text += f'[tcp]\ncongestion_control = "{control}"\nreceive_window = 20000\n{tcp}'
    for i in range(flows):
        text += f'[[link]]\nends = ["s{i}", "r"]\nrate = "{access}"\ndelay = "{delays[0]}"\n'
    text += (
        f'[[link]]\nname = "bottleneck"\nends = ["r", "d"]\nrate = "{rate}"\ndelay = "{delays[1]}"\nqueue = {queue}\n'
    )
    text += 'back = { queue = { kind = "droptail", limit = "10000p" } }\n'
    for i in range(flows):
        text += f'[[flow]]\nname = "f{i}"\nfrom = "s{i}"\nto = "d"\nstart_jitter = "1s"\n'
    return text


def bottleneck(outcome: Any) -> Any:
    """The outcome of the bottleneck of `star`."""
    return next(link for link in outcome["links"] if link["name"] == "r->d")


def cubic_behind(queue: str, flows: int, seed: int) -> tuple[float, float]:
    """CUBIC flows over 10 Mb/s and 40 ms with the receivers of ns-3: goodput of all, Mb/s, and mean wait, ms."""
    paths: dict[str, Any] = {"rate": "10Mbps", "access": "100Mbps", "delays": ("2ms", "18ms")}
    text = star(flows, "cubic", queue, **paths, tcp=NS3_RECEIVER, duration="60s", warmup="10s")
    outcome = Scenario.parse(text).run(seed=seed).outcome
    goodput = sum(flow["goodput_bps"] for flow in outcome["flows"]) / 1e6
    return goodput, 1e3 * bottleneck(outcome)["mean_sojourn_s"]


def dctcp_queue(threshold: int, seed: int) -> tuple[float, float]:
    """Two DCTCP flows over 10 Gb/s whose packets are marked behind `threshold` packets: mean queue, and utilisation.

    A threshold on the waiting time stands for one on the number of packets, all of 1500 bytes.
    """
    wait_us = threshold * 1500 * 8 / 10e9 * 1e6
    queue = f'{{ kind = "codel", limit = "2000p", target = "1s", ce_threshold = "{wait_us:g}us" }}'
    text = star(
        2, "dctcp", queue, rate="10Gbps", access="40Gbps", delays=("15us", "20us"), duration="1200ms", warmup="1100ms"
    )
    link = bottleneck(Scenario.parse(text).run(seed=seed).outcome)
    return link["mean_queue_packets"], link["utilisation"]


@dataclass(frozen=True)
class Coexistence:
    """A low-latency flow and a classic flow behind DualPI2."""

    ratio: float
    """Goodput of the low-latency flow over that of the classic one."""
    low_ms: float
    """99th percentile of the queueing delay of the low-latency flow."""
    classic_ms: float
    laws: float
    """The ratio that follows from the laws of the windows and the round-trip times with the mean queueing delays.

    A low-latency flow has 2/p segments in a round-trip time, of at least 25 ms for Prague; CUBIC in its Reno region has
    1.68/sqrt(p'); the queue couples p to 2 sqrt(p').
    """


def coexistence(root: str, control: str, rtt_ms: float, seed: int) -> Coexistence:
    """The scenario `l4s` with a round-trip time and a low-latency controller."""
    tcp = '{ congestion_control = "dctcp", l4s = true }' if control == "dctcp" else '{ congestion_control = "prague" }'
    scenario = Scenario.load(
        f"{root}/scenarios/l4s.toml", [f"link.bottleneck.delay={rtt_ms / 2}ms", f"flow.prague.tcp={tcp}"]
    )
    low, classic = scenario.run(seed=seed).outcome["flows"]
    delays = [1e3 * (flow["p99_delay_s"] - flow["base_delay_s"]) for flow in (low, classic)]
    rtts = [rtt_ms + 1e3 * (flow["mean_delay_s"] - flow["base_delay_s"]) for flow in (low, classic)]
    laws = 1 / 1.68 * rtts[1] / max(rtts[0], 25 if control == "prague" else 0)
    return Coexistence(low["goodput_bps"] / classic["goodput_bps"], delays[0], delays[1], laws)


BBR3_MODEL = {0.01: (0.891, 0.005), 0.02: (0.782, 0.011), 0.03: (0.678, 0.016), 0.05: (0.461, 0.012)}
"""Segments delivered over those that the link could carry in the independent model, by random loss: mean of 60 seeds
and half of its interval."""


def bbr3_alone(buffer: int, loss: float, seed: int, rate: str = "12Mbps", delayed_ack: bool = False) -> Any:
    """One flow of version 3 over a path of 40 ms for 21 s: the run, with its trace."""
    text = f"""
duration = "21s"
[[link]]
name  = "l"
ends  = ["a", "b"]
rate  = "{rate}"
delay = "20ms"
queue = {{ kind = "droptail", limit = "{buffer}p" }}
loss  = {{ kind = "bernoulli", rate = {loss} }}
back  = {{ loss = {{ kind = "none" }} }}
[[flow]]
name = "f"
from = "a"
to   = "b"
tcp  = {{ congestion_control = "bbr3", delayed_ack = {str(delayed_ack).lower()} }}
"""
    return Scenario.parse(text).run(seed=seed, trace="changes")


@dataclass(frozen=True)
class Policed:
    """A flow of BBR version 1 through a policer of 5 Mb/s on a link of 50 Mb/s."""

    goodput: float
    """Mb/s."""
    lost: float
    """Part of the segments sent again."""
    in_use: float
    """Part of the time in which long-term sampling sets the rate."""
    rate: float
    """Mean of the rate that it sets, Mb/s; zero if it sets none."""


def policed(long_term: bool, burst: str, seed: int = 1) -> Policed:
    """One flow, 40 ms, 60 s."""
    text = f"""
duration = "60s"
[[link]]
ends  = ["a", "b"]
rate  = "50Mbps"
delay = "20ms"
queue = {{ kind = "droptail", limit = "400p" }}
loss  = {{ kind = "policer", rate = "5Mbps", burst = "{burst}" }}
back  = {{ loss = {{ kind = "none" }} }}
[[flow]]
from = "a"
to   = "b"
tcp  = {{ congestion_control = {{ kind = "bbr", lt = {str(long_term).lower()} }} }}
"""
    run = Scenario.parse(text).run(seed=seed, trace="ack")
    flow = run.outcome["flows"][0]
    rows = run.trace.select("time_s", "lt_bandwidth").rows()
    found = [(until - begin, rate) for (begin, rate), (until, _) in pairwise(rows) if rate == rate and rate is not None]
    time = sum(span for span, _ in found)
    return Policed(
        flow["goodput_bps"] / 1e6,
        flow["retransmitted_packets"] / flow["sent_packets"],
        time / rows[-1][0],
        sum(span * rate for span, rate in found) / max(time, 1e-9) / 1e6,
    )


def used(run: Any, rate_bps: float) -> float:
    """Segments delivered over those that the link could carry."""
    return float(run.outcome["flows"][0]["goodput_bps"]) / rate_bps * 1500 / 1448


@dataclass(frozen=True)
class Ns3Case:
    """CUBIC flows behind a discipline in ns-3: means over five seeds."""

    name: str
    queue: str
    """The discipline as in a scenario."""
    flows: int
    goodput: float
    """Of all flows, from 10 to 60 s, Mb/s."""
    wait: float
    """Mean wait in the queue discipline, ms."""


def ns3_cases() -> list[Ns3Case]:
    """The recording of ns-3 (ns3_aqm.py) with the recovery that sets the window to ssthresh at once."""
    recorded = json.loads(gzip.decompress((Path(__file__).parent / "ns3_aqm.json.gz").read_bytes()))
    runs = [run for run in recorded["runs"] if run["case"] == "B" and "Classic" in run["recovery"]]
    found = []
    for name in ("codel", "fq_codel", "pie"):
        for flows in (1, 10):
            same = [run for run in runs if (run["queue"], run["flows"]) == (name, flows)]
            goodput = mean(run["goodput_steady_mbps"] for run in same)
            wait = mean(run["sojourn_steady"]["mean_ms"] for run in same)
            ecn = ", ecn = false" if name == "fq_codel" else ""
            found.append(Ns3Case(name, f'{{ kind = "{name}"{ecn} }}', flows, goodput, wait))
    return found
