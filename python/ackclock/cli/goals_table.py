"""The table of `ackclock results --goal`: labels of an axis, the conditions that meet the goals, and the ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from ackclock.base.axes import axis_words
from ackclock.base.text import say
from ackclock.cli.console import wide_console
from ackclock.study.goals import heading, range_text, scope

if TYPE_CHECKING:
    from ackclock.study.goals import Judgement


def judgement(judged: Judgement, not_modelled: str) -> None:
    """Print a judgement: the goals, a row for each label, and what was not tried."""
    console = wide_console()
    say(heading(judged))
    table = Table(box=None, pad_edge=False)
    table.add_column(axis_words(judged.axis) or "study", no_wrap=True)
    for head in ("met", "not met", "undecided"):
        table.add_column(head, justify="right", no_wrap=True)
    for goal in judged.goals:
        table.add_column(f"{goal.name}, best to worst (worst condition)")
    for row in judged.rows:
        counts = [f"{row.counts['met']} of {row.conditions}", str(row.counts["not met"]), str(row.counts["undecided"])]
        ranges = [range_text(goal.metric, each) for goal, each in zip(judged.goals, row.ranges, strict=True)]
        table.add_row(row.label or "all", *counts, *ranges)
    console.print(table)
    say(scope(judged, not_modelled))
