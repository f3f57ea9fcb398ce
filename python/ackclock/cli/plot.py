"""`ackclock plot`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

from cyclopts import Parameter

from ackclock.base.files import BadInput, save_figure
from ackclock.base.link import is_link
from ackclock.base.text import advise, say
from ackclock.base.units import seconds
from ackclock.cli import guard
from ackclock.cli.console import progress
from ackclock.cli.options import AllowCode, TimeLimit
from ackclock.cli.plot_applications import applications_choice, figure_of_file, figure_of_run, figure_of_study
from ackclock.cli.printed import NO_CHOICE, Print
from ackclock.draw import applications
from ackclock.draw.style import fitted
from ackclock.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from matplotlib.figure import Figure

    from ackclock.draw.runs import Selection
    from ackclock.draw.studies import Choice

StudyKind = Literal["lines", "box", "ecdf", "bars", "throughput-delay", "heatmap"]
Kind = StudyKind | applications.Kind

EXAMPLE = "ackclock plot out/study --x loss --y goodput --by control"


def command(
    target: Path,
    /,
    *targets: Path,
    x: str | None = None,
    y: list[str] | None = None,
    by: str | None = None,
    kind: Kind | None = None,
    where: list[str] | None = None,
    flow: list[str] | None = None,
    link: list[str] | None = None,
    from_: Annotated[str | None, Parameter(name="--from")] = None,
    to: str | None = None,
    log_x: Annotated[bool | None, Parameter(name="--log-x", negative="--linear-x")] = None,
    log_y: bool = False,
    title: str = "",
    print_: Print = NO_CHOICE,
    out: Path | None = None,
    time_limit: TimeLimit = None,
    allow_code: AllowCode = False,
) -> int:
    """Draw a study, recorded traces, or a scenario.

    A study is a folder of `ackclock sweep`; traces and a scenario are drawn over time.

    Parameters
    ----------
    target
        Folder of a study; a file of `ackclock run --trace`, `--packets` or `--messages` (.parquet or .csv); or a
        scenario (.toml, @NAME or a link), which is run once with its seed.
    targets
        More traces, of the same run or of others. A trace and the packet events beside it with one name up to the
        first dot (reno.trace.parquet, reno.packets.parquet) belong together.
    x
        Study: axis along the figure; a part of its name is enough, such as loss. Default: the longest axis of numbers.
        With throughput-delay: metric of the delay. Default: queueing.
    y
        Study: metric, such as goodput, queueing, utilisation, jain, completion or fwd.goodput_bps. Default: goodput.
        Traces: column, such as cwnd, rtt, queue, goodput, bwe. With cdf: completion or slowdown. May be repeated.
    by
        Study: axis whose labels are the curves, such as control.
    kind
        Study: lines (means with 95 % intervals; the default), box, ecdf, bars, throughput-delay, or heatmap.
        Applications and transfers, of a study or a scenario: cdf (distribution of completion time and slowdown over all
        messages), bins (slowdown by size). Of a scenario: frames (delay of each frame of a video call), player (buffer
        and bitrate of a video), waterfall (the objects of a page); cdf, frames and waterfall also of a file of
        `ackclock run --messages`.
    where
        Study: show only the points at which an axis has this label: AXIS=LABEL. May be repeated.
    flow
        Only this flow. May be repeated.
    link
        Link whose queue or utilisation is drawn. Default: the one most used. May be repeated for traces.
    from_
        Traces and frames: start of the interval, such as 2s. With waterfall: the first page from then on.
    to
        Traces and frames: end of the interval.
    log_x
        Logarithmic x axis, or with --linear-x a linear one. Default for studies: by the range of the numbers.
    log_y
        Study: logarithmic y axis.
    title
        Title of the figure. Default: that of the study.
    print_
        How the figure is printed.
    out
        File of the figure (.svg, .pdf, .png or .eps). Default: plot.svg in the study's folder, otherwise in this
        folder.
    time_limit
        Longest time of the run of a scenario with a controller in Python, such as 60s. 0: no limit. Default:
        10 minutes.
    allow_code
        Allow scenario files to name code and base files (`extends`) outside their own folder.

    """
    study = not _is_scenario(target) and target.is_dir()
    file, size = print_.file(out, (target if study else Path()) / "plot.svg"), print_.size
    of_application = kind in applications.KINDS
    choice = applications_choice(kind, y, flow, *_interval(from_, to), title) if of_application else None
    if study and choice is not None:
        others = {"more files": targets or None, "--x": x, "--link": link, "--from": from_, "--to": to}
        _refuse(f"--kind {kind}: draws a study", others | {"--log-x": log_x})
        make = figure_of_study(target, choice, by, where or [])
    elif study:
        from ackclock.draw.studies import Choice

        of_traces = {"more files": targets or None, "--from": from_, "--to": to}
        _refuse(f"{target}: is a study", of_traces, "; it belongs to traces")
        if link is not None and len(link) > 1:
            raise BadInput("--link: a figure of a study has one link")
        choice_of_study = Choice(
            x=x,
            y=y or [],
            by=by,
            kind=cast("StudyKind", kind or "lines"),
            flows=flow or [],
            link=link[0] if link else "",
            log_x=log_x,
            log_y=log_y,
            title=title,
        )
        make = _study(target, choice_of_study, where or [])
    elif choice is not None:
        others = {"more files": targets or None, "--x": x, "--by": by, "--where": where, "--link": link}
        _refuse(f"--kind {kind}: draws one run", others | {"--log-x": log_x})
        if _is_scenario(target):
            scenario = _scenario(target, allow_code=allow_code)
            with progress("simulating", quiet=False) as advance, guard.time_limit(time_limit):
                result = scenario.run(messages=True, progress=advance)
            make = figure_of_run(scenario, result, choice)
        else:
            make = figure_of_file(target, choice)
    else:
        from ackclock.draw.runs import Selection

        of_studies = {"--x": x, "--by": by, "--kind": kind, "--where": where, "--log-x": log_x}
        _refuse(f"{_short(target)}: is no folder of a study", of_studies)
        start_s, end_s = _interval(from_, to)
        selection = Selection(y or [], flow or [], link or [], start_s, end_s)
        make = _over_time([target, *targets], selection, title, limit_s=time_limit, allow_code=allow_code)
    save_figure(fitted(make, size), file)
    say(f"written: {file}")
    return 0


def _is_scenario(target: Path) -> bool:
    return is_link(str(target)) or str(target).startswith("@") or target.suffix == ".toml"


def _short(target: Path) -> str:
    """A name for messages: a link has hundreds of characters."""
    return "the link" if is_link(str(target)) else str(target)


def _interval(start: str | None, end: str | None) -> tuple[float | None, float | None]:
    """The values of --from and --to, seconds. Raises BadInput."""
    start_s = None if start is None else seconds(start, "--from")
    end_s = None if end is None else seconds(end, "--to")
    if start_s is not None and end_s is not None and end_s <= start_s:
        raise BadInput("--to: must be later than --from")
    return start_s, end_s


def _study(folder: Path, choice: Choice, where: list[str]) -> Callable[[], Figure]:
    """What draws the points of a study at which axes have the labels `where` (AXIS=LABEL)."""
    from ackclock.draw.studies import study_figure
    from ackclock.study import Store
    from ackclock.study.results import points

    with Store.open(folder) as store:
        table = points(store, where)
        for note in store.notes:
            say(f"ackclock: {folder}: {note}", error=True)
    return lambda: study_figure(table, choice)


def _refuse(what: str, options: Mapping[str, object], more: str = "") -> None:
    """Raise BadInput for an option that has a value."""
    for option, value in options.items():
        if value is not None:
            raise BadInput(f"{what}, so {option} has no meaning{more}")


def _over_time(
    targets: list[Path], selection: Selection, title: str, *, limit_s: float | None, allow_code: bool
) -> Callable[[], Figure]:
    """What draws values over time: of traces, or of a scenario, which is run."""
    from ackclock.draw.runs import timelines

    if not _is_scenario(targets[0]):
        return _traces(targets, selection, title)
    if len(targets) > 1:
        raise BadInput(f"{_short(targets[0])}: is a scenario; draw it alone, or record traces with ackclock run")
    scenario = _scenario(targets[0], allow_code=allow_code)
    with progress("simulating", quiet=False) as advance, guard.time_limit(limit_s):
        result = scenario.run(trace="ack", packets=True, progress=advance)
    return lambda: timelines(result, title=title, **asdict(selection))


def _scenario(target: Path, *, allow_code: bool) -> Scenario:
    """The scenario that is run once. Raises BadInput for a study."""
    scenario = Scenario.load(target, allow_code=allow_code)
    advise(scenario.advice)
    if scenario.is_study:
        raise BadInput(f"{scenario.file}: sweep: the file is a study; run it with ackclock sweep, then draw its folder")
    return scenario


def _traces(files: list[Path], selection: Selection, title: str) -> Callable[[], Figure]:
    from ackclock.draw.runs import time_series
    from ackclock.draw.traces import read_recordings

    recordings = read_recordings(files)
    names = ", ".join(recording.label for recording in recordings)
    heading = title or (names if len(names) < 80 else f"{len(recordings)} recordings")
    return lambda: time_series(recordings, selection, heading=heading)
