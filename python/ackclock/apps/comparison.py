"""Controllers compared on several networks with the same seeds, without a suite: `ackclock compare --control`.

Every TCP flow of a network gets the controller, or those that are tested; then the others are their rivals.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import stats
from ackclock._core import ENGINE
from ackclock.apps import sequential
from ackclock.apps.controls import check_controls, is_pattern
from ackclock.apps.sequential import Stage
from ackclock.apps.trials import RIVALS, Network, Runs, Trials
from ackclock.base import tables
from ackclock.base.assignment import control_table
from ackclock.base.files import BadInput, own_folder, write_text
from ackclock.base.shipped import argument
from ackclock.base.si import prefixed
from ackclock.metrics import RunMetric
from ackclock.metrics.applications import application, is_transfer

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ackclock.study.sweep import Progress

METRICS = ("goodput", "p95_queueing", "retransmissions")
"""The metrics that are compared by default in a network without applications."""
KIND_METRICS: dict[str, tuple[str, ...]] = {
    "requests": ("p95_completion",),
    "on_off": ("p95_completion",),
    "page": ("p95_page_load",),
    "video": ("qoe", "rebuffer"),
    "frames": ("frames_on_time", "p95_frame_delay"),
    "sizes": ("p99_slowdown",),
}
"""The metrics that are compared by default for each kind of application, and for traffic sources with `sizes`."""
LESS_EXTREME = {
    "p95_completion": "p50_completion",
    "p95_page_load": "page_load",
    "p95_frame_delay": "frame_delay",
    "p99_slowdown": "mean_slowdown",
}
"""What is compared by default instead of a percentile for which runs have too few messages."""
OF_RIVALS = f"{RIVALS}goodput"
"""The metric that is compared too where only some flows are tested."""
LEVEL = 0.05


@dataclass(frozen=True)
class Words:
    """What a table says of a metric."""

    name: str
    words: str
    unit: str
    better: int
    """1 if more is better, -1 if less is, 0 if neither."""


@dataclass(frozen=True)
class Row:
    """A metric of the first controller and of another one in a network: means, and their ratio over the seeds."""

    network: str
    asked: str
    """The metric that was asked for."""
    metric: Words
    """That metric, or the round-trip time instead of a queueing delay where the path changes."""
    other: str
    of_first: stats.Estimate
    of_other: stats.Estimate
    """Means over the pairs, with 95 % intervals."""
    ratio: stats.Estimate
    """First over other, paired by seed. As those of the means, its interval holds with 95 % at all stages together."""
    p: float | None
    """p-value of the ratio (of the difference, where a value is zero) over all stages, after Benjamini and Hochberg's
    correction over all rows; None for fewer than two pairs."""
    tolerance: float
    """The largest relative difference of the means that is ignored."""
    certain: bool = True
    """Whether more seeds would hardly change the verdict: `_certain`."""

    @property
    def replaced(self) -> bool:
        """Whether the metric is the round-trip time instead of the queueing delay that was asked for."""
        return self.metric.name.removeprefix(RIVALS) == "rtt" != self.asked.removeprefix(RIVALS)

    @property
    def verdict(self) -> str:
        """Whether the first controller is better, worse or not different here.

        "larger" or "smaller" for a metric of which neither is better, "too few" for fewer than two pairs.
        """
        first, other = self.of_first.value, self.of_other.value
        if self.p is None:
            return "too few"
        if self.p >= LEVEL or abs(first - other) <= self.tolerance * max(first, other):
            return "no difference"
        if self.metric.better == 0:
            return "larger" if first > other else "smaller"
        return "better" if (first > other) == (self.metric.better > 0) else "worse"


@dataclass(frozen=True)
class RivalsShare:
    """What the rivals have beside a controller, over what they have beside the standard controller."""

    network: str
    control: str
    part: stats.Estimate
    """1 means that they keep all; the `rivals_kept` of suites."""


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
    beside: str = ""
    """The controller of the flows that are not tested; empty: that of the scenarios."""
    remarks: list[str] = field(default_factory=list)
    """Which flows are tested where the user named none."""
    stages: list[int] = field(default_factory=list)
    """The numbers of seeds after which certain differences got no more of them; empty: all have every seed."""

    seeds: list[int] = field(default_factory=list)
    """The least and the largest number of seeds of the other controllers in a network."""

    @property
    def standard(self) -> str:
        """The one of the controllers that the rivals have too; empty if there is none."""
        table = control_table(self.beside) if self.beside else None
        return next((label for label in (self.first, *self.others) if control_table(label) == table), "")

    def kept_in(self, row: Row) -> RivalsShare | None:
        """What the rivals keep beside a controller, if a row compares this with the controller that they have."""
        if row.asked == OF_RIVALS and row.other == self.standard:
            return RivalsShare(row.network, self.first, row.ratio)
        if row.asked == OF_RIVALS and self.first == self.standard:
            return RivalsShare(row.network, row.other, _inverse(row.ratio))
        return None


def _inverse(e: stats.Estimate) -> stats.Estimate:
    """The ratio the other way round; not a number where it has none."""
    value, high, low = (1 / x if x else math.nan if x is not None else None for x in (e.value, e.low, e.high))
    return stats.Estimate(math.nan if value is None else value, low, high, e.n)


def compare(
    trials: Trials,
    named: Sequence[str],
    *,
    metrics: Sequence[str] = (),
    tolerance: float = 0.01,
    early: bool = True,
    progress: Callable[[str], Progress | None] | None = None,
) -> Comparison:
    """Run the controllers on the networks and compare the first one with each other one.

    A controller is a name, `FILE.py:CLASS` or a table of TOML. `metrics` are by default those of `usual_metrics`.
    Unless `early` is false, two controllers whose differences in a network are all certain after a part of the seeds
    get no more of them there (`sequential`). Raises BadInput for less than two controllers or seeds, for a file that is
    a study or has no TCP flow, and ScenarioError.
    """
    if pattern := next(filter(is_pattern, named), None):
        raise BadInput(f"--control {pattern}: a pattern needs --against CONTROLLER, with which each one is compared")
    if len(named) < 2:
        raise BadInput("--control: needs two controllers or more, such as --control mine.py:Mine,cubic")
    for name in metrics:
        trials.check_metric(name)
    trials.check()
    check_controls(named, allow_code=trials.allow_code)
    schedule = sequential.stages(trials.seeds, early=early)
    networks = trials.networks()
    parts = {network.name: NetworkRuns(network, list(metrics)) for network in networks}
    labels: list[str] = []
    rows: list[Row] = []
    for stage in schedule:
        for part in parts.values():
            part.run(named, trials, stage, progress)
        labels = next(iter(parts.values())).labels
        measured = [measured for part in parts.values() for measured in part.measured]
        rows = _compared(labels, measured, schedule, tolerance)
        certain = {(row.network, row.asked, row.other) for row in rows if row.certain}
        for part in parts.values():
            part.decide(certain)
    remarks = [network.remark for network in networks if network.remark]
    refused = [reason for part in parts.values() for reason in part.refused()]
    failed = [reason for part in parts.values() for reason in part.failed()]
    seen = [] if len(schedule) == 1 else [stage.seeds for stage in schedule]
    compared = {(row.network, row.other) for row in rows}
    counts = [runs.seeds[other] for name, other in compared if (runs := parts[name].runs) is not None]
    seeds = [min(counts), max(counts)] if counts else []
    return Comparison(labels[0], labels[1:], rows, refused, failed, trials.beside, remarks, seen, seeds)


@dataclass
class NetworkRuns:
    """A network of a comparison, with its runs so far."""

    network: Network
    metrics: list[str]
    """Those that were asked for; empty: the usual ones."""
    runs: Runs | None = None
    undecided: list[str] | None = None
    """The other controllers whose differences from the first one are not all certain; None before the first stage."""

    @property
    def labels(self) -> list[str]:
        """The controllers, once they have run."""
        return [] if self.runs is None else self.runs.labels

    def run(
        self,
        named: Sequence[str],
        trials: Trials,
        stage: Stage,
        progress: Callable[[str], Progress | None] | None,
    ) -> None:
        """Run the seeds of a stage for the first controller and the undecided ones, if there are any."""
        before, undecided = self.runs, self.undecided
        if undecided == []:
            return

        def seeds(label: str) -> int:
            decided = before is not None and undecided is not None and label not in {before.labels[0], *undecided}
            return before.seeds[label] if before is not None and decided else stage.seeds

        folder = own_folder(trials.out, self.network.name)
        advance = progress and progress(f"{self.network.name}, {stage.seeds} seeds")
        self.runs = self.network.run(named, trials, folder, advance, seeds)

    @property
    def measured(self) -> list[Measured]:
        """The values of the metrics."""
        runs = self.runs
        if runs is None or not runs.rows:
            return []
        names = self.metrics or usual_metrics(runs, apart=bool(self.network.tested))
        with_metric = ((name, runs.metric(name)) for name in names)
        return [
            Measured(self.network.name, name, metric, runs.values(metric), runs.seeds)
            for name, metric in with_metric
            if metric is not None
        ]

    def decide(self, certain: Collection[tuple[str, str, str]]) -> None:
        """Note which controllers get more seeds; `certain` has the network, metric and controller of certain rows."""
        runs = self.runs
        if runs is not None:
            without = {*runs.refused, *runs.errors}
            ran = [] if runs.labels[0] in without else [other for other in runs.labels[1:] if other not in without]
            # A metric that no run has a value of yet is open, too.
            rows = [(self.network.name, measured.asked) for measured in self.measured]
            self.undecided = [other for other in ran if any((*row, other) not in certain for row in rows)]

    def refused(self) -> list[str]:
        """Why controllers were not run, metrics do not apply, and runs have no value of one."""
        runs, name = self.runs, self.network.name
        if runs is None:
            return []
        reasons = [f"{name}: {label} was not run: {reason}" for label, reason in runs.refused.items()]
        asked = {measured.asked for measured in self.measured}
        reasons += [
            f"{name}: {metric.replace('_', ' ')}: there is no TCP flow beside the tested ones"
            for metric in (self.metrics if runs.rows else ())
            if metric not in asked
        ]
        for measured in self.measured:
            for label in runs.labels:
                count, seeds = len(measured.values.get(label, ())), runs.seeds[label]
                if label not in {*runs.refused, *runs.errors} and count < seeds:
                    reasons.append(f"{name}: {measured.metric.words}: a value in {count} of {seeds} runs with {label}")
        return reasons

    def failed(self) -> list[str]:
        """How the runs of controllers have failed."""
        runs, name = self.runs, self.network.name
        return [
            f"{name}: {label} was not run: {len(errors)} of {runs.seeds[label]} runs failed: {errors[0]}"
            for label, errors in (runs.errors.items() if runs is not None else ())
            if runs is not None
        ]


def usual_metrics(runs: Runs, *, apart: bool) -> list[str]:
    """The metrics that are compared by default in a network that has outcomes.

    Those of its applications and the queueing delay, or METRICS without any; if only some flows are tested, also those
    of the applications that only the others have, and the goodput of these.
    """
    names = set(runs.network.tested)
    kinds: dict[bool, set[str]] = {True: set(), False: set()}
    sizes = any("sizes" in source for source in runs.network.scenario.facts().document.get("traffic", ()))
    for flow in (flow for row in runs.rows for flow in row["flows"]):
        app = application(flow)
        if app is not None or (sizes and is_transfer(flow)):
            kinds[not names or flow["name"] in names].add("sizes" if app is None else app["kind"])

    def of(chosen: set[str], prefix: str = "") -> list[str]:
        metrics = dict.fromkeys(name for kind, names in KIND_METRICS.items() if kind in chosen for name in names)
        return [_with_values(runs, prefix + name, prefix) for name in metrics]

    own = of(kinds[True])
    usual = [*own, "p95_queueing"] if own else list(METRICS)
    return usual + ([*of(kinds[False] - kinds[True], RIVALS), OF_RIVALS] if apart else [])


def _with_values(runs: Runs, name: str, prefix: str) -> str:
    """A metric, or a less extreme one if more runs have a value of that."""
    less = LESS_EXTREME.get(name.removeprefix(prefix))
    names = [name] if less is None else [name, prefix + less]
    return max(names, key=lambda each: _values(runs, each))  # the first of equal ones


def _values(runs: Runs, name: str) -> int:
    """How many runs have a value of a metric."""
    metric = runs.metric(name)
    return 0 if metric is None else sum(map(len, runs.values(metric).values()))


@dataclass(frozen=True)
class Measured:
    """A metric in a network: its values by controller and seed."""

    network: str
    asked: str
    metric: RunMetric
    values: dict[str, dict[int, float]]
    seeds: dict[str, int]
    """The number of seeds of each controller."""

    def pairs(self, first: str, other: str, seeds: int) -> tuple[list[float], list[float]]:
        """The values of two controllers at those of the first `seeds` seeds that both have."""
        x, y = self.values.get(first, {}), self.values.get(other, {})
        both = [seed for seed in sorted(x.keys() & y.keys()) if seed <= seeds]
        return [x[seed] for seed in both], [y[seed] for seed in both]


def _compared(
    labels: Sequence[str], measured: Sequence[Measured], schedule: Sequence[Stage], tolerance: float
) -> list[Row]:
    first, *others = labels
    samples = [(values, other) for values in measured for other in others]
    samples = [(values, other) for values, other in samples if values.pairs(first, other, values.seeds[other])[0]]
    raw = [_p_value(values, first, other, schedule) for values, other in samples]
    rows = []
    for (values, other), p in zip(samples, stats.corrected(raw, stats.false_discovery), strict=True):
        metric, seeds = values.metric, values.seeds[other]
        x, y = values.pairs(first, other, seeds)
        level = sequential.level(schedule, seeds)
        of_first, of_other = (metric.estimate(numbers, level) for numbers in (x, y))
        words = Words(metric.name, metric.words, metric.unit, metric.better)
        signed = min(*x, *y) < 0  # there is no ratio of values with a sign
        ratio = stats.Estimate(math.nan, None, None, len(x)) if signed else stats.ratio_or_equal(x, y, level)
        certain = _certain(x, y, ratio, p, tolerance)
        rows.append(Row(values.network, values.asked, words, other, of_first, of_other, ratio, p, tolerance, certain))
    return rows


def _certain(x: Sequence[float], y: Sequence[float], ratio: stats.Estimate, p: float | None, tolerance: float) -> bool:
    """Whether more seeds would hardly change a verdict.

    All pairs are equal; or the difference is significant, and the interval of the ratio outside the tolerance; or that
    is within it. Of values with a zero the interval is a bootstrap's, which is too narrow for few pairs: it decides
    nothing.
    """
    if list(x) == list(y):
        return True
    significant = p is not None and p < LEVEL
    if min(*x, *y) <= 0 or ratio.low is None or ratio.high is None:
        return significant
    lower, upper = 1 - tolerance, 1 + tolerance
    outside = ratio.high < lower or ratio.low > upper
    return (significant and outside) or lower <= ratio.low <= ratio.high <= upper


def _p_value(values: Measured, first: str, other: str, schedule: Sequence[Stage]) -> float | None:
    """The p-value, over all stages, of a difference of two controllers."""

    def of(seeds: int) -> float | None:
        differences = stats.contrasts(*values.pairs(first, other, seeds))
        p = stats.p_value(differences, 0.0)
        if p is None or seeds == schedule[-1].seeds or not stats.same(differences):
            return p
        # Few equal differences, such as one packet, are not certain: a sign test.
        return max(p, 2.0 ** (1 - len(differences)))

    return sequential.p_value(of, schedule, values.seeds[other])


def columns(result: Comparison, *, si: bool) -> list[tables.Column]:
    """The table of a comparison for a file: in SI units, or each row in a unit in which it has few digits."""
    rows = result.rows
    scales = [
        (1.0, row.metric.unit) if si else prefixed(row.metric.unit, [row.of_first.value, row.of_other.value])
        for row in rows
    ]
    first = [row.of_first.scaled(factor) for row, (factor, _) in zip(rows, scales, strict=True)]
    other = [row.of_other.scaled(factor) for row, (factor, _) in zip(rows, scales, strict=True)]
    return [
        tables.Column("network", [row.network for row in rows], key=True),
        tables.Column("metric", [row.metric.name.replace("_", " ") for row in rows], key=True),
        tables.Column("unit", [unit for _, unit in scales]),
        tables.Column(result.first, first),
        tables.Column("other", [row.other for row in rows]),
        tables.Column("value of the other", other),
        tables.Column("ratio", [row.ratio if math.isfinite(row.ratio.value) else None for row in rows]),
        tables.Column("verdict", [row.verdict for row in rows]),
    ]


FILE = "comparison.json"
"""The comparison in the folder of its runs, for `ackclock report`."""


@dataclass(frozen=True)
class Stored:
    """A comparison as its folder has it."""

    comparison: Comparison
    engine: str
    seeds: int
    command: list[str]
    """The arguments that make it again."""


def save(result: Comparison, trials: Trials) -> None:
    """Write a comparison into the folder of its runs."""
    stored = {
        "engine": ENGINE,
        "seeds": trials.seeds,
        "command": _command(result, trials),
        "comparison": asdict(result),
    }
    text = json.dumps(_without_nan(stored), indent=1, allow_nan=False)
    write_text(trials.out / FILE, text + "\n")


def _command(result: Comparison, trials: Trials) -> list[str]:
    command = ["ackclock", "compare", "--control", ",".join([result.first, *result.others])]
    command += ["--on", ",".join(argument(str(file)) for file in trials.files), "--seeds", str(trials.seeds)]
    for option, values in (("--flow", trials.flows), ("--set", trials.overrides)):
        for value in values:
            command += [option, str(value)]
    by_network: dict[str, dict[str, None]] = {}
    for row in result.rows:
        by_network.setdefault(row.network, {})[row.asked] = None
    same = len({tuple(metrics) for metrics in by_network.values()}) == 1
    metrics = ["--metric", ",".join(next(iter(by_network.values())))] if same else []  # otherwise those of the default
    command += [*metrics, *(["--beside", trials.beside] if trials.beside else [])]
    tolerance = max((row.tolerance for row in result.rows), default=0.01)
    command += [] if tolerance == 0.01 else ["--tolerance", f"{100 * tolerance:g}%"]
    command += ["--allow-code"] if trials.allow_code else []
    command += ["--all-seeds"] if not result.stages and len(sequential.stages(trials.seeds)) > 1 else []
    return [*command, "--out", argument(str(trials.out))]


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def load(folder: Path) -> Stored:
    """The comparison of a folder. Raises BadInput if it has none, or a damaged one."""
    try:
        stored = json.loads((folder / FILE).read_text(encoding="utf-8"))
        table = stored["comparison"]
        rows = [
            Row(
                **{
                    **row,
                    "metric": Words(**row["metric"]),
                    **{key: _estimate(row[key]) for key in ("of_first", "of_other", "ratio")},
                }
            )
            for row in table["rows"]
        ]
        comparison = Comparison(**{**table, "rows": rows})
        command = [str(word) for word in stored["command"]]
        return Stored(comparison, str(stored["engine"]), int(stored["seeds"]), command)
    except OSError:
        raise BadInput(f"{folder}: has no {FILE}: repeat the command ackclock compare, which keeps its runs") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise BadInput(f"{folder / FILE}: is damaged: repeat the command ackclock compare") from None


def _estimate(fields: Mapping[str, Any]) -> stats.Estimate:
    value = math.nan if fields["value"] is None else float(fields["value"])
    low, high = (None if fields[end] is None else float(fields[end]) for end in ("low", "high"))
    return stats.Estimate(value, low, high, int(fields["n"]))


def draw(comparison: Comparison) -> Figure:
    """Ratios of the first controller to the others with 95 % intervals: panels are metrics, rows are networks."""
    from ackclock.base.text import drawn
    from ackclock.draw.style import SOFT, most_columns, note, panels, point, pt, ratio_axis, title, wrapped

    if not comparison.rows:
        raise BadInput("there is nothing to draw: no network has values of two controllers")
    metrics = {row.asked: row.metric.better for row in comparison.rows}
    networks = list(dict.fromkeys(row.network for row in comparison.rows))
    columns = min(most_columns(), len(metrics) if len(metrics) != 4 else 2)
    height = 1.3 + 0.32 * len(networks) * max(1.0, 0.6 * len(comparison.others))
    figure, axes = panels(columns, -(-len(metrics) // columns), height, share=False)
    for spare in axes[len(metrics) :]:
        spare.set_visible(False)
    for panel, name in zip(axes, metrics, strict=False):
        ends: list[float] = []
        beyond: list[tuple[float, str]] = []
        for number, other in enumerate(comparison.others):
            shift = 0.6 * ((number + 0.5) / len(comparison.others) - 0.5)
            for row in comparison.rows:
                e = row.ratio
                if (row.asked, row.other) != (name, other):
                    continue
                if not 0 < e.value < math.inf:
                    beyond.append((networks.index(row.network) + shift, "0" if e.value == 0 else "no ratio"))
                    continue
                low, high = (e.value if x is None or x <= 0 else x for x in (e.low, e.high))
                at = networks.index(row.network) + shift
                panel.plot([low, high], [at, at], color=point(number)["color"], linewidth=1.4)
                style = point(number) | ({"markerfacecolor": "white"} if row.replaced else {})
                panel.plot([e.value], [at], linestyle="none", markersize=5, **style)
                ends += [low, high]
        panel.axvline(1, color=SOFT, linewidth=0.9)
        ratio_axis(panel, ends)
        for at, text in beyond:  # a logarithmic axis has no place for them
            panel.text(0.01, at, text, transform=panel.get_yaxis_transform(), va="center", fontsize=pt(8), color=SOFT)
        panel.set_yticks(range(len(networks)), [drawn(name) for name in networks])
        panel.set_ylim(len(networks) - 0.4, -0.6)
        better = {1: ": more is better", -1: ": less is better"}.get(metrics[name], "")
        panel.set_title(drawn(f"{name.replace('_', ' ')}{better}"), fontsize=pt(9), loc="left")
        panel.set_xlabel(wrapped(drawn(f"{comparison.first} over the other: ratio"), columns), fontsize=pt(9))
    if any(row.replaced for row in comparison.rows):
        note(figure, "Hollow marks: mean round-trip time; the path changes and has no delay without a queue.")
    rivals = f"; the other flows: {comparison.beside}" if comparison.beside else ""
    heading = drawn(f"{comparison.first} against {', '.join(comparison.others)}{rivals}")
    if len(comparison.others) > 1:
        _key(figure, comparison.others, heading)
    else:
        title(figure, heading)
    return figure


def _key(figure: Figure, others: Sequence[str], heading: str) -> None:
    from matplotlib.lines import Line2D

    from ackclock.base.text import drawn
    from ackclock.draw.style import key as legend_above
    from ackclock.draw.style import point

    samples = [Line2D([], [], markersize=5, linewidth=1.4, **point(number)) for number in range(len(others))]
    legend_above(figure, samples, [drawn(f"over {name}") for name in others], heading)
