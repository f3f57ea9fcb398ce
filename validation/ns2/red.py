"""RED in Ackclock and in ns-2.35: mean queue, marks and drops of nine settings, ten seeds each.

`python validation/ns2/red.py` runs ns-2 (a minute or two; Debian: ns2) and writes `red.csv`; `test_red.py` compares
Ackclock with it, and `report.py` writes the table into docs/validation.md.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import reference

from ackclock.scenario import Scenario

STORED = Path(__file__).parent / "red.csv"
MEASURES = {"mean_queue": "packets", "marks_per_s": "1/s", "drops_per_s": "1/s", "goodput_mbps": "Mb/s"}
DURATION_S = 100


@dataclass(frozen=True)
class Setting:
    """A RED queue, as parameters of ns-2 and of Ackclock, with the flows, rate and TCP of its network."""

    name: str
    ns2: dict[str, object] = field(default_factory=dict)
    ours: dict[str, Any] = field(default_factory=dict)
    flows: int = 4
    rate_mbps: float = 2.5
    ecn: bool = False
    kind: str = "newreno"


AUTO = {"min": "auto", "max": "auto", "weight": "auto"}
SETTINGS = [
    Setting("5/15, no ECN"),
    Setting("5/15, ECN", ecn=True),
    Setting("not gentle", {"gentle": 0}, {"gentle": False}),
    Setting("without wait", {"wait": 0}, {"wait": False}),
    Setting("without wait, ECN", {"wait": 0}, {"wait": False}, ecn=True),
    Setting(
        "bytes, mean 500",
        {"qib": 1, "mps": 500},
        {"mean_packet": 500, "limit": "25kB", "min": "2500B", "max": "7500B"},
    ),
    Setting("adaptive", {"adaptive": 1}, {"adaptive": True}),
    Setting("one flow, limit 25", {"limit": 25}, {"limit": "25p"}, flows=1, ecn=True),
    Setting("ten flows, weight 0.02", {"wq": 0.02}, {"weight": 0.02}, flows=10, ecn=True, kind="reno"),
    Setting("automatic, 10 Mb/s", {"minth": 0, "maxth": 0, "wq": -1}, AUTO, rate_mbps=10.0, ecn=True),
]


def ns2(setting: Setting, seed: int) -> list[object]:
    """One run of ns-2."""
    keys: dict[str, object] = {"win": 1000, "n": setting.flows, "bw": setting.rate_mbps, "ecn": int(setting.ecn)}
    keys |= {"kinds": setting.kind, "dur": DURATION_S, "seed": seed} | setting.ns2
    found = reference.run("fam_r_red.tcl", keys)
    queue = found["queues"]["bneck"]
    goodput = sum(flow["goodput_bps"] for flow in found["flows"]) / 1e6
    mean_queue = float(found["extra"]["mean_queue"])
    return [setting.name, seed, mean_queue, queue["mark"] / DURATION_S, queue["drop"] / DURATION_S, goodput]


def scenario(setting: Setting) -> Scenario:
    """The same for us."""
    link = {"rate": "100Mbps", "delay": "1ms"}
    queue = {"kind": "red", "limit": "50p", "min": "5p", "max": "15p", "ecn": setting.ecn} | setting.ours
    bottleneck = {"ends": ["r1", "r2"], "rate": f"{setting.rate_mbps}Mbps", "delay": "40ms", "queue": queue}
    back = {"queue": {"kind": "droptail", "limit": "1000p"}}
    tcp = {
        "profile": "ns2",
        "congestion_control": "reno",
        "recovery": setting.kind,
        "receive_window": 1000,
        "ecn": setting.ecn,
    }
    links: list[dict[str, Any]] = [bottleneck | {"back": back}]
    flows = []
    for i in range(setting.flows):
        links += [link | {"ends": [f"s{i}", "r1"]}, link | {"ends": ["r2", f"d{i}"]}]
        flows.append({"name": f"f{i}", "from": f"s{i}", "to": f"d{i}", "start": f"{100 * i}ms"})
    return Scenario.build({"duration": f"{DURATION_S}s", "tcp": tcp, "link": links, "flow": flows})


def ours(setting: Setting, seed: int) -> dict[str, float]:
    """One run of ours."""
    outcome = scenario(setting).run(seed=seed).outcome
    link = outcome["links"][0]
    return {
        "mean_queue": link["mean_queue_packets"],
        "marks_per_s": link["marked_packets"] / DURATION_S,
        "drops_per_s": link["dropped_packets"]["queue"] / DURATION_S,
        "goodput_mbps": sum(8000 * flow["acked_packets"] for flow in outcome["flows"]) / DURATION_S / 1e6,
    }


def compared() -> dict[tuple[str, str], reference.Compared]:
    """By setting and measure, of all settings."""
    return reference.compare(STORED, MEASURES, SETTINGS, ours)


def main() -> int:
    """Run ns-2 and write the table."""
    jobs = ((setting, seed) for setting in SETTINGS for seed in reference.SEEDS)
    return reference.store(STORED, ["setting", "seed", *MEASURES], ns2, jobs)


if __name__ == "__main__":
    sys.exit(main())
