"""`ackclock agree`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.table import Table

from ackclock.apps.controls import check_controls
from ackclock.base.files import (
    BadInput,
    check_folder,
    check_picture,
    check_targets,
    own_folder,
    save_figure,
    write_text,
)
from ackclock.base.text import advise, fail, interrupted, say
from ackclock.cli.console import named_progress, wide_console
from ackclock.cli.options import AllowCode, Engine, File, Jobs, Overrides, TimeLimit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ackclock.apps.agree.document import Document
    from ackclock.apps.agree.execute import RunPlan

EXAMPLE = "ackclock agree @bufferbloat --on tcp,quic --seeds 12 --out out/agree"
MOST_SEEDS = 1000
PRINTED = ("utilisation", "throughput", "cwnd", "queueing", "cuts", "retransmissions")
"""Metrics of the printed table."""


def command(
    file: File,
    /,
    *,
    on: str = "tcp,quic",
    control: list[str] | None = None,
    seeds: int = 12,
    repeats: int = 5,
    set_: Overrides = None,
    out: Path | None = None,
    plot: Path | None = None,
    jobs: Jobs = None,
    time_limit: TimeLimit = None,
    engine: Engine = "local",
    as_json: Annotated[bool, Parameter(name="--json")] = False,
    allow_code: AllowCode = False,
) -> int:
    """Compare a scenario on several substrates.

    Substrates are simulated TCP, QUIC, and real-time stacks. Tests of equivalence, on one page. It can be repeated
    after an interruption. The exit status is 0 whatever the verdicts, and 3 if a substrate is not available.

    Parameters
    ----------
    file
        Scenario file, or @NAME.
    on
        Substrates, the reference first: tcp (simulated), quic (virtual time), udp (QUIC over sockets), linux (the
        kernel's own algorithm), kernel (our controller inside the kernel's TCP), stack:FILE (your own, see ackclock
        conform).
    control
        Controller for every TCP flow: a name, FILE.py:CLASS, FILE.wasm or a table. May be repeated. Default: each
        controller of the scenario's flows.
    seeds
        Seeds of the substrates in virtual time.
    repeats
        Valid runs of the substrates in real time.
    set_
        Replace one value first: KEY=VALUE. May be repeated.
    out
        Folder for the page, agree.json and the finished runs. Default: out/agree/FILE.
    plot
        Also draw the windows, their distributions and the ratios to this file (.svg, .pdf, .png or .eps).
    jobs
        Number of threads, or of processes for controllers in Python. Default: all cores.
    time_limit
        Longest time of one run with a controller in Python, such as 60s; a run that takes longer has failed. 0: no
        limit. Default: 10 minutes.
    engine
        Executor of the runs in virtual time: this machine, or a Ray cluster (extra `ackclock[cluster]`).
    as_json
        Print agree.json and nothing else.
    allow_code
        Allow scenario files to name code and base files (`extends`) outside their own folder.

    """
    from ackclock.apps.agree.document import build, text_of
    from ackclock.apps.agree.execute import execute, forget

    check_controls(control or [], allow_code=allow_code)
    plan = _plan(file, on, control or [], seeds, repeats, set_ or [], allow_code=allow_code)
    for substrate in plan.substrates:
        reason = substrate.available(plan.scenario)
        if reason is not None:
            return fail(f"--on {substrate.name}: not available: {reason}", 3)
    target = _target(out or Path("out") / "agree" / Path(file).stem)
    if plot is not None:
        check_picture(plot)
        check_targets([plot])
    try:
        with named_progress() as progress:
            advance = None if as_json else progress("running")
            samples = execute(
                plan,
                target,
                jobs=jobs,
                engine=engine,
                time_limit_s=time_limit,
                progress=advance,
            )
    except KeyboardInterrupt:
        return interrupted(target)
    document = build(plan, samples, _repeat(file, on, control or [], seeds, repeats, set_ or [], target))
    _write(document, target, plot)
    forget(plan, target / "samples")
    if as_json:
        print(text_of(document), end="")
        return 0
    _report(document)
    for path in (target / "index.html", target / "agree.json", *([plot] if plot is not None else [])):
        say(f"written: {path}")
    return 0


def _target(folder: Path) -> Path:
    """The folder of the report. Raises BadInput if it is a file, or if its page is of something else."""
    check_folder(folder)
    if (folder / "index.html").exists() and not (folder / "agree.json").exists():
        raise BadInput(f"--out {folder}: holds index.html and no agree.json; give an empty or a new folder")
    return folder


def _write(document: Document, target: Path, plot: Path | None) -> None:
    """Write the page, the document and the figure."""
    from ackclock.apps.agree.document import text_of
    from ackclock.apps.agree.page import render

    page = render(document)
    own_folder(target)
    write_text(target / "agree.json", text_of(document))
    write_text(target / "index.html", page)
    if plot is not None:
        from ackclock.apps.agree.figures import overview

        save_figure(overview(document), plot)


def _plan(
    file: Path, on: str, named: list[str], seeds: int, repeats: int, overrides: list[str], *, allow_code: bool
) -> RunPlan:
    """Read the scenario and the options. Raises BadInput and ScenarioError."""
    from ackclock.apps.agree.equal import equal_packets, equal_span
    from ackclock.apps.agree.execute import RunPlan
    from ackclock.apps.controls import controls
    from ackclock.apps.reach.substrates import substrates as named_substrates
    from ackclock.scenario import Scenario

    for option, number in (("--seeds", seeds), ("--repeats", repeats)):
        if not 2 <= number <= MOST_SEEDS:
            raise BadInput(f"{option} {number}: must be a whole number from 2 to {MOST_SEEDS}")
    substrates = named_substrates(on)
    if len(substrates) < 2:
        raise BadInput(f"--on {on}: name two or more substrates, such as tcp,quic; the first is the reference")
    scenario = Scenario.load(file, overrides, allow_code=allow_code)
    advise(scenario.advice)
    if scenario.is_study:
        raise BadInput(f"{file}: sweep: the file is a study of many runs; ackclock agree takes a single scenario")
    chosen = controls(scenario, named)
    flows = [flow for flow in scenario.resolved["flows"] if flow["kind"] == "tcp"]
    live = [substrate.name for substrate in substrates if substrate.real_time]
    if live and (len(flows) != 1 or scenario.resolved["traffic"]):
        raise BadInput(f"{file}: {live[0]} runs one TCP flow, and the scenario has more; give one with a single flow")
    packets = equal_packets(scenario, substrates)
    span = equal_span(scenario, substrates)
    return RunPlan(scenario, scenario.overrides, chosen, substrates, seeds, repeats, packets, span)


def _repeat(
    file: Path, on: str, named: list[str], seeds: int, repeats: int, overrides: list[str], out: Path
) -> list[str]:
    """The command line that repeats the report."""
    words = ["ackclock", "agree", str(file), "--on", on]
    for option, values in (("--control", named), ("--set", overrides)):
        words += [word for value in values for word in (option, value)]
    return [*words, "--seeds", str(seeds), "--repeats", str(repeats), "--out", str(out)]


def _report(document: Document) -> None:
    """Print the sentence, the findings, and one line for each controller and substrate."""
    from ackclock.apps.agree.figures import label
    from ackclock.apps.agree.table import cell, cells

    console = wide_console()
    console.print(document["summary"]["sentence"])
    if document["packets"]:
        console.print("Packets have 1500 bytes on the wire on every substrate; those of the scenario are too small.")
    if document["span"]:
        console.print("No warm-up is excluded on any substrate, because runs in real time count from the start.")
    for remark in document["remarks"]:
        console.print(remark)
    table = Table(box=None, pad_edge=False)
    for head in ("controller", "on", "n"):
        table.add_column(head, justify="right" if head == "n" else "left")
    rows = cells(document)
    shown = [name for name in PRINTED if any(name in row for _, _, row in rows)]
    for name in shown:
        table.add_column(label(name), justify="right")
    for head in ("agree", "differ", "undecided"):
        table.add_column(head, justify="right")
    for controller, comparison, metrics in rows:
        counts = [
            str(sum(row["verdict"] == v for row in comparison["rows"])) for v in ("agrees", "differs", "undecided")
        ]
        n = str(controller["substrates"][comparison["substrate"]]["runs"])
        values = [cell(metrics.get(name)) for name in shown]
        table.add_row(controller["control"], comparison["substrate"], n, *values, *counts)
    console.print(table)
    reference = document["reference"]
    console.print(f"Ratios to {reference} with the region of agreement; ! differs, ? undecided; d: difference.")
    _notes(document)


def _notes(document: Mapping[str, Any]) -> None:
    """Print findings, refused controllers and invalid runs."""
    for finding in document["summary"]["findings"]:
        cause = (
            f"its cause is open ({finding['suspected']})" if finding["suspected"] else "no known difference explains it"
        )
        say("finding: {control} on {substrate}: {metric} differs, and ".format(**finding) + cause)
    for controller in document["controllers"]:
        for name, runs in controller["substrates"].items():
            if runs["refused"]:
                say(f"{controller['control']} was not run on {name}: {runs['refused']}")
            for stamp in runs["invalid"]:
                reasons = "; ".join(stamp.get("reasons", []))
                say(f"{controller['control']} on {name}, seed {stamp['seed']}: invalid: {reasons}")
