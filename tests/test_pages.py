"""The pages of results: counts, words, intervals, what the first screen shows, accessibility, weight."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ackclock.apps import laboratory, papers
from ackclock.apps.papers import full_form
from ackclock.apps.papers.calibration import Fit, combinations
from ackclock.apps.papers.folder import Paper
from ackclock.apps.papers.readings import Reading
from ackclock.apps.papers.verdict import BY_NAME, WORDS

Command = Callable[..., "subprocess.CompletedProcess[str]"]
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
JARGON = (
    *(r"\b[A-Z]\d[a-z]?-?[a-z]*\b: ", r"\bp = ", "Holm", "calibrat", "interpretation", "region of equivalence"),
    *("prediction interval", r"\bn = ", r"\b[0-9a-f]{12,}\b"),
)
"""What the first screen may not say: identifiers of claims, p-values, words of the method, hashes."""


class Parts(HTMLParser):
    """The texts of the elements of a page that have one of these classes, and the rows of its tables."""

    def __init__(self, *classes: str) -> None:
        super().__init__()
        self.classes = classes
        self.texts: list[str] = []
        self.rows: list[list[str]] = []
        self._open: list[tuple[str, bool]] = []
        self._cell = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in {"meta", "br", "path", "use", "img", "link", "input"}:
            return
        wanted = bool(set((dict(attributes).get("class") or "").split()) & set(self.classes))
        self._open.append((tag, wanted))
        if wanted:
            self.texts.append("")
        if tag == "tr":
            self.rows.append([])
        if tag == "td" and self.rows:
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, text: str) -> None:
        if any(wanted for _, wanted in self._open):
            self.texts[-1] += text
        if any(tag == "td" for tag, _ in self._open) and self.rows and self.rows[-1]:
            self.rows[-1][-1] += text


def parts(text: str, *classes: str) -> Parts:
    parser = Parts(*classes)
    parser.feed(text)
    return parser


def badges(text: str) -> Counter[str]:
    """The number of badges with each verdict."""
    return Counter(badge.split(" ", 1)[1] for badge in parts(text, "badge").texts)


def bars(text: str) -> list[Counter[str]]:
    """What each bar says of its parts."""
    labels = re.findall(r'class="bar" role="img" aria-label="([^"]*)"', text)
    return [Counter({word: int(n) for n, word in (p.split(" ", 1) for p in label.split(", "))}) for label in labels]


def test_the_counts_of_a_page_are_the_counts_of_its_badges(pages: Path) -> None:
    """Head, badges, group headings, index and verdicts.json have one rule."""
    index = (pages / "index.html").read_text()
    total: Counter[str] = Counter()
    for key in papers.known():
        folder = pages / key
        text = (folder / "index.html").read_text()
        document = json.loads((folder / "verdicts.json").read_text())
        counts = Counter({word: n for word, n in document["counts"].items() if n})
        assert badges(text) == counts
        assert bars(text)[0] == counts
        headings = re.findall(r'<h3 class="group">\S+ ([a-z ]+): (\d+) ', text)
        assert {word: int(n) for word, n in headings} == counts
        assert Counter(v["verdict"] for v in document["claims"]) == counts
        assert counts in bars(index)
        total += counts
    assert bars(index)[0] == total


def test_an_answer_is_that_of_the_badge(pages: Path) -> None:
    """A sentence never says yes or no where the badge says something else, and a strip has the badge's colour."""
    index = (pages / "index.html").read_text()
    rows = re.findall(r"<li><span><a href=\"([\w-]+)/index.html\">.*?</li>", index, re.S)
    assert rows
    for key in papers.known():
        [row] = re.findall(rf'<li><span><a href="{key}/index.html"><b>.*?</li>', index, re.S)
        document = json.loads((pages / key / "verdicts.json").read_text())
        verdicts = {v["id"]: v["verdict"] for v in document["claims"]}
        named = re.findall(r"\{([\w-]+)\?\}", papers.find(key).page.answers)
        answers = re.findall(r'<b class="a (\w)">([^<]*)</b>', re.sub(r"\(full form: <b.*?</b>\)", "", row))
        assert answers == [(BY_NAME[verdicts[n]].css, BY_NAME[verdicts[n]].answer) for n in named]
        text = (pages / key / "index.html").read_text()
        for name, word in verdicts.items():
            [summary] = re.findall(rf'<details class="claim" id="{name}"><summary>(.*?)</summary>', text, re.S)
            colours = set(re.findall(r'class="dot (\w)', summary))
            assert colours <= {BY_NAME[word].css}, name


def test_every_number_has_a_unit_and_says_how_sure_it_is(pages: Path) -> None:
    sure = r"\[[^\]]+\]|in every run|\(1 run\)"
    for path in (pages / "index.html", *(pages / key / "index.html" for key in papers.known())):
        values = [" ".join(text.split()) for text in parts(path.read_text(), "val").texts]
        assert values
        for value in values:
            assert (
                re.search(sure, value)
                or (value.startswith("printed") and "; " not in value)
                or "cells:" in value
                or not value
                or (value == "no run can decide it")
            ), (path, value)


def test_no_column_and_no_row_has_only_zeros_or_dashes(pages: Path) -> None:
    for path in pages.glob("*/index.html"):
        for row in parts(path.read_text()).rows:
            cells = [cell.strip() for cell in row if cell.strip()]
            assert len(cells) < 4 or any(cell not in {"0", "-"} for cell in cells), (path, row)


@pytest.mark.skipif(BROWSER is None or shutil.which("node") is None, reason="needs Chromium and Node")
def test_the_first_screen_and_accessibility(root: Path, pages: Path) -> None:
    """1440 and 390 pixels, light and dark: no jargon, no sideways scroll, no request, nothing that axe-core calls."""
    files = [pages / name for name in ("index.html", "ca-artt/index.html", "comparison/index.html")]
    done = subprocess.run(
        ["node", "tests/page/results.mjs", *map(str, files)],
        cwd=root / "web",
        capture_output=True,
        text=True,
        env=os.environ | {"CHROMIUM": str(BROWSER)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    longest = {"index.html": 4200, "ca-artt": 7000, "comparison": 4500}
    for measured in json.loads(done.stdout):
        file = Path(measured["file"])
        name = file.name if file.parent == pages else file.parent.name
        where = (name, measured["scheme"], measured["width"])
        assert measured["violations"] == [], where
        assert measured["scrolls"] <= measured["width"], where
        assert measured["requests"] == [], where
        if measured["width"] == 390:
            assert measured["length"] <= longest[name], where
        for pattern in JARGON:
            assert re.search(pattern, measured["first"]["text"]) is None, (where, pattern, measured["first"]["text"])
        links = measured["first"]["links"]
        assert any(link.endswith("#own") for link in links), where
        assert any("comparison/index.html" in link for link in links), where
        assert any("lab.html" in link for link in links) == laboratory.is_built(), where


def test_the_weight_of_the_pages(pages: Path) -> None:
    limits = {"index.html": 150e3, "ca-artt/index.html": 1.1e6, "comparison/index.html": 200e3}
    for name, limit in limits.items():
        assert (pages / name).stat().st_size <= limit, name


def copy_of(folder: Path, to: Path) -> Paper:
    shutil.copytree(folder, to / folder.name)
    return Paper(to / folder.name)


def stored(paper: Paper) -> dict[str, full_form.StoredVerdict]:
    """The stored verdicts that count."""
    calibration = full_form.stored_calibration(paper)
    chosen = calibration.chosen if calibration is not None else Reading("")
    form = full_form.load(paper, chosen)
    assert form is not None
    return form.verdicts


@pytest.mark.parametrize("key", papers.known())
def test_the_stored_full_form_is_of_these_definitions(root: Path, key: str) -> None:
    """Every paper has a full form; a claim or a calibration that has changed since has to be run again."""
    paper = papers.Paper(root / "papers" / key)
    assert set(stored(paper)) == {claim.id for claim in paper.claims}, f"ackclock paper {key} --out out --readme"
    assert (full_form.stored_calibration(paper) is None) == (not paper.calibration.cells)
    text = (paper.folder / "README.md").read_text()
    rows = re.findall(r"^\| ([\w-]+): .*? \| \*\*([a-z ]+)\*\*", text, re.M)
    assert dict(rows) == {name: one.verdict for name, one in stored(paper).items()}


def test_a_changed_claim_drops_its_stored_verdict(root: Path, tmp_path: Path) -> None:
    before = stored(papers.Paper(root / "papers" / "westwood"))
    paper = copy_of(root / "papers" / "westwood", tmp_path)
    claims = paper.folder / "claims.toml"
    claims.write_text(claims.read_text().replace("tolerance = 0.1", "tolerance = 0.2", 1))
    assert set(before) - set(stored(Paper(paper.folder))) == {"S2a"}
    claims.write_text(claims.read_text().replace("short     = ", 'remark    = "New words."\nshort     = ', 1))
    assert set(before) - set(stored(Paper(paper.folder))) == {"S2a"}
    study = paper.folder / "studies" / "udp.toml"
    study.write_text(study.read_text() + '\n[[link]]\nname = "more"\n')
    assert {"S2e", "S2e-lossy"} <= set(before) - set(stored(Paper(paper.folder)))


def test_a_changed_candidate_drops_the_stored_calibration(root: Path, tmp_path: Path) -> None:
    paper = copy_of(root / "papers" / "sarbe-ecn", tmp_path)
    calibration = full_form.stored_calibration(paper)
    assert calibration is not None
    assert len(calibration.readings) == len(combinations(paper)) == len(calibration.distances)
    path = paper.folder / "calibration.toml"
    path.write_text(path.read_text().replace('"tcp.receive_window" = 20', '"tcp.receive_window" = 21'))
    assert full_form.stored_calibration(Paper(paper.folder)) is None


def test_a_stored_calibration_is_the_one_that_was_stored(root: Path, tmp_path: Path) -> None:
    paper = copy_of(root / "papers" / "sarbe-ecn", tmp_path)
    calibration = full_form.stored_calibration(paper)
    assert calibration is not None
    full_form.save(paper, calibration, [], "0.0.0+test")
    again = full_form.stored_calibration(paper)
    assert isinstance(again, Fit)
    assert again.to_dict() == calibration.to_dict()
    assert replace(again, readings=[]).cells == calibration.cells


def test_the_words_have_signs_and_answers() -> None:
    assert [(word.name, word.sign, word.answer) for word in WORDS] == [
        ("confirmed", "✓", "yes"),
        ("refuted", "✗", "no"),
        ("undecided", "?", "undecided"),
        ("not testable", "–", "not testable"),
    ]


def test_a_reader_s_controller_runs_on_the_network_of_each_page(ackclock: Command, tmp_path: Path) -> None:
    networks = sorted({papers.find(key).page.network for key in papers.known()})
    done = ackclock(
        *(
            "compare",
            "--control",
            "reno,cubic",
            "--seeds",
            2,
            "--set",
            "duration=3s",
            "--set",
            "warmup=0s",
            "--out",
            tmp_path,
        ),
        *(word for network in networks for word in ("--on", network)),
    )
    assert done.returncode == 0, done.stderr
    assert all(network.rpartition("/")[2].removeprefix("@") in done.stdout for network in networks)


def test_a_reader_s_controller_gets_a_dot_on_the_page_of_all_controllers(
    ackclock: Command, pages: Path, tmp_path: Path
) -> None:
    """`ackclock suite comparison` finds the suite by its name, and the results beside it."""
    shutil.copytree(pages / "comparison", tmp_path / "out" / "comparison")
    table = '{ kind = "vegas", alpha = 3, beta = 5 }'
    before = (tmp_path / "out" / "comparison" / "index.html").read_text()
    done = ackclock("suite", "comparison", "--control", table, "--quick", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "out" / "comparison" / "index.html").read_text()
    assert "written: out/comparison/index.html" in done.stdout
    assert text.count('class="cd h4') > before.count('class="cd h4') == 0
    assert f"Which of {1 + int(re.findall('Which of ([0-9]+)', before)[0])} controllers" in text
