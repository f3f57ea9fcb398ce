"""Reports of studies, comparisons, suites and searches."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from ackclock import Study
from ackclock.apps.report.folder import of_folder
from ackclock.apps.report.writing import page
from ackclock.base import tables
from ackclock.base.files import BadInput
from ackclock.cli.app import main
from ackclock.study.store import ABOUT, Store, _with_checksum
from test_goals import LOSSES

BROWSER = shutil.which("chromium")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("report")
    (base / "losses.toml").write_text(LOSSES)
    Study.load(base / "losses.toml").run(base / "s")
    return base / "s"


def test_a_study_has_a_page_tables_figures_methods_and_sources(study: Path, tmp_path: Path) -> None:
    out = tmp_path / "r"
    assert main(["report", str(study), "--goal", "goodput > 4.2Mb/s", "--out", str(out), "--no-open"]) == 0
    names = {str(file.relative_to(out)) for file in out.rglob("*") if file.is_file()}
    assert {"report.html", "methods.txt", "ackclock.bib", "tables/answer.tex", "tables/all.csv"} <= names
    assert {"figures/goodput.pdf", "figures/goodput.svg"} <= names
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "<h1>Losses</h1>" in page
    assert "Does random loss cost goodput?" in page
    assert "The goals are met in all 2 conditions by rate 0." in page
    assert "not modelled: the weather." in page
    methods = (out / "methods.txt").read_text(encoding="utf-8")
    assert "a bottleneck of 5 Mb/s" in methods
    assert "Flows are TCP with reno or cubic. Simulated TCP follows Linux 6.18" in methods
    assert "gave four points, each with three seeds (12 runs of 4 s)" in methods
    bib = (out / "ackclock.bib").read_text(encoding="utf-8")
    assert "@software{ackclock," in bib
    assert "RFC 9438" in bib


def test_every_number_of_the_page_is_that_of_results(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = of_folder(study)
    [table] = report.numbers
    assert main(["results", str(study), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    names = list(rows[0]["means"])
    measured = [column for column in table.columns if column.measured]
    assert len(measured) == len(names)
    for column, name in zip(measured, names, strict=True):
        for cell, row in zip(column.cells, rows, strict=True):
            expected = row["means"][name]
            assert not isinstance(cell, str | None)
            assert (cell.value, cell.low, cell.high) == (expected["value"], expected["low"], expected["high"])


def test_one_seed_says_so_and_has_no_interval(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(LOSSES.replace('"1..3"', '"1..1"'))
    Study.load(tmp_path / "one.toml").run(tmp_path / "s")
    out = tmp_path / "r"
    assert main(["report", str(tmp_path / "s"), "--out", str(out), "--no-open"]) == 0
    assert "Each value is that of one run; there are no intervals." in (out / "methods.txt").read_text()
    for table in (out / "tables").glob("*.tex"):
        assert not re.search(r"\[\d", table.read_text())


def test_the_note_on_runs_without_a_link_stands_only_where_there_are_some(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    controllers = LOSSES.replace("reno", "rcp")  # it needs a queue of RCP: its points are not run
    assert controllers != LOSSES
    with pytest.raises(RuntimeError, match="6 of 12 runs failed"):
        Study.parse(controllers).run(tmp_path / "s")
    report = of_folder(tmp_path / "s")
    assert (len(report.runs), report.runs_note) == (6, "")
    assert (len(of_folder(study).runs), of_folder(study).runs_note) == (12, "")
    monkeypatch.setattr("ackclock.apps.report.study.MOST_RUNS", 11)
    report = of_folder(study)
    assert len(report.runs) == 4
    assert report.runs_note.startswith("The first seed of at most 11 points.")


def test_a_search_shows_its_failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["search", "@shrew", "--control", "reno", "--budget", "100", "--out", "s"]) == 0
    report = of_folder(Path("s"))
    assert report.kind == "search"
    assert "reno fails" in report.answer[0]
    assert [figure.name for figure in report.figures] == ["minimal-network", "minimal-run"]


def test_a_search_from_elsewhere_runs_no_code(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass M: pass\n")
    scenario = 'duration = "1s"\ntcp = { congestion_control = { python = "mine.py:M" } }\n'
    scenario += 'link = [{ ends = ["a", "b"], rate = "1Mbps", delay = "1ms" }]\nflow = [{ from = "a", to = "b" }]\n'
    (tmp_path / "minimal.toml").write_text("# It fails.\n" + scenario)
    expect = '[[expect]]\nscenario = "minimal.toml"\nobjective = "residual <= 0.35"\ntested = ["f"]\n'
    expect += 'bottleneck = "a->b"\nrate_bps = 1e6\ncontrol = "mine.py:M"\nseeds = [1]\nvalue = 0.3\n'
    (tmp_path / "regression.toml").write_text(expect)
    report = of_folder(tmp_path)
    assert report.figures == []
    assert "minimal.toml was not run again" in report.notes[0]
    assert not (tmp_path / "ran").exists()


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no such folder"):
        of_folder(tmp_path / "none")
    with pytest.raises(BadInput, match="has nothing to report"):
        of_folder(tmp_path)


SUITE = """
title = "Two paths"
source = "the course"
summary = "A path with and without losses."
standard = "reno"

[[situation]]
id = "path"
title = "A path"
metrics = ["goodput"]
seeds = 3
quick = 2

[[situation]]
id = "broken"
title = "A path in which the class fails"
metrics = ["goodput"]
seeds = 2
quick = 2
"""
SITUATION = """
duration = "{duration}"
delays = true
link = [{{ ends = ["a", "b"], rate = "5Mbps", delay = "10ms" }}]
flow = [{{ name = "tested", from = "a", to = "b", start_jitter = "1s" }}]
"""
FAILS = """
from ackclock import Controller

class Mine(Controller):
    acks = 0

    def on_ack(self, ack):
        self.acks += 1
        if self.acks > LIMIT:
            raise ValueError("no window")

    def on_congestion(self, event):
        pass

    on_rto = on_congestion
"""


def test_a_suite_has_its_situations_and_its_failed_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own").mkdir()
    Path("own/suite.toml").write_text(SUITE, encoding="utf-8")
    Path("own/path.toml").write_text(SITUATION.format(duration="2s"), encoding="utf-8")
    Path("own/broken.toml").write_text(SITUATION.format(duration="20s"), encoding="utf-8")
    Path("mine.py").write_text(FAILS.replace("LIMIT", "1000"), encoding="utf-8")
    assert main(["suite", "own", "--control", "mine.py:Mine", "--out", "s"]) == 1
    report = of_folder(Path("s"))
    assert report.kind == "suite"
    assert [table.title for table in report.numbers] == ["A path"]
    assert any("2 runs failed: " in note and "no window" in note for note in report.notes)
    assert all(run.href is None for run in report.runs)
    assert str(tmp_path) not in page(report, linked=False, beside=True)


def test_what_failed_has_its_label_and_its_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.py").write_text(FAILS.replace("LIMIT", "1"))
    text = LOSSES.replace(
        '"tcp.congestion_control" = ["reno", "cubic"]',
        """[sweep.control]
cubic = { "tcp.congestion_control" = "cubic" }
mine = { "tcp.congestion_control" = { python = "mine.py:Mine" } }""",
    )
    (tmp_path / "study.toml").write_text(text.replace('seed = "1..3"', 'seed = "1..2"'))
    assert main(["sweep", str(tmp_path / "study.toml"), "--out", str(tmp_path / "s")]) == 1
    report = of_folder(tmp_path / "s", per="control", allow_code=True)
    assert list(report.table.columns[0].cells) == ["cubic", "mine"]
    assert report.table.columns[1].printed()[1] == ("-", "")
    assert any("4 runs failed at " in note and "no window" in note for note in report.notes)
    assert "two labels of control" in report.methods
    judged = of_folder(tmp_path / "s", ["goodput > 1Mb/s"], "control", allow_code=True).table
    assert [column.cells[1] for column in judged.columns[:4]] == ["mine", "0 of 2", "0", "2"]


def test_the_substrate_and_the_engine_are_those_of_the_runs(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(LOSSES)
    Study.load(tmp_path / "study.toml", on="quic").run(tmp_path / "s")
    with Store.create(tmp_path / "s") as store:
        store._write((ABOUT, [_with_checksum(("engine", "0.1.9+deadbeef"))]))
    report = of_folder(tmp_path / "s")
    assert "We ran QUIC in virtual time over paths" in report.methods
    assert "Linux" not in report.methods
    assert "Ackclock 0.1.9 (engine deadbeef)" in report.methods
    assert report.citations[0].fields["version"] == "0.1.9"
    assert "--on quic" in report.command
    assert report.runs == []


def test_seeds_that_were_added_count(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(LOSSES)
    command = ["sweep", str(tmp_path / "study.toml"), "--out", str(tmp_path / "s")]
    assert main([*command, "--until", "f.goodput_bps:20%", "--most", "12"]) == 0
    methods = of_folder(tmp_path / "s").methods
    with Store.open(tmp_path / "s") as store:
        runs = len(store.finished())
    assert f"({runs} runs of 4 s)" in methods
    assert "each with three seeds" not in methods


def test_two_goals_of_a_metric_have_two_figures(study: Path, tmp_path: Path) -> None:
    goals = ["--goal", "f.goodput > 1Mb/s", "--goal", "goodput > 1Mb/s"]
    assert main(["report", str(study), *goals, "--out", str(tmp_path), "--no-open"]) == 0
    assert {file.stem for file in (tmp_path / "figures").iterdir()} >= {"goodput", "f-goodput"}


def test_a_link_in_place_of_the_report_is_refused(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "s"
    shutil.copytree(study, folder, ignore=shutil.ignore_patterns("report"))
    (tmp_path / "elsewhere").mkdir()
    (folder / "report").symlink_to(tmp_path / "elsewhere")
    assert main(["report", str(folder), "--no-open"]) == 2
    assert "is no folder but a link" in capsys.readouterr().err
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
def test_a_pdf_has_the_page(study: Path, tmp_path: Path) -> None:
    out = tmp_path / "r"
    assert main(["report", str(study), "--out", str(out), "--no-open", "--pdf"]) == 0
    assert (out / "report.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_the_tables_compile(study: Path, tmp_path: Path) -> None:
    out = tmp_path / "r"
    assert main(["report", str(study), "--out", str(out), "--no-open"]) == 0
    tables = "\n\n".join(f"\\input{{tables/{file.name}}}" for file in sorted((out / "tables").glob("*.tex")))
    document = f"\\documentclass{{article}}\\usepackage{{booktabs}}\\begin{{document}}{tables}\\end{{document}}"
    (out / "t.tex").write_text(document)
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"], cwd=out, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout[-1500:]
    wide = [float(width) for width in re.findall(rb"Overfull \\hbox \(([\d.]+)pt", done.stdout)]
    assert max(wide, default=0.0) < 30, "a table is wider than the page"


def test_a_comparison_has_its_rows_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ["--on", "@dumbbell", "--set", "duration=4s", "--seeds", "2", "--out", "c"]
    assert main(["compare", "--control", "reno,cubic", *arguments, "--export", "c.md"]) == 0
    report = of_folder(Path("c"))
    assert report.kind == "comparison"
    assert tables.markdown(report.table.columns) == Path("c.md").read_text(encoding="utf-8")
    again = shlex.split(report.command)
    assert again[:4] == ["ackclock", "compare", "--control", "reno,cubic"]
    assert main([*again[1:], "--export", "d.md"]) == 0
    assert Path("d.md").read_text(encoding="utf-8") == Path("c.md").read_text(encoding="utf-8")
    damaged = json.loads(Path("c/comparison.json").read_text(encoding="utf-8"))
    del damaged["comparison"]["rows"][0]["ratio"]
    Path("c/comparison.json").write_text(json.dumps(damaged), encoding="utf-8")
    with pytest.raises(BadInput, match=r"comparison\.json: is damaged"):
        of_folder(Path("c"))
