"""Papers: verdicts by rule, complete pages, validation of folders."""

from __future__ import annotations

import csv
import json
import math
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ackclock import stats
from ackclock.apps import laboratory, papers
from ackclock.apps.papers.calibration import MOST_DEVIATION, ControlCell, Fit, fit, in_order, noise, weights_of
from ackclock.apps.papers.folder import Candidate, Claim, Paper
from ackclock.apps.papers.judge import ClaimResult, Verdict, _one_size, _swept, direction, size
from ackclock.apps.papers.parallel import _expected as expected_runs
from ackclock.apps.papers.readings import EQUIVALENT, Reading, check, combination, others
from ackclock.apps.papers.results import Results, SharedRuns
from ackclock.apps.papers.verdict import BY_NAME, DIRECTIONS, SIZES, verdict, verdict_over_rows
from ackclock.base.files import BadInput
from ackclock.base.si import value
from ackclock.scenario import Scenario
from ackclock.study import Store, Study, sweep
from ackclock.study.executors import Local
from ackclock.study.plan import Run, StudyPlan
from ackclock.study.store import Finished

Command = Callable[..., "subprocess.CompletedProcess[str]"]
Once = Callable[[str, Callable[[Path], None]], Path]

VALUE_KEYS = {"value", "low", "high", "n", "single_run"}
VERDICT_KEYS = VALUE_KEYS | {
    *("id", "short", "quote", "place", "metric", "kind", "unit", "verdict", "detail", "n_unit", "printed", "claimed"),
    *("equivalence", "size_tolerance", "note", "scenarios", "p", "p_holm", "wilcoxon", "alone", "evidence"),
    *("rows", "choices", "full"),
}


def claim(**given: Any) -> Claim:
    return Claim(
        **{
            **{"id": "C", "short": "", "quote": "", "place": "", "metric": "", "reference": 1.0, "measure": "ratio"},
            **given,
        }
    )


@pytest.mark.parametrize(
    "side, low, high, found",
    [
        (1, 1.1, 1.2, "confirmed"),
        (1, 0.8, 0.9, "opposite"),
        (1, 0.9, 1.1, "undecided"),
        (1, 0.9988, 0.9998, "no difference"),
        (1, 1.001, 1.019, "no difference"),
        (1, 1.001, 1.03, "confirmed"),
        (-1, 0.8, 0.9, "confirmed"),
        (-1, 1.1, 1.2, "opposite"),
        (0, 0.96, 1.04, "confirmed"),
        (0, 1.06, 1.2, "opposite"),
        (0, 0.9, 1.04, "undecided"),
    ],
)
def test_directions(side: int, low: float, high: float, found: str) -> None:
    assert direction(claim(direction=side, tolerance=0.05), low, high) == found


@pytest.mark.parametrize(
    "expected, low, high, single, found",
    [
        (1.711, 1.675, 1.732, (1.5, 1.9), "reproduced"),
        (1.711, 1.56, 1.60, (1.4, 1.8), "consistent"),  # the interval of the mean excludes the number
        (1.196, 5.58, 7.02, (4.0, 9.0), "larger"),
        (1.201, 1.03, 1.04, (1.0, 1.1), "smaller"),
        (1.21, 0.97, 1.04, (0.8, 1.2), "excluded"),
        (1.21, 0.97, 1.04, (0.8, 1.3), "consistent"),
        (1.21, 0.9, 0.95, (0.8, 1.1), "excluded"),
        (0.57, 1.2, 1.4, (1.1, 1.5), "larger"),  # confirmed, although the printed number is not on the claimed side
        (None, 1.1, 1.2, (1.0, 1.3), None),
    ],
)
def test_sizes(expected: float | None, low: float, high: float, single: tuple[float, float], found: str | None) -> None:
    """A printed number is of one run: it is compared with the scatter of single runs."""
    one = claim(direction=1, expected=expected)
    assert size(one, direction(one, low, high), (low * high) ** 0.5, (low, high), single) == found


def test_the_interval_of_one_more_value() -> None:
    """t(0.975, 3) = 3.182; four values with mean 2.5 and deviation 1.291."""
    low, high = stats.prediction([1.0, 2.0, 3.0, 4.0])
    assert (low, high) == pytest.approx((2.5 - 4.5935, 2.5 + 4.5935), rel=1e-3)
    assert stats.prediction([1.0]) == (-math.inf, math.inf)


def test_cells_of_one_network_are_one_observation() -> None:
    """Ten copies of the two networks' cells decide no more than one copy."""

    def fitted(copies: int) -> Fit:
        cells = [ControlCell("T", "r", f"c{i}", 1.0, 0.0, f"n{i % 2}") for i in range(2 * copies)]
        weights = weights_of(cells)
        distances = np.tile([[0.1, 0.1], [0.1, 0.14], [2.0, 2.1]], copies) @ weights
        readings = [Reading(name) for name in "abc"]
        return Fit(papers.find("westwood"), readings, cells, distances, noise(np.full(2 * copies, 1e-4), weights))

    one, ten = fitted(1), fitted(10)
    assert one.networks == ten.networks == ["n0", "n1"]
    assert one.equivalent == ten.equivalent == [0, 1]
    assert one.noise == pytest.approx(ten.noise)
    assert one.wins == pytest.approx(ten.wins)
    assert one.fits
    assert not replace(one, distances=one.distances + 1).fits


def test_every_network_weighs_the_same() -> None:
    """A network with ten cells has the weight of a network with one."""
    cells = [ControlCell("T", "r", f"c{i}", 1.0, 0.0, "many" if i else "one") for i in range(11)]
    distances = np.array([[0.0] + [0.3] * 10, [0.4] + [0.1] * 10])
    fitted = Fit(papers.find("westwood"), [Reading("a"), Reading("b")], cells, distances @ weights_of(cells))
    assert fitted.means == pytest.approx([0.15, 0.25])
    assert fitted.best == 0


def test_a_fit_is_judged_by_networks_that_it_does_not_use() -> None:
    """Of many interpretations one is near every network by chance: with three networks a left-out network counts."""
    cells = [ControlCell("T", "r", f"c{i}", 1.0, 0.0, f"n{i}") for i in range(3)]
    each_best_in_one = np.array([[0.0, 0.6, 0.5], [0.5, 0.0, 0.6], [0.6, 0.5, 0.0]])
    readings = [Reading(name) for name in "abc"]
    fitted = Fit(papers.find("westwood"), readings, cells, each_best_in_one)
    assert fitted.factor(fitted.best) < MOST_DEVIATION
    assert fitted.predicted is not None
    assert fitted.predicted > MOST_DEVIATION
    assert not fitted.fits


def test_a_size_holds_if_every_reading_left_open_gives_it() -> None:
    """The scatter of the calibrated interpretation counts, not that of interpretations with fewer seeds."""
    one = claim(direction=1, expected=2.0)
    taken = ClaimResult("a", "confirmed", "larger", 3.0, 2.9, 3.1, 30, (2.7, 3.3))
    near = ClaimResult("b", "confirmed", "consistent", 2.8, 1.0, 5.0, 2, (0.5, 9.0), equivalent=True)
    assert _one_size(one, taken, [near])
    assert not _one_size(one, taken, [replace(near, value=2.0)])
    assert _one_size(one, taken, [replace(near, value=2.0, equivalent=False)])


@pytest.mark.parametrize(
    ("values", "testable"), [((0.5, 0.6), True), ((0.7, 0.9), True), ((0.6, 0.9), False), ((0.3, 0.9), False)]
)
def test_a_claim_of_similarity_is_testable_if_all_values_are_on_one_side(
    values: tuple[float, float], testable: bool
) -> None:
    one = claim(direction=0, reference=0.55, tolerance=0.1, measure="mean", swept=["D1"])
    taken, other = (ClaimResult(name, "confirmed", value=value) for name, value in zip("ab", values, strict=True))
    found = _swept(one, taken, [other], [Reading("b", changes="D1")])
    assert (found.direction != "not testable") == testable


def test_an_assignment_that_sets_nothing_is_refused() -> None:
    """A candidate that names a study must reach an axis of it."""
    paper = Paper(Path(__file__).parents[1] / "papers" / "sarbe-ecn")
    axes = {spec.name: {"control": ["sarbe"]} for spec in paper.studies}
    check(paper, Results(paper, Path("unused"), Local()).axes_in_file)
    with pytest.raises(BadInput, match=r"calibration.toml: Westwood: .* sets nothing in study goodput"):
        check(paper, axes.__getitem__)


def test_numbers_for_people() -> None:
    assert [value(x) for x in (None, 0, 0.5, 12.345, 1234.6, 99.96, 0.00012, -3)] == [
        *("-", "0", "0.5", "12.3", "1,235", "100", "0.00012", "-3"),
    ]


@pytest.mark.parametrize("weak", [False, True])
@pytest.mark.parametrize("size_word", [None, *SIZES])
@pytest.mark.parametrize("direction_word", DIRECTIONS)
def test_every_result_has_a_word(direction_word: str, size_word: str | None, weak: bool) -> None:
    """The table of the words: four, and a detail for what they leave out."""
    word, detail = verdict(direction_word, size_word, weak=weak)
    decided = {"confirmed": "confirmed", "opposite": "refuted", "no difference": "refuted"}
    if direction_word in {"not testable", "impossible", "contradicts itself"}:
        assert word == "not testable"
    elif weak and direction_word in {"confirmed", "opposite"}:
        assert (word, detail) == ("undecided", "does not survive the correction for many claims")
    else:
        assert word == decided.get(direction_word, "undecided")
        assert ("ruled out" in detail) == (size_word == "excluded" and word != "confirmed")
    assert word in BY_NAME
    if (word, size_word) == ("confirmed", "smaller"):
        assert detail == "effect smaller than printed"


@pytest.mark.parametrize(
    "directions, word",
    [
        (("confirmed", "confirmed"), "confirmed"),
        (("confirmed", "opposite"), "not testable"),
        (("opposite", "no difference"), "refuted"),
        (("confirmed", "undecided"), "undecided"),
        (("not testable", "confirmed"), "not testable"),
    ],
)
def test_a_claim_holds_if_it_holds_under_every_choice_that_the_paper_leaves_open(
    directions: tuple[str, str], word: str
) -> None:
    assert verdict_over_rows([(name, None) for name in directions])[0] == word
    taken, row = (ClaimResult(name, name, value=2.0) for name in directions)
    assert Verdict(claim(direction=1), taken, [row]).word == word


def check_links(folder: Path, text: str) -> None:
    """A page needs nothing from outside. Its links lead to files that are there, or to scenarios in the laboratory."""
    assert not re.search(r'(src|href)="(https?:)?//', text)
    assert not re.search(r"<(img|link|iframe)\b", text)
    links = set(re.findall(r'href="(?:\.\./)?(lab\.html#s=[^"]*)"', text))
    for link in sorted(links)[:20]:
        assert Scenario.load(link).seed == 1
    for address in set(re.findall(r' href="([^"]*)"', text)):
        file, _, place = address.partition("#")
        target = folder / file if file else folder / "index.html"
        assert target.is_file(), address
        if place and target.suffix == ".html" and target.name in {"index.html", "runs.html"}:
            assert f'id="{place}"' in (text if not file else target.read_text()), address


@pytest.fixture
def page(pages: Path) -> Path:
    """The page of CA-ARTT, with few seeds."""
    return pages / "ca-artt"


@pytest.fixture
def finished(small: Path, tmp_path: Path) -> Path:
    """A copy of the results of CA-ARTT, for tests that reproduce it again: its store has one writer at a time."""
    shutil.copytree(small / "out" / "ca-artt", tmp_path / "out" / "ca-artt")
    return tmp_path / "out"


@pytest.fixture
def quick_pages(root: Path, once: Once) -> Path:
    """The pages of all papers in the quick form."""

    def make(folder: Path) -> None:
        command = [sys.executable, "-m", "ackclock.cli", "paper", "all", "--quick", "--out", str(folder)]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    return once("quick-papers", make)


def test_ca_artt_page_is_whole(page: Path) -> None:
    text = (page / "index.html").read_text()
    assert "Quick form, made here" in text
    assert sorted(page.rglob("*.html")) == [
        page / name for name in ("index.html", "runs.html") if laboratory.is_built() or name == "index.html"
    ]
    check_links(page, text)
    paper = papers.find("ca-artt")
    assert text.count("<svg") == len(paper.figures) + len(paper.networks)
    assert {path.stem for path in (page / "figures").glob("*.svg")} == {
        *("fig01", "fig02", "fig03", "fig05", "fig06", "fig07", "fig08", "fig09")
    }
    for table in ("T1", "T2", "T3", "T4", "T5"):
        assert f'id="{table}"' in text


def check_verdicts(folder: Path) -> dict[str, dict[str, Any]]:
    """The verdicts of a paper by claim, each checked for completeness."""
    document = json.loads((folder / "verdicts.json").read_text())
    assert set(document) == {"form", "engine", "counts", "claims"}
    paper = papers.find(folder.name)
    verdicts = document["claims"]
    assert [v["id"] for v in verdicts] == [claim.id for claim in paper.claims]
    assert document["counts"] == {word: sum(v["verdict"] == word for v in verdicts) for word in BY_NAME}
    for v in verdicts:
        assert set(v) == VERDICT_KEYS
        assert v["evidence"]["direction"] in DIRECTIONS
        assert v["evidence"]["size"] in {None, *SIZES}
        assert v["evidence"]["size"] is None or v["printed"] is not None
        assert v["alone"] in BY_NAME
        for one in (*v["rows"], *v["choices"]):
            assert set(one) >= VALUE_KEYS
            if one["low"] is None:
                assert one["n"] <= 1, "no interval without seeds, no seeds that decide nothing"
            else:
                assert one["low"] <= one["value"] <= one["high"]
    return {v["id"]: v for v in verdicts}


@pytest.mark.nightly
def test_ca_artt_verdicts(quick_pages: Path) -> None:
    page = quick_pages / "ca-artt"
    by_id = check_verdicts(page)
    # With a window that limits both, and without anything random, CA-ARTT is Vegas: one run, no interval.
    assert (by_id["S1a"]["verdict"], by_id["S1a"]["n"], by_id["S1a"]["low"]) == ("confirmed", 1, None)
    assert by_id["S1b"]["verdict"] == "confirmed"
    assert [row["what"].partition(":")[0] for row in by_id["S1b"]["rows"]] == ["D1"]
    assert all(0 <= r["low"] <= r["high"] <= 1 for r in by_id["S1b-range"]["choices"] if r["low"] is not None)


def test_a_calibration_looks_at_known_algorithms_alone(small: Path, finished: Path, tmp_path: Path) -> None:
    """The fit does not depend on the published numbers of the proposed algorithm; its runs have no such flow."""
    folder = tmp_path / "ca-artt"
    shutil.copytree(small / "papers" / "ca-artt", folder)
    page = finished / "ca-artt"
    before = json.loads((page / "calibration.json").read_text())
    rows = (folder / "published.csv").read_text().splitlines()
    assert any("proposed" in row for row in rows)
    changed = [
        re.sub(r",[0-9.]+,([^,]*)$", r",777,\1", row) if re.search("proposed|CA-ARTT", row) else row for row in rows
    ]
    (folder / "published.csv").write_text("\n".join(changed) + "\n")
    again = fit(Results(papers.Paper(folder), page, Local(2), quick=True))
    assert again.to_dict() == before
    assert all("Vegas" in cell["column"] for cell in before["control_cells"])
    study = folder / "studies" / "uplinks.toml"
    study.write_text(study.read_text() + '[sweep.control]\nnew = { "flow.fwd.tcp.congestion_control" = "ca_artt" }\n')
    with pytest.raises(BadInput, match="runs ca_artt, which the paper proposes"):
        fit(Results(papers.Paper(folder), tmp_path / "out", Local(2), quick=True))


def test_readings_that_are_as_near_are_known_by_what_they_take(root: Path) -> None:
    """Equivalent interpretations are also recognised among changes of one parameter: a range covers all of them."""
    paper = papers.Paper(root / "papers" / "sarbe-ecn")
    first = {p.id: p.candidate[0].label for p in paper.calibration.parameter}
    window = paper.calibration.parameter[0]
    wide, narrow = (combination(paper, {**first, window.id: window.candidate[i].label}) for i in (-1, 1))
    readings = others(paper, combination(paper, first), [wide, narrow], most=1)
    assert {r.parameters[window.id] for r in readings if r.equivalent} == {window.candidate[i].label for i in (-1, 1)}
    assert not any(r.changes == EQUIVALENT for r in readings)


def test_ca_artt_tables_hold_every_published_number(page: Path, root: Path) -> None:
    with open(page / "tables.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["table", "row", "column", "unit", "reading", "published", "obtained", "low", "high", "n"]
    keys = [(r["table"], r["row"], r["column"], r["reading"]) for r in rows]
    assert len(set(keys)) == len(keys)
    with open(root / "papers" / "ca-artt" / "published.csv", encoding="utf-8", newline="") as file:
        printed = {(r["table"], r["row"], r["column"]): r["value"] for r in csv.DictReader(file)}
    shown = {(r["table"], r["row"], r["column"]): r["published"] for r in rows if r["published"]}
    assert shown == printed
    for r in rows:
        if r["low"]:
            assert float(r["low"]) <= float(r["obtained"]) <= float(r["high"])


def test_vegas_is_that_of_ns2(tmp_path: Path) -> None:
    """Each cell equals the stored runs of ns-2, ten seeds each, except where a timeout depends on chance."""
    paper = papers.find("ca-artt")
    found = paper.code("measures").beside_ns2(Results(paper, tmp_path, Local(2)))
    ratios = [float(row[3]) for table in found.tables for row in table["rows"]]
    assert len(ratios) == 40
    assert sum(abs(ratio - 1) < 0.005 for ratio in ratios) >= 38
    assert max(abs(ratio - 1) for ratio in ratios) < 0.1


def test_an_interrupted_page_goes_on(small: Path, finished: Path) -> None:
    """Finished runs are not repeated: the second time, only traces are simulated."""
    from ackclock.apps.papers import reproduce

    class Refuses:
        def run(self, study: object, runs: list[object]) -> object:
            assert not runs
            return iter(())

    paper = papers.Paper(small / "papers" / "ca-artt")
    again = reproduce(paper, finished, Refuses(), quick=True)  # type: ignore[arg-type]
    assert again.runs > 1000


@pytest.mark.parametrize(
    "old, new, message",
    [
        ('metric  = "fwd.throughput_bps"', 'metric  = "fwd.speed"', "there is no speed"),
        ('reading = "{mode}"', 'reading = "{mood}"', "a template names 'mood'"),
        ('code = "table1"', 'code = "table9"', "measures.py: has no table9"),
        ("{gain_lossy}", "{loss}", "summary: names 'loss', which has no [value] table"),
        ('axis  = "control"', 'axis  = "colour"', "has no axis colour"),
    ],
)
def test_what_does_not_fit_the_results_is_told(
    small: Path, finished: Path, tmp_path: Path, old: str, new: str, message: str
) -> None:
    """The finished runs are kept, so only an error in the folder can cause a message."""
    from ackclock.apps.papers import reproduce

    folder = tmp_path / "ca-artt"
    shutil.copytree(small / "papers" / "ca-artt", folder)
    text = (folder / "paper.toml").read_text()
    assert old in text
    (folder / "paper.toml").write_text(text.replace(old, new))
    with pytest.raises(BadInput) as caught:
        reproduce(papers.Paper(folder), finished, Local(2), quick=True)
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


KEYS = (
    "bbr",
    "ca-artt",
    "copa",
    "l4s-bursts",
    "ledbat-plus-plus",
    "westwood",
    "bic-iridium",
    "enhanced-rcp",
    "sarbe-ecn",
    "startup",
)


def test_all_papers_can_be_interrupted(root: Path, tmp_path: Path) -> None:
    """An interrupt ends the processes of all papers; finished runs are kept."""
    command = [sys.executable, "-m", "ackclock.cli", "paper", "all", "--quick", "--out", str(tmp_path)]
    started = subprocess.Popen(command, cwd=root, stderr=subprocess.PIPE, text=True)
    while started.poll() is None and not list(tmp_path.glob("*/studies/*/*")):
        time.sleep(0.05)
    started.send_signal(signal.SIGINT)
    _, told = started.communicate()  # ends when every process that holds the pipe has ended
    assert started.returncode == 130
    assert told == f"ackclock: interrupted; finished runs are kept in {tmp_path}; repeat the command to resume\n"
    assert not list(tmp_path.glob("**/*.html"))


def test_papers_that_fail_are_all_told(ackclock_process: Command, tmp_path: Path) -> None:
    """One bad paper does not stop the others."""
    for name in (*KEYS, "comparison"):
        (tmp_path / name).write_text("")
    done = ackclock_process("paper", "all", "--quick", "--out", tmp_path)
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert len(lines) == len(KEYS) + 1
    assert [line.split(":")[1].strip() for line in lines] == [*sorted(KEYS), "comparison"]
    assert all("is a file; --out names a folder" in line for line in lines)


def test_all_papers_and_an_index(pages: Path) -> None:
    index = (pages / "index.html").read_text()
    assert 'href="ca-artt/index.html"' in index
    check_links(pages, index)
    check_links(pages / "comparison", (pages / "comparison" / "index.html").read_text())


@pytest.mark.parametrize("key", KEYS)
def test_the_pages_are_whole(pages: Path, key: str) -> None:
    """The page has every published number, a verdict for every claim, and every figure."""
    folder = pages / key
    text = (folder / "index.html").read_text()
    check_links(folder, text)
    assert "{" not in text[text.index("<main>") : text.index('id="claims"')]
    paper = papers.find(key)
    assert text.count("<svg") == len(paper.figures) + len(paper.networks)
    found = check_verdicts(folder)
    assert all(f'id="{name}"' in text for name in found)
    with open(folder / "tables.csv", encoding="utf-8", newline="") as file:
        shown = {(r["table"], r["row"], r["column"]) for r in csv.DictReader(file) if r["published"]}
    assert shown == {(r["table"], r["row"], r["column"]) for r in paper.published}


def test_every_published_cell_stands_on_a_page(pages: Path) -> None:
    """All 444 published cells have an obtained result or, for settings, the value used."""
    rows = []
    for key in KEYS:
        with open(pages / key / "tables.csv", encoding="utf-8", newline="") as file:
            rows += [
                (key, r["table"], r["row"], r["column"], r["obtained"]) for r in csv.DictReader(file) if r["published"]
            ]
    assert len({row[:4] for row in rows}) == 444
    assert all(obtained for *_, obtained in rows)


def verdicts_of(pages: Path, *keys: str) -> dict[str, dict[str, Any]]:
    return {name: v for key in keys for name, v in check_verdicts(pages / key).items()}


@pytest.mark.nightly
def test_what_holds_of_westwood_and_sarbe_whatever_the_seeds(quick_pages: Path) -> None:
    found = verdicts_of(quick_pages, "westwood", "sarbe-ecn")
    for name in ("S2a-sack", "S2b", "S2c", "S2e", "S5a", "S5a-westwood"):
        assert found[name]["verdict"] == "confirmed", name
    assert found["S5e"]["verdict"] == "refuted"


@pytest.mark.nightly
def test_bic_over_iridium_gains_nothing(quick_pages: Path) -> None:
    """Every controller fills the link, and none gains a tenth over BIC."""
    found = verdicts_of(quick_pages, "bic-iridium")
    assert found["S3e"]["verdict"] == "confirmed"
    assert all(found[name]["high"] < 1.1 for name in ("S3a", "S3a-awi"))
    assert found["S3a"]["n_unit"] == "places"


def test_list_and_unknown_paper(ackclock: Command, tmp_path: Path) -> None:
    assert "ca-artt" in ackclock("list", "papers").stdout
    done = ackclock("paper", "ca-art", "--out", tmp_path)
    assert done.returncode == 2
    assert done.stderr.strip() == "ackclock: no paper ca-art; did you mean ca-artt?"
    (tmp_path / "ca-artt").write_text("")
    assert "is a file" in ackclock("paper", "ca-artt", "--out", tmp_path, "--quick").stderr


@pytest.mark.parametrize(
    "file, old, new, message",
    [
        (
            "claims.toml",
            'measure   = "ratio"',
            'mesure   = "ratio"',
            "claims.toml: claim[0].mesure: unknown key",
        ),
        ("claims.toml", 'study     = "quiet"', 'study     = "silent"', "names the study 'silent'"),
        ("paper.toml", 'id = "fig01"', 'id = "fig99"', "figure fig99 has no fig99.py"),
        ("paper.toml", "title", "titel", "titel: unknown key"),
        ("deviations.toml", "[[deviation]]", "[deviation", "deviations.toml: "),
        ("claims.toml", "[[claim]]", "[[claims]]", "claims: unknown key; the file holds [[claim]] tables"),
        ("claims.toml", "direction = 0", "direction = 5", "direction: must be -1, 0 or 1"),
        ("claims.toml", 'scale     = "log"', 'scale     = "lg"', "scale: must be one of linear, log, share"),
        ("calibration.toml", 'study  = "uplinks"', 'study  = "uplink"', "names the study 'uplink'"),
        ("calibration.toml", "label =", "lable =", "unknown key; did you mean label?"),
        ("claims.toml", "reference = 1.0", 'reference = "x"', "reference: must be float, not 'x'"),
        ("claims.toml", "reference = 1.39", "reference = 0.0", "must be above zero"),
        (
            "paper.toml",
            '{newreno} times as much."',
            '{newrano} times as much."',
            "page.came_out: newrano is neither a claim nor a [value]",
        ),
        ("paper.toml", "{S1b?}", "{S1?}", "page.answers: S1? is neither a claim nor a [value] table"),
        (
            "paper.toml",
            '{newreno} times as much."',
            '3.14 times as much."',
            "page.came_out: the number 3.14 is neither printed by the paper",
        ),
        ("paper.toml", "{S1b} times", "very " * 40, "words; at most 40"),
        ("paper.toml", 'main     = "fig06"', 'main     = "fig66"', "page.main: there is no figure fig66"),
        ("paper.toml", "[page]", "[[page]]", "page is missing; docs/paper-format.md describes its keys"),
        (
            "claims.toml",
            'short     = "Without',
            'short     = "Without any traffic at all in the other direction,',
            "at most 55",
        ),
    ],
)
def test_a_folder_out_of_order_is_told(root: Path, tmp_path: Path, file: str, old: str, new: str, message: str) -> None:
    folder = tmp_path / "ca-artt"
    shutil.copytree(root / "papers" / "ca-artt", folder)
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1))
    with pytest.raises(BadInput) as caught:
        papers.Paper(folder)
    assert message in str(caught.value)


class NotNeeded:
    """An executor for studies whose runs are all in a store."""

    def run(self, study: StudyPlan, runs: Sequence[Run]) -> Iterator[list[Finished]]:
        assert not runs, "a run of another study is run again"
        yield from ()


def test_a_run_that_two_studies_have_is_run_once(tmp_path: Path) -> None:
    study = Study.load("@dumbbell", ["sweep.seed=[1, 2]", "duration=2s"])
    with Store.create(tmp_path / "first") as store:
        sweep(study, store, Local(1))
        before = store.texts()
    with Store.create(tmp_path / "second") as store:
        summary = sweep(study, store, SharedRuns(NotNeeded(), tmp_path))
        assert (summary.done, store.texts()) == (2, before)
    (tmp_path / "first" / "runs.sqlite").write_bytes(b"damaged" * 1000)
    with Store.create(tmp_path / "third") as store:
        assert sweep(study, store, SharedRuns(NotNeeded(), tmp_path)).done == 2


def test_the_quick_form_leaves_out_what_no_claim_needs(tmp_path: Path) -> None:
    paper = papers.find("bic-iridium")
    [handoffs] = [study for study in paper.studies if study.name == "handoffs"]
    assert (handoffs.quick, handoffs.seeds) == (0, 20)
    assert [extra.id for extra in paper.extras if extra.full_only] == ["freeze"]
    assert "handoffs" not in expected_runs([paper], None, True)["bic-iridium"]
    assert "handoffs" in expected_runs([paper], None, False)["bic-iridium"]
    with pytest.raises(BadInput, match="handoffs has quick = 0, so what uses it needs full_only"):
        Results(paper, tmp_path, Local(1), quick=True).study("handoffs")


def test_candidates_with_numbers_are_listed_by_their_numbers() -> None:
    def candidates(*labels: str) -> list[Candidate]:
        return [Candidate(label) for label in labels]

    numbers = in_order(candidates("25 segments", "20 segments", "9.5 segments"))
    assert [c.label for c in numbers] == ["9.5 segments", "20 segments", "25 segments"]
    assert [c.label for c in in_order(candidates("plain", "20 segments"))] == ["plain", "20 segments"]
