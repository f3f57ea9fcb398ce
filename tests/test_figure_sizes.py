"""Figures of every kind at three widths: nothing is cut, nothing overlaps."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ackclock import Scenario
from ackclock.base.files import BadInput, save_figure
from ackclock.draw.style import chosen_size, overlapping, settle, sized
from ackclock.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NETWORK = """
duration = "4s"
[[link]]
name = "path"
ends = ["a", "b"]
rate = "5Mbps"
delay = "10ms"
queue = { kind = "droptail", limit = "2bdp" }
[[flow]]
name = "f"
from = "a"
to = "b"
[[flow]]
name = "the second flow"
from = "a"
to = "b"
start = "1s"
"""
SWEEP = """
[sweep]
seed = "1..3"
"link.path.loss.rate" = [0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01]
"tcp.congestion_control" = ["reno", "cubic", "westwood_plus", "bic", "hybla"]
"""
KINDS = ("lines", "box", "ecdf", "bars", "throughput-delay", "heatmap")
WIDTHS = (None, "page", "column")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("sizes")
    file = folder / "study.toml"
    loss = 'loss = { kind = "bernoulli", rate = 0.001 }\n[[flow]]\nname = "f"'
    file.write_text(NETWORK.replace('[[flow]]\nname = "f"', loss, 1) + SWEEP)
    loaded = Study.load(file)
    loaded.run(folder / "out")
    return loaded


@cache
def traced() -> Any:
    return Scenario.parse(NETWORK, file="network.toml").run(trace="ack", packets=True)


def check(figure: Figure, width: float) -> None:
    """Every text lies within the figure, and no two tick labels of an axis overlap."""
    figure.draw_without_rendering()
    assert figure.get_figwidth() == pytest.approx(width)
    frame = figure.bbox
    texts = [*figure.texts, *(text for legend in figure.legends for text in legend.get_texts())]
    for axes in figure.axes:
        if axes.get_visible():
            texts += [axes.xaxis.label, axes.yaxis.label, axes.title, *axes.texts]
    for text in texts:
        if not text.get_visible() or not text.get_text().strip():
            continue
        box = text.get_window_extent()
        inside = box.x0 >= frame.x0 - 1 and box.x1 <= frame.x1 + 1 and box.y0 >= frame.y0 - 1 and box.y1 <= frame.y1 + 1
        assert inside, f"{text.get_text()!r} is cut: {box} in {frame}"
    for axes in figure.axes:
        if axes.get_visible():
            for axis, side in ((axes.xaxis, 0), (axes.yaxis, 1)):
                labels = [t for t in axis.get_ticklabels(which="both") if t.get_visible() and t.get_text()]
                low, high = sorted(axis.get_view_interval())
                shown = [t for t in labels if low <= t.get_position()[side] <= high]
                assert (side == 0 and any(t.get_rotation() for t in shown)) or not overlapping(shown, side), axis


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_figures_of_studies_fit(study: Study, kind: Any, width: str | None) -> None:
    y = "queueing" if kind == "heatmap" else "goodput"
    figure = study.plot(kind=kind, y=y, width=width)
    check(figure, {"column": 3.5, "page": 7.16, None: 9.2}[width])


@pytest.mark.parametrize("width", WIDTHS)
def test_figures_of_runs_fit(width: str | None) -> None:
    check(traced().plot(width=width), {"column": 3.5, "page": 7.16, None: 9.2}[width])


def test_pdf_has_fonts_that_publishers_take(tmp_path: Path) -> None:
    file = tmp_path / "figure.pdf"
    save_figure(traced().plot(width="column", show_title=False), file)
    content = file.read_bytes()
    assert b"/Type3" not in content
    assert b"/FontFile2" in content


def test_png_has_200_dots_per_inch(tmp_path: Path) -> None:
    file = tmp_path / "figure.png"
    save_figure(traced().plot(width="column", height=2), file)
    assert file.read_bytes()[16:24] == (700).to_bytes(4, "big") + (400).to_bytes(4, "big")


def test_sizes_are_checked_and_chosen() -> None:
    figure = traced().plot("cwnd", width=5.5, height=2.5, font_size=7, show_title=False)
    assert tuple(figure.get_size_inches()) == pytest.approx((5.5, 2.5))
    assert not figure.get_suptitle()
    assert chosen_size(None, None, None) is None
    for wrong in ((0.1, None, None), ("wide", None, None), (3.5, 100, None), (3.5, None, 2)):
        with pytest.raises(BadInput, match="must be"):
            chosen_size(*wrong)


def test_overlapping_ticks_are_separated() -> None:
    from ackclock.draw.style import panels

    with sized(chosen_size("column", None, None)):  # type: ignore[arg-type]
        figure, (axes,) = panels(1)
        axes.set_xlim(0, 8)
        axes.set_xticks(range(9), [f"{x}.000000" for x in range(9)])
        figure.draw_without_rendering()
        assert overlapping(axes.get_xticklabels(), 0)
        settle(figure)
        assert not overlapping([t for t in axes.get_xticklabels() if t.get_visible()], 0)


def test_the_command_has_the_same_sizes(root: Path, tmp_path: Path) -> None:
    scenario = tmp_path / "network.toml"
    scenario.write_text(NETWORK)

    def plot(*options: str) -> subprocess.CompletedProcess[str]:
        command = [str(root / ".venv" / "bin" / "ackclock"), "plot", str(scenario), *options]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    done = plot("--width", "9cm", "--height", "2.5in", "--font-size", "7", "--no-title", "--format", "pdf")
    assert done.returncode == 0, done.stderr
    assert b"/MediaBox [ 0 0 255.118" in (tmp_path / "plot.pdf").read_bytes()
    for options, said in (
        (["--width", "wide"], "9cm, column, page"),
        (["--format", "pdf", "--out", "a.svg"], ".svg"),
    ):
        done = plot(*options)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
