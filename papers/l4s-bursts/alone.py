"""Goodput of one flow alone by the length of the bursts."""

from matplotlib.figure import Figure

from ackclock import draw as common
from ackclock import stats
from ackclock.apps.papers.results import Results

LENGTHS = ("none", "1 ms", "2 ms", "4 ms", "8 ms")


def draw(results: Results) -> Figure:
    """A line for each flow and round-trip time."""
    goodputs = results.paper.code("measures").goodputs
    figure, axes = common.panels(1, height=3.6)
    x = [0.0, 1.0, 2.0, 4.0, 8.0]
    number = 0
    for sender in ("Prague", "CUBIC"):
        for rtt in results.study("alone").axes["rtt"]:
            where = {"sender": sender, "rtt": rtt}
            points = [
                stats.mean(list(goodputs(results, "alone", "tested", {**where, "bursts": bursts}).values()))
                for bursts in LENGTHS
            ]
            y = [e.value for e in points]
            halves = [e.half_width or 0 for e in points]
            style = {**common.curve(number), "marker": common.MARKERS[number]}
            axes[0].errorbar(x, y, halves, capsize=3, label=f"{sender}, {rtt}", **style)
            number += 1
    axes[0].set_xticks(x, ["none", "1", "2", "4", "8"])
    axes[0].set_xlabel("length of the bursts before the queue (ms)")
    axes[0].set_ylabel("goodput alone (Mb/s)")
    axes[0].set_ylim(0, 42)
    common.legend(figure, axes)
    return figure
