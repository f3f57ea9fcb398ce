"""The full form of a paper, stored in its folder (full.json): verdicts and calibration, with date, engine and commit.

The quick form shows the stored verdicts beside its own, and takes the calibration, if their definitions are unchanged.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from ackclock.apps.papers.calibration import ControlCell, Fit, combinations
from ackclock.apps.papers.folder import Claim, Paper
from ackclock.apps.papers.judge import Verdict
from ackclock.apps.papers.readings import Reading, inline, meanings
from ackclock.apps.papers.runs import functions_used
from ackclock.base.files import write_text
from ackclock.base.records import read_toml

FILE = "full.json"
DIGITS = 6
"""Significant digits of stored distances."""
_NO_EVIDENCE = ("short", "quote", "place", "remark")
"""Fields of a claim that no verdict depends on."""


@dataclass(frozen=True)
class StoredVerdict:
    """The verdict on a claim in the full form, with its value and interval."""

    verdict: str
    detail: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    single_run: tuple[float, float] | None


@dataclass(frozen=True)
class FullForm:
    """The stored full form. `verdicts` has the claims whose definition is unchanged."""

    date: str
    engine: str
    commit: str
    verdicts: dict[str, StoredVerdict]


def save(paper: Paper, calibration: Fit, verdicts: Sequence[Verdict], engine: str) -> None:
    """Write full.json into the paper's folder."""
    document: dict[str, Any] = {
        "date": datetime.now(UTC).date().isoformat(),
        "engine": engine,
        "commit": _commit(paper.folder),
        "claims": [
            {"id": v.claim.id, "hash": claim_hash(paper, v.claim, calibration.chosen), **_stored(v)} for v in verdicts
        ],
    }
    if calibration.cells:
        document["calibration"] = {
            "hash": calibration_hash(paper),
            "noise": calibration.noise,
            "cells": [list(asdict(cell).values()) for cell in calibration.cells],
            "distances": [[float(f"{x:.{DIGITS}g}") for x in row] for row in calibration.distances],
        }
    text = ",\n ".join(f"{json.dumps(key)}: {_lines(value)}" for key, value in document.items())
    write_text(paper.folder / FILE, "{" + text + "}\n")


def _lines(value: Any) -> str:
    """A value as JSON; of a list each entry on a line of its own."""
    if isinstance(value, list):
        return "[\n  " + ",\n  ".join(json.dumps(one, ensure_ascii=False) for one in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def _stored(v: Verdict) -> dict[str, Any]:
    j = v.calibrated
    return asdict(StoredVerdict(v.word, v.detail, j.value, j.low, j.high, j.n, j.single))


def load(paper: Paper, chosen: Reading) -> FullForm | None:
    """The stored full form under the interpretation `chosen`; None if there is none."""
    document = _document(paper)
    if document is None:
        return None
    hashes = {claim.id: claim_hash(paper, claim, chosen) for claim in paper.claims}
    names = [f.name for f in fields(StoredVerdict)]
    verdicts = {
        entry["id"]: StoredVerdict(**{name: entry[name] for name in names})
        for entry in document["claims"]
        if entry["hash"] == hashes.get(entry["id"])
    }
    return FullForm(document["date"], document["engine"], document["commit"], verdicts)


def stored_calibration(paper: Paper) -> Fit | None:
    """The calibration of the stored full form; None without one, or if something that it depends on has changed."""
    document = _document(paper)
    stored = None if document is None else document.get("calibration")
    if stored is None or stored["hash"] != calibration_hash(paper):
        return None
    cells = [ControlCell(*values) for values in stored["cells"]]
    return Fit(paper, combinations(paper), cells, np.array(stored["distances"]), stored["noise"])


def _document(paper: Paper) -> dict[str, Any] | None:
    path = paper.folder / FILE
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def claim_hash(paper: Paper, claim: Claim, reading: Reading) -> str:
    """What a verdict depends on: the claim, its studies, its function of measures.py, the interpretation, the seeds."""
    names = [name for name in (claim.study, *claim.also) if name]
    definition = {key: value for key, value in asdict(claim).items() if key not in _NO_EVIDENCE}
    studies = [(_study(paper, name), inline(reading.assignments(paper.folder, name))) for name in names]
    seeds = [spec.seeds for spec in paper.studies if spec.name in names]
    counted = [meanings(paper, reading), sorted(reading.counts.items())]
    swept = calibration_hash(paper) if claim.swept and paper.calibration.cells else ""
    return _digest(
        [definition, studies, seeds, functions_used(paper, claim.measure), counted, _choices(paper, claim), swept]
    )


def _choices(paper: Paper, claim: Claim) -> list[Any]:
    """The candidates that decide a claim: those of a second row, and those over which it is swept."""
    named = [(p.id, c) for p in paper.calibration.parameter for c in p.candidate]
    named += [(d.id, c) for d in paper.deviations for c in d.alternative]
    return [(name, asdict(c)) for name, c in named if c.row or name in claim.swept]


def calibration_hash(paper: Paper) -> str:
    """What a calibration depends on: candidates, cells, their studies and functions, and published numbers."""
    texts = [(paper.folder / name).read_text(encoding="utf-8") for name in ("calibration.toml", "published.csv")]
    groups = paper.calibration.cells
    axes = {file for _, c in paper.candidates() for file in c.axes.values()}
    names = dict.fromkeys([*(group.study for group in groups), *sorted(axes)])
    functions = [functions_used(paper, name) for group in groups for name in (group.code, group.network) if name]
    return _digest([texts, [_study(paper, name) for name in names], functions])


def _study(paper: Paper, name: str) -> list[Any]:
    """The contents of a study's file and of those that it extends."""
    documents = []
    path = paper.folder / "studies" / f"{name}.toml"
    while True:
        documents.append(read_toml(path))
        base = documents[-1].get("extends")
        if not isinstance(base, str) or not (path.parent / base).is_file():
            return documents
        path = path.parent / base


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _commit(folder: Path) -> str:
    """The commit of the folder; empty outside a repository of Git."""
    command = ["git", "rev-parse", "--short=12", "HEAD"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
