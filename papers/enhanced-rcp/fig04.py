"""Graph 4: link utilisation by nodes."""

from matplotlib.figure import Figure


def draw(results) -> Figure:
    """Two panels: as published, as intended."""
    return results.paper.code("measures").graph(results, "T5", "link utilisation (%)")
