"""Papers: verdicts by rule, pages that are whole, folders that are in order."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ackclock import papers
from ackclock.files import BadInput
from ackclock.html import value
from ackclock.papers.judge import decide

Command = Callable[..., "subprocess.CompletedProcess[str]"]

VERDICT_KEYS = {
    *("id", "quote", "metric", "unit", "direction", "reference", "tolerance", "expected"),
    *("value", "low", "high", "n", "verdict", "reason", "scenarios"),
}


@pytest.mark.parametrize(
    "direction, low, high, expected, verdict",
    [
        (1, 1.1, 1.2, None, "confirmed"),
        (1, 0.8, 0.9, 0.85, "opposite"),
        (1, 0.9, 1.1, 1.05, "matched"),
        (1, 0.9, 1.1, 1.2, "undecided"),
        (1, 1.0, 1.1, None, "undecided"),
        (-1, 0.8, 0.9, None, "confirmed"),
        (-1, 1.1, 1.2, None, "opposite"),
        (0, 0.96, 1.04, None, "confirmed"),
        (0, 1.06, 1.2, None, "opposite"),
        (0, 0.9, 1.04, None, "undecided"),
        (1, None, None, None, "undecided"),
    ],
)
def test_verdicts(direction: int, low: float | None, high: float | None, expected: float | None, verdict: str) -> None:
    assert decide(direction, 1.0, 0.05, expected, low, high) == verdict


def test_numbers_for_people() -> None:
    assert [value(x) for x in (None, 0, 0.5, 12.345, 1234.6, 99.96, 0.00012, -3)] == [
        *("-", "0", "0.5", "12.3", "1,235", "100", "0.00012", "-3"),
    ]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The quick reproduction of CA-ARTT."""
    from ackclock.papers import find, reproduce
    from ackclock.study.executors import Local

    out = tmp_path_factory.mktemp("out")
    made = reproduce(find("ca-artt"), out, Local(2), quick=True)
    assert made.failed == []
    return out / "ca-artt"


def test_ca_artt_page_is_whole(page: Path) -> None:
    text = (page / "index.html").read_text()
    assert "Quick run" in text
    assert list(page.rglob("*.html")) == [page / "index.html"]
    assert not re.search(r'(src|href)="(?!#)', text), "the page must be self-contained"
    assert text.count("<svg") == 8
    assert {path.stem for path in (page / "figures").glob("*.svg")} == {
        *("fig01", "fig02", "fig03", "fig05", "fig06", "fig07", "fig08", "fig09")
    }
    for table in ("T1", "T2", "T3", "T4", "T5"):
        assert f'id="{table}"' in text


def test_ca_artt_verdicts(page: Path) -> None:
    verdicts = json.loads((page / "verdicts.json").read_text())
    assert {"S1a", "S1b", "S1c", "S1d", "S1e", "S1f", "S1g", "S1h"} <= {v["id"] for v in verdicts}
    for v in verdicts:
        assert set(v) >= VERDICT_KEYS
        assert v["verdict"] == decide(
            v["direction"], v["reference"], v["tolerance"], v["expected"], v["low"], v["high"]
        )
        assert v["low"] <= v["value"] <= v["high"]
    by_id = {v["id"]: v for v in verdicts}
    # What follows from the formula, whatever the seeds: growth under a steady round-trip time.
    assert by_id["S1a"]["verdict"] == "opposite"
    assert by_id["S1b"]["verdict"] == "confirmed"
    text = (page / "index.html").read_text()
    assert "{" not in text[text.index('class="summary"') : text.index('id="verdicts"')]


def test_ca_artt_tables_hold_every_published_number(page: Path, root: Path) -> None:
    with open(page / "tables.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["table", "row", "column", "unit", "reading", "published", "obtained", "low", "high", "n"]
    keys = [(r["table"], r["row"], r["column"], r["reading"]) for r in rows]
    assert len(set(keys)) == len(keys)
    with open(root / "papers" / "ca-artt" / "published.csv", newline="") as file:
        printed = {
            (r["table"], r["row"], r["column"]): r["value"] for r in csv.DictReader(file) if r["table"] != "text"
        }
    shown = {(r["table"], r["row"], r["column"]): r["published"] for r in rows if r["published"]}
    assert shown == printed
    for r in rows:
        if r["low"]:
            assert float(r["low"]) <= float(r["obtained"]) <= float(r["high"])


def test_vegas_is_that_of_ns2(tmp_path: Path) -> None:
    """Cell by cell beside the stored runs of ns-2, ten seeds each: equal but where chance decides a timeout."""
    from ackclock.papers.results import Results
    from ackclock.study.executors import Local

    paper = papers.find("ca-artt")
    found = paper.code("measures").beside_ns2(Results(paper, tmp_path, Local(2)))
    ratios = [float(row[3]) for table in found.tables for row in table["rows"]]
    assert len(ratios) == 40
    assert sum(abs(ratio - 1) < 0.005 for ratio in ratios) >= 38
    assert max(abs(ratio - 1) for ratio in ratios) < 0.1


def test_an_interrupted_page_goes_on(page: Path) -> None:
    """What has run is not run again: the second time nothing is simulated but traces."""
    from ackclock.papers import find, reproduce

    class Refuses:
        def run(self, study: object, runs: list[object], store: Path) -> object:
            assert not runs
            return iter(())

    again = reproduce(find("ca-artt"), page.parent, Refuses(), quick=True)  # type: ignore[arg-type]
    assert again.runs > 1000


@pytest.mark.parametrize(
    "old, new, message",
    [
        ('metric  = "fwd.throughput_bps"', 'metric  = "fwd.speed"', "there is no speed"),
        ('reading = "text{mode}"', 'reading = "text{mood}"', "a template names 'mood'"),
        ('code = "table1"', 'code = "table9"', "measures.py: has no table9"),
        ("{gain_lossy}", "{loss}", "summary: names 'loss', which is no [value]"),
        ('axis  = "control"', 'axis  = "colour"', "has no axis colour"),
    ],
)
def test_what_does_not_fit_the_results_is_told(
    page: Path, root: Path, tmp_path: Path, old: str, new: str, message: str
) -> None:
    """With the studies at hand, nothing but the folder is at fault."""
    from ackclock.papers import reproduce
    from ackclock.study.executors import Local

    folder = tmp_path / "ca-artt"
    shutil.copytree(root / "papers" / "ca-artt", folder)
    text = (folder / "paper.toml").read_text()
    assert old in text
    (folder / "paper.toml").write_text(text.replace(old, new))
    with pytest.raises(BadInput) as caught:
        reproduce(papers.Paper(folder), page.parent, Local(2), quick=True)
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.fixture(scope="module")
def pages(ackclock: Command, page: Path) -> Path:
    """The quick reproduction of all."""
    done = ackclock("paper", "all", "--out", page.parent, "--quick")
    assert done.returncode == 0, done.stderr
    return page.parent


def test_all_papers_and_an_index(pages: Path) -> None:
    index = (pages / "index.html").read_text()
    assert 'href="ca-artt/index.html"' in index
    assert "S1b" in index


@pytest.mark.parametrize("key", ["westwood", "sarbe-ecn", "bic-iridium"])
def test_the_other_pages_are_whole(pages: Path, key: str) -> None:
    """What is printed in the paper stands in the tables, every claim has a verdict by rule."""
    folder = pages / key
    text = (folder / "index.html").read_text()
    assert not re.search(r'(src|href)="(?!#)', text)
    assert "{" not in text[text.index('class="summary"') : text.index('id="verdicts"')]
    paper = papers.find(key)
    assert text.count("<svg") == len(paper.figures)
    verdicts = json.loads((folder / "verdicts.json").read_text())
    assert [v["id"] for v in verdicts] == [claim.id for claim in paper.claims]
    for v in verdicts:
        assert v["verdict"] == decide(
            v["direction"], v["reference"], v["tolerance"], v["expected"], v["low"], v["high"]
        )
    with open(folder / "tables.csv", newline="") as file:
        shown = {(r["table"], r["row"], r["column"]) for r in csv.DictReader(file) if r["published"]}
    printed = {(r["table"], r["row"], r["column"]) for r in paper.published}
    assert shown
    assert shown <= printed
    assert {p for p in printed if p[0] != "text"} <= shown, "the text's numbers are settings too"


def test_what_holds_of_westwood_and_sarbe_whatever_the_seeds(pages: Path) -> None:
    found: dict[str, dict[str, Any]] = {}
    for key in ("westwood", "sarbe-ecn"):
        found |= {v["id"]: v for v in json.loads((pages / key / "verdicts.json").read_text())}
    assert found["S2c"]["verdict"] == found["S5a"]["verdict"] == "confirmed"
    assert found["S2a-sack"]["verdict"] == found["S5e"]["verdict"] == "opposite"


def test_bic_over_iridium_gains_nothing(pages: Path) -> None:
    """The link is full whoever sends; DPE as printed is BIC to the packet."""
    verdicts = {v["id"]: v for v in json.loads((pages / "bic-iridium" / "verdicts.json").read_text())}
    assert verdicts["S3e"]["verdict"] == "confirmed"
    assert all(verdicts[name]["high"] < 1.1 for name in ("S3a", "S3a-awi"))
    page = (pages / "bic-iridium" / "index.html").read_text()
    row = re.search(r"DPE as printed: the difference is always 0(.*?)</tr>", page, re.S)
    assert row
    assert re.findall(r">([-+0-9.]+)<", row[1]) == ["1", "0", "1", "0"]


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
        ("claims.toml", "reference = 1.0", 'reference = "x"', "reference: must be float, not 'x'"),
        ("claims.toml", "reference = 1.39", "reference = 0.0", "of a ratio it must be above zero"),
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
