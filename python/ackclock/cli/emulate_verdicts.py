"""How repeated emulations and the verdicts of their gates are printed and written."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from ackclock import stats
from ackclock.apps.reach import gates, pairs
from ackclock.apps.reach.pairs import LETTERS
from ackclock.base import junit, si
from ackclock.base.tables import value_and_interval
from ackclock.base.text import say
from ackclock.cli.console import wide_console

if TYPE_CHECKING:
    from ackclock.apps.reach.pairs import NetworkRuns
    from ackclock.apps.reach.repeats import Results

VERDICTS = {"pass": "passes", "fail": "FAILS", "undecided": "undecided"}


def print_values(results: Results) -> None:
    """One line for each network and value: A, B and the ratio, or the mean of one program with its spread."""
    two = len(results.task.sides) == 2
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    heads = ("A", "B", "ratio B/A [95 %]") if two else ("mean", "[95 %]", "spread")
    for head in ("network", "value", *heads):
        table.add_column(head, justify="right" if head in {"A", "B", "mean", "spread"} else "left", no_wrap=True)
    counts = []
    for runs in results.networks:
        first = runs.network
        for name in runs.shown(len(results.task.sides), [gate.name for gate in results.task.gates]):
            if cells := _pair_cells(runs, name) if two else _single_cells(runs, name):
                table.add_row(first, runs.label(name), *cells)
                first = ""
        counts.append(f"{runs.network}: {runs.complete if two else runs.valid(0)}")
    if not table.row_count:
        return
    wide_console().print(table)
    if two:
        say(f"Pairs: {'; '.join(counts)}. Ratio: geometric mean over pairs with equal seeds, with 95 % interval.")
    else:
        say(f"Runs: {'; '.join(counts)}. Spread: standard deviation over the mean.")


def _pair_cells(runs: NetworkRuns, name: str) -> list[str]:
    """The cells of a value; none without a pair."""
    a, b = runs.pairs(name)
    if not a:
        return []
    means = [sum(a) / len(a), sum(b) / len(b)]
    factor, unit = si.prefixed(pairs.unit(name), means)
    ratio = runs.ratio(name)
    shown = " ".join(value_and_interval(ratio)).strip() if math.isfinite(ratio.value) else "-"
    return [*(f"{si.value(mean * factor)} {unit}".rstrip() for mean in means), shown]


def _single_cells(runs: NetworkRuns, name: str) -> list[str]:
    values = list(runs.values(name, 0).values())
    mean = stats.mean(values)
    factor, unit = si.prefixed(pairs.unit(name), [mean.value])
    value, interval = value_and_interval(mean, factor)
    spread = f"{100 * mean_spread(values):.2g} %" if len(values) > 1 and mean.value else ""
    return [f"{value} {unit}".rstrip(), interval, spread]


def mean_spread(values: Sequence[float]) -> float:
    """The standard deviation of values over their mean; there are at least two."""
    mean = sum(values) / len(values)
    return math.sqrt(sum((x - mean) ** 2 for x in values) / (len(values) - 1)) / abs(mean)


def print_gates(judged: Sequence[gates.Judged]) -> None:
    """One line for each gate: its ratio, its verdict, and how many repeats would decide it."""
    for gate in judged:
        say(f"gate {gate.test.gate}, {gate.test.network}: {verdict(gate)}")
    if len(judged) > 1:
        say(f"Verdicts: corrected for {len(judged)} gates (Holm); at most 5 % of such sets have a false one.")


def verdict(gate: gates.Judged) -> str:
    """The verdict of a gate in words."""
    ratio = gate.test.ratio
    text = f"{VERDICTS[gate.verdict]}: {' '.join(value_and_interval(ratio)).strip()}"
    if gate.verdict != "undecided":
        return text
    if gate.p is None:
        return f"{text}; too few valid pairs"
    more = "more than 1,000" if gate.needed is None else f"about {gate.needed:,}"
    return f"{text}; {more} repeats would decide it"


def write_junit(path: Path, results: Results, judged: Sequence[gates.Judged], *, strict: bool) -> None:
    """Write gates, networks without enough valid runs, and a program that failed as JUnit XML."""
    undecided: Any = "failure" if strict else "skipped"
    results_of = {"pass": "pass", "fail": "failure", "undecided": undecided}
    share = results.seconds / max(len(results.networks), 1)
    cases = []
    for runs in results.networks:
        trials = f"{runs.valid(0)} valid runs of A" if runs.trials else "no run"
        if runs in results.invalid and results.failed is None:
            reasons = "; ".join(runs.missing[-1].reasons) if runs.missing else trials
            cases.append(junit.Case(runs.network, "runs", "error", f"too few valid runs: {reasons}", share))
        elif results.failed is not None and runs is results.networks[-1]:
            text = "\n".join(part for part in (str(results.failed), results.failed.output) if part)
            cases.append(junit.Case(runs.network, "runs", "error", text, share))
        else:
            cases.append(junit.Case(runs.network, "runs", "pass", trials, share))
    cases += [
        junit.Case(gate.test.network, str(gate.test.gate), results_of[gate.verdict], verdict(gate)) for gate in judged
    ]
    junit.write(path, "ackclock emulate", cases)


def as_json(results: Results, judged: Sequence[gates.Judged]) -> str:
    """Everything as one JSON object: runs, values of each repeat, ratios, gates, in SI units."""
    document = {
        "repeats": results.task.repeats,
        "complete": results.complete,
        "failed": None if results.failed is None else str(results.failed),
        "networks": [_network(results, runs) for runs in results.networks],
        "gates": [
            {
                "network": gate.test.network,
                "gate": str(gate.test.gate),
                "ratio": _interval(gate.test.ratio),
                "pairs": len(gate.test.a),
                "p": gate.p,
                "verdict": gate.verdict,
                "repeats_needed": gate.needed,
            }
            for gate in judged
        ],
    }
    return json.dumps(document, allow_nan=False)


def _network(results: Results, runs: NetworkRuns) -> dict[str, Any]:
    sides = len(results.task.sides)
    values = []
    for name in runs.names(sides):
        entry: dict[str, Any] = {"name": name, "of": runs.full_name(name), "unit": pairs.unit(name)}
        each = [runs.values(name, side) for side in range(sides)]
        repeats = range(results.task.repeats)
        entry |= {letter: [of.get(i) for i in repeats] for letter, of in zip(LETTERS.lower(), each, strict=False)}
        if sides == 2:
            entry["ratio"] = _interval(runs.ratio(name))
        else:
            entry["mean"] = _interval(stats.mean(list(each[0].values())))
        values.append(entry)
    each_run = [
        {
            "program": LETTERS.lower()[trial.job.side],
            "repeat": trial.job.repeat,
            "seed": trial.job.seed,
            "attempts": trial.attempts,
            "valid": trial.values is not None,
            "reasons": list(trial.reasons),
        }
        for trial in runs.trials
    ]
    return {"network": runs.network, "values": values, "runs": each_run}


def _interval(e: stats.Estimate) -> list[float | None] | None:
    """Value and ends of the interval; None without a value."""
    if not math.isfinite(e.value):
        return None
    return [e.value, *(end if end is not None and math.isfinite(end) else None for end in (e.low, e.high))]
