"""Box-Jenkins identification: difference the series, correlate, fit candidates, choose one, check its residuals.

There are two estimation methods. `css` is conditional least squares: values before the sample are zero, the start
values are those of Hannan and Rissanen, and the estimate is stationary and invertible. `mle` maximises the exact
Gaussian likelihood with statsmodels' Kalman filter.
Signs are those of docs/specs/ca-artt.md section 1: (1 - phi B ...) Y = (1 + theta B ...) e.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Method = Literal["css", "mle"]

ORDERS = [(p, q) for p in range(3) for q in range(3) if (p, q) != (0, 0)]
"""The paper's eight candidates: p and q from 0 to 2."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fitted ARIMA(p, d, q) without constant. `sigma2` is the residual variance SSE/n (s^2)."""

    order: tuple[int, int, int]
    ar: list[float]
    ma: list[float]
    ar_se: list[float]
    ma_se: list[float]
    sigma2: float
    n: int

    @property
    def name(self) -> str:
        """As the paper writes it."""
        return "ARIMA({},{},{})".format(*self.order)

    @property
    def parameters(self) -> int:
        """P + q."""
        return len(self.ar) + len(self.ma)

    @property
    def aic_seed(self) -> float:
        """Eq. 14 as printed: ln(sigma2) + 2 (p + q) / n."""
        return math.log(self.sigma2) + 2 * self.parameters / self.n

    @property
    def fpe(self) -> float:
        """Akaike's final prediction error, s^2 (Eq. 15, with p + q in place of `p + d` in the denominator)."""
        part = self.parameters / self.n
        return self.sigma2 * (1 + part) / (1 - part)

    @property
    def aic(self) -> float:
        """N ln(sigma2) + 2 (p + q + 1)."""
        return self.n * math.log(self.sigma2) + 2 * (self.parameters + 1)

    @property
    def aicc(self) -> float:
        """AIC corrected for short series (Hurvich and Tsai 1989)."""
        k = self.parameters + 1
        return self.aic + 2 * k * (k + 1) / (self.n - k - 1)

    @property
    def bic(self) -> float:
        """Schwarz's criterion."""
        return self.n * math.log(self.sigma2) + (self.parameters + 1) * math.log(self.n)

    def residuals(self, y: Vector) -> Vector:
        """One-step errors on differences `y`."""
        return _residuals(y, np.array(self.ar), np.array(self.ma))

    def to_dict(self) -> dict[str, Any]:
        """As a dictionary, as `--json` prints it."""
        names = ("ar", "ma", "ar_se", "ma_se", "sigma2", "aic_seed", "fpe", "aic", "aicc", "bic")
        return {"order": list(self.order)} | {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class Identification:
    """The identification of a series `x` (seconds): its differences `y`, their correlations, the candidates."""

    x: Vector
    y: Vector
    d: int
    method: Method
    acf: list[float]
    pacf: list[float]
    candidates: list[Candidate]

    @property
    def n(self) -> int:
        """Number of differences."""
        return len(self.y)

    @property
    def chosen(self) -> Candidate:
        """The candidate of lowest AIC, then of fewest parameters (FPE and the paper's AIC choose the same)."""
        return min(self.candidates, key=lambda c: (c.aic, c.parameters))

    def candidate(self, p: int, q: int) -> Candidate:
        """The candidate with these orders. Raises KeyError."""
        for candidate in self.candidates:
            if (candidate.order[0], candidate.order[2]) == (p, q):
                return candidate
        raise KeyError((p, q))

    def diagnostics(self) -> dict[str, Any]:
        """The chosen model's residuals: ACF, Ljung-Box to lag 20, correlation of the normal probability plot."""
        from statsmodels.stats.diagnostic import acorr_ljungbox

        residuals = self.chosen.residuals(self.y)
        lag = min(20, self.n // 5)
        box = acorr_ljungbox(residuals, lags=[lag], model_df=min(self.chosen.parameters, lag - 1))
        _, _, correlation = probability_points(residuals)
        return {
            "acf": acf(residuals, lag),
            "ljung_box": {
                "lag": lag,
                "q": float(box["lb_stat"].iloc[0]),
                "p": float(box["lb_pvalue"].iloc[0]),
            },
            "normal_plot_correlation": correlation,
            "sd": float(residuals.std()),
        }

    def to_dict(self) -> dict[str, Any]:
        """As a dictionary, with method and residuals, as `--json` prints it."""
        return {
            "n": self.n,
            "d": self.d,
            "method": self.method,
            "chosen": {"order": list(self.chosen.order)},
            "candidates": [candidate.to_dict() for candidate in self.candidates],
            "acf": self.acf,
            "pacf": self.pacf,
            "residuals": self.diagnostics(),
        }


def acf(y: Sequence[float] | Vector, lags: int) -> list[float]:
    """Autocorrelations at lags 1 to `lags` (Eq. 12: every sum over the whole variance)."""
    x = np.asarray(y, dtype=float)
    x = x - x.mean()
    total = float(x @ x)
    if total == 0:
        return [0.0] * lags
    return [float(x[:-k] @ x[k:]) / total for k in range(1, lags + 1)]


def pacf(rho: Sequence[float]) -> list[float]:
    """Partial autocorrelations from autocorrelations, by Durbin and Levinson (Eq. 13 with rho_{k-j})."""
    values: list[float] = []
    phi: list[float] = []
    for k, r in enumerate(rho, start=1):
        top = r - sum(phi[j] * rho[k - 2 - j] for j in range(k - 1))
        below = 1.0 - sum(phi[j] * rho[j] for j in range(k - 1))
        last = top / below if below != 0 else 0.0
        phi = [phi[j] - last * phi[k - 2 - j] for j in range(k - 1)] + [last]
        values.append(last)
    return values


def bound(n: int) -> float:
    """The 95 % bound for the correlations of white noise."""
    return 1.96 / math.sqrt(n)


def identify(
    x: Sequence[float] | Vector,
    d: int = 1,
    method: Method = "css",
    lags: int = 30,
    orders: Sequence[tuple[int, int]] = ORDERS,
) -> Identification:
    """Identify a model of a series (seconds) among candidates of the given orders (p, q).

    Raises ValueError if the differences do not vary or are fewer than 30.
    """
    levels = np.asarray(x, dtype=np.float64)
    y = np.diff(levels, n=d)
    if len(y) < 30:
        raise ValueError(f"{len(y)} differences are too few")
    if np.ptp(y) <= 1e-9 * np.abs(levels).max():
        raise ValueError("the differences do not vary")
    rho = acf(y, min(lags, len(y) // 4))
    fit = _fit_css if method == "css" else _fit_mle
    return Identification(levels, y, d, method, rho, pacf(rho), [fit(y, p, d, q) for p, q in orders])


def _residuals(y: Vector, ar: Vector, ma: Vector) -> Vector:
    from scipy.signal import lfilter

    return np.asarray(lfilter(np.concatenate(([1.0], -ar)), np.concatenate(([1.0], ma)), y), dtype=np.float64)


def _start(y: Vector, p: int, q: int) -> Vector:
    """Unconstrained start values by Hannan and Rissanen; zeros if those are not stationary and invertible."""
    from statsmodels.tsa.arima.estimators.hannan_rissanen import hannan_rissanen
    from statsmodels.tsa.statespace.tools import unconstrain_stationary_univariate as free

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about nearly singular matrices: the start is then zero
            estimate, _ = hannan_rissanen(y, ar_order=p, ma_order=q, demean=False)
        if not (estimate.is_stationary and estimate.is_invertible):
            raise ValueError
        parts = [free(np.asarray(estimate.ar_params)) if p else [], free(-np.asarray(estimate.ma_params)) if q else []]
        start = np.concatenate(parts)
        return start if np.all(np.isfinite(start)) else np.zeros(p + q)
    except (ValueError, np.linalg.LinAlgError):
        return np.zeros(p + q)


def _fit_css(y: Vector, p: int, d: int, q: int) -> Candidate:
    from scipy.optimize import approx_fprime, least_squares
    from statsmodels.tsa.statespace.tools import constrain_stationary_univariate as bounded

    scale = float(y.std())
    scaled = y / scale

    def split(free: Vector) -> tuple[Vector, Vector]:
        return (bounded(free[:p]) if p else np.zeros(0)), (-bounded(free[p:]) if q else np.zeros(0))

    def errors(free: Vector) -> Vector:
        return _residuals(scaled, *split(free))

    # A second, fixed start: the sum of squares may have several local minima.
    fits = [least_squares(errors, start, method="trf") for start in (_start(y, p, q), np.full(p + q, 0.1))]
    ar, ma = split(min(fits, key=lambda fit: fit.cost).x)
    at = np.concatenate([ar, ma])
    jacobian = np.atleast_2d(approx_fprime(at, lambda v: _residuals(scaled, v[:p], v[p:]), 1e-6))
    sigma2 = float(np.mean(_residuals(scaled, ar, ma) ** 2))
    covariance = sigma2 * np.linalg.pinv(jacobian.T @ jacobian)
    se = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return Candidate((p, d, q), ar.tolist(), ma.tolist(), se[:p].tolist(), se[p:].tolist(), sigma2 * scale**2, len(y))


def _fit_mle(y: Vector, p: int, d: int, q: int) -> Candidate:
    from statsmodels.tsa.arima.model import ARIMA

    scale = float(y.std())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about start values and convergence: the other fits show such errors
        fit = ARIMA(y / scale, order=(p, 0, q), trend="n").fit()
    se = [float(e) for e in fit.bse[: p + q]]
    ar, ma = [float(v) for v in fit.arparams], [float(v) for v in fit.maparams]
    return Candidate((p, d, q), ar, ma, se[:p], se[p:], float(fit.params[-1]) * scale**2, len(y))


def probability_points(residuals: Vector) -> tuple[Vector, Vector, float]:
    """Normal probability plot: quantiles of N(0, 1) at (i - 0.375)/(n + 0.25), ordered residuals, correlation."""
    from scipy.stats import norm

    ordered = np.sort(residuals)
    n = len(ordered)
    quantiles = norm.ppf((np.arange(1, n + 1) - 0.375) / (n + 0.25))
    return quantiles, ordered, float(np.corrcoef(quantiles, ordered)[0, 1])
