"""Figures of studies, and the command `ackclock plot`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from ackclock import stats
from ackclock.base.axes import Point, named
from ackclock.base.files import BadInput
from ackclock.draw.kinds import Kind
from ackclock.draw.studies import KINDS, Choice, study_figure
from ackclock.draw.style import COLOURS
from ackclock.draw.table import StudyTable
from ackclock.metrics import RunMetric, metric
from ackclock.study import Store, Study, sweep
from ackclock.study.executors import Local
from ackclock.study.results import points

Run = Callable[..., "subprocess.CompletedProcess[str]"]

STUDY = """
title = "Random loss"
duration = "4s"
delays = true
[[link]]
name = "l"
ends = ["a", "b"]
rate = "2Mbps"
delay = "10ms"
queue = { kind = "droptail", limit = "10p" }
loss = { kind = "bernoulli", rate = 0.001 }
[[flow]]
name = "f1"
from = "a"
to = "b"
start_jitter = "500ms"
[[flow]]
name = "f2"
from = "a"
to = "b"
[[flow]]
name = "noise"
from = "a"
to = "b"
udp = { rate = "50kbps", packet = 200 }
[sweep]
seed = "1..4"
"link.l.loss.rate" = [0.001, 0.01, 0.05]
"tcp.congestion_control" = ["reno", "cubic"]
"""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("plots") / "study"
    with Store.create(made) as store:
        sweep(Study.parse(STUDY), store, Local(2))
    return made


@pytest.fixture(scope="session")
def table(folder: Path) -> StudyTable:
    with Store.open(folder) as store:
        return points(store)


def test_lines_are_means_with_intervals(table: StudyTable) -> None:
    figure = study_figure(table, Choice("loss", ["goodput"], "control"))
    axes = figure.axes[0]
    assert axes.get_xlabel() == "l loss rate"
    assert axes.get_ylabel() == "total goodput of 2 TCP flows (Mb/s)"
    assert axes.get_xscale() == "log"
    assert {text.get_text() for text in axes.texts} == {"reno", "cubic"}
    for control, colour in (("reno", COLOURS[0]), ("cubic", COLOURS[1])):
        (line,) = [one for one in axes.get_lines() if one.get_color() == colour and one.get_linestyle() != "None"]
        bars = [c for c in axes.collections if np.allclose(np.asarray(c.get_edgecolor())[0], to_rgba(colour))]
        for i, loss in enumerate(("0.001", "0.01", "0.05")):
            runs = [
                sum(f["goodput_bps"] for f in row["flows"] if f["kind"] == "tcp") / 1e6
                for point, rows in table.points.items()
                if dict(point) == {"link.l.loss.rate": loss, "tcp.congestion_control": control}
                for row in rows
            ]
            e = stats.mean(runs)
            assert len(runs) == 4
            assert np.asarray(line.get_ydata())[i] == pytest.approx(e.value)
            segment = bars[0].get_segments()[i]  # type: ignore[attr-defined]
            assert list(segment[:, 1]) == pytest.approx([e.low, e.high])


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_draws_and_says_what_it_shows(folder: Path, tmp_path: Path, ackclock: Run, kind: str) -> None:
    targets = [tmp_path / "a.svg", tmp_path / "b.svg"]
    for target in targets:
        done = ackclock("plot", folder, "--kind", kind, "--by", "control", "--out", target)
        assert done.returncode == 0, done.stderr
        assert done.stdout == f"written: {target}\n"
    assert targets[0].read_bytes() == targets[1].read_bytes()
    assert len(targets[0].read_bytes()) > 10_000


def test_ecdf_has_every_flow_of_every_run(table: StudyTable) -> None:
    figure = study_figure(table, Choice(y=["goodput"], by="control", kind="ecdf"))
    assert [axes.get_title("left") for axes in figure.axes] == [
        f"l loss rate: {label}" for label in ("0.001", "0.01", "0.05")
    ]
    for axes in figure.axes:
        for line in axes.get_lines():
            assert len(np.unique(np.asarray(line.get_ydata()))) == 1 + 2 * 4
    assert "8 values: every flow of every run" in figure._supxlabel.get_text()  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", ["lines", "bars", "box"])
@pytest.mark.parametrize("values", [(1.0, 4.0, 50.0, 60.0), (50.0, 60.0, 1.0, 4.0), (-9.0, -4.0, 50.0, 90.0)])
def test_panels_with_one_axis_show_all_values(kind: Kind, values: tuple[float, ...]) -> None:
    """The panel that is drawn first has the small values, or the large ones."""
    labels = [(panel, x) for panel in "pq" for x in "12"]
    rows: dict[Point, list[dict[str, Any]]] = {
        (("rate", panel), ("loss", x), ("control", name)): [{"v": value}, {"v": 1.01 * value}]
        for (panel, x), value in zip(labels, values, strict=True)
        for name in ("reno", "cubic")
    }
    table = StudyTable("Two panels", rows, dict.fromkeys(rows, 2))
    metric = RunMetric("v", "value", "", lambda row: [row["v"]], "one", (-float("inf"), float("inf")))
    figure = study_figure(table, Choice("loss", [metric], "control", kind))
    first, second = figure.axes
    assert first.get_ylim() == second.get_ylim()
    low, high = first.get_ylim()
    assert low <= min(0, *values)
    assert high >= 1.01 * max(values)
    assert high < 2.5 * max(values)


def test_heatmap_has_one_scale_and_numbers(table: StudyTable) -> None:
    figure = study_figure(table, Choice(x="loss", y=["utilisation"], by="control", kind="heatmap"))
    axes = figure.axes[0]
    numbers = [float(text.get_text().partition("\n")[0]) for text in axes.texts]
    found = axes.images[0].get_array()
    assert found is not None
    assert sorted(numbers) == pytest.approx(sorted(np.asarray(found).ravel()), abs=0.006)
    assert len(numbers) == 6


def test_throughput_against_delay_is_better_up_and_right(table: StudyTable) -> None:
    figure = study_figure(table, Choice(by="control", kind="throughput-delay"))
    for axes in figure.axes:
        left, right = axes.get_xlim()
        assert left > right == 0
        assert len(axes.patches) == 2
    assert "decreasing to the right" in figure.axes[0].get_xlabel().replace("\n", " ")


def test_metrics_are_those_of_the_outcome(table: StudyTable) -> None:
    rows = table.rows
    row = rows[0]
    tcp = [flow for flow in row["flows"] if flow["kind"] == "tcp"]
    link = row["links"][0]
    assert link["name"] == "a->b"
    expected = {
        "goodput": sum(flow["goodput_bps"] for flow in tcp),
        "rtt": sum(flow["mean_rtt_s"] for flow in tcp) / 2,
        "queueing": sum(flow["mean_delay_s"] - flow["base_delay_s"] for flow in tcp) / 2,
        "utilisation": link["utilisation"],
        "drops": link["dropped_packets"]["queue"],
        "drop_rate": link["drop_rate"],
        "jain": row["fairness"]["jain"],
        "sent_packets": sum(flow["sent_packets"] for flow in tcp),
        "noise.goodput_bps": row["flows"][2]["goodput_bps"],
        "a->b.dropped_loss": link["dropped_packets"]["loss"],
    }
    for name, value in expected.items():
        assert metric(name, rows).value(row) == pytest.approx(value), name
    assert metric("goodput", rows, flows=["f2"]).value(row) == tcp[1]["goodput_bps"]
    assert metric("utilisation", rows, link="b->a").value(row) == row["links"][1]["utilisation"]


def test_deterministic_points_have_no_interval(tmp_path: Path) -> None:
    text = STUDY.replace('start_jitter = "500ms"', "").replace('kind = "bernoulli", rate = 0.001', 'kind = "none"')
    text = text.replace('"link.l.loss.rate" = [0.001, 0.01, 0.05]', '"link.l.delay" = ["5ms", "10ms"]')
    with Store.create(tmp_path / "s") as store:
        sweep(Study.parse(text), store, Local(2))
        figure = study_figure(points(store), Choice(y=["goodput"]))
    assert figure._supxlabel.get_text() == "4 seeds at each point, with equal outcomes; no intervals."  # type: ignore[attr-defined]


def test_axes_by_a_part_of_their_name() -> None:
    names = ["link.l.loss.rate", "link.l.rate", "tcp.congestion_control"]
    assert named("loss", names, "--x") == "link.l.loss.rate"
    assert named("control", names, "--x") == "tcp.congestion_control"
    assert named("link.l.rate", names, "--x") == "link.l.rate"
    with pytest.raises(BadInput, match=r"--x rate: several axes have this part: link\.l\.loss\.rate, link\.l\.rate"):
        named("rate", names, "--x")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--y", "godput"], "there is no metric godput; did you mean goodput?"),
        (["--x", "delay"], "--x delay: there is no such axis; there are link.l.loss.rate, tcp.congestion_control"),
        (["--x", "loss", "--by", "loss"], "--x loss: is the axis of --by too"),
        (["--where", "loss=7"], "--where: link.l.loss.rate is never 7; it is 0.001, 0.01, 0.05"),
        (["--where", "loss"], "must be AXIS=LABEL"),
        (["--flow", "f3"], "--flow f3: there is no such flow; there are f1, f2, noise"),
        (["--y", "queue", "--link", "a-b"], "--link a-b: there is no such link; did you mean a->b?"),
        (["--y", "completion"], "--y completion: no run has a value"),
        (["--from", "2s"], "is a study, so --from has no meaning"),
        (["--out", "x.gif"], "--out x.gif: the name must end in .svg, .pdf, .png or .eps"),
    ],
)
def test_mistakes_are_named(folder: Path, ackclock: Run, options: list[str], message: str) -> None:
    done = ackclock("plot", folder, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert not (folder / "plot.svg").exists()


def test_traces_of_two_runs_and_their_mistakes(tmp_path: Path, ackclock: Run) -> None:
    scenario = tmp_path / "s.toml"
    scenario.write_text(STUDY.partition("[sweep]")[0])
    for name in ("one", "two"):
        options = ("--trace", f"{name}.trace.parquet", "--packets", f"{name}.packets.parquet", "--json")
        done = ackclock("run", scenario, "--seed", "3", *options, cwd=tmp_path)
        assert json.loads(done.stdout)["seed"] == 3
    files = [f"{name}.{kind}.parquet" for name in ("one", "two") for kind in ("trace", "packets")]
    done = ackclock("plot", *files, "--y", "cwnd", "--y", "queue", "--from", "1s", "--to", "3s", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "plot.svg").is_file()
    mistakes: tuple[tuple[tuple[str, ...], str], ...] = (
        (("--x", "loss"), "is no folder of a study, so --x has no meaning"),
        (("--from", "3s", "--to", "2s"), "--to: must be later than --from"),
        (("--y", "bwe"), "--y bwe: there is no such column"),
    )
    for mistaken, message in mistakes:
        done = ackclock("plot", files[0], *mistaken, "--out", "no.svg", cwd=tmp_path)
        assert done.returncode == 2
        assert message in done.stderr
        assert not (tmp_path / "no.svg").exists()


def test_results_draws_the_default_figure(folder: Path, tmp_path: Path, ackclock: Run) -> None:
    done = ackclock("results", folder, "--plot", tmp_path / "r.png", "--where", "tcp.congestion_control=reno")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")
    assert "goodput" in done.stdout
