"""`ackclock paper`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from ackclock import shipped
from ackclock.cli.console import named_progress, papers_progress, wide_console
from ackclock.cli.options import AllowCode, Engine, Jobs, TimeLimit
from ackclock.files import BadInput
from ackclock.si import digits_of
from ackclock.text import fail, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ackclock.papers.folder import Paper
    from ackclock.papers.parallel import Options
    from ackclock.papers.reproduce import Reproduction

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
    """Reproduce a paper: run its studies and write a page with tables, figures and verdicts on claims. Resumable.

    The Python files of the paper's folder are run.

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
        Also write the verdicts into the README of the paper's folder.
    allow_code
        Allow papers that did not come with this program to run their Python files.

    """
    from ackclock import papers
    from ackclock.papers.parallel import Options
    from ackclock.papers.reproduce import readme as write_readme
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
        return fail(f"interrupted; finished runs are kept in {out / one.key}; repeat the command to resume", 130)
    reproduction(reproduction_of_paper)
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
    from ackclock import papers
    from ackclock.papers.findings import most_interesting, sentence
    from ackclock.papers.parallel import reproduce_all
    from ackclock.papers.reproduce import readme as write_readme

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
        return fail(f"interrupted; finished runs are kept in {options.out}; repeat the command to resume", 130)
    for one_paper in ended.papers:
        _one_line(one_paper, max(len(one.key) for one in wanted))
        if readme:
            write_readme(one_paper.paper, one_paper)
    papers.index(options.out, ended.papers, ended.comparison, quick=options.quick)
    findings = most_interesting(ended.papers)
    if findings:
        say("The claims that differ most from our measurements:")
        for number, finding in enumerate(findings, 1):
            say(f"{number}. {sentence(finding)}")
    say(f"written: {(options.out / 'index.html').resolve()}")
    for error in ended.errors:
        fail(error, 1)
    return 1 if ended.failed else 0


def _one_line(result: Reproduction, width: int) -> None:
    """Print the number of verdicts of each direction, the time, and the failed runs."""
    counts = Counter(v.counted for v in result.verdicts)
    verdicts = ", ".join(f"{count} {direction}" for direction, count in counts.most_common())
    cost = f"{result.runs:,} runs, {result.seconds:.0f} s"
    say(f"{result.paper.key:{width}}  {len(result.verdicts)} claims: {verdicts} ({cost})")
    for run_id, error in result.failed[:5]:
        say(f"failed: run {run_id}: {error}")


def reproduction(result: Reproduction) -> None:
    """Print the verdicts of a paper and the path of its page."""
    console = wide_console()
    table = Table(title=result.paper.title, title_justify="left", box=None, pad_edge=False)
    for head in ("claim", "direction", "size", "what", "value", "95 % interval", "n", "interpretations"):
        table.add_column(head, justify="right" if head in {"value", "95 % interval", "n"} else "left")
    for v in result.verdicts:
        j = v.taken
        shown = "" if j.low is None or j.high is None else f"{digits_of(j.low)} to {digits_of(j.high)}"
        value = "" if j.value is None else digits_of(j.value)
        mark = " (weak)" if v.weak else ""
        table.add_row(v.claim.id, v.direction + mark, v.size or "", v.claim.metric, value, shown, str(j.n), v.strip)
    console.print(f"calibrated: {result.calibration.chosen.label}")
    console.print(table)
    if any(v.weak for v in result.verdicts):
        console.print("weak: not significant after Holm's correction over all claims")
    console.print(f"{result.runs:,} runs, {result.seconds:.0f} s")
    for run_id, error in result.failed[:5]:
        console.print(f"failed: run {run_id}: {error}")
    console.print(f"written: {result.folder / 'index.html'}", soft_wrap=True)
