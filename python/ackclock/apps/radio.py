"""Maps of a radio channel: node positions over time, links in range, packets by kind (`ackclock radio`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ackclock import _core
from ackclock.base.files import BadInput
from ackclock.base.source import read_source
from ackclock.draw.style import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NODE, RANGE = "#33506b", "#d5dde5"
DATA, DROP, ACK, ROUTING = (COLOURS[i] for i in (0, 1, 2, 4))
NO_NODE = 2**32 - 1
MAX_LABELLED_NODES = 150
"""With more nodes than this, a map omits node names and links in range."""


class RadioRecording:
    """The radio events of a run up to `until_s`: positions of the nodes, and the events of their packets.

    `moments` are times that must lie within the run, each with the option that sets it. Raises ScenarioError, and
    BadInput for a scenario without radio nodes.
    """

    def __init__(
        self,
        file: str | Path,
        *,
        overrides: list[str] | None = None,
        seed: int | None = None,
        until_s: float | None = None,
        moments: Sequence[tuple[float, str]] = (),
        progress: Callable[[float], object] | None = None,
        allow_code: bool = False,
    ) -> None:
        source = read_source(file, allow_code=allow_code)
        self._scenario = _core.parse(source, list(overrides or []))
        if self._scenario.radio is None:
            raise BadInput(f"{source.file}: there are no radio nodes to draw; give a [radio] table")
        self.area = self._scenario.radio[:2]
        self.range_m = self._scenario.radio[2]
        self.title = self._scenario.title
        self.duration_s = self._scenario.duration_s
        self._seed = seed
        for moment, option in moments:
            if moment >= self.duration_s:
                raise BadInput(f"{option}: the run ends after {self.duration_s:g} s")
        # Later events are not drawn, so the run ends at `until_s`.
        finished = _core.run(self._scenario, seed=seed, radio=True, until_s=until_s, progress=progress)
        columns = finished.radio
        self.steps = _core.codes()["radio"]
        self._time = np.frombuffer(columns["time_s"])
        self._node = np.frombuffer(columns["node"], np.uint32)
        self._to = np.frombuffer(columns["to"], np.uint32)
        self._step = np.frombuffer(columns["step"], np.uint8)

    def places(self, at_s: float) -> np.ndarray:
        """Positions at a time: a row (x, y) in metres for each node."""
        return np.frombuffer(self._scenario.places(self._seed, [at_s])).reshape(-1, 2)

    def between(self, from_s: float, until_s: float) -> list[tuple[str, int, int | None]]:
        """Packet events between two times: kind, node, destination node (None: broadcast or no destination)."""
        rows = slice(*np.searchsorted(self._time, [from_s, until_s]))
        columns = zip(self._step[rows], self._node[rows], self._to[rows], strict=True)
        return [(self.steps[step], int(node), None if to == NO_NODE else int(to)) for step, node, to in columns]


def _figure(recording: RadioRecording) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    figure = Figure(figsize=(8.2, 7.0), layout="constrained")
    axes = figure.subplots()
    places = recording.places(0.0)
    if min(recording.area) > 0:
        low, high = np.zeros(2), np.array(recording.area)
    else:
        low, high = places.min(axis=0), places.max(axis=0)
        spare = max(50.0, 0.1 * float((high - low).max()))
        low, high = low - spare, high + spare
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal", xlabel="x (m)", ylabel="y (m)")
    axes.set_axisbelow(True)
    axes.grid(color="#eeeeee", linewidth=0.5)
    axes.spines[:].set_color("#bbbbbb")
    keys = [
        Line2D([], [], color=DATA, linewidth=2, label="data"),
        Line2D([], [], color=ACK, linewidth=2, label="TCP ACKs"),
        Line2D([], [], color=ROUTING, linewidth=2, label="routing, unicast"),
        Line2D(
            [], [], color=ROUTING, marker="o", markersize=11, markerfacecolor="none", linestyle="", label="broadcast"
        ),
        Line2D([], [], color=DROP, marker="x", markersize=8, markeredgewidth=2, linestyle="", label="drop"),
        Line2D([], [], color=RANGE, linewidth=1, label=f"in range ({recording.range_m:.0f} m)"),
    ]
    figure.legend(handles=keys, loc="outside lower center", ncols=6, fontsize=8, frameon=False)
    return figure, axes


def _draw(axes: Axes, recording: RadioRecording, at_s: float, span_s: float) -> list[Any]:
    """Draw the positions at `at_s` and the packets sent in the following `span_s` seconds. Returns the artists."""
    from matplotlib.collections import LineCollection

    places = recording.places(at_s)
    steps = recording.between(at_s, at_s + span_s)
    artists: list[Any] = []
    if len(places) <= MAX_LABELLED_NODES:
        apart = np.linalg.norm(places[:, None] - places[None, :], axis=2)
        near = [(places[a], places[b]) for a, b in np.argwhere(np.triu(apart <= recording.range_m, 1))]
        artists.append(axes.add_collection(LineCollection(near, colors=RANGE, linewidths=0.6, zorder=1)))
    for kind, colour, level in (("data", DATA, 2), ("routing", ROUTING, 3), ("ack", ACK, 4)):
        sent = Counter((a, b) for step, a, b in steps if step == kind and b is not None)
        lines = [(places[a], places[b]) for a, b in sent]
        # TCP ACKs and routing packets are drawn as thinner lines on top of data on the same link.
        most = 6.0 if kind == "data" else 2.0
        widths = [min(1.0 + 0.7 * np.log2(n), most) for n in sent.values()]
        artists.append(
            axes.add_collection(LineCollection(lines, colors=colour, linewidths=widths, alpha=0.85, zorder=level))
        )
    broadcasts = Counter(node for step, node, to in steps if to is None and step in {"routing", "arp"})
    for node, count in broadcasts.items():
        size = min(9.0 + 2.0 * np.log2(count), 18.0)
        artists += axes.plot(*places[node], "o", markersize=size, markerfacecolor="none", color=ROUTING, zorder=5)
    artists += axes.plot(*places.T, "o", color=NODE, markersize=5 if len(places) <= MAX_LABELLED_NODES else 2, zorder=6)
    lost = sorted({node for step, node, _ in steps if step == "drop"})
    artists += axes.plot(*places[lost].T, "x", color=DROP, markersize=9, markeredgewidth=2, zorder=7, linestyle="none")
    if len(places) <= MAX_LABELLED_NODES:
        for node, place in enumerate(places):
            artists.append(
                axes.annotate(f"n{node}", place, xytext=(4, 4), textcoords="offset points", fontsize=7, zorder=8)
            )
    counts = Counter(step for step, _, _ in steps)
    summary = ", ".join(f"{counts[step]} {name}" for step, name in _COUNTED if counts[step])
    axes.set_title(f"t = {at_s:.3g} to {at_s + span_s:.4g} s: {summary or 'no packets'}", fontsize=10)
    return artists


_COUNTED = (("data", "data frames"), ("ack", "TCP ACKs"), ("routing", "routing"), ("arp", "ARP"), ("drop", "drops"))


def draw(recording: RadioRecording, at_s: float, span_s: float) -> Figure:
    """Draw a map at `at_s`: nodes, links in range, and the packets sent in the following `span_s` seconds."""
    figure, axes = _figure(recording)
    _draw(axes, recording, at_s, span_s)
    return figure
