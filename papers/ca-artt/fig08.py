"""Figure 8: throughput against the round-trip time, without errors."""

from matplotlib.figure import Figure


def draw(results) -> Figure:
    """Vegas, CA-ARTT and their ratio, a line for each K; the study names the delay of one direction."""
    by_control = results.paper.code("measures").by_control
    figure, axes = by_control(results, "rtt", "rtt_ms", {"errors": "none"}, (0.0, 0.0))
    for axis in axes:
        axis.set_xlabel("propagation round trip (ms)")
    return figure
