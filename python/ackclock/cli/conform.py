"""`ackclock conform`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.table import Table

from ackclock import _core
from ackclock.base.files import BadInput, check_folder, check_targets, own_folder, write_text
from ackclock.base.text import fail, say
from ackclock.cli.console import named_progress, wide_console
from ackclock.cli.options import Jobs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ackclock.apps.conform.compare import Report
    from ackclock.apps.conform.stack import Stack

EXAMPLE = "ackclock conform stack.toml --as cubic:rfc9438 --quick"
SEEDS, QUICK_SEEDS, MOST_SEEDS = 20, 5, 1000


def command(
    stack: str,
    /,
    *,
    as_: Annotated[str | None, Parameter(name="--as")] = None,
    control: str | None = None,
    situations: str | None = None,
    seeds: int | None = None,
    quick: bool = False,
    out: Path | None = None,
    junit: Path | None = None,
    strict: bool = False,
    jobs: Jobs = None,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
) -> int:
    """Compare your own stack with a reference.

    The stack runs over simulated networks in virtual time. For each situation: agrees, differs or undecided, by
    tests of equivalence, with the checks that exclude other causes (docs/stacks.md). The exit status is 1 if
    something differs, 3 if the stack cannot be started here, 4 if it fails.

    Parameters
    ----------
    stack
        stack.toml, whose program it runs; FILE.py:CLASS, which it runs; or quinn:CONTROLLER, a controller of the
        laboratory over QUIC, to check the method.
    as_
        The reference, named exactly: reno, cubic:rfc9438, cubic:linux, bbr:v1, bbr3; parameters after commas.
        Default: those that the stack claims.
    control
        The stack's own name of the controller. Default: all that it has, or the one that fits --as.
    situations
        Names with commas, or `list`. Default: all fourteen.
    seeds
        Number of seeds, from 3 on. Default: 20, with --quick 5.
    quick
        Five situations with five seeds.
    out
        Folder of the page, conform.json and the scenarios. Default: out/conform/NAME.
    junit
        Also write the verdicts as JUnit XML.
    strict
        What is undecided sets the exit status to 1 too.
    jobs
        Number of threads; a stack in Python uses one. Default: all cores.
    as_json
        Print conform.json and nothing else.

    """
    from ackclock.apps.conform import compare
    from ackclock.apps.conform import stack as stacks

    if situations == "list":
        return _list()
    named = _named(situations, quick=quick)
    number = seeds if seeds is not None else QUICK_SEEDS if quick else SEEDS
    if not 3 <= number <= MOST_SEEDS:
        raise BadInput(f"--seeds {number}: must be a whole number from 3 to {MOST_SEEDS}")
    if junit is not None:
        check_targets([junit])
    tested = stacks.load(stack)
    pairs = stacks.chosen(tested, control, as_)
    target = check_folder(out or Path("out") / "conform" / _folder_name(tested.name))
    reports = []
    try:
        for theirs, reference in pairs:
            with named_progress() as progress:
                advance = None if as_json else progress(f"{tested.name} {theirs}")
                reports.append(
                    compare.compare(tested, theirs, reference, chosen=named, seeds=number, jobs=jobs, progress=advance)
                )
    except _core.StackFailure as error:
        return fail(f"{tested.name}: {error}", 4)
    line = _repeat(stack, control, as_, situations, seeds, quick=quick)
    files = _write(reports, target, line)
    if junit is not None:
        _junit(junit, tested, reports)
        files.append(junit)
    if as_json:
        print(json.dumps(reports, ensure_ascii=True))
    else:
        for report in reports:
            _print(report)
        for path in files:
            say(f"written: {path}")
    counts = [compare.count(report) for report in reports]
    bad = any(each.get("differs") or (strict and each.get("undecided")) for each in counts)
    return 1 if bad else 0


def _folder_name(name: str) -> str:
    """The name of a folder in `out/conform`."""
    letters = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in name[:64])
    return letters.lstrip(".") or "stack"


def _named(text: str | None, *, quick: bool) -> list[str] | None:
    """The names of the situations; None for all. Raises BadInput if one is unknown."""
    import difflib

    from ackclock.apps.conform.compare import situations

    listed = situations()
    if text is None:
        return [entry["name"] for entry in listed if entry["quick"]] if quick else None
    names = [name.strip() for name in text.split(",") if name.strip()]
    every = [entry["name"] for entry in listed]
    for name in names:
        if name not in every:
            near = difflib.get_close_matches(name, every, 1)
            remark = f"; did you mean {near[0]}?" if near else ""
            raise BadInput(f"--situations {name}: is not one of {', '.join(every)}{remark}")
    return names


def _list() -> int:
    from ackclock.apps.conform.compare import situations

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for head in ("situation", "network", "compared", "--quick"):
        table.add_column(head, no_wrap=head == "situation")
    for entry in situations():
        compared = ", ".join(entry["metrics"])
        table.add_row(entry["name"], entry["title"], compared, "yes" if entry["quick"] else "")
    wide_console().print(table)
    return 0


def _repeat(
    stack: str, control: str | None, as_: str | None, situations: str | None, seeds: int | None, *, quick: bool
) -> str:
    """The command line that repeats the report."""
    words = ["ackclock", "conform", stack]
    for option, value in (("--as", as_), ("--control", control), ("--situations", situations), ("--seeds", seeds)):
        if value is not None:
            words += [option, str(value)]
    return shlex.join([*words, *(["--quick"] if quick else [])])


def _write(reports: Sequence[Report], target: Path, line: str) -> list[Path]:
    """Write the page, the document and a scenario for each situation that does not agree."""
    from ackclock.apps.conform.page import render

    page = render(reports, line)
    own_folder(target)
    write_text(target / "conform.json", json.dumps(reports, indent=1) + "\n")
    write_text(target / "index.html", page)
    cases = {
        situation["name"]: _case(situation)
        for report in reports
        for situation in report["situations"]
        if any(metric["standing"] not in ("agrees", "not_compared") for metric in situation["metrics"])
    }
    for name, text in cases.items():
        write_text(own_folder(target, "cases") / f"{name}.toml", text)
    return [target / "index.html", target / "conform.json"]


def _case(situation: dict[str, Any]) -> str:
    """The scenario of a situation, with the command that runs the network of the median seed."""
    assigned = " ".join(f"--set {text}" for text in situation["assignments"])
    seed = situation["curve"]["seed"]
    command = f"ackclock run {situation['name']}.toml --on stack:STACK --seed {seed} {assigned}"
    return f"# The stack with its median goodput: {command}\n{situation['scenario']}"


def _junit(path: Path, stack: Stack, reports: Sequence[Report]) -> None:
    from ackclock.apps.conform.compare import metrics, needed, sentence, words
    from ackclock.base import junit

    cases = []
    for report in reports:
        for situation, metric in metrics(report):
            standing = metric["standing"]
            result: Any = {"differs": "failure", "agrees": "pass"}.get(standing, "skipped")
            text = f"{words(standing)}: {sentence(metric)}"
            lines = [text, needed(metric), *metric["checks"], situation["divergence"] or ""]
            group = f"{stack.name}.{report['controller']}.{situation['name']}"
            cases.append(junit.Case(group, metric["name"], result, "\n".join(line for line in lines if line)))
    junit.write(path, f"{stack.name} {stack.version}".strip(), cases)


def _print(report: Report) -> None:
    """Print a sentence, the table of what does not agree, and the sentences of what differs."""
    from ackclock.apps.conform.compare import count, metrics, needed, sentence, words

    counts = ", ".join(f"{number} {words(standing)}" for standing, number in count(report).items())
    version = f" {report['version']}" if report["version"] else ""
    seeds = len(report["seeds"])
    say(f"{report['stack']}{version}, {report['controller']}, beside {report['reference']}: {counts} ({seeds} seeds)")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for head in ("situation", "metric", "verdict", "value", "remark"):
        table.add_column(head, no_wrap=head != "remark")
    last = ""
    for situation, metric in metrics(report):
        name = situation["name"] if situation["name"] != last else ""
        last = situation["name"]
        table.add_row(name, metric["name"], words(metric["standing"]), sentence(metric), needed(metric))
    wide_console().print(table)
    for situation in report["situations"]:
        told = [metric for metric in situation["metrics"] if metric["checks"]]
        if situation["divergence"] and told:
            say(f"{situation['name']}: {situation['divergence']}")
        for metric in told:
            say(f"  {metric['name']}: {'; '.join(metric['checks'])}")
