"""The benchmark's dumbbell in Ackclock, ns-2, htsim and ns-3, in turns.

    .venv/bin/python benches/peers.py [FLOWS ...] [--rounds 5] [--htsim DIR] [--instructions]

In each round every program runs once; a ratio is the speed of Ackclock over that of another program in the same round.
The speed is packet-hops per CPU second of the run, without the set-up. The simulated time differs between the programs,
so that each needs about one to six CPU seconds. ns-2 and htsim derive the packet-hops from the counters of TCP; a run
that counts them at every link checks this. ns-3 counts them in its queues. The goodput is that of the second half of
the simulated time, of the program and of Ackclock with the same simulated time.

Needed: ns-2 and ns-3 (Debian: ns2, libns3-dev), and git and g++ for htsim, which is fetched into target/peers. A
program that is not there is named, and the others run.

--htsim DIR       a checkout of htsim, used instead of the fetched one
--instructions    instructions per packet-hop instead of times, counted by valgrind: the difference of two durations
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from instructions import callgrind

from ackclock.apps.bench import (
    RATE_BPS,
    FlowCountResult,
    Measurement,
    fastest_scheduler,
    ns2_command,
    ns2_script,
    our_command,
    ours,
    output,
    run,
)

ROOT = Path(__file__).parents[1]
DRIVERS = ROOT / "benches" / "peers"
BUILT = ROOT / "target" / "peers"
FLOWS = (10, 100, 1000)
ROUNDS = 5
# Simulated seconds of a run, so that each needs about one to six CPU seconds.
OUR_SECONDS = 1000.0
NS2_SECONDS = 200.0
HTSIM_SECONDS = 300.0
NS3_SECONDS = 10.0
NS3_MOST_FLOWS = 100
"""With 1,000 flows ns-3 needs ten times as long for a packet-hop as with 100: a run takes minutes."""
COUNTS_DIFFER = 0.005
"""How much derived and counted packet-hops may differ: packets in flight at the end are counted only."""

HTSIM = "https://github.com/Broadcom/csg-htsim"
HTSIM_COMMIT = "841d9e7be46bb968eece766aa4b6c044c7799f67"
HTSIM_SOURCES = (
    *("config", "eth_pause_packet", "eventlist", "fairpullqueue", "logfile", "loggers", "mtcp", "ndppacket", "network"),
    *("pipe", "queue", "route", "tcp", "tcppacket"),
)
NS3_LIBRARIES = ("applications", "nix-vector-routing", "point-to-point", "internet", "network", "core")

Command = Callable[[int, float], list[str]]


class Missing(Exception):
    """A program that cannot run here, and the remedy."""


@dataclass(frozen=True)
class Peer:
    """Another simulator."""

    name: str
    command: Command
    """Its command for a number of flows and a simulated time, seconds."""
    seconds: float
    """Simulated seconds of a run."""
    instruction_seconds: tuple[float, float]
    """Two simulated times between which instructions are counted, seconds."""
    counts: bool = True
    """Whether `count=1` counts the packet-hops at every link."""
    most_flows: int = sys.maxsize


@dataclass
class Row:
    """All runs of a program with one number of flows."""

    flows: int
    peer: Peer
    goodputs_bps: tuple[float, float]
    """Goodput of the second half of the simulated time, its and Ackclock's."""
    pairs: FlowCountResult = field(init=False)

    def __post_init__(self) -> None:
        self.pairs = FlowCountResult(self.flows, [], [])


def compiled(name: str, arguments: Sequence[str], sources: Sequence[Path]) -> Path:
    """The program `name`, compiled unless it is there; its sources and options are part of its file name."""
    compiler = shutil.which("g++")
    if compiler is None:
        raise Missing(f"{name}: no C++ compiler; Debian: apt-get install g++")
    digest = hashlib.sha256(" ".join(arguments).encode())
    for file in sources:
        digest.update(file.read_bytes())
    binary = BUILT / f"{name}-{digest.hexdigest()[:12]}"
    if not binary.exists():
        BUILT.mkdir(parents=True, exist_ok=True)
        part = binary.with_suffix(".part")
        command = [compiler, "-O3", "-DNDEBUG", "-std=c++17", "-w", "-o", str(part), *arguments]
        print(f"compiling {name}", file=sys.stderr)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if "error" in line] or [f"exit status {done.returncode}"]
            raise Missing(f"{name} does not compile: {lines[0]}")
        part.rename(binary)
    return binary


def fetch_htsim() -> Path:
    """The pinned commit of htsim, fetched unless it is there: its folder `sim` only."""
    folder = BUILT / f"htsim-{HTSIM_COMMIT[:12]}"
    if not folder.exists():
        if shutil.which("git") is None:
            raise Missing("htsim: git is not installed; Debian: apt-get install git, or give a checkout: --htsim DIR")
        part = folder.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        print(f"fetching htsim from {HTSIM}", file=sys.stderr)
        for words in (
            ("init", "--quiet"),
            ("remote", "add", "origin", HTSIM),
            ("fetch", "--quiet", "--depth=1", "--filter=blob:none", "origin", HTSIM_COMMIT),
            ("checkout", "--quiet", HTSIM_COMMIT, "--", "sim"),
        ):
            done = subprocess.run(["git", "-C", str(part), *words], capture_output=True, text=True, check=False)
            if done.returncode:
                reason = (done.stderr.strip().splitlines() or [f"git {words[0]} failed"])[-1]
                raise Missing(f"htsim cannot be fetched ({reason}); give a checkout of {HTSIM}: --htsim DIR")
        part.rename(folder)
    return folder


def driver(binary: Path, flows: int, seconds: float) -> list[str]:
    """The benchmark in a program of ours in C++ that builds the network with the library of another simulator."""
    return [str(binary), f"n={flows}", f"dur={seconds:g}", f"mbps={RATE_BPS // 1_000_000}"]


def find_ns2() -> Peer:
    """ns-2; its scheduler is chosen for each number of flows."""
    if ns2_script() is None:
        raise Missing("ns-2 is not installed; Debian: apt-get install ns2")
    schedulers: dict[int, str] = {}

    def command(flows: int, seconds: float) -> list[str]:
        if flows not in schedulers:
            schedulers[flows] = fastest_scheduler(flows, NS2_SECONDS / 4, RATE_BPS)
            print(f"ns-2, {flows:,} flows: {schedulers[flows]} is its fastest scheduler", file=sys.stderr)
        return ns2_command(flows, seconds, RATE_BPS, schedulers[flows])

    return Peer("ns-2", command, NS2_SECONDS, (5, 10))


def find_htsim(checkout: Path | None) -> Peer:
    """Our driver of htsim, optimised over all its files."""
    folder = (checkout or fetch_htsim()) / "sim"
    source = DRIVERS / "dumbbell_htsim.cc"
    files = [str(folder / f"{name}.cpp") for name in HTSIM_SOURCES]
    sources = [source, *sorted(folder.glob("*.cpp")), *sorted(folder.glob("*.h"))]
    binary = compiled("htsim", ["-flto", "-I", str(folder), str(source), *files], sources)
    return Peer("htsim", partial(driver, binary), HTSIM_SECONDS, (5, 10))


def find_ns3() -> Peer:
    """Our driver of ns-3."""
    source = DRIVERS / "dumbbell_ns3.cc"
    try:
        binary = compiled("ns-3", [str(source), *(f"-lns3-{name}" for name in NS3_LIBRARIES)], [source])
    except Missing as missing:
        if "No such file" in str(missing):
            raise Missing("ns-3 is not installed; Debian: apt-get install libns3-dev") from None
        raise
    return Peer("ns-3", partial(driver, binary), NS3_SECONDS, (2, 3), counts=False, most_flows=NS3_MOST_FLOWS)


def find_peers(htsim: Path | None) -> list[Peer]:
    """The other simulators that can run here; the others are named on stderr, with the remedy."""
    peers = []
    for find in (find_ns2, partial(find_htsim, htsim), find_ns3):
        try:
            peers.append(find())
        except Missing as missing:
            print(f"left out: {missing}", file=sys.stderr)
    return peers


def check_count(peer: Peer, flows: int, half: dict[str, float]) -> None:
    """Raise an error if the packet-hops derived in a run with `count=1` are not those that were counted."""
    off = half["packet_hops"] / half["counted"] - 1
    if abs(off) > COUNTS_DIFFER:
        raise RuntimeError(
            f"{peer.name}, {flows:,} flows: derived and counted packet-hops differ by {off * 100:+.2f} %"
        )


def second_half(half_bps: float, whole_bps: float) -> float:
    """Goodput of the second half of a run, bit/s, from that of the first half and that of the whole run."""
    return 2 * whole_bps - half_bps


def prepare(peer: Peer, flows: int) -> Row:
    """The goodputs of a program and of Ackclock, with a check of the packet-hops."""
    half = output([*peer.command(flows, peer.seconds / 2), *(["count=1"] if peer.counts else [])])
    if peer.counts:
        check_count(peer, flows, half)
    whole = output(peer.command(flows, peer.seconds))
    mine = [ours(flows, seconds, RATE_BPS).goodput_bps for seconds in (peer.seconds / 2, peer.seconds)]
    return Row(flows, peer, (second_half(half["goodput_bps"], whole["goodput_bps"]), second_half(mine[0], mine[1])))


def measure(peers: list[Peer], flows: int, rounds: int) -> tuple[list[Measurement], list[Row]]:
    """Run Ackclock and the other programs in turns."""
    print(f"{flows:,} flows: goodputs", file=sys.stderr)
    rows = [prepare(peer, flows) for peer in peers if flows <= peer.most_flows]
    mine = []
    for turn in range(rounds):
        print(f"{flows:,} flows: round {turn + 1} of {rounds}", file=sys.stderr)
        mine.append(ours(flows, OUR_SECONDS, RATE_BPS))
        for row in rows:
            row.pairs.ours.append(mine[-1])
            row.pairs.theirs.append(run(row.peer.command(flows, row.peer.seconds)))
    return mine, rows


def table(results: list[tuple[list[Measurement], list[Row]]], flows: Sequence[int]) -> str:
    """Medians, with the least and the most of the ratios, in Markdown."""
    lines = [
        "| program | flows | simulated s | million packet-hops per CPU s | Ackclock / it (least to most) "
        "| goodput of the second half, Mb/s | of Ackclock |",
        "|---|---|---|---|---|---|---|",
    ]
    for number, (mine, rows) in zip(flows, results, strict=True):
        speed = statistics.median(measurement.speed for measurement in mine) / 1e6
        lines.append(f"| Ackclock | {number:,} | {OUR_SECONDS:g} | {speed:.1f} | | | |")
        for row in rows:
            ratios = row.pairs.ratios
            its, our = (bps / 1e6 for bps in row.goodputs_bps)
            speed = statistics.median(measurement.speed for measurement in row.pairs.theirs) / 1e6
            digits = 0 if min(ratios) > 20 else 1
            cells = [
                *(row.peer.name, f"{number:,}", f"{row.peer.seconds:g}", f"{speed:.2f}"),
                f"{statistics.median(ratios):.{digits}f} ({min(ratios):.{digits}f} to {max(ratios):.{digits}f})",
                *(f"{its:.1f}", f"{our:.1f} ({(our / its - 1) * 100:+.1f} %)"),
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def instructions(command: Command, flows: int, seconds: tuple[float, float]) -> float:
    """Instructions per packet-hop between two simulated times, counted by callgrind."""
    totals = []
    for duration in seconds:
        program, *arguments = command(flows, duration)
        totals.append(callgrind([shutil.which(program) or program, *arguments]))
    (before, short), (after, long) = totals
    return (after - before) / (long["packet_hops"] - short["packet_hops"])


def instruction_table(peers: list[Peer], flows: Sequence[int]) -> str:
    """Instructions per packet-hop of each program, in Markdown."""
    mine = Peer("Ackclock", lambda n, seconds: our_command(n, seconds, RATE_BPS), OUR_SECONDS, (5, 10))
    lines = ["| program | flows | instructions per packet-hop | over Ackclock's |", "|---|---|---|---|"]
    for number in flows:
        counts: list[float] = []
        for peer in (mine, *(peer for peer in peers if number <= peer.most_flows)):
            print(f"{number:,} flows: instructions of {peer.name}", file=sys.stderr)
            counts.append(instructions(peer.command, number, peer.instruction_seconds))
            lines.append(f"| {peer.name} | {number:,} | {counts[-1]:,.0f} | {counts[-1] / counts[0]:.1f} |")
    return "\n".join(lines)


def at_least_one(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def checkout(text: str) -> Path:
    """A folder with the sources of htsim."""
    folder = Path(text).resolve()
    if not (folder / "sim" / "tcp.h").is_file():
        raise argparse.ArgumentTypeError(f"{text} has no file sim/tcp.h; give a checkout of {HTSIM}")
    return folder


def main(words: Sequence[str]) -> int:
    """Measure and print; 1 if a program fails, 2 for bad input."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("flows", nargs="*", type=at_least_one, metavar="FLOWS", help="default: 10, 100 and 1,000")
    parser.add_argument("--rounds", type=at_least_one, default=ROUNDS, help=f"default: {ROUNDS}")
    parser.add_argument("--htsim", type=checkout, metavar="DIR", help="a checkout of htsim, instead of the fetched one")
    parser.add_argument("--instructions", action="store_true", help="count instructions, of 100 flows by default")
    arguments = parser.parse_args(words)
    os.chdir(ROOT)
    if arguments.instructions and shutil.which("valgrind") is None:
        print("error: valgrind is not installed; Debian: apt-get install valgrind", file=sys.stderr)
        return 2
    peers = find_peers(arguments.htsim)
    try:
        if arguments.instructions:
            print(instruction_table(peers, arguments.flows or (100,)))
        else:
            flows = arguments.flows or FLOWS
            print(table([measure(peers, number, arguments.rounds) for number in flows], flows))
    except RuntimeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
