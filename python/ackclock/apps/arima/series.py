"""Series of round-trip times: from files, from traces of the simulator, from a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ackclock.apps.traces import Options, Recorded, is_recording, read_flow
from ackclock.base.files import BadInput, foreign

if TYPE_CHECKING:
    import polars as pl

    from ackclock.result import Result

PUBLISHED_AR = (-0.36251, 0.17573)
PUBLISHED_MA = (-0.95108,)
PUBLISHED_SIGMA_S = 0.075
"""The paper's ARIMA(2,1,1), section 3.2."""

LONGEST_S = 1e5
LEAST = 50
"""Samples below which nothing can be identified."""


def read_series(
    path: Path,
    flow: str | None = None,
    every_s: float | None = None,
    warn: Callable[[str], object] | None = None,
) -> NDArray[np.float64]:
    """Round-trip times in seconds from a .csv or .parquet file with a column `rtt_s`, or from a recording of another
    program (docs/traces.md), of which `flow` is the number of a flow.

    The file may be a window trace (`ackclock run --trace F --trace-every ack`); rows without a sample are skipped.
    `flow` selects a flow if the file has several. `every_s` keeps the last sample of each interval of that length
    (needs `time_s`). An interval without a sample repeats the previous sample; if many do so, `warn` is called with a
    warning. Raises BadInput, OSError.
    """
    import polars as pl

    recorded = _recorded(path, flow) if path.is_file() and is_recording(path) else None
    frame = _table(path) if recorded is None else _rows(recorded)
    if recorded is not None:
        flow = None
    if "rtt_s" not in frame.columns:
        raise BadInput(f"{path}: has no column rtt_s; it has {', '.join(frame.columns[:12])}")
    if not frame["rtt_s"].dtype.is_numeric():
        raise BadInput(f"{path}: rtt_s: is not a column of numbers (seconds)")
    frame = _of_flow(frame.filter(pl.col("rtt_s").is_not_null()), flow, path)
    if every_s is not None:
        frame = _spaced(frame, every_s, path, warn)
    x = frame["rtt_s"].to_numpy().astype(np.float64)
    if len(x) < LEAST:
        what = f"is {recorded.about['kind']} and " if recorded else ""
        raise BadInput(f"{path}: {what}has {len(x)} samples; at least {LEAST} are needed")
    if not np.all(np.isfinite(x)):
        raise BadInput(f"{path}: rtt_s: row {int(np.argmin(np.isfinite(x))) + 1} is not a number")
    if np.abs(x).max() > LONGEST_S:
        raise BadInput(f"{path}: rtt_s: holds {np.abs(x).max():g} s; no round-trip time is above {LONGEST_S:g} s")
    if np.ptp(x) <= 1e-12 * np.abs(x).max():
        raise BadInput(f"{path}: rtt_s: every sample is {x[0]:g} s; there is nothing to model")
    return x


def _recorded(path: Path, flow: str | None) -> Recorded:
    """A flow of a recording."""
    if flow is not None and not flow.removeprefix("#").isdecimal():
        raise BadInput(f"--flow {flow}: {path} is a recording, whose flows have numbers (ackclock read {path})")
    return read_flow(path, Options(None if flow is None else int(flow.removeprefix("#"))))


def _rows(recorded: Recorded) -> pl.DataFrame:
    """The rows of the flow."""
    rows = recorded.rows()
    return rows.filter(rows["flow"] == recorded.flow["label"]) if "name" in recorded.flow else rows


def _table(path: Path) -> pl.DataFrame:
    import polars as pl

    if path.suffix not in {".csv", ".parquet"}:
        raise BadInput(f"{path}: {foreign(path, 'a table of round-trip times') or 'must end in .csv or .parquet'}")
    if not path.is_file():
        raise FileNotFoundError(2, "No such file or directory", str(path))
    try:
        return pl.read_csv(path) if path.suffix == ".csv" else pl.read_parquet(path)
    except pl.exceptions.PolarsError as error:
        why = foreign(path, f"a table ({path.suffix})") or f"cannot be read: {str(error).splitlines()[0]}"
        raise BadInput(f"{path}: {why}") from None


def _spaced(frame: pl.DataFrame, every_s: float, path: Path, warn: Callable[[str], object] | None) -> pl.DataFrame:
    """Resample `frame` at equal intervals. Call `warn` if more than 5 % of the samples are repetitions."""
    import polars as pl

    if "time_s" not in frame.columns or not frame["time_s"].dtype.is_numeric():
        raise BadInput(f"{path}: --every needs a column time_s of numbers (seconds)")
    times = frame["time_s"].cast(pl.Float64)
    if frame.is_empty() or times.null_count() or not times.is_finite().all():
        raise BadInput(f"{path}: time_s: holds a value that is not a number")
    if (float(times.max()) - float(times.min())) / every_s > 1e7:  # type: ignore[arg-type]
        raise BadInput(f"{path}: --every {every_s:g}: makes more than ten million intervals")
    spaced = resampled(frame, every_s)
    repeated = filled(frame, every_s)
    if warn is not None and repeated > 0.05:
        warn(
            f"{path}: {100 * repeated:.0f} % of the intervals have no sample and repeat the one before: "
            "their differences are zero; take longer intervals"
        )
    return spaced


def filled(frame: pl.DataFrame, every_s: float) -> float:
    """The fraction of the intervals of `every_s` seconds that have no sample."""
    times = frame["time_s"].to_numpy()
    places = np.floor((times - times.min()) / every_s + 1e-6).astype(np.int64)
    return 1 - len(np.unique(places)) / (int(places.max()) + 1)


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
        raise BadInput(f"{path}: --flow {flow}: no such flow; there are {', '.join(map(str, names[:8]))}")
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

    The levels of a difference-stationary process have no bound, so they may fall below zero.
    """
    from scipy.signal import lfilter

    warm = 500  # after this many values the differences are stationary
    noise = np.random.default_rng(seed).normal(0.0, sigma_s, n + warm)
    steps = lfilter([1.0, *ma], [1.0, *(-p for p in ar)], noise)[warm:]
    return np.asarray(start_s + np.cumsum(steps), dtype=np.float64)
