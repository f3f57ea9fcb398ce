"""The report of a comparison: `ackclock compare --control` writes its folder."""

from __future__ import annotations

from pathlib import Path

from ackclock.apps.report.document import Report
from ackclock.study.store import FILE


def stores(folder: Path) -> list[Path]:
    """The folders of a comparison's networks, by name."""
    return sorted(path for path in folder.iterdir() if (path / FILE).is_file())


def of_folder(folder: Path, *, allow_code: bool = False) -> Report:
    """The report of a comparison's folder."""
    raise NotImplementedError
