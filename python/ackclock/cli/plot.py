"""`ackclock plot`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from ackclock.cli.options import seconds
from ackclock.files import BadInput, check_picture, check_targets, save_figure
from ackclock.text import say

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Kind = Literal["lines", "box", "ecdf", "bars", "throughput-delay", "heatmap"]


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
    out: Path | None = None,
) -> int:
    """Draw the results of a study (a folder of `ackclock sweep`), or recorded traces over time.

    Parameters
    ----------
    target
        Folder of a study, or a file of `ackclock run --trace` or `--packets` (.parquet or .csv).
    targets
        More traces, of the same run or of others. A trace and the packet events beside it with one name up to the
        first dot (reno.trace.parquet, reno.packets.parquet) belong together.
    x
        Study: axis along the figure; a part of its name is enough, such as loss. Default: the longest axis of numbers.
        With throughput-delay: metric of the delay. Default: queueing.
    y
        Study: metric, such as goodput, queueing, utilisation, jain, completion or fwd.goodput_bps. Default: goodput.
        Traces: column, such as cwnd, rtt, queue, goodput, bwe. May be repeated.
    by
        Study: axis whose labels are the curves, such as control.
    kind
        Study: lines (means with 95 % intervals; the default), box, ecdf, bars, throughput-delay, or heatmap.
    where
        Study: show only the points at which an axis has this label: AXIS=LABEL. May be repeated.
    flow
        Only this flow. May be repeated.
    link
        Link whose queue or utilisation is drawn. Default: the one most used. May be repeated for traces.
    from_
        Traces: start of the interval, such as 2s.
    to
        Traces: end of the interval.
    log_x
        Logarithmic x axis, or with --linear-x a linear one. Default for studies: by the range of the numbers.
    log_y
        Study: logarithmic y axis.
    title
        Title of the figure. Default: that of the study.
    out
        File of the figure (.svg, .pdf or .png). Default: plot.svg in the study's folder, or beside the first trace.

    """
    study = target.is_dir()
    file = out or (target / "plot.svg" if study else target.with_name("plot.svg"))
    check_picture(file, "--out")
    check_targets([file])
    if study:
        for option, given in (("more files", targets), ("--from", from_), ("--to", to)):
            if given:
                raise BadInput(f"{target}: is a study, so {option} has no meaning; it belongs to traces")
        figure = _study(
            target, x, y or [], by, kind or "lines", where or [], flow or [], link or [], log_x, log_y, title
        )
    else:
        for option, given_text in (("--x", x), ("--by", by), ("--kind", kind), ("--where", where), ("--log-x", log_x)):
            if given_text is not None:
                raise BadInput(f"{target}: is no folder of a study, so {option} has no meaning")
        figure = _traces([target, *targets], y or [], flow or [], link or [], from_, to, title)
    save_figure(figure, file)
    say(f"written: {file}")
    return 0


def _study(
    folder: Path,
    x: str | None,
    y: list[str],
    by: str | None,
    kind: Kind,
    where: list[str],
    flows: list[str],
    links: list[str],
    log_x: bool | None,
    log_y: bool,
    title: str,
) -> Figure:
    from ackclock.plot.studies import Choice, study_figure
    from ackclock.plot.table import StudyTable
    from ackclock.study import Store

    if len(links) > 1:
        raise BadInput("--link: a figure of a study has one link")
    choice = Choice(x, y, by, kind, flows, links[0] if links else "", log_x, log_y, title)
    with Store.open(folder) as store:
        figure = study_figure(StudyTable.read(store, where), choice)
        for note in store.notes:
            say(f"ackclock: {folder}: {note}", error=True)
    return figure


def _traces(
    files: list[Path], y: list[str], flows: list[str], links: list[str], start: str | None, end: str | None, title: str
) -> Figure:
    from ackclock.plot.runs import Selection, time_series
    from ackclock.plot.traces import read_recordings

    start_s = None if start is None else seconds(start, "--from")
    end_s = None if end is None else seconds(end, "--to")
    if start_s is not None and end_s is not None and end_s <= start_s:
        raise BadInput("--to: must be later than --from")
    recordings = read_recordings(files)
    names = ", ".join(recording.label for recording in recordings)
    heading = title or (names if len(names) < 80 else f"{len(recordings)} recordings")
    return time_series(recordings, Selection(y, flows, links, start_s, end_s), heading=heading)
