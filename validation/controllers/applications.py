"""The table and the figure of docs/applications.md: do controllers rank for applications as they do for bulk transfers?

    python validation/controllers/applications.py OUT [JOBS]    half a minute a controller; OUT keeps results

Each controller but those of routers runs through situations of `tcpeval` with the seeds of `--quick`: nine with bulk
transfers, by whose throughput and queueing delay it is ranked, and six with applications. A value that a run does not
have, such as a percentile that falls on a response without an end, ranks behind all others.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from suite import DELAY, REFERENCE, SUITE, cells, geometric, ratio
from table import ROOT, ROUTERS

from ackclock.apps import catalog
from ackclock.apps.suite.folder import find
from ackclock.apps.suite.measures import SUITE_METRICS
from ackclock.apps.suite.overview import ASPECTS
from ackclock.apps.suite.result import SuiteResult, read
from ackclock.apps.suite.run import run
from ackclock.study.executors import Local

PAGE = ROOT / "docs" / "applications.md"
FIGURE = ROOT / "docs" / "figures" / "applications-ranks.svg"
THROUGHPUT = next(aspect for aspect in ASPECTS if aspect.name == "throughput")
NAMED = 5
"""Controllers that the text names at each end."""


@dataclass(frozen=True)
class Column:
    """What controllers are ranked by in a situation with applications."""

    head: str
    situation: str
    metric: str


COLUMNS = (
    Column("writes after pauses", "app-on-off", "p95_completion"),
    Column("requests", "app-requests", "p95_completion"),
    Column("sizes", "app-sizes", "mean_slowdown"),
    Column("pages", "app-page", "page_load"),
    Column("video", "app-video", "qoe"),
    Column("call", "app-frames", "frames_on_time"),
)
TRANSFERS = (
    *("bufferbloat", "high-loss", "among-itself", "aqm", "tiny", "long-delay", "wireless-bursts", "reordering"),
    "transients",
)
BULK = ("bulk: throughput", "bulk: delay")


def ranks(scores: Mapping[str, tuple[float, ...]]) -> dict[str, float]:
    """Ranks from 1, the smallest score first; equal scores share their mean rank."""
    ordered = sorted(scores.values())
    of = {score: statistics.mean(at for at, other in enumerate(ordered, 1) if other == score) for score in set(ordered)}
    return {name: of[score] for name, score in scores.items()}


def correlation(a: Sequence[float], b: Sequence[float]) -> float:
    """Spearman's rank correlation: that of Pearson over ranks."""
    return statistics.correlation(a, b)


def score(result: SuiteResult, column: Column, points: int) -> tuple[float, ...]:
    """How many values are missing, and their mean over points and seeds (times: of logarithms). Less is better."""
    values = [
        value
        for (situation, _, metric), seeds in result.values().items()
        if (situation, metric) == (column.situation, column.metric)
        for value in seeds.values()
    ]
    better = SUITE_METRICS[column.metric].better
    numbers = [math.log(max(value, 1e-9)) for value in values] if better < 0 else [-value for value in values]
    return (points - len(values), statistics.mean(numbers) if numbers else 0.0)


def bulk_scores(results: Mapping[str, SuiteResult]) -> dict[str, dict[str, tuple[float, ...]]]:
    """The geometric mean of the ratios to CUBIC over the situations with bulk transfers."""
    scores: dict[str, dict[str, tuple[float, ...]]] = {head: {} for head in BULK}
    bulk = {name: of_situations(result, TRANSFERS) for name, result in results.items()}
    for name, result in bulk.items():
        compared = cells(result, bulk[REFERENCE])
        for head, aspect, sign in ((BULK[0], THROUGHPUT, -1), (BULK[1], DELAY, 1)):
            ratios = [ratio(aspect, cell) for cell in compared[aspect.name]]
            scores[head][name] = (sign * math.log(geometric(ratios)),)
    return scores


def of_situations(result: SuiteResult, situations: Sequence[str]) -> SuiteResult:
    """The result of some situations alone."""
    return replace(result, measures=[measure for measure in result.measures if measure.situation in situations])


def draw(names: Sequence[str], bulk: Mapping[str, float], applications: Mapping[str, float]) -> None:
    """Each controller at its rank for bulk transfers and its mean rank for applications."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    mpl.rcParams |= {"svg.hashsalt": "ackclock", "font.size": 9, "font.family": "sans-serif"}
    figure, axis = plt.subplots(figsize=(6.4, 5.2))
    most = len(names) + 1
    axis.plot([0, most], [0, most], color="0.8", linewidth=0.8, zorder=0)
    for name in names:
        x, y = bulk[name], applications[name]
        axis.plot(x, y, "o", color="tab:blue", markersize=4)
        axis.annotate(name, (x, y), (3, 3), textcoords="offset points", fontsize=7)
    axis.set_xlim(0, most + 3)
    axis.set_ylim(most, 0)
    axis.set_xlabel("rank by the throughput of bulk transfers")
    axis.set_ylabel("mean rank for six applications")
    axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(FIGURE, metadata={"Date": None})


def main(out: Path, jobs: int) -> None:
    """Run what is missing, and write the table between the marks of the page, and the figure."""
    suite = find(SUITE)
    shown = {*TRANSFERS, *(column.situation for column in COLUMNS)}
    suite.situations[:] = [situation for situation in suite.situations if situation.id in shown]
    names = [entry["name"] for entry in catalog.entries("controllers") if entry["name"] not in ROUTERS]
    results = {}
    for name in names:
        if not (out / name / "suite.json").is_file():
            made = run(suite, name, out / name, Local(jobs), quick=True, page=False)
            print(name, *(f"{situation}: {error}" for situation, error in made.failed), flush=True)
        results[name] = read(out / name)
    of: dict[str, dict[str, float]] = {head: ranks(scores) for head, scores in bulk_scores(results).items()}
    for column in COLUMNS:
        points = max(
            sum(
                len(seeds)
                for (situation, _, metric), seeds in result.values().items()
                if (situation, metric) == (column.situation, column.metric)
            )
            for result in results.values()
        )
        of[column.head] = ranks({name: score(result, column, points) for name, result in results.items()})
    heads = [column.head for column in COLUMNS]
    mean = {name: statistics.mean(of[head][name] for head in heads) for name in names}
    lines = [
        f"| controller | {' | '.join([*BULK, *heads])} | mean of the applications |",
        "|---|" + "---|" * (len(BULK) + len(heads) + 1),
    ]
    for name in sorted(names, key=lambda name: mean[name]):
        row = [f"{of[head][name]:g}" for head in (*BULK, *heads)]
        lines.append(f"| `{name}` | {' | '.join(row)} | {mean[name]:.1f} |")
    for head in BULK:
        x = [of[head][name] for name in names]
        row = [f"{correlation(x, [of[other][name] for name in names]):.2f}" for other in (*BULK, *heads)]
        whole = correlation(x, [mean[name] for name in names])
        lines.append(f"| *correlation with {head}* | {' | '.join(row)} | {whole:.2f} |")
    begin, end = "<!-- ranks -->\n", "<!-- end of ranks -->"
    page = PAGE.read_text(encoding="utf-8")
    if begin not in page or end not in page:
        raise SystemExit(f"{PAGE}: {begin.strip()} or {end} is missing")
    text = page.partition(begin)[0] + begin + "\n".join([*lines, ""]) + end + page.partition(end)[2]
    PAGE.write_text(text, encoding="utf-8")
    draw(names, of[BULK[0]], mean)
    moved = sorted(names, key=lambda name: mean[name] - of[BULK[0]][name])
    print("rise:", ", ".join(f"{name} {of[BULK[0]][name]:g} -> {mean[name]:.1f}" for name in moved[:NAMED]))
    print("fall:", ", ".join(f"{name} {of[BULK[0]][name]:g} -> {mean[name]:.1f}" for name in moved[-NAMED:]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
