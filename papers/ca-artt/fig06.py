"""Figure 6: throughput against K for each Cf, no errors; crosses are the published values of Table 3."""

import polars as pl
from matplotlib.figure import Figure

from ackclock import draw as common


def draw(results) -> Figure:
    """Vegas, and CA-ARTT with either interpretation of e(t)."""
    controls = (
        ("vegas", "Vegas", "Vegas"),
        ("innovation", "CA-ARTT (innovation)", "proposed"),
        ("zero", "CA-ARTT (zero)", "proposed"),
    )
    figure, axes = common.panels(3)
    printed = [row for row in results.paper.published if row["table"] == "T3"]
    for axis, (control, title, column) in zip(axes, controls, strict=True):
        frame = results.select("grid", {"per": "0", "control": control})
        for i, cf in enumerate(("2Mbps", "4Mbps", "8Mbps", "16Mbps")):
            rows = frame.filter(pl.col("Cf") == cf)
            label = f"Cf = {cf.removesuffix('Mbps')} Mb/s"
            common.line(axis, rows, "K", "throughput_bps", factor=1e-3, number=i, label=label)
            cells = [row for row in printed if row["column"] == f"throughput {column};Cf={cf}"]
            x, y = [int(c["row"][2:]) for c in cells], [float(c["value"]) for c in cells]
            axis.plot(x, y, "x", color=common.COLOURS[i], markersize=6)
        axis.plot([], [], "x", color="black", label="published")
        axis.set_title(title)
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_xticks([2, 4, 8, 16, 32], ["2", "4", "8", "16", "32"])
        axis.set_xlabel("asymmetry factor K")
    axes[0].set_ylabel("throughput (kb/s)")
    common.legend(figure, axes)
    return figure
