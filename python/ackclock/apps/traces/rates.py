"""The rate that a recorded flow achieved, over time, as a file that a link can have for its rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ackclock.apps.traces.reading import Recorded
from ackclock.base.files import BadInput

if TYPE_CHECKING:
    import polars as pl

SHORTEST_S = 0.1
"""The shortest interval over which the rate of a capture or a qlog is a mean, seconds."""
ROUND_TRIPS = 4
"""The same, in lowest round-trip times."""
MOST_STEPS = 1_000_000
"""The largest number of such intervals."""


def steps(recorded: Recorded) -> pl.DataFrame:
    """The columns `time_s`, from 0 on, and `bps`. Raises BadInput if the flow has no rate."""
    import numpy as np
    import polars as pl

    rows = recorded.rows()
    if recorded.about["form"] == "samples":
        name = recorded.flow["label"]
        samples = rows.filter(pl.col("flow") == name)
        if "delivery_bps" not in samples.columns:
            raise BadInput(f"{recorded.file}: the series {name} has no rate")
        if samples["time_s"].null_count() == samples.height:
            raise BadInput(f"{recorded.file}: has no times; --every 200ms says how far apart its blocks are")
        samples = samples.drop_nulls(["time_s", "delivery_bps"])
        time_s, bps = samples["time_s"].to_numpy(), samples["delivery_bps"].to_numpy()
    else:
        wide = max(SHORTEST_S, ROUND_TRIPS * (recorded.flow.get("min_rtt_s") or 0.0))
        at, delivered = rows["time_s"].to_numpy(), np.maximum.accumulate(rows["delivered"].to_numpy())
        if not bool((np.diff(at) >= 0).all()):
            raise BadInput(f"{recorded.file}: its times go back: it shows no rate")
        # The last interval is complete: its rate holds until the end of a run.
        count = int((at[-1] - at[0]) / wide)
        if count > MOST_STEPS:
            raise BadInput(
                f"{recorded.file}: lasts {at[-1] - at[0]:.0f} s: more than {MOST_STEPS:,} steps of {wide:.3f} s"
            )
        edges = at[0] + wide * np.arange(count + 1)
        ends = delivered[np.maximum(0, np.searchsorted(at, edges, side="right") - 1)]
        time_s, bps = edges[:-1], np.diff(ends) * 8.0 / wide
    if len(bps) == 0 or not bps.max() > 0:
        raise BadInput(f"{recorded.file}: the flow has no rate")
    return pl.DataFrame({"time_s": time_s - time_s[0], "bps": bps})
