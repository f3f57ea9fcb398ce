"""Reno of the running kernel beside our Prague, for docs/validation-l4s.md: in real time (three minutes; root).

`python validation/l4s/kernel_reno.py` writes kernel_reno.json.
"""

from __future__ import annotations

from dataclasses import replace

from networks import cells, write_rows

from ackclock import Scenario
from ackclock.apps.reach.substrates import substrate

QUEUES = ("fq_codel(1q)", "pie", "red(400000b)")


def main() -> None:
    """Run the kernel's Reno once behind each discipline and write its goodput."""
    rows = []
    for cell in cells():
        if cell.table != "rfc3168" or cell.controls[1] != "reno-ecn" or cell.queue not in QUEUES:
            continue
        swapped = replace(cell, controls=cell.controls[::-1])  # the kernel has the first flow
        outcome = substrate("linux:reno").run(Scenario.parse(swapped.scenario()), 1).outcome
        reno, prague = (round(flow["goodput_bps"] / 1e6, 2) for flow in outcome["flows"])
        validity = outcome["validity"]
        row = {"queue": cell.queue, "reno_mbps": reno, "prague_mbps": prague, "valid": validity["valid"]}
        rows.append(row | {"kernel": validity["kernel"].split("-")[0]})
        print(rows[-1], flush=True)
    write_rows("kernel_reno.json", rows)


if __name__ == "__main__":
    main()
