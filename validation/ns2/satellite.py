"""TCP over Iridium in Ackclock and ns-2.35: goodput, drops, packets lost in hand-offs, two pairs, 300 and 600 s.

`python validation/ns2/satellite.py` runs ns-2 (some minutes; Debian: ns2) and writes `satellite.csv`;
`test_satellite.py` compares Ackclock with it, and `report.py` writes the table into docs/validation.md. These runs use
no random numbers; the start time of the flows differs between runs by some hundredths of a second.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import reference

from ackclock.scenario import Scenario

STORED = Path(__file__).parent / "satellite.csv"
MEASURES = {"goodput_kbps": "kb/s", "drops": "packets", "lost_in_handoffs": "packets", "retransmitted": "packets"}
PLACES = {"berkeley": (37.9, -122.3), "boston": (42.3, -71.1), "delhi": (28.6, 77.2)}
PAIRS = (("berkeley", "boston"), ("delhi", "berkeley"))
KINDS: dict[str, dict[str, Any]] = {
    "Reno": {"congestion_control": "reno", "recovery": "reno"},
    "Newreno": {"congestion_control": "reno", "recovery": "newreno"},
    "Sack1": {"congestion_control": "reno", "recovery": "sack"},
    "linux:bic": {"congestion_control": "bic", "recovery": "sack"},
}
RUNS = range(1, 6)


@dataclass(frozen=True)
class Case:
    """A TCP by ns-2's name between two places."""

    kind: str
    pair: tuple[str, str]
    duration_s: int

    @property
    def name(self) -> str:
        """As in the table."""
        return f"{self.kind}, {self.pair[0]} to {self.pair[1]}, {self.duration_s} s"


CASES = [Case(kind, pair, duration) for kind in KINDS for pair in PAIRS for duration in (300, 600)]


def start_s(seed: int) -> float:
    """When the flows start."""
    return 1 + 0.0137 * (seed - 1)


def ns2(case: Case, seed: int) -> list[object]:
    """One run of ns-2; the trace is read through a pipe and counted."""
    (lat1, lon1), (lat2, lon2) = (PLACES[name] for name in case.pair)
    keys: dict[str, object] = {"cc": case.kind, "dur": case.duration_s, "start": start_s(seed)}
    keys |= {"lat1": lat1, "lon1": lon1, "lat2": lat2, "lon2": lon2}
    with tempfile.TemporaryDirectory() as folder:
        pipe = Path(folder) / "trace"
        os.mkfifo(pipe)
        counts = _Counts()
        reader = threading.Thread(target=counts.read, args=(pipe,))
        reader.start()
        flows = reference.run("fam_s_sat.tcl", keys | {"trace": pipe})["flows"]
        reader.join()
    goodput = sum(flow["acked_pkts"] for flow in flows) * 1448 * 8 / case.duration_s / 1e3
    rtx = sum(flow["rtx_pkts"] for flow in flows)
    return [case.name, seed, goodput, counts.drops, counts.vanished(), rtx]


class _Counts:
    """Counts of data packets from a trace of ns-2; nodes 66 and 67 are the terminals."""

    def __init__(self) -> None:
        self.drops = 0
        self.flying: dict[str, float] = {}
        self.last = 0.0

    def read(self, pipe: Path) -> None:
        with open(pipe, encoding="ascii") as lines:
            for line in lines:
                words = line.split()
                if len(words) < 12 or words[4] != "tcp":
                    continue
                event, number = words[0], words[11]
                self.last = float(words[1])
                if event == "+" and words[2] == "66":
                    self.flying[number] = self.last
                elif event == "d" or (event == "r" and words[3] == "67"):
                    self.flying.pop(number, None)
                    self.drops += event == "d"

    def vanished(self) -> int:
        """Packets older than 2 s that neither arrived nor were dropped: hand-offs lose them without a trace entry."""
        return sum(sent < self.last - 2 for sent in self.flying.values())


def scenario(case: Case, seed: int) -> Scenario:
    """The same for us."""
    tcp = {"profile": "ns2", "mss": 1448, "header": 50, "receive_window": 30000, "timestamps": True} | KINDS[case.kind]
    ends = {"from": case.pair[0], "to": case.pair[1], "start": f"{start_s(seed)}s"}
    return Scenario.build(
        {
            "duration": f"{case.duration_s}s",
            "constellation": {"kind": "iridium"},
            "terminal": [{"name": n, "lat": PLACES[n][0], "lon": PLACES[n][1]} for n in case.pair],
            "tcp": tcp,
            "flow": [{"name": f"f{i}"} | ends for i in range(3)],
        }
    )


def ours(case: Case, seed: int) -> dict[str, float]:
    """One run of ours."""
    outcome = scenario(case, seed).run(seed=seed).outcome
    drops = [link["dropped_packets"] for link in outcome["links"]]
    return {
        "goodput_kbps": sum(flow["acked_packets"] for flow in outcome["flows"]) * 1448 * 8 / case.duration_s / 1e3,
        "drops": sum(drop["queue"] for drop in drops),
        "lost_in_handoffs": sum(drop["handoff"] for drop in drops),
        "retransmitted": sum(flow["retransmitted_packets"] for flow in outcome["flows"]),
    }


def compared() -> dict[tuple[str, str], reference.Compared]:
    """By case and measure, of all cases."""
    return reference.compare(STORED, MEASURES, CASES, ours, RUNS)


def main() -> int:
    """Run ns-2 and write the table."""
    jobs = ((case, seed) for case in CASES for seed in RUNS)
    return reference.store(STORED, ["case", "run", *MEASURES], ns2, jobs)


if __name__ == "__main__":
    sys.exit(main())
