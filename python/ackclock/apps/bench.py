"""The speed benchmark: a dumbbell in Ackclock and, if it is installed, in ns-2.

The measure is packet-hops per CPU second of the event loop; a packet-hop is one packet crossing one link. Runs of the
two simulators on the same network alternate, so that changes of the machine's speed affect both. The CPU time of the
set-up is excluded for both.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from ackclock import _core
from ackclock.base.plain_console import PlainConsole

SCHEDULERS = ("Calendar", "Heap", "List", "Map")
"""Event schedulers of ns-2; Calendar is its default."""
NS2_FLOW_COUNTS = (1, 10, 100, 1000)
ACKCLOCK_FLOW_COUNTS = (10_000, 100_000)
SECONDS = 100.0
LARGE_SECONDS = 10.0
RATE_BPS = 100_000_000
LARGE_RATE_BPS = 10_000_000_000


@dataclass(frozen=True)
class Measurement:
    """One run of one simulator."""

    packet_hops: int
    cpu_s: float
    goodput_bps: float
    events: int = 0
    peak_bytes: int = 0

    @property
    def speed(self) -> float:
        """Packet-hops per CPU second."""
        return self.packet_hops / self.cpu_s if self.cpu_s > 0 else float("nan")


@dataclass(frozen=True)
class FlowCountResult:
    """All runs with one number of flows."""

    flows: int
    ours: list[Measurement]
    theirs: list[Measurement]
    scheduler: str = ""
    """The scheduler of ns-2, its fastest with this number of flows."""

    @property
    def ratios(self) -> list[float]:
        """Speed of Ackclock divided by the speed of ns-2, for each pair of runs."""
        return [a.speed / b.speed for a, b in zip(self.ours, self.theirs, strict=False)]


CHILD = """
import json, resource, sys
from ackclock import _core
flows, seconds, rate = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
found = json.loads(_core.bench(flows, seconds, rate))
found["peak_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps(found))
"""


def output(command: list[str]) -> dict[str, Any]:
    """What a program prints of one run: the JSON of its last line."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stderr.strip().splitlines()[-1:]}")
    try:
        found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        raise RuntimeError(f"{command[0]} printed no result: {done.stdout.strip()[-200:]!r}") from None
    return found


def run(command: list[str]) -> Measurement:
    """One run of a program."""
    return Measurement(**output(command))


def our_command(flows: int, seconds: float, rate_bps: int) -> list[str]:
    """The benchmark in Ackclock, in a separate process, so that the process's peak memory is that of the run."""
    return [sys.executable, "-c", CHILD, str(flows), str(seconds), str(rate_bps)]


def ours(flows: int, seconds: float, rate_bps: int) -> Measurement:
    """Run Ackclock."""
    return run(our_command(flows, seconds, rate_bps))


def ns2_script() -> Path | None:
    """Path of the benchmark script for ns-2; None if the script or ns-2 is missing."""
    script = Path("benches/peers/dumbbell.tcl")
    return script if script.exists() and shutil.which("ns") else None


def ns2_command(flows: int, seconds: float, rate_bps: int, scheduler: str) -> list[str]:
    """The benchmark in ns-2."""
    keys = {"n": flows, "dur": f"{seconds:g}", "mbps": rate_bps // 1_000_000, "scheduler": scheduler}
    return ["ns", str(ns2_script()), *(f"{key}={value}" for key, value in keys.items())]


def fastest_scheduler(flows: int, seconds: float, rate_bps: int) -> str:
    """The scheduler with which ns-2 takes the least CPU time, from a fifth of the run."""
    runs = {name: run(ns2_command(flows, seconds / 5, rate_bps, name)) for name in SCHEDULERS}
    return max(runs, key=lambda name: runs[name].speed)


def measure(flows: int, repeat: int, quick: bool, console: PlainConsole) -> FlowCountResult:
    """Run the benchmark with `flows` flows `repeat` times, alternating with ns-2."""
    large = flows > max(NS2_FLOW_COUNTS)
    seconds = (LARGE_SECONDS if large else SECONDS) / (10 if quick else 1)
    rate = LARGE_RATE_BPS if large else RATE_BPS
    beside = not large and ns2_script() is not None
    mine, theirs = [], []
    with console.status(f"{flows:,} flows"):
        scheduler = fastest_scheduler(flows, seconds, rate) if beside else ""
        for _ in range(repeat):
            mine.append(ours(flows, seconds, rate))
            if beside:
                theirs.append(run(ns2_command(flows, seconds, rate, scheduler)))
    return FlowCountResult(flows, mine, theirs, scheduler)


def main(flows: list[int] | None, *, repeat: int, quick: bool, as_json: bool) -> int:
    """Measure and print."""
    console = PlainConsole(stderr=True)
    if ns2_script() is None:
        console.print("ns-2 or benches/peers is missing (Debian: ns2; run in the repository): only Ackclock runs")
    floor = ours(1, 0.01, RATE_BPS).peak_bytes
    results = [measure(n, repeat, quick, console) for n in flows or (*NS2_FLOW_COUNTS, *ACKCLOCK_FLOW_COUNTS)]
    if as_json:
        print(json.dumps([asdict(c) | {"ratios": c.ratios, "pgo": _core.PGO} for c in results]))
    else:
        PlainConsole().print(table(results, floor))
        if not _core.PGO:
            console.print(
                "the core is built without profile-guided optimisation; `make pgo` makes it 1.2 times as fast"
            )
    return 0


def table(results: list[FlowCountResult], floor: int) -> Table:
    """A table of medians, with minimum and maximum of the ratio, and the memory of each flow after the first."""
    table = Table(title="Packet-hops per CPU second, millions", title_justify="left", box=None, pad_edge=False)
    for name in (
        "flows",
        "ackclock",
        "ns-2",
        "its scheduler",
        "ratio",
        "min-max",
        "goodput difference",
        "events/hop",
        "memory/flow",
    ):
        table.add_column(name, justify="right")
    for c in results:
        speed = statistics.median(m.speed for m in c.ours) / 1e6
        row = [f"{c.flows:,}", f"{speed:.1f}"]
        if c.theirs:
            off = c.ours[0].goodput_bps / c.theirs[0].goodput_bps - 1
            row.append(f"{statistics.median(m.speed for m in c.theirs) / 1e6:.2f}")
            row += [
                c.scheduler,
                f"{statistics.median(c.ratios):.1f}",
                f"{min(c.ratios):.1f}-{max(c.ratios):.1f}",
                f"{off * 100:+.2f} %",
            ]
        else:
            row += ["-"] * 5
        memory = (c.ours[0].peak_bytes - floor) / c.flows
        row += [
            f"{c.ours[0].events / c.ours[0].packet_hops:.2f}",
            f"{memory / 1000:.1f} kB" if c.flows >= max(NS2_FLOW_COUNTS) else "-",
        ]
        table.add_row(*row)
    return table
