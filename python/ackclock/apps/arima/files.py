"""Output files of an identification: a figure, and coefficients that a scenario can read."""

from __future__ import annotations

from pathlib import Path

from ackclock.apps.arima.identify import Identification
from ackclock.apps.arima.plots import overview
from ackclock.base.files import save_figure, write_text


def write_plot(path: Path, identification: Identification, name: str) -> None:
    """Draw all panels to a file. The ending of its name selects the format."""
    figure = overview(
        identification,
        f"{name}: {len(identification.x)} samples, {identification.chosen.name} chosen by {identification.method}",
    )
    save_figure(figure, path)


def write_fit(path: Path, identification: Identification, name: str) -> None:
    """Write the ARIMA(2,1,1) coefficients as parameters of `ca_artt` (TOML)."""
    model = identification.candidate(2, 1)
    lines = [
        f"# ARIMA(2,1,1) of {name}: {identification.n} differences, fitted by {identification.method}.",
        f'# A scenario reads it with congestion_control = {{ kind = "ca_artt", fit = "{path.name}" }}.',
    ]
    if identification.chosen is not model:
        gain = model.aic - identification.chosen.aic
        lines.append(
            f"# {identification.chosen.name} has the lowest AIC ({gain:.1f} less), but the controller uses (2,1,1)."
        )
    for key, value, error in zip(
        ("phi1", "phi2", "theta1"), [*model.ar, *model.ma], [*model.ar_se, *model.ma_se], strict=True
    ):
        lines.append(f"{key} = {value!r}  # standard error {error:.2g}")
    lines.append(f"sigma = {model.sigma2**0.5!r}  # s")
    write_text(path, "\n".join(lines) + "\n")
