"""The report of a comparison: `ackclock compare --control` writes its folder."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path

from ackclock.apps import comparison
from ackclock.apps.comparison import Comparison, Stored
from ackclock.apps.report import methods
from ackclock.apps.report.document import NamedFigure, NamedTable, Report, RunLink

VERDICTS = ("better", "worse", "larger", "smaller", "no difference", "too few")


def of_folder(folder: Path) -> Report:
    """The report of a comparison's folder. Raises BadInput."""
    stored = comparison.load(folder)
    result = stored.comparison
    others = ", ".join(result.others)
    networks = list(dict.fromkeys(row.network for row in result.rows))
    beside = f" The other flows use {result.beside}." if result.beside else ""
    paragraph = (
        f"We ran {methods.listed([result.first, *result.others])} on {methods.networks_of(networks)} "
        f"({methods.listed(networks)}), packet by packet, with {methods.program(stored.engine)} and {_seeds(stored)}"
        f".{beside} Runs with the same seed are a pair. Values are means with 95 % Student intervals; ratios "
        "are geometric means over pairs. Of all differences, at most 5 % of those called better or worse are false "
        "(Benjamini and Hochberg over all rows). Scenarios, seeds and engine reproduce every number bit for bit."
    )
    return Report(
        kind="comparison",
        title=f"{result.first} against {others}",
        question=f"Is {result.first} better than {others}, in {methods.networks_of(networks)}?",
        answer=_answer(result, networks),
        table=NamedTable("answer", "All differences", comparison.columns(result, si=False), _note(result)),
        figures=[NamedFigure("ratios", "Ratios with 95 % intervals", comparison.draw(result))] if result.rows else [],
        numbers=[],
        methods=paragraph,
        citations=methods.citations(stored.engine, [result.first, *result.others], []),
        runs=[RunLink(name, None, f"ackclock results {shlex.quote(str(folder / name))}") for name in networks],
        notes=[*result.failed, *result.refused, *result.remarks],
        command=shlex.join(stored.command),
        engines=[stored.engine],
    )


def _seeds(stored: Stored) -> str:
    """The seeds of a controller, and the stages at which certain differences got no more of them."""
    stages = stored.comparison.stages
    if not stages:
        return f"{stored.seeds} seeds each"
    return (
        f"up to {stored.seeds} seeds each: after {methods.listed(list(map(str, stages[:-1])))} seeds, two controllers "
        "whose differences in a network were all certain got no more; the error of each test and of each interval is "
        "divided among these stages"
    )


def _answer(result: Comparison, networks: list[str]) -> list[str]:
    """In which networks and metrics the first controller is better and worse than each other one."""
    sentences = []
    for other in result.others:
        rows = [row for row in result.rows if row.other == other]
        counts = Counter(row.verdict for row in rows)
        parts = [f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict]]
        sentences.append(
            f"Against {other}, over {len(rows)} differences in {methods.networks_of(networks)}: {', '.join(parts)}."
        )
    return sentences


def _note(result: Comparison) -> str:
    replaced = any(row.replaced for row in result.rows)
    return "rtt stands where the path changes and there is no queueing delay." if replaced else ""
