"""Write docs/validation-queues.md and its figure: `python validation/queues/queues_report.py`.

The tables of ngtcp2 and udp_prague stay as they are on the page: validation/bbr3 and validation/prague print them.
"""

from __future__ import annotations

from pathlib import Path
from statistics import mean

from matplotlib.figure import Figure
from situations import (
    BBR3_MODEL,
    DISCIPLINES,
    Bloat,
    bbr3_alone,
    bufferbloat,
    coexistence,
    cubic_behind,
    dctcp_queue,
    ns3_cases,
    policed,
    used,
)

from ackclock import Scenario, stats
from ackclock.draw.style import COLOURS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SEEDS = range(1, 11)


PAGE = DOCS / "validation-queues.md"

INTRODUCTION = """# Queues, BBR version 3, DCTCP and L4S

Queues and controllers of Ackclock beside ns-3.44, ngtcp2, udp_prague and independent models.

![95th percentile of the queueing delay against goodput, by discipline](figures/disciplines.svg){ .figure }

A point of the figure:

```sh
ackclock run @bufferbloat --set 'link.bottleneck.queue={ kind = "fq_codel", ecn = false }'
```

"""

SUMMARY = """| compared with | result |
|---|---|
| ns-3.44: CUBIC behind CoDel, FQ-CoDel and PIE | %(ns3)s |
| an independent model of BBR version 3 | %(bbr3)s |
| ngtcp2's BBR version 3 | goodput within 0.5 %% without losses, other flows and changes of the rate; with a line of ngtcp2 left out within 10 %% in seven of eight networks |
| udp_prague | alone within 1 %%; beside CUBIC it takes up to twice as much |
| the windows of DCTCP, Prague and CUBIC | they explain the shares behind DualPI2 at 5 and 10 ms |
| the marking threshold of DCTCP | %(dctcp)s |

In a clone, `python validation/queues/queues_report.py` writes this page, and `validation/queues/test_queues.py` holds its figures. Vectors of the RFCs and of independent models are unit tests of `crates/net` and `crates/cc`. Intervals are 95 %% over seeds. Linux: [Prague and DualPI2](validation-l4s.md).
"""

NS3_REMARKS = """
Differences: the device of ns-3 holds a second packet, so its waits are up to 1.2 ms shorter. Its recovery is `TcpClassicRecovery`; its default, PRR, counts segments that duplicate ACKs report twice, and one flow behind CoDel then has 8.3 Mb/s. It has neither RACK nor tail loss probes, and a smallest timeout of 1 s (24 to 75 timeouts a run with ten flows). Its FQ-CoDel tests the bytes of a flow's own queue, below 1500; Linux and Ackclock test the bytes of all queues, at most 1514. With ns-3's test, Ackclock has a mean wait of 24 ms with ten flows.
"""


BBR3_REMARKS = """
Delayed ACKs lower the numbers: with a few segments in flight the receiver holds the last ACK of a flight for up to 40 ms, and the samples of the delivery rate fall.
"""

NGTCP2 = """## BBR version 3: ngtcp2

ngtcp2 (commit f3af8b14) has a BBR of the same draft. `validation/bbr3/ngtcp2_bbr.py` compiles it and runs it in this simulator as a controller over QUIC, with the same packets, losses and delivery-rate samples: 60 s of which the first 5 do not count, ten seeds, which also draw the times of the probes. Until the first probe the windows of both are equal within a segment.
"""

NGTCP2_REMARKS = """
"Mark kept": without one line of ngtcp2_bbr.c. That line forgets too early that the window was full. So the slope with which a probe raises the long-term bound never doubles (one segment a round trip; the draft has 1, 2, 4, ...), and after random losses ngtcp2 recovers slowly. Without the line the goodputs agree within 10 %, beside CUBIC 11 %. Neither has proportional rate reduction here; ECN and idle restart of ngtcp2 were not compared.
"""

L4S_REMARKS = """
"By the laws" follows from the windows of the controllers: 2/p segments in a round-trip time for DCTCP and Prague, 1.68/sqrt(p') for CUBIC in its Reno region, p = 2 sqrt(p') (RFC 9332), and the measured mean round-trip times. At 5 and 10 ms it explains the ratios: the classic flow has 15 ms of queue in its round-trip time, and Prague counts 25 ms. From 20 ms on one classic flow does not keep its queue at the target, and the low-latency flow takes what it leaves.
"""

UDP_PRAGUE = """### Prague: udp_prague

udp_prague (commit e8e3435) is a rate-based sender for UDP by the authors of Prague. `validation/prague/udp_prague.py` compiles it and runs it as a controller in `scenarios/l4s.toml`, alone and beside CUBIC, five seeds.
"""

UDP_PRAGUE_REMARKS = """
Beside CUBIC udp_prague takes nearly twice as much at 5 and 10 ms, and as much at 50 ms. The cause is how often a mark may reduce the window: here once in a round trip, as the draft has it, in udp_prague once in a virtual round trip of at least 25 ms. With that rule the ratio here is 0.71 at 5 ms and 1.06 at 10 ms; without delayed ACKs, which udp_prague does not have, 0.84 and 1.13.
"""


def closed(summary: str, table: str) -> str:
    """A table that a reader opens."""
    return f"<details markdown><summary>{summary}</summary>\n\n{table}\n</details>\n"


def recorded(name: str) -> str:
    """The table between the markers of this name on the page. Another script prints it, from sources of others."""
    page = PAGE.read_text(encoding="utf-8")
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    return begin + page.partition(begin)[2].partition(end)[0] + end


def disciplines(found: dict[str, Bloat]) -> str:
    """Goodput and delays of a CUBIC flow by discipline."""
    text = "## A CUBIC flow by discipline\n\n"
    text += "`scenarios/bufferbloat.toml`: 10 Mb/s, 40 ms, one CUBIC flow and a sparse UDP flow of 50 kb/s, ten seeds. "
    text += (
        "Delays are 95th percentiles of the queueing delay. Drop-tail has the highest goodput and a delay of its whole "
    )
    text += "buffer; the others give up 1 to 5 %.\n\n"
    table = "| discipline | goodput, Mb/s | delay of CUBIC, ms | delay of the sparse flow, ms |\n|---|---|---|---|\n"
    for name, b in found.items():
        row = (b.goodput.text(2), b.bulk_delay.text(1), b.sparse_delay.text(1))
        table += f"| {name} | {' | '.join(row)} |\n"
    return text + closed("Goodput and delays of five disciplines", table)


def draw_disciplines(found: dict[str, Bloat]) -> None:
    """Delay against goodput."""
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axes = figure.subplots()
    for number, (label, pick) in enumerate((("CUBIC flow", "bulk_delay"), ("sparse flow", "sparse_delay"))):
        values = [getattr(b, pick) for b in found.values()]
        axes.errorbar(
            [value.value for value in values],
            [number * 0.16 - 0.08 + i for i in range(len(values))],
            xerr=[value.half_width or 0 for value in values],
            fmt="os"[number],
            color=COLOURS[number],
            capsize=3,
            label=label,
        )
    names = [f"{name} ({b.goodput.value:.2f} Mb/s)" for name, b in found.items()]
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xscale("log")
    ticks = (1, 2, 5, 10, 20, 50, 100, 200, 500)
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("95th percentile of the queueing delay (ms)")
    axes.grid(axis="x", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="center right")
    figure.savefig(DOCS / "figures" / "disciplines.svg", metadata={"Date": None})


def low_latency() -> str:
    """Shares and delays behind DualPI2."""
    text = "## L4S: a low-latency and a CUBIC flow behind DualPI2\n\n`scenarios/l4s.toml`, 40 Mb/s, five seeds. The ratio is "
    text += (
        "the goodput of the low-latency flow over that of the CUBIC flow; delays are 99th percentiles of the queueing "
    )
    text += "delay. RFC 9332 claims about equal rates; Prague grows more slowly below 25 ms by design.\n\n"
    table = "| controller | RTT, ms | ratio | by the laws | low-latency delay, ms | CUBIC's delay, ms |\n"
    table += "|---|---|---|---|---|---|\n"
    for control in ("prague", "dctcp"):
        for rtt in (5, 10, 20, 50, 100):
            runs = [coexistence(str(ROOT), control, rtt, seed) for seed in range(1, 6)]
            ratio = stats.mean([run.ratio for run in runs])
            delays = (mean(run.low_ms for run in runs), mean(run.classic_ms for run in runs))
            laws = mean(run.laws for run in runs)
            table += f"| {control} | {rtt} | {ratio.text(2)} | {laws:.2f} | {delays[0]:.2f} | {delays[1]:.1f} |\n"
    text += closed("Prague and DCTCP beside CUBIC, 5 to 100 ms", table) + L4S_REMARKS
    text += f"\n{UDP_PRAGUE}\n{closed('Prague here and in udp_prague, 5 to 100 ms', recorded('udp_prague'))}"
    return text + UDP_PRAGUE_REMARKS


def dctcp() -> tuple[str, str]:
    """The queue of DCTCP at its threshold, and the result in a few words."""
    text = "## DCTCP: the queue at the marking threshold\n\nTwo flows, 10 Gb/s, 70 µs; the queue should stay at the "
    text += "threshold (within 20 %).\n\n"
    table = "| threshold, packets | mean queue, packets | utilisation |\n|---|---|---|\n"
    distances = []
    for threshold in (20, 65, 100):
        queue, utilisation = dctcp_queue(threshold, 1)
        distances.append(100 * abs(queue / threshold - 1))
        table += f"| {threshold} | {queue:.1f} | {utilisation:.3f} |\n"
    return text + closed(
        "Queue and utilisation at three thresholds", table
    ), f"mean queue within {max(distances):.0f} %"


def ns3() -> tuple[str, str]:
    """CUBIC behind CoDel, FQ-CoDel and PIE in ns-3 and Ackclock, and the result in a few words."""
    text = "## CoDel, FQ-CoDel and PIE: ns-3.44\n\nCUBIC flows over 10 Mb/s and 40 ms, 10 to 60 s, five seeds each: goodput "
    text += "of all flows and mean wait at the bottleneck, ns-3 / Ackclock. `validation/queues/ns3_aqm.py` made the "
    text += "recording beside it.\n\n"
    table = "| discipline | flows | goodput, Mb/s | mean wait, ms |\n|---|---|---|---|\n"
    goodputs, waits, fair = [], [], ""
    for case in ns3_cases():
        runs = [cubic_behind(case.queue, case.flows, seed) for seed in range(1, 6)]
        goodput, wait = mean(run[0] for run in runs), mean(run[1] for run in runs)
        table += f"| {case.name} | {case.flows} | {case.goodput:.2f} / {goodput:.2f} "
        table += f"({100 * (goodput / case.goodput - 1):+.1f} %) | {case.wait:.1f} / {wait:.1f} |\n"
        goodputs.append(100 * abs(goodput / case.goodput - 1))
        if (case.name, case.flows) == ("fq_codel", 10):
            fair = f"{wait:.1f} ms with ten flows behind FQ-CoDel (ns-3 {case.wait:.1f} ms)"
        else:
            waits.append(abs(wait - case.wait))
    words = f"goodput within {max(goodputs):.1f} %; mean waits within {max(waits):.1f} ms, but {fair}"
    return text + closed("One and ten flows by discipline", table) + NS3_REMARKS, words


def bbr3() -> tuple[str, str]:
    """Whole runs of BBR version 3 beside the independent model and ngtcp2, and the result in a few words."""
    text = "## BBR version 3: an independent model\n\nOne flow, 40 ms, 21 s. The model is a simulation of the draft in 150 "
    text += "lines with one bottleneck, whose sender learns of a loss by the next ACK and whose receiver acknowledges every "
    text += (
        "segment; Ackclock waits for RACK's reordering window. Numbers are segments delivered over those that the link "
    )
    text += "could carry; with random losses, means of 60 seeds.\n\n"
    table = "| situation | model | ours | ours with delayed ACKs |\n|---|---|---|---|\n"
    clean = bbr3_alone(80, 0.0, 1)
    delayed = bbr3_alone(80, 0.0, 1, delayed_ack=True)
    table += f"| 1000 segments/s, buffer 80 | 0.964 | {used(clean, 12e6):.3f} | {used(delayed, 12e6):.3f} |\n"
    waits = [1e3 * run.outcome["links"][0]["mean_sojourn_s"] for run in (clean, delayed)]
    table += f"| the same: mean wait, ms | 4.5 | {waits[0]:.1f} | {waits[1]:.1f} |\n"
    parts = []
    for loss, (model, half) in BBR3_MODEL.items():
        ours = [
            stats.mean([used(bbr3_alone(80, loss, seed, "6Mbps", delayed_ack=delay), 6e6) for seed in range(1, 61)])
            for delay in (False, True)
        ]
        table += f"| 500 segments/s, random loss {100 * loss:g} % | {model:.3f} ± {half:.3f} | "
        table += f"{ours[0].text(3)} | {ours[1].text(3)} |\n"
        parts.append(f"{100 * (ours[0].value / model - 1):+.1f} % (loss rate {100 * loss:g} %)")
    text += closed("BBR version 3 by loss rate", table) + BBR3_REMARKS
    text += f"\n{NGTCP2}\n{closed('Goodput and queue in eight networks', recorded('ngtcp2'))}"
    return text + NGTCP2_REMARKS, f"segments delivered, with an ACK for every segment: {', '.join(parts)}"


def policer() -> str:
    """BBR version 1 through a policer."""
    text = (
        "## BBR version 1 through a policer\n\nOne flow, 60 s: a policer of 5 Mb/s on a link of 50 Mb/s, 40 ms, by the "
    )
    text += (
        "burst of the policer. Long-term sampling sets the rate for 48 rounds (2.1 s), then the flow probes for about "
    )
    text += "half a second, in which it loses a fifth of its segments, until two samples agree again.\n\n"
    table = (
        "| burst | `lt` | goodput, Mb/s | sent again | time in use | rate in use, Mb/s |\n|---|---|---|---|---|---|\n"
    )
    for burst in ("15kB", "30kB", "100kB"):
        for long_term in (True, False):
            p = policed(long_term, burst)
            table += f"| {burst} | {'on' if long_term else 'off'} | {p.goodput:.2f} | {100 * p.lost:.1f} % | "
            table += f"{100 * p.in_use:.0f} % | {f'{p.rate:.2f}' if p.rate else '-'} |\n"
    return text + closed("With and without long-term sampling, three bursts", table)


def beside_cubic() -> str:
    """BBR's share beside CUBIC and where it crosses one half."""
    depths = (0.5, 1, 1.5, 2, 2.5, 3, 4, 8, 16, 32)
    crossings: dict[str, float] = {}
    text = "## BBR beside CUBIC\n\n`scenarios/bbr_cubic.toml`: share of the goodput of one BBR flow beside one CUBIC flow, "
    text += "50 Mb/s, 40 ms, ten seeds, by the depth of the buffer in bandwidth-delay products. The paper "
    text += "[bbr](../papers/bbr/README.md) has the figure. "
    table = f"| version | {' | '.join(f'{depth:g}' for depth in depths)} |\n|---{'|---' * len(depths)}|\n"
    for control in ("bbr", "bbr3"):
        shares = []
        for depth in depths:
            scenario = Scenario.load(
                str(ROOT / "scenarios" / "bbr_cubic.toml"),
                [f"link.bottleneck.queue.limit={depth}bdp", f"flow.bbr.tcp.congestion_control={control}"],
            )
            flows = [scenario.run(seed=seed).outcome["flows"] for seed in SEEDS]
            shares.append(mean(bbr["goodput_bps"] / (bbr["goodput_bps"] + c["goodput_bps"]) for c, bbr in flows))
        table += f"| {control} | " + " | ".join(f"{share:.2f}" for share in shares) + " |\n"
        below = next(i for i, share in enumerate(shares) if share < 0.5)
        part = (shares[below - 1] - 0.5) / (shares[below - 1] - shares[below])
        cross = depths[below - 1] + part * (depths[below] - depths[below - 1])
        crossings[control] = cross
    text += f"Version 1 falls below one half at {crossings['bbr']:.1f}, version 3 at {crossings['bbr3']:.1f}.\n\n"
    return text + closed("Share by depth of the buffer", table)


def main() -> None:
    """Write the page and its figure."""
    found = {name: bufferbloat(str(ROOT), name, SEEDS) for name in DISCIPLINES}
    draw_disciplines(found)
    compared = {"ns3": ns3(), "bbr3": bbr3(), "dctcp": dctcp()}
    text = {name: section for name, (section, _) in compared.items()}
    summary = SUMMARY % {name: words for name, (_, words) in compared.items()}
    sections = [disciplines(found), text["ns3"], beside_cubic(), policer(), text["bbr3"], low_latency(), text["dctcp"]]
    PAGE.write_text(INTRODUCTION + summary + "\n" + "\n".join(sections), encoding="utf-8")


if __name__ == "__main__":
    main()
