"""What a report consists of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ackclock.apps import share
from ackclock.base.files import BadInput

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ackclock.base.tables import Column
    from ackclock.scenario import Scenario


@dataclass(frozen=True)
class NamedTable:
    """A table: the name of its files, a title, and its columns."""

    name: str
    title: str
    columns: Sequence[Column]
    note: str = ""


@dataclass(frozen=True)
class NamedFigure:
    """A figure: the name of its files, a title, and how to draw it. Drawing twice gives equal files."""

    name: str
    title: str
    figure: Figure
    note: str = ""


@dataclass(frozen=True)
class RunLink:
    """A run that can be opened: by a link to the laboratory, or else by a command."""

    words: str
    href: str | None
    command: str


def run_link(words: str, scenario: Scenario, seed: int, command: str) -> RunLink:
    """The link of a run; without an address where its scenario is not text alone, or longer than a link can be."""
    try:
        href: str | None = share.link(scenario, seed=seed)
    except BadInput:
        href = None
    return RunLink(words, href if href is not None and len(href) <= share.LONGEST else None, command)


@dataclass(frozen=True)
class Citation:
    """A source, as an entry of BibTeX."""

    key: str
    kind: str
    fields: Mapping[str, str]


@dataclass(frozen=True)
class Report:
    """A report of a folder."""

    kind: str
    """study, comparison, suite or search."""
    title: str
    question: str
    """What the scenario's head says of it; empty if it says nothing."""
    answer: Sequence[str]
    """Sentences above the answer's table."""
    table: NamedTable
    """The answer."""
    figures: Sequence[NamedFigure]
    numbers: Sequence[NamedTable]
    """All numbers."""
    methods: str
    citations: Sequence[Citation]
    runs: Sequence[RunLink] = ()
    runs_note: str = ""
    """Which runs are not listed; empty if all are."""
    notes: Sequence[str] = ()
    """What is missing, and why."""
    command: str = ""
    """What makes the results again."""
    engines: Sequence[str] = field(default_factory=list)
