"""`ackclock sweep`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ackclock.base.files import BadInput
from ackclock.base.text import advise, fail, say
from ackclock.cli.console import study_progress
from ackclock.cli.options import AllowCode, Engine, File, Jobs, Overrides, TimeLimit

if TYPE_CHECKING:
    from ackclock.study import Store, Study, Until
    from ackclock.study.executors import Executor
    from ackclock.study.sweep import Progress, Summary

EXAMPLE = "ackclock sweep study.toml --out out/study --until reno.goodput_bps:2%"
OF_TCP = "tcp"


def command(
    file: File,
    /,
    *,
    out: Path,
    set_: Overrides = None,
    on: str = OF_TCP,
    jobs: Jobs = None,
    time_limit: TimeLimit = None,
    engine: Engine = "local",
    until: str | None = None,
    most: int = 200,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
    allow_code: AllowCode = False,
) -> int:
    """Run a study: every combination of values and seeds.

    It can be repeated after an interruption: finished runs are kept.

    Parameters
    ----------
    file
        Scenario file with a `sweep`, or @NAME.
    out
        Folder of the study; created if missing.
    set_
        Replace one value first: KEY=VALUE. May be repeated.
    on
        What carries the flows, as of ackclock run --on: tcp, quic, udp, linux, linux:NAME, kernel; or several, such
        as tcp,quic. Another one than tcp, and several, are the axis `on` of the results. Runs in real time (udp, linux,
        kernel) take place one after the other; one that did not follow the wall clock has failed.
    jobs
        Number of threads (CPUs of a local Ray). Default: all. Not for runs in real time.
    time_limit
        Longest time of one run with a controller in Python, such as 60s; a run that takes longer has failed. 0: no
        limit. Default: 10 minutes.
    engine
        Executor: this machine, or a Ray cluster (extra `ackclock[cluster]`). Not for runs in real time.
    until
        METRIC:PERCENT, such as fwd.goodput_bps:2%. Add seeds to each point until the half-width of the metric's 95 %
        interval is at most PERCENT of the mean.
    most
        With --until: maximum number of seeds per point.
    as_json
        Print {"runs", "kept", "done", "failed"} at the end and nothing else.
    allow_code
        Allow scenario files to name code and base files (`extends`) outside their own folder.

    """
    from dataclasses import asdict

    from ackclock.apps.reach.substrates import substrates
    from ackclock.study import Store, Until
    from ackclock.study.executors import ENGINES

    if most < 2:
        raise BadInput("--most: must be a whole number of at least 2")
    if (jobs is not None or engine != "local") and all(one.real_time for one in substrates(on)):
        option = "--engine" if jobs is None else "--jobs"
        raise BadInput(f"{option} with --on {on}: runs in real time take place one after the other on this machine")
    studies = _studies(file, set_ or [], on, allow_code=allow_code)
    if until is not None and len(studies) > 1:
        raise BadInput(f"--until with --on {on}: takes one substrate")
    stop = None if until is None else Until.parse(until, most)
    with Store.create(out) as store:
        for note in store.notes:
            fail(note, 0)
        try:
            with study_progress(quiet=as_json) as advance:
                summary = _sweep(studies, store, ENGINES[engine](jobs, time_limit), stop, advance)
        except KeyboardInterrupt:
            finished = sum(1 for _ in store.runs())
            return fail(f"interrupted; {finished} finished runs are kept in {out}; repeat the command to resume", 130)
        for run_id, error in store.failures()[:10]:
            fail(f"run {run_id}: {error}", 1)
    if as_json:
        print(json.dumps(asdict(summary)))
    else:
        say(f"{summary.runs} runs: {summary.kept} kept, {summary.done} done, {summary.failed} failed")
        say(f"written: {out} (ackclock results {out})")
    return 1 if summary.failed else 0


def _studies(file: Path, overrides: list[str], on: str, *, allow_code: bool) -> dict[str, Study]:
    """The study on each substrate; prints advice. Raises Unavailable if one is not available on this machine."""
    from ackclock.apps.reach.real_time import prepare
    from ackclock.apps.reach.substrates import substrates
    from ackclock.base.source import read_source
    from ackclock.study import Study

    source = read_source(file, allow_code=allow_code)
    studies = {one.name: Study.read(source, overrides, on=one.name) for one in substrates(on)}
    for name, study in studies.items():
        for remark in prepare(study) if study.real_time else []:
            say(f"ackclock: --on {name}: {remark}", error=True)
    first = next(iter(studies.values()))
    advise(list(dict.fromkeys(line for study in studies.values() for line in study.advice)))
    advise([idle] if (idle := first.idle_seeds) else [])
    if len(studies) == 1 and not first.is_sweep:
        say(f"ackclock: {first.file} has no [sweep]: this is one run; ackclock run prints its outcome", error=True)
    return studies


def _sweep(
    studies: dict[str, Study], store: Store, engine: Executor, until: Until | None, advance: Progress | None
) -> Summary:
    """Run the missing runs of the study on one substrate, or on several."""
    from ackclock.apps.reach.real_time import BySubstrate
    from ackclock.study import sweep, sweep_variants
    from ackclock.study.plan import ON

    executor = BySubstrate(engine)
    if len(studies) == 1:
        [study] = studies.values()
        return sweep(study, store, executor, until=until, progress=advance)
    store.check_study(next(study for study in studies.values() if study.on != OF_TCP))
    variants = {name: (study, range(study.points)) for name, study in studies.items()}
    return sweep_variants(variants, store, executor, axis=ON, progress=advance)
