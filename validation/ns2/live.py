"""Compare with ns-2 itself, where it is installed (Debian: ns2): `make validate`.

Runs every deterministic case in ns-2 with the script that made the stored traces, and holds totals and mean windows
against a run of ours.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from cases import Case, cases

TCL = Path(__file__).parent / "tcl" / "fam_t_trace.tcl"


def ns2(case: Case) -> dict[str, Any]:
    """Run the case in ns-2."""
    keys = {
        "topo": "topo",
        "bw": "bw_Mb",
        "delay": "delay_ms",
        "q": "q",
        "dur": "dur",
        "syn": "syn",
        "hdr": "hdr",
    }
    keys |= {"delack": "delack", "tick": "tick", "valpha": "valpha", "vbeta": "vbeta"}
    arguments = [f"{key}={case.row[column]}" for key, column in keys.items()]
    if case.algorithm == "vegas":
        arguments.append(f"vgamma={case.row['valpha'] if case.number('valpha') > 1 else 1}")
    command = ["ns", str(TCL), f"tcp={case.algorithm}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    found: dict[str, Any] = json.loads(done.stdout[done.stdout.index('{"family"') :].splitlines()[0])
    return found


def main() -> int:
    """Print a line a case; the last line has the largest difference."""
    if shutil.which("ns") is None:
        print("ns-2 is not installed (Debian: apt-get install ns2)", file=sys.stderr)
        return 1
    worst = 0.0
    print(f"{'case':28} {'acked':>15} {'retransmitted':>15} {'drops':>11} {'mean cwnd':>17}   (ours/ns-2)")
    for case in cases():
        reference = ns2(case)
        theirs = reference["flows"][0]
        result = case.scenario().run()
        ours = result.outcome["flows"][0]
        drops = next(link for link in result.outcome["links"] if link["name"] == "x->y")["dropped_packets"]["queue"]
        off = abs(ours["acked_packets"] / theirs["acked_pkts"] - 1)
        worst = max(worst, off)
        print(
            f"{case.name:28} {ours['acked_packets']:>7}/{theirs['acked_pkts']:<7}"
            f" {ours['retransmitted_packets']:>7}/{theirs['rtx_pkts']:<7}"
            f" {drops:>5}/{reference['queues']['bneck']['drop']:<5}"
            f" {ours['mean_cwnd']:>8.3f}/{theirs['avg_cwnd']:<8.3f}"
        )
    print(f"largest difference in packets acknowledged: {worst * 100:.2f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
