"""Series of round-trip times: from files, from traces of the simulator, from a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ackclock.files import BadInput

if TYPE_CHECKING:
    import polars as pl

    from ackclock.experiment import Result

PUBLISHED_AR = (-0.36251, 0.17573)
PUBLISHED_MA = (-0.95108,)
PUBLISHED_SIGMA_S = 0.075
"""The paper's ARIMA(2,1,1), section 3.2."""

LEAST = 50
"""Samples below which nothing can be identified."""


def read_series(path: Path, flow: str | None = None, every_s: float | None = None) -> NDArray[np.float64]:
    """Round-trip times in seconds from a .csv or .parquet file with a column `rtt_s`.

    A window trace will do (`ackclock run --trace F --trace-every ack`): rows without a sample are left out, and `flow`
    says whose they are where it has several. `every_s` takes the last sample of each interval of that length (needs
    `time_s`; an interval without a sample repeats the one before). Raises BadInput, OSError.
    """
    import polars as pl

    if path.suffix not in {".csv", ".parquet"}:
        raise BadInput(f"{path}: must end in .csv or .parquet")
    if not path.is_file():
        raise FileNotFoundError(2, "No such file or directory", str(path))
    try:
        frame = pl.read_csv(path) if path.suffix == ".csv" else pl.read_parquet(path)
    except pl.exceptions.PolarsError as error:
        raise BadInput(f"{path}: cannot be read: {str(error).splitlines()[0]}") from None
    if "rtt_s" not in frame.columns:
        raise BadInput(f"{path}: has no column rtt_s; it has {', '.join(frame.columns[:12])}")
    if not frame["rtt_s"].dtype.is_numeric():
        raise BadInput(f"{path}: rtt_s: is not a column of numbers (seconds)")
    frame = _of_flow(frame.filter(pl.col("rtt_s").is_not_null()), flow, path)
    if every_s is not None:
        if "time_s" not in frame.columns:
            raise BadInput(f"{path}: --every needs a column time_s")
        frame = resampled(frame, every_s)
    x = frame["rtt_s"].to_numpy().astype(np.float64)
    if not np.all(np.isfinite(x)):
        raise BadInput(f"{path}: rtt_s: row {int(np.argmin(np.isfinite(x))) + 1} is no number")
    if len(x) < LEAST:
        raise BadInput(f"{path}: has {len(x)} samples; at least {LEAST} are needed")
    if np.ptp(x) == 0:
        raise BadInput(f"{path}: rtt_s: every sample is {x[0]:g} s; there is nothing to model")
    return x


def _of_flow(frame: pl.DataFrame, flow: str | None, path: Path) -> pl.DataFrame:
    import polars as pl

    if "flow" not in frame.columns:
        if flow is not None:
            raise BadInput(f"{path}: --flow: has no column flow")
        return frame
    names = frame["flow"].unique(maintain_order=True).to_list()
    if flow is None and len(names) > 1:
        raise BadInput(f"{path}: has several flows; choose one with --flow ({', '.join(map(str, names[:8]))})")
    if flow is not None and flow not in names:
        raise BadInput(f"{path}: --flow {flow}: there are {', '.join(map(str, names[:8]))}")
    return frame if flow is None else frame.filter(pl.col("flow") == flow)


def resampled(frame: pl.DataFrame, every_s: float) -> pl.DataFrame:
    """The last sample of each interval of `every_s` seconds, from the first sample on."""
    import polars as pl

    bins = frame.select(
        ((pl.col("time_s") - pl.col("time_s").min()) / every_s).floor().cast(pl.Int64).alias("bin"), "rtt_s"
    )
    last = bins.group_by("bin", maintain_order=True).agg(pl.col("rtt_s").last())
    whole = pl.DataFrame({"bin": np.arange(int(last["bin"].max() or 0) + 1)})  # type: ignore[arg-type]
    return whole.join(last, on="bin", how="left").sort("bin").select(pl.col("rtt_s").forward_fill())


def simulated(result: Result, flow: str, every_s: float | None = None) -> NDArray[np.float64]:
    """Round-trip times of a flow of a run traced at every ACK (`trace="ack"`), seconds."""
    import polars as pl

    frame = result.trace.filter((pl.col("flow") == flow) & pl.col("rtt_s").is_not_null()).select("time_s", "rtt_s")
    if every_s is not None:
        frame = resampled(frame, every_s)
    return frame["rtt_s"].to_numpy().astype(np.float64)


def synthetic(
    n: int,
    seed: int,
    ar: Sequence[float] = PUBLISHED_AR,
    ma: Sequence[float] = PUBLISHED_MA,
    sigma_s: float = PUBLISHED_SIGMA_S,
    start_s: float = 0.3,
) -> NDArray[np.float64]:
    """`n` levels of an ARIMA(p, 1, q) process, seconds: MA sign of Eq. 17, Gaussian innovations, no trend.

    A difference-stationary process wanders; levels are not held above zero, for the model knows no bound.
    """
    from scipy.signal import lfilter

    warm = 500  # the difference is stationary after that
    noise = np.random.default_rng(seed).normal(0.0, sigma_s, n + warm)
    steps = lfilter([1.0, *ma], [1.0, *(-p for p in ar)], noise)[warm:]
    return np.asarray(start_s + np.cumsum(steps), dtype=np.float64)
