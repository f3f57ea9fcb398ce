"""Write docs/validation-modules.md: `python validation/linux_modules/modules_report.py`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from module_networks import DURATION_S, NETWORKS, OURS, QUIC
from module_pairs import Pair, pairs
from record_modules import recorded

PAGE = Path(__file__).parents[2] / "docs" / "validation-modules.md"

INTRODUCTION = """# Linux 6.12 beside ours

The congestion controllers of Ackclock beside the modules of Linux {kernel}. {equal} of {modules} modules and ours have equal windows, row by row, in all networks. This command runs H-TCP as in Linux, in an empty folder:

```sh
ackclock run @bufferbloat --set 'tcp.congestion_control={{ kind = "htcp", variant = "linux" }}'
```

Each module of the Debian package linux-source-6.12 is compiled without a change to WebAssembly, against a header that declares the names of the kernel ([`ackclock module`](linux-modules.md)). It drives the sender of this simulator, profile `linux`; the calls within an ACK have the order of the kernel's `tcp_ack()`. The window trace, the totals and a hash of the rows of each second are recorded as numbers. The tests compare our controllers with these numbers, without sources of the kernel. `python validation/linux_modules/record_modules.py` records again.

A run is *equal* if every row of the window trace has the same time and the same window. The distance is the mean difference of both windows every 50 ms, as a part of the mean window of the module.
"""

CAUSES = {
    "bbr": "Rates are real numbers here and whole bytes in the kernel, so the windows differ by parts of a microsecond from the fourth ACK on. Our quantum does not grow below 4 ms of round-trip time, so the queue at 10 ms is longer. If the window decides which packets are lost (a small buffer, losses of 1 %, ACK compression) the runs diverge. Goodput agrees within 0.6 %.",
    "cdg": "The decisions are random, and the module ends slow start by a HyStart of its own (`hystart_detect`). If a draw decides the end of slow start, goodputs differ by any amount, so a comparison says nothing.",
    "lp": "Windows of the module equal those of `reno`, row by row, in all 17 runs: it adds the offset between the clocks of both ends, which a kernel draws at random, to the delay, so that 0.15 of the range, which it sets from the delay, is never exceeded again. (It also divides 1,000 by an integer estimate of the rate of the receiver's clock.) Ours follows the paper.",
}
"""Why a module and ours differ."""


@dataclass(frozen=True)
class Summary:
    """A module and ours in all networks of a kind."""

    name: str
    runs: list[Pair]

    @property
    def equal(self) -> int:
        """Runs whose window traces are equal, row by row."""
        return sum(pair.equal_until is None for pair in self.runs)

    def largest(self, value: Callable[[Pair], float]) -> float:
        """The value with the largest amount."""
        return max((value(pair) for pair in self.runs), key=abs)

    @property
    def distance(self) -> float:
        """The mean distance of the windows."""
        return sum(pair.distance for pair in self.runs) / len(self.runs)

    def row(self) -> str:
        """A row of the table."""
        sums = [
            sum(run.retransmitted for run in side) for side in zip(*((p.linux, p.ours) for p in self.runs), strict=True)
        ]
        return (
            f"| {self.name} | `{OURS[self.name]}` | "
            f"**{self.equal} of {len(self.runs)}** | {self.largest(lambda p: p.goodput):+.1%} | "
            f"{self.largest(lambda p: p.rtt):+.1%} | {self.distance:.2%} | {sums[0]} / {sums[1]} |\n"
        )


def summaries(names: tuple[str, ...] = tuple(OURS)) -> list[tuple[Summary, Summary | None]]:
    """Of each module the comparison over TCP and, where there is one, over QUIC."""
    both = []
    for name in names:
        runs = list(pairs((name,)))
        tcp = Summary(name, [pair for pair in runs if not pair.network.startswith(QUIC)])
        quic = [pair for pair in runs if pair.network.startswith(QUIC)]
        both.append((tcp, Summary(name, quic) if quic else None))
    return both


def closed(summary: str, table: str) -> str:
    """A table that the page shows after a click."""
    return f"<details markdown><summary>{summary}</summary>\n\n{table}\n</details>\n"


def page() -> str:
    """The page."""
    both = summaries()
    equal = sum(tcp.equal == len(tcp.runs) for tcp, _ in both)
    text = INTRODUCTION.format(kernel=recorded()["kernel"], equal=equal, modules=len(both))
    text += f"\n## TCP\n\nThirteen networks of {DURATION_S} s, one of them with four seeds, one with two.\n\n"
    table = "| module | ours | equal | goodput, largest difference | mean round-trip time, largest difference | distance, mean | retransmitted, module / ours |\n"
    table += "|---|---|---|---|---|---|---|\n" + "".join(tcp.row() for tcp, _ in both)
    text += closed("Every module over TCP", table)
    text += "\nDifferences:\n\n" + "".join(f"- **{name}**: {CAUSES[name]}\n" for name in OURS if name in CAUSES)
    rest = [tcp for tcp, _ in both if tcp.equal < len(tcp.runs) and tcp.name not in CAUSES]
    for tcp in rest:
        unequal = ", ".join(
            f"{p.network} (seed {p.seed}, from {p.equal_until} s)" for p in tcp.runs if p.equal_until is not None
        )
        text += f"- **{tcp.name}**: {unequal}; goodput within {abs(tcp.largest(lambda p: p.goodput)):.2%}.\n"
    text += "\nThe package has neither BBR version 3 (google/bbr, branch v3) nor Prague (L4STeam). They are compared with ngtcp2's BBR ([queues, BBR and L4S](validation-queues.md)) and with published measurements of the L4STeam kernel ([Prague and DualPI2](validation-l4s.md)).\n"
    text += "\n## QUIC\n\nThe same modules on the QUIC of this project, in five of the networks.\n\n"
    table = "| module | equal | goodput, largest difference | distance, mean |\n|---|---|---|---|\n"
    for _, quic in both:
        if quic:
            goodput = quic.largest(lambda p: p.goodput)
            table += f"| {quic.name} | {quic.equal} of {len(quic.runs)} | {goodput:+.1%} | {quic.distance:.2%} |\n"
    text += closed("Every module over QUIC", table)
    text += "\n## Networks\n\n" + ", ".join(name for name in NETWORKS if not name.startswith(QUIC)) + ".\n\n"
    text += "`rate steps`: 20 Mb/s, 200 kb/s from 14 to 17 s, 40 Mb/s from 28 s. `outages`: 0.1, 2 and 1 s. `ECN`: CoDel marks. `application limited`: 300 kB every 250 ms. `ACK compression`: ACKs return every 5 ms. With DCTCP each network marks at a threshold of 2 ms.\n"
    return text


if __name__ == "__main__":
    PAGE.write_text(page())
