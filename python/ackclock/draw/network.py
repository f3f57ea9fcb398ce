"""A figure of a scenario's network: nodes, links with rate, delay, queue and loss, flows as arrows.

The core computes the positions of nodes, as for the page: a node's column is its place on the flows' paths, or, where
a link would run through a node that is not its end, the nodes are placed freely. Labels of links cover no node and no
other label.
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
    from matplotlib.text import Text


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
    """Positions of the nodes, as the core computes them: columns from the left, rows about the middle."""
    positions = _core.layout([edge.ends for edge in edges], [(start, end) for start, end, _ in flows])
    return {node: (column, (rows - 1) / 2 - row) for node, column, row, rows in positions}


def _network(network: dict[str, Any]) -> Figure:
    from matplotlib.figure import Figure

    edges, names = _edges(network)
    grouped: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for flow in network["flows"]:
        grouped[names.get(flow["from"], flow["from"]), names.get(flow["to"], flow["to"])].append(flow)
    flows = [(a, b, _flow_label(group)) for (a, b), group in grouped.items()]
    places = _places(edges, flows)
    last = max(x for x, _ in places.values())
    height = 1 + 2 * max(y for _, y in places.values())
    lanes = len(flows)
    figure = Figure(
        figsize=(max(9.2, 1.9 * (last + 1)), min(12.0, 1.2 + 1.15 * height + 0.34 * lanes)), layout="constrained"
    )
    axes = figure.subplots()
    axes.set_axis_off()
    for edge in edges:
        (x, y), (to_x, to_y) = (places[end] for end in edge.ends)
        axes.plot([x, to_x], [y, to_y], color="#5b6675", linewidth=1.6, zorder=1)
    wired = {end for link in network["links"] for end in link["ends"]}
    wired |= {name for name, _, _ in network["terminals"]}
    wired |= {flow[end] for flow in network["flows"] for end in ("from", "to")}
    drawn_nodes = []
    for node, (x, y) in places.items():
        members = sum(name == node for name in names.values())
        label = node if members == 1 else f"{node} and {members - 1} more"
        several = node not in wired
        box = {"boxstyle": "round,pad=0.45", "facecolor": "#e8eef5" if several else "white", "edgecolor": "#1c2430"}
        drawn_nodes.append(
            axes.text(x, y, _text(label.split("\n")), ha="center", va="center", fontsize=9, bbox=box, zorder=4)
        )
    below = min(y for _, y in places.values()) - 0.75
    for i, (start, end, label) in enumerate(flows):
        _flow(axes, places, start, end, label, below - 0.34 * i, COLOURS[i % len(COLOURS)])
    axes.set_xlim(-0.35, last + 0.35)
    axes.set_ylim(below - 0.34 * lanes, max(y for _, y in places.values()) + 0.5)
    _label_edges(figure, axes, drawn_nodes, [(edge, [places[end] for end in edge.ends]) for edge in edges])
    return figure


def _flow_label(group: list[dict[str, Any]]) -> str:
    kinds = list(dict.fromkeys(f"{f['kind'].upper()} {f['label']}" for f in group))
    kind = "; ".join(kinds[:3]) + (f"; {len(kinds) - 3} more" if len(kinds) > 3 else "")
    names = ", ".join(flow["name"] for flow in group[:2])
    return f"{names}{f', ... ({len(group)} flows)' if len(group) > 2 else ''}: {kind}"


def _text(lines: Sequence[str]) -> str:
    return "\n".join(map(drawn, lines))


ALONG = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74)
"""Places of a link's label that are tried, from one end of the link to the other."""


ARROWS = {(0, 1): "→←", (0, -1): "←→", (1, 1): "↑↓", (1, -1): "↓↑"}
"""The ways forward and back of a link that is mainly along an axis (0: across, 1: up), in its direction."""


def _arrows(start: tuple[float, float], end: tuple[float, float]) -> str:
    ways = [to - at for at, to in zip(start, end, strict=True)]
    axis = int(abs(ways[1]) > 2 * abs(ways[0]))
    return ARROWS[axis, 1 if ways[axis] >= 0 else -1]


def _forms(edge: Edge, arrows: str) -> list[tuple[str, str]]:
    """Texts of a link's label, forward and back (empty if equal): all lines, then rate and delay, then the rate."""
    count = f"{edge.times} links: " if edge.times > 1 else ""
    if not edge.forward:
        return [(count.removesuffix(": "), "")] if count else []
    short = [lines[:1] for lines in (edge.forward, edge.back)]
    rate = [(lines[0].partition(", ")[0],) for lines in (edge.forward, edge.back)]
    forms = []
    for forward, back in ((edge.forward, edge.back), short, rate):
        text = _text((count + forward[0], *forward[1:]))
        forms.append((text, "") if forward == back else (f"{arrows[0]} {text}", f"{arrows[1]} {_text(back)}"))
    return list(dict.fromkeys(forms))


def _label_edges(
    figure: Figure, axes: Axes, nodes: Sequence[Text], edges: Sequence[tuple[Edge, list[tuple[float, float]]]]
) -> None:
    """Write the labels of links where they cover no node and no other label: in the middle, or elsewhere, or shorter.

    To be called when all else is drawn. Says how many links have no label because there is no room.
    """
    from matplotlib.transforms import Bbox

    figure.draw_without_rendering()  # the layout
    boxes = [frame.get_window_extent() for node in nodes if (frame := node.get_bbox_patch()) is not None]
    without = 0
    for edge, (start, end) in edges:
        forms = _forms(edge, _arrows(start, end))
        tried = ((form, along) for form in forms for along in ALONG)
        for form, along in tried:
            at = (start[0] + along * (end[0] - start[0]), start[1] + along * (end[1] - start[1]))
            texts = _edge_texts(axes, at, *form)
            box = Bbox.union([text.get_window_extent() for text in texts])
            if not any(box.overlaps(other) for other in boxes):
                boxes.append(box)
                break
            for text in texts:
                text.remove()
        else:
            without += len(forms) > 0
    if without:
        note = f"{without} {'link has' if without == 1 else 'links have'} no label: there is no room."
        axes.text(0, 0, note, transform=axes.transAxes, fontsize=7.5, color="#5b6675", va="top")


def _edge_texts(axes: Axes, at: tuple[float, float], forward: str, back: str) -> list[Text]:
    style: dict[str, Any] = {"fontsize": 7.5, "ha": "center", "color": "#1c2430", "zorder": 3}
    style["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85}
    if not back:
        return [axes.text(*at, forward, va="center", **style)]
    return [
        axes.annotate(text, at, (0, offset), textcoords="offset points", va=va, **style)
        for text, offset, va in ((forward, 4, "bottom"), (back, -4, "top"))
    ]


def _flow(
    axes: Axes, places: dict[str, tuple[float, float]], start: str, end: str, label: str, y: float, colour: str
) -> None:
    if start not in places or end not in places:
        return
    x, to = places[start][0], places[end][0]
    axes.annotate("", (to, y), (x, y), arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 1.5})
    text = f"{label}  ({start} → {end})"
    axes.text(min(x, to), y + 0.05, drawn(text), fontsize=7.5, color=colour, ha="left", va="bottom")
