"""Figures of applications: distributions of times and slowdowns, frames, video players, pages.

`cdf` and `bins` are of runs (one, or those of a study), `frames`, `player` and `waterfall` of a single run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from ackclock import stats
from ackclock.base.files import BadInput
from ackclock.base.si import prefixed, quantity
from ackclock.base.text import drawn
from ackclock.draw.labels import End, label_ends
from ackclock.draw.means import estimates
from ackclock.draw.style import (
    BAND,
    COLOURS,
    INK,
    MOST_CURVES,
    SOFT,
    curve,
    key,
    most_columns,
    note,
    panels,
    pt,
    title,
)
from ackclock.metrics.applications import (
    CONNECTION,
    SIZES,
    Percentile,
    application,
    families,
    is_transfer,
    message_counts,
)

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

Kind = Literal["cdf", "bins", "frames", "player", "waterfall"]
KINDS: tuple[str, ...] = get_args(Kind)
OF_RUNS = ("cdf", "bins")
"""Kinds that draw several runs too, such as those of a study."""
Quantity = Literal["completion", "slowdown"]
QUANTITIES: dict[str, tuple[Literal["s", "slowdown"], str]] = {
    "completion": ("s", "completion time (s)"),
    "slowdown": ("slowdown", "slowdown (time over that on the empty path)"),
}
"""What `cdf` draws: what it is in the outcome, and the label of its axis."""
PARTS = {0.5: "median", 0.95: "95th percentile", 0.99: "99th percentile"}
BIN_LABELS = {
    name: f"≤ {most // 1000:,} kB" if most and most < 10**6 else f"≤ {most // 10**6} MB" if most else "> 10 MB"
    for name, most in SIZES.items()
}
MOST_OBJECTS = 160
"""Objects of a page that are drawn."""
STATES: dict[str, tuple[str, str, str]] = {
    "on_time": ("on time", COLOURS[0], "."),
    "late": ("late", COLOURS[1], "^"),
    "cancelled": ("cancelled", COLOURS[3], "x"),
    "dropped": ("dropped", COLOURS[6], "+"),
    "unfinished": ("under way at the end", COLOURS[7], "s"),
}
"""How frames of each state are drawn: words, colour and mark."""
Counts = list[tuple[float, int]]
"""Values with their counts; infinite for messages without an end."""


@dataclass(frozen=True)
class Series:
    """A curve of `cdf` or `bins`: its name, and for each run the flows whose messages it pools."""

    name: str
    runs: Sequence[Sequence[Mapping[str, Any]]]
    values: Mapping[str, Sequence[float]] | None = None
    """The values of each message instead, by "s" and "slowdown"."""

    def counts(self, of: Literal["s", "slowdown"]) -> Counts:
        """The values of all messages of all runs."""
        if self.values is not None:
            return [(value, 1) for value in self.values[of]]
        return [pair for flows in self.runs for flow in flows for pair in message_counts(flow, of)]

    def percentile(self, part: float, size: str) -> stats.Estimate:
        """A percentile of the slowdowns of a bin: the mean over the runs with its interval."""
        source = Percentile(part, "slowdown", size=size)
        values = [value for flows in self.runs if (value := source.pooled(flows)) is not None]
        return stats.over_runs(values, by_logarithm=True)


@dataclass(frozen=True)
class Panel:
    """A panel of `cdf` or `bins` with its curves."""

    words: str
    series: Sequence[Series]


@dataclass(frozen=True)
class RunOfApplications:
    """A run, as far as figures of a single run need it."""

    messages: pl.DataFrame
    """The columns of `Result.messages`."""
    flows: Sequence[Mapping[str, Any]] = ()
    """The flows of the outcome; none if it is not known."""
    end_s: float = 0.0
    deadlines: Mapping[str, float] = field(default_factory=dict)
    """The deadlines of frames by the name of the application, seconds, where they are known."""


def of_run(flows: Sequence[Mapping[str, Any]], sources: Sequence[str], chosen: Sequence[str]) -> list[Series]:
    """A curve for each application and each traffic source of a run, or for those with a name in `chosen`.

    Raises BadInput for a name that is none of them.
    """
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for name, together in families(flows).items():
        counted = [flow for flow in together if application(flow) or is_transfer(flow)]
        source = next((s for s in sources if name.startswith(s) and name.removeprefix(s).isdecimal()), name)
        if counted:
            by_name.setdefault(source, []).extend(counted)
    for name in chosen:
        if name not in by_name:
            raise BadInput(f"--flow {name}: has no messages; there are {', '.join(list(by_name)[:12]) or 'none'}")
    series = [Series(name, [counted]) for name, counted in by_name.items() if not chosen or name in chosen]
    if not series:
        raise BadInput("no flow has an application (app) or a number of bytes, so there are no messages to draw")
    return series


def of_messages(messages: pl.DataFrame, chosen: Sequence[str]) -> list[Series]:
    """A curve for each application whose messages are in a table, or for those with a name in `chosen`.

    Raises BadInput for a name that is none of them.
    """
    import polars as pl

    ended = pl.col("state").is_in(["finished", "on_time", "late"])
    seconds = pl.when(ended).then(pl.col("end_s") - pl.col("start_s")).otherwise(math.inf)
    slowdown = pl.when(ended).then(pl.col("slowdown")).otherwise(math.inf)
    rows = messages.with_columns(
        pl.col("flow").str.replace(r"/\d+$", "").alias("application"), seconds.alias("s"), slowdown.alias("slowdown")
    )
    tables = {str(name): table for (name,), table in rows.group_by("application", maintain_order=True)}
    for name in chosen:
        if name not in tables:
            raise BadInput(f"--flow {name}: has no messages; there are {', '.join(list(tables)[:12])}")
    values = {
        name: {of: table[of].drop_nulls().to_list() for of in ("s", "slowdown")} for name, table in tables.items()
    }
    return [Series(name, [], of) for name, of in values.items() if not chosen or name in chosen]


def of_rows(rows: Sequence[Mapping[str, Any]], chosen: Sequence[str]) -> list[list[Mapping[str, Any]]]:
    """For each run the flows with messages, or those with a name in `chosen` (of all connections of an application)."""
    runs = []
    for row in rows:
        named = [flow for name, of in families(row["flows"]).items() for flow in of if not chosen or name in chosen]
        runs.append([flow for flow in named if application(flow) or is_transfer(flow)])
    return runs


def cdf(drawn_panels: Sequence[Panel], quantities: Sequence[str] = (), *, heading: str = "") -> Figure:
    """Draw the part of the messages that needed at most a time or a slowdown, on a logarithmic axis.

    `quantities`: "completion", "slowdown"; by default both where there is one panel. Raises BadInput for another one,
    and without values.
    """
    wanted = list(quantities) or list(QUANTITIES)[: 2 if len(drawn_panels) == 1 else 1]
    for name in wanted:
        if name not in QUANTITIES:
            raise BadInput(f"--y {name}: --kind cdf draws {' or '.join(QUANTITIES)}")
    grid = [(panel, name) for panel in drawn_panels for name in wanted]
    columns = min(most_columns(), 2, len(grid))
    figure, axes = panels(columns, -(-len(grid) // columns), 3.9 if len(grid) <= columns else 3.1, share="y")
    for spare in axes[len(grid) :]:
        spare.set_visible(False)
    names: dict[str, int] = {}
    unfinished = False
    for place, (panel, name) in enumerate(grid):
        of, words = QUANTITIES[name]
        for series in panel.series:
            if counts := series.counts(of):
                number = names.setdefault(series.name, len(names))
                unfinished |= _steps(axes[place], counts, number)
        _cdf_axes(axes[place], words, panel.words, left=place % columns == 0)
    if not names:
        raise BadInput("--kind cdf: no message has a value; slowdowns need a path that does not change")
    said = "Each curve: all messages of its flows together."
    note(figure, f"{said} It ends below 1 by the part without an end." if unfinished else said)
    _name_series(figure, list(names), heading)
    return figure


def _steps(axes: Axes, counts: Counts, number: int) -> bool:
    """Draw a distribution; returns whether some messages have no end."""
    total = sum(count for _, count in counts)
    finite = sorted((x, count) for x, count in counts if math.isfinite(x) and x > 0)
    if finite:
        values = np.array([x for x, _ in finite])
        parts = np.cumsum([count for _, count in finite]) / total
        axes.step([values[0], *values], [0.0, *parts], where="post", linewidth=1.5, **curve(number))
    return any(math.isinf(x) for x, _ in counts)


def _cdf_axes(axes: Axes, words: str, heading: str, *, left: bool) -> None:
    axes.set_xscale("log")
    _plain_ticks(axes.xaxis)
    axes.set_xlabel(words)
    axes.set_ylim(0, 1.02)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 0.95, 1], ["0", "0.25", "median", "0.75", "0.95", ""])
    if left:
        axes.set_ylabel("fraction of messages")
    if heading:
        axes.set_title(drawn(heading), fontsize=pt(9), loc="left")


def _name_series(figure: Figure, names: Sequence[str], heading: str) -> None:
    from matplotlib.lines import Line2D

    if len(names) < 2:
        title(figure, drawn(heading))
        return
    handles = [Line2D([], [], linewidth=1.5, **curve(number)) for number in range(len(names))]
    key(figure, handles, [drawn(name) for name in names], drawn(heading))


def bins(drawn_panel: Panel, *, heading: str = "") -> Figure:
    """Draw median, 95th and 99th percentile of the slowdown by the size of messages.

    One series: three curves in one panel; several: a panel for each percentile. Raises BadInput without values.
    """
    sizes = [size for size in SIZES if any(one.percentile(0.5, size).n for one in drawn_panel.series)]
    series = [one for one in drawn_panel.series if any(one.percentile(0.5, size).n for size in sizes)]
    if not sizes:
        raise BadInput(
            "--kind bins: no bin of sizes has two messages with a slowdown; needs a path that does not change"
        )
    several = len(series) > 1
    columns = min(most_columns(), 3) if several else 1
    figure, axes = panels(columns, -(-len(PARTS) // columns) if several else 1, 3.2 if several else 3.9)
    for spare in axes[len(PARTS) if several else 1 :]:
        spare.set_visible(False)
    intervals = False
    ends: dict[Axes, list[End]] = {}
    for place, (part, words) in enumerate(PARTS.items()):
        panel = axes[place if several else 0]
        for number, one in enumerate(series):
            values = [(at, e) for at, size in enumerate(sizes) if (e := one.percentile(part, size)).n]
            if not values:
                continue
            order = number if several else place
            shift = 0.3 * ((order + 0.5) / (len(series) if several else len(PARTS)) - 0.5)
            places, means = [at + shift for at, _ in values], [e for _, e in values]
            estimates(panel, places, means, number=order, label=one.name)
            intervals |= any(e.low is not None for e in means)
            if not several:
                ends.setdefault(panel, []).append(End(places[-1], means[-1].value, words, COLOURS[place]))
        if several:
            panel.set_title(words, fontsize=pt(9), loc="left")
            if not panel.lines:
                few = f"fewer than {round(1 / (1 - part))} messages\nof every size, or some without an end"
                panel.text(0.5, 0.5, few, transform=panel.transAxes, ha="center", fontsize=pt(8.5), color=SOFT)
    for place, panel in enumerate(axes[: len(PARTS) if several else 1]):
        panel.set_yscale("log")
        panel.set_xticks(range(len(sizes)), [BIN_LABELS[size] for size in sizes])
        panel.set_xlim(-0.5, len(sizes) - 0.5)
        if not several or place + columns >= len(PARTS):
            panel.set_xlabel("size of the message")
        if place % columns == 0:
            panel.set_ylabel("slowdown")
    _plain_ticks(axes[0].yaxis)
    more = " Percentiles over the seeds: geometric means with 95 % intervals." if intervals else ""
    note(
        figure, f"Slowdown: time over that on the empty path. A percentile needs 2, 20 or 100 messages of a size.{more}"
    )
    _name_series(figure, [one.name for one in series], heading)
    label_ends(figure, ends)
    return figure


def _plain_ticks(axis: Axis) -> None:
    """Write the ticks of a logarithmic axis as plain numbers, 1, 2, 5, 10, or 1, 10 of a wide one."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    wide = low <= 0 or high / low > 300
    axis.set_major_locator(LogLocator(base=10, subs=(1.0,) if wide else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _application(flow: str) -> str:
    """The name of the application of a flow, without the number of the connection."""
    match = CONNECTION.fullmatch(flow)
    return match[1] if match else flow


def _of_kind(run: RunOfApplications, kind: str, chosen: Sequence[str], figure: str) -> dict[str, pl.DataFrame]:
    """The messages of the applications of a kind by name, or of those in `chosen`. Raises BadInput if there is none."""
    import polars as pl

    rows = run.messages.filter(pl.col("kind") == kind) if run.messages.width else run.messages
    names = list(dict.fromkeys(rows["flow"].to_list())) if rows.height else []
    if not names:
        raise BadInput(f'--kind {figure}: no flow has an application with kind = "{kind}"')
    wanted = [name for name in names if not chosen or name in chosen or _application(name) in chosen]
    if not wanted:
        raise BadInput(
            f'--flow {chosen[0]}: has no application with kind = "{kind}"; there are {", ".join(names[:12])}'
        )
    return {name: rows.filter(pl.col("flow") == name) for name in wanted[:MOST_CURVES]}


def frames(
    run: RunOfApplications,
    flows: Sequence[str] = (),
    *,
    start_s: float = 0.0,
    end_s: float = math.inf,
    heading: str = "",
) -> Figure:
    """Draw the delay of each frame of video calls from capture to its last byte, with the deadline; a panel a call.

    Frames that did not arrive are marked above. Raises BadInput without frames.
    """
    import polars as pl
    from matplotlib.lines import Line2D

    by_flow = _of_kind(run, "frames", flows, "frames")
    figure, axes = panels(1, len(by_flow), 3.6 if len(by_flow) == 1 else 2.6, share="x")
    states: list[str] = []
    for panel, (name, rows) in zip(axes, by_flow.items(), strict=True):
        rows = rows.filter(pl.col("start_s").is_between(start_s, end_s))
        if rows.is_empty():
            raise BadInput(f"--from: no frame of {name} begins in this time")
        states += _frames_panel(panel, rows, run.deadlines.get(name))
        if len(by_flow) > 1:
            panel.set_title(drawn(_application(name)), fontsize=pt(9), loc="left")
    axes[-1].set_xlabel("time of capture (s)")
    shown = [state for state in STATES if state in states]
    handles = [
        Line2D(
            [],
            [],
            linestyle="none",
            markersize=8 if STATES[s][2] == "." else 5,
            color=STATES[s][1],
            marker=STATES[s][2],
        )
        for s in shown
    ]
    key(figure, handles, [STATES[state][0] for state in shown], drawn(heading))
    note(figure, "A mark for each frame. Above the line: frames that did not arrive, which have no delay.")
    return figure


def _frames_panel(axes: Axes, rows: pl.DataFrame, deadline_s: float | None) -> list[str]:
    """Draw the frames of a call; returns their states."""
    import polars as pl

    rows = rows.with_columns((1e3 * (pl.col("end_s") - pl.col("start_s"))).alias("delay_ms"))
    arrived = rows.filter(pl.col("state").is_in(["on_time", "late"]))
    if deadline_s is None:
        deadline_s = _deadline(arrived)
    largest = max([1.0, *arrived["delay_ms"].to_list(), *([1e3 * deadline_s] if deadline_s else [])])
    top = 1.08 * largest
    lost = rows.filter(~pl.col("state").is_in(["on_time", "late"]))
    heights = {state: top * (1.03 + 0.05 * place) for place, state in enumerate(("cancelled", "dropped", "unfinished"))}
    for (state,), of_state in rows.group_by("state", maintain_order=True):
        _, colour, marker = STATES[str(state)]
        delays = of_state["delay_ms"].to_numpy() if state in {"on_time", "late"} else None
        heights_of_marks = np.full(of_state.height, heights.get(str(state), top)) if delays is None else delays
        style: dict[str, Any] = {"markersize": {".": 4.0, "^": 4.0}.get(marker, 4.5), "markeredgewidth": 0.9}
        axes.plot(of_state["start_s"], heights_of_marks, marker, color=colour, alpha=0.8, **style)
    if lost.height:
        axes.axhline(top, color=SOFT, linewidth=0.7)
    if deadline_s:
        axes.axhline(1e3 * deadline_s, color=INK, linestyle=":", linewidth=1.2)
        axes.annotate(
            f"deadline\n{quantity(deadline_s, 's')}",
            (1.01, 1e3 * deadline_s),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=pt(8.5),
            color=INK,
            annotation_clip=False,
        )
    axes.set_ylim(0, top)
    axes.set_yticks([tick for tick in axes.get_yticks() if 0 <= tick <= top])  # above the line there is no delay
    axes.set_ylim(0, top * (1.18 if lost.height else 1.0))
    axes.set_xmargin(0.01)
    axes.set_ylabel("delay of a frame (ms)")
    return [str(state) for state in rows["state"].unique()]


def _deadline(arrived: pl.DataFrame) -> float | None:
    """The deadline between the largest delay on time and the smallest late one, seconds, if they leave 5 % of doubt."""
    import polars as pl

    on_time = arrived.filter(pl.col("state") == "on_time")["delay_ms"].max()
    late = arrived.filter(pl.col("state") == "late")["delay_ms"].min()
    if not isinstance(on_time, float) or not isinstance(late, float) or late > 1.05 * on_time:
        return None
    return float(f"{0.5e-3 * (on_time + late):.2g}")


def player(run: RunOfApplications, flows: Sequence[str] = (), *, heading: str = "") -> Figure:
    """Draw the buffer of video players, and the bitrate of their chunks with the estimate of the throughput.

    Raises BadInput without a player.
    """
    players = [flow for flow in run.flows if (app := application(flow)) and app["kind"] == "video" and app["chunk_log"]]
    if flows:
        players = [flow for flow in players if flow["name"] in flows or _application(flow["name"]) in flows]
    if not players:
        raise BadInput('--kind player: no such flow has an application with kind = "video" that received a chunk')
    players = players[:MOST_CURVES]
    figure, (upper, lower) = panels(1, 2, 2.5, share="x")
    bitrates: list[End] = []
    buffers: list[End] = []
    estimated = [flow["app"]["chunk_log"] for flow in players]
    most = max(c[k] for log in estimated for c in log for k in ("bitrate_bps", "estimate_bps") if c[k] is not None)
    factor, unit = prefixed("b/s", [most])
    single = len(players) == 1
    for number, flow in enumerate(players):
        log = flow["app"]["chunk_log"]
        times, levels, stalls = buffer_levels(log, run.end_s)
        upper.plot(times, levels, linewidth=1.3, **curve(number))
        for begin, end in stalls:
            upper.axvspan(
                begin, end, color=COLOURS[1] if single else COLOURS[number % len(COLOURS)], alpha=0.25, linewidth=0
            )
        ends = [chunk["end_s"] for chunk in log]
        rates = [factor * chunk["bitrate_bps"] for chunk in log]
        asked = [chunk["asked_s"] for chunk in log]
        lower.step(
            [asked[0], *ends], [rates[0], *rates], where="pre", linewidth=1.5, color=COLOURS[number % len(COLOURS)]
        )
        known = [
            (chunk["asked_s"], factor * chunk["estimate_bps"]) for chunk in log if chunk["estimate_bps"] is not None
        ]
        style = {"color": SOFT} if single else {"color": COLOURS[number % len(COLOURS)], "alpha": 0.6}
        lower.plot([t for t, _ in known], [r for _, r in known], ".:", markersize=5, linewidth=1.0, **style)
        name = "bitrate" if single else flow["name"]
        bitrates.append(End(ends[-1], rates[-1], name, COLOURS[number % len(COLOURS)]))
        if known and single:
            bitrates.append(End(*known[-1], "estimate", SOFT))
        if not single:
            buffers.append(End(times[-1], levels[-1], flow["name"], COLOURS[number % len(COLOURS)]))
    upper.set_ylabel("buffer (s of video)")
    upper.set_ylim(bottom=0)
    lower.set_ylabel(f"bitrate ({unit})")
    lower.set_ylim(bottom=0)
    lower.set_xlabel("time (s)")
    lower.set_xlim(0, run.end_s or None)
    figure.align_ylabels([upper, lower])
    title(figure, drawn(heading))
    note(
        figure,
        "Shaded: the player stalls, its buffer is empty. Steps: the bitrate of the chunk that arrives; dotted: the "
        "throughput that the player expects when it asks for a chunk.",
    )
    label_ends(figure, {upper: buffers, lower: bitrates})
    return figure


def buffer_levels(
    log: Sequence[Mapping[str, Any]], end_s: float
) -> tuple[list[float], list[float], list[tuple[float, float]]]:
    """The level of a player's buffer over time from its chunks: times, seconds of video, and the stalls.

    The level rises when a chunk is complete and falls by a second each second while the player plays.
    """
    chunk_s = float(log[0]["buffer_s"])
    times, levels = [float(log[0]["asked_s"])], [0.0]
    stalls: list[tuple[float, float]] = []
    afterwards = [*log[1:], None]
    for chunk, following in zip(log, afterwards, strict=True):
        begin, level = float(chunk["end_s"]), float(chunk["buffer_s"])
        times += [begin, begin]
        levels += [levels[-1], level]
        until = max(begin, end_s) if following is None else float(following["end_s"])
        before = max(0.0, level - (until - begin)) if following is None else float(following["buffer_s"]) - chunk_s
        plays = before < level - 1e-9
        empty = begin + level
        if plays and empty < until:
            times.append(empty)
            levels.append(0.0)
            stalls.append((empty, until))
        times.append(until)
        levels.append(max(0.0, before))
    return times, levels, stalls


def pages(rows: pl.DataFrame, objects: int | None = None) -> list[pl.DataFrame]:
    """The messages of a loader by page. `objects`: how many a page has, if it is known.

    Without it a page begins with an object of the size of the very first, when everything before has arrived.
    """
    rows = rows.sort("number")
    if objects:
        return [rows.slice(begin, objects) for begin in range(0, rows.height, objects)]
    starts, latest = [0], -math.inf
    first_bytes = rows["bytes"][0]
    for place, (start, end, size) in enumerate(rows.select("start_s", "end_s", "bytes").iter_rows()):
        if place and size == first_bytes and start > latest:
            starts.append(place)
        latest = max(latest, math.inf if end is None else end)
    return [rows.slice(begin, end - begin) for begin, end in pairwise([*starts, rows.height])]


def waterfall(
    run: RunOfApplications,
    flows: Sequence[str] = (),
    *,
    objects: Mapping[str, int] | None = None,
    start_s: float = 0.0,
    heading: str = "",
) -> Figure:
    """Draw when each object of a page was asked for, when its first byte arrived, and its last.

    It is the first page that begins at `start_s` or later; `objects` has the number of objects of a page by flow, where
    it is known. Raises BadInput without a page.
    """
    from matplotlib.patches import Patch

    name, rows = next(iter(_of_kind(run, "page", flows, "waterfall").items()))
    loads = pages(rows, (objects or {}).get(name))
    page = next((load for load in loads if load["start_s"].min() >= start_s), None)  # type: ignore[operator]
    if page is None:
        raise BadInput(f"--from: no page of {name} begins at {start_s:g} s or later")
    shown = page.head(MOST_OBJECTS)
    zero = float(shown["start_s"].min())  # type: ignore[arg-type]
    last = max([x for x in shown["end_s"].to_list() if x is not None] or [run.end_s])
    horizon = run.end_s if run.end_s and shown["end_s"].null_count() else last
    figure, (axes,) = panels(1, height=2.0 + (0.24 if shown.height <= 24 else 0.105) * shown.height)
    colour = COLOURS[0]
    for place, (start, first, end) in enumerate(shown.select("start_s", "first_s", "end_s").iter_rows()):
        seen = first if first is not None else (end if end is not None else horizon)
        axes.barh(place, seen - start, left=start - zero, height=0.8, color=BAND)
        if first is not None:
            done = horizon if end is None else end
            # A bar without width is not drawn: an object of one packet has its first byte with its last.
            axes.barh(place, max(done - first, 2e-3 * (horizon - zero)), left=first - zero, height=0.8, color=colour)
        if end is None:
            axes.plot([horizon - zero], [place], ">", color=COLOURS[1], markersize=3.5, clip_on=False)
    places, labels = _object_labels(shown)
    axes.set_yticks(places, labels, fontsize=pt(8 if shown.height <= 24 else 7))
    axes.set_ylim(shown.height - 0.4, -0.6)
    axes.set_xlim(0, (horizon - zero) * 1.01)
    axes.set_xlabel("time since the page was asked for (s)")
    axes.grid(visible=False, axis="y")
    handles = [Patch(color=BAND), Patch(color=colour)]
    key(figure, handles, ["waits for its first byte", "arrives"], drawn(heading))
    several = len(loads) > 1
    which = f"Page {1 + next(i for i, load in enumerate(loads) if load is page)} of {len(loads)}: " if several else ""
    total = quantity(float(page["bytes"].sum()), "B")
    cut = f", the first {MOST_OBJECTS}" if page.height > MOST_OBJECTS else ""
    left_open = " Triangles: not complete at the end of the run." if page["end_s"].null_count() else ""
    note(
        figure,
        f"{which}{page.height} objects of {_application(name)}, {total}{cut}, in the order of the requests.{left_open}",
    )
    return figure


def _object_labels(shown: pl.DataFrame) -> tuple[list[int], list[str]]:
    """Places and texts of the names of objects: every one, or every fifth of many."""
    step = 1 if shown.height <= 24 else 5
    places = list(range(0, shown.height, step))
    sizes = shown["bytes"].to_list()
    return places, [f"{place + 1}: {quantity(sizes[place], 'B', 2)}" for place in places]


def study_panels(table: Any, *, by: str | None, flows: Sequence[str], words: Callable[[str], str] = str) -> list[Panel]:
    """The panels of a study: a curve for each label of an axis, a panel for each label of another one.

    `table` is a `StudyTable`. Raises BadInput for more axes.
    """
    free = dict(table.axes)
    chosen = (
        table.name_of(by, "--by") if by else next((name for name in free if "control" in name), next(iter(free), ""))
    )
    labels = free.pop(chosen).labels if chosen else [""]
    facet, facet_labels = "", [""]
    if free:
        facet = next(iter(free))
        facet_labels = free.pop(facet).labels
    if free or len(facet_labels) > 12:
        name = next(iter(free), facet)
        raise BadInput(f"the axis {name} has several labels; choose one: --where '{name}={table.axes[name].labels[0]}'")
    drawn_panels = []
    for of_facet in facet_labels:
        series = []
        for label in labels:
            where = [(chosen, label)] if chosen else []
            where += [(facet, of_facet)] if facet else []
            rows = [row for at, rows in table.points.items() if all(pair in at for pair in where) for row in rows]
            series.append(Series(label or table.title, of_rows(rows, flows)))
        drawn_panels.append(Panel(f"{words(facet)}: {of_facet}" if facet else "", series))
    return drawn_panels
