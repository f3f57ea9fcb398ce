"""The networks of docs/validation-l4s.md: published measurements of Prague and DualPI2 on Linux, beside ours."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import exp, log
from pathlib import Path
from statistics import geometric_mean

from ackclock import Scenario

HERE = Path(__file__).parent
SEEDS = range(1, 6)

QUEUES = {
    "dualpi2": '{ kind = "dualpi2" }',
    "pfifo(200)": '{ kind = "droptail", limit = "200p" }',
    "pfifo(1000)": '{ kind = "droptail", limit = "1000p" }',
    "fq_codel": '{ kind = "fq_codel" }',
    "fq_codel(1q)": '{ kind = "fq_codel", flows = 1 }',
    "fq_codel(1q,1ms/20ms)": '{ kind = "fq_codel", flows = 1, target = "1ms", interval = "20ms" }',
    "pie": '{ kind = "pie", ecn = true, delay = "rate" }',
    "pie(100p/5ms)": (
        '{ kind = "pie", limit = "100p", target = "5ms", update_interval = "32ms", ecn = true, delay = "rate" }'
    ),
    "red(150000b)": (
        '{ kind = "red", limit = "150000B", min = "12500B", max = "37500B", weight = 0.0625, max_p = 0.02, '
        "adaptive = true, gentle = false, ecn = true, mark_p = 2 }"
    ),
    "red(400000b)": (
        '{ kind = "red", limit = "400000B", min = "33333B", max = "100000B", weight = 0.03125, max_p = 0.02, '
        "adaptive = true, gentle = false, ecn = true, mark_p = 2 }"
    ),
}
"""Each queueing discipline by its name in the tables: the options of `tc`, with its defaults."""

SLOW_STEP = '{ kind = "dualpi2", step = "2.4ms" }'
"""DualPI2 of the measured kernel at 10 Mb/s.

Its step marks only packets that find more than one other packet waiting, which at this rate wait 2.4 ms or longer; that
of RFC 9332 and ours marks those that leave another one behind.
"""

CONTROLS = {
    "prague": '{ congestion_control = { kind = "prague", virtual_rtt = "1ms" } }',
    "cubic": '{ congestion_control = "cubic", ecn = true }',
    "cubic-ecn": '{ congestion_control = "cubic", ecn = true }',
    "cubic-noecn": '{ congestion_control = "cubic" }',
    "reno-ecn": '{ congestion_control = "reno", ecn = true }',
    "reno-noecn": '{ congestion_control = "reno" }',
}
"""Options of TCP by the name of a sender in the tables.

Prague of 2020 had its reduction of the dependence on the round-trip time switched off (`prague_rtt_scaling`), hence the
least virtual round-trip time.
"""

CURRENT_PRAGUE = '{ congestion_control = "prague" }'
"""Prague with its default virtual round-trip time, for the kernel of 2023."""

TIMES = {"rtt": (118, 178), "rfc3168": (18, 58), "issue21": (20, 80)}
"""Begin and end of the measurement by table, s. The issue does not state them."""


@dataclass(frozen=True)
class Cell:
    """Two flows through one bottleneck, as published."""

    table: str
    """rtt, rfc3168 or issue21."""
    rate_mbps: int
    queue: str
    controls: tuple[str, str]
    rtts_ms: tuple[int, int]
    goodputs: tuple[float, float]
    """Measured, Mb/s."""

    @property
    def ratio(self) -> float:
        """The first goodput over the second, measured."""
        return self.goodputs[0] / self.goodputs[1]

    @property
    def name(self) -> str:
        """Its name in tables, such as `prague 80, cubic 20`."""
        return ", ".join(f"{control} {rtt}" for control, rtt in zip(self.controls, self.rtts_ms, strict=True))

    @property
    def ordered(self) -> Cell:
        """With Prague first, and of two equal senders the one with the longer round-trip time."""
        first, second = ((control != "prague", -rtt) for control, rtt in zip(self.controls, self.rtts_ms, strict=True))
        if first <= second:
            return self
        return replace(self, controls=self.controls[::-1], rtts_ms=self.rtts_ms[::-1], goodputs=self.goodputs[::-1])

    def scenario(self, discipline: str = "", prague: str = "") -> str:
        """Both flows have a path of their own to the bottleneck, on which half of the round-trip time is spent.

        `discipline` and `prague` replace the queueing discipline and the options of Prague.
        """
        begin, end = TIMES[self.table]
        text = f'duration = "{end}s"\nwarmup = "{begin}s"\n'
        for sender, rtt in zip(("a", "b"), self.rtts_ms, strict=True):
            text += f'[[link]]\nends = ["{sender}", "middle"]\nrate = "1Gbps"\ndelay = "{rtt / 2}ms"\n'
        discipline = discipline or (
            SLOW_STEP if (self.queue, self.rate_mbps) == ("dualpi2", 10) else QUEUES[self.queue]
        )
        text += f'[[link]]\nends = ["middle", "end"]\nrate = "{self.rate_mbps}Mbps"\ndelay = "10us"\n'
        text += f'queue = {discipline}\nback = {{ queue = {{ kind = "droptail", limit = "1000p" }} }}\n'
        prague = prague or (CURRENT_PRAGUE if self.table == "issue21" else CONTROLS["prague"])
        for sender, control in zip(("a", "b"), self.controls, strict=True):
            tcp = prague if control == "prague" else CONTROLS[control]
            text += f'[[flow]]\nname = "{sender}"\nfrom = "{sender}"\nto = "end"\nstart_jitter = "1s"\ntcp = {tcp}\n'
        return text


def cells() -> list[Cell]:
    """All published cells, in the order of the tables."""
    with (HERE / "published.csv").open() as file:
        return [
            Cell(
                row["table"],
                int(row["rate_mbps"]),
                row["queue"],
                (row["control1"], row["control2"]),
                (int(row["rtt1_ms"]), int(row["rtt2_ms"])),
                (float(row["goodput1_mbps"]), float(row["goodput2_mbps"])),
            )
            for row in csv.DictReader(file)
        ]


@dataclass(frozen=True)
class Pair:
    """Two senders behind a discipline: the published cells with either of them first."""

    cells: tuple[Cell, ...]

    @property
    def cell(self) -> Cell:
        """One of the cells."""
        return self.cells[0]

    @property
    def ratio(self) -> float:
        """The first goodput over the second, measured: geometric mean."""
        return geometric_mean(cell.ratio for cell in self.cells)


def pairs(table: str, queue: str, rate_mbps: int) -> Iterator[Pair]:
    """The pairs of senders of a table behind a discipline."""
    chosen = [cell.ordered for cell in cells() if (cell.table, cell.queue, cell.rate_mbps) == (table, queue, rate_mbps)]
    for name in dict.fromkeys(cell.name for cell in chosen):
        yield Pair(tuple(cell for cell in chosen if cell.name == name))


def run(text: str, seeds: Iterable[int] = SEEDS) -> list[tuple[float, float]]:
    """The goodputs of both flows by seed, Mb/s."""
    scenario = Scenario.parse(text)
    flows = (scenario.run(seed=seed).outcome["flows"] for seed in seeds)
    return [(first["goodput_bps"] / 1e6, second["goodput_bps"] / 1e6) for first, second in flows]


def ratio(goodputs: list[tuple[float, float]]) -> float:
    """The first goodput over the second: geometric mean."""
    return geometric_mean(first / second for first, second in goodputs)


def write_rows(name: str, rows: list[dict[str, object]]) -> None:
    """Write a file beside this one: a list in JSON, one row in a line."""
    (HERE / name).write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


def factor(measured: float, ours: float) -> float:
    """By what two ratios differ: the larger over the smaller."""
    return exp(abs(log(ours / measured)))
