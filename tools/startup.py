"""Run the study `startup_options` and draw docs/figures/startup.svg: `python tools/startup.py`, a minute on two cores.

Each panel is a path and a buffer. A curve is the completion time by the size of the transfer, over that of the closed
form of slow start without a loss.
"""

from __future__ import annotations

import math
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import polars as pl

from ackclock import Study
from ackclock.draw.style import COLOURS, DASHES, INK, SOFT

ROOT = Path(__file__).parents[1]
SEGMENT, PACKET = 1448, 1500
"""Bytes of payload and on the wire."""
PATHS = {
    "20 Mb/s, 40 ms": (20e6, 0.04),
    "100 Mb/s, 100 ms": (100e6, 0.1),
    "100 Mb/s, 600 ms": (100e6, 0.6),
    "1 Gb/s, 20 ms": (1e9, 0.02),
}
"""Rate, bit/s, and round-trip time, seconds."""
SIZES = {"10 kB": 10_000, "100 kB": 100_000, "1 MB": 1_000_000, "10 MB": 10_000_000}
BUFFERS = ("0.5 BDP", "1 BDP", "4 BDP")
SHOWN = {
    "standard": "slow start",
    "hystart": "HyStart",
    "hystart_pp": "HyStart++",
    "search": "SEARCH",
    "rapid": "Rapid Start",
    "resume": "Careful Resume",
    "jump 40": "jump to 40",
}
"""The starts that the figure shows. Rapid Start with HyStart++ is left out: its curves are those of Rapid Start."""
ROUNDS = 1.0
"""Round trips of the handshake, and of the last ACK."""


def closed_form(size: int, rate: float, rtt: float) -> float:
    """Completion time of slow start without a loss, seconds: from the SYN to the last ACK at the sender.

    The windows are 10, 20, 40, ... segments, one in each round trip, until a window covers the path; from then on the
    segments follow each other at the rate of the link.
    """
    segments, each = math.ceil(size / SEGMENT), PACKET * 8 / rate
    time, sent, window = ROUNDS * rtt, 0, 10
    while sent + window < segments and window * each < rtt:
        time, sent, window = time + rtt, sent + window, 2 * window
    return time + (segments - sent) * each + ROUNDS * rtt


def ratios(table: pl.DataFrame) -> pl.DataFrame:
    """The mean completion time of each point over that of the closed form."""
    means = table.group_by("start", "path", "buffer", "size").agg(pl.col("f.completion_s").mean())
    forms = [closed_form(SIZES[row["size"]], *PATHS[row["path"]]) for row in means.iter_rows(named=True)]
    return means.with_columns((pl.col("f.completion_s") / pl.Series(forms)).alias("ratio"))


def draw(means: pl.DataFrame, file: Path) -> None:
    """Draw the panels."""
    figure, axes = plt.subplots(len(BUFFERS), len(PATHS), figsize=(9.2, 6.6), sharex=True, sharey=True)
    for row, buffer in enumerate(BUFFERS):
        for column, path in enumerate(PATHS):
            panel = axes[row][column]
            panel.axhline(1.0, color=SOFT, linewidth=1.0, linestyle=":")
            for number, (start, label) in enumerate(SHOWN.items()):
                points = means.filter(
                    (pl.col("start") == start) & (pl.col("path") == path) & (pl.col("buffer") == buffer)
                )
                by_size = dict(zip(points["size"], points["ratio"], strict=True))
                panel.plot(
                    range(len(SIZES)),
                    [by_size[size] for size in SIZES],
                    color=COLOURS[number],
                    linestyle=DASHES[number % len(DASHES)],
                    marker="os^Dv<>"[number],
                    markersize=3.5,
                    linewidth=1.2,
                    label=label,
                )
            panel.set_yscale("log", base=2)
            panel.set_yticks([0.5, 0.7, 1, 1.4, 2], ["0.5", "0.7", "1", "1.4", "2"])
            panel.minorticks_off()
            panel.set_xticks(range(len(SIZES)), list(SIZES))
            panel.tick_params(labelsize=7.5, colors=INK)
            for side in ("top", "right"):
                panel.spines[side].set_visible(False)
            if row == 0:
                panel.set_title(path, fontsize=9, color=INK)
            if column == 0:
                panel.set_ylabel(f"buffer {buffer}", fontsize=9, color=INK)
    figure.supylabel("completion time over that of the closed form", fontsize=9, color=INK)
    figure.supxlabel("size of the transfer", fontsize=9, color=INK)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", ncols=len(SHOWN), fontsize=8, frameon=False)
    figure.tight_layout(rect=(0.0, 0.0, 1.0, 0.95))
    matplotlib.rcParams["svg.hashsalt"] = "ackclock"
    figure.savefig(file, metadata={"Date": None})


def main() -> int:
    """Run the study and draw; returns the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        study = Study.load("@studies/startup_options").run(Path(folder) / "starts")
        table = study.table()
    draw(ratios(table), ROOT / "docs" / "figures" / "startup.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
