"""The deterministic cases of ns-2.35 as Ackclock scenarios, and the comparison of the two."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock import Result, Scenario

HERE = Path(__file__).parent
TIME_TOLERANCE_S = 1.5e-5  # the traces have five decimals
CWND_TOLERANCE = 2e-3  # the window has three decimals

# ns-2 draws the phase of its coarse clock from its own generator and does not print it. The interval of phases
# that agrees with a trace was found by search; any value in it is valid. Seconds, by (clock tick, is Vegas).
CLOCK_PHASE = {(0.01, False): 130e-6, (0.01, True): 120e-6, (0.0001, False): 30e-6, (0.0001, True): 1.1e-6}


@dataclass(frozen=True)
class Case:
    """One line of an index: an algorithm on a network, with the results of ns-2."""

    folder: str
    row: dict[str, str]

    @property
    def name(self) -> str:
        """Algorithm and case."""
        suffix = "" if self.folder == "traces" else " (fine clock)"
        return f"{self.row['alg']} {self.row['case']}{suffix}"

    @property
    def algorithm(self) -> str:
        """Tahoe, Reno, NewReno, Sack1 or Vegas."""
        return self.row["alg"]

    def number(self, key: str) -> float:
        """A column of the index."""
        return float(self.row[key])

    def scenario(self) -> Scenario:
        """The same network and the same TCP."""
        vegas = self.algorithm == "vegas"
        tick = self.number("tick")
        tcp: dict[str, Any] = {
            "profile": "ns2",
            "congestion_control": "reno",
            "recovery": {"sack1": "sack", "vegas": "reno"}.get(self.algorithm, self.algorithm),
            "receive_window": int(self.number("win")),
            "clock_tick": f"{tick * 1e3:g}ms",
            "clock_phase": f"{CLOCK_PHASE[tick, vegas] * 1e6:g}us",
            "delayed_ack": self.row["delack"] == "1",
        }
        if self.row["syn"] == "0":
            tcp |= {"syn": False, "delay_growth": False}
        if self.row["hdr"] == "0":
            tcp["header"] = 0
        if vegas:
            # ns-2's Vegas has no SYN and adds no header; gamma is 4q where alpha is.
            alpha, beta = self.number("valpha"), self.number("vbeta")
            gamma = alpha if alpha > 1 else 1.0
            tcp |= {
                "syn": False,
                "header": 0,
                "congestion_control": {"kind": "vegas", "alpha": alpha, "beta": beta, "gamma": gamma},
            }
        bottleneck = {
            "ends": ["x", "y"],
            "rate": f"{self.number('bw_Mb'):g}Mbps",
            "delay": f"{self.number('delay_ms'):g}ms",
            "queue": {"kind": "droptail", "limit": f"{int(self.number('q')) - 1}p"},
            "back": {"queue": {"kind": "droptail", "limit": "9999p"}},
        }
        access = {"rate": "100Mbps", "delay": "1ms"}
        dumbbell = [{"ends": ["s", "x"], **access}, bottleneck, {"ends": ["y", "d"], **access}]
        two_nodes = self.row["topo"] == "2node"
        return Scenario.build(
            {
                "title": self.name,
                "duration": f"{self.number('dur'):g}s",
                "tcp": tcp,
                "link": [bottleneck] if two_nodes else dumbbell,
                "flow": [{"name": "f", "from": "x" if two_nodes else "s", "to": "y" if two_nodes else "d"}],
            }
        )

    def reference(self) -> list[tuple[float, float, float, int]]:
        """ns-2's rows: time, cwnd, ssthresh, highest ACK. Long traces are thinned, as the index records."""
        path = HERE / self.folder / self.algorithm / f"{self.row['case']}.csv.gz"
        with gzip.open(path, "rt", newline="") as file:
            return [
                (float(r["t"]), float(r["cwnd"]), float(r["ssthresh"]), int(r["ack"])) for r in csv.DictReader(file)
            ]

    def first_drop(self) -> float | None:
        """The time at which ns-2 dropped its first packet."""
        path = HERE / self.folder / self.algorithm / f"{self.row['case']}.ev.csv.gz"
        with gzip.open(path, "rt", newline="") as file:
            return next((float(r["t"]) for r in csv.DictReader(file) if r["event"] == "drop"), None)


@dataclass(frozen=True)
class Agreement:
    """The agreement of a run of Ackclock with the same run of ns-2."""

    case: Case
    rows: int
    same: int
    """Rows of ns-2 that Ackclock reproduces: time within 15 us, window within 0.002, threshold and ACK equal."""
    head: int
    """Number of rows before the first difference."""
    first_drop: tuple[float | None, float | None]
    """Theirs, ours."""
    totals: dict[str, tuple[int, int]]
    """Theirs, ours: acked, retransmitted, timeouts, drops."""
    violations: int

    @property
    def exact(self) -> bool:
        """Every row and every total is the same."""
        return self.same == self.rows and all(a == b for a, b in self.totals.values())


def cases() -> Iterator[Case]:
    """Every case of both folders."""
    for folder in ("traces", "traces_fine"):
        with (HERE / folder / "index.csv").open(newline="") as file:
            for row in csv.DictReader(file):
                yield Case(folder, row)


def compare(case: Case) -> Agreement:
    """Run a case and compare it with ns-2."""
    result = case.scenario().run(trace="changes", packets=True, audit=True)
    reference = case.reference()
    rows = rows_of(result)
    times = sorted(rows)
    agree = [matches(row, rows, times) for row in reference]
    flow = result.outcome["flows"][0]
    bottleneck = next(link for link in result.outcome["links"] if link["name"] == "x->y")
    drops = result.packets.filter(result.packets["event"] == "drop")
    return Agreement(
        case=case,
        rows=len(reference),
        same=sum(agree),
        head=agree.index(False) if False in agree else len(agree),
        first_drop=(case.first_drop(), float(drops["time_s"][0]) if len(drops) else None),
        totals={
            "acked": (int(case.number("acked_pkts")), flow["acked_packets"]),
            "retransmitted": (int(case.number("rtx_pkts")), flow["retransmitted_packets"]),
            "timeouts": (int(case.number("timeouts")), flow["timeouts"]),
            "drops": (int(case.number("drops")), bottleneck["dropped_packets"]["queue"]),
        },
        violations=result.violation_count,
    )


def rows_of(result: Result) -> dict[float, tuple[float, float, int]]:
    """The last row of each instant."""
    columns = result.trace.select("time_s", "cwnd", "ssthresh", "ack")
    return {t: (cwnd, ssthresh, ack) for t, cwnd, ssthresh, ack in columns.iter_rows()}


def matches(
    row: tuple[float, float, float, int], ours: dict[float, tuple[float, float, int]], times: list[float]
) -> bool:
    """Whether ours have a row of ns-2 within the tolerances."""
    from bisect import bisect_left

    t, cwnd, ssthresh, ack = row
    i = bisect_left(times, t - TIME_TOLERANCE_S)
    while i < len(times) and times[i] <= t + TIME_TOLERANCE_S:
        window, threshold, acked = ours[times[i]]
        if abs(window - cwnd) <= CWND_TOLERANCE and threshold == ssthresh and acked == ack:
            return True
        i += 1
    return False
