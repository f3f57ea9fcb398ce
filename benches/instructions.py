"""Check for performance regressions: instructions per data packet and per packet-hop, counted by callgrind.

Per data packet, its acknowledgement and losses included, of what people run (docs/speed.md): the difference of two
durations, so without the set-up. Per packet-hop, with the set-up, of the dumbbell that is compared with ns-2.

Of the network as a library (docs/stacks.md): per datagram of a toy transport, and per step without an event.

Instruction counts do not depend on the load of the machine; times do, so CI does not use them. A count more than 5 %
above its bound fails. A count more than 5 % below its bound prints a hint to lower the bound. `--write` stores the
current counts as bounds; `--build` builds the programs alone. Without losses recovery `rack` may cost at most 1.05
times `sack`, counted in the same run.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
BOUNDS = Path(__file__).with_suffix(".json")
SLACK = 0.05
# Flows and simulated seconds: enough for the steady state to dominate, and still a few seconds under callgrind.
CASES: dict[str, tuple[int, float, *tuple[str, ...]]] = {
    "dumbbell 1": (1, 2.0),
    "dumbbell 10": (10, 2.0),
    "dumbbell 100": (100, 2.0),
    "dumbbell 1000": (1000, 1.0),
    "QUIC 1": (1, 2.0, "100Mbps", "quic"),
    "CoDel 10": (10, 2.0, "100Mbps", "codel"),
}

PACKETS: dict[str, tuple[str, float, float]] = {
    "BBR beside CUBIC": ("scenarios/bbr_cubic.toml", 10, 30),
    "L4S": ("scenarios/l4s.toml", 10, 30),
    "CUBIC with RACK": ("benches/cubic.toml", 5, 15),
    "Wi-Fi": ("scenarios/wifi.toml", 3, 5),
    "QUIC beside TCP": ("scenarios/quic.toml", 5, 15),
}
"""A scenario, and two durations, seconds."""
DUMBBELL_PACKETS = {"NewReno": (), "RACK without losses": ("rack",)}
"""The dumbbell of 100 flows: more arguments of its program."""
STACKS = {"stack datagram": ("toy", "2"), "stack step": ("idle", "200000")}
CALLS = {"registered Reno": "reno", "Reno as library": "libmine.so", "Reno as module": "mine.wasm"}
"""Of controllers in C (docs/native-controllers.md): per ACK, the controller's own included."""
READING = {"capture table": "table", "capture rows": "rows"}
"""Of a capture of 8 s of 100 Mb/s (docs/traces.md), headers only: per packet, data and ACKs."""
CAPTURED = """
duration = "8s"
link = [{ ends = ["a", "b"], rate = "100Mbps", delay = "10ms", queue = { kind = "droptail", limit = "1bdp" } }]
flow = [{ name = "x", from = "a", to = "b", tcp = { congestion_control = "cubic" } }]
"""
EXAMPLES = {
    "dumbbell": "ackclock-lab",
    "packet_cost": "ackclock-lab",
    "network_cost": "ackclock",
    "call_cost": "ackclock-foreign",
    "reading_cost": "ackclock-trace",
}
"""The programs that are counted, and their crates."""

RACK_MOST = 1.05


def counted(example: str, *arguments: object) -> tuple[int, dict[str, float]]:
    """The instructions of a program of the repository, and what it prints."""
    binary = ROOT / "target" / "release" / "examples" / example
    return callgrind([str(binary), *map(str, arguments)])


def callgrind(command: list[str]) -> tuple[int, dict[str, float]]:
    """The instructions of a command, and the JSON of the last line that it prints. Raises RuntimeError if it fails."""
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command]
    done = subprocess.run(valgrind, capture_output=True, text=True, check=False)
    total = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or total is None:
        raise RuntimeError(f"callgrind of {command[0]}: {done.stderr[-300:]}")
    return int(total[1]), json.loads(done.stdout.strip().splitlines()[-1])


def count(example: str, *arguments: object) -> float:
    """Instructions per packet-hop, datagram, call or packet of the whole process, including the set-up."""
    instructions, printed = counted(example, *arguments)
    return instructions / printed["packet_hops"]


def count_packets() -> dict[str, float]:
    """Instructions per data packet without the set-up, of each case of `PACKETS` and `DUMBBELL_PACKETS`."""
    counts = {}
    for name, (file, *durations) in PACKETS.items():
        (before, short), (after, long) = (counted("packet_cost", ROOT / file, seconds) for seconds in durations)
        counts[name] = (after - before) / (long["data_packets"] - short["data_packets"])
    for name, more in DUMBBELL_PACKETS.items():
        (before, short), (after, long) = (counted("dumbbell", 100, seconds, "100Mbps", *more) for seconds in (1, 3))
        # A data packet and its ACK have three links each.
        counts[name] = 6 * (after - before) / (long["packet_hops"] - short["packet_hops"])
    return {name: round(count) for name, count in counts.items()}


def count_calls() -> dict[str, float]:
    """Instructions of an ACK of each controller of `CALLS`; the library is that of `ackclock new mine.c`."""
    package, target = ROOT / "python" / "ackclock", ROOT / "target" / "call_cost"
    target.mkdir(parents=True, exist_ok=True)
    files = {"libmine.so": target / "libmine.so", "mine.wasm": ROOT / "web/src/core/mine.wasm"}
    source = ["-x", "c", str(package / "cli/templates/controller.c.txt"), "-I", str(package / "include")]
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(files["libmine.so"]), *source], check=True)
    return {name: round(count("call_cost", files.get(file, file), 100_000), 1) for name, file in CALLS.items()}


def count_reading() -> dict[str, float]:
    """Instructions of a packet of a capture that is read, the reading of the file included."""
    from ackclock import Scenario

    file = ROOT / "target" / "reading_cost.pcapng"
    file.write_bytes(Scenario.parse(CAPTURED).run(captures=["a"]).captures["a"])
    return {name: round(count("reading_cost", file, what), 1) for name, what in READING.items()}


def main() -> int:
    """Count, compare, report; 1 if a bound is broken."""
    if shutil.which("valgrind") is None:
        print("not checked: instruction counts; install valgrind", file=sys.stderr)
        return 1 if "CI" in os.environ else 0
    for crate in dict.fromkeys(EXAMPLES.values()):
        build = ["cargo", "build", "--locked", "--quiet", "--release", "-p", crate]
        build += [word for example, owner in EXAMPLES.items() if owner == crate for word in ("--example", example)]
        subprocess.run(build, cwd=ROOT, check=True)
    if "--build" in sys.argv:
        return 0
    counts = count_packets()
    counts |= {name: round(count("dumbbell", *case), 1) for name, case in CASES.items()}
    counts |= {name: round(count("network_cost", *case), 1) for name, case in STACKS.items()}
    counts |= count_calls()
    counts |= count_reading()
    if "--write" in sys.argv:
        BOUNDS.write_text(json.dumps(counts, indent=2) + "\n")
        return 0
    bounds = json.loads(BOUNDS.read_text())
    broken = 0
    for name, found in counts.items():
        off = found / bounds[name] - 1
        verdict = "ok" if abs(off) <= SLACK else ("MORE than the bound" if off > 0 else "less: lower the bound")
        broken += off > SLACK
        unit = "data packet" if name in PACKETS | DUMBBELL_PACKETS else "packet-hop"
        print(f"{name:19} {found:7.1f} instructions per {unit} ({off * 100:+.1f} % of the bound): {verdict}")
    print(f"CoDel at the bottleneck: {counts['CoDel 10'] / counts['dumbbell 10']:.2f} times drop-tail")
    sack, rack = (count("dumbbell", 10, 2.0, "100Mbps", recovery) for recovery in ("sack", "rack"))
    print(f"recovery rack without losses: {rack / sack:.3f} times sack (at most {RACK_MOST})")
    return 1 if broken or rack / sack > RACK_MOST else 0


if __name__ == "__main__":
    sys.exit(main())
