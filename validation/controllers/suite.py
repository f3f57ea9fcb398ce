"""The second table and figure of docs/controllers.md: every controller in the suite, beside CUBIC.

    python validation/controllers/suite.py OUT [JOBS]    a minute a controller; OUT keeps the results: resumable

Each controller but those of routers runs through `tcpeval` with the seeds of `--quick`.
"""

from __future__ import annotations

import math
import statistics
import sys
from pathlib import Path

from table import PAGE, ROOT, ROUTERS, replaced, rows_of_dots

from ackclock import stats
from ackclock.apps import catalog
from ackclock.apps.suite.folder import find
from ackclock.apps.suite.measures import SUITE_METRICS
from ackclock.apps.suite.overview import ASPECTS, SPEEDS, Aspect, Cell, heat_map
from ackclock.apps.suite.result import SuiteResult, read
from ackclock.apps.suite.run import run
from ackclock.study.executors import Local

FIGURE = ROOT / "docs" / "figures" / "controllers-suite.svg"
SUITE, REFERENCE = "tcpeval", "cubic"
LIMIT = 8.0
"""Ratios beyond it, or below its inverse, are drawn at the border."""
RATIOS = [aspect for aspect in ASPECTS if not aspect.points]
DELAY = next(aspect for aspect in ASPECTS if aspect.name == "delay")

Cells = dict[str, list[Cell]]
"""By the name of the aspect: a comparison for each situation."""


def cells(result: SuiteResult, reference: SuiteResult) -> Cells:
    """A controller against the reference."""
    compared = heat_map(find(SUITE).situations, result, {REFERENCE: reference})
    of: Cells = {aspect.name: [] for aspect in compared.aspects}
    for _, groups in compared.rows:
        for aspect, [cell] in zip(compared.aspects, groups, strict=True):
            of[aspect.name] += [] if cell is None or SUITE_METRICS[cell.metric].better == 0 else [cell]
    return of


def ratio(aspect: Aspect, cell: Cell) -> float:
    """The ratio of a comparison. For others more is better, so the ratio of a delay is inverted there."""
    inverted = aspect is not DELAY and SUITE_METRICS[cell.metric].better < 0 and cell.metric not in SPEEDS
    return 1 / cell.estimate.value if inverted else cell.estimate.value


def geometric(ratios: list[float]) -> float:
    """The geometric mean."""
    return stats.geometric([math.log(ratio) for ratio in ratios]).value


def bounded(x: float) -> float:
    """A ratio as it is drawn."""
    return min(max(x, 1 / LIMIT), LIMIT)


def draw(rows: dict[str, Cells], families: dict[str, str]) -> None:
    """For each controller a dot for each situation, and a mark at the geometric mean."""
    titles = [f"{aspect.name}, ratio to CUBIC's" for aspect in RATIOS]
    with rows_of_dots(FIGURE, titles, families) as axes:
        for aspect, axis in zip(RATIOS, axes, strict=True):
            for at, name in enumerate(families):
                ratios = [ratio(aspect, cell) for cell in rows[name][aspect.name]]
                dots = [bounded(x) for x in ratios]
                axis.plot(dots, [at] * len(dots), "o", color="tab:blue", alpha=0.3, markersize=4, markeredgewidth=0)
                if ratios:
                    axis.plot(bounded(geometric(ratios)), at, "|", color="black", markersize=9, markeredgewidth=1.8)
            axis.axvline(1, color="0.6", linewidth=0.8, zorder=0)
            axis.set_xscale("log", base=2)
            axis.set_xlim(1 / LIMIT / 1.15, LIMIT * 1.15)
            axis.set_xticks([1 / LIMIT, 0.5, 1, 2, LIMIT], [f"1/{LIMIT:.0f}", "1/2", "1", "2", f"{LIMIT:.0f}"])


def text(name: str, family: str, compared: Cells, refused: int) -> str:
    """A row of the table: mean ratio or difference of each aspect, and the numbers of situations better and worse."""
    columns = []
    for aspect in ASPECTS:
        of = compared[aspect.name]
        if not of:
            columns.append("")
            continue
        if aspect.points:
            mean = f"{statistics.mean(cell.estimate.value for cell in of):+.1f}"
        else:
            mean = f"{geometric([ratio(aspect, cell) for cell in of]):.2f}"
        columns.append(f"{mean} ({sum(cell.tone > 0 for cell in of)}, {sum(cell.tone < 0 for cell in of)})")
    return f"| `{name}` | {family} | {' | '.join(columns)} | {refused or ''} |"


def main(out: Path, jobs: int) -> None:
    """Run what is missing, and write the table and the figure."""
    suite = find(SUITE)
    entries = [entry for entry in catalog.entries("controllers") if entry["name"] not in ROUTERS]
    results = {}
    for name in [REFERENCE, *(entry["name"] for entry in entries)]:
        if not (out / name / "suite.json").is_file():
            run(suite, name, out / name, Local(jobs), quick=True, page=False)
        results[name] = read(out / name)
    rows: dict[str, Cells] = {}
    lines = [
        f"| controller | family | {' | '.join(aspect.name for aspect in ASPECTS)} | refused |",
        "|---|---|" + "---|" * (len(ASPECTS) + 1),
    ]
    for entry in entries:
        name = entry["name"]
        result = results[name]
        for situation, error in result.failed:
            print(f"{name}: {situation}: {error}", file=sys.stderr)
        rows[name] = cells(result, results[REFERENCE])
        lines.append(text(name, entry["family"], rows[name], len(result.refused)))
        print(lines[-1], flush=True)
    PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), "suite", lines), encoding="utf-8")
    draw(rows, {entry["name"]: entry["family"] for entry in entries})


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
