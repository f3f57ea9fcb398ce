"""Write docs/validation-l4s.md, its figure and results.json: `python validation/l4s/l4s_report.py` (two minutes)."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean, median

from matplotlib.figure import Figure
from networks import CONTROLS, HERE, QUEUES, Pair, factor, pairs, ratio, run, write_rows

from ackclock.draw.style import COLOURS

DOCS = Path(__file__).parents[2] / "docs"

INTRODUCTION = """# Prague and DualPI2 beside Linux

Published measurements of two flows on Linux kernels with Prague and DualPI2, and the same networks in Ackclock. The value that is compared is the ratio of the two goodputs.

![Ratios of goodputs: ours against measured](figures/l4s.svg)

Each point is a pair of flows. Dotted lines are a factor of two.

"""

METHOD = """
A factor is the larger of two ratios over the smaller one. The last column compares two measured runs of the same pair. Ours are geometric means of five seeds.

In a clone of the repository, `python validation/l4s/l4s_report.py` runs all pairs in two minutes and writes this page; `validation/l4s/test_l4s.py` holds some of the ratios within bounds. The published numbers are in `validation/l4s/published.csv`, ours in `validation/l4s/results.json`.

## Measurements

- [heistp/l4s-tests](https://github.com/heistp/l4s-tests) (P. Heist and J. Morton; tables of the README at commit e21cd91a, measured in November 2020): two flows in network namespaces, HTB with a queueing discipline, `netem` for the delay. The kernel is [L4STeam/linux](https://github.com/L4STeam/linux) at commit b256daed of August 2020. Each cell is one run. *Scenario 1* has every pair of Prague and CUBIC with equal and different round-trip times, mean of 60 s after two minutes. *Scenario 6* has Prague beside CUBIC and Reno behind disciplines without L4S, mean of 40 s.
- [L4STeam/linux, issue 21](https://github.com/L4STeam/linux/issues/21) (a comment of July 2023): Prague and CUBIC through a router with DualPI2.

## Their networks in Ackclock

- Prague of August 2020 does not reduce its dependence on the round-trip time (its module has `prague_rtt_scaling` 0 and `prague_ecn_fallback` 0): `virtual_rtt = "1ms"`, the least value. Issue 21 has the default.
- Every discipline has the options of the published `tc` commands and the defaults of `tc`. PIE measures the departure rate, as in Linux before 5.6. CUBIC sends ECT(0) except in rows with "noecn".
- The step of the measured DualPI2 marks a packet only if more than one other packet waited when it arrived. RFC 9332 and Ackclock mark a packet if another one waits when it leaves. At 50 Mb/s this makes no difference. At 10 Mb/s, where a packet takes 1.2 ms, it is a step of 2.4 ms, which the rows of 10 Mb/s have; the last column of that table has a step of 1 ms.
- A packet is 1500 bytes at our bottleneck and 1514 at theirs. Flows start within one second.
"""

REMARKS = """## Differences

- **Two Prague flows with different round-trip times** behind DualPI2: the longer path gets less here, by a factor of 1.6 to 2.1 at 50 Mb/s. Only the step marks. On a link without noise it marks all packets of a period or none, for both flows at once, so the ratio lies between the ratio of the round-trip times, which random marks would give, and its square. A jitter of up to 1 ms before the bottleneck brings ours within a factor of 1.25 of the measurement. Bursts of 2^-12 s, as the module sends them, bring two of the three pairs nearer:

{noise}
- **Reno beside Prague** behind a discipline without L4S: {reno}
- **CUBIC beside Prague** behind a discipline without L4S: {cubic} The windows of the controllers give one ratio for all disciplines, because each discipline marks both flows with one probability, and ours has one ratio. The measured ratios of the disciplines differ by a fifth.
- **CUBIC with 160 ms behind FQ-CoDel** takes three quarters of its share here and nine tenths in the measurement; the other flow takes the rest. CoDel's interval of 100 ms is shorter than the round-trip time. Without ECN ours is nearer (0.63 and 0.83 at 50 and 10 Mb/s; measured: 0.84 and 0.81). The cause is not known.
- **Prague beside CUBIC behind drop-tail**: with queues of 240 ms a few losses decide. The two measured runs of a pair differ by up to a factor of 2.4, ours by up to 3.2 between seeds. One cell of the source (1000 packets, CUBIC 20 ms and Prague 10 ms) has the values of another cell; the summary and the figure do not count it.
"""


def closed(summary: str, table: str) -> str:
    """A table that the page shows after a click."""
    return f"<details markdown><summary>{summary}</summary>\n\n{table}\n</details>\n"


def header(step: bool = False) -> str:
    """The head of a table."""
    names = ["senders and round-trip times, ms", "measured, Mb/s", "ours, Mb/s", "measured ratio", "ours", "factor"]
    names += ["step of 1 ms"] if step else []
    return f"| {' | '.join(names)} |\n|{'---|' * len(names)}\n"


class Group:
    """Pairs of senders behind one discipline, measured and ours."""

    def __init__(self, title: str, table: str, queue: str, rate_mbps: int) -> None:
        self.title, self.queue, self.rate_mbps = title, queue, rate_mbps
        self.pairs = list(pairs(table, queue, rate_mbps))
        self.goodputs = [run(pair.cell.scenario()) for pair in self.pairs]
        self.ratios = [ratio(goodputs) for goodputs in self.goodputs]

    def factors(self) -> list[float]:
        """By what the ratios differ, without the cell that the source has twice."""
        both = zip(self.pairs, self.ratios, strict=True)
        return [factor(pair.ratio, ours) for pair, ours in both if not repeated(pair)]

    def row(self, number: int, step: bool = False) -> str:
        """A row of the table."""
        pair, goodputs, ours = self.pairs[number], self.goodputs[number], self.ratios[number]
        measured = "; ".join(f"{cell.goodputs[0]:.2f}, {cell.goodputs[1]:.2f}" for cell in pair.cells)
        means = f"{mean(first for first, _ in goodputs):.2f}, {mean(second for _, second in goodputs):.2f}"
        ratios = "; ".join(f"{cell.ratio:.3g}" for cell in pair.cells)
        text = f"| {pair.cell.name} | {measured} | {means} | {ratios} | {ours:.3g} | {factor(pair.ratio, ours):.2f} |"
        if step:
            text += f" {ratio(run(pair.cell.scenario(QUEUES[self.queue]))):.3g} |"
        return text + "\n"

    def table(self, step: bool = False) -> str:
        """All rows."""
        return header(step) + "".join(self.row(number, step) for number in range(len(self.pairs)))


def repeated(pair: Pair) -> bool:
    """Whether the source has the figures of another cell in this one."""
    return pair.cell.queue == "pfifo(1000)" and pair.cell.name == "prague 10, cubic 20"


def summary(groups: list[Group]) -> str:
    """How far the ratios are from those measured, by table."""
    text = "| table | pairs | median factor | largest factor | largest factor of two measured runs |\n"
    text += "|---|---|---|---|---|\n"
    for title in dict.fromkeys(group.title for group in groups):
        same = [group for group in groups if group.title == title]
        factors = [value for group in same for value in group.factors()]
        twice = [pair for group in same for pair in group.pairs if len(pair.cells) == 2 and not repeated(pair)]
        scatter = max((factor(pair.cells[0].ratio, pair.cells[1].ratio) for pair in twice), default=None)
        text += f"| {title} | {len(factors)} | {median(factors):.2f} | {max(factors):.2f} | "
        text += f"{'' if scatter is None else f'{scatter:.2f}'} |\n"
    return text


def draw(groups: list[Group]) -> None:
    """Ours against the measured ratio, one point for each pair."""
    figure = Figure(figsize=(6.4, 5.2), layout="constrained")
    axes = figure.subplots()
    titles = list(dict.fromkeys(group.title for group in groups))
    for number, title in enumerate(titles):
        same = [group for group in groups if group.title == title]
        measured = [pair.ratio for group in same for pair in group.pairs if not repeated(pair)]
        ours = [
            value for group in same for pair, value in zip(group.pairs, group.ratios, strict=True) if not repeated(pair)
        ]
        axes.plot(measured, ours, "osD^vP"[number], color=COLOURS[number], label=title, alpha=0.8, linestyle="none")
    ends = (0.01, 100)
    axes.plot(ends, ends, color="#888888", linewidth=0.8)
    for bound in (0.5, 2):
        axes.plot(ends, [bound * end for end in ends], color="#888888", linewidth=0.6, linestyle=":")
    axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends, aspect="equal")
    axes.set_xlabel("measured: goodput of the first over that of the second")
    axes.set_ylabel("ours")
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="upper left")
    figure.savefig(DOCS / "figures" / "l4s.svg", metadata={"Date": None})


NOISY = ("prague 20, prague 10", "prague 80, prague 20", "prague 160, prague 10")
BURSTS = CONTROLS["prague"][:-2] + ", tso = true, pacing_shift = 12 }"
JITTER = 'delay = "{delay}ms"\nloss = {{ kind = "jitter", max = "1ms" }}\nback = {{ loss = {{ kind = "none" }} }}\n'


def noise() -> str:
    """A table of pairs of Prague with bursts and with jitter."""
    text = "  | round-trip times, ms | measured | ours | with bursts of 2^-12 s | with jitter of up to 1 ms |\n"
    text += "  |---|---|---|---|---|\n"
    for pair in pairs("rtt", "dualpi2", 50):
        if pair.cell.name not in NOISY:
            continue
        plain = jittered = pair.cell.scenario()
        for rtt in pair.cell.rtts_ms:
            jittered = jittered.replace(f'delay = "{rtt / 2}ms"\n', JITTER.format(delay=rtt / 2))
        values = [pair.ratio, *(ratio(run(text)) for text in (plain, pair.cell.scenario(prague=BURSTS), jittered))]
        first, second = pair.cell.rtts_ms
        text += f"  | {first} and {second} | {' | '.join(f'{value:.2g}' for value in values)} |\n"
    return text


def beside_prague(groups: list[Group], control: str) -> tuple[list[float], list[float]]:
    """Goodputs of a sender beside Prague: measured, and ours."""
    both = [
        (cell.goodputs[1], mean(second for _, second in goodputs))
        for group in groups
        for pair, goodputs in zip(group.pairs, group.goodputs, strict=True)
        for cell in pair.cells
        if cell.controls[1].startswith(control)
    ]
    return [first for first, _ in both], [second for _, second in both]


def cubic(groups: list[Group]) -> str:
    """CUBIC beside Prague."""
    measured, ours = beside_prague(groups, "cubic")
    return (
        f"{min(ours):.1f} to {max(ours):.1f} Mb/s here, {min(measured):.1f} to {max(measured):.1f} in the measurement, "
        "of 48 Mb/s."
    )


def reno(groups: list[Group]) -> str:
    """Reno beside Prague: measured, ours and the kernel's in our network."""
    stored = json.loads((HERE / "kernel_reno.json").read_text())
    live = ", ".join(f"{row['reno_mbps']:.1f} behind {row['queue']}" for row in stored)
    measured, ours = beside_prague(groups, "reno")
    return (
        f"{min(measured):.1f} to {max(measured):.1f} Mb/s in the measurement, {min(ours):.1f} to {max(ours):.1f} here. "
        "The Reno of a live kernel (Linux 6.18, `ackclock run --on linux:reno`) beside our Prague in our networks gets "
        f"{live} Mb/s, more than ours. The cause of the slow Reno in the measurement is not known; the authors remark "
        "that it falls to the least window."
    )


def main() -> None:
    """Run everything and write the page, the figure and the results."""
    dual = [Group("DualPI2, 50 Mb/s", "rtt", "dualpi2", 50), Group("DualPI2, 10 Mb/s", "rtt", "dualpi2", 10)]
    names = ("fq_codel(1q)", "fq_codel(1q,1ms/20ms)", "pie", "pie(100p/5ms)", "red(150000b)", "red(400000b)")
    classic = [Group("one queue of CoDel, PIE or RED, 50 Mb/s", "rfc3168", name, 50) for name in names]
    fair = [Group("FQ-CoDel, 10 and 50 Mb/s", "rtt", "fq_codel", rate) for rate in (50, 10)]
    tail = [
        Group("drop-tail, 10 and 50 Mb/s", "rtt", name, rate)
        for name, rate in (("pfifo(1000)", 50), ("pfifo(200)", 10))
    ]
    issue = Group("issue 21", "issue21", "dualpi2", 100)
    groups = [*dual, *classic, *fair, *tail]
    draw(groups)
    text = INTRODUCTION + summary(groups) + METHOD
    text += "\n" + REMARKS.format(noise=noise(), reno=reno(classic), cubic=cubic(classic))
    text += "\n## DualPI2\n\n" + closed("DualPI2, 50 Mb/s", dual[0].table()) + "\n"
    text += closed("DualPI2, 10 Mb/s", dual[1].table(step=True))
    text += "\nIssue 21 has 100 Mb/s. It states 30 ms of delay and one-way delays of 30.7 ms for Prague, 33 to 35 ms for CUBIC.\n\n"
    text += closed("DualPI2, 100 Mb/s", issue.table())
    text += "\n## Prague beside CUBIC and Reno without L4S\n\n50 Mb/s and 20 ms, all flows in one queue.\n"
    for group in classic:
        text += "\n" + closed(f"<code>{group.queue}</code>", group.table())
    text += "\n## FQ-CoDel\n\nEach flow has a queue of its own.\n"
    for group in fair:
        text += "\n" + closed(f"FQ-CoDel, {group.rate_mbps} Mb/s", group.table())
    text += "\n## Drop-tail\n"
    for group in tail:
        text += "\n" + closed(f"Drop-tail, {group.rate_mbps} Mb/s, {group.queue[6:-1]} packets", group.table())
    (DOCS / "validation-l4s.md").write_text(text)
    results = [
        {
            "rate_mbps": group.rate_mbps,
            "queue": group.queue,
            "senders": pair.cell.name,
            "measured_ratio": round(pair.ratio, 4),
            "ratio": round(value, 4),
            "goodputs_mbps": [[round(first, 3), round(second, 3)] for first, second in goodputs],
        }
        for group in [*groups, issue]
        for pair, value, goodputs in zip(group.pairs, group.ratios, group.goodputs, strict=True)
    ]
    write_rows("results.json", results)


if __name__ == "__main__":
    main()
