"""Results of gates as JUnit XML, which continuous integration shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

from ackclock.base.files import write_bytes
from ackclock.base.text import shown


@dataclass(frozen=True)
class Case:
    """A test case: where, what, and how it has ended."""

    group: str
    name: str
    result: Literal["pass", "failure", "error", "skipped"]
    text: str = ""
    seconds: float = 0.0


def document(suite: str, cases: Sequence[Case]) -> bytes:
    """One test suite with these cases, as XML (UTF-8)."""
    counts = {kind: sum(case.result == kind for case in cases) for kind in ("failure", "error", "skipped")}
    totals = {
        "tests": str(len(cases)),
        "failures": str(counts["failure"]),
        "errors": str(counts["error"]),
        "skipped": str(counts["skipped"]),
        "time": f"{sum(case.seconds for case in cases):.3f}",
    }
    root = ElementTree.Element("testsuites", totals)
    parent = ElementTree.SubElement(root, "testsuite", {"name": shown(suite), **totals})
    for case in cases:
        about = {"classname": shown(case.group), "name": shown(case.name), "time": f"{case.seconds:.3f}"}
        element = ElementTree.SubElement(parent, "testcase", about)
        if case.result != "pass":
            outcome = ElementTree.SubElement(element, case.result, {"message": shown(case.text.partition("\n")[0])})
            outcome.text = "\n".join(map(shown, case.text.split("\n")))
        elif case.text:
            ElementTree.SubElement(element, "system-out").text = shown(case.text)
    ElementTree.indent(root)
    content: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return content + b"\n"


def write(path: Path, suite: str, cases: Sequence[Case]) -> None:
    """Write a file, whole or not at all."""
    write_bytes(path, document(suite, cases))
