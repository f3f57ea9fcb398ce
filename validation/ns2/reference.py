"""Comparison of Ackclock with stored runs of ns-2: shared functions of this folder."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ackclock import stats

TCL = Path(__file__).parent / "tcl"
SEEDS = range(1, 11)

Compared = tuple[stats.Estimate, stats.Estimate, float | None]


def run(script: str, keys: Mapping[str, object], timeout_s: float = 300) -> dict[str, Any]:
    """The report of one run of `tcl/<script>`. Raises subprocess.TimeoutExpired if the run does not end."""
    command = ["ns", str(TCL / script), *(f"{key}={value}" for key, value in keys.items())]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=True)
    found: dict[str, Any] = json.loads(done.stdout[done.stdout.index('{"family"') :].splitlines()[0])
    return found


def missing() -> bool:
    """Whether ns-2 is not installed. If so, print a message."""
    if shutil.which("ns"):
        return False
    print("ns-2 is not installed (Debian: apt-get install ns2)", file=sys.stderr)
    return True


def store(
    path: Path, fields: Sequence[str], one: Callable[..., Sequence[object] | None], jobs: Iterable[tuple[object, ...]]
) -> int:
    """Write a row for each job, as many at a time as there are cores; `one` gives its values, or None to leave it out.

    Returns the exit status of a program: 1 where ns-2 is not there.
    """
    if missing():
        return 1
    jobs = list(jobs)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = list(pool.map(lambda job: one(*job), jobs))
    for job, row in zip(jobs, rows, strict=True):
        if row is None:
            print(f"left out: {job}", file=sys.stderr)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(fields)
        writer.writerows(row for row in rows if row is not None)
    return 0


def compare(
    stored: Path,
    measures: Iterable[str],
    cases: Iterable[Any],
    ours: Callable[[Any, int], Mapping[str, float]],
    seeds: Sequence[int] = SEEDS,
) -> dict[tuple[str, str], Compared]:
    """By case (whose name is a column of the stored table) and measure."""
    with open(stored, newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    found = {}
    for case in cases:
        mine = [ours(case, seed) for seed in seeds]
        for measure in measures:
            theirs = [float(row[measure]) for row in table if case.name in row.values()]
            found[case.name, measure] = _welch([run[measure] for run in mine], theirs)
    return found


def _welch(ours: list[float], theirs: list[float]) -> Compared:
    """Ours, ns-2's, and the p-value of Welch's test that they differ (None: nothing varies)."""
    from scipy.stats import ttest_ind

    varies = len(set(ours)) > 1 or len(set(theirs)) > 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of samples that hardly vary
        p = float(ttest_ind(ours, theirs, equal_var=False).pvalue) if varies else None
    return stats.mean(ours), stats.mean(theirs), p


def markdown(first: str, measures: Mapping[str, str], found: Mapping[tuple[str, str], Compared]) -> list[str]:
    """Lines of a table for docs/validation.md: a row for each case, a column for each measure (with its unit)."""
    heads = [
        f"{measure} ({unit}): ours, ns-2" if unit else f"{measure}: ours, ns-2" for measure, unit in measures.items()
    ]
    lines = [f"| {first} | " + " | ".join(heads) + " |", "|---" * (len(measures) + 1) + "|"]
    for name in dict.fromkeys(name for name, _ in found):
        cells = []
        for measure in measures:
            a, b, _ = found[name, measure]
            cells.append(f"{a.value:.4g} ± {a.half_width or 0:.2g}, {b.value:.4g} ± {b.half_width or 0:.2g}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines
