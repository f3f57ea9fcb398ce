"""What `ackclock paper all` shows while it runs: progress with the time left."""

from __future__ import annotations

import pytest

from ackclock.apps import papers
from ackclock.apps.papers.parallel import _Counts, _expected
from ackclock.cli import console


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
