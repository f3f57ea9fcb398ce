"""What Python says of applications: metrics, tables, files and figures."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from ackclock import Scenario, stats
from ackclock._core import pooled_quantile
from ackclock.apps.comparison import compare
from ackclock.apps.trials import Trials
from ackclock.base.files import BadInput
from ackclock.base.sketches import bucket_value, by_rank
from ackclock.cli.applications_table import percentile
from ackclock.draw import applications
from ackclock.draw.traces import read_messages
from ackclock.metrics import METRICS, bounds, metric, numbers
from ackclock.metrics.applications import families, message_counts, size_name
from ackclock.metrics.registry import by_logarithm
from ackclock.study import Store, Study, results, sweep
from ackclock.study.executors import Local

if TYPE_CHECKING:
    import subprocess

    Run = Callable[..., subprocess.CompletedProcess[str]]

LINK = """
title = "Every kind"
duration = "8s"
delays = true
[[link]]
ends = ["server", "phone"]
rate = "6Mbps"
delay = "20ms"
queue = { kind = "droptail", limit = "100kB" }
"""


def flow(name: str, app: str, more: str = "") -> str:
    return f'[[flow]]\nname = "{name}"\nfrom = "server"\nto = "phone"\napp = {app}\n{more}'


REQUESTS = '{ kind = "requests", response = ["2kB", "20kB"], think = "50ms", random = true, connections = 3 }'
OBJECTS = '[["30kB"], ["20kB", 0], ["9kB", 0], ["20kB", 1]]'
PAGE = f'{{ kind = "page", objects = {OBJECTS}, repeat = "500ms", protocol = "http1" }}'
FRAMES = '{ kind = "frames", rate = "2Mbps", deadline = "120ms" }'
VIDEO = '{ kind = "video", ladder = ["300kbps", "1Mbps", "2Mbps"], chunk = "2s", buffer = "8s" }'
ALL = LINK + flow("api", REQUESTS) + flow("page", PAGE) + flow("call", FRAMES) + flow("film", VIDEO)
BULK = '[[flow]]\nname = "bulk"\nfrom = "server"\nto = "phone"\nbytes = "1MB"\n'


@pytest.fixture(scope="module")
def outcome() -> dict[str, Any]:
    return Scenario.parse(BULK.join([LINK, ""]) + ALL.removeprefix(LINK)).run().outcome


def sketch(*values: float) -> list[list[int | None]]:
    """A sketch with one message for each value, in the bucket next to it."""
    buckets = {value: min(range(4000), key=lambda b: abs(bucket_value(b) - value)) for value in values if value < 1e3}
    return [[buckets.get(value), 1] for value in values]


def of_app(name: str, times: list[float], kind: str = "requests", **more: Any) -> dict[str, Any]:
    """A flow whose messages have these times, infinite for those without an end; the ideal time is 0.1 s."""
    ended = [x for x in times if math.isfinite(x)]
    slow = [10 * x for x in times]
    app = {
        "kind": kind,
        "messages": len(times),
        "finished": len(ended),
        "mean_slowdown": 10 * sum(ended) / len(ended) if ended else None,
        "bins": [{"up_to_bytes": 10_000, "messages": len(times), "slowdown_sketch": sketch(*slow)}],
        "sketch": sketch(*times),
        "slowdown_sketch": sketch(*slow),
    }
    for part in (0.5, 0.95, 0.99):
        value = by_rank([(x, 1) for x in times], part)
        exact = None if value is None or math.isinf(value) else value
        app |= {f"p{100 * part:.0f}_s": exact, f"p{100 * part:.0f}_slowdown": exact and 10 * exact}
    return {"name": name, "kind": "tcp", "completion_s": None, "active_s": 30.0, "app": app | more}


def transfer(name: str, completion_s: float | None, size: int = 5000) -> dict[str, Any]:
    slowdown = {} if completion_s is None else {"slowdown": 10 * completion_s}
    return {
        "name": name,
        "kind": "tcp",
        "completion_s": completion_s,
        "transfer_bytes": size,
        "ideal_s": 0.1,
        "active_s": 1.0,
        **slowdown,
    }


def run_of(*flows: dict[str, Any]) -> dict[str, Any]:
    return {"flows": list(flows), "links": [], "fairness": {"jain": None}, "engine": {"events": 1}}


def value(name: str, *flows: dict[str, Any]) -> float | None:
    return metric(name, [run_of(*flows)]).value(run_of(*flows))


def test_percentiles_are_those_of_the_ranks() -> None:
    def upto(last: int) -> list[tuple[float, int]]:
        return [(float(x), 1) for x in range(1, last + 1)]

    assert (by_rank(upto(20), 0.95), by_rank(upto(19), 0.95)) == (19.0, None)
    assert (by_rank(upto(100), 0.99), by_rank(upto(99), 0.99)) == (99.0, None)
    assert (by_rank([(1.0, 1), (3.0, 1)], 0.5), by_rank([(1.0, 1)], 0.5), by_rank([], 0.0)) == (1.0, None, None)
    assert by_rank([(2.0, 3), (1.0, 7)], 0.9) == 2.0


def test_pooled_sketches_have_the_percentiles_of_the_core(outcome: dict[str, Any]) -> None:
    flows = [one for one in outcome["flows"] if one["name"].startswith("api")]
    assert len(flows) == 3
    for part in (0.5, 0.9, 0.95):
        pairs = [(bucket, count) for one in flows for bucket, count in one["app"]["sketch"]]
        counts = [pair for one in flows for pair in message_counts(one, "s")]
        assert by_rank(counts, part) == pooled_quantile(pairs, part)


def test_median_ranks() -> None:
    ranks = {n: stats.median_ranks(n) for n in (5, 6, 8, 10, 20, 30)}
    assert ranks == {5: None, 6: (1, 6), 8: (1, 8), 10: (2, 9), 20: (6, 15), 30: (10, 21)}
    assert stats.median([3.0, 1.0, 2.0]) == stats.Estimate(2.0, None, None, 3)
    assert stats.median([6.0, 1.0, 2.0, 3.0, 4.0, 5.0]) == stats.Estimate(3.5, 1.0, 6.0, 6)
    assert math.isnan(stats.median([]).value)


def test_percentiles_over_runs_have_the_interval_of_their_logarithms() -> None:
    e = stats.over_runs([1.0, 4.0], by_logarithm=True)
    assert e.value == pytest.approx(2.0)
    assert e == stats.geometric([0.0, math.log(4)])
    assert stats.over_runs([0.0, 4.0], 0.0, by_logarithm=True) == stats.within([0.0, 4.0], 0.0)
    assert stats.over_runs([1.0, 4.0], 0.0) == stats.within([1.0, 4.0], 0.0)
    assert [
        name
        for name in ("p95_completion", "page_load", "goodput", "qoe", "a.app.p95_s", "a.p95_delay_s", "a.app.qoe")
        if by_logarithm(name)
    ] == ["p95_completion", "page_load", "a.app.p95_s"]
    flows = [of_app("a", [float(x) for x in range(1, 21)])]
    assert metric("p95_completion", [run_of(*flows)]).estimate([1.0, 4.0]) == e


def test_percentiles_of_transfers_are_by_rank() -> None:
    done = [transfer(f"w{x}", float(x)) for x in range(1, 21)]
    assert value("p95_completion", *done) == 19.0
    assert value("p95_slowdown", *done) == 190.0
    assert value("p95_completion", *done[:19]) is None
    assert value("p99_slowdown", *done) is None
    assert value("finished", *done) == 1.0
    one_open = [*done[:19], transfer("w20", None)]
    assert value("p95_completion", *one_open) == 19.0  # the 19th of 20
    assert value("p95_completion", *one_open[:18], transfer("a", None), transfer("b", None)) is None
    assert value("finished", *one_open) == 0.95
    assert value("mean_slowdown", *done[:3]) == 20.0
    assert value("p99_slowdown_10kB", *[transfer(str(x), 1.0) for x in range(100)]) == 10.0
    assert value("p99_slowdown_100kB", *[transfer(str(x), 1.0) for x in range(100)]) is None
    assert [size_name(size) for size in (1, 10_000, 10_001, 10**6, 10**7, 10**9)] == [
        "10kB",
        "10kB",
        "100kB",
        "1MB",
        "10MB",
        "more",
    ]


def test_a_single_application_is_exact_and_several_are_pooled() -> None:
    times = [0.01 * x for x in range(1, 21)]
    a, b = of_app("a", times), of_app("b", [x + 0.2 for x in times])
    assert value("p95_completion", a) == a["app"]["p95_s"] == 0.19
    assert value("p95_completion", a, b) == pytest.approx(0.38, rel=0.008)
    assert value("p50_completion", a, b) == pytest.approx(0.2, rel=0.008)
    assert value("mean_slowdown", a, b) == pytest.approx(0.5 * (a["app"]["mean_slowdown"] + b["app"]["mean_slowdown"]))
    never = of_app("c", [math.inf] * 3)
    assert value("p95_completion", a, never) is None
    assert value("p50_completion", a, never) == pytest.approx(0.12, rel=0.008)
    assert value("finished", a, never) == 20 / 23
    # A transfer is one message more.
    assert value("p95_completion", of_app("d", times[:19]), transfer("t", 9.0)) == pytest.approx(0.19, rel=0.008)
    assert value("p99_slowdown_10kB", *[of_app(str(i), times) for i in range(5)]) == pytest.approx(2.0, rel=0.008)
    assert value("p99_slowdown_more", a, b) is None


def test_a_metric_leaves_out_the_flows_to_which_it_does_not_apply() -> None:
    plain = {"name": "bulk", "kind": "tcp", "completion_s": None, "goodput_bps": 1e6, "active_s": 1.0}
    page = of_app("page/0", [1.0] * 4, "page", p50_page_s=2.0, p95_page_s=None, byte_index_s=1.5)
    other = {**plain, "name": "page/1"}
    rows = [run_of(plain, page, other)]
    assert metric("page_load", rows).value(rows[0]) == 2.0
    assert metric("page_load", rows).words == METRICS["page_load"].words  # of one flow
    assert metric("p95_page_load", rows).value(rows[0]) is None
    assert metric("startup", rows).value(rows[0]) is None
    assert metric("p50_completion", rows).value(rows[0]) == 1.0
    # A key of flows is found although the first flow, or every flow, lacks it.
    assert metric("slowdown", [run_of(plain, transfer("t", 2.0))]).value(run_of(plain, transfer("t", 2.0))) == 20.0
    assert metric("transfer_bytes", [run_of(plain)]).value(run_of(plain)) in {None, 0}
    with pytest.raises(BadInput, match="no metric app"):
        metric("app", rows)


def test_values_of_kinds() -> None:
    film = of_app(
        "film", [1.0] * 2, "video", switches=3, qoe=-1.5, mean_bitrate_bps=1e6, startup_s=0.5, rebuffer_ratio=0.25
    )
    call = of_app(
        "call", [0.1] * 20, "frames", on_time=15, freezes=2, freeze_s=3.0, encoder_bps=2e6, p95_mouth_to_ear_s=0.1
    )
    api = of_app("api/0", [0.1] * 4, requests_per_s=4.0)
    flows = [film, call, api, {**api, "name": "api/1"}]
    expected = {
        "switches": 0.1,
        "qoe": -1.5,
        "bitrate": 1e6,
        "startup": 0.5,
        "rebuffer": 0.25,
        "frames_on_time": 0.75,
        "frame_delay": 0.1,
        "p95_frame_delay": 0.1,
        "p99_frame_delay": None,
        "freezes": 2 / 30,
        "freeze_time": 0.1,
        "encoder_rate": 2e6,
        "mouth_to_ear": 0.1,
        "requests": 8.0,
        "page_load": None,
    }
    assert {name: value(name, *flows) for name in expected} == expected
    assert bounds("qoe")[0] == bounds("film.app.qoe")[0] == -math.inf
    assert bounds("finished") == (0.0, 1.0)
    assert bounds("api/0.app.finished") == (0.0, math.inf)  # a count


def test_time_limited_by_the_application() -> None:
    limits = {"handshake": 1.0, "congestion_window": 2.0, "application": 1.0}
    one = {"name": "f", "kind": "tcp", "limited_s": limits}
    assert value("app_limited", one) == 0.25
    assert value("app_limited", {"name": "u", "kind": "udp"}) is None
    assert numbers(run_of(one))["f.limited_s.application"] == 1.0


def test_numbers_have_those_of_applications(outcome: dict[str, Any]) -> None:
    by_name = numbers(outcome)
    assert by_name["call.app.on_time"] == next(f for f in outcome["flows"] if f["name"] == "call")["app"]["on_time"]
    assert not [name for name, number in by_name.items() if ".app." in name and isinstance(number, list | str)]
    assert metric("call.app.p95_s", [outcome]).by_logarithm


def test_connections_belong_to_one_application(outcome: dict[str, Any]) -> None:
    assert {name: len(flows) for name, flows in families(outcome["flows"]).items()} == {
        "bulk": 1,
        "api": 3,
        "page": 6,
        "call": 1,
        "film": 1,
    }
    assert list(families([{"name": "a/0"}, {"name": "a/1"}])) == ["a/0", "a/1"]  # without an application


def test_a_percentile_on_a_message_without_an_end_has_a_bound() -> None:
    assert percentile([of_app("a", [0.1] * 18 + [math.inf] * 2)], 0.95, "s").startswith("> 10")
    assert percentile([of_app("a", [0.1] * 18 + [math.inf] * 2)], 0.99, "s") == "-"
    assert percentile([of_app("a", [0.1] * 20)], 0.95, "s") == "100 ms"
    assert percentile([transfer(str(x), 0.5) for x in range(20)], 0.95, "slowdown") == "5"
    assert percentile([of_app("a", [math.inf] * 2)], 0.5, "s") == "> all"


def test_the_summary_is_narrow(tmp_path: Path, ackclock: Run) -> None:
    (tmp_path / "s.toml").write_text(ALL)
    shown = ackclock("run", "s.toml", cwd=tmp_path).stdout
    lines = shown.splitlines()
    assert max(map(len, lines)) <= 100
    table = lines[lines.index(next(line for line in lines if line.startswith("Applications"))) :]
    rows = {line.split()[0]: line.split() for line in table[3:7]}
    assert {name: row[1] for name, row in rows.items()} == {
        "api": "requests",
        "page": "page",
        "call": "frames",
        "film": "video",
    }
    assert max(map(len, table[:7])) <= 80
    assert any(line.startswith("page/0..5 ") for line in lines)
    assert not any(line.startswith("page/1") for line in lines)
    assert any(line.startswith("  call: ") and "of the frames on time" in line for line in lines)
    every = ackclock("run", "s.toml", "--all", cwd=tmp_path).stdout
    assert all(f"\npage/{number} " in every for number in range(6))


def test_messages_of_a_run() -> None:
    """Vector 1 of the reference, a network of 10 Mb/s and 20 ms each way: 14,480 bytes take 52.2816 ms."""
    text = LINK.replace("6Mbps", "10Mbps") + flow(
        "f",
        '{ kind = "requests", response = "14480B", think = "100ms", requests = 4 }',
        'tcp = { congestion_control = "reno", delayed_ack = false, validation = "none", idle_restart = "none" }\n',
    )
    scenario = Scenario.parse(text)
    assert scenario.has_applications
    table = scenario.run(messages=True).messages
    assert table.columns == [
        *("flow", "number", "kind", "connection", "bytes", "start_s", "first_s", "end_s", "ideal_s"),
        *("slowdown", "state", "rate_bps"),
    ]
    assert table.height == 4
    spans = (table["end_s"] - table["start_s"]).to_list()
    assert spans == pytest.approx([0.0523232, 0.0522816, 0.0522816, 0.0522816], abs=1e-12)
    assert table["start_s"][0] == pytest.approx(0.040096, abs=1e-12)
    assert table["state"].unique().to_list() == ["finished"]
    assert table["slowdown"].to_list() == pytest.approx([s / i for s, i in zip(spans, table["ideal_s"], strict=True)])
    assert table["rate_bps"][3] == pytest.approx(8 * 14480 / 0.0522816)
    assert scenario.run().messages.is_empty()


def test_messages_as_files(tmp_path: Path, ackclock: Run) -> None:
    (tmp_path / "s.toml").write_text(ALL)
    for name in ("m.parquet", "m.csv"):
        done = ackclock("run", "s.toml", "--messages", name, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert f"written: {name}" in done.stdout
    assert read_messages(tmp_path / "m.csv").height == read_messages(tmp_path / "m.parquet").height > 300
    (tmp_path / "plain.toml").write_text(LINK + BULK)
    refused = ackclock("run", "plain.toml", "--messages", "n.csv", cwd=tmp_path)
    assert refused.returncode == 2
    assert "no flow of plain.toml has an application" in refused.stderr
    assert "must end in .parquet or .csv" in ackclock("run", "s.toml", "--messages", "m.txt", cwd=tmp_path).stderr


STUDY = (
    LINK.replace("8s", "3s")
    + flow("api", REQUESTS)
    + """
[sweep]
seed = "1..6"
[sweep.control]
cubic = { "flow.api.tcp.congestion_control" = "cubic" }
reno = { "flow.api.tcp.congestion_control" = "reno" }
"""
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study") / "s"
    with Store.create(path) as store:
        sweep(Study.parse(STUDY), store, Local(1))
    return path


def test_a_study_keeps_applications(folder: Path) -> None:
    """What a store returns has the metrics of the outcome."""
    with Store.open(folder) as store:
        rows = store.outcomes().to_dicts()
        outcomes = [json.loads(text) for text in store.texts().values()]
    assert len(rows) == 12
    for name in ("p95_completion", "p99_slowdown_10kB", "mean_slowdown", "finished", "requests", "page_load"):
        measured = metric(name, rows)
        assert sorted(map(str, map(measured.value, rows))) == sorted(map(str, map(measured.value, outcomes)))


def test_robust_results_have_medians(folder: Path, ackclock: Run) -> None:
    with Store.open(folder) as store:
        rows = results.summary(store, ["p95_completion", "requests"], robust=True)
        plain = results.summary(store, ["p95_completion"])
    point = rows[0]
    assert point["means"]["requests"].n == 6
    mean, median = point["means"]["p95_completion"], point["medians"]["p95_completion"]
    assert median.low is not None
    assert mean.low * mean.high == pytest.approx(mean.value**2)  # symmetric in the logarithm
    assert "medians" not in plain[0]
    shown = ackclock("results", folder, "--robust", "--metric", "p95_completion")
    assert "median: interval between two of the runs by rank" in shown.stdout
    assert "geometric mean" in shown.stdout
    machine = json.loads(ackclock("results", folder, "--robust", "--json", "--metric", "requests").stdout)
    assert machine[0]["medians"]["requests"]["n"] == 6
    assert "omit --goal and --runs" in ackclock("results", folder, "--robust", "--runs").stderr


def test_default_metrics_of_a_comparison(tmp_path: Path) -> None:
    text = LINK.replace("8s", "3s")
    (tmp_path / "call.toml").write_text(text + flow("call", FRAMES))
    (tmp_path / "film.toml").write_text(text + flow("film", VIDEO))
    (tmp_path / "plain.toml").write_text(text + BULK)

    def asked(*names: str, **more: Any) -> dict[str, list[str]]:
        files = [tmp_path / f"{name}.toml" for name in names]
        trials = Trials(files, tmp_path / "out" / "-".join([*names, *more]), Local(1), seeds=2, **more)
        by_network: dict[str, list[str]] = {}
        for row in compare(trials, ["cubic", "reno"]).rows:
            by_network.setdefault(row.network, []).append(row.asked)
        return by_network

    found = asked("call", "film", "plain")
    assert found["call"][0] == "frames_on_time"
    assert found["call"][1] in {"p95_frame_delay", "frame_delay"}
    assert found["call"][2:] == ["p95_queueing"]
    assert found["film"] == ["qoe", "rebuffer", "p95_queueing"]
    assert found["plain"] == ["goodput", "p95_queueing", "retransmissions"]
    (tmp_path / "both.toml").write_text(text + BULK + flow("call", FRAMES))
    rivals = asked("both", flows=["bulk"])["both"]
    assert rivals[:3] == ["goodput", "p95_queueing", "retransmissions"]
    assert rivals[3] == "rivals_frames_on_time"
    assert rivals[-1] == "rivals_goodput"


# Figures.


def test_a_distribution_counts_messages_without_an_end() -> None:
    series = applications.of_run([of_app("a", [0.1, 0.2, math.inf, math.inf]), transfer("t", 2.0)], [], [])
    assert [one.name for one in series] == ["a", "t"]
    figure = applications.cdf([applications.Panel("", series)])
    left: Any = figure.axes[0]
    assert left.get_xscale() == "log"
    first, second = left.lines
    assert list(first.get_ydata()) == [0.0, 0.25, 0.5]
    assert first.get_xdata()[1:] == pytest.approx([0.1, 0.2], rel=0.008)
    assert list(second.get_ydata()) == [0.0, 1.0]
    with pytest.raises(BadInput, match="--flow b: has no messages; there are a, t"):
        applications.of_run([of_app("a", [0.1]), transfer("t", 2.0)], [], ["b"])
    with pytest.raises(BadInput, match="draws completion or slowdown"):
        applications.cdf([applications.Panel("", series)], ["goodput"])


def test_a_distribution_pools_the_flows_of_a_source() -> None:
    flows = [transfer(f"web{i}", 0.1 * i) for i in range(1, 5)]
    (web,) = applications.of_run(flows, ["web"], [])
    assert [x for x, count in web.counts("s") for _ in range(count)] == pytest.approx([0.1, 0.2, 0.3, 0.4])


def test_bins_have_the_percentiles_of_each_size() -> None:
    series = applications.Series("a", [[transfer(str(i), 0.1 * i) for i in range(1, 21)]])
    figure = applications.bins(applications.Panel("", [series]))
    axes: Any = figure.axes[0]
    heights = [container.lines[0].get_ydata()[0] for container in axes.containers]
    assert heights == pytest.approx([10.0, 19.0])  # 99 % needs a hundred messages
    assert [label.get_text() for label in axes.get_xticklabels()] == ["≤ 10 kB"]
    with pytest.raises(BadInput, match="no bin of sizes"):
        applications.bins(applications.Panel("", [applications.Series("a", [[transfer("t", 1.0)]])]))


def messages(kind: str, rows: list[tuple[int, float, float | None, float | None, str]]) -> pl.DataFrame:
    columns = ["bytes", "start_s", "first_s", "end_s", "state"]
    frame = pl.DataFrame(
        rows, schema=dict(zip(columns, (pl.Int64, *[pl.Float64] * 3, pl.String), strict=True)), orient="row"
    )
    names = [pl.lit("x").alias("flow"), pl.lit(kind).alias("kind"), pl.lit(1.0).alias("slowdown")]
    return frame.with_columns(*names).with_row_index("number")


def test_frames_have_delay_deadline_and_state() -> None:
    table = messages(
        "frames",
        [
            (100, 0.0, 0.04, 0.05, "on_time"),
            (100, 0.1, 0.2, 0.3, "late"),
            (100, 0.2, None, None, "cancelled"),
            (100, 0.3, None, None, "unfinished"),
        ],
    )
    run = applications.RunOfApplications(table, deadlines={"x": 0.15})
    axes: Any = applications.frames(run).axes[0]
    marks = [line for line in axes.lines if line.get_marker() not in {"None", None}]
    points = {line.get_marker(): (list(line.get_xdata()), list(line.get_ydata())) for line in marks}
    assert [*points["."][0], *points["."][1], *points["^"][0], *points["^"][1]] == pytest.approx(
        [0.0, 50.0, 0.1, 200.0]
    )
    assert points["x"][1][0] > 200.0
    assert points["s"][1][0] > 200.0
    assert 150.0 in [line.get_ydata()[0] for line in axes.lines]
    assert "deadline\n150 ms" in [text.get_text() for text in axes.texts]
    assert len({line.get_color() for line in marks}) == 4
    with pytest.raises(BadInput, match="no frame of x begins"):
        applications.frames(run, start_s=5.0)
    with pytest.raises(BadInput, match='kind = "page"'):
        applications.waterfall(run)


def test_the_deadline_is_between_frames_on_time_and_late_ones() -> None:
    close = messages("frames", [(1, 0.0, 0.0, 0.1495, "on_time"), (1, 0.0, 0.0, 0.1504, "late")])
    (axes,) = applications.frames(applications.RunOfApplications(close)).axes
    assert [text.get_text() for text in axes.texts] == ["deadline\n150 ms"]
    far = messages("frames", [(1, 0.0, 0.0, 0.05, "on_time"), (1, 0.0, 0.0, 0.15, "late")])
    (axes,) = applications.frames(applications.RunOfApplications(far)).axes
    assert not axes.texts


def test_the_buffer_of_a_player() -> None:
    """Chunks of 2 s: the second comes while 0.5 s are left, the third 1 s after the buffer was empty."""
    log = [
        {"asked_s": 0.0, "end_s": 1.0, "buffer_s": 2.0},
        {"asked_s": 1.0, "end_s": 2.5, "buffer_s": 2.5},
        {"asked_s": 2.5, "end_s": 6.0, "buffer_s": 2.0},
    ]
    times, levels, stalls = applications.buffer_levels(log, 7.0)
    assert list(zip(times, levels, strict=True)) == [
        *((0.0, 0.0), (1.0, 0.0), (1.0, 2.0), (2.5, 0.5), (2.5, 0.5), (2.5, 2.5)),
        *((5.0, 0.0), (6.0, 0.0), (6.0, 0.0), (6.0, 2.0), (7.0, 1.0)),
    ]
    assert stalls == [(5.0, 6.0)]
    waiting = [{"asked_s": 0.0, "end_s": 1.0, "buffer_s": 2.0}, {"asked_s": 1.0, "end_s": 2.0, "buffer_s": 4.0}]
    assert applications.buffer_levels(waiting, 2.0)[1] == [0.0, 0.0, 2.0, 2.0, 2.0, 4.0, 4.0]  # does not play yet


def test_a_waterfall_has_the_times_of_each_object() -> None:
    rows = [
        (1000, 0.0, 0.1, 0.2, "finished"),
        (5000, 0.3, 0.4, 0.6, "finished"),
        (1000, 1.0, 1.1, 1.2, "finished"),
        (5000, 1.3, None, None, "unfinished"),
    ]
    table = messages("page", rows)
    assert [page.height for page in applications.pages(table)] == [2, 2]
    assert [page.height for page in applications.pages(table, 3)] == [3, 1]
    run = applications.RunOfApplications(table, end_s=2.0)
    axes: Any = applications.waterfall(run).axes[0]
    bars = [edge for bar in axes.patches for edge in (bar.get_x(), bar.get_width())]
    assert bars == pytest.approx([0.0, 0.1, 0.1, 0.1, 0.3, 0.1, 0.4, 0.2])
    (axes,) = applications.waterfall(run, start_s=0.5).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["1: 1 kB", "2: 5 kB"]
    with pytest.raises(BadInput, match="no page of x begins at 3 s"):
        applications.waterfall(run, start_s=3.0)


@pytest.mark.parametrize("kind", applications.KINDS)
def test_every_kind_draws_a_scenario(tmp_path: Path, ackclock: Run, kind: str) -> None:
    (tmp_path / "s.toml").write_text(ALL)
    done = ackclock("plot", "s.toml", "--kind", kind, "--out", "a.svg", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "written: a.svg\n")
    narrow = ackclock("plot", "s.toml", "--kind", kind, "--out", "b.svg", "--width", "column", cwd=tmp_path)
    assert narrow.returncode == 0
    assert (tmp_path / "a.svg").read_bytes() != (tmp_path / "b.svg").read_bytes()


def test_the_deadline_of_a_scenario_is_drawn(tmp_path: Path, ackclock: Run) -> None:
    (tmp_path / "s.toml").write_text(ALL)
    assert ackclock("plot", "s.toml", "--kind", "frames", "--out", "a.svg", cwd=tmp_path).returncode == 0
    assert "120 ms" in (tmp_path / "a.svg").read_text()


def test_kinds_of_studies_and_files(folder: Path, tmp_path: Path, ackclock: Run) -> None:
    for kind in ("cdf", "bins"):
        done = ackclock("plot", folder, "--kind", kind, "--by", "control", "--out", f"{kind}.svg", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "cubic" in (tmp_path / f"{kind}.svg").read_text()
    (tmp_path / "s.toml").write_text(ALL)
    assert ackclock("run", "s.toml", "--messages", "m.csv", cwd=tmp_path).returncode == 0
    for kind in ("cdf", "frames", "waterfall"):
        assert ackclock("plot", "m.csv", "--kind", kind, "--out", "m.svg", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("s.toml --kind frames --y delay", "has no --y"),
        ("s.toml --kind cdf --from 2s", "so --from has no meaning"),
        ("s.toml --kind waterfall --to 2s", "only --kind frames has"),
        ("s.toml --kind cdf --where a=b", "draws one run, so --where has no meaning"),
        ("s.toml --kind player --flow api", 'has an application with kind = "video"'),
        ("m.csv --kind bins", "needs a scenario or a study"),
        ("m.csv", "draw it with --kind cdf, frames or waterfall"),
        ("other.csv --kind cdf", "is no file of messages"),
    ],
)
def test_mistakes_are_named(once: Callable[..., Path], ackclock: Run, arguments: str, message: str) -> None:
    def make(place: Path) -> None:
        (place / "s.toml").write_text(ALL)
        (place / "other.csv").write_text("a,b\n1,2\n")
        Scenario.parse(ALL).run(messages=True).messages.write_csv(place / "m.csv")

    place = once("applications", make)
    done = ackclock("plot", *arguments.split(), cwd=place)
    assert done.returncode == 2
    assert message in done.stderr


def test_a_study_has_no_figure_of_one_run(folder: Path, ackclock: Run) -> None:
    done = ackclock("plot", folder, "--kind", "frames")
    assert done.returncode == 2
    assert "draws one run; name a scenario" in done.stderr
