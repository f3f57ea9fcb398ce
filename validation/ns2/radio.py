"""802.11 and AODV in Ackclock and ns-2.35: two stations, chains, hidden and exposed pairs, stations, moving nodes.

`python validation/ns2/radio.py` runs ns-2 (some twenty minutes; Debian: ns2) and writes `radio.csv`; `test_radio.py`
compares Ackclock with it. `radio/` has the movement files (ns-2's setdest, 600 x 600 m, 10 m/s, pause 2 s), three for
each number of nodes.
"""

from __future__ import annotations

import csv
import math
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import reference

from ackclock.scenario import Scenario

STORED = Path(__file__).parent / "radio.csv"
MOVES = Path(__file__).parent / "radio"
MEASURES = {"throughput_kbps": "kb/s", "delivery_ratio": "", "routing_load": ""}
Place = tuple[float, float]
SENSE = 1.559e-11
"""ns-2's carrier sense: 550 m."""


@dataclass(frozen=True)
class Stream:
    """Packets from node to node: constant bit rate, or a TCP that never ends."""

    start: int
    end: int
    at_s: float
    packet: int
    packets_per_s: float = 0.0


@dataclass(frozen=True)
class Case:
    """A network of radio nodes."""

    name: str
    seconds: int
    streams: tuple[Stream, ...] = ()
    places: tuple[Place, ...] = ()
    moves: str = ""
    nodes: int = 0
    mbps: int = 2
    rts: bool = True
    aodv: bool = False
    carrier_sense: float = SENSE
    seeds: range = field(default=range(1, 4))

    @property
    def counted_from_s(self) -> float:
        """Throughput is measured from this time on."""
        return min((stream.at_s for stream in self.streams), default=2.556838917504646)


def _line(*x: float) -> tuple[Place, ...]:
    return tuple((place, 100.0) for place in x)


def _pair(mbps: int, packet: int, *, rts: bool) -> Case:
    """Two stations, saturated."""
    kbps = {1: 900, 2: 1650, 11: 5100}[mbps]
    stream = Stream(0, 1, 0.5, packet, 1.3e3 * kbps / 8 / packet)
    name = f"pair, {mbps} Mb/s, {packet} bytes, {_access(rts=rts)}"
    return Case(name, 20, (stream,), _line(100, 250), mbps=mbps, rts=rts, seeds=range(1, 3))


def _access(*, rts: bool) -> str:
    return "RTS" if rts else "basic"


def _two(
    name: str, x: tuple[float, ...], flows: tuple[tuple[int, int], ...], *, rts: bool, sense: float = SENSE
) -> Case:
    streams = tuple(Stream(a, b, 0.5 + 0.001 * i, 1000, 300) for i, (a, b) in enumerate(flows))
    name = f"{name}, {_access(rts=rts)}"
    return Case(name, 30, streams, _line(*x), rts=rts, carrier_sense=sense, seeds=range(1, 11))


def _many(count: int, *, rts: bool) -> Case:
    """Stations on a circle that all send to its centre."""
    turn = [2 * math.pi * i / count for i in range(count)]
    circle = tuple((round(250 + 50 * math.cos(t), 3), round(250 + 50 * math.sin(t), 3)) for t in turn)
    rate = max(1.5 * 850e3 / 8000 / count, 20)
    streams = tuple(Stream(i + 1, 0, round(0.5 + 0.37 * i / count, 4), 1000, rate) for i in range(count))
    places = ((250.0, 250.0), *circle)
    return Case(f"{count} stations, {_access(rts=rts)}", 40, streams, places, mbps=1, rts=rts, seeds=range(1, 7))


def _chain(hops: int, mbps: int) -> Case:
    """TCP along a line of nodes 200 m apart."""
    places = _line(*(50 + 200 * i for i in range(hops + 1)))
    stream = Stream(0, hops, 1.0, 1000)
    return Case(
        f"chain, {hops} hops, TCP, {mbps} Mb/s", 60, (stream,), places, mbps=mbps, aodv=True, seeds=range(1, 11)
    )


def _udp_chain(hops: int) -> Case:
    places = _line(*(50 + 200 * i for i in range(hops + 1)))
    stream = Stream(0, hops, 1.0, 1000, 250)
    return Case(f"chain, {hops} hops, UDP, 2 Mb/s", 30, (stream,), places, aodv=True, seeds=range(1, 11))


ACCESS = (False, True)
PAIRS = [_pair(mbps, packet, rts=rts) for mbps in (1, 2, 11) for rts in ACCESS for packet in (512, 1000)]
NEIGHBOURS = [
    *(_two("hidden senders, 700 m", (50, 250, 550, 750), ((0, 1), (3, 2)), rts=rts) for rts in ACCESS),
    *(_two("exposed senders", (50, 250, 450, 650), ((1, 0), (2, 3)), rts=rts) for rts in ACCESS),
    *(_two("hidden senders, one sink", (50, 250, 450), ((0, 1), (2, 1)), rts=rts, sense=3.652e-10) for rts in ACCESS),
]
CROWDS = [_many(count, rts=rts) for count in (5, 10, 20) for rts in ACCESS]
CHAINS = [*(_chain(hops, mbps) for mbps in (1, 2, 11) for hops in (1, 2, 3, 5)), _udp_chain(2), _udp_chain(5)]
MOVING = [
    Case(f"{nodes} nodes, file {letter}", 500, moves=f"moves_{nodes}{letter}.tcl.gz", nodes=nodes, aodv=True)
    for nodes in (10, 20, 30, 40, 50)
    for letter in "abc"
]
CASES = [*PAIRS, *NEIGHBOURS, *CROWDS, *CHAINS, *MOVING]


def scenario(case: Case) -> Scenario:
    """The case for us."""
    radio: dict[str, Any] = {
        "nodes": case.nodes or len(case.places),
        "profile": "ns2",
        "propagation": {"kind": "two_ray", "carrier_sense_threshold": case.carrier_sense},
        "mac": {
            "rate": f"{case.mbps}Mbps",
            "basic_rate": "1Mbps",
            "rts_threshold": 0 if case.rts else 3000,
        },
        "routing": {"kind": "aodv" if case.aodv else "static"},
    }
    if case.moves:
        radio["mobility"] = {"kind": "ns2", "file": str(MOVES / case.moves)}
        connections = int(0.8 * case.nodes)
        radio["traffic"] = {"kind": "cbrgen", "seed": 1, "connections": connections, "rate": 4.0, "packet": 1024}
    else:
        radio["mobility"] = {"kind": "static", "positions": [list(place) for place in case.places]}
    flows = []
    for stream in case.streams:
        flow: dict[str, Any] = {"from": f"n{stream.start}", "to": f"n{stream.end}", "start": f"{stream.at_s}s"}
        if stream.packets_per_s:
            bps = stream.packets_per_s * 8 * stream.packet
            flow["udp"] = {"rate": f"{bps:.0f}bps", "packet": stream.packet}
        flows.append(flow)
    given: dict[str, Any] = {
        "duration": f"{case.seconds}s",
        "tcp": {"profile": "ns2", "recovery": "newreno", "receive_window": 32},
        "radio": radio,
    }
    return Scenario.build(given | ({"flow": flows} if flows else {}))


def ours(case: Case, seed: int) -> dict[str, float]:
    """One run of ours. Throughput counts a TCP's headers, as ns-2's trace does."""
    outcome = scenario(case).run(seed=seed).outcome
    rate = sum(flow["throughput_bps"] for flow in outcome["flows"])
    radio = outcome["radio"]
    return {
        "throughput_kbps": rate * case.seconds / (case.seconds - case.counted_from_s) / 1e3,
        "delivery_ratio": radio["delivery_ratio"],
        "routing_load": radio["routing_load"],
    }


def ns2(case: Case, seed: int) -> list[object]:
    """One run of ns-2; the trace is read through a pipe and counted."""
    keys: dict[str, object] = {
        "n": case.nodes or len(case.places),
        "dur": case.seconds,
        "drate": f"{case.mbps}Mb",
        "brate": "1Mb",
        "rts": 0 if case.rts else 100000,
        "cs": case.carrier_sense,
        "rp": "AODV" if case.aodv else "DumbAgent",
        "seed": seed,
        "x": 1500,
        "y": 1500,
    }
    with tempfile.TemporaryDirectory() as folder:
        if case.moves:
            import gzip

            moves = Path(folder) / "moves.tcl"
            moves.write_bytes(gzip.decompress((MOVES / case.moves).read_bytes()))
            generated = {"traffic": "gen", "mc": int(0.8 * case.nodes), "gnn": case.nodes, "size": 1024, "rate": 4.0}
            keys |= {"scen": moves} | generated
        else:
            flows = [
                f"cbr,{s.start},{s.end},{s.at_s},{s.packets_per_s},{s.packet}"
                if s.packets_per_s
                else f"ftp,{s.start},{s.end},{s.at_s},{s.packet}"
                for s in case.streams
            ]
            places = " ".join(f"{x},{y}" for x, y in case.places)
            keys |= {"pos": places, "flows": " ".join(flows), "jit": 0, "win": 32}
        pipe = Path(folder) / "trace"
        os.mkfifo(pipe)
        counts = _Counts()
        reader = threading.Thread(target=counts.read, args=(pipe,))
        reader.start()
        script = reference.TCL / "fam_r_radio.tcl"
        command = ["ns", str(script), *(f"{key}={value}" for key, value in keys.items()), f"trace={pipe}"]
        subprocess.run(command, capture_output=True, check=True)
        reader.join()
    rate = counts.received_bytes * 8 / (case.seconds - case.counted_from_s) / 1e3
    total = counts.count
    return [case.name, seed, rate, total["received"] / total["sent"], total["routing"] / total["received"]]


class _Counts:
    """Counts from a trace of ns-2: packets of the agents, and transmissions of AODV."""

    def __init__(self) -> None:
        self.count: Counter[str] = Counter()
        self.received_bytes = 0
        self._size: dict[str, int] = {}

    def read(self, pipe: Path) -> None:
        with open(pipe, encoding="ascii") as lines:
            for line in lines:
                words = line.split()
                if len(words) < 8:
                    continue
                event, layer, number, kind = words[0], words[3], words[5], words[6]
                if layer == "AGT" and kind in {"cbr", "tcp"}:
                    if event == "s":
                        self.count["sent"] += 1
                        self._size[number] = int(words[7])
                    elif event == "r":
                        self.count["received"] += 1
                        self.received_bytes += self._size[number]
                elif layer == "RTR" and kind == "AODV" and event in {"s", "f"}:
                    self.count["routing"] += 1


def compared(cases: list[Case]) -> dict[tuple[str, str], reference.Compared]:
    """By case and measure: means of ours and of ns-2's."""
    found: dict[tuple[str, str], reference.Compared] = {}
    for case in cases:
        found |= reference.compare(STORED, MEASURES, [case], ours, case.seeds)
    return found


def main() -> int:
    """Run ns-2 and write the table, for the cases named on the command line or else for all cases."""
    wanted = [case for case in CASES if not sys.argv[1:] or any(case.name.startswith(a) for a in sys.argv[1:])]
    kept = []
    if STORED.is_file() and sys.argv[1:]:
        names = {case.name for case in wanted}
        with open(STORED, newline="", encoding="utf-8") as file:
            kept = [list(row.values()) for row in csv.DictReader(file) if row["case"] not in names]
    jobs = [(case, seed) for case in wanted for seed in case.seeds]
    status = reference.store(STORED, ["case", "run", *MEASURES], ns2, jobs)
    if status == 0 and kept:
        with open(STORED, "a", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(kept)
    return status


if __name__ == "__main__":
    sys.exit(main())
