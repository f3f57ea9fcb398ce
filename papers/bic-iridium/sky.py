"""The constellation, the terminals and the path at the start."""

from matplotlib.figure import Figure

from ackclock.apps.satellites.map import draw as draw_map
from ackclock.apps.satellites.view import SatelliteView


def draw(results) -> Figure:
    """The map of the first pair."""
    study = results.paper.folder / "studies" / "network.toml"
    overrides = ['terminal.a.name="Berkeley"', 'terminal.b.name="Boston"']
    return draw_map(SatelliteView(study, 0.0, ends=("Berkeley", "Boston"), overrides=overrides), 0.0)
