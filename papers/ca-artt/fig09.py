"""Figure 9: throughput against the round-trip time, 1 % errors on the backward link."""

from matplotlib.figure import Figure


def draw(results) -> Figure:
    """Vegas, CA-ARTT and their ratio, a line for each K; the study names the delay of one direction."""
    figure, axes = results.paper.code("measures").by_control(
        results, "rtt", "rtt_ms", {"errors": "backward"}, (0.0, 0.0)
    )
    for axis in axes:
        axis.set_xlabel("propagation round trip (ms)")
    return figure
