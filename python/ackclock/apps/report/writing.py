"""The files of a report: the page, tables for a paper and a spreadsheet, figures, the methods, BibTeX, a PDF."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from ackclock.apps import laboratory
from ackclock.apps.report.document import NamedTable, Report
from ackclock.apps.report.methods import bibtex
from ackclock.base import tables
from ackclock.base.files import BadInput, check_folder, own_folder, save_figure, svg_text, write_text
from ackclock.base.link import PAGE
from ackclock.draw.page import environment

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
"""Programs that print a page as PDF."""
PDF_S = 120
"""Longest time of a print, seconds."""


def write(report: Report, out: Path) -> list[Path]:
    """Write a report into a folder, which it creates. Returns the files, the page first. Raises BadInput, OSError."""
    check_folder(out)
    names = [figure.name for figure in report.figures] + [table.name for table in (report.table, *report.numbers)]
    if len(set(names)) < len(names):
        raise ValueError(f"two files of a report have one name: {names}")
    files = [out / "report.html"]
    folder = own_folder(out, "tables")
    for table in (report.table, *report.numbers):
        for suffix in tables.SUFFIXES:
            target = folder / f"{table.name}{suffix}"
            tables.write(table.columns, target)
            files.append(target)
    for figure in report.figures:
        for suffix in (".pdf", ".svg"):
            target = own_folder(out, "figures") / f"{figure.name}{suffix}"
            save_figure(figure.figure, target)
            files.append(target)
    for name, text in (("methods.txt", report.methods + "\n"), ("ackclock.bib", bibtex(report.citations))):
        write_text(out / name, text)
        files.append(out / name)
    linked = laboratory.is_built() and has_links(report)
    if linked:
        laboratory.place(out)
    write_text(files[0], page(report, linked=linked, beside=True))
    return files


def has_links(report: Report) -> bool:
    """Whether a run of the report opens in the laboratory."""
    return any(run.href is not None and run.href.startswith(PAGE) for run in report.runs)


def page(report: Report, *, linked: bool, beside: bool) -> str:
    """The page as HTML.

    `linked`: the laboratory's page is in the same folder, so that links to runs work. `beside`: so are the other files.
    """
    templates = environment("ackclock.apps.report")
    templates.filters["rows"] = rows
    return templates.get_template("report.html").render(
        report=report,
        laboratory=PAGE if linked else None,
        beside=beside,
        figures=[(figure, svg_text(figure.figure, f"figure-{number}")) for number, figure in enumerate(report.figures)],
        bibtex=bibtex(report.citations),
    )


def rows(table: NamedTable) -> list[list[tuple[str, str, bool]]]:
    """The cells of a table: text, interval, and whether it is a number."""
    printed = []
    for column in table.columns:
        if column.measured:
            printed.append([(value, interval, True) for value, interval in column.printed()])
        else:
            printed.append([(str(entry or ""), "", False) for entry in column.cells])
    return [list(row) for row in zip(*printed, strict=True)]


def print_pdf(page_file: Path, target: Path) -> None:
    """Print a page as PDF with an installed browser. Raises BadInput if there is none, or if it fails."""
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        raise BadInput(f"--pdf: needs Chromium or Chrome; without one, open {page_file} in a browser and print it")
    with tempfile.TemporaryDirectory(prefix="ackclock-") as profile:
        command = [browser, "--headless", "--disable-gpu", f"--user-data-dir={profile}", "--no-pdf-header-footer"]
        command += ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []  # root has no sandbox
        printed = Path(profile) / "report.pdf"
        command += [f"--print-to-pdf={printed}", page_file.resolve().as_uri()]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PDF_S, check=False)
        except subprocess.TimeoutExpired:
            raise BadInput(f"--pdf: {browser} has not ended within {PDF_S} s") from None
        if done.returncode != 0 or not printed.is_file():
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise BadInput(f"--pdf: {browser} has printed nothing: {last}")
        shutil.copyfile(printed, target)
