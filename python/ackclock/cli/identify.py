"""`ackclock identify`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter
from rich.table import Table
from rich.text import Text

from ackclock.base.files import BadInput, check_picture, check_targets
from ackclock.base.text import fail, shown
from ackclock.cli.console import wide_console

if TYPE_CHECKING:
    from ackclock.apps.arima import Identification

MOST_LISTED = 5
EXAMPLE = "ackclock identify trace.parquet --flow reno --plot arima.svg"


def command(
    series: Path,
    /,
    *,
    flow: str | None = None,
    every: float | None = None,
    d: int = 1,
    method: Literal["css", "mle"] = "css",
    plot: Path | None = None,
    fit: Path | None = None,
    controller: bool = False,
    candidates: str | None = None,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
) -> int:
    """Identify a model of round-trip times, or a controller.

    It shows correlations, eight candidates and residuals. Needs the extra: pip install "ackclock[arima]".

    Parameters
    ----------
    series
        CSV or Parquet file with a column rtt_s (seconds), such as a window trace of `ackclock run --trace-every ack`;
        or a capture, qlog or log (`ackclock read`).
    flow
        Flow whose samples are used, if the file has a column flow; of a capture, qlog or log its number.
    every
        Use only the last sample of each interval of this many seconds, like a periodic probe. Needs a column time_s.
    d
        Order of differencing.
    method
        Estimation method: conditional least squares (css) or exact Gaussian maximum likelihood (mle).
    plot
        Draw series, correlations and residuals to this file (.svg, .pdf, .png or .eps).
    fit
        Write the coefficients of ARIMA(2,1,1) to this file (.toml). A scenario reads them with
        congestion_control = { kind = "ca_artt", fit = "FILE" }.
    controller
        Say which controller the sender of a capture has: controllers of Linux follow its ACKs, and their windows are
        compared with what it kept in flight (docs/traces.md). Needs no extra.
    candidates
        Controllers that are compared, separated by commas. Default: all that need no more than a capture shows.
    as_json
        Print one JSON object and nothing else.

    """
    if controller:
        if any((every is not None, d != 1, method != "css", plot is not None, fit is not None)):
            raise BadInput("--controller: --every, --d, --method, --plot and --fit belong to models of a series")
        return _controller(series, flow, candidates, as_json=as_json)
    if candidates is not None:
        raise BadInput("--candidates: belongs to --controller")
    from ackclock.apps.arima import identify as find
    from ackclock.apps.arima import read_series
    from ackclock.apps.arima.files import write_fit, write_plot

    if plot is not None:
        check_picture(plot)
    if fit is not None and (fit.suffix != ".toml" or d != 1):
        raise BadInput("--fit: the name must end in .toml, and --d must be 1: the controller's model is ARIMA(2,1,1)")
    if (every is not None and not every > 0) or not 0 <= d <= 2:
        raise BadInput("--every: must be above zero, and --d must be 0, 1 or 2")
    targets = [path for path in (plot, fit) if path is not None]
    check_targets(targets)
    x = read_series(series, flow, every, lambda message: fail(message, 0))
    try:
        result = find(x, d, method)
    except ValueError as error:
        raise BadInput(f"{series}: {error}") from None
    if plot is not None:
        write_plot(plot, result, series.name)
    if fit is not None:
        write_fit(fit, result, series.name)
    if as_json:
        print(json.dumps(result.to_dict()))
    else:
        identification(series.name, result, [str(path) for path in targets])
    return 0


def _controller(file: Path, flow: str | None, candidates: str | None, *, as_json: bool) -> int:
    """Print which controller the sender of a capture has; 3 if that cannot be told."""
    from ackclock.apps.traces import Options, is_recording, read_flow
    from ackclock.apps.traces.controller import which

    if not is_recording(file):
        raise BadInput(f"{file}: --controller needs a capture (pcap, pcapng)")
    if flow is not None and not flow.removeprefix("#").isdecimal():
        raise BadInput(f"--flow {flow}: flows of a capture have numbers (ackclock read {file})")
    recorded = read_flow(file, Options(None if flow is None else int(flow.removeprefix("#"))))
    names = [name.strip() for name in candidates.split(",")] if candidates else None
    verdict = which(recorded, names)
    if as_json:
        print(json.dumps(asdict(verdict), allow_nan=False))
        return 0 if verdict.names else 3
    console = wide_console()
    answer = " or ".join(verdict.names) if verdict.names else "cannot be told"
    reason = f" ({verdict.reason})" if verdict.reason else ""
    console.print(f"{shown(file.name)}, flow {recorded.name}: {answer}{reason}", highlight=False, markup=False)
    if verdict.factor is not None:
        console.print(f"{verdict.reductions} reductions, to {verdict.factor:.2f} in the mean", highlight=False)
    table = Table(box=None, pad_edge=False)
    for head in ("controller", "explains", "of ACKs", "log likelihood", "reduces to", "agrees"):
        table.add_column(head, justify="left" if head == "controller" else "right")
    for one in verdict.candidates[:MOST_LISTED]:
        factor = "-" if one.factor is None else f"{one.factor:.2f}"
        mark = " *" if one.name in verdict.names else ""
        table.add_row(
            one.name + mark,
            f"{one.part:.1%}",
            f"{one.acks:,}",
            f"{one.likelihood:,.0f}",
            factor,
            "yes" if one.fits else "no",
        )
    console.print(table)
    console.print("Controllers that pace, such as bbr, are not compared.", highlight=False)
    if verdict.differ_at_s is not None and verdict.differ is not None:
        flight, own, other = verdict.differ
        console.print(
            f"The first two differ first at {verdict.differ_at_s:.6f} s: {flight:.0f} segments in flight, "
            f"windows {own:.0f} and {other:.0f}.",
            highlight=False,
        )
    return 0 if verdict.names else 3


def identification(name: str, result: Identification, written: list[str]) -> None:
    """Print correlations, candidates and diagnostics of an identification."""
    console = wide_console()
    console.print(
        Text(shown(name), "bold"),
        f" {len(result.x)} samples, mean {result.x.mean() * 1e3:.2f} ms; "
        f"{result.n} differences (d = {result.d}); fitted by {result.method}",
        highlight=False,
    )
    full = " ".join(f"{value:+.3f}" for value in result.acf[:8])
    partial = " ".join(f"{value:+.3f}" for value in result.pacf[:8])
    console.print(f"ACF  lags 1-8  {full}   (white noise: ±{1.96 / result.n**0.5:.3f})")
    console.print(f"PACF lags 1-8  {partial}")
    table = Table(box=None, pad_edge=False)
    for head in ("model", "ar (s.e.)", "ma (s.e.)", "sd (ms)", "AIC, paper", "FPE (s²)", "AIC", "AICc", "BIC"):
        left = head.startswith(("model", "ar", "ma"))
        table.add_column(head, justify="left" if left else "right", no_wrap=head.startswith(("model", "sd", "AIC")))
    for candidate in result.candidates:
        mark = " *" if candidate is result.chosen else ""
        table.add_row(
            candidate.name + mark,
            _coefficients(candidate.ar, candidate.ar_se),
            _coefficients(candidate.ma, candidate.ma_se),
            f"{candidate.sigma2**0.5 * 1e3:.4g}",
            f"{candidate.aic_seed:.4f}",
            f"{candidate.fpe:.4g}",
            *(f"{value:.1f}" for value in (candidate.aic, candidate.aicc, candidate.bic)),
        )
    console.print(table)
    about = result.diagnostics()
    box = about["ljung_box"]
    console.print(
        f"* least AIC (and FPE). Its residuals: Ljung-Box Q({box['lag']}) = {box['q']:.1f}, p = {box['p']:.3f}; "
        f"normal probability plot r = {about['normal_plot_correlation']:.4f}",
        highlight=False,
    )
    for path in written:
        console.print(f"written: {path}", soft_wrap=True)


def _coefficients(values: list[float], errors: list[float]) -> str:
    return "  ".join(f"{v:+.4f} ({e:.4f})" for v, e in zip(values, errors, strict=True))
