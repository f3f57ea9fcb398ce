"""Figures of single runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from ackclock.experiment import Result
from ackclock.text import drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours that the colour-blind can tell apart (Okabe and Ito).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MOST_CURVES = len(COLOURS)
BINS = 100


def timelines(result: Result, *, title: str = "") -> Figure:
    """Draw window, threshold and round-trip time and, if there are links, queue and goodput, on one time axis.

    The run must have been made with `trace="ack"` and `packets=True`. At most seven flows are drawn, the first of
    the file.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams["svg.hashsalt"] = "ackclock"  # the same run gives the same file
    flows = [flow["name"] for flow in result.outcome["flows"]][:MOST_CURVES]
    colours = dict(zip(flows, COLOURS, strict=False))
    figure = Figure(figsize=(9, 9), layout="constrained")
    wired = bool(result.outcome["links"])
    panels = list(figure.subplots(4 if wired else 2, 1, sharex=True))
    trace, packets = result.trace, result.packets
    duration = float(result.outcome["duration_s"])
    window = panels[0]
    _windows(window, trace, colours)
    _rtts(panels[1], trace, colours)
    if wired:  # a radio channel has no link queue, and its packets are not traced
        _queue(panels[2], result, packets)
        _goodputs(panels[3], packets, colours, duration)
    panels[-1].set_xlabel("time (s)")
    panels[-1].set_xlim(0, duration)
    for axes in panels:
        axes.grid(alpha=0.25)
        axes.set_ylim(bottom=0)
        axes.spines[["top", "right"]].set_visible(False)
    left_out = len(result.outcome["flows"]) - len(flows)
    note = f" ({left_out} more flows not drawn)" if left_out else ""
    figure.suptitle(f"{drawn(title) or 'run'}{note}", fontsize=11)
    handles = [window.plot([], [], color=colour, label=drawn(name))[0] for name, colour in colours.items()]
    window.legend(handles=handles, loc="upper right", ncols=min(len(flows), 4), fontsize=8, framealpha=0.9)
    return figure


def _curve(axes: Axes, x: Any, y: Any, **style: Any) -> None:
    """Draw a step curve. A long curve is thinned to at most 40,000 points."""
    step = max(1, len(x) // 20_000)
    axes.step(x[::step], y[::step], where="post", **style)


def _windows(axes: Axes, trace: pl.DataFrame, colours: dict[str, str]) -> None:
    highest = 1.0
    for name, colour in colours.items():
        rows = trace.filter(pl.col("flow") == name)
        if rows.is_empty():
            continue
        time, cwnd, ssthresh = (rows[column].to_numpy() for column in ("time_s", "cwnd", "ssthresh"))
        _curve(axes, time, cwnd, color=colour, linewidth=1)
        _curve(axes, time, ssthresh, color=colour, linewidth=0.8, linestyle=":")
        highest = max(highest, float(cwnd.max()))
    axes.set_ylim(top=1.15 * highest)  # a threshold that was never set may be far above
    axes.set_ylabel("cwnd (solid),\nssthresh (dotted)\n(segments)")


def _rtts(axes: Axes, trace: pl.DataFrame, colours: dict[str, str]) -> None:
    for name, colour in colours.items():
        rows = trace.filter((pl.col("flow") == name) & pl.col("rtt_s").is_not_null())
        step = max(1, len(rows) // 5_000)
        time, rtt = rows["time_s"].to_numpy()[::step], rows["rtt_s"].to_numpy()[::step] * 1e3
        axes.plot(time, rtt, ".", color=colour, markersize=1.5, rasterized=True)
    axes.set_ylabel("round-trip time\n(ms)")


def _queue(axes: Axes, result: Result, packets: pl.DataFrame) -> None:
    """Draw the queue with the largest mean length: packets waiting or in transmission, and drops."""
    link = max(result.outcome["links"], key=lambda link: float(link["mean_queue_packets"]))["name"]
    here = packets.filter(pl.col("link") == link)
    moves = here.filter(pl.col("event").is_in(["enqueue", "depart"]))
    change = moves["event"].replace_strict({"enqueue": 1, "depart": -1}, return_dtype=pl.Int64)
    _curve(axes, moves["time_s"].to_numpy(), change.cum_sum().to_numpy(), color="#555555", linewidth=0.8)
    drops = here.filter((pl.col("event") == "drop") & (pl.col("reason") == "queue"))
    if len(drops):
        times = drops["time_s"].to_numpy()
        label = f"{len(drops)} drops"
        axes.plot(times, np.zeros(len(times)), "|", color="#D55E00", markersize=10, label=drawn(label), clip_on=False)
        axes.legend(loc="upper right", fontsize=8)
    axes.set_ylabel(f"queue {link}\n(packets held)")


def _goodputs(axes: Axes, packets: pl.DataFrame, colours: dict[str, str], duration: float) -> None:
    """Draw the rate of new data that arrives at the receivers, in 100 bins of the run."""
    edges = np.linspace(0, duration, BINS + 1)
    data = packets.filter((pl.col("event") == "deliver") & (pl.col("kind") == "data"))
    last = data.group_by("flow", "seq").agg(pl.col("time_s").max(), pl.col("size").last())
    for name, colour in colours.items():
        rows = last.filter(pl.col("flow") == name)
        bits, _ = np.histogram(rows["time_s"].to_numpy(), bins=edges, weights=rows["size"].to_numpy() * 8.0)
        axes.stairs(bits / (edges[1] - edges[0]) / 1e6, edges, color=colour, linewidth=1)
    axes.set_ylabel(f"arriving at the sink\n(Mb/s, {duration / BINS:g} s bins)")
