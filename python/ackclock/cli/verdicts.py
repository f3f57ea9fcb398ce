"""Verdicts of a suite: in the terminal, as Markdown, and as cases of JUnit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from ackclock.apps.suite.checks import VERDICTS, CheckResult
from ackclock.apps.suite.verdict_changes import VerdictChange, changes, explained
from ackclock.base.junit import Case
from ackclock.base.text import shown

if TYPE_CHECKING:
    from ackclock.apps.suite.folder import Suite
    from ackclock.apps.suite.result import SuiteResult
    from ackclock.base.plain_console import PlainConsole

COLOURS = {"pass": "green", "fail": "red", "known": "yellow", "fixed": "green"}
MOST_ROWS = 12
"""Rows of checks that do not pass, without --all."""


def changed_checks(earlier: SuiteResult, result: SuiteResult) -> list[VerdictChange]:
    """The verdicts that are others than in the earlier result."""
    return changes(earlier, result)


def summary(result: SuiteResult) -> str:
    """How many checks hold, in a sentence."""
    counts = {verdict: result.count(verdict) for verdict in VERDICTS}
    judged = sum(counts[v] for v in ("pass", "fixed", "known", "fail"))
    parts = [f"{counts['pass'] + counts['fixed']} of {judged} demands hold" if judged else "no demand could be judged"]
    failed = [one for one in result.checks if one.verdict == "fail"]
    if failed:
        binding = sum(one.binding for one in failed)
        words = {len(failed): "", 0: ", none of them binding"}.get(binding, f", {binding} of them binding")
        parts.append(f"{len(failed)} fail{'s' if len(failed) == 1 else ''}{words}")
    parts += [f"{counts[verdict]} {verdict}" for verdict in ("known", "not shown", "not observable") if counts[verdict]]
    return "; ".join(parts)


def print_checks(console: PlainConsole, suite: Suite, result: SuiteResult, *, every: bool) -> None:
    """Print how many demands hold, and those that do not; all of them with `every`."""
    about = result.metadata
    on = "" if about.on == "tcp" else f" on {about.on}"
    status = f" ({suite.status})" if suite.status else ""
    console.print(f"{about.control}{on}: {about.title}{status}")
    console.print(f"{summary(result)}.")
    ranked = sorted(result.checks, key=lambda one: (VERDICTS.index(one.verdict), not one.binding))
    rows = ranked if every else [one for one in ranked if one.verdict != "pass"]
    if not rows:
        return
    table = Table(box=None, pad_edge=False)
    for head in ("verdict", "level", "check", "value", "must be", ""):
        table.add_column(head, overflow="fold")
    for one in rows if every else rows[:MOST_ROWS]:
        place = f"{one.situation}.{one.check}"
        verdict = Text(one.verdict, COLOURS.get(one.verdict, ""))
        table.add_row(verdict, one.level, shown(place), shown(one.value), shown(one.demand), shown(one.reason))
    console.print(table)
    if not every and len(rows) > MOST_ROWS:
        console.print(f"and {len(rows) - MOST_ROWS} more; --all prints every check")


def as_markdown(suite: Suite, result: SuiteResult, changed: Sequence[VerdictChange] | None) -> str:
    """The verdicts as Markdown, or with `changed` what is another one than before."""
    about = result.metadata
    lines = [f"### {_cell(about.title)}: `{_cell(about.control)}`", "", f"{summary(result)}."]
    if changed is not None:
        lines += ["", "Changes of verdicts:" if changed else "No verdict has changed."]
        if changed:
            lines += ["", "| check | level | before | now | |", "|---|---|---|---|---|"]
        lines += [
            f"| {_cell(f'{one.situation}.{one.check}')} | {one.level} | {one.before} | "
            f"{'**' + one.after + '**' if one.is_worse else one.after} | {_cell(one.reason)} |"
            for one in changed
        ]
    wrong = [one for one in result.checks if one.verdict in {"fail", "fixed", "known"}]
    if wrong:
        lines += ["", "| verdict | level | check | value | must be | |", "|---|---|---|---|---|---|"]
        lines += [
            f"| {one.verdict} | {one.level} | {_cell(f'{one.situation}.{one.check}')} | {_cell(one.value)} | "
            f"{_cell(one.demand)} | {_cell(one.reason)} |"
            for one in wrong
        ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Text in a cell of a table in Markdown: no mark-up of a stranger."""
    one_line = shown(text).replace("\n", " ")
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>|#&!" else letter for letter in one_line)


def cases(suite: Suite, result: SuiteResult) -> list[Case]:
    """The verdicts as cases: what is neither shown nor observable is skipped."""
    return [_case(suite, one) for one in result.checks]


def _case(suite: Suite, one: CheckResult) -> Case:
    kinds = {"pass": "pass", "fixed": "pass", "fail": "failure" if one.binding else "skipped"}
    kind = kinds.get(one.verdict, "skipped")
    text = "" if one.verdict == "pass" else f"{one.verdict}: {explained(one)}"
    return Case(f"{suite.key}.{one.situation}", one.check, kind, text)  # type: ignore[arg-type]
