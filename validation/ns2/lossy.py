"""Lossy links in Ackclock and ns-2.35: Reno with ECN and Linux's Westwood+, goodput and timeouts, ten seeds each.

Two networks: a lossy last hop behind a RED gateway that marks (`tcl/fam_e_sarbe.tcl`), and TCP beside UDP over a
bottleneck that loses a tenth (`tcl/fam_d_udp.tcl`). `python validation/ns2/lossy.py` runs ns-2 (two minutes; Debian:
ns2) and writes `lossy.csv`; `test_lossy.py` compares Ackclock with it, and `report.py` writes the table
into docs/validation.md.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import reference

from ackclock.scenario import Scenario

STORED = Path(__file__).parent / "lossy.csv"
MEASURES = {"goodput_mbps": "Mb/s", "timeouts": "count", "retransmitted": "packets"}
KINDS: dict[str, dict[str, Any]] = {
    "reno": {"congestion_control": "reno", "recovery": "reno"},
    "linux-westwood": {"congestion_control": {"kind": "westwood_plus", "variant": "ns2"}, "recovery": "sack"},
}


@dataclass(frozen=True)
class Case:
    """A network (`red` or `udp`), a loss rate, a TCP by ns-2's name."""

    network: str
    loss: float
    kind: str

    @property
    def name(self) -> str:
        """As in the table."""
        return f"{self.network}, {self.kind}, loss {self.loss:g}"

    @property
    def duration_s(self) -> int:
        """Simulated time."""
        return 150 if self.network == "red" else 50


LOSSES = {"red": (0.0, 1e-4, 1e-3, 1e-2, 0.05, 0.1), "udp": (0.0, 0.1)}
CASES = [Case(network, loss, kind) for kind in KINDS for network, rates in LOSSES.items() for loss in rates]


def udp_start_s(seed: int) -> float:
    """Start time of the UDP source. Without errors, its phase decides the number of timeouts (27 to 36)."""
    return seed * 0.00037


def ns2(case: Case, seed: int) -> list[object] | None:
    """One run of ns-2; None if it does not end or delivers below 0.05 Mb/s, a failure of its Linux agents."""
    keys: dict[str, Any] = {"per": case.loss, "seed": seed, "sample": 1, "win": 10000}
    if case.network == "red":
        keys |= {"kinds": case.kind, "ecn": 1}
    else:
        keys |= {"tcp": case.kind, "cbr": 0.448, "udpstart": udp_start_s(seed)}
    script = "fam_e_sarbe.tcl" if case.network == "red" else "fam_d_udp.tcl"
    try:
        flow = reference.run(script, keys, timeout_s=60)["flows"][0]
    except subprocess.TimeoutExpired:
        return None
    if flow["goodput_bps"] < 50_000:
        return None
    return [case.name, seed, flow["goodput_bps"] / 1e6, flow["timeouts"], flow["rtx_pkts"]]


def scenario(case: Case, seed: int) -> Scenario:
    """The same for us."""
    tcp: dict[str, Any] = {"profile": "ns2", "receive_window": 10000, "ecn": case.network == "red"}
    tcp.update(KINDS[case.kind])
    loss: dict[str, Any] = {"loss": {"kind": "bernoulli", "rate": case.loss}, "back": {"loss": {"kind": "none"}}}
    tcp_flow = {"name": "tcp", "from": "s", "to": "d", "tcp": tcp}
    if case.network == "red":
        red = {"kind": "red", "min": "auto", "max": "auto", "weight": "auto", "ecn": True}
        red |= {"limit": "12500B", "mean_packet": 500}  # in bytes, ns-2's 25 packets are 25 of the mean size
        links = [
            {"ends": ["r1", "r2"], "rate": "2.5Mbps", "delay": "40ms", "queue": red},
            {"ends": ["s", "r1"], "rate": "10Mbps", "delay": "0.01ms"},
            {"ends": ["r2", "bs"], "rate": "10Mbps", "delay": "0.01ms", **loss},
            {"ends": ["bs", "d"], "rate": "100Mbps", "delay": "0s"},
        ]
        flows = [tcp_flow]
    else:
        queue = {"kind": "droptail", "limit": "49p"}  # ns-2's 50 count the packet that arrives
        links = [
            {"ends": ["u", "r"], "rate": "1Mbps", "delay": "0s", "queue": queue},
            {"ends": ["s", "r"], "rate": "10Mbps", "delay": "0s", "queue": queue},
            {"ends": ["r", "d"], "rate": "5Mbps", "delay": "0s", "queue": queue, **loss},
        ]
        flows = [tcp_flow, {"name": "udp", "from": "u", "to": "d", "udp": {"packet": 210, "rate": "448kbps"}}]
        flows[1]["start"] = f"{udp_start_s(seed)}s"
    return Scenario.build({"duration": f"{case.duration_s}s", "link": links, "flow": flows})


def ours(case: Case, seed: int) -> dict[str, float]:
    """One run of ours."""
    flow: dict[str, Any] = scenario(case, seed).run(seed=seed).outcome["flows"][0]
    return {
        "goodput_mbps": 8000 * flow["acked_packets"] / case.duration_s / 1e6,
        "timeouts": flow["timeouts"],
        "retransmitted": flow["retransmitted_packets"],
    }


def compared() -> dict[tuple[str, str], reference.Compared]:
    """By case and measure, of all cases."""
    return reference.compare(STORED, MEASURES, CASES, ours)


def main() -> int:
    """Run ns-2 and write the table."""
    jobs = ((case, seed) for case in CASES for seed in reference.SEEDS)
    return reference.store(STORED, ["case", "seed", *MEASURES], ns2, jobs)


if __name__ == "__main__":
    sys.exit(main())
