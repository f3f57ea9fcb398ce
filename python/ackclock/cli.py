"""The command line: one function for each command. Exit status: 0 done, 1 a run failed, 2 bad input."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, CycloptsError, Parameter

from ackclock import control
from ackclock._core import ControllerError, ScenarioError, __version__
from ackclock.experiment import Result, Scenario, Trace
from ackclock.files import BadInput, check_picture, check_targets, save_figure, write, write_bytes
from ackclock.maps import orbit, radio
from ackclock.options import AllowCode, Captures, File, Jobs, Overrides, Seed
from ackclock.suite.commands import compare, suite
from ackclock.text import advise, ascii_json, say
from ackclock.why import why

MOST_REFUSED = 10
"""Points of a study that `check` tells of."""

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ackclock.papers.parallel import Options

app = App(
    name="ackclock",
    help="A laboratory for congestion control.",
    version=__version__,
    version_flags=["--version"],
    help_format="plaintext",
    default_parameter=Parameter(negative=(), json_list=False, json_dict=False),
    suppress_keyboard_interrupt=False,
    result_action="return_value",
)

app.command(orbit)
app.command(radio)
app.command(suite)
app.command(compare)
app.command(why)

Kind = Literal["controllers", "recoveries", "queues", "losses", "scenarios", "papers", "suites"]


@app.command
def run(
    file: File,
    /,
    *,
    seed: Seed = None,
    set_: Overrides = None,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
    trace: Path | None = None,
    trace_every: Literal["change", "ack"] = "change",
    packets: Path | None = None,
    pcap: Captures = None,
    plot: Path | None = None,
    audit: bool = False,
    allow_code: AllowCode = False,
) -> int:
    """Run one scenario and print a summary.

    Parameters
    ----------
    file
        Scenario file (TOML).
    seed
        Seed of all random streams, instead of the file's.
    set_
        Replace one value first: KEY=VALUE, such as link.bottleneck.rate=5Mbps. May be repeated.
    as_json
        Print the outcome as one JSON object and nothing else.
    trace
        Write the window trace to this Parquet file.
    trace_every
        A row of the trace at every change of a window, or at every ACK.
    packets
        Write every packet event to this Parquet file.
    pcap
        Write a packet capture to this pcapng file: FILE at every sending host, PLACE=FILE at a node or on a link
        (a->b, or a-b for both directions). May be repeated.
    plot
        Draw windows, round-trip times, queues and goodput to this file (.svg, .png or .pdf).
    audit
        Check the run: conservation, causality, rates, queues, ACKs, windows. A violation fails the run.
    allow_code
        Let files name code and bases (`extends`) outside their own folder.

    """
    captures = _captures(pcap or ())
    targets = [path for path in (trace, packets, *captures.values(), plot) if path is not None]
    if plot is not None:
        check_picture(plot)
    check_targets(targets)
    scenario = Scenario.load(file, set_ or ())
    advise(scenario.advice)
    if scenario.is_study:
        raise BadInput(f"{file}: sweep: a study of many runs; ackclock sweep {file} --out DIR runs it")
    # A figure shows round-trip times, which come with every ACK.
    every_ack = trace_every == "ack" or plot is not None
    rows: Trace = "off" if trace is None and plot is None else "ack" if every_ack else "changes"
    from ackclock.terminal import progress, summary

    with progress("simulating", quiet=as_json) as advance:
        result = scenario.run(
            seed=seed,
            trace=rows,
            packets=packets is not None or plot is not None,
            audit=audit,
            captures=list(captures),
            progress=advance,
        )
    _write_all(scenario, result, trace, trace_every, packets, plot)
    for place, path in captures.items():
        write_bytes(path, result.captures[place])
    if as_json:
        print(ascii_json(result.json))
    else:
        summary(result, [str(path) for path in targets])
    if result.violation_count:
        say(f"ackclock: the audit found {result.violation_count} violations:", error=True)
        for violation in result.violations:
            say(f"  {violation}", error=True)
        return 1
    return 0


def _captures(texts: Sequence[str]) -> dict[str, Path]:
    """Files by their places. Raises BadInput if a place is given twice."""
    wanted = [_place(text) for text in texts]
    if len(dict(wanted)) < len(wanted):
        raise BadInput("--pcap: a place is given twice")
    return dict(wanted)


def _place(text: str) -> tuple[str, Path]:
    """The place and the file that a `--pcap` names."""
    place, equals, file = text.rpartition("=")
    if not file or (equals and not place):
        raise BadInput(
            f"--pcap {text}: must be FILE or PLACE=FILE, such as bottleneck.pcapng or r1->r2=bottleneck.pcapng"
        )
    return place, Path(file)


def _write_all(
    scenario: Scenario,
    result: Result,
    trace: Path | None,
    trace_every: str,
    packets: Path | None,
    plot: Path | None,
) -> None:
    if trace is not None:
        from ackclock import frames

        frame = result.trace if trace_every == "ack" else frames.changes(result.trace)
        write(trace, lambda file: frame.write_parquet(file, compression="zstd", compression_level=1))
    if packets is not None:
        write(packets, lambda file: result.packets.write_parquet(file, compression="zstd", compression_level=1))
    if plot is not None:
        from ackclock.plot import timelines

        figure = timelines(result, title=scenario.title)
        save_figure(figure, plot)


@app.command
def check(file: File, /, *files: File, plot: Path | None = None, allow_code: AllowCode = False) -> int:
    """Validate scenarios without running them, nor the code of their controllers.

    Parameters
    ----------
    file
        Scenario file (TOML).
    files
        More scenario files.
    plot
        Draw the network of the one file: nodes, links with rate, delay, queue and loss, flows (SVG, PDF or PNG).
    allow_code
        Let files name code and bases (`extends`) outside their own folder.

    """
    from ackclock.study import Study

    if plot is not None:
        check_picture(plot)
        if files:
            raise BadInput("--plot: draws the network of one file")
    failed = False
    for name in (file, *files):
        try:
            study = Study.load(name)
        except ScenarioError as error:
            say(f"ackclock: {error}", error=True)
            failed = True
            continue
        advise(study.advice)
        for point, message in study.refused[:MOST_REFUSED]:
            labels = ", ".join(f"{axis}={label}" for axis, label in study.labels(point).items())
            say(f"ackclock: at {labels}: {message}", error=True)
        if study.refused:
            few = f", the first {MOST_REFUSED} told above" if len(study.refused) > MOST_REFUSED else ""
            say(f"ackclock: {name}: {len(study.refused)} of {study.points} points cannot be run{few}", error=True)
            failed = True
        else:
            many = f"; {study.points * len(study.seeds)} runs" if study.is_sweep else ""
            duration = study.scenario(0).duration_s
            say(f"{name}: good ({study.title or 'no title'}; {duration:g} s{many})")
            if plot is not None:
                from ackclock import topology

                save_figure(topology.draw(study.scenario(0)), plot)
                say(f"written: {plot}", error=True)
    return 2 if failed else 0


@app.command(name="list")
def list_(kind: Kind, /, *, as_json: Annotated[bool, Parameter(name="--json")] = False) -> None:
    """List models, scenarios, papers or suites, with parameters, units, defaults and sources.

    Parameters
    ----------
    kind
        What to list.
    as_json
        Print a JSON list.

    """
    from ackclock.catalog import entries
    from ackclock.terminal import listing

    found = entries(kind)
    if as_json:
        print(json.dumps(found))
    else:
        listing(kind, found)


@app.command
def sweep(
    file: File,
    /,
    *,
    out: Path,
    set_: Overrides = None,
    jobs: Jobs = None,
    engine: Literal["local", "ray"] = "local",
    until: str | None = None,
    most: int = 200,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
    allow_code: AllowCode = False,
) -> int:
    """Run a study: every point of its axes under every seed. Resumable: finished runs are kept.

    Parameters
    ----------
    file
        Scenario file with a `sweep`.
    out
        Folder of the study; created if missing.
    set_
        Replace one value first: KEY=VALUE. May be repeated.
    jobs
        Number of threads (CPUs of a local Ray). Default: all.
    engine
        Executor: this machine, or a Ray cluster (extra `ackclock[cluster]`).
    until
        Add seeds to a point until the 95 % interval of a metric is narrow: METRIC:PERCENT, such as fwd.goodput_bps:2%.
    most
        With --until: maximum number of seeds per point.
    as_json
        Print {"runs", "kept", "done", "failed"} at the end and nothing else.
    allow_code
        Let files name code and bases (`extends`) outside their own folder.

    """
    from dataclasses import asdict

    from ackclock.study import Store, Study, Until
    from ackclock.study import sweep as run_study
    from ackclock.study.executors import ENGINES
    from ackclock.terminal import study_progress

    if most < 2:
        raise BadInput("--most is a number from 2 on")
    study = Study.load(file, set_ or ())
    advise(study.advice)
    stop = None if until is None else Until.parse(until, most)
    with Store.create(out) as store:
        for note in store.notes:
            fail(note, 0)
        try:
            with study_progress(quiet=as_json) as advance:
                summary = run_study(study, store, ENGINES[engine](jobs), until=stop, progress=advance)
        except KeyboardInterrupt:
            there = sum(1 for _ in store.runs())
            return fail(f"interrupted; {there} finished runs are kept in {out}; the same command goes on", 130)
        for run_id, error in store.failures()[:10]:
            fail(f"run {run_id}: {error}", 1)
    if as_json:
        print(json.dumps(asdict(summary)))
    else:
        say(f"{summary.runs} runs: {summary.kept} kept, {summary.done} done, {summary.failed} failed")
        say(f"written: {out} (ackclock results {out})")
    return 1 if summary.failed else 0


@app.command
def results(
    folder: Path,
    /,
    *,
    runs: bool = False,
    export: Path | None = None,
    metric: list[str] | None = None,
    where: list[str] | None = None,
) -> int:
    """Show a study's results: means and 95 % intervals over its seeds, point by point. Works while a study runs.

    Parameters
    ----------
    folder
        Folder of the study.
    runs
        Print one JSON object for each finished run instead.
    export
        Write one row per run (.parquet or .csv): run_id, seed, axes, outcome.
    metric
        A number of the outcome, such as fwd.goodput_bps, "r1->r2.utilisation" or jain. May be repeated.
    where
        Keep the points where an axis has a value: AXIS=LABEL. May be repeated.

    """
    from ackclock.study import Store
    from ackclock.study import results as tables
    from ackclock.terminal import study_results

    with Store.open(folder) as store:
        if runs:
            found = list(store.runs())
            keep = tables.matching(where or (), [run["axes"] for run in found])
            for run in (run for run, kept in zip(found, keep, strict=True) if kept):
                print(json.dumps(run))
        if export is not None:
            tables.export(store, export, where or ())
            say(f"written: {export}", error=True)
        if not runs and export is None:
            study_results(store.about("title") or str(folder), tables.summary(store, metric or (), where or ()))
        for note in store.notes:
            say(f"ackclock: {folder}: {note}", error=True)
        return 1 if store.damaged else 0


@app.command
def paper(
    key: str,
    /,
    *,
    out: Path,
    quick: bool = False,
    jobs: Jobs = None,
    engine: Literal["local", "ray"] = "local",
    readme: bool = False,
) -> int:
    """Reproduce a paper: its tables, figures, claims with verdicts, one page. Resumable.

    Parameters
    ----------
    key
        The paper (`ackclock list papers`), or all: two at a time, and the comparison of all controllers.
    out
        Folder; the page is KEY/index.html in it.
    quick
        Fewer seeds; the page says so.
    jobs
        Number of threads (CPUs of a local Ray). Default: all.
    engine
        Executor: this machine, or a Ray cluster.
    readme
        Also put the verdicts into the README of the paper's folder.

    """
    from ackclock import papers
    from ackclock.papers.parallel import Options
    from ackclock.papers.reproduce import readme as write_readme
    from ackclock.study.executors import ENGINES
    from ackclock.terminal import named_progress, reproduction

    if readme and quick:
        raise BadInput("--readme: not with --quick: the README holds the whole reproduction")
    if key == "all":
        return _all_papers(Options(out, engine, jobs, quick), readme=readme)
    one = papers.find(key)
    try:
        with named_progress() as progress:
            made = papers.reproduce(one, out, ENGINES[engine](jobs), quick=quick, progress=progress)
    except KeyboardInterrupt:
        return fail(f"interrupted; finished runs are kept in {out / one.key}; the same command goes on", 130)
    reproduction(made)
    if readme:
        write_readme(one, made)
    return 1 if made.failed else 0


def _all_papers(options: Options, *, readme: bool) -> int:
    """Reproduce every paper and write the index of them all."""
    from ackclock import papers
    from ackclock.papers.parallel import reproduce_all
    from ackclock.papers.reproduce import readme as write_readme
    from ackclock.terminal import named_progress, reproduction

    wanted = [papers.find(one) for one in papers.known()]
    if not wanted:
        raise BadInput("there are no papers here (run in a folder that has `papers/`)")
    try:
        with named_progress() as progress:
            ended = reproduce_all(wanted, papers.comparison_folder(), options, progress)
    except KeyboardInterrupt:
        return fail(f"interrupted; finished runs are kept in {options.out}; the same command goes on", 130)
    for made in ended.papers:
        reproduction(made)
        if readme:
            write_readme(made.paper, made)
    papers.index(options.out, ended.papers, ended.comparison, quick=options.quick)
    say(f"written: {options.out / 'index.html'}")
    for error in ended.errors:
        fail(error, 1)
    return 1 if ended.failed else 0


@app.command
def identify(
    series: Path,
    /,
    *,
    flow: str | None = None,
    every: float | None = None,
    d: int = 1,
    method: Literal["css", "mle"] = "css",
    plot: Path | None = None,
    fit: Path | None = None,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
) -> int:
    """Identify an ARIMA model of round-trip times: correlations, eight candidates, residuals.

    Parameters
    ----------
    series
        CSV or Parquet file with a column rtt_s (seconds); a window trace of `ackclock run --trace-every ack` will do.
    flow
        Whose samples to take, where the file has a column flow.
    every
        Take the last sample of each interval of so many seconds (needs a column time_s), as a probe would.
    d
        How often to difference.
    method
        Conditional least squares, or the exact Gaussian likelihood.
    plot
        Draw series, correlations and residuals to this file (.svg, .png or .pdf).
    fit
        Write the coefficients of ARIMA(2,1,1) to this file (.toml); a scenario takes them with
        control = { kind = "ca_artt", fit = "FILE" }.
    as_json
        Print one JSON object and nothing else.

    """
    from ackclock.arima import identify as find
    from ackclock.arima import read_series
    from ackclock.arima.files import write_fit, write_plot
    from ackclock.terminal import identification

    if plot is not None:
        check_picture(plot)
    if fit is not None and (fit.suffix != ".toml" or d != 1):
        raise BadInput("--fit: the name must end in .toml, and --d must be 1: the controller's model is ARIMA(2,1,1)")
    if (every is not None and not every > 0) or not 0 <= d <= 2:
        raise BadInput("--every is a time above zero, --d is 0, 1 or 2")
    targets = [path for path in (plot, fit) if path is not None]
    check_targets(targets)
    x = read_series(series, flow, every, lambda message: fail(message, 0))
    try:
        found = find(x, d, method)
    except ValueError as error:
        raise BadInput(f"{series}: {error}") from None
    if plot is not None:
        write_plot(plot, found, series.name)
    if fit is not None:
        write_fit(fit, found, series.name)
    if as_json:
        print(json.dumps(found.to_dict()))
    else:
        identification(series.name, found, [str(path) for path in targets])
    return 0


@app.command
def bench(
    flows: Annotated[list[int] | None, Parameter(consume_multiple=True)] = None,
    *,
    repeat: int = 3,
    quick: bool = False,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
) -> int:
    """Run the speed benchmark, beside ns-2 where it is installed.

    Parameters
    ----------
    flows
        Numbers of flows; by default 1, 10, 100, 1000 beside ns-2, then 10000 and 100000 alone.
    repeat
        Runs of each; ours and ns-2's take turns.
    quick
        A tenth of the simulated time.
    as_json
        Print the measurements as JSON.

    """
    from ackclock.bench import main as bench_main

    if repeat < 1 or any(n < 1 for n in flows or []):
        raise BadInput("flows and --repeat are numbers from 1 on")
    return bench_main(flows, repeat=repeat, quick=quick, as_json=as_json)


def fail(message: str, status: int) -> int:
    """One line on standard error."""
    say(f"ackclock: {message}", error=True)
    return status


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that knows ASCII alone
    control.announce = lambda what: say(f"ackclock: {what}", error=True)
    try:
        status = app(arguments, exit_on_error=False, print_error=False, help_on_error=False)
    except CycloptsError as error:
        return fail(" ".join(str(error).split()), 2)
    except (ScenarioError, BadInput) as error:
        return fail(str(error), 2)
    except BrokenPipeError:
        sys.stderr.close()  # the reader has gone; say nothing more
        return 1
    except OSError as error:
        return fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), 2)
    except MemoryError as error:
        return fail(str(error) or "out of memory", 1)
    except ControllerError as error:
        say(error.traceback.rstrip("\n"), error=True)
        return fail(str(error), 1)
    except RuntimeError as error:
        return fail(str(error), 1)
    except KeyboardInterrupt:
        return fail("interrupted; nothing was written", 130)
    return status if isinstance(status, int) else 0


if __name__ == "__main__":
    sys.exit(main())
