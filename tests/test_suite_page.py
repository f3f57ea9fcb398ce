"""The first screen of a suite's page, the results that come with the package, and the start of `ackclock compare`."""

from __future__ import annotations

import json
import math
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ackclock.apps.suite.baselines import CONTROLLERS, baselines, definition, pack, shipped
from ackclock.apps.suite.difference import changes_between, largest
from ackclock.apps.suite.figures import differences, multiple, multiples
from ackclock.apps.suite.folder import find
from ackclock.apps.suite.overview import ASPECTS, cell, heat_map
from ackclock.apps.suite.page import colour, render
from ackclock.apps.suite.result import Measure, SuiteMetadata, SuiteResult
from ackclock.apps.suite.run import run
from ackclock.apps.suite.situation import Situation
from ackclock.base.controllers import short_names
from ackclock.study.executors import Local
from conftest import ONE_FLOW, one_situation

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Values = dict[tuple[str, str, str], list[float]]
THROUGHPUT, DELAY, LOSS, OTHERS = ASPECTS


def situation(name: str, *metrics: str) -> Situation:
    return Situation(name, name.title(), list(metrics), 3, 3, "here", "How?")


def result(control: str, values: Values, folder: Path = Path("x")) -> SuiteResult:
    measures = [Measure(s, p, m, seed, x) for (s, p, m), xs in values.items() for seed, x in enumerate(xs, 1)]
    return SuiteResult(SuiteMetadata("tcpeval", "T", control, True, "e1", 9), folder, measures, {}, [], set())


def by_seed(values: Values) -> dict[tuple[str, str, str], dict[int, float]]:
    return {key: dict(enumerate(xs, 1)) for key, xs in values.items()}


def test_cells_are_ratios_over_points_and_seeds() -> None:
    here = situation("one", "goodput")
    own = by_seed({("one", "a", "goodput"): [4, 8.4, 16], ("one", "b", "goodput"): [1, 2, 4]})
    other = by_seed({("one", "a", "goodput"): [2, 4, 8], ("one", "b", "goodput"): [2, 4, 8]})
    found = cell(THROUGHPUT, here, own, other)
    assert found is not None
    # The ratios are 2, 2.1, 2 at one point and 1/2 at the other.
    assert found.estimate.value == pytest.approx((1.05) ** (1 / 6))
    assert (found.sure, found.tone) == (False, 0)
    better = cell(THROUGHPUT, here, by_seed({("one", "a", "goodput"): [4.1, 8, 16]}), other)
    assert better is not None
    assert (better.sure, better.text) == (True, "2.02")
    assert better.tone == 1
    assert cell(DELAY, here, own, other) is None


def test_shorter_times_are_higher_speeds_and_shorter_queues_are_better() -> None:
    here = situation("one", "completion", "p95_queueing", "loss")
    fast: Values = {("one", "", "completion"): [1, 1.01, 1], ("one", "", "p95_queueing"): [10, 10.1, 10]}
    slow: Values = {("one", "", "completion"): [2, 2, 2], ("one", "", "p95_queueing"): [40, 40, 40]}
    speed = cell(THROUGHPUT, here, by_seed(fast), by_seed(slow))
    delay = cell(DELAY, here, by_seed(fast), by_seed(slow))
    assert speed is not None
    assert delay is not None
    assert speed.estimate.value == pytest.approx(2, rel=0.01)
    assert delay.estimate.value == pytest.approx(0.25, rel=0.01)
    assert speed.tone > 0.9
    assert delay.tone == 1
    reverse = cell(DELAY, here, by_seed(slow), by_seed(fast))
    assert reverse is not None
    assert reverse.tone == -1
    # Queues below a millisecond count as one millisecond.
    tiny = cell(
        DELAY,
        here,
        by_seed({("one", "", "p95_queueing"): [0.01, 0.02]}),
        by_seed({("one", "", "p95_queueing"): [0.5, 0.6]}),
    )
    assert tiny is not None
    assert tiny.estimate.value == 1
    losses = cell(LOSS, here, by_seed({("one", "", "loss"): [3, 3.1, 3]}), by_seed({("one", "", "loss"): [1, 1, 1]}))
    assert losses is not None
    assert losses.text == "+2.0"
    assert losses.tone == pytest.approx(-1)


def test_colours_follow_the_tone() -> None:
    assert colour(0) == "rgb(255,255,255)"
    red, _, blue = map(int, re.findall(r"\d+", colour(-1)))
    assert red > blue
    red, _, blue = map(int, re.findall(r"\d+", colour(1)))
    assert blue > red


def test_heat_map_counts() -> None:
    here = [situation("one", "goodput"), situation("two", "goodput"), situation("three", "jain")]
    own: Values = {("one", "", "goodput"): [4, 4.1, 4], ("two", "", "goodput"): [1, 1.01, 1]}
    other: Values = {("one", "", "goodput"): [2, 2, 2], ("two", "", "goodput"): [2, 2, 2]}
    heat = heat_map(here, result("a", own), {"b": result("b", other)})
    assert [found.id for found, _ in heat.rows] == ["one", "two"]
    assert heat.count("b") == (1, 1, 2)
    assert [aspect.name for aspect in heat.aspects] == ["throughput"], "the other aspects have no number"


def test_names_on_a_page_have_no_folder_unless_two_are_equal() -> None:
    table = '{ kind = "x", file = "a/b:c" }'
    assert short_names(["hand/s3.py:Mine", "cubic", table]) == {
        "hand/s3.py:Mine": "s3.py:Mine",
        "cubic": "cubic",
        table: table,
    }
    assert short_names(["a/s.py:M", "b/s.py:M"]) == {"a/s.py:M": "a/s.py:M", "b/s.py:M": "b/s.py:M"}


def test_both_names_beside_the_differences_are_drawn_whole() -> None:
    rows: Values = {("one", "", "goodput"): [10, 10.1, 9.9, 10]}
    worse: Values = {("one", "", "goodput"): [5, 5, 5, 5.1]}
    changes = largest(changes_between(result("a", rows), result("b", worse)))
    figure = differences(changes, "students/s3.py:Mine", "students/s17.py:Mine")
    figure.draw_without_rendering()
    [names] = [text for text in figure.axes[0].texts if "s17.py" in text.get_text()]
    assert names.get_window_extent().x1 <= figure.bbox.x1


def test_a_suite_without_omitted_situations_and_questions(tmp_path: Path) -> None:
    text = one_situation(2).replace('place = "here"\n', "").replace('question = "How much?"\n', "")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "suite.toml").write_text(text)
    (tmp_path / "own" / "one.toml").write_text(ONE_FLOW.replace('name = "f"', 'name = "tested"'))
    suite = find(str(tmp_path / "own"))
    results = run(suite, "reno", tmp_path / "out", Local(1))
    page = render(suite, results)
    assert "mitted situations" not in page
    assert "<summary><strong>One</strong></summary>" in page


def test_the_largest_differences_are_one_for_each_metric_of_a_situation() -> None:
    before: Values = {
        ("one", "a", "goodput"): [10, 10.1, 9.9, 10],
        ("one", "b", "goodput"): [10, 10.1, 9.9, 10],
        ("two", "", "p95_queueing"): [100, 101, 99, 100],
        ("two", "", "loss"): [0.001, 0.002, 0.001, 0.002],
    }
    after: Values = {
        ("one", "a", "goodput"): [5, 5, 5, 5.1],
        ("one", "b", "goodput"): [8, 8, 8, 8.1],
        ("two", "", "p95_queueing"): [400, 404, 396, 401],
        ("two", "", "loss"): [0.1, 0.2, 0.1, 0.15],
    }
    found = largest(changes_between(result("a", before), result("b", after)))
    assert [(c.metric, c.point, c.verdict) for c in found] == [
        ("p95_queueing", "", "worse"),
        ("goodput", "a", "worse"),
        ("loss", "", "worse"),
    ]
    assert found[0].ratio.value == pytest.approx(400.25 / 100)
    assert found[0].size == pytest.approx(math.log2(400.25 / 100))
    assert found[2].ratio.value == 1  # both are below half a per cent
    figure = differences(found, "a", "b")
    dots = [line for line in figure.axes[0].get_lines() if line.get_marker() == "s"]
    assert [float(next(iter(dot.get_xdata()))) for dot in dots] == pytest.approx([c.ratio.value for c in found])  # type: ignore[arg-type]
    assert largest(found, most=1) == found[:1]


def test_small_multiples_keep_one_axis() -> None:
    points = [f"droptail limit={q}p; {rtt} ms" for q in (10, 20, 40) for rtt in (5, 50, 500)]
    found = multiple(situation("one", "jain"), points, "jain")
    assert found is not None
    assert found.points == [f"droptail limit={q}p; 50 ms" for q in (10, 20, 40)]
    assert (found.axis.numbers, found.fixed) == ([10, 20, 40], "50 ms")
    assert multiple(situation("one", "jain"), points[:2], "jain") is None
    assert multiples([situation("one", "goodput")], {"a": result("a", {("one", "", "goodput"): [1, 2]})}) is None


def test_the_results_of_the_package_are_of_its_suite() -> None:
    suite = find("tcpeval")
    found, version = shipped(suite)
    assert tuple(found) == CONTROLLERS
    assert version == definition(suite), "the suite changed: run make baselines"
    for made in found.values():
        assert made.metadata.quick
        assert {m.situation for m in made.measures} | made.refused.keys() == {s.id for s in suite.situations}
    again = pack(suite, list(found.values()))
    assert again == pack(suite, list(found.values()))
    assert again == (Path(str(suite.folder)).parents[1] / "shipped" / "tcpeval.json.gz").read_bytes()


def test_the_results_of_the_package_are_of_this_engine(tmp_path: Path) -> None:
    """The values of CUBIC in the cheapest situations, to the digits that the package has."""
    suite = find("tcpeval")
    suite.situations = [situation for situation in suite.situations if situation.id in {"asymmetric", "long-delay"}]
    stored = shipped(suite)[0]["cubic"].values()
    measured = run(suite, "cubic", tmp_path, Local(1), quick=True, page=False).values()
    assert len(measured) > 5
    for key, by_seed in measured.items():
        assert by_seed == pytest.approx(stored[key], rel=2e-5), f"{key}: results changed: run make baselines"


def test_results_beside_replace_those_of_the_package_and_other_engines_are_named(tmp_path: Path) -> None:
    suite = find("tcpeval")
    packaged, _ = shipped(suite)
    folder = tmp_path / "mine"
    made = replace(packaged["reno"], metadata=replace(packaged["reno"].metadata, control="mine"), folder=folder)
    found = baselines(suite, made)
    assert list(found.results) == list(CONTROLLERS)
    assert found.warnings == []
    assert found.reference is found.results["cubic"]
    assert "cubic" not in baselines(suite, replace(made, metadata=replace(made.metadata, control="cubic"))).results
    other = replace(made, metadata=replace(made.metadata, engine="9.9"))
    (warning,) = baselines(suite, other).warnings
    assert "reno, cubic, bbr, bbr3: results of engine" in warning
    assert "mine ran with 9.9" in warning
    assert warning in render(suite, other).replace("&#39;", "'")
    beside = tmp_path / "cubic"
    beside.mkdir()
    about = {"suite": "tcpeval", "title": "T", "control": "cubic", "quick": True, "engine": "9.9", "runs": 1}
    (beside / "suite.json").write_text(json.dumps(about | {"refused": {}, "deterministic": []}))
    (beside / "measures.csv").write_text("situation,point,metric,seed,value\ntiny,,loss,1,2.5\n")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "suite.json").write_text("{")
    assert baselines(suite, made).results["cubic"].metadata.engine == "9.9"


def test_the_page_begins_with_the_comparison(tmp_path: Path) -> None:
    suite = find("tcpeval")
    reno = shipped(suite)[0]["reno"]
    made = replace(reno, metadata=replace(reno.metadata, control='{ kind = "<b>x</b>" }'), folder=tmp_path / "m")
    page = render(suite, made)
    first = page[: page.index('id="details"')]
    assert "<b>x</b>" not in page
    assert "<script" not in page
    assert not re.search(r'(?:src|href)="(?!#)', page)
    assert first.count("<tr><th><a href=") == len({m.situation for m in made.measures})
    assert "The largest differences from cubic" in first
    assert first.count("<svg") == 2
    assert page.count("<details") == len(suite.situations)
    # Against itself, Reno has a ratio of one everywhere.
    heat = heat_map(suite.situations, made, {"reno": reno})
    assert {c.text for _, groups in heat.rows for group in groups for c in group if c} == {"1.00", "0"}
    assert heat.count("reno")[:2] == (0, 0)


def folder_of(path: Path, control: str, values: Values) -> Path:
    path.mkdir()
    about = {"suite": "tcpeval", "title": "T", "control": control, "quick": True, "engine": "e", "runs": 1}
    (path / "suite.json").write_text(json.dumps(about | {"refused": {}, "deterministic": []}))
    rows = [f"{s},{p},{m},{seed},{x}" for (s, p, m), xs in values.items() for seed, x in enumerate(xs, 1)]
    (path / "measures.csv").write_text("\n".join(["situation,point,metric,seed,value", *rows, ""]))
    return path


def test_compare_begins_with_the_largest_differences(tmp_path: Path, ackclock: Run) -> None:
    before: Values = {(f"s{i}", "", "goodput"): [10, 10.1, 9.9, 10] for i in range(30)}
    after: Values = {(f"s{i}", "", "goodput"): [x / (1.1 + i / 10) for x in (10, 10.1, 9.9, 10.01)] for i in range(30)}
    a, b = folder_of(tmp_path / "a", "old", before), folder_of(tmp_path / "b", "new", after)
    done = ackclock("compare", a, b, "--plot", tmp_path / "c.svg")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0].strip() == "Largest differences, old to new"
    assert [line.split()[1] for line in lines[2:12]] == [f"s{i}" for i in range(29, 19, -1)]
    assert len(lines) < 30
    assert "more changes: --all prints them" in done.stdout
    assert (tmp_path / "c.svg").read_bytes().startswith(b"<?xml")
    whole = ackclock("compare", a, b, "--all").stdout
    assert all(f"s{i} " in whole for i in range(30))
    same = ackclock("compare", a, a, "--plot", tmp_path / "none.svg")
    assert same.returncode == 0
    assert "30 metrics compared" in same.stdout
    assert "none.svg: no metric differs significantly" in same.stderr
    assert not (tmp_path / "none.svg").exists()
