"""`ackclock suite`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.table import Table

from ackclock.apps.controls import check_controls
from ackclock.apps.suite.measures import SUITE_METRICS
from ackclock.base import junit as junit_files
from ackclock.base.files import BadInput, check_targets, write_text
from ackclock.base.names import folder_name
from ackclock.base.si import estimate, value
from ackclock.base.text import fail, interrupted
from ackclock.cli.compare_folders import changes_table
from ackclock.cli.console import counted_progress, wide_console
from ackclock.cli.options import AllowCode, Engine, Jobs, Overrides, TimeLimit
from ackclock.cli.verdicts import as_markdown, cases, changed_checks, print_checks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ackclock.apps.suite.folder import Suite
    from ackclock.apps.suite.result import SuiteResult
    from ackclock.base.plain_console import PlainConsole

COMPARISON = "comparison"
"""The name of the suite of the papers' networks, which is in their folder."""
EXAMPLE = "ackclock suite tcpeval --control mine.py:Mine --quick"


def command(
    name: str,
    /,
    *,
    control: str,
    out: Path | None = None,
    quick: bool = False,
    jobs: Jobs = None,
    time_limit: TimeLimit = None,
    engine: Engine = "local",
    on: str = "tcp",
    overrides: Overrides = None,
    gate: bool = False,
    markdown: Path | None = None,
    junit: Path | None = None,
    every: Annotated[bool, Parameter(name="--all")] = False,
    allow_code: AllowCode = False,
) -> int:
    """Run a controller in the situations of a suite: a page.

    It can be repeated after an interruption: finished runs are kept.

    Parameters
    ----------
    name
        Name of the suite (`ackclock list suites`; comparison: the networks of the papers), or a folder with a
        suite.toml.
    control
        A controller's name, FILE.py:CLASS, FILE.wasm, or a table such as '{ kind = "vegas", alpha = 1 }'.
    out
        Folder for page, measures and runs. Default: out/suites/NAME/CONTROL; out/comparison/CONTROL for the suite
        comparison, whose page out/comparison/index.html then has the controller too.
    quick
        Fewer seeds; the page says so.
    jobs
        Number of threads (CPUs of a local Ray). Default: all.
    time_limit
        Longest time of one run with a controller in Python, such as 60s; a run that takes longer has failed. 0: no
        limit. Default: 10 minutes.
    engine
        Executor: this machine, or a Ray cluster.
    on
        Substrate: tcp or quic; a suite of checks also runs on stack:FILE, and in real time on udp, linux, linux:NAME.
    overrides
        `KEY=VALUE`: another value of a key in the scenarios of all situations, which can change what checks show.
    gate
        Exit with status 1 if a metric is worse, or a check that passed does not pass any more, than in the earlier
        results of the folder, which are kept then; without earlier ones with those of the package for this controller.
    markdown
        File for the verdicts, or with --gate the changes, as a table in Markdown.
    junit
        File for the verdicts as JUnit XML.
    every
        Print every metric of every situation instead of the comparison with other controllers.
    allow_code
        Allow the suite's scenarios to name code, and base files (`extends`) outside the suite's folder.

    """
    from ackclock.apps.papers.comparison_page import comparison_page
    from ackclock.apps.papers.controller_comparison import read_comparison
    from ackclock.apps.papers.folder import comparison_folder
    from ackclock.apps.suite.folder import find
    from ackclock.apps.suite.run import run
    from ackclock.base.shipped import is_shipped
    from ackclock.study.executors import ENGINES

    check_targets([file for file in (markdown, junit) if file is not None])
    check_controls([control], allow_code=allow_code)
    networks = comparison_folder() if name == COMPARISON else None
    suite = find(name if networks is None else str(networks))
    compared = networks is not None and is_shipped(networks)
    base = Path("out") / COMPARISON if compared else Path("out") / "suites" / suite.key
    target = out or base / folder_name(control if on == "tcp" else f"{control} {on}")
    if on not in {"tcp", "quic"} and not suite.has_checks:
        raise BadInput(f"--on {on}: the suite {suite.key} has no checks, so it runs on tcp and quic only")
    allow_code = allow_code or compared  # its scenarios extend networks in the folders of the papers
    earlier = _earlier(suite, target, control) if gate else None
    if earlier is not None:
        _check_alike(earlier, quick=quick, on=on, overrides=overrides or [])
    # The earlier results stay as they are, so that a gate that fails does so again.
    folder = target.with_name(f"{target.name}-gate") if gate else target
    try:
        with counted_progress("situation", len(suite.situations)) as progress:
            executor = ENGINES[engine](jobs, time_limit)
            result = run(
                suite,
                control,
                folder,
                executor,
                quick=quick,
                progress=progress,
                allow_code=allow_code,
                on=on,
                overrides=overrides or (),
            )
    except KeyboardInterrupt:
        return interrupted(folder)
    console = wide_console()
    changes = changed_checks(earlier, result) if earlier is not None else []
    if suite.has_checks:
        print_checks(console, suite, result, every=every)
    if result.measures and every:
        _all_results(console, result)
    elif result.measures and not suite.has_checks:
        _overview(console, suite, result)
    if markdown is not None:
        write_text(markdown, as_markdown(suite, result, changes if gate else None))
    if junit is not None:
        junit_files.write(junit, f"{suite.key} {control}", cases(suite, result))
    for situation, reason in result.refused.items():
        console.print(f"{situation}: not tried: {reason}")
    for run_id, error in result.failed[:5]:
        console.print(f"failed: run {run_id}: {error}")
    console.print(f"{result.metadata.runs:,} runs")
    console.print(f"written: {result.folder / 'index.html'}", soft_wrap=True)
    if compared and out is None and not gate:
        page = base / "index.html"
        write_text(page, comparison_page(read_comparison(suite, base)))
        console.print(f"written: {page}", soft_wrap=True)
    worse = _worse(earlier, result) if earlier is not None else []
    lost = [change for change in changes if change.is_worse]
    for reason in [*worse, *map(str, lost)]:
        fail(f"--gate: {reason}", 1)
    # A gate is about changes; without it the failed checks of the document set the status.
    wrong = bool(worse or lost) if gate else any(check.failed for check in result.checks)
    return 1 if result.failed or wrong else 0


def _earlier(suite: Suite, folder: Path, control: str) -> SuiteResult:
    """The results that a gate compares with. Raises BadInput if there are none."""
    from ackclock.apps.suite.baselines import shipped
    from ackclock.apps.suite.result import read

    if (folder / "suite.json").is_file():
        return read(folder)
    packaged, _ = shipped(suite)
    if control in packaged:
        return packaged[control]
    raise BadInput(f"--gate: {folder} has no earlier results of {control} to compare with; run it once without --gate")


def _check_alike(earlier: SuiteResult, *, quick: bool, on: str, overrides: Sequence[str]) -> None:
    """Raise BadInput if the earlier results are of other runs."""
    about = earlier.metadata
    before, now = (about.on, about.overrides), (on, tuple(overrides))
    if before != now or (earlier.checks and about.quick != quick):
        raise BadInput(
            f"--gate: the earlier results of {earlier.folder} were made with other options of --on, --set or --quick; "
            "repeat the command without --gate first"
        )


def _worse(earlier: SuiteResult, result: SuiteResult) -> list[str]:
    """The metrics that are worse than before, or missing."""
    from ackclock.apps.suite.difference import changes_between

    if not earlier.measures and not result.measures:
        return []
    changed = changes_between(earlier, result, same_form=False)
    wrong = (one for one in changed if one.verdict in {"worse", "missing"})
    places = ((one, f"{one.situation}, {one.point}" if one.point else one.situation) for one in wrong)
    return [
        f"{place}: {change.metric} is {change.verdict}: {value(change.a, 4)}, now {value(change.b or 0, 4)}"
        for change, place in places
    ]


def _overview(console: PlainConsole, suite: Suite, result: SuiteResult) -> None:
    """Print the comparison with other controllers: numbers of situations, and the largest differences."""
    from ackclock.apps.suite.baselines import baselines
    from ackclock.apps.suite.difference import largest
    from ackclock.apps.suite.overview import heat_map
    from ackclock.apps.suite.page import against

    others = baselines(suite, result)
    console.print(f"{result.metadata.control}: {result.metadata.title}")
    if others.reference is None:
        console.print("There are no results of other controllers to compare with; --all prints every metric.")
        return
    heat = heat_map(suite.situations, result, others.results)
    table = Table(box=None, pad_edge=False)
    table.add_column("against")
    for head in ("better", "worse", "no clear difference"):
        table.add_column(head, justify="right")
    for name in heat.names:
        better, worse, compared = heat.count(name)
        table.add_row(name, str(better), str(worse), str(compared - better - worse))
    console.print(table)
    console.print("(cells of the page's heat map: throughput, delay, loss and fairness of each situation)")
    for warning in others.warnings:
        console.print(f"note: {warning}")
    top = largest(against(others.reference, result))
    if top:
        title = f"Largest differences, {others.reference.metadata.control} to {result.metadata.control}"
        console.print(changes_table(console, title, top))
    console.print("--all prints every metric; the page has all tables.")


def _all_results(console: PlainConsole, result: SuiteResult) -> None:
    """Print the results of a controller in a suite, one row for each point."""
    table = Table(
        title=f"{result.metadata.control}: {result.metadata.title}", title_justify="left", box=None, pad_edge=False
    )
    for head in ("situation", "point", "mean [95 % interval] of each metric"):
        table.add_column(head, overflow="fold")
    lines: dict[tuple[str, str], list[str]] = {}
    for (situation, point, metric), e in result.estimates().items():
        text = f"{metric} {estimate(e)} {SUITE_METRICS[metric].unit}".rstrip()
        lines.setdefault((situation, point), []).append(text)
    for (situation, point), metrics in lines.items():
        alone = " (deterministic, n = 1)" if (situation, point) in result.deterministic else ""
        table.add_row(situation, point + alone, "; ".join(metrics))
    console.print(table)
