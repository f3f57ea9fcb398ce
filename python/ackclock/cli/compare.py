"""`ackclock compare`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ackclock.base.files import BadInput, check_picture, check_targets
from ackclock.base.names import folder_name
from ackclock.base.tables import check_export
from ackclock.base.units import percent
from ackclock.cli.options import AllowCode, Jobs, MemoryLimit, Overrides, TimeLimit

if TYPE_CHECKING:
    from collections.abc import Sequence

EXAMPLE = "ackclock compare --control bbr,cubic --on @cellular,@bufferbloat"
RANK_TIME_LIMIT_S = 60.0
RANK_MEMORY_LIMIT = 2 * 10**9
"""Limits of the runs of hand-ins, seconds and bytes."""


def command(
    *targets: Path,
    control: list[str] | None = None,
    on: list[str] | None = None,
    seeds: int = 10,
    all_seeds: bool = False,
    metric: list[str] | None = None,
    flow: list[str] | None = None,
    beside: str = "",
    against: str = "",
    rank: Path | None = None,
    pseudonyms: bool = False,
    set_: Overrides = None,
    out: Path | None = None,
    jobs: Jobs = None,
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = None,
    tolerance: str = "1%",
    gate: bool = False,
    any_change: Annotated[bool, Parameter(name="--any")] = False,
    every: Annotated[bool, Parameter(name="--all")] = False,
    plot: Path | None = None,
    export: Path | None = None,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
    allow_code: AllowCode = False,
) -> int:
    """Compare controllers on several networks.

    With --control, the first controller is compared with each other one on every network, by runs with the same seeds.
    With --control and --against, each controller is compared with the one of --against alone, and they are ranked.
    With two result folders of `ackclock suite`, the largest differences come first; the exit status is 1 if one is
    worse.

    Parameters
    ----------
    targets
        With --control: scenario files (or @NAME). Otherwise two folders: the earlier results, or those of the reference
        controller, and the later ones.
    control
        Controllers, separated by commas or the option repeated: names, FILE.py:CLASS, FILE.wasm, or tables of TOML;
        with --against also patterns such as 'handins/*.py:*', every controller of every file. Every TCP flow gets the
        controller.
    on
        With --control: more scenario files (or @NAME), separated by commas or the option repeated.
    seeds
        With --control: largest number of seeds. With eight or more, two controllers whose differences in a network are
        certain after two fifths of them get no more there.
    all_seeds
        With --control: run every seed.
    metric
        With --control: metrics, separated by commas or the option repeated; with --flow or --beside also rivals_METRIC,
        of the other flows. Default: goodput, 95th percentile of the queueing delay (or the round-trip time where the
        path changes), retransmissions; in a network with applications those of their kinds, such as p95_completion of
        requests, instead of goodput and retransmissions; with --flow or --beside also rivals_goodput.
    flow
        With --control: only these TCP and QUIC flows get the controllers, and the metrics are theirs; separated by
        commas or the option repeated.
    beside
        With --control: the other TCP and QUIC flows get this controller. Without --flow the first TCP flow is tested;
        if it is the only one, a copy of it named `beside` is added.
    against
        With --control: rank the controllers by a score, each compared with this one.
    rank
        With --against: a TOML file with [score] and its formula. Default: goodput over mean round-trip time, divided
        by the same of --against.
    pseudonyms
        With --against: print `hand-in 1`, `hand-in 2` in place of names.
    set_
        With --control: replace one value in every scenario first: KEY=VALUE. May be repeated.
    out
        With --control: folder of the runs, which are kept. Default: out/compare/CONTROLLERS, out/rank/AGAINST.
    jobs
        With --control: number of threads, or of processes for controllers in Python. Default: all cores.
    time_limit
        Longest time of one run with a controller in Python, such as 60s; a run that takes longer has failed. 0: no
        limit. Default: 10 minutes; with --against 60 s.
    memory_limit
        Largest memory of a process that runs controllers in Python, such as 2GB. Default: its part of what is
        available; with --against 2 GB.
    tolerance
        Largest relative change of the mean that is ignored.
    gate
        With --control: exit with status 1 if the first controller is worse in a metric, or was not run in a network.
        Folders: always so.
    any_change
        Folders: exit with status 1 for any change, including an improvement.
    every
        Folders: print every changed metric.
    plot
        Draw the differences with 95 % intervals to this file (.svg, .pdf, .png or .eps): of folders, the ten largest;
        with --against the scores.
    export
        With --control: write the table to this file (.tex, .md or .csv).
    as_json
        Print every metric as a JSON list and nothing else; with --against one object for each controller.
    allow_code
        Allow scenario files to name code and base files (`extends`) outside their own folder.

    """
    if plot is not None:
        check_picture(plot)
    if export is not None:
        check_export(export, "--export")
    check_targets([path for path in (plot, export) if path is not None])
    part = percent(tolerance, "--tolerance")
    if control is None:
        if on is not None or len(targets) != 2 or against or export is not None:
            raise BadInput(
                "compare needs two folders of suites, or --control CONTROLLER,CONTROLLER and networks (--on)"
            )
        from ackclock.cli.compare_folders import compare_folders

        return compare_folders(*targets, part, plot, any_change=any_change, every=every, as_json=as_json)
    from ackclock.apps.trials import Trials
    from ackclock.cli.compare_networks import Outputs, compare_networks
    from ackclock.study.executors import Local

    named, files = _parts(control), [*map(str, targets), *_parts(on)]
    if not files:
        raise BadInput("--control: needs networks: scenario files, or --on @cellular,@bufferbloat")
    if against:
        time_limit = RANK_TIME_LIMIT_S if time_limit is None else time_limit
        memory_limit = RANK_MEMORY_LIMIT if memory_limit is None else memory_limit
    default = ("rank", folder_name(against)) if against else ("compare", "-".join(map(folder_name, named)))
    trials = Trials(
        files,
        out or Path("out", *default),
        Local(jobs, time_limit, memory_limit),
        seeds,
        set_ or [],
        allow_code,
        _parts(flow),
        beside.strip(),
    )
    outputs = Outputs(as_json, plot, export)
    if against:
        from ackclock.cli.rank_table import rank_hand_ins

        if gate or metric:
            raise BadInput(
                "--against: ranks by a score; omit --gate and --metric, and write the score with --rank FILE"
            )
        return rank_hand_ins(trials, named, against, rank, outputs, pseudonyms=pseudonyms)
    if rank is not None or pseudonyms:
        raise BadInput("--rank and --pseudonyms: need --against CONTROLLER, with which each one is compared")
    return compare_networks(trials, named, _parts(metric), part, outputs, early=not all_seeds, gate=gate)


def _parts(texts: Sequence[str] | None) -> list[str]:
    """Values that commas separate, without spaces at commas and colons. A comma inside braces separates none."""
    parts = [part.strip() for text in texts or [] for part in re.split(r",(?![^{]*})", text)]
    return [part if part.startswith("{") else re.sub(r"\s*:\s*", ":", part) for part in parts if part]
