"""Graph 3: routing load."""

from matplotlib.figure import Figure


def draw(results) -> Figure:
    """Two panels: as published, as intended."""
    return results.paper.code("measures").graph(results, "T4", "routing load (messages a packet)")
