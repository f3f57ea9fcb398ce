"""Pictures of networks: no link through a node that is not its end, and no label over a node or another label."""

from __future__ import annotations

from itertools import combinations

from ackclock import Scenario
from ackclock.base.text import drawn
from ackclock.draw import network


def ring(count: int, more: str = "") -> str:
    """A ring of routers with a host at each, and a flow from each host to the opposite one."""
    pairs = [(f"c{i}", f"c{(i + 1) % count}") for i in range(count)] + [(f"c{i}", f"h{i}") for i in range(count)]
    link = '[[link]]\nends = ["{}", "{}"]\nrate = "100Mbps"\ndelay = "2ms"\n'
    flow = '[[flow]]\nname = "f{0}"\nfrom = "h{0}"\nto = "h{1}"\n'
    flows = (flow.format(i, (i + count // 2) % count) for i in range(count))
    return 'duration = "1s"\n' + "".join(link.format(*pair) + more for pair in pairs) + "".join(flows)


def test_labels_cover_no_node_and_no_other_label() -> None:
    more = 'queue = { kind = "droptail", limit = "100p" }\nback = { rate = "7Mbps", delay = "3ms", loss = 0.01 }\n'
    scenario = Scenario.parse(ring(15, more))
    figure = network.draw(scenario)
    figure.draw_without_rendering()
    texts = [text for text in figure.axes[0].texts if text.get_text() and "flow" not in text.get_text()]
    nodes = [text for text in texts if text.get_text()[0] in "ch" and text.get_zorder() == 4]
    labels = [text for text in texts if "b/s" in text.get_text()]
    assert len(nodes) == 30
    assert len(labels) == 60
    boxes = [frame.get_window_extent() for text in nodes if (frame := text.get_bbox_patch()) is not None]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    for label in labels:
        assert not any(label.get_window_extent().overlaps(box) for box in boxes), label.get_text()
    forward = [text.get_window_extent() for text in labels]
    assert not any(a.overlaps(b) for a, b in combinations(forward, 2))


def test_without_room_links_have_no_label() -> None:
    a, b = "a" * 62, "b" * 62
    link = f'[[link]]\nends = ["{a}", "{b}"]\nrate = "10Mbps"\ndelay = "2ms"\n'
    figure = network.draw(Scenario.parse(f'duration = "1s"\n{link}[[flow]]\nfrom = "{a}"\nto = "{b}"\n'))
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert "1 link has no label: there is no room." in texts
    assert not any("b/s" in text for text in texts)


def test_arrows_of_a_label_have_the_direction_of_the_link() -> None:
    link = '[[link]]\nends = ["{}", "{}"]\nrate = "10Mbps"\ndelay = "1ms"\nback = {{ rate = "2Mbps" }}\n'
    flow = '[[flow]]\nfrom = "a"\nto = "b"\n'
    for ends, arrow in ((("a", "b"), "→"), (("b", "a"), "←")):
        figure = network.draw(Scenario.parse('duration = "1s"\n' + link.format(*ends) + flow))
        label = next(text.get_text() for text in figure.axes[0].texts if "10 Mb/s" in text.get_text())
        assert label.startswith(arrow)


def test_flows_with_equal_ends_are_named() -> None:
    base = 'duration = "1s"\n[[link]]\nends = ["a", "b"]\nrate = "10Mbps"\ndelay = "1ms"\n'
    flow = '[[flow]]\nname = "f{}"\nfrom = "a"\nto = "b"\n'
    for names, words in (("0", "f0: TCP"), ("02", "f0, f2: TCP"), ("02468", "f0, f2, ... (5 flows): TCP")):
        figure = network.draw(Scenario.parse(base + "".join(map(flow.format, names))))
        assert any(drawn(words) in text.get_text() for text in figure.axes[0].texts), words
