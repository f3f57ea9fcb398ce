"""`ackclock report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ackclock.base.files import own_folder
from ackclock.base.text import say
from ackclock.cli.options import AllowCode

EXAMPLE = "ackclock report out/study --goal 'p95_queueing < 30ms'"


def command(
    folder: Path,
    /,
    *,
    goal: list[str] | None = None,
    per: str | None = None,
    out: Path | None = None,
    pdf: bool = False,
    no_open: Annotated[bool, Parameter(name="--no-open")] = False,
    allow_code: AllowCode = False,
) -> None:
    """Write a report of a study, comparison, suite or search.

    A page with the question, the answer in a table, figures and all numbers; tables as LaTeX, Markdown and CSV; figures
    as PDF and SVG; a paragraph on methods; the sources as BibTeX.

    Parameters
    ----------
    folder
        Folder of `ackclock sweep`, `compare`, `suite` or `search`.
    goal
        Study: a bound as of `ackclock results`, such as 'call.p95_queueing < 30ms'. May be repeated.
    per
        Study: the axis whose labels are the rows of the answer. Default: the first axis.
    out
        Folder of the report. Default: FOLDER/report.
    pdf
        Print the page as report.pdf too; needs Chromium or Chrome.
    no_open
        Write the files only, and open no browser.
    allow_code
        Allow a stored scenario to name code.

    """
    from ackclock.apps.report.folder import of_folder
    from ackclock.apps.report.writing import print_pdf, write

    target = out or own_folder(folder, "report")
    files = write(of_folder(folder, goal or (), per, allow_code=allow_code), target)
    if pdf:
        printed = target / "report.pdf"
        print_pdf(files[0], printed)
        files.append(printed)
    say(f"written: {files[0]}, and {len(files) - 1} files beside it", error=True)
    if not no_open:
        import webbrowser

        webbrowser.open(files[0].resolve().as_uri())
