"""The share of the kernel's BBR beside the kernel's CUBIC behind deep buffers, for papers/bbr: in real time.

`python validation/linux/bbr_shares.py` runs both through `ackclock emulate` with 10 Mb/s, 40 ms and drop-tail queues of
several bandwidth-delay products, 200 s each, and writes papers/bbr/reference/kernel.csv (14 minutes; root,
/dev/net/tun, the module tcp_bbr).
"""

from __future__ import annotations

import csv
import platform
from pathlib import Path

from bulk import emulate

TARGET = Path(__file__).parents[2] / "papers" / "bbr" / "reference" / "kernel.csv"
DEPTHS = (8, 16, 32, 64)
BEGIN_S, END_S = 40, 200
SCENARIO = """
duration = "230s"
[[link]]
name  = "l"
ends  = ["a", "b"]
rate  = "10Mbps"
delay = "20ms"
queue = {{ kind = "droptail", limit = "{depth}bdp" }}
back  = {{ queue = {{ kind = "droptail", limit = "10000p" }} }}
[[flow]]
name = "f"
from = "a"
to   = "b"
"""


def measure(depth: int) -> dict[str, object]:
    """Both flows behind a queue of `depth` bandwidth-delay products."""
    goodputs, outcome = emulate(SCENARIO.format(depth=depth), ["bbr", "cubic"], "large", BEGIN_S, END_S)
    validity = outcome["validity"]
    return {
        "buffer_bdp": depth,
        "bbr_mbps": goodputs["bbr"],
        "cubic_mbps": goodputs["cubic"],
        "share": round(goodputs["bbr"] / sum(goodputs.values()), 4),
        "valid": validity["valid"],
        "late_p99_ms": round(1e3 * validity["lateness_s"]["p99"], 3),
        "kernel": platform.release().split("-")[0],
    }


def main() -> None:
    """Measure all depths and write the table."""
    rows = [measure(depth) for depth in DEPTHS]
    with TARGET.open("w") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
