"""`ackclock view`: recorded runs in the page, lists of what can be opened, pages that reload on save."""

from __future__ import annotations

import json
import re
import shutil
import signal
import struct
import subprocess
import sys
import threading
import urllib.request
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from ackclock import _core
from ackclock.apps import laboratory, share
from ackclock.apps.papers import find
from ackclock.apps.papers.results import Results
from ackclock.apps.papers.runs import PaperRuns
from ackclock.apps.view import listing, recorded, recording
from ackclock.apps.view.columns import pack
from ackclock.apps.view.opening import Target, build
from ackclock.apps.view.serve import ENDED, Server, Watched
from ackclock.base import controllers
from ackclock.base.files import BadInput
from ackclock.cli.app import main
from ackclock.explanation import Explanation
from ackclock.scenario import Scenario
from ackclock.study import Study
from ackclock.study.executors import Local
from columns import unpack

ROOT = Path(__file__).parents[1]
SCENARIO = """
title = "two"
duration = "3s"
[[link]]
name = "l"
ends = ["a", "b"]
rate = "5Mbps"
delay = "10ms"
queue = { kind = "droptail", limit = "20p" }
[[flow]]
name = "one"
from = "a"
to = "b"
tcp = { congestion_control = "cubic" }
[[flow]]
name = "two"
from = "a"
to = "b"
tcp = { congestion_control = "reno" }
"""
CONTROLLER = (ROOT / "examples/reno.py").read_text()
BROWSER = shutil.which("node") and Path("/usr/bin/chromium").exists() and (ROOT / "web/node_modules").exists()
in_a_browser = pytest.mark.skipif(
    not BROWSER or not (ROOT / "python/ackclock/web/lab.html").is_file(), reason="needs Node, Chromium and the page"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "two.toml").write_text(SCENARIO)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def inside(page: str) -> dict[str, Any]:
    """The recording in a page."""
    found = re.search(rf'id="{laboratory.RECORDING}">(.*?)</script>', page)
    assert found is not None
    content: dict[str, Any] = json.loads(found[1])
    return content


def bits(values: Any) -> list[bytes]:
    return [struct.pack("<d", value) for value in values]


@pytest.mark.parametrize(
    "values",
    [
        [],
        [0.0, -0.0, 1.5, -3.0],
        [float("inf"), float("nan"), 5e-324, -1.7e308],
        [float("nan"), 2.0, float("nan"), float("nan"), -7.0],
        [1e-12, 0.333333333333, 8999.123456789012, 2.0],
        [2.0**53, -(2.0**53)],
        [0.1 * n for n in range(1000)],
    ],
)
def test_columns_lose_nothing(values: list[float]) -> None:
    assert bits(unpack(pack(np.array(values, dtype=np.float64)))) == bits(values)


def test_columns_of_whole_numbers_lose_nothing() -> None:
    values = np.random.default_rng(1).integers(-(2**40), 2**40, 5000)
    assert (unpack(pack(values)) == values).all()
    assert len(pack(np.arange(100_000))["data"]) < 1000, "a column that grows evenly takes almost no place"


def test_files_of_a_run_are_read_as_the_run(folder: Path) -> None:
    assert main(["run", "two.toml", "--seed", "7", "--trace", "t.parquet", "--trace-every", "ack"]) == 0
    assert main(["run", "two.toml", "--seed", "7", "--packets", "p.parquet"]) == 0
    found = recorded.of_folder(folder)
    live = recording.record(Scenario.load("two.toml"), 7)
    assert found["windows"] == live["windows"]
    assert found["packets"] == live["packets"]
    assert found["notes"] == []
    assert (found["trace"], found["about"]["seed"], found["about"]["segment_bytes"]) == ("ack", 7, [1448, 1448])
    outcome = found["about"]["outcome"]
    assert outcome is not None
    assert outcome["flows"][0]["name"] == "one"
    frame = pl.read_parquet("t.parquet")
    assert bits(unpack(found["windows"]["cwnd"])) == bits(frame["cwnd"])
    assert bits(unpack(found["windows"]["time_s"])) == bits(frame["time_s"])


def test_files_of_two_runs_are_refused(folder: Path) -> None:
    main(["run", "two.toml", "--trace", "t.parquet"])
    main(["run", "two.toml", "--packets", "p.parquet", "--set", "link.l.rate=4Mbps"])
    with pytest.raises(BadInput, match="different runs"):
        recorded.of_folder(folder)


def test_files_without_metadata_show_what_they_have(folder: Path) -> None:
    main(["run", "two.toml", "--trace", "t.parquet", "--packets", "p.parquet"])
    for name in ("t.parquet", "p.parquet"):
        pl.read_parquet(name).write_parquet(name)
    found = recorded.of_folder(folder)
    assert (found["trace"], found["about"]["flow_ends"]) == ("changes", [["a", "b"]] * 2)
    assert any("do not say their scenario" in note for note in found["notes"])
    main(["run", "two.toml", "--trace", "run.trace.parquet", "--packets", "run.packets.parquet"])
    assert recorded.of_file(folder / "run.trace.parquet")["packets"] is not None
    assert recorded.of_file(folder / "t.parquet")["packets"] is None


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The metadata that `ackclock run --trace` writes."""
    folder = tmp_path_factory.mktemp("written")
    (folder / "two.toml").write_text(SCENARIO)
    main(["run", str(folder / "two.toml"), "--set", "duration=0.5s", "--trace", str(folder / "t.parquet")])
    found: dict[str, Any] = json.loads(pl.read_parquet_metadata(folder / "t.parquet")[recording.KEY])
    return found


def annotated(path: Path, metadata: Any) -> Path:
    """A trace with this metadata."""
    row = {"time_s": 0.1, "flow": "one", "event": "ack", "cwnd": 2.0, "ssthresh": 9.0, "in_flight": 1.0, "rtt_s": 0.1}
    frame = pl.DataFrame([row | {"ack": 1, "phase": "open", "cause": ""}])
    frame.write_parquet(path, metadata={recording.KEY: metadata if isinstance(metadata, str) else json.dumps(metadata)})
    return path


def test_each_entry_of_the_metadata_is_needed(folder: Path, written: dict[str, Any]) -> None:
    path = folder / "t.parquet"
    assert recorded.of_file(annotated(path, written))["about"] == written["about"]
    for name in written["about"]:
        about = {key: value for key, value in written["about"].items() if key != name}
        with pytest.raises(BadInput, match=rf"t\.parquet: the entry about\.{name} .*ackclock run --trace"):
            recorded.of_file(annotated(path, written | {"about": about}))


@pytest.mark.parametrize(
    ("changes", "entry"),
    [
        ({"flows": "one"}, "about.flows"),
        ({"flows": ["one", 2]}, "about.flows"),
        ({"flow_ends": [["a", "b"], ["a"]]}, "about.flow_ends"),
        ({"flow_ends": [["a", "b"]]}, "about.flow_ends"),
        ({"segment_bytes": [True, None]}, "about.segment_bytes"),
        ({"segment_bytes": []}, "about.segment_bytes"),
        ({"seed": -1}, "about.seed"),
        ({"duration_s": float("nan")}, "about.duration_s"),
        ({"shared": {"v": 1}}, "about.shared"),
        ({"geometry": []}, "about.geometry"),
        ({"outcome": {"flows": [{}]}}, "about.outcome"),
    ],
)
def test_metadata_of_other_types_is_refused(
    folder: Path, written: dict[str, Any], changes: dict[str, Any], entry: str
) -> None:
    path = annotated(folder / "t.parquet", written | {"about": written["about"] | changes})
    with pytest.raises(BadInput, match=f"the entry {entry} of its metadata"):
        recorded.of_file(path)


@pytest.mark.usefixtures("blank")
@pytest.mark.parametrize(
    "metadata",
    ["{", "[]", '{"about": 1}', '{"about": {"flows": ["f"]}, "trace": "ack"}', "[" * 100_000],
)
def test_damaged_metadata_is_one_line(folder: Path, metadata: str, capsys: pytest.CaptureFixture[str]) -> None:
    annotated(folder / "t.parquet", metadata)
    assert main(["view", "t.parquet", "--no-open"]) == 2
    assert re.search(r"t\.parquet: .*; write it again with ackclock run --trace", capsys.readouterr().err)


def test_a_trace_of_none_of_the_kinds_is_refused(folder: Path, written: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="the entry trace of"):
        recorded.of_file(annotated(folder / "t.parquet", written | {"trace": "some"}))


def test_a_column_of_words_is_refused(folder: Path, written: dict[str, Any]) -> None:
    path = annotated(folder / "t.parquet", written)
    pl.read_parquet(path).with_columns(pl.lit("wide").alias("cwnd")).write_parquet(path)
    with pytest.raises(BadInput, match=r"t\.parquet: a column has values of another type"):
        recorded.of_file(path)


@pytest.mark.usefixtures("blank")
@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_an_outcome_with_a_number_that_json_has_not_is_refused(
    folder: Path, written: dict[str, Any], number: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = json.dumps(written["about"]["outcome"] | {"fairness": {"jain": "NUMBER"}})
    (folder / "o.json").write_text(text)
    recorded.of_file(folder / "o.json")
    (folder / "o.json").write_text(text.replace('"NUMBER"', number))
    assert main(["view", "o.json", "--no-open"]) == 2
    assert "o.json: holds NaN or Infinity" in capsys.readouterr().err
    (folder / "o.json").write_text(json.dumps({**written["about"]["outcome"], "flows": [1]}))
    with pytest.raises(BadInput, match="not an outcome"):
        recorded.of_file(folder / "o.json")


def test_a_recording_that_is_too_large_says_what_to_do(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    main(["run", "two.toml", "--trace", "t.parquet", "--trace-every", "ack"])
    monkeypatch.setattr(recording, "MOST_TEXT", 4000)
    with pytest.raises(BadInput, match=r"t\.parquet.*--trace-every changes"):
        recorded.of_file(folder / "t.parquet")
    found = recording.record(Scenario.load("two.toml", ["duration=1s"]), None)
    assert found["packets"] is None
    assert any("too many for a page" in note for note in found["notes"])
    monkeypatch.setattr(recording, "MOST_TEXT", 10)
    with pytest.raises(BadInput, match="more than"):
        recording.record(Scenario.load("two.toml"), None)


@pytest.mark.usefixtures("blank")
def test_a_controller_in_python_is_run_and_shown_recorded(folder: Path) -> None:
    (folder / "mine.py").write_text(CONTROLLER)
    text = SCENARIO.replace('"reno"', '{ python = "mine.py:Reno", keep = 0.7 }')
    (folder / "mine.toml").write_text(text)
    assert main(["view", "mine.toml", "--no-open", "--out", "page.html", "--set", "duration=2s", "--seed", "3"]) == 0
    found = inside((folder / "page.html").read_text())
    about = found["about"]
    assert (about["python"], about["seed"], about["duration_s"]) == (["mine.py:Reno"], 3, 2.0)
    assert about["shared"] == {"v": 1, "text": text, "set": ["duration=2s"], "seed": 3}
    assert Scenario.parse(about["geometry"]["text"]).network["flows"][1]["label"].startswith("reno")
    expected = Scenario.load("mine.toml", ["duration=2s"]).run(seed=3, fingerprint=True).fingerprint
    assert about["fingerprint"] == expected
    assert sorted(path.name for path in build(Target(folder / "mine.toml")).watched) == ["mine.py", "mine.toml"]


@pytest.mark.usefixtures("blank")
@pytest.mark.parametrize("native", [False, True])
def test_watch_knows_every_file_of_a_scenario(folder: Path, native: bool) -> None:
    (folder / "parts").mkdir()
    (folder / "parts/base.toml").write_text(
        SCENARIO.replace('rate = "5Mbps"', 'rate = { kind = "trace", file = "slow.txt" }\nback = { rate = "5Mbps" }')
    )
    (folder / "parts/slow.txt").write_text("".join(f"{t}\n" for t in range(3, 300, 3)))
    (folder / "other.txt").write_text("5\n20\n")
    (folder / "top.toml").write_text('extends = "middle.toml"\nduration = "0.2s"\n')
    (folder / "middle.toml").write_text('extends = "parts/base.toml"\n')

    def watched(*overrides: str) -> set[str]:
        target = Target(folder / "top.toml", overrides=overrides, record=native)
        return {str(path.relative_to(folder)) for path in build(target).watched}

    bases = {"top.toml", "middle.toml", "parts/base.toml"}
    assert watched() == {*bases, "parts/slow.txt"}
    assert watched('link.l.rate={ kind = "trace", file = "other.txt" }') == {*bases, "other.txt"}
    with (folder / "top.toml").open("a") as file:
        file.write('sweep = { "link.l.delay" = ["1ms", "2ms"] }\n')
    found = build(Target(folder / "top.toml", point=1, record=native)).watched
    assert {str(path.relative_to(folder)) for path in found} == {*bases, "parts/slow.txt"}


@pytest.mark.usefixtures("blank")
def test_a_saved_module_beside_the_controller_counts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "lab").mkdir()
    monkeypatch.syspath_prepend(str(folder / "lab"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (folder / "lab/gains_of_mine.py").write_text("KEEP = 0.5\n")
    (folder / "lab/unused.py").write_text("raise ValueError\n")
    (folder / "lab/mine.py").write_text(
        f"{CONTROLLER}\nimport gains_of_mine\n"
        "class Mine(Reno):\n    probes = ('keep_of_mine',)\n    keep_of_mine = gains_of_mine.KEEP\n"
    )
    (folder / "mine.toml").write_text(
        SCENARIO.replace('"reno"', '{ python = "lab/mine.py:Mine" }').replace("3s", "0.2s")
    )

    def seen_by_the_run() -> set[float]:
        page = build(Target(folder / "mine.toml"))
        assert {str(path.relative_to(folder)) for path in page.watched} == {
            "mine.toml",
            "lab/mine.py",
            "lab/gains_of_mine.py",
        }
        values = unpack(inside(page.text)["internals"]["keep_of_mine"])
        return set(values[~np.isnan(values)])

    assert seen_by_the_run() == {0.5}
    (folder / "lab/gains_of_mine.py").write_text("KEEP = 0.25\n")
    controllers.forget({folder / "lab"})
    assert seen_by_the_run() == {0.25}
    controllers.forget({folder / "lab"})


@pytest.mark.usefixtures("blank")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "no such file, folder or paper"),
        (["empty"], "has nothing to open"),
        (["two.toml", "--run", "ab"], "--point"),
        (["two.toml", "--watch", "--out", "x.html"], "omit --out"),
        (["empty", "--seed", "3"], "--seed has no meaning"),
        (["--set", "duration=1s"], "--set has no meaning"),
        (["study.toml"], "--point 0"),
        (["study.toml", "--point", "2"], "points 0 to 1"),
        (["x.json"], "not an outcome"),
        (["ca-artt", "--watch"], "--watch"),
        (["lab.html#s=abc", "--watch"], "a link cannot be saved"),
    ],
)
def test_bad_input_is_refused(
    folder: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "empty").mkdir()
    (folder / "x.json").write_text("{}")
    (folder / "study.toml").write_text('sweep = { "link.l.rate" = ["1Mbps", "2Mbps"] }\n' + SCENARIO)
    assert main(["view", *arguments, "--no-open"]) == 2
    assert message in capsys.readouterr().err
    assert not list(folder.glob("**/*.html"))


@pytest.mark.usefixtures("blank")
def test_a_folder_lists_scenarios_recordings_and_studies(folder: Path) -> None:
    (folder / "bad.toml").write_text("duration = 1\n")
    (folder / "runs").mkdir()
    main(["run", "two.toml", "--trace", "runs/a.parquet"])
    main(["run", "two.toml", "--trace", "runs/b.parquet"])
    (folder / "study.toml").write_text('sweep = { seed = [4, 5], "link.l.rate" = ["1Mbps", "2Mbps"] }\n' + SCENARIO)
    assert main(["sweep", "study.toml", "--out", "results"]) == 0
    assert main(["view", ".", "--no-open", "--out", "list.html"]) == 0
    page = (folder / "list.html").read_text()
    assert re.search(r'<a href="lab\.html#s=[\w-]+">two\.toml</a>', page)
    assert "ackclock view results" in page
    assert 'class="wrong"' in page
    assert (folder / "lab.html").is_file()
    assert "ackclock view runs/b.parquet" in build(Target(folder / "runs")).text
    runs = build(Target(folder / "results")).text
    links = re.findall(r'href="(lab\.html#s=[\w-]+)"', runs)
    assert len(links) == 4
    assert "Means at every point" in runs
    assert "<svg" in runs
    stored = [json.loads(line) for line in _printed(["results", "results", "--runs"])]
    for link, run in zip(links, stored, strict=True):
        opened = Scenario.load(link)
        assert (opened.seed, opened.network["links"][0]["directions"][0]["rate_bps"]) == (
            run["seed"],
            int(run["axes"]["link.l.rate"][0]) * 1_000_000,
        )
    one = build(Target(folder / "results", run=stored[0]["run_id"][:8], record=True))
    outcome = inside(one.text)["about"]["outcome"]
    assert outcome["seed"] == stored[0]["seed"]


@pytest.mark.usefixtures("blank")
def test_a_folder_of_a_search_lists_its_failures(folder: Path) -> None:
    found = folder / "found" / "shrew"
    found.mkdir(parents=True)
    (found / "minimal.toml").write_text(SCENARIO)
    for name in ("regression.toml", "runs.sqlite"):
        (found / name).touch()
    page = build(Target(found)).text
    assert re.findall(r'<a href="lab\.html#s=[\w-]+">(.*?)</a>', page) == ["minimal.toml"]
    assert "regression.toml" not in page
    assert "failures of a search" in build(Target(folder / "found")).text


@pytest.mark.usefixtures("blank")
def test_a_long_list_says_what_is_left_out(
    folder: Path, written: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(3):
        shutil.copy("two.toml", f"other{n}.toml")
        annotated(folder / f"r{n}.parquet", written)
        (folder / f"paper{n}").mkdir()
        (folder / f"paper{n}/paper.toml").touch()

    def notes() -> list[str]:
        return re.findall(r'<p class="note">(.*?)</p>', build(Target(folder)).text)

    assert notes() == []
    monkeypatch.setattr(listing, "MOST_FILES", 3)
    assert notes() == ["The first 3 are listed. Left out: 1."]
    monkeypatch.setattr(listing, "MOST_FILES", 2)
    assert notes() == [
        "The first 2 are listed. Left out: 2.",
        "The first 2 are listed. Left out: 1.",
        "The first 2 are listed. Folders not examined: 1.",
    ]


def _printed(arguments: list[str]) -> list[str]:
    import contextlib
    import io

    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        assert main(arguments) == 0
    return text.getvalue().splitlines()


@pytest.mark.parametrize(
    "study", sorted((ROOT / "papers").glob("*/studies/*.toml")), ids=lambda p: f"{p.parts[-3]}-{p.stem}"
)
def test_a_point_that_is_written_out_is_the_same_run(study: Path) -> None:
    whole = Study.load(study)
    for point in {0, whole.points // 2, whole.points - 1} - {point for point, _ in whole.refused}:
        alone = whole.standalone(point)
        again = _core.parse_study(Scenario.load(share.link(alone, seed=1)).source, [])
        assert again.run_ids(0, [1]) == whole.core.run_ids(point, [1])


def test_a_paper_lists_its_cells_with_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blank: None) -> None:
    monkeypatch.chdir(ROOT)
    found = build(Target(Path("ca_artt")))
    assert (found.name, found.links) == ("ca-artt", True)
    cells = re.findall(
        r'<td>([^<]*)</td><td>([^<]*)</td><td class="n">[^<]*</td><td>[^<]*</td><td><a href="lab', found.text
    )
    printed = {(r["row"], r["column"]) for r in find("ca-artt").published}
    assert len(cells) > 100
    assert set(cells) <= printed


def browse(url: str, saved: str = "") -> Any:
    command = ["node", str(ROOT / "web/tests/page/open.mjs"), url, *([saved] if saved else [])]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def seen(process: Any) -> dict[str, Any]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    found: dict[str, Any] = json.loads(out)
    assert found["errors"] == []
    return found


def expected_causes(scenario: Scenario) -> list[Explanation]:
    return scenario.run(trace="ack", packets=True, causes=500).causes


def test_a_recording_has_as_many_causes_as_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = Scenario.parse(SCENARIO, file="two.toml")
    whole = recording.record(scenario, None)
    assert whole["causes"] == [asdict(cause) for cause in expected_causes(scenario)] != []
    assert (whole["causes_until_s"], whole["notes"]) == (scenario.duration_s, [])
    monkeypatch.setattr(recording, "MOST_CAUSES", 2)
    few = recording.record(scenario, None)
    assert few["causes"] == whole["causes"][:2]
    assert whole["causes"][1]["time_s"] <= few["causes_until_s"] < whole["causes"][2]["time_s"]
    assert few["notes"] == [f"The causes of reductions of windows are recorded up to {few['causes_until_s']:.6g} s."]
    monkeypatch.setattr(recording, "MOST_CAUSES_TEXT", 10)
    assert recording.record(scenario, None)["causes"] == []


@in_a_browser
def test_a_recorded_run_opens_in_a_browser(folder: Path) -> None:
    (folder / "mine.py").write_text(CONTROLLER)
    (folder / "mine.toml").write_text(SCENARIO.replace('"reno"', '{ python = "mine.py:Reno" }'))
    assert main(["view", "mine.toml", "--no-open", "--out", "page.html"]) == 0
    found = seen(browse((folder / "page.html").as_uri()))
    [look] = found["looks"]
    expected = Scenario.load("mine.toml").run(fingerprint=True)
    assert look["fingerprint"] == expected.fingerprint
    assert look["panels"] == ["cwnd", "rtt", "queue", "goodput"]
    assert (look["problem"], look["steps"], found["requests"]) == ("", True, [])
    assert look["packets"] > 0
    assert look["table"] > 4
    assert "written in Python (mine.py:Reno)" in look["recorded"]
    shown = re.search(r"Last fall before ([\d.]+) s", look["why"])
    assert shown is not None
    falls = [f for f in expected_causes(Scenario.load("mine.toml")) if f.time_s <= float(shown[1])]
    assert falls[-1].cause.rstrip(".").lower() in look["why"].lower()
    goodput = expected.outcome["flows"][1]["goodput_bps"] / 1e6
    assert f"{goodput:.4g}" in look["differences"]
    assert f"{expected.outcome['links'][0]['delivered_packets']}" in look["outcome"]


@in_a_browser
def test_a_saved_scenario_reloads_in_a_browser(folder: Path) -> None:
    watched = Watched(build(Target(folder / "two.toml")).text)
    server = Server(watched)
    try:
        process = browse(server.address, "reload")
        assert process.stderr.readline() == "ready\n"
        (folder / "two.toml").write_text(SCENARIO.replace("5Mbps", "4Mbps"))
        watched.show(build(Target(folder / "two.toml")).text)
        found = seen(process)
    finally:
        server.close()
    prints = [look["fingerprint"] for look in found["looks"]]
    assert prints[1] == Scenario.load("two.toml").run(fingerprint=True).fingerprint != prints[0]
    assert all(request.startswith(server.address) for request in found["requests"])
    assert f"connect-src {server.origin};" in found["policy"]


@in_a_browser
def test_the_page_says_that_the_server_has_ended(folder: Path) -> None:
    server = Server(Watched(build(Target(folder / "two.toml")).text))
    process = browse(server.address, "problem")
    try:
        assert process.stderr.readline() == "ready\n"
    finally:
        server.close()
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert [look["problem"] for look in json.loads(out)["looks"]] == ["", ENDED]


@in_a_browser
def test_the_link_of_a_papers_cell_gives_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    laboratory.place(tmp_path)
    results = Results(find("ca-artt"), tmp_path / "ca-artt", Local())
    runs = PaperRuns(results, None, "")
    run = next(run for run in runs.of_table("T3").values() if "vegas" in run.label)
    assert run.href is not None
    [look] = seen(browse(f"{tmp_path.as_uri()}/{run.href}"))["looks"]
    study = results.study("grid")
    point = next(
        p for p in range(study.points) if f"{run.label}" == PaperRuns(results, None, "").points("grid")[p].label
    )
    own = study.scenario(point).run(seed=1, fingerprint=True)
    assert look["fingerprint"] == own.fingerprint


def test_watch_serves_reloads_refuses_and_ends(folder: Path) -> None:
    program = "from ackclock.cli.app import main; raise SystemExit(main(['view', 'two.toml', '--watch', '--no-open']))"
    process = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    late = threading.Timer(120, process.kill)
    late.start()
    try:
        first = process.stderr.readline()
        if "no page" in first:
            pytest.skip("needs the page")
        address = first.removeprefix("serving ").strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", address)
        assert "Ctrl-C" in process.stderr.readline()
        (folder / "two.toml").write_text(SCENARIO.replace("5Mbps", "5 parsecs"))
        assert "parsecs" in process.stderr.readline()
        (folder / "two.toml").write_text(SCENARIO.replace("5Mbps", "4Mbps"))
        assert process.stderr.readline() == "saved: two.toml\n"
        with urllib.request.urlopen(address) as answer:
            assert "4Mbps" in answer.read().decode()
        process.send_signal(signal.SIGINT)
        assert process.stderr.readline() == "ended\n"
        assert process.wait(timeout=20) == 0
    finally:
        late.cancel()
        process.kill()
        process.wait()
    assert not (folder / "out").exists()


def test_the_laboratory_leads_to_results_and_documentation_that_are_there(tmp_path: Path) -> None:
    """Both ways; a page of somebody else in the folder is no page of results."""
    folder = tmp_path / "out"
    (folder / "view").mkdir(parents=True)
    (folder / "index.html").write_text("<title>Mine</title>", encoding="utf-8")
    assert laboratory.doors_of(folder / "lab.html") == {}
    page = f"<title>Results · Ackclock</title><nav>{laboratory.DOCUMENTATION}</nav>"
    (folder / "index.html").write_text(page, encoding="utf-8")
    laboratory.link_documentation(folder)
    assert (folder / "index.html").read_text(encoding="utf-8") == page
    (folder / laboratory.SITE).parent.mkdir()
    (folder / laboratory.SITE).touch()
    laboratory.link_documentation(folder)
    assert f'<a href="{laboratory.SITE}">Documentation</a>' in (folder / "index.html").read_text(encoding="utf-8")
    assert laboratory.doors_of(folder / "lab.html") == {"Results": "index.html", "Documentation": "site/index.html"}
    doors = laboratory.doors_of(folder / "view" / "dumbbell.html")
    assert doors == {"Results": "../index.html", "Documentation": "../site/index.html"}
    text = laboratory.with_doors('<body><div id="app"></div>', doors)
    assert '"Results": "../index.html"' in text
    assert text.endswith('</script><div id="app"></div>')


def test_a_log_opens_with_its_series(tmp_path: Path) -> None:
    """Samples have rows like a capture; options of scenarios have no meaning for them, nor theirs for a scenario."""
    ping = tmp_path / "ping.txt"
    lines = [f"[{1_700_000_000 + n}.0] 64 bytes from a: icmp_seq={n} ttl=64 time={10 + n} ms" for n in range(1, 5)]
    ping.write_text("PING a (192.0.2.1) 56(84) bytes of data.\n" + "\n".join(lines) + "\n")
    page = tmp_path / "p.html"
    assert main(["view", str(ping), "--no-open", "--out", str(page)]) == 0
    held = json.loads(page.read_text(encoding="utf-8").split('id="ackclock-recording">')[1].split("</script>")[0])
    assert held["transfer"]["columns"]["rtt_s"]["rows"] == 4
    assert main(["view", str(ping), "--no-open", "--seed", "2"]) == 2
    assert main(["view", "@dumbbell", "--no-open", "--flow", "2"]) == 2
    assert main(["view", "--no-open", "--addresses"]) == 2
