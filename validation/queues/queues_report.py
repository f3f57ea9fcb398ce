"""Write docs/validation-queues.md and its figures: `python validation/queues/queues_report.py`."""

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
from ackclock.plot.style import COLOURS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SEEDS = range(1, 11)


INTRODUCTION = """# Queues, BBR version 3, DCTCP and L4S

`python validation/queues/queues_report.py` writes this page; `validation/queues/test_queues.py` holds its figures. Vectors of the RFCs and of independent models are unit tests of `crates/net/src/qdisc`, `crates/net/src/transmitter.rs` and `crates/cc/src`. Intervals are 95 % over seeds.
"""

NS3_REMARKS = """
What differs: the device of ns-3 holds a second packet, so its waits are up to 1.2 ms shorter. Its recovery is `TcpClassicRecovery`; its default, PRR, counts segments that duplicate ACKs report twice, and one flow behind CoDel then has 8.3 Mb/s. It has neither RACK nor tail loss probes and a smallest timeout of 1 s (24 to 75 timeouts a run with ten flows). Its FQ-CoDel tests the bytes of a flow's own queue, below 1500; Linux and ours test those of all queues, at most 1514. Tested with the own queue only, ours has a mean wait of 24 ms with ten flows.
"""


BBR3_REMARKS = """
With an ACK for every segment, as in the model, ours is within 1 % of it at 1, 2 and 5 % of loss and 4 % below at 3 %. Delayed ACKs cause the remaining difference: with a few segments in flight the receiver holds the last ACK of a flight for up to 40 ms, and the samples of the delivery rate fall.
"""

L4S_REMARKS = """
The column of laws follows from the windows of the controllers: 2/p segments in a round-trip time for DCTCP and Prague, 1.68/sqrt(p') for CUBIC in its Reno region, p = 2 sqrt(p') (RFC 9332), and the measured mean round-trip times. At 5 and 10 ms it explains the ratios: the classic flow has 15 ms of queue in its round-trip time, so that DCTCP's is a quarter of it at 5 ms, and Prague counts 25 ms. RFC 9332 couples the probabilities, not the round-trip times; nothing is missing in the queue. From 20 ms on one classic flow does not keep its queue at the target, and the low-latency flow takes what it leaves.
"""


def disciplines(found: dict[str, Bloat]) -> str:
    """Goodput and delays of a CUBIC flow by discipline."""
    text = "## A CUBIC flow by discipline\n\n"
    text += "`scenarios/bufferbloat.toml`: 10 Mb/s, 40 ms, one CUBIC flow and a sparse UDP flow of 50 kb/s, ten seeds. "
    text += "Delays are 95th percentiles of the queueing delay.\n\n"
    text += "| discipline | goodput, Mb/s | delay of CUBIC, ms | delay of the sparse flow, ms |\n|---|---|---|---|\n"
    for name, b in found.items():
        row = (b.goodput.text(2), b.bulk_delay.text(1), b.sparse_delay.text(1))
        text += f"| {name} | {' | '.join(row)} |\n"
    text += "\n![95th percentile of the queueing delay against goodput, by discipline](figures/disciplines.svg)\n\n"
    return text + "Drop-tail has the highest goodput and a delay of its whole buffer; the others give up 1 to 5 %.\n"


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
    text = "## L4S: a low-latency and a CUBIC flow behind DualPI2\n\n`scenarios/l4s.toml`, 40 Mb/s, five seeds. "
    text += (
        "The ratio is the goodput of the low-latency flow over that of the CUBIC flow; delays are 99th percentiles of "
    )
    text += "the queueing delay. RFC 9332 claims about equal rates; Prague grows more slowly below 25 ms by design.\n\n"
    text += "| controller | RTT, ms | ratio | by the laws | low-latency delay, ms | CUBIC's delay, ms |\n"
    text += "|---|---|---|---|---|---|\n"
    for control in ("prague", "dctcp"):
        for rtt in (5, 10, 20, 50, 100):
            runs = [coexistence(str(ROOT), control, rtt, seed) for seed in range(1, 6)]
            ratio = stats.mean([run.ratio for run in runs])
            delays = (mean(run.low_ms for run in runs), mean(run.classic_ms for run in runs))
            laws = mean(run.laws for run in runs)
            text += f"| {control} | {rtt} | {ratio.text(2)} | {laws:.2f} | {delays[0]:.2f} | {delays[1]:.1f} |\n"
    return text + L4S_REMARKS


def dctcp() -> str:
    """The queue of DCTCP at its threshold."""
    text = "## DCTCP: the queue at the marking threshold\n\nTwo flows, 10 Gb/s, 70 µs; the queue should stay at the "
    text += "threshold (within 20 %).\n\n| threshold, packets | mean queue, packets | utilisation |\n|---|---|---|\n"
    for threshold in (20, 65, 100):
        queue, utilisation = dctcp_queue(threshold, 1)
        text += f"| {threshold} | {queue:.1f} | {utilisation:.3f} |\n"
    return text


def ns3() -> str:
    """CUBIC behind CoDel, FQ-CoDel and PIE: ns-3 beside ours."""
    text = "## ns-3.44 beside ours\n\nCUBIC flows over 10 Mb/s and 40 ms, 10 to 60 s, five seeds each: goodput of all flows "
    text += (
        "and mean wait at the bottleneck, ns-3 / ours. `validation/queues/ns3_aqm.py` made the recording beside it.\n\n"
    )
    text += "| discipline | flows | goodput, Mb/s | mean wait, ms |\n|---|---|---|---|\n"
    for case in ns3_cases():
        runs = [cubic_behind(case.queue, case.flows, seed) for seed in range(1, 6)]
        goodput, wait = mean(run[0] for run in runs), mean(run[1] for run in runs)
        text += f"| {case.name} | {case.flows} | {case.goodput:.2f} / {goodput:.2f} "
        text += f"({100 * (goodput / case.goodput - 1):+.1f} %) | {case.wait:.1f} / {wait:.1f} |\n"
    return text + NS3_REMARKS


def bbr3() -> str:
    """Whole runs of BBR version 3 beside the independent model."""
    text = (
        "## BBR version 3 beside an independent model\n\nOne flow, 40 ms, 21 s. The model is a simulation of the draft "
    )
    text += "in 150 lines with one bottleneck, whose sender learns of a loss by the next ACK and whose receiver "
    text += "acknowledges every segment; ours waits for RACK's reordering window. Numbers are segments delivered over "
    text += "those that the link could carry, with random loss means of 60 seeds.\n\n"
    text += "| situation | model | ours | ours with delayed ACKs |\n|---|---|---|---|\n"
    clean = bbr3_alone(80, 0.0, 1)
    delayed = bbr3_alone(80, 0.0, 1, delayed_ack=True)
    text += f"| 1000 segments/s, buffer 80 | 0.964 | {used(clean, 12e6):.3f} | {used(delayed, 12e6):.3f} |\n"
    waits = [1e3 * run.outcome["links"][0]["mean_sojourn_s"] for run in (clean, delayed)]
    text += f"| the same: mean wait, ms | 4.5 | {waits[0]:.1f} | {waits[1]:.1f} |\n"
    for loss, (model, half) in BBR3_MODEL.items():
        ours = [
            stats.mean([used(bbr3_alone(80, loss, seed, "6Mbps", delayed_ack=delay), 6e6) for seed in range(1, 61)])
            for delay in (False, True)
        ]
        text += f"| 500 segments/s, random loss {100 * loss:g} % | {model:.3f} ± {half:.3f} | "
        text += f"{ours[0].text(3)} | {ours[1].text(3)} |\n"
    return text + BBR3_REMARKS


def policer() -> str:
    """BBR version 1 through a policer."""
    text = (
        "## BBR version 1 through a policer\n\nOne flow, 60 s: a policer of 5 Mb/s on a link of 50 Mb/s, 40 ms, by the "
    )
    text += (
        "burst of the policer. Long-term sampling sets the rate for 48 rounds (2.1 s), then the flow probes for about "
    )
    text += (
        "half a second, in which it loses a fifth of its segments, until two samples agree again. The goodput is that "
    )
    text += "of payload.\n\n| burst | `lt` | goodput, Mb/s | sent again | time in use | rate in use, Mb/s |\n"
    text += "|---|---|---|---|---|---|\n"
    for burst in ("15kB", "30kB", "100kB"):
        for long_term in (True, False):
            p = policed(long_term, burst)
            text += f"| {burst} | {'on' if long_term else 'off'} | {p.goodput:.2f} | {100 * p.lost:.1f} % | "
            text += f"{100 * p.in_use:.0f} % | {f'{p.rate:.2f}' if p.rate else '-'} |\n"
    return text


def beside_cubic() -> str:
    """BBR's share beside CUBIC and where it crosses one half."""
    depths = (0.5, 1, 1.5, 2, 2.5, 3, 4, 8, 16, 32)
    text = "## BBR beside CUBIC\n\n`scenarios/bbr_cubic.toml`: share of the goodput of one BBR flow beside one CUBIC flow, "
    text += "50 Mb/s, 40 ms, ten seeds, by the depth of the buffer in bandwidth-delay products. The paper "
    text += "[bbr](../papers/bbr/README.md) has the figure.\n\n"
    text += (
        "| version | " + " | ".join(f"{depth:g}" for depth in depths) + " |\n|---" * 1 + "|---" * len(depths) + "|\n"
    )
    for control in ("bbr", "bbr3"):
        shares = []
        for depth in depths:
            scenario = Scenario.load(
                str(ROOT / "scenarios" / "bbr_cubic.toml"),
                [f"link.bottleneck.queue.limit={depth}bdp", f"flow.bbr.tcp.congestion_control={control}"],
            )
            flows = [scenario.run(seed=seed).outcome["flows"] for seed in SEEDS]
            shares.append(mean(bbr["goodput_bps"] / (bbr["goodput_bps"] + c["goodput_bps"]) for c, bbr in flows))
        text += f"| {control} | " + " | ".join(f"{share:.2f}" for share in shares) + " |\n"
        below = next(i for i, share in enumerate(shares) if share < 0.5)
        part = (shares[below - 1] - 0.5) / (shares[below - 1] - shares[below])
        cross = depths[below - 1] + part * (depths[below] - depths[below - 1])
        text += "" if control == "bbr" else "\n"
        crossings[control] = cross
    return text + f"Version 1 falls below one half at {crossings['bbr']:.1f}, version 3 at {crossings['bbr3']:.1f}.\n"


crossings: dict[str, float] = {}


def main() -> None:
    """Write the page and its figures."""
    found = {name: bufferbloat(str(ROOT), name, SEEDS) for name in DISCIPLINES}
    draw_disciplines(found)
    sections = [disciplines(found), beside_cubic(), policer(), bbr3(), low_latency(), dctcp(), ns3()]
    (DOCS / "validation-queues.md").write_text(INTRODUCTION + "\n" + "\n".join(sections))


if __name__ == "__main__":
    main()
