"""Tables for papers, pages and spreadsheets."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ackclock.base import tables
from ackclock.base.files import BadInput
from ackclock.cli import study_table
from ackclock.stats import Estimate

COLUMNS = [
    tables.Column("queue", ["tail 50%", "fq_codel", "a|b & c"]),
    tables.Column("goodput", [Estimate(9.61e6, 9.5e6, 9.72e6, 5), Estimate(9.4e6, None, None, 1), None], "b/s"),
    tables.Column("queueing delay", [Estimate(0.0123, 0.0113, 0.0133, 5)] * 3, "s"),
]


def test_latex_has_value_and_interval_in_two_columns() -> None:
    text = tables.latex(COLUMNS)
    assert r"\begin{tabular}{lrlrl}" in text
    assert r"\multicolumn{2}{l}{goodput}" in text
    assert r"\multicolumn{2}{l}{(Mb/s)}" in text
    assert r"tail 50\% & 9.61 & [9.50, 9.72] & 12.3 & [11.3, 13.3] \\" in text
    assert r"fq\_codel & 9.4 &  & " in text
    assert r"a|b \& c & - &  & " in text


def test_markdown_escapes_bars() -> None:
    lines = tables.markdown(COLUMNS).splitlines()
    assert lines[0] == "| queue | goodput (Mb/s) | 95 % | queueing delay (ms) | 95 % |"
    assert lines[1] == "| :-- | --: | :-- | --: | :-- |"
    assert lines[4].startswith(r"| a\|b &amp; c | - |  |")


def test_csv_has_all_digits_in_si_units() -> None:
    lines = tables.comma_separated(COLUMNS).splitlines()
    assert lines[0].startswith("queue,goodput (b/s),goodput low,goodput high,goodput n,queueing delay (s)")
    assert lines[1].startswith("tail 50%,9610000.0,9500000.0,9720000.0,5,0.0123")
    assert lines[2].startswith("fq_codel,9400000.0,,,1,")
    assert lines[3].startswith("a|b & c,,,,,")


def test_the_ending_decides(tmp_path: Path) -> None:
    for suffix, begin in ((".tex", "%"), (".md", "|"), (".csv", "queue")):
        tables.write(COLUMNS, tmp_path / f"t{suffix}")
        assert (tmp_path / f"t{suffix}").read_text(encoding="utf-8").startswith(begin)
    with pytest.raises(BadInput, match=r"the name must end in \.tex, \.md or \.csv"):
        tables.write(COLUMNS, tmp_path / "t.xlsx")


def test_an_interval_that_ends_at_a_bound_has_the_digits_of_its_value() -> None:
    """Means of utilisations near 1, whose intervals are not symmetric."""
    for estimate, text in (
        (Estimate(0.99414336, 0.994143355, 0.994143361, 5), "99.414"),
        (Estimate(0.9941, 0.9902, 0.9961, 5), "99.4 [99.0, 99.6]"),
        (Estimate(0.9941, 0.9901, 0.9981, 5), "99.4 ± 0.4"),
    ):
        assert study_table.interval(estimate, 5, 0.01) == text


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_latex_compiles_with_booktabs_only(tmp_path: Path) -> None:
    body = tables.latex(COLUMNS)
    document = f"\\documentclass{{article}}\\usepackage{{booktabs}}\\begin{{document}}\n{body}\\end{{document}}\n"
    (tmp_path / "t.tex").write_text(document, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]


def test_no_row_begins_with_an_argument_of_the_row_before_it() -> None:
    lines = tables.latex([tables.Column("name", ["a", "[b]", "*"])]).splitlines()
    assert lines[lines.index(r"\midrule") + 1 : -2] == [r"a \\", r"{}[b] \\", r"{}* \\"]
    assert "()" not in "".join(lines)
    assert lines[lines.index(r"\toprule") + 2] == r"\midrule", "a row of units without a unit"
