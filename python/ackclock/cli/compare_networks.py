"""The comparison of controllers on networks, for `ackclock compare --control`."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.table import Table

from ackclock.base import tables
from ackclock.base.files import check_folder, save_figure
from ackclock.base.si import estimate, prefixed, value
from ackclock.base.text import fail, interrupted, say
from ackclock.cli.console import counted_progress, wide_console

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from matplotlib.figure import Figure

    from ackclock.apps.comparison import Comparison, RivalsShare, Row
    from ackclock.apps.trials import Trials
    from ackclock.stats import Estimate


@dataclass(frozen=True)
class Outputs:
    """What a comparison or a ranking prints and writes."""

    as_json: bool = False
    plot: Path | None = None
    export: Path | None = None

    def draw(self, make: Callable[[], Figure], nothing: str) -> None:
        """Draw the figure, unless there is nothing to draw (why, else empty), and say which files were written."""
        from ackclock.draw.style import fitted

        if self.plot is not None and nothing:
            say(f"not written: {self.plot}: {nothing}", error=True)
        elif self.plot is not None:
            save_figure(fitted(make, None), self.plot)
            say(f"written: {self.plot}", error=True)
        if self.export is not None:
            say(f"written: {self.export}", error=True)


def compare_networks(
    trials: Trials,
    named: Sequence[str],
    metrics: Sequence[str],
    tolerance: float,
    outputs: Outputs,
    *,
    early: bool,
    gate: bool,
) -> int:
    """Compare controllers on networks; returns the exit status."""
    from ackclock.apps import comparison, sequential

    check_folder(trials.out)
    try:
        stages = len(sequential.stages(trials.seeds, early=early))
        with counted_progress("part", stages * len(trials.files)) as progress:
            result = comparison.compare(
                trials, named, metrics=metrics, tolerance=tolerance, early=early, progress=progress
            )
    except KeyboardInterrupt:
        return interrupted(trials.out)
    if result.rows:
        comparison.save(result, trials)
    if outputs.export is not None:
        tables.write(comparison.columns(result, si=outputs.export.suffix == ".csv"), outputs.export)
    for reason in (*result.refused, *result.remarks):
        say(reason, error=outputs.as_json or not result.rows)
    if outputs.as_json:
        print(json.dumps([_plain(row, result.kept_in(row)) for row in result.rows], allow_nan=False))
    elif result.rows:
        _print(result, trials)
    nothing = "" if result.rows else "no network has values of two controllers"
    outputs.draw(lambda: comparison.draw(result), nothing)
    if nothing:
        _status(result, gate=False)
        return fail(f"nothing was compared: {nothing}", 1)
    return _status(result, gate=gate)


def _print(result: Comparison, trials: Trials) -> None:
    """Print the table of a comparison, and what it says."""
    wide_console().print(_table(result))
    ratio = f"ratio: {result.first} over the other, paired by seed, with 95 % interval (not corrected)"
    say(f"{_seeds(result, trials)}; {ratio}.")
    stages = f", at all stages ({' and '.join(map(str, result.stages))} seeds) together" if result.stages else ""
    say(f"Verdicts: at most 5 % of the differences are false over {len(result.rows)} comparisons{stages}.")
    for share in filter(None, map(result.kept_in, result.rows)):
        part = f"{estimate(share.part)} of the goodput that they have beside {result.standard}"
        say(f"{share.network}: beside {share.control} the other flows keep {part}.")
    folders = ", ".join(str(trials.out / name) for name in dict.fromkeys(row.network for row in result.rows))
    say(f"The runs (ackclock results FOLDER): {folders}")


def _seeds(result: Comparison, trials: Trials) -> str:
    """The number of seeds, and the smaller one of pairs of controllers whose differences were certain early."""
    fewest, largest = result.seeds
    if not result.stages or fewest == trials.seeds:
        return f"{trials.seeds} seeds"
    numbers = f"{fewest} to {largest}" if fewest < largest else f"{fewest} of {trials.seeds}"
    return f"{numbers} seeds: more only where a difference was not certain (--all-seeds runs all)"


def _status(result: Comparison, *, gate: bool) -> int:
    """Print how runs have failed, and with `gate` what is worse; returns the exit status."""
    for reason in result.failed:
        fail(reason, 1)
    worse = _gate(result) if gate else 0
    return 1 if result.failed else worse


def _gate(result: Comparison) -> int:
    """Exit status 1, with the reasons, if the first controller is worse, or could not be compared."""
    wrong = [
        f"{row.network}: {row.metric.words}: {result.first} is worse than {row.other}"
        for row in result.rows
        if row.verdict == "worse"
    ]
    wrong += [f"{row.network}: {row.metric.words}: too few pairs" for row in result.rows if row.verdict == "too few"]
    wrong += [reason for reason in result.refused if f": {result.first} was not run:" in reason]
    if not result.rows:
        wrong.append("nothing was compared")
    for reason in wrong:
        fail(f"--gate: {reason}", 1)
    return 1 if wrong else 0


def _plain(row: Row, share: RivalsShare | None) -> dict[str, Any]:
    """A row as JSON data, in SI units."""
    plain: dict[str, Any] = {
        "network": row.network,
        "metric": row.metric.name,
        "other": row.other,
        "first_mean": row.of_first.value,
        "other_mean": row.of_other.value,
        "ratio": _ends(row.ratio),
        "pairs": row.ratio.n,
        "p": row.p,
        "verdict": row.verdict,
    }
    return plain if share is None else {**plain, "rivals_kept": {"control": share.control, "part": _ends(share.part)}}


def _ends(e: Estimate) -> list[float | None] | None:
    """Value and interval; None for what is not a number."""
    return [e.value, e.low, e.high] if math.isfinite(e.value) else None


def _means(row: Row) -> list[float]:
    return [row.of_first.value, row.of_other.value]


def _table(result: Comparison) -> Table:
    """One line for each network, metric and other controller."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for head in ("network", "metric", result.first, "other", "", "ratio [95 %]", ""):
        table.add_column(head, justify="right" if head in {result.first, ""} else "left", no_wrap=head != "metric")
    seen = ("", "", "")
    for row in result.rows:
        factor, unit = prefixed(row.metric.unit, _means(row))
        of_first, of_other = (f"{value(factor * mean)} {unit}".rstrip() for mean in _means(row))
        place = (row.network, row.metric.name, of_first)
        named = (row.network, row.metric.name.replace("_", " ")) if place[:2] != seen[:2] else ("", "")
        shown = (*named, of_first if place != seen else "")  # with fewer seeds the mean is another one
        ratio = estimate(row.ratio) if math.isfinite(row.ratio.value) else "-"
        table.add_row(*shown, row.other, of_other, ratio, row.verdict)
        seen = place
    return table
