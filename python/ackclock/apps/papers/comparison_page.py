"""The page that compares all controllers on the networks of the papers and behind the queues of today."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup, escape

from ackclock import stats
from ackclock.apps.papers.controller_comparison import ControllerComparison
from ackclock.apps.papers.page import results_environment
from ackclock.apps.papers.strip import Axis, mark, scale, span, strip
from ackclock.apps.suite.measures import SUITE_METRICS
from ackclock.apps.suite.situation import Situation
from ackclock.base import si
from ackclock.base.models import models

HIGHLIGHTED = {"reno": "h1", "cubic": "h2", "bbr": "h3"}
"""Controllers in colour, with the class of their marks."""
ADDED = "h4"
"""The class of a reader's own controller."""
REFERENCE = "reno"
NEAR = 0.02
"""Relative difference within which two results count as equal."""
MOST_NAMED = 4
GOODPUT, DELAY = "goodput", "p95_queueing"
LEAST_DELAY_MS = 0.3
"""Delays below it are drawn at it: a logarithmic axis has no zero."""
NAMED = re.compile(r"\{([\w-]+)\.(\w+)\.(\w+)\}")
"""A value in the text of the suite: situation, metric, controller."""


@dataclass(frozen=True)
class Extreme:
    """The best value of a network, and which controllers have it."""

    value: str
    spread: str
    names: str
    highlighted: str


@dataclass(frozen=True)
class NetworkRow:
    """A network: goodput and delay of every controller, and the best of each."""

    situation: Situation
    controllers: int
    goodput: Markup
    goodput_scale: Markup
    most: Extreme
    delay: Markup | None
    delay_scale: Markup | None
    least: Extreme | None


@dataclass(frozen=True)
class Ratio:
    """A controller's result over that of Reno; `sure`: by more than 2 %, and the interval excludes 1."""

    text: str
    title: str
    sure: bool
    colour: str


def comparison_page(comparison: ControllerComparison) -> str:
    """The page as HTML."""
    suite = comparison.suite
    families: dict[str, list[str]] = {}
    for entry in models("controllers"):
        families.setdefault(entry["family"], []).append(entry["name"])
    added = [name for name in comparison.names if not any(name in members for members in families.values())]
    if added:
        families = {"your own": added} | families
    shown = {family: [n for n in members if n in comparison.names] for family, members in families.items()}
    grouped = {family: members for family, members in shown.items() if members}
    return (
        results_environment("../")
        .get_template("comparison.html")
        .render(
            comparison=comparison,
            suite=suite,
            came_out=_came_out(comparison),
            highlighted=HIGHLIGHTED | dict.fromkeys(added, ADDED),
            rows=[_row(comparison, situation, added) for situation in suite.situations],
            goodput={f: [(n, _ratios(comparison, n, GOODPUT)) for n in members] for f, members in grouped.items()},
            delays={f: [(n, _ratios(comparison, n, DELAY)) for n in members] for f, members in grouped.items()},
            metrics=SUITE_METRICS,
            reference=REFERENCE,
            limits=[(entry["name"], limit) for entry in models("controllers") for limit in entry["limits"]],
            missing=_missing(comparison),
            seeds=_seeds(comparison),
            folders={result.metadata.control: result.folder.name for result in comparison.results},
            engine=comparison.results[0].metadata.engine if comparison.results else "",
        )
    )


def _came_out(comparison: ControllerComparison) -> Markup:
    """The text of the suite with its values."""
    rows = {situation.id: dict(comparison.rows(situation)) for situation in comparison.suite.situations}

    def put(match: re.Match[str]) -> str:
        e = rows.get(match[1], {}).get(match[3], {}).get(match[2])
        return "-" if e is None else Markup('<span class="nb">{}</span>').format(_with_unit(match[2], e))

    return Markup(NAMED.sub(put, str(escape(comparison.suite.came_out))))


def _with_unit(metric: str, e: stats.Estimate) -> str:
    text = f"{si.value(e.value, 2)} {SUITE_METRICS[metric].unit}".rstrip()
    sure = si.interval(e, 2)
    return f"{text} {sure}" if sure else text


def _missing(comparison: ControllerComparison) -> dict[str, list[str]]:
    """Networks in which controllers were not run, by reason, and controllers that no network supports."""
    reasons: dict[str, list[str]] = {}
    for result in comparison.results:
        for situation, reason in result.refused.items():
            reasons.setdefault(reason, []).append(f"{result.metadata.control} on {situation}")
    for name, reason in comparison.refused.items():
        reasons.setdefault(reason, []).append(name)
    return reasons


def _seeds(comparison: ControllerComparison) -> tuple[int, int]:
    """The least and the largest number of runs of a dot."""
    counts = [len(seeds) for result in comparison.results for seeds in result.values().values()]
    return min(counts, default=0), max(counts, default=0)


def _row(comparison: ControllerComparison, situation: Situation, added: list[str]) -> NetworkRow:
    cells = dict(comparison.rows(situation))
    goodput = {name: values[GOODPUT] for name, values in cells.items()}
    delays = {name: values[DELAY] for name, values in cells.items() if DELAY in values}
    largest = max((e.value for e in goodput.values()), default=1.0) or 1.0
    unit = SUITE_METRICS[GOODPUT].unit
    axis = Axis(0.0, 1.05 * largest, ticks=(0.0, 1.05 * largest), tick_text=lambda x: f"{si.value(x, 2)} {unit}")
    able = {name for name, e in goodput.items() if e.value >= largest / 2}
    delay_axis = None
    if delays:
        high = max(2 * LEAST_DELAY_MS, 1.15 * max(e.value for e in delays.values()))
        ticks = tuple(x for x in (1.0, 10.0, 100.0, 1000.0, 10000.0) if LEAST_DELAY_MS * 1.5 <= x <= high)
        delay_axis = Axis(LEAST_DELAY_MS, high, True, ticks, lambda x: f"{si.value(x)} ms")
    return NetworkRow(
        situation,
        len(cells),
        _dots(goodput, axis, added),
        scale(axis),
        _extreme(comparison, situation, GOODPUT, goodput, added),
        None if delay_axis is None else _dots(delays, delay_axis, added),
        None if delay_axis is None else scale(delay_axis),
        None
        if delay_axis is None
        else _extreme(comparison, situation, DELAY, {n: e for n, e in delays.items() if n in able}, added),
    )


def _dots(estimates: Mapping[str, stats.Estimate], axis: Axis, added: list[str]) -> Markup:
    """A dot for each controller; those in colour are on top, with their intervals."""
    classes = HIGHLIGHTED | dict.fromkeys(added, ADDED)
    marks = [mark("cd", axis, e.value) for name, e in estimates.items() if name not in classes]
    for name, css in classes.items():
        if name in estimates:
            e = estimates[name]
            if e.low is not None and e.high is not None and e.high > e.low:
                marks.append(span(f"cw w{css}", axis, e.low, e.high))
            marks.append(mark(f"cd {css}", axis, e.value))
    return strip(marks)


def _extreme(
    comparison: ControllerComparison,
    situation: Situation,
    metric: str,
    estimates: Mapping[str, stats.Estimate],
    added: list[str],
) -> Extreme:
    """The most goodput or the least delay, and which controllers are within 2 % of it."""
    order = sorted(estimates, key=lambda name: estimates[name].value, reverse=metric == GOODPUT)
    if not order:
        return Extreme("-", "", "", "")
    best = estimates[order[0]]
    near = [name for name in order if abs(estimates[name].value - best.value) <= NEAR * abs(best.value)]
    names = f"{len(near)} within 2 %" if len(near) > MOST_NAMED else ", ".join(near)
    unit = SUITE_METRICS[metric].unit
    shown = [name for name in (*HIGHLIGHTED, *added) if name in estimates]
    highlighted = "; ".join(f"{name} {_with_unit(metric, estimates[name])}" for name in shown)
    values = next(result.values() for result in comparison.results if result.metadata.control == order[0])
    seeds = len(_at(values, situation.id, metric))
    sure = si.interval(best, 2) or ("in every run" if seeds > 1 else "(1 run)")
    return Extreme(f"{si.value(best.value, 2)} {unit}", sure, names, highlighted)


def _ratios(comparison: ControllerComparison, name: str, metric: str) -> list[Ratio | None]:
    """For each network the controller's values over Reno's on the same seeds; None where it was not run."""
    values = {result.metadata.control: result.values() for result in comparison.results}
    ratios: list[Ratio | None] = []
    for situation in comparison.suite.situations:
        of = _at(values[name], situation.id, metric)
        to = _at(values.get(REFERENCE, {}), situation.id, metric)
        pairs = [(of[seed], to[seed]) for seed in of if seed in to]
        if not pairs:
            ratios.append(None)
        elif all(a > 0 and b > 0 for a, b in pairs):
            ratios.append(_ratio(name, stats.geometric([math.log(a / b) for a, b in pairs])))
        else:
            ratios.append(Ratio("0", f"{name}: a value of zero has no ratio", False, ""))
    return ratios


def _at(values: Mapping[tuple[str, str, str], dict[int, float]], situation: str, metric: str) -> dict[int, float]:
    return next((seeds for (name, _, m), seeds in values.items() if (name, m) == (situation, metric)), {})


def _ratio(name: str, e: stats.Estimate) -> Ratio:
    decided = e.low is not None and e.high is not None and (e.low > 1 or e.high < 1)
    sure = decided and abs(math.log(e.value)) > math.log(1 + NEAR)
    strength = min(1.0, abs(math.log2(e.value)) / 2)
    part = 0.2 + 0.55 * strength
    red, green, blue = (27, 150, 90) if e.value > 1 else (220, 90, 60)
    colour = "rgb({:.0f},{:.0f},{:.0f})".format(*(255 + part * (c - 255) for c in (red, green, blue)))
    said = si.interval(e) or "one run, or equal in every run"
    return Ratio(
        f"{e.value:.2f}" if e.value < 10 else f"{e.value:.0f}", f"{name}: {si.value(e.value)}× {said}", sure, colour
    )
