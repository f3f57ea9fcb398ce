"""Figure 8: throughput against the round-trip time, without errors."""

from matplotlib.figure import Figure


def draw(results) -> Figure:
    """Vegas and CA-ARTT, a line for each K; the study names the delay of one direction."""
    figure, axes = results.paper.code("measures").by_control(results, "rtt", "rtt_ms", {"errors": "none"})
    for axis in axes:
        axis.set_xlabel("propagation round trip (ms)")
    return figure
