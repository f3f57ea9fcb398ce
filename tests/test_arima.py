"""Identification: formulas by hand, recovery of a known model, agreement with the controller's own recursion."""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from ackclock import Scenario
from ackclock.apps.arima import identify, read_series, synthetic
from ackclock.apps.arima.identify import Candidate, acf, pacf, probability_points
from ackclock.apps.arima.series import PUBLISHED_AR, PUBLISHED_MA, resampled

Command = Callable[..., "subprocess.CompletedProcess[str]"]


def test_correlations_by_hand() -> None:
    # 1 2 3 4: deviations -1.5 -0.5 0.5 1.5, variance sum 5; lag 1: 0.75 - 0.25 + 0.75 = 1.25.
    assert acf([1, 2, 3, 4], 2) == pytest.approx([0.25, -0.3])
    # Durbin and Levinson: phi22 = (rho2 - rho1^2) / (1 - rho1^2).
    assert pacf([0.25, -0.3]) == pytest.approx([0.25, (-0.3 - 0.0625) / (1 - 0.0625)])
    # An AR(1): partial correlations beyond lag 1 vanish.
    assert pacf([0.6, 0.36, 0.216]) == pytest.approx([0.6, 0.0, 0.0])


def test_criteria_by_hand() -> None:
    c = Candidate((2, 1, 1), [0.1, 0.2], [0.3], [0, 0], [0], sigma2=4.0, n=100)
    assert c.aic_seed == pytest.approx(math.log(4) + 0.06)
    assert c.fpe == pytest.approx(4 * 1.03 / 0.97)
    assert c.aic == pytest.approx(100 * math.log(4) + 8)
    assert c.aicc == pytest.approx(c.aic + 2 * 4 * 5 / 95)
    assert c.bic == pytest.approx(100 * math.log(4) + 4 * math.log(100))


@pytest.mark.parametrize("method, seed", [("css", 1), ("css", 2), ("css", 3), ("mle", 1)])
def test_recovers_the_published_model(method: str, seed: int) -> None:
    found = identify(synthetic(2000, seed), method=method)  # type: ignore[arg-type]
    model = found.candidate(2, 1)
    for value, error, truth in zip(
        [*model.ar, *model.ma], [*model.ar_se, *model.ma_se], [*PUBLISHED_AR, *PUBLISHED_MA], strict=True
    ):
        assert 0 < error < 0.06
        assert abs(value - truth) < 3 * error
    assert model.sigma2**0.5 == pytest.approx(0.075, rel=0.05)
    assert found.chosen.order in {(2, 1, 1), (2, 1, 2), (1, 1, 2)}
    assert found.diagnostics()["normal_plot_correlation"] > 0.998


def test_both_ways_to_fit_agree() -> None:
    x = synthetic(1500, 5)
    css, mle = identify(x), identify(x, method="mle")
    for a, b in zip(css.candidates, mle.candidates, strict=True):
        assert a.sigma2 == pytest.approx(b.sigma2, rel=0.01), a.name
        if a.order != (2, 1, 2):  # its parameters are hardly determined by a (2,1,1) series
            assert [*a.ar, *a.ma] == pytest.approx([*b.ar, *b.ma], abs=0.03), a.name


def test_more_parameters_never_fit_worse() -> None:
    found = identify(synthetic(800, 7))
    sse = {(c.order[0], c.order[2]): c.sigma2 for c in found.candidates}
    for (p, q), value in sse.items():
        for wider in ((p + 1, q), (p, q + 1)):
            assert sse.get(wider, 0.0) <= value * (1 + 1e-9)


def test_forecast_is_that_of_the_controller() -> None:
    """The estimator in Rust, fed with samples of a run, against the same recursion on the trace."""
    text = Path("papers/ca-artt/studies/network.toml").read_text(encoding="utf-8")
    control = 'flow.fwd.tcp.congestion_control={ kind = "ca_artt", phi1 = -0.2, phi2 = 0.1, theta1 = -0.7 }'
    trace = Scenario.parse(text, [control, "duration=60s"]).run(trace="ack").trace
    rows = trace.filter((pl.col("flow") == "fwd") & pl.col("rtt_s").is_not_null() & (pl.col("event") == "ack"))
    x, artt = rows["rtt_s"].to_numpy(), rows["artt"].to_numpy()
    model = Candidate((2, 1, 1), [-0.2, 0.1], [-0.7], [], [], 1.0, len(x) - 1)
    errors = model.residuals(np.diff(x))
    assert len(x) > 50
    # forecast = sample + next step's expectation; e(t) = Y(t) - its forecast.
    expected = x[3:] - errors[2:]
    assert np.allclose(artt[2:-1], expected, atol=1e-9)


def test_probability_points() -> None:
    quantiles, ordered, r = probability_points(np.array([3.0, 1.0, 2.0]))
    assert ordered.tolist() == [1.0, 2.0, 3.0]
    assert quantiles[0] == pytest.approx(-quantiles[2])
    assert quantiles[1] == pytest.approx(0.0, abs=1e-12)
    assert r == pytest.approx(1.0)


def test_resampling_repeats_where_there_is_no_sample() -> None:
    frame = pl.DataFrame({"time_s": [0.0, 0.04, 0.11, 0.42], "rtt_s": [1.0, 2.0, 3.0, 4.0]})
    assert resampled(frame, 0.1)["rtt_s"].to_list() == [2.0, 3.0, 3.0, 3.0, 4.0]


def test_the_measured_series_can_be_identified(root: Path) -> None:
    probes = read_series(root / "validation" / "rtt" / "rtt-probes.csv", every_s=0.1)
    assert 0.1 < probes.min() < probes.mean() < 0.6
    assert len(identify(probes).candidates) == 8
    assert len(read_series(root / "validation" / "rtt" / "rtt-acks.csv")) > 1000


def test_command(ackclock: Command, tmp_path: Path) -> None:
    series = tmp_path / "x.csv"
    pl.DataFrame({"rtt_s": synthetic(1000, 1)}).write_csv(series)
    found = json.loads(ackclock("identify", series, "--json").stdout)
    assert {"n", "d", "chosen", "candidates", "acf", "pacf"} <= set(found)
    assert (found["n"], found["d"], len(found["candidates"])) == (999, 1, 8)
    assert set(found["candidates"][0]) >= {"order", "ar", "ma", "sigma2", "aic_seed", "fpe", "aic", "aicc", "bic"}
    done = ackclock("identify", series, "--plot", tmp_path / "f.png", "--fit", tmp_path / "fit.toml")
    assert done.stdout.count("ARIMA(") == 8
    assert (tmp_path / "f.png").stat().st_size > 10_000


def test_short_intervals_are_told(ackclock: Command, root: Path) -> None:
    done = ackclock("identify", root / "validation" / "rtt" / "rtt-probes.csv", "--every", "0.02")
    assert done.returncode == 0
    assert "of the intervals have no sample" in done.stderr
    refused = ackclock("identify", root / "validation" / "rtt" / "rtt-probes.csv", "--every", "1e-12")
    assert (refused.returncode, "ten million" in refused.stderr) == (2, True)


def test_a_fit_runs_in_a_scenario(ackclock: Command, tmp_path: Path) -> None:
    scenario = tmp_path / "s.toml"
    scenario.write_text(Path("papers/ca-artt/studies/network.toml").read_text(encoding="utf-8"))
    trace = tmp_path / "t.parquet"
    assert ackclock("run", scenario, "--trace", trace, "--trace-every", "ack", "--set", "duration=60s").returncode == 0
    assert "several flows" in ackclock("identify", trace).stderr
    assert ackclock("identify", trace, "--flow", "fwd", "--fit", tmp_path / "fit.toml").returncode == 0
    control = 'flow.fwd.tcp.congestion_control={ kind = "ca_artt", fit = "fit.toml" }'
    done = ackclock("run", scenario, "--json", "--set", control, "--set", "duration=20s", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "fit.toml").write_text("phi9 = 1\n")
    done = ackclock("run", scenario, "--set", control, cwd=tmp_path)
    assert done.returncode == 2
    assert "phi9" in done.stderr


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("x.csv", "time_s,rtt\n0,1\n", "has no column rtt_s"),
        ("x.csv", "rtt_s\n0.1\n0.2\n", "has 2 samples"),
        ("x.csv", "rtt_s\n" + "0.1\n" * 80, "nothing to model"),
        ("x.csv", "rtt_s\n" + "a\n" * 80, "not a column of numbers"),
        ("x.txt", "rtt_s\n", "must end in .csv or .parquet"),
        ("x.parquet", "PAR1", "cannot be read"),
    ],
)
def test_bad_series(ackclock: Command, tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    done = ackclock("identify", tmp_path / name, "--fit", tmp_path / "fit.toml")
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "fit.toml").exists()
