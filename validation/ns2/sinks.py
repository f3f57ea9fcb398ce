"""Sack1 of ns-2.35 with a plain sink, which sends no SACK blocks, and with a SACK sink, in Ackclock and in ns-2.

One flow over the link of Table 1 of papers/westwood (10 Mb/s, 10 ms), window 20, 1000 bytes, 50 s. The same packets are
lost in both simulators: a list that a seed draws, so that the runs can be compared row by row. `python
validation/ns2/sinks.py` runs ns-2 (Debian: ns2) and writes `sinks.csv` and `sinks/`; `test_sinks.py` compares Ackclock
with them.
"""

from __future__ import annotations

import csv
import gzip
import json
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from cases import CLOCK_PHASE, HERE, matches, rows_of

from ackclock import Result, Scenario

TOTALS = HERE / "sinks.csv"
FOLDER = HERE / "sinks"
DURATION_S, SEED = 50, 1
MOST_PACKETS = 70_000
"""More than the link carries."""
THINNED = 25
"""Of the rows without a decrease of the window every 25th is stored."""


@dataclass(frozen=True)
class Case:
    """A sink (`plain` or `sack`) and an error rate."""

    sink: str
    errors: float

    @property
    def name(self) -> str:
        """As in the table."""
        return f"Sack1, {self.sink} sink, error rate {self.errors:g}"

    def drops(self) -> list[int]:
        """Positions of the lost packets by arrival at the link; the SYN passes."""
        draw = random.Random(SEED)
        return [i for i in range(MOST_PACKETS) if draw.random() < self.errors and i > 0]

    def run(self) -> Result:
        """The run in Ackclock."""
        tcp = {
            "profile": "ns2",
            "congestion_control": "reno",
            "recovery": "sack",
            "sack": self.sink == "sack",
            "receive_window": 20,
            "clock_phase": f"{CLOCK_PHASE[0.01, False] * 1e6:g}us",
        }
        link = {
            "ends": ["x", "y"],
            "rate": "10Mbps",
            "delay": "10ms",
            "queue": {"kind": "droptail", "limit": "49p"},
            "loss": {"kind": "scripted", "flow": "f", "packets": self.drops()},
            "back": {"loss": {"kind": "none"}},
        }
        flow = {"name": "f", "from": "x", "to": "y"}
        scenario = {"duration": f"{DURATION_S}s", "tcp": tcp, "link": [link], "flow": [flow]}
        return Scenario.build(scenario).run(trace="changes", audit=True)

    @property
    def stored(self) -> Path:
        """The rows of ns-2."""
        return FOLDER / f"{self.sink}-{self.errors:g}.csv.gz"


CASES = [Case(sink, errors) for sink in ("plain", "sack") for errors in (0.001, 0.01, 0.1)]


@dataclass(frozen=True)
class Compared:
    """Rows of ns-2 that Ackclock has, of how many, and totals (theirs, ours)."""

    same: int
    rows: int
    head: int
    totals: dict[str, tuple[int, int]]
    violations: int


def compare(case: Case) -> Compared:
    """Run a case and compare it with the stored run."""
    result = case.run()
    ours = rows_of(result)
    times = sorted(ours)
    with gzip.open(case.stored, "rt", newline="") as file:
        rows = [(float(r["t"]), float(r["cwnd"]), float(r["ssthresh"]), int(r["ack"])) for r in csv.DictReader(file)]
    same = [matches(row, ours, times) for row in rows]
    with TOTALS.open(newline="") as file:
        [theirs] = [row for row in csv.DictReader(file) if row["case"] == case.name]
    flow = result.outcome["flows"][0]
    columns = {"acked": "acked_packets", "retransmitted": "retransmitted_packets", "timeouts": "timeouts"}
    totals = {key: (int(theirs[key]), int(flow[column])) for key, column in columns.items()}
    head = same.index(False) if False in same else len(same)
    return Compared(sum(same), len(rows), head, totals, result.violation_count)


def _ns2(case: Case) -> tuple[dict[str, int], list[tuple[float, float, float, int]]]:
    """A run of ns-2: its totals, and its rows, the last one of each instant."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "raw.txt"
        drops = ",".join(map(str, case.drops()))
        script = str(HERE / "tcl" / "fam_l_list.tcl")
        command = ["ns", script, f"sink={case.sink}", f"dur={DURATION_S}", f"drops={drops}", f"log={log}"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        flow = json.loads(done.stdout)["flows"][0]
        values = {"cwnd_": 0.0, "ssthresh_": 0.0, "ack_": 0.0}
        rows: dict[float, tuple[float, float, float, int]] = {}
        for line in log.read_text().splitlines():
            fields = line.split()
            if fields[5] in values:
                values[fields[5]] = float(fields[6])
                at = float(fields[0])
                rows[at] = (at, values["cwnd_"], values["ssthresh_"], int(values["ack_"]))
    totals = {"acked": flow["acked_pkts"], "retransmitted": flow["rtx_pkts"], "timeouts": flow["timeouts"]}
    changed = [row for before, row in zip([None, *rows.values()], rows.values(), strict=False) if _moved(before, row)]
    return totals, [row for i, row in enumerate(changed) if i % THINNED == 0 or row[1] < changed[i - 1][1]]


def _moved(before: tuple[float, ...] | None, row: tuple[float, ...]) -> bool:
    return before is None or before[1:3] != row[1:3]


def main() -> int:
    """Record ns-2."""
    FOLDER.mkdir(exist_ok=True)
    with TOTALS.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["case", "acked", "retransmitted", "timeouts"])
        for case in CASES:
            totals, rows = _ns2(case)
            table.writerow([case.name, *totals.values()])
            text = "t,cwnd,ssthresh,ack\n" + "".join(f"{t:.5f},{cwnd:.3f},{s:g},{ack}\n" for t, cwnd, s, ack in rows)
            case.stored.write_bytes(gzip.compress(text.encode(), mtime=0))
    return 0


if __name__ == "__main__":
    sys.exit(main())
