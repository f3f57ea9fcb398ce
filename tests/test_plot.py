"""The plotting layer: what a figure shows must be what was measured, and its labels must be readable."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.text import Text

from ackclock import Result, Scenario
from ackclock.base.files import BadInput, save_figure
from ackclock.draw import series
from ackclock.draw.kinds import fill
from ackclock.draw.labels import End, label_ends, label_points, spread
from ackclock.draw.quantities import axis
from ackclock.draw.runs import Selection, overview, time_series, timelines
from ackclock.draw.series import Recording, Series
from ackclock.draw.style import COLOURS, DASHES, MARKERS, curve, panels, point
from ackclock.draw.traces import read_recordings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

NETWORK = """
title = "Flows that end"
duration = "10s"
[[link]]
name = "l"
ends = ["a", "b"]
rate = "5Mbps"
delay = "10ms"
queue = { kind = "droptail", limit = "1bdp" }
"""


def flows(count: int, text: str = "") -> str:
    return NETWORK + "".join(f'[[flow]]\nname = "f{i}"\nfrom = "a"\nto = "b"\n{text}\n' for i in range(1, count + 1))


def traced(text: str) -> Result:
    return Scenario.parse(text).run(trace="ack", packets=True)


@settings(deadline=None)
@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=12),
    st.floats(0.001, 0.3),
)
def test_labels_are_apart_in_order_and_inside(wanted: list[float], gap: float) -> None:
    found = spread(wanted, gap, 0.0, 1.0)
    room = min(gap, 1 / (len(wanted) - 1)) if len(wanted) > 1 else gap
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    assert all(found[b] - found[a] >= room - 1e-9 for a, b in itertools.pairwise(order))
    assert all(-1e-9 <= y <= 1 + 1e-9 for y in found)


def test_labels_move_as_little_as_possible() -> None:
    assert spread([0.2, 0.8], 0.1, 0, 1) == [0.2, 0.8]
    assert spread([0.5, 0.5], 0.2, 0, 1) == pytest.approx([0.4, 0.6])
    assert spread([0.0, 0.0, 0.9], 0.1, 0, 1) == pytest.approx([0.0, 0.1, 0.9])


def boxes(figure: Figure, axes: Axes) -> list[Bbox]:
    """Where the letters of the labels are, without the lines to their curves."""
    figure.draw_without_rendering()
    return [Text.get_window_extent(text) for text in axes.texts]


def test_labels_at_the_ends_of_curves_do_not_overlap() -> None:
    figure, (axes,) = panels(1)
    ends = [End(1.0, 0.5 + 0.001 * i, f"curve {i}", COLOURS[i]) for i in range(7)]
    for end in ends:
        axes.plot([0, 1], [0, end.y])
    label_ends(figure, {axes: ends})
    found = boxes(figure, axes)
    assert len(found) == 7
    for a, b in itertools.pairwise(sorted(found, key=lambda box: box.y0)):
        assert b.y0 >= a.y1 - 1
        assert b.x0 > axes.get_window_extent().x1


def test_labels_of_points_do_not_overlap() -> None:
    figure, (axes,) = panels(1)
    points = [End(0.5 + 0.01 * i, 0.5, f"point {i}", COLOURS[i]) for i in range(6)]
    axes.plot([p.x for p in points], [p.y for p in points], "o")
    axes.set(xlim=(0, 1), ylim=(0, 1))
    label_points(figure, {axes: points})
    for a, b in itertools.combinations(boxes(figure, axes), 2):
        assert not (a.x0 < b.x1 - 1 and b.x0 < a.x1 - 1 and a.y0 < b.y1 - 1 and b.y0 < a.y1 - 1)


def test_no_two_curves_differ_in_colour_alone() -> None:
    assert len({(c["color"], str(c["linestyle"])) for c in map(curve, range(20))}) == 20
    assert len({(p["color"], p["marker"]) for p in map(point, range(20))}) == 20
    assert len({(f["edgecolor"], f["hatch"]) for f in map(fill, range(20))}) == 20
    for i in range(6):
        assert curve(i)["linestyle"] != curve(i + 1)["linestyle"]
        assert point(i)["marker"] != point(i + 1)["marker"]
    assert len(DASHES) == 5
    assert len(MARKERS) == 8


def test_thinning_keeps_peaks() -> None:
    values = np.zeros(100_000)
    values[[1234, 56_789]] = [7, -3]
    found = Series(np.arange(100_000.0), values).thinned(1000)
    assert len(found.time_s) <= 1000
    assert (found.values.max(), found.values.min()) == (7, -3)
    assert (found.time_s[0], found.time_s[-1]) == (0, 99_999)
    assert list(found.time_s) == sorted(found.time_s)


def test_the_value_at_the_start_of_an_interval_is_kept() -> None:
    found = Series(np.array([0.0, 1.0, 5.0]), np.array([1.0, 2.0, 3.0])).between(2, 4)
    assert (list(found.time_s), list(found.values)) == ([2.0], [2.0])
    held = Series(np.array([1.0, 2.0]), np.array([5.0, 6.0])).held(np.array([0.5, 1.0, 1.9, 2.5]))
    assert list(held[1:3]) == [5, 5]
    assert np.isnan(held[[0, 3]]).all()


def goodput_of(figure: Figure) -> list[Any]:
    (axes,) = [one for one in figure.axes if "new data" in one.get_ylabel()]
    return list(axes.get_lines())


def test_rates_do_not_fall_to_zero_at_the_end_of_a_run_or_of_a_flow() -> None:
    # A link that is always full: no bin of either flow may be below the others for lack of time.
    result = traced(flows(1) + '[[flow]]\nname = "short"\nfrom = "a"\nto = "b"\nbytes = "1MB"\n')
    longest, short = goodput_of(timelines(result))
    rates = np.asarray(longest.get_ydata(), float)
    assert np.isfinite(rates[-1])
    assert rates[-1] > 0.8 * np.nanmedian(rates)
    ended = result.outcome["flows"][1]["completion_s"]
    times, its = np.asarray(short.get_xdata(), float), np.asarray(short.get_ydata(), float)
    assert ended is not None
    assert np.isnan(its[times > ended]).all()
    assert np.nanmin(its[(times > 1) & np.isfinite(its)]) > 0.2


def test_rates_are_those_of_the_outcome() -> None:
    result = traced(flows(2))
    arrived = series.arrivals(result.packets)
    for flow in result.outcome["flows"]:
        rows = arrived.filter((pl.col("flow") == flow["name"]) & (pl.col("size") > 100))
        segments = rows["seq"].n_unique()
        # All that arrived, in order or not; the receiver holds a few segments that follow a gap.
        assert segments * 1448 >= flow["delivered_bytes"]
        assert segments * 1448 == pytest.approx(flow["delivered_bytes"], rel=0.02)


def test_packets_in_flight_at_the_end_have_not_arrived() -> None:
    packets = pl.DataFrame(
        {
            "time_s": [1.0, 2.0, 3.0, 4.0, 5.0],
            "link": ["a->r", "r->b", "a->r", "r->b", "a->r"],
            "event": ["deliver"] * 5,
            "flow": ["f"] * 5,
            "kind": ["data"] * 5,
            "seq": [1, 1, 2, 2, 3],
            "size": [100] * 5,
        }
    )
    assert series.arrivals(packets)["time_s"].to_list() == [2.0, 4.0]


def test_a_run_as_a_figure_has_its_panels_and_labels(tmp_path: Path) -> None:
    result = traced(flows(2))
    figure = timelines(result)
    names = [axes.get_ylabel().partition("\n")[0] for axes in figure.axes]
    assert names == ["cwnd, ssthresh", "round-trip time (ms)", "packets held", "new data at the"]
    assert {text.get_text() for text in figure.axes[0].texts} == {"f1", "f2"}
    # Points of all flows are one collection in random order, so that no flow hides the others.
    found = [np.atleast_2d(np.asarray(c.get_facecolor())) for c in figure.axes[1].collections]
    (points,) = [colours for colours in found if len(colours) > 100]
    colours = [tuple(colour) for colour in points[:200]]
    assert sum(a != b for a, b in itertools.pairwise(colours)) > 20
    for name in ("a.svg", "b.svg", "a.pdf", "b.pdf"):
        save_figure(timelines(traced(flows(2))), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a.pdf").read_bytes() == (tmp_path / "b.pdf").read_bytes()


def test_panels_are_equal_without_drops() -> None:
    # An empty row of ticks once had its box at the origin of the figure, and the layout collapsed.
    figure = timelines(traced(NETWORK.replace('"1bdp"', '"1000p"') + '[[flow]]\nname = "f"\nfrom = "a"\nto = "b"\n'))
    heights = [axes.get_window_extent().height for axes in figure.axes]
    assert max(heights) < 1.02 * min(heights)
    assert min(heights) > 100


def test_runs_without_a_trace_have_a_figure() -> None:
    udp = NETWORK + '[[flow]]\nname = "u"\nfrom = "a"\nto = "b"\nudp = { rate = "1Mbps", packet = 1000 }\n'
    figure = overview(traced(udp))
    assert [axes.get_ylabel().partition("\n")[0] for axes in figure.axes] == ["packets held", "new data at the"]
    bars = overview(Scenario.parse(flows(3)).run())
    assert bars.axes[0].get_xlabel() == "goodput (Mb/s)"
    assert len(bars.axes[0].patches) == 3


def test_many_flows_are_a_band_and_a_few_chosen_ones() -> None:
    result = traced(flows(9))
    figure = timelines(result)
    labels = {text.get_text() for text in figure.axes[0].texts}
    by_size = sorted(result.outcome["flows"], key=lambda flow: flow["goodput_bps"])
    assert labels == {by_size[0]["name"], by_size[4]["name"], by_size[-1]["name"]}
    assert len(figure.axes[0].collections) == 2
    named = timelines(result, flows=["f3", "f7"])
    assert {text.get_text() for text in named.axes[0].texts} == {"f3", "f7"}
    with pytest.raises(BadInput, match="--flow f33: there is no such flow; did you mean f3"):
        timelines(result, flows=["f33"])


def recording(label: str = "a") -> Recording:
    result = traced(flows(2))
    return Recording(label, result.trace, result.packets)


def test_several_recordings_and_an_interval() -> None:
    figure = time_series([recording("a"), recording("b")], Selection(["cwnd", "w_max"], ["f1"], (), 2.0, 4.0))
    assert {text.get_text() for text in figure.axes[0].texts} == {"a: f1", "b: f1"}
    assert figure.axes[-1].get_xlim() == (2, 4)
    assert figure.axes[1].get_ylabel() == "w max"
    with pytest.raises(BadInput, match="--y cwn: there is no such column; did you mean cwnd"):
        time_series([recording()], Selection(["cwn"]))
    with pytest.raises(BadInput, match="--from: the recording ends at"):
        time_series([recording()], Selection(start_s=50.0))
    with pytest.raises(BadInput, match="--link l: there is no such link"):
        time_series([recording()], Selection(["queue"], links=["l"]))


def test_recordings_are_read_from_files(tmp_path: Path) -> None:
    result = traced(flows(1))
    result.trace.write_parquet(tmp_path / "one.trace.parquet")
    result.packets.write_csv(tmp_path / "one.packets.csv")
    result.trace.write_csv(tmp_path / "two.csv")
    one, two = read_recordings([tmp_path / name for name in ("one.trace.parquet", "one.packets.csv", "two.csv")])
    assert (one.label, two.label) == ("one", "two")
    assert one.trace is not None
    assert one.packets is not None
    assert two.packets is None
    assert two.trace is not None
    assert two.trace["cwnd"].to_list() == result.trace["cwnd"].to_list()
    text = (tmp_path / "two.csv").read_text().splitlines()
    (tmp_path / "mixed.csv").write_text("\n".join([text[0], *reversed(text[1:])]))
    (mixed,) = read_recordings([tmp_path / "mixed.csv"])
    assert mixed.trace is not None
    assert mixed.trace["time_s"].is_sorted()
    (tmp_path / "odd.csv").write_text("time_s,flow,cwnd,$x\n0,f,wide,1\n1,f,narrow,2\n")
    odd = read_recordings([tmp_path / "odd.csv"])
    with pytest.raises(BadInput, match="no column of numbers"):
        time_series(odd, Selection())
    with pytest.raises(BadInput, match="--y cwnd: there is no such column"):
        time_series(odd, Selection(["cwnd"]))
    assert time_series(odd, Selection(["$x"])).axes[0].get_ylabel() == r"\$x"
    (tmp_path / "empty.csv").write_text("time_s,flow,cwnd\n")
    (tmp_path / "words.csv").write_text("time_s,flow,cwnd\nnow,f,1\n")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    (tmp_path / "broken.parquet").write_text("no")
    for name, message in (
        ("empty.csv", "has no rows|must hold numbers"),
        ("words.csv", "the column time_s must hold numbers"),
        ("other.csv", "neither a window trace"),
        ("broken.parquet", "cannot be read"),
        ("missing.csv", "no such file"),
        ("x.toml", "must be the folder of a study, or a trace"),
    ):
        with pytest.raises(BadInput, match=message):
            read_recordings([tmp_path / name])


@pytest.mark.parametrize(
    ("name", "labels", "words", "numbers"),
    [
        ("link.l.loss.rate", ["0", "0.01", "0.1"], "l loss rate", [0, 0.01, 0.1]),
        ("link.l.rate", ["500kbps", "1Mbps", "20Mbps"], "l rate (Mb/s)", [0.5, 1, 20]),
        ("delay", ["10ms", "1s"], "delay (s)", [0.01, 1]),
        ("buffer", ["0.5bdp", "4bdp"], "buffer (bandwidth-delay products)", [0.5, 4]),
        ("q", ["droptail limit=5p", "droptail limit=40p"], "q limit (packets)", [5, 40]),
        ("q", ["droptail limit=5p", "codel limit=40p"], "q", None),
        ("size", ["10kB", "1MB"], "size (MB)", [0.01, 1]),
        ("mixed", ["10kB", "10p"], "mixed", None),
        ("control", ["reno", "cubic"], "control", None),
    ],
)
def test_axes_as_numbers(name: str, labels: list[str], words: str, numbers: list[float] | None) -> None:
    found = axis(name, labels)
    assert found.words == words
    assert found.numbers == (None if numbers is None else pytest.approx(numbers))


@pytest.mark.parametrize("kind", ["droptail", "codel", "fq_codel", "dualpi2"])
def test_a_queue_is_empty_when_all_is_delivered(kind: str) -> None:
    """Packets that a discipline drops while they wait leave the queue too."""
    text = f"""
    duration = "30s"
    link = [{{ ends = ["a", "b"], rate = "5Mbps", delay = "10ms", queue = {{ kind = "{kind}", limit = "60p" }} }}]
    flow = [{{ name = "f", from = "a", to = "b", bytes = "4000kB", tcp = {{ profile = "linux" }} }}]
    """
    result = Scenario.parse(text).run(packets=True)
    held = series.queue_length(result.packets, "a->b")
    dropped = result.outcome["links"][0]["dropped_packets"]
    assert result.outcome["flows"][0]["completion_s"] < 29
    assert dropped["queue"] + dropped["aqm"] > 0
    assert held.values[-1] == 0
    assert held.values.min() >= 0
    assert held.values.max() <= 62
