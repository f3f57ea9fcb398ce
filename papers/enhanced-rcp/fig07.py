"""The network itself: a second of it."""

from matplotlib.figure import Figure

from ackclock.apps.radio import RadioRecording
from ackclock.apps.radio import draw as still

AT_S = 200.0


def draw(results) -> Figure:
    """Thirty nodes under the first seed, constant bit rate."""
    network = results.paper.folder / "studies" / "network.toml"
    return still(RadioRecording(network, seed=1, until_s=AT_S + 1), AT_S, 1.0)
