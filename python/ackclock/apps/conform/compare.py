"""Runs comparisons of a stack with its references in the core."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from ackclock import _core
from ackclock.apps.conform.stack import Stack, options
from ackclock.base.files import BadInput

Report = dict[str, Any]
"""What `ackclock::conform::Report` has: docs/stacks.md describes it."""
ORDER = (
    *("differs", "suspect", "not_the_controller", "application_or_adapter"),
    *("undecided", "agrees", "not_compared"),
)
"""Standings, that which claims the largest difference first."""


def words(standing: str) -> str:
    """A standing in words."""
    return standing.replace("_", " ")


def situations() -> list[dict[str, Any]]:
    """The fixed list: name, title, scenario, metrics."""
    listed: list[dict[str, Any]] = json.loads(_core.conform_situations())
    return listed


def compare(
    stack: Stack,
    control: str,
    reference: str,
    *,
    chosen: Sequence[str] | None,
    seeds: int,
    first_seed: int = 1,
    jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Compare one controller of a stack. Raises BadInput, and StackFailure if the stack fails."""
    values = options(stack, control, reference, chosen) | {"seeds": seeds, "first_seed": first_seed}
    if jobs is not None:
        values["threads"] = jobs
    try:
        report: Report = json.loads(_core.conform(json.dumps(values), stack.make, progress))
    except ValueError as error:
        raise BadInput(str(error)) from None
    report |= {"deterministic": stack.deterministic, "transport": stack.transport, "reply": stack.reply}
    return report


def metrics(report: Report) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Every metric with its situation."""
    return [(situation, metric) for situation in report["situations"] for metric in situation["metrics"]]


def count(report: Report) -> dict[str, int]:
    """How many metrics have each standing, those that occur."""
    standings = [metric["standing"] for _, metric in metrics(report)]
    return {standing: standings.count(standing) for standing in ORDER if standing in standings}


def worst(situation: dict[str, Any]) -> str:
    """The standing of a situation: that of its metric that claims the largest difference."""
    standings = {metric["standing"] for metric in situation["metrics"]}
    return next(standing for standing in ORDER if standing in standings)


def number(value: float | None, unit: str) -> str:
    """A value with its unit."""
    if value is None:
        return "-"
    if unit == "bit/s":
        return f"{value / 1e6:.3f} Mb/s"
    if unit == "s":
        return f"{value:.2f} s" if value >= 1 else f"{value * 1e3:.1f} ms"
    return f"{100 * value:.2f} %" if 0 < value < 0.2 else f"{value:.3f}"


def sentence(metric: dict[str, Any]) -> str:
    """The values of a metric in words."""
    comparison, unit = metric["comparison"], metric["unit"]
    low, high = comparison["reference"] or (None, None)
    spans = (
        number(low, unit) if number(low, unit) == number(high, unit) else f"{number(low, unit)} to {number(high, unit)}"
    )
    return f"{number(comparison['stack'], unit)}, reference {spans}"


def needed(metric: dict[str, Any]) -> str:
    """What would decide an undecided metric."""
    if metric["standing"] != "undecided":
        return ""
    if metric["comparison"]["verdict"] == "differs":
        return "fresh seeds do not confirm the difference"
    seeds = metric["comparison"]["seeds_needed"]
    return f"about {seeds} seeds would decide" if seeds else "borderline: no number of seeds decides"
