"""`ackclock sweep`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ackclock.cli.console import study_progress
from ackclock.cli.options import AllowCode, Engine, File, Jobs, Overrides
from ackclock.files import BadInput
from ackclock.text import advise, fail, say

EXAMPLE = "ackclock sweep study.toml --out out/study --until reno.goodput_bps:2%"


def command(
    file: File,
    /,
    *,
    out: Path,
    set_: Overrides = None,
    jobs: Jobs = None,
    engine: Engine = "local",
    until: str | None = None,
    most: int = 200,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
    allow_code: AllowCode = False,
) -> int:
    """Run a study: every combination of its axis values with every seed. Resumable: finished runs are kept.

    Parameters
    ----------
    file
        Scenario file with a `sweep`, or @NAME.
    out
        Folder of the study; created if missing.
    set_
        Replace one value first: KEY=VALUE. May be repeated.
    jobs
        Number of threads (CPUs of a local Ray). Default: all.
    engine
        Executor: this machine, or a Ray cluster (extra `ackclock[cluster]`).
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

    from ackclock.study import Store, Study, Until
    from ackclock.study import sweep as run_study
    from ackclock.study.executors import ENGINES

    if most < 2:
        raise BadInput("--most: must be a whole number of at least 2")
    study = Study.load(file, set_ or (), allow_code=allow_code)
    advise(study.advice)
    if not study.is_sweep:
        say(f"ackclock: {study.file} has no [sweep]: this is one run; ackclock run prints its outcome", error=True)
    stop = None if until is None else Until.parse(until, most)
    with Store.create(out) as store:
        for note in store.notes:
            fail(note, 0)
        try:
            with study_progress(quiet=as_json) as advance:
                summary = run_study(study, store, ENGINES[engine](jobs), until=stop, progress=advance)
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
