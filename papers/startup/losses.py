"""Packets sent again and completion times over the GEO path by the depth of the buffer."""

from matplotlib.figure import Figure

from ackclock import draw as common
from ackclock import stats
from ackclock.apps.papers.results import Results

STARTS = ("standard", "HyStart", "HyStart++", "SEARCH")


def draw(results: Results) -> Figure:
    """Two panels with a line for each method."""
    figure, axes = common.panels(2, height=3.4, share="x")
    buffers = results.study("exit").axes["buffer"]
    x = list(range(len(buffers)))
    panels = (("retransmitted_packets", "packets sent again"), ("completion_s", "completion time (s)"))
    for panel, (column, words) in zip(axes, panels, strict=True):
        for number, start in enumerate(STARTS):
            points = [
                stats.mean(results.means("exit", f"f.{column}", {"path": "GEO", "buffer": buffer, "start": start}))
                for buffer in buffers
            ]
            y = [e.value for e in points]
            halves = [e.half_width or 0 for e in points]
            style = {**common.curve(number), "marker": common.MARKERS[number]}
            panel.errorbar(x, y, halves, capsize=3, label=start, **style)
        panel.set_xticks(x, [buffer.split()[0] for buffer in buffers])
        panel.set_xlabel("buffer (bandwidth-delay products)")
        panel.set_ylabel(words)
        panel.set_ylim(bottom=0)
    common.legend(figure, axes)
    return figure
