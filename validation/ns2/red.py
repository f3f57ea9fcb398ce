"""RED here beside RED in ns-2.35: mean queue, marks and drops of nine settings, ten seeds each.

`python validation/ns2/red.py` runs ns-2 (a minute or two; Debian: ns2) and writes `red.csv`; `test_red.py` holds us to
it, and `report.py` writes the table into docs/validation.md.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ackclock import stats
from ackclock.experiment import Scenario

HERE = Path(__file__).parent
STORED = HERE / "red.csv"
FIELDS = ["setting", "seed", "mean_queue", "marks_per_s", "drops_per_s", "goodput_mbps"]
MEASURES = {"mean_queue": "packets", "marks_per_s": "1/s", "drops_per_s": "1/s", "goodput_mbps": "Mb/s"}
SEEDS = range(1, 11)
DURATION_S = 100


@dataclass(frozen=True)
class Setting:
    """A RED queue, in ns-2's words and in ours; flows, rate and TCP around it."""

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


def ns2(setting: Setting, seed: int) -> dict[str, object]:
    """One run of ns-2."""
    keys: dict[str, object] = {"win": 1000, "n": setting.flows, "bw": setting.rate_mbps, "ecn": int(setting.ecn)}
    keys |= {"kinds": setting.kind, "dur": DURATION_S, "seed": seed} | setting.ns2
    command = ["ns", str(HERE / "tcl" / "fam_r_red.tcl"), *(f"{key}={value}" for key, value in keys.items())]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    found = json.loads(done.stdout[done.stdout.index('{"family"') :].splitlines()[0])
    queue = found["queues"]["bneck"]
    goodput = sum(flow["goodput_bps"] for flow in found["flows"]) / 1e6
    values = [float(found["extra"]["mean_queue"]), queue["mark"] / DURATION_S, queue["drop"] / DURATION_S, goodput]
    return dict(zip(FIELDS, [setting.name, seed, *values], strict=True))


def scenario(setting: Setting) -> Scenario:
    """The same for us."""
    link = {"rate": "100Mbps", "delay": "1ms"}
    queue = {"kind": "red", "limit": "50p", "min": "5p", "max": "15p", "ecn": setting.ecn} | setting.ours
    bottleneck = {"ends": ["r1", "r2"], "rate": f"{setting.rate_mbps}Mbps", "delay": "40ms", "queue": queue}
    back = {"queue": {"kind": "droptail", "limit": "1000p"}}
    tcp = {"profile": "ns2", "control": "reno", "recovery": setting.kind, "window": 1000, "ecn": setting.ecn}
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


Compared = tuple[stats.Estimate, stats.Estimate, float | None]


def welch(ours: list[float], theirs: list[float]) -> Compared:
    """Ours, ns-2's, and the p-value of Welch's test that they differ (None: nothing varies)."""
    from scipy.stats import ttest_ind

    varies = len(set(ours)) > 1 or len(set(theirs)) > 1
    p = float(ttest_ind(ours, theirs, equal_var=False).pvalue) if varies else None
    return stats.mean(ours), stats.mean(theirs), p


def compared() -> dict[tuple[str, str], Compared]:
    """By setting and measure, of all settings."""
    with open(STORED, newline="", encoding="utf-8") as file:
        stored = list(csv.DictReader(file))
    found = {}
    for setting in SETTINGS:
        mine = [ours(setting, seed) for seed in SEEDS]
        for measure in MEASURES:
            theirs = [float(row[measure]) for row in stored if row["setting"] == setting.name]
            found[setting.name, measure] = welch([run[measure] for run in mine], theirs)
    return found


def table(first: str, measures: dict[str, str], found: dict[tuple[str, str], Compared]) -> list[str]:
    """Lines of a table for docs/validation.md: a row for each name, a column for each measure."""
    heads = [f"{measure} ({unit}): ours, ns-2" for measure, unit in measures.items()]
    lines = [f"| {first} | " + " | ".join(heads) + " |", "|---" * (len(measures) + 1) + "|"]
    for name in dict.fromkeys(name for name, _ in found):
        cells = []
        for measure in measures:
            a, b, _ = found[name, measure]
            cells.append(f"{a.value:.3g} ± {a.half_width or 0:.2g}, {b.value:.3g} ± {b.half_width or 0:.2g}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def main() -> int:
    """Run ns-2 and write the table."""
    jobs = [(setting, seed) for setting in SETTINGS for seed in SEEDS]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = list(pool.map(lambda job: ns2(*job), jobs))
    with open(STORED, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
