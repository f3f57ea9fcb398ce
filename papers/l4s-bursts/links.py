"""Prague over CUBIC behind links that group packets, and with DualPI2 in a modem."""

from matplotlib.figure import Figure

from ackclock import draw as common
from ackclock import stats
from ackclock.apps.papers.results import Results

ROWS = [
    ("wire", "fronts", {"sender": "Prague", "front": "wire"}),
    ("cable modem in front", "fronts", {"sender": "Prague", "front": "cable"}),
    ("Wi-Fi in front", "fronts", {"sender": "Prague", "front": "Wi-Fi"}),
    ("Wi-Fi beside a download", "fronts", {"sender": "Prague", "front": "Wi-Fi beside a download"}),
    (
        "the same, sender in bursts of 8 ms",
        "fronts",
        {"sender": "Prague", "front": "Wi-Fi beside a download, bursts of the sender"},
    ),
    ("in a modem, no grants", "modem", {"grants": "none", "step": "1 ms"}),
    ("in a modem, grants every 1 ms", "modem", {"grants": "1 ms", "step": "1 ms"}),
    ("in a modem, grants every 2 ms", "modem", {"grants": "2 ms", "step": "1 ms"}),
    ("the same with a step of 8 ms", "modem", {"grants": "2 ms", "step": "8 ms"}),
]


def draw(results: Results) -> Figure:
    """A point for each link, with its interval; right of the line Prague has more."""
    ratios = results.paper.code("measures").ratios
    figure, axes = common.panels(1, height=3.6)
    for number, (_, study, where) in enumerate(ROWS):
        e = stats.geometric(ratios(results, study, where))
        low, high = (e.value if end is None else end for end in (e.low, e.high))
        color = common.COLOURS[0 if study == "fronts" else 1]
        marker = common.MARKERS[0 if study == "fronts" else 1]
        spread = [[e.value - low], [high - e.value]]
        label = {0: "DualPI2 of 40 Mb/s behind the link", 5: "DualPI2 of 20 Mb/s in the modem"}.get(number)
        axes[0].errorbar(
            [e.value], [number], xerr=spread, marker=marker, color=color, capsize=3, linestyle="", label=label
        )
    axes[0].axvline(1, color="black", linewidth=0.8, linestyle=":")
    axes[0].set_yticks(range(len(ROWS)), [words for words, _, _ in ROWS])
    axes[0].invert_yaxis()
    axes[0].set_xscale("log", base=2)
    axes[0].set_xticks([0.25, 0.5, 1, 2], ["0.25", "0.5", "1", "2"])
    axes[0].set_xlim(0.2, 2.5)
    axes[0].set_xlabel("goodput of Prague over that of CUBIC")
    common.legend(figure, axes)
    return figure
