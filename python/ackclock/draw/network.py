"""A figure of a scenario's network: nodes, links with rate, delay, queue and loss, flows as arrows.

The core computes the positions of nodes, as for the page: a node's column is its place on the flows' paths.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ackclock import _core
from ackclock.base.files import svg_text
from ackclock.base.si import quantity
from ackclock.base.text import drawn
from ackclock.draw.style import COLOURS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MOST_NODES = 60
"""With more nodes, labels would overlap; equal leaf nodes are then drawn as one."""


class HasNetwork(Protocol):
    """A scenario, as far as its picture needs it."""

    @property
    def title(self) -> str:
        """The title of the scenario."""

    @property
    def network(self) -> dict[str, Any]:
        """Links, flows, terminals, satellites and radio nodes."""


@dataclass(frozen=True)
class Edge:
    """A duplex link as drawn: its ends and the lines of text beside it, forward and back."""

    ends: tuple[str, str]
    forward: tuple[str, ...]
    back: tuple[str, ...]
    times: int = 1


def draw(scenario: HasNetwork, title: str = "", controllers: Mapping[str, str] | None = None) -> Figure:
    """Draw the network: nodes, links, and one node each for the satellites and the radio channel.

    Flows with the same two ends are drawn as one arrow with their number. `controllers`: what is written in place of
    the controllers of flows, by their names.
    """
    network = scenario.network
    labels = controllers or {}
    flows = [flow | {"label": labels.get(flow["name"], flow["label"])} for flow in network["flows"]]
    figure = _network(network | {"flows": flows})
    if title or scenario.title:
        figure.suptitle(drawn(title or scenario.title), fontsize=11, x=0.01, ha="left")
    return figure


def svg(scenario: HasNetwork, title: str = "") -> str:
    """The picture as SVG text for a page."""
    return svg_text(draw(scenario, title), "topology" + "".join(c for c in title if c.isalnum()))


def _lines(direction: dict[str, Any]) -> tuple[str, ...]:
    first = quantity(direction["rate_bps"], "b/s", 4)
    if direction["delay_s"] is not None:  # that of a link to satellites varies
        first += f", {quantity(direction['delay_s'], 's', 4)}"
    queue = "" if direction["queue"] == "unlimited" else direction["queue"]
    router = f"{direction['router']} router" if direction["router"] else ""
    return (first, *(text for text in (queue, direction["loss"], router) if text))


def _edges(network: dict[str, Any]) -> tuple[list[Edge], dict[str, str]]:
    """The links to draw, and the drawn name of each node; in large networks equal leaf nodes are drawn as one."""
    edges = [
        Edge((link["ends"][0], link["ends"][1]), _lines(link["directions"][0]), _lines(link["directions"][1]))
        for link in network["links"]
    ]
    edges += _satellite_edges(network) + _radio_edges(network)
    nodes = list(dict.fromkeys(node for edge in edges for node in edge.ends))
    names = {node: node for node in nodes}
    if len(nodes) <= MOST_NODES:
        return edges, names
    degree: dict[str, int] = defaultdict(int)
    for edge in edges:
        for end in edge.ends:
            degree[end] += 1
    groups: dict[Any, list[Edge]] = defaultdict(list)
    for edge in edges:
        leaf = next((end for end in edge.ends if degree[end] == 1), None)
        inner = next((end for end in edge.ends if end != leaf), "")
        groups[edge.ends if leaf is None else (inner, edge.ends.index(leaf), edge.forward, edge.back)].append(edge)
    merged = []
    for group in groups.values():
        first = group[0]
        merged.append(Edge(first.ends, first.forward, first.back, len(group)))
        leaves = [next((end for end in edge.ends if degree[end] == 1), "") for edge in group]
        names |= dict.fromkeys((leaf for leaf in leaves if leaf), leaves[0])
    return merged, names


def _satellite_edges(network: dict[str, Any]) -> list[Edge]:
    """The links between each terminal and the satellites, which are one node."""
    if not network["satellites"]:
        return []
    links = dict(network["satellite_links"])
    up, down = (_lines(links[kind]) for kind in ("up", "down"))
    cloud = f"{network['satellites']} satellites"
    return [Edge((name, cloud), up, down) for name, _, _ in network["terminals"]]


def _radio_edges(network: dict[str, Any]) -> list[Edge]:
    """The radio channel as a node, with the radio nodes that have a link or a flow."""
    if not network["radio"]:
        return []
    nodes, width, height = network["radio"]
    radio = {f"n{number}" for number in range(nodes)}
    named = [end for link in network["links"] for end in link["ends"]]
    named += [flow[end] for flow in network["flows"] for end in ("from", "to")]
    area = f", {width:g} x {height:g} m" if width and height else ""
    channel = f"radio channel\n{nodes} nodes{area}"
    return [Edge((node, channel), (), ()) for node in dict.fromkeys(named) if node in radio]


def _places(edges: list[Edge], flows: list[tuple[str, str, str]]) -> dict[str, tuple[float, float]]:
    """Positions of the nodes: columns by the flows' paths, rows by those of the neighbours."""
    positions = _core.layout([edge.ends for edge in edges], [(start, end) for start, end, _ in flows])
    return {node: (float(column), (rows - 1) / 2 - row) for node, column, row, rows in positions}


def _network(network: dict[str, Any]) -> Figure:
    from matplotlib.figure import Figure

    edges, names = _edges(network)
    grouped: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for flow in network["flows"]:
        grouped[names.get(flow["from"], flow["from"]), names.get(flow["to"], flow["to"])].append(flow)
    flows = [(a, b, _flow_label(group)) for (a, b), group in grouped.items()]
    places = _places(edges, flows)
    columns = {x for x, _ in places.values()}
    height = 1 + 2 * max(y for _, y in places.values())
    lanes = len(flows)
    figure = Figure(
        figsize=(max(9.2, 1.9 * len(columns)), min(12.0, 1.2 + 1.15 * height + 0.34 * lanes)), layout="constrained"
    )
    axes = figure.subplots()
    axes.set_axis_off()
    for edge in edges:
        _edge(axes, places[edge.ends[0]], places[edge.ends[1]], edge)
    wired = {end for link in network["links"] for end in link["ends"]}
    wired |= {name for name, _, _ in network["terminals"]}
    wired |= {flow[end] for flow in network["flows"] for end in ("from", "to")}
    for node, (x, y) in places.items():
        members = sum(name == node for name in names.values())
        label = node if members == 1 else f"{node} and {members - 1} more"
        several = node not in wired
        box = {"boxstyle": "round,pad=0.45", "facecolor": "#e8eef5" if several else "white", "edgecolor": "#1c2430"}
        axes.text(x, y, _text(label.split("\n")), ha="center", va="center", fontsize=9, bbox=box, zorder=4)
    below = min(y for _, y in places.values()) - 0.75
    for i, (start, end, label) in enumerate(flows):
        _flow(axes, places, start, end, label, below - 0.34 * i, COLOURS[i % len(COLOURS)])
    axes.set_xlim(min(columns) - 0.35, max(columns) + 0.35)
    axes.set_ylim(below - 0.34 * lanes, max(y for _, y in places.values()) + 0.5)
    return figure


def _flow_label(group: list[dict[str, Any]]) -> str:
    first = group[0]
    kinds = list(dict.fromkeys(f"{f['kind'].upper()} {f['label']}" for f in group))
    kind = "; ".join(kinds[:3]) + (f"; {len(kinds) - 3} more" if len(kinds) > 3 else "")
    name = first["name"] if len(group) == 1 else f"{first['name']} ... {group[-1]['name']} ({len(group)} flows)"
    return f"{name}: {kind}"


def _text(lines: Sequence[str]) -> str:
    return "\n".join(map(drawn, lines))


def _edge(axes: Axes, a: tuple[float, float], b: tuple[float, float], edge: Edge) -> None:
    axes.plot([a[0], b[0]], [a[1], b[1]], color="#5b6675", linewidth=1.6, zorder=1)
    middle = ((a[0] + b[0]) / 2, (a[1] + b[1]) / 2)
    style: dict[str, Any] = {"fontsize": 7.5, "ha": "center", "color": "#1c2430", "zorder": 3}
    box: dict[str, Any] = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85}
    count = f"{edge.times} links: " if edge.times > 1 else ""
    if not edge.forward:
        if count:
            axes.text(*middle, count.removesuffix(": "), va="center", bbox=box, **style)
        return
    forward = _text((count + edge.forward[0], *edge.forward[1:]))
    if edge.forward == edge.back:
        axes.text(*middle, forward, va="center", bbox=box, **style)
        return
    axes.annotate("→ " + forward, middle, (0, 4), textcoords="offset points", va="bottom", bbox=box, **style)
    back = _text(edge.back)
    axes.annotate("← " + back, middle, (0, -4), textcoords="offset points", va="top", bbox=box, **style)


def _flow(
    axes: Axes, places: dict[str, tuple[float, float]], start: str, end: str, label: str, y: float, colour: str
) -> None:
    if start not in places or end not in places:
        return
    x, to = places[start][0], places[end][0]
    axes.annotate("", (to, y), (x, y), arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 1.5})
    text = f"{label}  ({start} → {end})"
    axes.text(min(x, to), y + 0.05, drawn(text), fontsize=7.5, color=colour, ha="left", va="bottom")
