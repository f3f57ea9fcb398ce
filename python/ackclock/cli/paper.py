"""`ackclock paper`."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from ackclock.base import shipped
from ackclock.base.files import BadInput
from ackclock.base.text import fail, interrupted, say
from ackclock.cli.console import named_progress, papers_progress, wide_console
from ackclock.cli.options import AllowCode, Engine, Jobs, TimeLimit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ackclock.apps.papers.folder import Paper
    from ackclock.apps.papers.parallel import Options
    from ackclock.apps.papers.reproduction import Reproduction

EXAMPLE = "ackclock paper ca-artt --out out --quick"


def command(
    key: str,
    /,
    *,
    out: Path = Path("out"),
    quick: bool = False,
    jobs: Jobs = None,
    time_limit: TimeLimit = None,
    engine: Engine = "local",
    readme: bool = False,
    allow_code: AllowCode = False,
) -> int:
    """Reproduce a paper: tables, figures, verdicts on claims.

    Its studies run, and a page is written. It can be repeated after an interruption. The Python files of the paper's
    folder are run.

    Parameters
    ----------
    key
        Key of the paper (see `ackclock list papers`). The key all reproduces every paper, two at a time, and
        compares all controllers.
    out
        Folder; the page is KEY/index.html in it. Default: out.
    quick
        Fewer seeds; the page says so.
    jobs
        Number of threads (CPUs of a local Ray). Default: all.
    time_limit
        Longest time of one run with a controller in Python, such as 60s; a run that takes longer has failed. 0: no
        limit. Default: 10 minutes.
    engine
        Executor: this machine, or a Ray cluster.
    readme
        Also write the verdicts into the README of the paper's folder, and the stored full form (full.json) beside it.
    allow_code
        Allow papers that did not come with this program to run their Python files.

    """
    os.environ.setdefault("POLARS_MAX_THREADS", "1")  # thousands of small tables: more threads cost, and gain nothing
    from ackclock.apps import papers
    from ackclock.apps.papers.parallel import Options
    from ackclock.apps.papers.reproduce import readme as write_readme
    from ackclock.study.executors import ENGINES

    if readme and quick:
        raise BadInput("--readme: needs the full reproduction; omit --quick")
    if key == "all":
        return _all_papers(Options(out, engine, jobs, quick, time_limit), readme=readme, allow_code=allow_code)
    one = papers.find(key)
    _check_code([one], allow_code=allow_code)
    try:
        with named_progress() as progress:
            reproduction_of_paper = papers.reproduce(
                one, out, ENGINES[engine](jobs, time_limit), quick=quick, progress=progress
            )
    except KeyboardInterrupt:
        return interrupted(out / one.key)
    print_verdicts(reproduction_of_paper)
    if readme:
        write_readme(one, reproduction_of_paper)
    return 1 if reproduction_of_paper.failed else 0


def _check_code(wanted: Sequence[Paper], *, allow_code: bool) -> None:
    """Raise BadInput for a paper from elsewhere, whose code nobody has allowed."""
    for one in wanted:
        if not allow_code and not shipped.is_shipped(one.folder):
            raise BadInput(
                f"{one.folder}: the paper did not come with this program, and its Python files would be run; give "
                "--allow-code if you trust it"
            )


def _all_papers(options: Options, *, readme: bool, allow_code: bool) -> int:
    """Reproduce every paper and write the index page."""
    from ackclock.apps import papers
    from ackclock.apps.papers.parallel import reproduce_all
    from ackclock.apps.papers.reproduce import readme as write_readme

    wanted = [papers.find(one) for one in papers.known()]
    if not wanted:
        raise BadInput("no papers: neither in the folder papers here nor in the package; install the package again")
    _check_code(wanted, allow_code=allow_code)
    folder = papers.comparison_folder()
    names = [*(one.key for one in wanted), *(["comparison"] if folder else [])]
    try:
        with papers_progress(names) as progress:
            ended = reproduce_all(wanted, folder, options, progress)
    except KeyboardInterrupt:
        return interrupted(options.out)
    if readme:
        for one_paper in ended.papers:
            write_readme(one_paper.paper, one_paper)
    papers.index(options.out, ended.papers, ended.comparison)
    _print_overview(ended.papers, options)
    for error in ended.errors:
        fail(error, 1)
    return 1 if ended.failed else 0


def _print_overview(results: Sequence[Reproduction], options: Options) -> None:
    """Print the number of verdicts of each kind, a line for each paper, and where to go on."""
    from ackclock.apps.papers.page import plain_sentence
    from ackclock.apps.papers.verdict import WORDS
    from ackclock.base.link import PAGE

    total: Counter[str] = sum((result.counts for result in results), Counter())
    form = "quick form" if options.quick else "full form"
    counts = ", ".join(f"{total[word.name]} {word.name}" for word in WORDS)
    say(f"{len(results)} papers, {sum(total.values())} statements ({form}): {counts}")
    width = max((len(result.paper.key) for result in results), default=0)
    for result in results:
        numbers = "".join(f"{result.counts[word.name]:3} {word.sign}" for word in WORDS)
        say(f"  {result.paper.key:{width}} {numbers}   {plain_sentence(result, result.paper.page.answers)}")
    for result in results:
        _print_failures(result)
        _print_differing(result)
    folder = options.out.resolve()
    say(f"results      {(folder / 'index.html').as_uri()}")
    if (folder / PAGE).is_file():
        say(f"laboratory   {(folder / PAGE).as_uri()}")
    say("your own     ackclock new mine --python")


def _print_failures(result: Reproduction) -> None:
    for run_id, error in result.failed[:5]:
        say(f"failed: run {run_id}: {error}")


def _print_differing(result: Reproduction) -> None:
    """Name the claims whose value is not one that a run of the stored full form can have."""
    from ackclock.apps.papers.numbers import with_unit

    for v in result.differing():
        stored = result.stored(v.claim.id)
        if stored is None:
            continue
        here = f"{result.paper.key} {v.claim.id}: {with_unit(v.claim, v.calibrated.value)} here"
        if stored.single_run is None:
            in_full_form = f"{with_unit(v.claim, stored.value)} in every run of the full form"
        else:
            low, high = (with_unit(v.claim, x) for x in stored.single_run)
            in_full_form = f"single runs of the full form {low} to {high}"
        say(f"differs from the stored full form: {here}, {in_full_form}")


def print_verdicts(result: Reproduction) -> None:
    """Print the verdicts of a paper and the path of its page."""
    from ackclock.apps.papers.numbers import certainty, with_unit

    console = wide_console()
    table = Table(title=result.paper.title, title_justify="left", box=None, pad_edge=False)
    for head in ("claim", "verdict", "statement", "value", "95 % interval", "printed", "full form"):
        table.add_column(head, justify="right" if head in {"value", "95 % interval", "printed"} else "left")
    for v in result.verdicts:
        c, j = v.claim, v.calibrated
        verdict = f"{v.word}: {v.detail}" if v.detail else v.word
        value = "" if j.value is None else with_unit(c, j.value)
        sure = "" if j.value is None else certainty(c, j)
        stored = result.stored(c.id)
        printed = "" if c.expected is None else with_unit(c, c.expected)
        table.add_row(c.id, verdict, c.short, value, sure, printed, stored.verdict if stored else "")
    if result.calibration.cells:
        console.print(f"calibrated: {result.calibration.chosen.label}")
    console.print(table)
    console.print(f"{result.runs:,} runs, {result.seconds:.0f} s")
    _print_failures(result)
    _print_differing(result)
    console.print(f"written: {result.folder / 'index.html'}", soft_wrap=True)
