"""What `ackclock paper all` shows: progress with the time left, and the most interesting findings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ackclock import papers
from ackclock.cli import console
from ackclock.papers.calibration import Fit
from ackclock.papers.findings import distance, most_interesting, sentence
from ackclock.papers.judge import ClaimResult, Verdict
from ackclock.papers.parallel import _Counts, _expected
from ackclock.papers.reproduce import Reproduction


def verdict(key: str, value: float | None, direction: str, size: str | None = None, p: float = 0.0) -> Verdict:
    """A verdict on the first claim of a paper with this measured value."""
    claim = replace(papers.find(key).claims[0], reference=1.0, expected=2.0)
    return Verdict(claim, ClaimResult("calibrated", direction, size, value, n=5), p_holm=p, reason=f"{value}; claimed")


def reproduction(key: str, *verdicts: Verdict) -> Reproduction:
    nothing: Fit = None  # type: ignore[assignment]
    return Reproduction(papers.find(key), Path(key), list(verdicts), nothing, 10, [], 1.0)


def test_distances() -> None:
    """Relative to the larger number; a value with the other sign is farther than zero."""
    values = (2.0, 1.0, 0.0, -2.0, 4.0)
    found = [distance(verdict("westwood", value, "opposite")) for value in values]
    assert found == [0.0, 0.5, 1.0, 2.0, 0.5]
    assert distance(verdict("westwood", None, "impossible")) == 0.0


def test_refuted_claims_come_first_and_every_paper_has_its_turn() -> None:
    westwood = reproduction(
        "westwood",
        verdict("westwood", 1.9, "opposite"),
        verdict("westwood", 0.5, "opposite"),
        verdict("westwood", 0.1, "opposite", p=0.5),  # not supported
        verdict("westwood", 2.0, "confirmed", "reproduced"),
    )
    artt = reproduction("ca-artt", verdict("ca-artt", 40.0, "confirmed", "larger"))
    sarbe = reproduction("sarbe-ecn", verdict("sarbe-ecn", 0.9, "opposite"), verdict("sarbe-ecn", None, "impossible"))
    found = most_interesting([artt, westwood, sarbe])
    assert [(key, v.taken.value) for key, v in found] == [("westwood", 0.5), ("sarbe-ecn", 0.9), ("ca-artt", 40.0)]
    four = most_interesting([artt, westwood, sarbe], 9)
    assert [(key, v.taken.value) for key, v in four[3:]] == [("westwood", 1.9)]
    text = sentence(found[2])
    assert text.startswith("ca-artt ")
    assert "confirmed, size larger" in text
    assert found[2][1].claim.quote in text
    assert most_interesting([reproduction("westwood", verdict("westwood", 2.0, "confirmed", "reproduced"))]) == []


def test_expected_runs_count_studies_that_have_not_begun() -> None:
    import multiprocessing

    class Shown:
        def __init__(self) -> None:
            self.last: tuple[str, int, int, int] | None = None

        def advance(self, name: str, done: int, kept: int, total: int) -> None:
            self.last = (name, done, kept, total)

        def finish(self, name: str) -> None: ...

    shown, reports = Shown(), multiprocessing.get_context("spawn").Queue()
    counts = _Counts({"p": {"a", "b", "a.readings"}}, shown)
    for report in (("p", "a", 5, 20), ("p", "a", 10, 20), ("p", "b", 0, 40)):
        reports.put(report)
    while shown.last is None:
        counts.show(reports)
    while shown.last[1] < 10 or shown.last[3] != 90:
        counts.show(reports)
    first = _Counts({"p": {"a", "b"}}, shown)
    reports.put(("p", "a.calibration", 500, 1000))
    shown.last = None
    while shown.last is None:
        first.show(reports)
    assert shown.last == ("p", 500, 500, 0)  # what follows the calibration is not known
    shown.last = ("p", *counts.of("p"))
    assert shown.last == ("p", 10, 5, 90)  # 20 + 40 runs, and the mean of both for the third
    whole = _expected([papers.find("westwood")], None, quick=True)["westwood"]
    assert {spec.name for spec in papers.find("westwood").studies} <= whole
    reports.cancel_join_thread()


def test_time_left() -> None:
    assert console.time_left(60.0, 100, 50) == ", about 0:30 left"
    assert console.time_left(100.0, 10, 100) == ", about 16:40 left"
    assert console.time_left(1.0, 10, 100) == ""
    assert console.time_left(60.0, 0, 100) == ""
    assert console.time_left(60.0, 5, 0) == ", judging claims"


def test_progress_in_logs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal a paper has a line every half minute, and one at its end."""
    with console.papers_progress(["one", "two"]) as shown:
        shown.advance("one", 0, 0, 100)
        monkeypatch.setattr(console, "LINES_EVERY_S", 0.0)
        shown.advance("one", 50, 0, 100)
        shown.finish("one")
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["ackclock: one: 50 of about 100 runs", "ackclock: one: done in 0 s"]
