"""Completion times, spreads over movements, and what had arrived by a time."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import polars as pl

from ackclock import stats
from ackclock.apps.papers.results import Cell, Results, each_seed

NODES = ("10", "20", "30", "40", "50")
COLUMNS = ("TCP", "RCP+", "Proposed")
PAPER_KBIT = 400_000
"""What the paper divides received kilobits by."""
TABLES = {
    "T2": ("throughput", "goodput_bps", 500 / 497.443 / 1e3),
    "T3": ("packet delivery ratio", "delivery_ratio", 1.0),
    "T4": ("routing load", "routing_load", 1.0),
    "T5": ("link utilization", "goodput_bps", 500 / 1e3 / PAPER_KBIT * 100),
}
"""Of each table its name in print, the column of the outcome, and what that is multiplied by."""


def printed(results: Results, table: str) -> dict[tuple[str, str], float]:
    """Published values by row and column (of which the last word is the protocol)."""
    rows = (r for r in results.paper.published if r["table"] == table)
    return {(r["row"], r["column"].rpartition(" ")[2]): float(r["value"]) for r in rows}


def _completions(results: Results, control: str) -> list[float]:
    """Of each seed the mean logarithm of the short flows' completion times over TCP's."""
    rows = results.flows("wired").filter(pl.col("name").str.starts_with("short"))
    both = [
        rows.filter(pl.col("control") == c).select("seed", "name", pl.col("completion_s").log().alias(c))
        for c in (control, "TCP")
    ]
    joined = both[0].join(both[1], on=["seed", "name"]).drop_nulls()
    ratio = joined.with_columns((pl.col(control) - pl.col("TCP")).alias("r"))
    return each_seed(ratio, "r")


def completion(results: Results) -> list[float]:
    """Of each seed the logarithm of RCP's completion times over TCP's."""
    return _completions(results, "RCP")


def completion_xcp(results: Results) -> list[float]:
    """The same of XCP's."""
    return _completions(results, "XCP")


def completion_proposed(results: Results) -> list[float]:
    """The same of Enhanced RCP's."""
    return _completions(results, "Proposed")


def _change(results: Results, nodes: str) -> list[float]:
    after, before = (results.means("published", "radio.delivery_ratio", {"nodes": n}) for n in (nodes, "20"))
    return [a - b for a, b in zip(after, before, strict=True)]


def after_20(results: Results) -> list[float]:
    """Of each seed the delivery ratio at 30 nodes less that at 20."""
    return _change(results, "30")


def after_50(results: Results) -> list[float]:
    """Of each seed the delivery ratio at 50 nodes less that at 20."""
    return _change(results, "50")


def _by_time(results: Results, column: str) -> list[Cell]:
    cells = [Cell("t 0 s", f"link utilization {column}", "CBR", [0.0] * results.seeds("time"))]
    for time in range(50, 501, 50):
        rates = results.means("time", "radio.goodput_bps", {"time": str(time)})
        values = [rate * time / 1e3 / PAPER_KBIT * 100 for rate in rates]
        at = {"study": "time", "where": {"time": str(time)}}
        cells.append(Cell(f"t {time} s", f"link utilization {column}", "CBR", values, **at))
    return cells


def by_time_tcp(results: Results) -> list[Cell]:
    """Table 6, beside the column of TCP."""
    return _by_time(results, "TCP")


def by_time_rcp_plus(results: Results) -> list[Cell]:
    """Table 6, beside the column of RCP+."""
    return _by_time(results, "RCP+")


def by_time_proposed(results: Results) -> list[Cell]:
    """Table 6, beside the proposed one."""
    return _by_time(results, "Proposed")


def movement(results: Results) -> SimpleNamespace:
    """How far runs differ that differ by their movement alone, beside how far the published columns differ."""
    tables = []
    for table, digits in (("T2", 0), ("T3", 3), ("T4", 3)):
        name, column, factor = TABLES[table]
        published = printed(results, table)
        rows = []
        for nodes in NODES:
            values = np.array(results.means("published", f"radio.{column}", {"nodes": nodes})) * factor
            columns = [published[f"nodes {nodes}", who] for who in COLUMNS]
            apart = max(columns) - min(columns)
            rows.append(
                [
                    nodes,
                    " / ".join(f"{x:g}" for x in columns),
                    f"{apart:.{digits}f}",
                    f"{values.mean():.{digits}f}",
                    f"{values.std(ddof=1):.{digits}f}",
                    f"{values.min():.{digits}f} to {values.max():.{digits}f}",
                    f"{100 * _chance(values, apart):.0f} %",
                ]
            )
        heads = ["nodes", "TCP / RCP+ / proposed", "apart", "mean", "deviation", "range", "three this far apart"]
        tables.append({"title": name, "head": heads, "rows": rows})
    text = [
        "Published columns beside runs that differ by their movement file alone (constant bit rate, ns-2's random "
        "waypoint). The last column: how often three such runs, drawn at random, are at least as far apart as the "
        "three published columns are.",
    ]
    return SimpleNamespace(text=text, tables=tables)


def _chance(values: np.ndarray, apart: float) -> float:
    """How often the largest and the least of three different values are so far apart: over all threes."""
    ordered = np.sort(values)
    count = len(ordered)
    far = 0
    for i in range(count):
        # With the least at i and the largest at k there are k - i - 1 in between.
        for k in range(i + 2, count):
            far += (k - i - 1) * bool(ordered[k] - ordered[i] >= apart)
    return far / math.comb(count, 3)


def loads(results: Results) -> SimpleNamespace:
    """Throughput, delivery ratio and routing load over areas and rates."""
    rows = []
    for network in results.study("loads").axes["network"]:
        for nodes in ("30", "50"):
            cells = [network, nodes]
            for table in ("T2", "T3", "T4"):
                _, column, factor = TABLES[table]
                values = results.means("loads", f"radio.{column}", {"network": network, "nodes": nodes})
                e = stats.mean([factor * v for v in values])
                digits = 0 if table == "T2" else 3
                half = e.half_width or 0.0
                cells.append(f"{e.value:.{digits}f} ± {half:.{digits}f}")
            rows.append(cells)
    published = {table: printed(results, table) for table in ("T2", "T3", "T4")}
    for nodes in ("30", "50"):
        cells = ["published, three columns", nodes]
        for values in published.values():
            columns = [values[f"nodes {nodes}", who] for who in COLUMNS]
            cells.append(f"{min(columns):g} to {max(columns):g}")
        rows.append(cells)
    head = ["network", "nodes", "throughput (kb/s)", "delivery ratio", "routing load"]
    text = ["Constant bit rate; means over ten movements with 95 % intervals."]
    return SimpleNamespace(text=text, tables=[{"title": "", "head": head, "rows": rows}])


def graph(results: Results, table: str, label: str):
    """One of graphs 1 to 4: constant bit rate over all movements, and FTP over the three transports."""
    from ackclock import draw as common

    _, column, factor = TABLES[table]
    published = printed(results, table)
    figure, axes = common.panels(2, height=3.8)
    at = [int(n) for n in NODES]
    spread = [np.array(results.means("published", f"radio.{column}", {"nodes": n})) * factor for n in NODES]
    for movement in zip(*spread, strict=True):
        axes[0].plot(at, movement, color="#bbbbbb", linewidth=0.6, zorder=1)
    means = [stats.mean(list(v)) for v in spread]
    axes[0].errorbar(
        at,
        [e.value for e in means],
        [e.half_width or 0 for e in means],
        color="black",
        capsize=3,
        linewidth=1.8,
        label="CBR, mean",
        zorder=3,
    )
    rows = results.radio("intended")
    for i, who in enumerate(COLUMNS):
        values = [published[f"nodes {n}", who] for n in NODES]
        style = {"color": common.COLOURS[i], "marker": common.MARKERS[i], "markersize": 4, "linestyle": "--"}
        for axis in axes:
            axis.plot(at, values, linewidth=1, label=f"{who}, published", zorder=4, **style)
        mine = rows.filter(pl.col("who") == who)
        common.line(axes[1], mine, "nodes", column, factor=factor, number=i, label=f"{who}, FTP")
    axes[0].set_title("as published: constant bit rate")
    axes[1].set_title("as intended: FTP")
    axes[0].set_ylabel(label)
    for axis in axes:
        axis.set_xlabel("nodes")
        axis.set_xticks(at)
        axis.set_ylim(bottom=0)
    handles = dict(zip(*reversed(axes[0].get_legend_handles_labels()), strict=True))
    handles |= dict(zip(*reversed(axes[1].get_legend_handles_labels()), strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    return figure
