"""Figures of single runs, and of the recorded traces of one or several runs: values over time, a panel for each."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl

from ackclock.base.files import BadInput
from ackclock.base.si import digits_of
from ackclock.base.text import drawn
from ackclock.draw import series
from ackclock.draw.labels import End, label_ends
from ackclock.draw.series import Recording, Series
from ackclock.draw.style import BAND, COLOURS, MOST_CURVES, SOFT, curve, note, panels, pt, short, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BINS = 100
MOST_BARS = 16
CLOUD = 6_000
"""Points of all round-trip samples as drawn."""
UNITS = {"_s": (1e3, "ms"), "_bps": (1e-6, "Mb/s")}
INTERNALS = {
    **dict.fromkeys(("base_rtt", "rtt_min", "min_rtt", "srtt", "artt", "k", "fine_timeout"), (1e3, "ms")),
    **dict.fromkeys(("bwe", "sample", "bandwidth", "bw", "max_bw"), (1e-6, "Mb/s")),
}
"""Factor and unit of the internals of controllers that are times or rates."""
FROM_PACKETS = {"queue": "packets held (waiting or in transmission)", "goodput": "new data at the sink"}
NOT_VALUES = {"time_s", "flow", "event", "phase"}


@dataclass(frozen=True, eq=False)
class Line:
    """A curve of a panel: its name, and its number for colour and dashes."""

    name: str
    number: int
    recording: Recording
    flow: str


@dataclass(frozen=True)
class Selection:
    """What a figure of time series shows."""

    columns: Sequence[str] = ()
    """Columns of the trace, `rtt`, `queue`, `goodput`. Default: cwnd, rtt, and what the packet events give."""
    flows: Sequence[str] = ()
    links: Sequence[str] = ()
    start_s: float | None = None
    end_s: float | None = None


class Traced(Protocol):
    """The result of a run, as far as figures need it."""

    @property
    def outcome(self) -> dict[str, Any]:
        """The outcome."""

    @property
    def trace(self) -> pl.DataFrame:
        """The window trace; empty if the run was not traced."""

    @property
    def packets(self) -> pl.DataFrame:
        """Every packet event; empty if they were not kept."""

    @property
    def capacities(self) -> dict[str, np.ndarray]:
        """For links whose rate varies, the bits that they could have sent until equal times."""


def timelines(
    result: Traced,
    *,
    title: str = "",
    columns: Sequence[str] = (),
    flows: Sequence[str] = (),
    links: Sequence[str] = (),
    start_s: float | None = None,
    end_s: float | None = None,
) -> Figure:
    """Draw values of a run over time, a panel for each: by default window, round-trip time, queue and goodput.

    The run must have been made with `trace="ack"` and, for queue and goodput, with `packets=True`. With more than
    seven flows, the figure shows the quantiles over all flows and the flows with the smallest, the median and the
    largest goodput, or those in `flows`. Raises BadInput for an unknown column, flow or link, and for a run without
    a trace.
    """
    outcome = result.outcome
    names = [flow["name"] for flow in outcome["flows"]]
    packets = result.packets if outcome["links"] and len(result.packets) else None  # radio packets are not recorded
    trace = result.trace if len(result.trace) else None  # UDP flows have none
    if trace is None and packets is None:
        raise BadInput('the run was not traced: call run(trace="ack", packets=True)')
    longest = (
        max(outcome["links"], key=lambda link: float(link["mean_queue_packets"]))["name"]
        if packets is not None
        else None
    )
    duration_s = float(outcome["duration_s"])
    capacities = {link: series.of_equal_times(duration_s, bits) for link, bits in result.capacities.items()}
    recording = Recording("", trace, packets, duration_s, names, longest, capacities)
    chosen = list(flows)
    if not chosen and len(names) > MOST_CURVES:
        chosen = _spanning({flow["name"]: float(flow["goodput_bps"]) for flow in outcome["flows"]})
    what = Selection(columns, chosen, links, start_s, end_s)
    return time_series([recording], what, heading=title or outcome["title"])


def overview(result: Traced, *, title: str = "") -> Figure:
    """Draw values over time if the run was traced, and otherwise (UDP over radio has no trace) the goodputs."""
    traced = len(result.trace) or (result.outcome["links"] and len(result.packets))
    return timelines(result, title=title) if traced else goodputs(result.outcome)


def goodputs(outcome: Mapping[str, Any]) -> Figure:
    """Draw the goodput of each flow of a run as a bar; of many flows, the first ones."""
    flows = outcome["flows"][:MOST_BARS]
    figure, (axes,) = panels(1, height=0.75 + 0.27 * len(flows), width=7)
    rates = [flow["goodput_bps"] / 1e6 for flow in flows]
    axes.barh(range(len(flows)), rates, height=0.66, color=COLOURS[0], alpha=0.75)
    for place, mbps in enumerate(rates):
        axes.annotate(digits_of(mbps), (mbps, place), (4, 0), textcoords="offset points", va="center", fontsize=pt(8.5))
    axes.set_yticks(range(len(flows)), [drawn(short(flow["name"])) for flow in flows])
    axes.grid(visible=False, axis="y")
    axes.invert_yaxis()
    axes.margins(x=0.1)
    more = len(outcome["flows"]) - len(flows)
    axes.set_xlabel("goodput (Mb/s)" + (f"; {more} more flows" if more else ""))
    title(figure, drawn(outcome["title"]))
    return figure


def time_series(recordings: Sequence[Recording], what: Selection, *, heading: str = "") -> Figure:
    """Draw values over time, a panel for each column. Curves are the flows of all recordings.

    Raises BadInput for a column, flow or link that no recording has, and for an interval without data.
    """
    columns = _columns(recordings, what)
    start = what.start_s or 0.0
    end = min(what.end_s or np.inf, max(recording.end_s for recording in recordings))
    if end <= start:
        raise BadInput(f"--from: the recording ends at {end:g} s")
    lines, crowd = _lines(recordings, what.flows)
    figure, axes = panels(1, len(columns), 2.3 if len(columns) > 1 else 3.8, share="x")
    scene = Scene(lines, crowd, what.links, start, end)
    ends = {panel: scene.draw(panel, column, recordings) for panel, column in zip(axes, columns, strict=True)}
    axes[-1].set_xlabel("time (s)")
    axes[-1].set_xlim(start, end)
    figure.align_ylabels(axes)
    title(figure, drawn(heading))
    note(figure, _note(columns, lines, crowd))
    label_ends(figure, ends)
    return figure


def _floor(axes: Axes, lowest: float) -> None:
    """Let the vertical axis start at zero if no value is below."""
    if lowest >= 0:
        axes.set_ylim(bottom=0)


def _note(columns: Sequence[str], lines: Sequence[Line], crowd: Sequence[Line]) -> str:
    said = []
    if "rtt" in columns:
        said.append("Round-trip time: samples, median and 10 % to 90 % of each interval.")
    if crowd:
        said.append(
            f"Grey: median, 10 % to 90 % and 25 % to 75 % of {len(crowd)} flows; {len(lines)} of them as lines."
        )
    return " ".join(said)


def _columns(recordings: Sequence[Recording], what: Selection) -> list[str]:
    """The columns to draw. Raises BadInput for one that does not exist."""
    traced = [r.trace for r in recordings if r.trace is not None]
    packets = [r.packets for r in recordings if r.packets is not None]
    columns = dict.fromkeys(
        name
        for trace in traced
        for name, kind in trace.schema.items()
        if name not in NOT_VALUES and (kind.is_numeric() or kind == pl.Null)
    )
    names = ["rtt" if column == "rtt_s" else column for column in columns]
    names += list(FROM_PACKETS) if packets else []
    if not what.columns:
        usual = ["cwnd", "rtt", *FROM_PACKETS]
        if not any(_has_values(trace, "rtt_s") for trace in traced):
            usual.remove("rtt")
        chosen = [column for column in usual if column in names]
        if not chosen:
            raise BadInput("the traces have no column of numbers that is drawn by default; choose one with --y")
        return chosen
    wanted = []
    for name in what.columns:
        column = "rtt" if name == "rtt_s" else name
        if column not in names:
            near = difflib.get_close_matches(column, names, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
            more = "; record packet events with --packets" if column in FROM_PACKETS else ""
            raise BadInput(f"--y {name}: there is no such column; {hint}{more}")
        wanted.append(column)
    return wanted


def _has_values(trace: Any, column: str) -> bool:
    return column in trace.columns and trace[column].null_count() < len(trace)


def _lines(recordings: Sequence[Recording], flows: Sequence[str]) -> tuple[list[Line], list[Line]]:
    """The curves to draw and, if there are too many flows, all curves for the quantiles. Raises BadInput."""
    every = []
    names: dict[str, None] = {}
    for recording in recordings:
        names_of_recording = recording.flows
        names |= dict.fromkeys(names_of_recording)
        for flow in names_of_recording:
            name = (
                flow
                if len(recordings) == 1
                else recording.label
                if len(names_of_recording) == 1
                else f"{recording.label}: {flow}"
            )
            every.append((name, recording, flow))
    for flow in flows:
        if flow not in names:
            near = difflib.get_close_matches(flow, names, 1)
            some = ", ".join(list(names)[:12])
            hint = f"did you mean {near[0]}?" if near else f"there are {some}"
            raise BadInput(f"--flow {flow}: there is no such flow; {hint}")
    chosen = [entry for entry in every if not flows or entry[2] in flows]
    crowd: list[Line] = []
    if len(every) > MOST_CURVES:
        crowd = [Line(name, 0, recording, flow) for name, recording, flow in every]
        if not flows:
            sizes = {name: _size(recording, flow) for name, recording, flow in every}
            picked = _spanning(sizes)
            chosen = [entry for entry in every if entry[0] in picked]
    return [Line(name, i, recording, flow) for i, (name, recording, flow) in enumerate(chosen)], crowd


def _size(recording: Recording, flow: str) -> float:
    """The packets acknowledged, by which flows are ranked where no goodput is known."""
    acked = recording.column(flow, "ack").values
    return float(acked[-1]) if len(acked) else 0.0


def _spanning(sizes: dict[str, float]) -> list[str]:
    """Names of the smallest, the median and the largest value."""
    ranked = sorted(sizes, key=lambda name: sizes[name])
    return list(dict.fromkeys([ranked[0], ranked[len(ranked) // 2], ranked[-1]]))


@dataclass(frozen=True)
class Scene:
    """The curves and the interval of a figure."""

    lines: Sequence[Line]
    crowd: Sequence[Line]
    links: Sequence[str]
    start: float
    end: float

    @property
    def edges(self) -> np.ndarray:
        """The bins of rates and quantiles, seconds."""
        return np.linspace(self.start, self.end, BINS + 1)

    def draw(self, axes: Axes, column: str, recordings: Sequence[Recording]) -> list[End]:
        """Draw one panel. Returns the ends of its curves."""
        if column == "queue":
            return self._queues(axes, recordings)
        if column == "goodput":
            return self._goodputs(axes, recordings)
        if column == "rtt":
            return self._rtts(axes)
        factor, unit = INTERNALS.get(column) or next(
            (scale for ending, scale in UNITS.items() if column.endswith(ending)), (1.0, "")
        )
        if column == "cwnd":
            return self._windows(axes)
        unit = "segments" if column in {"ssthresh", "in_flight"} else unit
        name = column.removesuffix("_s").removesuffix("_bps").replace("_", " ")
        axes.set_ylabel(drawn(f"{name} ({unit})" if unit else name))
        return self._curves(axes, column, factor)

    def _curves(self, axes: Axes, column: str, factor: float) -> list[End]:
        def values(line: Line) -> Series:
            samples = line.recording.column(line.flow, column)
            return Series(samples.time_s, samples.values * factor)

        times = self.edges[:-1] + np.diff(self.edges) / 2
        self._band(axes, times, (values(line).held(times) for line in self.crowd))
        ends = []
        for line in self.lines:
            shown = values(line).between(self.start, self.end).thinned()
            if len(shown.time_s):
                axes.step(shown.time_s, shown.values, where="post", linewidth=1.1, **curve(line.number))
                ends.append(_end(line, shown.time_s[-1], shown.values[-1]))
        _floor(axes, min((float(np.min(one.get_ydata())) for one in axes.get_lines()), default=0.0))
        return ends

    def _windows(self, axes: Axes) -> list[End]:
        ends = self._curves(axes, "cwnd", 1.0)
        highest = max((float(np.max(one.get_ydata())) for one in axes.get_lines()), default=1.0)
        label = "cwnd (segments)"
        if len(self.lines) <= 3 and not self.crowd:
            label = "cwnd, ssthresh\n(dotted) (segments)"
            for line in self.lines:
                shown = line.recording.column(line.flow, "ssthresh").between(self.start, self.end).thinned()
                style: dict[str, Any] = {"color": COLOURS[line.number % len(COLOURS)], "linestyle": ":", "alpha": 0.8}
                axes.step(shown.time_s, shown.values, where="post", linewidth=0.9, **style)
        axes.set_ylim(top=1.15 * max(highest, 1.0))  # a threshold that was never set may be far above
        axes.set_ylabel(label)
        return ends

    def _rtts(self, axes: Axes) -> list[End]:
        """Samples as points in random order, so that no flow hides another, with the median and a band of each flow."""
        axes.set_ylabel("round-trip time (ms)")
        curves = {line: self._samples(line) for line in self.lines}
        middle = self.edges[:-1] + np.diff(self.edges) / 2
        medians = (self._samples(line).quantiles(self.edges, (0.5,))[0] for line in self.crowd)
        self._band(axes, middle, medians)
        total = sum(len(samples.time_s) for samples in curves.values())
        if total == 0:
            return []
        random = np.random.default_rng(1)
        keep = min(1.0, CLOUD / total)
        times, values, colours = [], [], []
        for line, samples in curves.items():
            n = len(samples.time_s)
            rows = np.sort(random.choice(n, max(min(n, 50), round(n * keep)), replace=False)) if n else np.empty(0, int)
            times.append(samples.time_s[rows])
            values.append(samples.values[rows])
            colours += [COLOURS[line.number % len(COLOURS)]] * len(rows)
        order = random.permutation(len(colours))
        axes.scatter(
            np.concatenate(times)[order],
            np.concatenate(values)[order],
            s=2.2,
            c=[colours[i] for i in order],
            alpha=0.35,
            linewidths=0,
            rasterized=True,
        )
        ends = []
        for line, samples in curves.items():
            low, median, high = samples.quantiles(self.edges, (0.1, 0.5, 0.9))
            style = curve(line.number)
            axes.fill_between(middle, low, high, color=style["color"], alpha=0.13, linewidth=0)
            axes.plot(middle, median, linewidth=1.3, **style)
            present = np.flatnonzero(~np.isnan(median))
            if len(present):
                ends.append(_end(line, middle[present[-1]], median[present[-1]]))
        _floor(axes, 0.0)
        return ends

    def _samples(self, line: Line) -> Series:
        samples = line.recording.column(line.flow, "rtt_s")
        rows = (samples.time_s >= self.start) & (samples.time_s <= self.end)
        return Series(samples.time_s[rows], 1e3 * samples.values[rows])

    def _queues(self, axes: Axes, recordings: Sequence[Recording]) -> list[End]:
        """The chosen queues, or the longest of each recording, with their drops as ticks at the top."""
        ends, dropped = [], 0
        queues = [(r, r.packets, link) for r in recordings if r.packets is not None for link in self._links(r)]
        for number, (recording, packets, link) in enumerate(queues):
            alone = len(queues) == 1
            colour = SOFT if alone else COLOURS[number % len(COLOURS)]
            style = {"color": colour, "linestyle": "-"} if alone else curve(number)
            shown = series.queue_length(packets, link).between(self.start, self.end).thinned()
            axes.step(shown.time_s, shown.values, where="post", linewidth=0.9, **style)
            lost = series.drops(packets, link)
            lost = lost[(lost >= self.start) & (lost <= self.end)]
            dropped += len(lost)
            marks: dict[str, Any] = {"color": COLOURS[1] if alone else colour, "markersize": 7, "clip_on": False}
            if len(lost):  # an empty line would have its box at the figure's origin, and spoil the layout
                height = np.full(len(lost), 0.99 - 0.07 * number)
                axes.plot(lost, height, "|", transform=axes.get_xaxis_transform(), **marks)
            if len(shown.time_s) and not alone:
                several = f"{recording.label}: {link}" if len(recordings) > 1 else link
                ends.append(End(shown.time_s[-1], shown.values[-1], several, colour))
        axes.set_ylabel(f"packets held\nby {drawn(queues[0][2]) if len(queues) == 1 else 'the queue'}")
        axes.margins(y=0.14)
        _floor(axes, 0.0)
        if dropped:
            said = f"ticks: {dropped:,} drop{'s' if dropped > 1 else ''} by the queue"
            axes.set_title(said, fontsize=pt(8), loc="right", pad=3, color=SOFT)
        return ends

    def _links(self, recording: Recording) -> list[str]:
        assert recording.packets is not None
        links = recording.packets["link"].unique(maintain_order=True).to_list()
        for link in self.links:
            if link not in links:
                near = difflib.get_close_matches(link, links, 1)
                hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(links[:12])}"
                raise BadInput(f"--link {link}: there is no such link; {hint}")
        longest = recording.link or series.longest_queue(recording.packets)
        return list(self.links) or ([longest] if longest is not None else [])

    def _capacity(self, axes: Axes, recordings: Sequence[Recording]) -> None:
        """Shade the rate of the link whose queue is drawn, if it is one link, and its rate varies and is known."""
        links = [(r, link) for r in recordings if r.packets is not None for link in self._links(r)]
        if len(links) != 1:
            return
        recording, link = links[0]
        capacity = recording.capacity(link, self.edges)
        if capacity is not None:
            axes.stairs(capacity / 1e6, self.edges, fill=True, color=BAND, alpha=0.5, linewidth=0, zorder=0)
            axes.set_title(drawn(f"grey: rate of {link}"), fontsize=pt(8), loc="right", pad=3, color=SOFT)

    def _goodputs(self, axes: Axes, recordings: Sequence[Recording]) -> list[End]:
        """The rate of new data that arrives at the sinks. Bins that a flow does not fill are omitted."""
        edges = self.edges
        middle = edges[:-1] + np.diff(edges) / 2
        axes.set_ylabel("new data at the\nsink (Mb/s)")
        rates: dict[tuple[str, str], Any] = {}
        for recording in recordings:
            if recording.packets is None:
                continue
            arrived = series.arrivals(recording.packets).partition_by("flow", as_dict=True)
            lives = series.lives(recording.packets)
            for (flow,), rows in arrived.items():
                bits = series.rate(rows["time_s"].to_numpy(), rows["size"].to_numpy(), edges, lives[flow])
                rates[recording.label, flow] = bits / 1e6
        nothing = np.full(BINS, np.nan)

        def values(line: Line) -> Any:
            return rates.get((line.recording.label, line.flow), nothing)

        self._capacity(axes, recordings)
        self._band(axes, middle, map(values, self.crowd))
        ends = []
        for line in self.lines:
            goodput = values(line)
            axes.plot(middle, goodput, linewidth=1.2, **curve(line.number))
            present = np.flatnonzero(~np.isnan(goodput))
            if len(present):
                ends.append(_end(line, middle[present[-1]], goodput[present[-1]]))
        _floor(axes, 0.0)
        return ends

    def _band(self, axes: Axes, times: np.ndarray, values: Iterable[np.ndarray]) -> None:
        """Quantiles over many flows at each time."""
        every = np.array(list(values))
        if not len(every):
            return
        present = ~np.all(np.isnan(every), axis=0)
        if not present.any():
            return
        q10, q25, q50, q75, q90 = np.nanquantile(every[:, present], (0.1, 0.25, 0.5, 0.75, 0.9), axis=0)
        axes.fill_between(times[present], q10, q90, color=BAND, alpha=0.45, linewidth=0)
        axes.fill_between(times[present], q25, q75, color=BAND, alpha=0.8, linewidth=0)
        axes.plot(times[present], q50, color=SOFT, linewidth=1.6)


def _end(line: Line, x: float, y: float) -> End:
    return End(float(x), float(y), line.name, COLOURS[line.number % len(COLOURS)])
