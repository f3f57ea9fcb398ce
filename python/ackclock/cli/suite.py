"""`ackclock suite`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from ackclock.cli.console import named_progress, wide_console
from ackclock.cli.options import AllowCode, Engine, Jobs
from ackclock.suite.measures import METRICS
from ackclock.text import fail

if TYPE_CHECKING:
    from ackclock.suite.result import SuiteResult

EXAMPLE = "ackclock suite tcpeval --control mine.py:Mine --quick"


def command(
    name: str,
    /,
    *,
    control: str,
    out: Path | None = None,
    quick: bool = False,
    jobs: Jobs = None,
    engine: Engine = "local",
    allow_code: AllowCode = False,
) -> int:
    """Run a controller in every situation of a suite and write one page. Resumable.

    Parameters
    ----------
    name
        Name of the suite (tcpeval), or a folder with a suite.toml.
    control
        A controller's name, FILE.py:CLASS, or a table such as '{ kind = "vegas", alpha = 1 }'.
    out
        Folder for page, measures and runs. Default: out/suites/NAME/CONTROL.
    quick
        Fewer seeds; the page says so.
    jobs
        Number of threads (CPUs of a local Ray). Default: all.
    engine
        Executor: this machine, or a Ray cluster.
    allow_code
        Allow scenario files to name code and base files (`extends`) outside their own folder.

    """
    from ackclock.study.executors import ENGINES
    from ackclock.suite.folder import find
    from ackclock.suite.run import folder_name, run

    found = find(name)
    target = out or Path("out") / "suites" / found.key / folder_name(control)
    try:
        with named_progress() as progress:
            made = run(found, control, target, ENGINES[engine](jobs), quick=quick, progress=progress)
    except KeyboardInterrupt:
        return fail(f"interrupted; finished runs are kept in {target}; repeat the command to resume", 130)
    suite_results(made)
    return 1 if made.failed else 0


def suite_results(made: SuiteResult) -> None:
    """Print the results of a controller in a suite, one row for each point, and the path of its page."""
    console = wide_console()
    table = Table(
        title=f"{made.metadata.control}: {made.metadata.title}", title_justify="left", box=None, pad_edge=False
    )
    for head in ("situation", "point", "mean [95 % interval] of each metric"):
        table.add_column(head, overflow="fold")
    lines: dict[tuple[str, str], list[str]] = {}
    for (situation, point, metric), e in made.estimates().items():
        shown = "" if e.low is None else f" [{e.low:.3g}, {e.high:.3g}]"
        text = f"{metric} {e.value:.3g}{shown} {METRICS[metric].unit}".rstrip()
        lines.setdefault((situation, point), []).append(text)
    for (situation, point), metrics in lines.items():
        alone = " (deterministic, n = 1)" if (situation, point) in made.deterministic else ""
        table.add_row(situation, point + alone, "; ".join(metrics))
    console.print(table)
    for situation, reason in made.refused.items():
        console.print(f"{situation}: not tried: {reason}")
    for run_id, error in made.failed[:5]:
        console.print(f"failed: run {run_id}: {error}")
    console.print(f"{made.metadata.runs:,} runs")
    console.print(f"written: {made.folder / 'index.html'}", soft_wrap=True)
