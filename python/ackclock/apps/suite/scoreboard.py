"""The scoreboard: controllers and stacks by suites and situations, as one static folder made from kept results.

Every cell leads to the record of its runs: values, demands, curves, and the run in the laboratory. The same results
give the same bytes.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ackclock.apps import laboratory
from ackclock.apps.suite import checks_page
from ackclock.apps.suite.folder import Suite, find, known
from ackclock.apps.suite.result import SuiteMetadata, SuiteResult, checked, metadata_of, read
from ackclock.base.assignment import control_table
from ackclock.base.controllers import short_names
from ackclock.base.files import BadInput, check_folder, own_folder, write_text
from ackclock.base.names import folder_name
from ackclock.base.text import shown
from ackclock.draw.page import environment

PACK = ".json.gz"
LARGEST_PACK = 64_000_000
"""Bytes of a pack, unpacked."""
JUDGED = ("pass", "fixed", "known", "fail")
RANK = ("fail", "differ", "known", "not-shown", "pass", "not-observable")
"""Classes of a cell: the first one that a check of the situation has."""
LONGEST_NAME = 80
"""Letters of the name of a page."""
POINTS = 120
"""Points of a curve in a pack."""


@dataclass(frozen=True)
class Entry:
    """A controller or a stack in a suite."""

    result: SuiteResult
    label: str
    page: str
    """The file of its page, in the folder of the suite."""

    @property
    def held(self) -> int:
        """Demands that hold."""
        return self.result.count("pass") + self.result.count("fixed")

    @property
    def judged(self) -> int:
        """Demands that could be judged."""
        return sum(self.result.count(verdict) for verdict in JUDGED)

    @property
    def binding(self) -> int:
        """Demands that fail and are binding."""
        return sum(check.failed for check in self.result.checks)

    def cell(self, situation: str) -> tuple[str, str]:
        """The class of a situation's cell, and its words."""
        checks = [one for one in self.result.checks if one.situation == situation]
        kinds = [checks_page.kind_of(one) for one in checks]
        kind = next((one for one in RANK if one in kinds), "not-observable")
        lines = [f"{one.check}: {one.verdict}" + (f", {one.value}" if one.value else "") for one in checks]
        return kind, f"{self.label}\n" + "\n".join(lines)


def label_of(about: SuiteMetadata) -> str:
    """A controller with its substrate and the changes of the networks."""
    on = about.on.removeprefix("stack:")
    control = short_names([about.control])[about.control]
    if control.startswith("{"):
        try:
            table = control_table(control)
        except BadInput:  # a stranger's result
            return shown(control)
        rest = ", ".join(f"{key} {value}" for key, value in table.items() if key != "kind")
        control = f"{table['kind']}, {rest}" if "kind" in table else control
    parts = [control if not about.on.startswith("stack:") else f"{Path(on).parent.name or on} {control}"]
    if about.on == "quic":
        parts.append("(QUIC)")
    elif about.on not in {"tcp"} and not about.on.startswith("stack:"):
        parts.append(f"({about.on})")
    return shown(" ".join([*parts, *about.overrides]))


def pack(results: Sequence[SuiteResult]) -> bytes:
    """Results of one suite as a compressed file, with thinned curves. The same results give the same bytes."""
    document = [
        {
            "about": result.metadata.as_dict(),
            "refused": result.refused,
            "checks": [check.as_dict() for check in result.checks],
            "curves": {key: _thinned(of) for key, of in result.curves.items()},
        }
        for result in results
    ]
    return gzip.compress(json.dumps({"results": document}, separators=(",", ":")).encode(), 9, mtime=0)


def _thinned(curves: dict[str, Any]) -> dict[str, Any]:
    step = max(1, -(-len(curves["time"]) // POINTS))
    series = {name: of[::step] for name, of in curves["series"].items()}
    return {**curves, "time": curves["time"][::step], "series": series}


def unpack(file: Path) -> list[SuiteResult]:
    """The results of a pack. Raises BadInput if it is none, or larger than a pack can be."""
    try:
        with gzip.open(file) as opened:
            text = opened.read(LARGEST_PACK + 1)
        if len(text) > LARGEST_PACK:
            raise BadInput(f"{file}: is larger than {LARGEST_PACK:,} bytes; no pack is")
        results = []
        for one in json.loads(text)["results"]:
            about, checks = metadata_of(one["about"]), checked(one["checks"])
            results.append(SuiteResult(about, file, [], dict(one["refused"]), [], set(), checks, dict(one["curves"])))
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"{file}: is no pack of results ({error})") from None
    return results


def results_in(folders: Iterable[Path]) -> list[SuiteResult]:
    """The results with verdicts in folders: those of `ackclock suite`, and packs. Raises BadInput if there are none."""
    found: list[SuiteResult] = []
    for folder in folders:
        if not folder.is_dir():
            raise BadInput(f"{folder}: is no folder; name one with results of ackclock suite")
        # The folder of a gate (NAME-gate) has what was compared with the results beside it.
        files = sorted(
            path
            for path in folder.rglob("*")
            if (path.name == "suite.json" and not path.parent.name.endswith("-gate")) or path.name.endswith(PACK)
        )
        for file in files:
            found += unpack(file) if file.name.endswith(PACK) else [read(file.parent)]
    checked = [result for result in found if result.checks]
    if not checked:
        named = ", ".join(map(str, folders))
        raise BadInput(
            f"{named}: has no results of a suite with checks; ackclock suite bbr-draft --control bbr3 makes one"
        )
    return checked


def write(results: Sequence[SuiteResult], out: Path) -> list[str]:
    """Write the scoreboard to a folder. Returns remarks: suites that this version does not have.

    Raises BadInput if it cannot be written.
    """
    check_folder(out)
    remarks = []
    board: list[tuple[Suite, list[Entry]]] = []
    order = [*known(), *sorted({result.metadata.suite for result in results} - set(known()))]
    for key in order:
        of_suite = [result for result in results if result.metadata.suite == key]
        own = [result for result in of_suite if not result.metadata.place]
        if own and len(own) < len(of_suite):  # a stranger's suite with the name of the package's
            remarks.append(f"{key}: left out: {len(of_suite) - len(own)} results of another suite of this name")
            of_suite = own
        if not of_suite:
            continue
        try:
            suite = find(of_suite[0].metadata.place or key)
        except BadInput as error:
            remarks.append(f"{key}: left out: {error}")
            continue
        board.append((suite, _entries(of_suite, remarks)))
    own_folder(out)
    if laboratory.is_built():
        laboratory.place(out)
    for suite, entries in board:
        folder = own_folder(out, suite.key)
        for entry in entries:
            text = checks_page.render(suite, entry.result, laboratory_in="../")
            write_text(folder / entry.page, text)
        write_text(folder / "index.html", _suite_page(suite, entries))
    write_text(out / "index.html", _index(board))
    return remarks


def _entries(results: Sequence[SuiteResult], remarks: list[str]) -> list[Entry]:
    """Results by their labels, a whole form before a quick one; those that show something come first."""
    by_label: dict[str, SuiteResult] = {}
    for result in sorted(results, key=lambda one: not one.metadata.quick):
        label = label_of(result.metadata)
        if label in by_label:
            remarks.append(f"{result.metadata.suite}: left out: another result of {label}")
        by_label[label] = result
    entries = [
        Entry(replace(result, failed=[]), label, f"{folder_name(label)[:LONGEST_NAME]}.html")
        for label, result in by_label.items()
    ]
    return sorted(entries, key=lambda entry: (entry.judged == 0, entry.label))


def _suite_page(suite: Suite, entries: Sequence[Entry]) -> str:
    return environment("ackclock.apps.suite").get_template("scoreboard_suite.html").render(suite=suite, entries=entries)


def _index(board: Sequence[tuple[Suite, Sequence[Entry]]]) -> str:
    labels = sorted({entry.label for _, entries in board for entry in entries})
    rows = [
        (label, [next((entry for entry in entries if entry.label == label), None) for _, entries in board])
        for label in labels
    ]
    engines = sorted({entry.result.metadata.engine for _, entries in board for entry in entries})
    return (
        environment("ackclock.apps.suite")
        .get_template("scoreboard.html")
        .render(
            suites=[suite for suite, _ in board],
            rows=rows,
            engines=engines,
            quick=all(entry.result.metadata.quick for _, entries in board for entry in entries),
        )
    )
