"""The networks of the comparison, and what of ours is compared with each module."""

from __future__ import annotations

import hashlib
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ackclock import Scenario

OURS: dict[str, str] = {
    "reno": "reno",
    "cubic": '{ kind = "cubic", arithmetic = "linux" }',
    "bic": '{ kind = "bic", counting = "current" }',
    "westwood": '{ kind = "westwood_plus", variant = "linux" }',
    "veno": '{ kind = "veno", variant = "linux" }',
    "vegas": '{ kind = "vegas", variant = "linux", alpha = 2, beta = 4, gamma = 1 }',
    "hybla": '{ kind = "hybla", variant = "linux" }',
    "highspeed": '{ kind = "hstcp", variant = "linux" }',
    "htcp": '{ kind = "htcp", variant = "linux" }',
    "illinois": '{ kind = "illinois", variant = "linux" }',
    "scalable": '{ kind = "scalable", variant = "linux" }',
    "yeah": "yeah",
    "cdg": '{ kind = "cdg", variant = "linux" }',
    "nv": '{ kind = "nv", variant = "linux" }',
    "lp": "lp",
    "dctcp": '{ kind = "dctcp", variant = "linux" }',
    "bbr": "bbr",
}
"""The controller of ours that stands for each module (TOML)."""
DURATION_S = 40
GRID_S = 0.05


def _network(
    rate: Any,
    delay: str,
    limit: str,
    *,
    link: dict[str, Any] | None = None,
    back: dict[str, Any] | None = None,
    **flow: Any,
) -> dict[str, Any]:
    return {
        "duration": f"{DURATION_S}s",
        "link": [
            {
                "name": "b",
                "ends": ["a", "z"],
                "rate": rate,
                "delay": delay,
                "queue": {"kind": "droptail", "limit": limit},
                "back": {"loss": [], "queue": {"kind": "droptail", "limit": "10000p"}} | (back or {}),
            }
            | (link or {})
        ],
        "flow": [{"name": "f", "from": "a", "to": "z", "tcp": {"congestion_control": "reno"}} | flow],
    }


def _loss(rate: float) -> dict[str, Any]:
    return {"loss": {"kind": "bernoulli", "rate": rate}}


_STEPS = [["0s", "20Mbps"], ["14s", "200kbps"], ["17s", "20Mbps"], ["28s", "40Mbps"]]
_OUTAGES = [["8s", "8.1s"], ["14s", "16s"], ["28s", "29s"]]
_MARKS = {"kind": "codel", "limit": "140p", "ecn": True}
_WRITES = [[f"{start / 1000:.3f}s", "300kB"] for start in range(0, 38_000, 250)]
_BURSTS = [[f"{step}ms", f"{5 - step}ms"] for step in range(5)]

NETWORKS: dict[str, dict[str, Any]] = {
    "clean 20M/40ms/1bdp": _network("20Mbps", "20ms", "1bdp"),
    "loss 0.1 %": _network("20Mbps", "20ms", "4bdp", link=_loss(0.001)),
    "loss 1 %": _network("20Mbps", "20ms", "4bdp", link=_loss(0.01)),
    "buffer 0.1bdp": _network("20Mbps", "20ms", "0.1bdp"),
    "buffer 4bdp": _network("20Mbps", "20ms", "4bdp"),
    "10 ms": _network("50Mbps", "5ms", "1bdp"),
    "100 ms": _network("50Mbps", "50ms", "1bdp"),
    "300 ms": _network("10Mbps", "150ms", "1bdp"),
    "rate steps": _network({"kind": "steps", "steps": _STEPS}, "20ms", "70p"),
    "outages": _network("20Mbps", "20ms", "1bdp", link={"loss": {"kind": "blackout", "times": _OUTAGES}}),
    "ECN": _network("20Mbps", "20ms", "140p", link={"queue": _MARKS}, tcp={"congestion_control": "reno", "ecn": True}),
    "application limited": _network("20Mbps", "20ms", "1bdp", writes=_WRITES),
    "ACK compression": _network(
        "20Mbps", "20ms", "1bdp", back={"loss": {"kind": "delay", "steps": _BURSTS, "repeat": "5ms"}}
    ),
}


def _over_quic(network: str) -> dict[str, Any]:
    document = deepcopy(NETWORKS[network])
    flow = document["flow"][0]
    del flow["tcp"]
    flow["quic"] = {"congestion_control": "reno"}
    return document


QUIC = "QUIC "
"""The beginning of the names of networks in which the flow is one of QUIC."""
NETWORKS |= {
    QUIC + network: _over_quic(network)
    for network in ("clean 20M/40ms/1bdp", "loss 0.1 %", "buffer 0.1bdp", "100 ms", "application limited")
}
ONLY_TCP = ("bbr", "dctcp", "lp")
"""Modules that are not compared over QUIC: its pacing and its echoes are not those of the kernel's TCP."""
SEEDS: dict[str, tuple[int, ...]] = {"loss 0.1 %": (1, 2, 3, 4), "loss 1 %": (1, 2)}
"""The seeds of the networks with random losses; others have one."""


def networks_of(name: str) -> tuple[str, ...]:
    """The networks in which a module is compared."""
    return tuple(network for network in NETWORKS if name not in ONLY_TCP or not network.startswith(QUIC))


def document(name: str, network: str) -> dict[str, Any]:
    """The scenario of a module and a network. DCTCP needs marks at a threshold, one echo for each packet."""
    document = deepcopy(NETWORKS[network])
    if name == "dctcp":
        document["flow"][0]["tcp"] |= {"ecn": True, "ecn_feedback": "per_packet"}
        limit = document["link"][0]["queue"]["limit"]
        marks = {"kind": "codel", "ecn": True, "target": "900ms", "interval": "900ms", "ce_threshold": "2ms"}
        document["link"][0]["queue"] = marks | {"limit": limit}
    return document


def seeds(network: str) -> tuple[int, ...]:
    """The seeds of a network."""
    return SEEDS.get(network, (1,))


@dataclass(frozen=True)
class Run:
    """One run: its totals, its window every 50 ms, and a hash of the rows of its window trace in each second."""

    goodput_bps: float
    mean_rtt_s: float
    retransmitted: int
    timeouts: int
    window_cuts: int
    windows: list[int]
    hashes: list[str]

    def distance(self, other: Run) -> float:
        """The mean distance of the windows, as a part of the mean window of `other`."""
        ours, theirs = (np.asarray(run.windows, dtype=float) for run in (self, other))
        return float(np.abs(ours - theirs).mean() / theirs.mean())

    def equal_until(self, other: Run) -> int | None:
        """The first second whose rows differ; None if every row is equal."""
        pairs = zip(self.hashes, other.hashes, strict=True)
        return next((second for second, (ours, theirs) in enumerate(pairs) if ours != theirs), None)


def play(document: dict[str, Any], seed: int, *, control: str | None = None, controller: Any = None) -> Run:
    """Runs a scenario with a controller of ours (`control`, TOML) or with a class."""
    carrier = "quic" if "quic" in document["flow"][0] else "tcp"
    overrides = [f"flow.f.{carrier}.congestion_control={control}"] if control else []
    scenario = Scenario.build(document, overrides, controllers={"f": controller} if controller else None)
    result = scenario.run(seed=seed, trace="changes")
    flow = result.outcome["flows"][0]
    times, windows = (result.trace[name].to_numpy() for name in ("time_s", "cwnd"))
    return Run(
        goodput_bps=flow["goodput_bps"],
        mean_rtt_s=flow["mean_rtt_s"],
        retransmitted=flow["retransmitted_packets"],
        timeouts=flow["timeouts"],
        window_cuts=flow["window_cuts"],
        windows=_grid(times, windows),
        hashes=_hashes(times, windows),
    )


def _grid(times: NDArray[Any], windows: NDArray[Any]) -> list[int]:
    at = np.arange(0, DURATION_S, GRID_S)
    rows = np.searchsorted(times, at, side="right") - 1
    return [int(window) for window in windows[np.clip(rows, 0, len(windows) - 1)]]


def _hashes(times: NDArray[Any], windows: NDArray[Any]) -> list[str]:
    rows = np.stack([np.round(times * 1e9), windows]).astype("<i8").T
    bounds = np.searchsorted(times, np.arange(DURATION_S + 1))
    parts = (np.ascontiguousarray(rows[first:last]) for first, last in pairwise(bounds))
    return [hashlib.blake2b(part.tobytes(), digest_size=4).hexdigest() for part in parts]
