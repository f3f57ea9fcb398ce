"""Vegas over the 20 cells of the CA-ARTT paper's Table 3, in ns-2: writes `papers/ca-artt/reference/ns2-vegas.csv`.

It runs readings A and F of the network with seeds 1 to 10; papers/ca-artt/studies/ns2.toml has the same runs for
Ackclock. Run `python validation/ns2/vegas.py`; it needs ns-2 (Debian: ns2) and takes a minute or two.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

import reference

TARGET = Path(__file__).parents[2] / "papers" / "ca-artt" / "reference" / "ns2-vegas.csv"
READINGS: dict[str, dict[str, object]] = {"A": {"win": 10000}, "F": {"win": 20, "rtt": 200, "fstart": 0.8}}
FIELDS = ["reading", "K", "Cf", "seed", "acked_packets", "retransmitted_packets", "timeouts"]


def ns2(reading: str, k: int, cf: int, seed: int) -> list[object]:
    """One run; Cr is the value of the table's head, half of that of Eq. 34."""
    keys = {"cf": cf, "cr": cf * 1000 / 25 / k / 2, "seed": seed, "sample": 10} | READINGS[reading]
    flow = reference.run("fam_a_asym.tcl", keys)["flows"][0]
    return [reading, k, f"{cf}Mbps", seed, flow["acked_pkts"], flow["rtx_pkts"], flow["timeouts"]]


def main() -> int:
    """Write the table."""
    jobs = product(READINGS, (2, 4, 8, 16, 32), (2, 4, 8, 16), reference.SEEDS)
    return reference.store(TARGET, FIELDS, ns2, jobs)


if __name__ == "__main__":
    sys.exit(main())
