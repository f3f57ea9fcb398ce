"""Prague's share beside one CUBIC flow by the length of the bursts."""

from matplotlib.figure import Figure

from ackclock import draw as common
from ackclock import stats
from ackclock.apps.papers.results import Results

LENGTHS = ("none", "1 ms", "2 ms", "4 ms", "8 ms")


def draw(results: Results) -> Figure:
    """A line for each round-trip time, a control of two CUBIC flows, and the part of a burst that the step spares."""
    shares = results.paper.code("measures").shares
    figure, axes = common.panels(1, height=4)
    x = [0.0, 1.0, 2.0, 4.0, 8.0]
    series = [
        ("Prague", "40 ms", "Prague beside CUBIC, 40 ms"),
        ("Prague", "10 ms", "Prague beside CUBIC, 10 ms"),
        ("CUBIC", "40 ms", "control: CUBIC beside CUBIC, 40 ms"),
    ]
    for number, (sender, rtt, words) in enumerate(series):
        points = [
            stats.mean(shares(results, "share", {"sender": sender, "rtt": rtt, "bursts": bursts})) for bursts in LENGTHS
        ]
        y = [100 * e.value for e in points]
        halves = [100 * (e.half_width or 0) for e in points]
        style = {**common.curve(number), "marker": common.MARKERS[number]}
        axes[0].errorbar(x, y, halves, capsize=3, label=words, **style)
    lengths = [1 + 0.1 * k for k in range(71)]
    law = [100 / length for length in lengths]
    axes[0].plot(lengths, law, color="black", linewidth=1, linestyle=":", label="step (1 ms) / length of the bursts")
    axes[0].set_xticks(x, ["none", "1", "2", "4", "8"])
    axes[0].set_xlabel("length of the bursts before the queue (ms)")
    axes[0].set_ylabel("the first flow's share of the goodput (%)")
    axes[0].set_ylim(0, 100)
    common.legend(figure, axes)
    return figure
