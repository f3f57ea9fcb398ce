"""Graph 1: throughput."""

from matplotlib.figure import Figure


def draw(results) -> Figure:
    """Two panels: as published, as intended."""
    return results.paper.code("measures").graph(results, "T2", "throughput (kb/s)")
