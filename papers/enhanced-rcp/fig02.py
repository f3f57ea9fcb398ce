"""Graph 2: packet delivery ratio."""

from matplotlib.figure import Figure


def draw(results) -> Figure:
    """Two panels: as published, as intended."""
    return results.paper.code("measures").graph(results, "T3", "packet delivery ratio")
