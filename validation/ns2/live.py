"""Compare with ns-2 itself, where it is installed (Debian: ns2): `make validate`.

Runs every deterministic case in ns-2 with the script that made the stored traces, and compares totals and mean windows
with a run of Ackclock.
"""

from __future__ import annotations

import sys
from typing import Any

import reference
from cases import Case, cases


def ns2(case: Case) -> dict[str, Any]:
    """Run the case in ns-2."""
    columns = {"bw": "bw_Mb", "delay": "delay_ms"}
    same = ("topo", "q", "dur", "syn", "hdr", "delack", "tick", "valpha", "vbeta")
    keys = {"tcp": case.algorithm} | {key: case.row[columns.get(key, key)] for key in (*same, *columns)}
    if case.algorithm == "vegas":
        keys["vgamma"] = case.row["valpha"] if case.number("valpha") > 1 else "1"
    return reference.run("fam_t_trace.tcl", keys)


def main() -> int:
    """Print a line a case; the last line has the largest difference."""
    if reference.missing():
        return 1
    worst = 0.0
    print(f"{'case':28} {'acked':>15} {'retransmitted':>15} {'drops':>11} {'mean cwnd':>17}   (ours/ns-2)")
    for case in cases():
        found = ns2(case)
        theirs = found["flows"][0]
        result = case.scenario().run()
        ours = result.outcome["flows"][0]
        drops = next(link for link in result.outcome["links"] if link["name"] == "x->y")["dropped_packets"]["queue"]
        off = abs(ours["acked_packets"] / theirs["acked_pkts"] - 1)
        worst = max(worst, off)
        print(
            f"{case.name:28} {ours['acked_packets']:>7}/{theirs['acked_pkts']:<7}"
            f" {ours['retransmitted_packets']:>7}/{theirs['rtx_pkts']:<7}"
            f" {drops:>5}/{found['queues']['bneck']['drop']:<5}"
            f" {ours['mean_cwnd']:>8.3f}/{theirs['avg_cwnd']:<8.3f}"
        )
    print(f"largest difference in packets acknowledged: {worst * 100:.2f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
