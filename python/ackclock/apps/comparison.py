"""Controllers compared on several networks with the same seeds, without a suite: `ackclock compare --control`.

Every TCP flow of a network gets the controller. Each seed adds a random time to the start of the flows, up to one base
round-trip time, so that also a network without random elements gives a sample. Runs with the same seed are a pair.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import stats
from ackclock.apps.agree.controls import Control, check_controls, controls
from ackclock.apps.agree.perturb import START_S
from ackclock.base.assignment import Assignment, Override, key_text
from ackclock.base.files import BadInput, own_folder
from ackclock.base.link import is_link
from ackclock.metrics import RunMetric, check_name, metric
from ackclock.scenario import Scenario
from ackclock.study import Store, Study, sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ackclock.study.executors import Executor
    from ackclock.study.sweep import Progress

METRICS = ("goodput", "p95_queueing", "retransmissions")
"""The metrics that are compared by default."""
CONTROL = "control"
"""The axis of the studies."""
LEVEL = 0.05


@dataclass(frozen=True)
class Row:
    """A metric of the first controller and of another one in a network: means, and their ratio over the seeds."""

    network: str
    asked: str
    """The metric that was asked for."""
    metric: RunMetric
    """That metric, or the round-trip time instead of a queueing delay where the path changes."""
    other: str
    first_mean: float
    other_mean: float
    ratio: stats.Estimate
    """First over other, paired by seed; 95 % interval."""
    p: float | None
    """p-value of the ratio (of the difference, where a value is zero), after Benjamini and Hochberg's correction over
    all rows; None for fewer than two pairs."""
    tolerance: float
    """The largest relative difference of the means that is ignored."""

    @property
    def replaced(self) -> bool:
        """Whether the metric is the round-trip time instead of the queueing delay that was asked for."""
        return self.metric.name == "rtt" != self.asked

    @property
    def verdict(self) -> str:
        """Whether the first controller is better, worse or not different here.

        "larger" or "smaller" for a metric of which neither is better, "too few" for fewer than two pairs.
        """
        if self.p is None:
            return "too few"
        small = abs(self.first_mean - self.other_mean) <= self.tolerance * max(self.first_mean, self.other_mean)
        if self.p >= LEVEL or small:
            return "no difference"
        more = self.first_mean > self.other_mean
        if self.metric.better == 0:
            return "larger" if more else "smaller"
        return "better" if more == (self.metric.better > 0) else "worse"


@dataclass(frozen=True)
class Comparison:
    """The first controller beside the others, in every network."""

    first: str
    others: list[str]
    rows: list[Row]
    refused: list[str]
    """Why a controller was run in no network, or a metric does not apply."""
    failed: list[str] = field(default_factory=list)
    """How the runs of a controller have failed in a network; it is compared with none there."""


def compare(
    files: Sequence[str | Path],
    named: Sequence[str],
    out: Path,
    executor: Executor,
    *,
    seeds: int = 10,
    metrics: Sequence[str] = METRICS,
    overrides: Sequence[Override] = (),
    tolerance: float = 0.01,
    allow_code: bool = False,
    progress: Callable[[str], Progress | None] | None = None,
) -> Comparison:
    """Run the controllers on the networks and compare the first one with each other one.

    Finished runs are kept in `out`. A controller is a name, `FILE.py:CLASS` or a table of TOML. Raises BadInput for
    less than two controllers or seeds, for a file that is a study or has no TCP flow, and ScenarioError.
    """
    if len(named) < 2:
        raise BadInput("--control: needs two controllers or more, such as --control mine.py:Mine,cubic")
    if seeds < 2:
        raise BadInput("--seeds: must be at least 2")
    for name in metrics:
        check_name(name)
    check_controls(named)
    labels: list[str] = []
    measured: list[Measured] = []
    refused: list[str] = []
    failed: list[str] = []
    networks = _names(files)
    for file, network in zip(files, networks, strict=True):
        scenario = Scenario.load(file, overrides, allow_code=allow_code)
        chosen = controls(scenario, named)
        labels = [control.label for control in chosen]
        rows, impossible, broken = _run(
            scenario, chosen, own_folder(out, network), seeds, executor, progress and progress(network)
        )
        refused += [f"{network}: {label} was not run: {reason}" for label, reason in impossible.items()]
        failed += [f"{network}: {label} was not run: {reason}" for label, reason in broken.items()]
        for name in metrics if rows else ():
            one = _metric(name, rows)
            values = _values(one, rows)
            for label in labels:
                count = len(values.get(label, ()))
                if label not in {*impossible, *broken} and count < seeds:
                    refused.append(f"{network}: {one.words}: a value in {count} of {seeds} runs with {label}")
            measured.append(Measured(network, name, one, values))
    return Comparison(labels[0], labels[1:], _compared(labels, measured, tolerance), refused, failed)


def _names(files: Sequence[str | Path]) -> list[str]:
    """A name for each network: that of its file, with a number where several have one name."""
    names: list[str] = []
    for file in files:
        text = str(file)
        stem = "link" if is_link(text) else Path(text.removeprefix("@")).name.removesuffix(".toml")
        stem = re.sub(r"[^\w.+-]+", "-", stem)
        names.append(next(name for n in itertools.count(1) if (name := stem if n == 1 else f"{stem}-{n}") not in names))
    return names


def _run(
    scenario: Scenario,
    chosen: Sequence[Control],
    folder: Path,
    seeds: int,
    executor: Executor,
    advance: Progress | None,
) -> tuple[list[dict[str, Any]], dict[str, str], dict[str, str]]:
    """Run a network with every controller.

    Returns the outcomes, why controllers cannot be run in it, and how the runs of controllers have failed.
    """
    if scenario.is_study:
        raise BadInput(f"{scenario.file}: is a study; name a scenario without [sweep]")
    axis = {one.label: {key_text(a.key): a.value for a in one.overrides} for one in chosen}
    written = "start_jitter" in " ".join([scenario.text, *map(str, scenario.overrides)])
    starts = [
        Assignment(("flow", flow["name"], "start_jitter"), f"{round(1e9 * (flow['base_rtt_s'] or START_S))}ns")
        for flow in (() if written else scenario.resolved["flows"])
    ]
    axes = [
        Assignment(("sweep", "seed"), f"1..{seeds}"),
        Assignment(("sweep", CONTROL), axis, "--control", of_text=False),
    ]
    wanted = [Assignment(("delays",), True), *starts, *axes]
    study = Study.read(scenario.source, [*scenario.overrides, *wanted])
    impossible = {
        study.labels(point)[CONTROL]: reason.rpartition("congestion_control: ")[2] for point, reason in study.refused
    }
    with Store.create(folder) as store:
        sweep(study, store, executor, progress=advance, replace=True)
        ids = {run.run_id: study.labels(run.point)[CONTROL] for run in study.runs()}
        broken = [(ids[run_id], error) for run_id, error in store.failures() if ids[run_id] not in impossible]
        failed: dict[str, list[str]] = {}
        for label, error in broken:
            failed.setdefault(label, []).append(error)
        rows = [row for row in store.outcomes().to_dicts() if json.loads(row["axes"])[CONTROL] not in failed]
        return rows, impossible, {label: f"{len(e)} of {seeds} runs failed: {e[0]}" for label, e in failed.items()}


def _metric(name: str, rows: Sequence[dict[str, Any]]) -> RunMetric:
    """A metric; where the path changes, so that there is no queueing delay, the round-trip time."""
    wanted = metric(name, rows)
    if "queueing" in wanted.name and not any(wanted.each(row) for row in rows):
        return metric("rtt", rows)
    return wanted


def _values(one: RunMetric, rows: Sequence[dict[str, Any]]) -> dict[str, dict[int, float]]:
    """The values of a metric by controller and seed."""
    values: dict[str, dict[int, float]] = {}
    for row in rows:
        if (value := one.value(row)) is not None:
            values.setdefault(json.loads(row["axes"])[CONTROL], {})[row["seed"]] = value
    return values


@dataclass(frozen=True)
class Measured:
    """A metric in a network: its values by controller and seed."""

    network: str
    asked: str
    metric: RunMetric
    values: dict[str, dict[int, float]]

    def pairs(self, first: str, other: str) -> tuple[list[float], list[float]]:
        """The values of two controllers at the seeds that both have."""
        x, y = self.values.get(first, {}), self.values.get(other, {})
        seeds = sorted(x.keys() & y.keys())
        return [x[seed] for seed in seeds], [y[seed] for seed in seeds]


def _compared(labels: Sequence[str], measured: Sequence[Measured], tolerance: float) -> list[Row]:
    first, *others = labels
    samples = [(one, other, *one.pairs(first, other)) for one in measured for other in others]
    samples = [sample for sample in samples if sample[2]]
    raw = [stats.p_value(_contrasts(x, y), 0.0) for *_, x, y in samples]
    corrected = iter(stats.false_discovery([p for p in raw if p is not None]))
    rows = []
    for (one, other, x, y), p in zip(samples, raw, strict=True):
        means = sum(x) / len(x), sum(y) / len(y)
        own_p = None if p is None else next(corrected)
        rows.append(Row(one.network, one.asked, one.metric, other, *means, _ratio(x, y), own_p, tolerance))
    return rows


def _contrasts(x: Sequence[float], y: Sequence[float]) -> list[float]:
    """What is tested against zero: the logarithms of the ratios; differences where a value is zero."""
    if min(*x, *y) > 0:
        return [math.log(a / b) for a, b in zip(x, y, strict=True)]
    return [a - b for a, b in zip(x, y, strict=True)]


def _ratio(x: Sequence[float], y: Sequence[float]) -> stats.Estimate:
    """The ratio of the means over pairs; 1 where both are zero."""
    return stats.Estimate(1.0, None, None, len(x)) if not any(y) and not any(x) else stats.ratio(x, y)


def draw(comparison: Comparison) -> Figure:
    """Ratios of the first controller to the others with 95 % intervals: panels are metrics, rows are networks."""
    from ackclock.base.text import drawn
    from ackclock.draw.style import SOFT, most_columns, note, panels, point, pt, title, wrapped

    if not comparison.rows:
        raise BadInput("there is nothing to draw: no network has values of two controllers")
    metrics = {row.asked: row.metric.better for row in comparison.rows}
    networks = list(dict.fromkeys(row.network for row in comparison.rows))
    columns = min(most_columns(), len(metrics))
    height = 1.3 + 0.32 * len(networks) * max(1.0, 0.6 * len(comparison.others))
    figure, axes = panels(columns, -(-len(metrics) // columns), height, share=False)
    for spare in axes[len(metrics) :]:
        spare.set_visible(False)
    for panel, name in zip(axes, metrics, strict=False):
        ends: list[float] = []
        for number, other in enumerate(comparison.others):
            shift = 0.6 * ((number + 0.5) / len(comparison.others) - 0.5)
            for row in comparison.rows:
                e = row.ratio
                if (row.asked, row.other) != (name, other) or not 0 < e.value < float("inf"):
                    continue
                low, high = (e.value if x is None or x <= 0 else x for x in (e.low, e.high))
                at = networks.index(row.network) + shift
                panel.plot([low, high], [at, at], color=point(number)["color"], linewidth=1.4)
                style = point(number) | ({"markerfacecolor": "white"} if row.replaced else {})
                panel.plot([e.value], [at], linestyle="none", markersize=5, **style)
                ends += [low, high]
        panel.axvline(1, color=SOFT, linewidth=0.9)
        panel.set_xscale("log")
        _ratio_ticks(panel, ends)
        panel.set_yticks(range(len(networks)), [drawn(name) for name in networks])
        panel.set_ylim(len(networks) - 0.4, -0.6)
        better = {1: ": more is better", -1: ": less is better"}.get(metrics[name], "")
        panel.set_title(drawn(f"{name.replace('_', ' ')}{better}"), fontsize=pt(9), loc="left")
        panel.set_xlabel(wrapped(drawn(f"{comparison.first} over the other: ratio"), columns), fontsize=pt(9))
    if any(row.replaced for row in comparison.rows):
        note(figure, "Hollow marks: mean round-trip time; the path changes and has no delay without a queue.")
    heading = drawn(f"{comparison.first} beside {', '.join(comparison.others)}")
    if len(comparison.others) > 1:
        _key(figure, comparison.others, heading)
    else:
        title(figure, heading)
    return figure


def _ratio_ticks(panel: Any, ends: Sequence[float]) -> None:
    """Ticks of a logarithmic axis of ratios that includes 1 and these values."""
    low, high = min([*ends, 0.8]) / 1.15, max([*ends, 1.25]) * 1.15
    panel.set_xlim(low, high)
    steps = (1, 2, 5) if high / low < 200 else (1,)
    ticks = [s * 10.0**k for k in range(-6, 7) for s in steps]
    if high / low < 3:
        ticks = [0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2]
    ticks = [x for x in ticks if low <= x <= high]
    panel.set_xticks(ticks, [f"{x:g}" for x in ticks])
    panel.minorticks_off()


def _key(figure: Figure, others: Sequence[str], heading: str) -> None:
    from matplotlib.lines import Line2D

    from ackclock.base.text import drawn
    from ackclock.draw.style import key as legend_above
    from ackclock.draw.style import point

    samples = [Line2D([], [], markersize=5, linewidth=1.4, **point(number)) for number in range(len(others))]
    legend_above(figure, samples, [drawn(f"over {name}") for name in others], heading)
