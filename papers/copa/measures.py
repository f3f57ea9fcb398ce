"""Goodput, delay and shares of Copa, paired by seed. Each function gives one logarithm of a ratio a seed."""

from __future__ import annotations

import math

import polars as pl

from ackclock.apps.papers.results import Results

LEAST = 1e-4
"""A spread or a deviation below this part counts as this part."""


def _ratio(above: dict[int, float], below: dict[int, float]) -> list[float]:
    return [math.log(above[seed] / below[seed]) for seed in sorted(above)]


def _goodput(results: Results, control: str, loss: str = "none") -> dict[int, float]:
    """Goodput of all four flows."""
    rows = results.flows("alone").filter((pl.col("control") == control) & (pl.col("loss") == loss))
    totals = rows.group_by("seed").agg(pl.col("goodput_bps").sum())
    return dict(zip(totals["seed"], totals["goodput_bps"], strict=True))


def _wait(results: Results, control: str) -> dict[int, float]:
    """Mean wait at the bottleneck."""
    rows = results.links("alone").filter((pl.col("control") == control) & (pl.col("loss") == "none"))
    rows = rows.filter(pl.col("name") == "a->b")
    return dict(zip(rows["seed"], rows["mean_sojourn_s"], strict=True))


def _spread(results: Results, control: str) -> dict[int, float]:
    """Standard deviation of the four goodputs over their mean."""
    rows = results.flows("alone").filter((pl.col("control") == control) & (pl.col("loss") == "none"))
    goodput = pl.col("goodput_bps")
    spreads = rows.group_by("seed").agg((goodput.std() / goodput.mean()).alias("spread"))
    return {seed: max(spread, LEAST) for seed, spread in zip(spreads["seed"], spreads["spread"], strict=True)}


def goodput_cubic(results: Results) -> list[float]:
    """Goodput of four Copa flows over that of four CUBIC flows."""
    return _ratio(_goodput(results, "Copa"), _goodput(results, "CUBIC"))


def wait_cubic(results: Results) -> list[float]:
    """Mean wait behind four Copa flows over that behind four CUBIC flows."""
    return _ratio(_wait(results, "Copa"), _wait(results, "CUBIC"))


def wait_bbr(results: Results) -> list[float]:
    """The same over BBR version 1."""
    return _ratio(_wait(results, "Copa"), _wait(results, "BBRv1"))


def wait_vivace(results: Results) -> list[float]:
    """The same over Vivace."""
    return _ratio(_wait(results, "Copa"), _wait(results, "Vivace"))


def spread_bbr(results: Results) -> list[float]:
    """Relative spread of the goodputs of four Copa flows over that of four flows of BBR version 1."""
    return _ratio(_spread(results, "Copa"), _spread(results, "BBRv1"))


def spread_vivace(results: Results) -> list[float]:
    """The same over Vivace."""
    return _ratio(_spread(results, "Copa"), _spread(results, "Vivace"))


def loss_cubic(results: Results) -> list[float]:
    """Goodput of four Copa flows with 1 % of random losses over that of four CUBIC flows."""
    return _ratio(_goodput(results, "Copa", "1 %"), _goodput(results, "CUBIC", "1 %"))


def loss_copa(results: Results) -> list[float]:
    """Goodput of four Copa flows with 1 % of random losses over that without."""
    return _ratio(_goodput(results, "Copa", "1 %"), _goodput(results, "Copa"))


def _pair(results: Results, study: str, control: str, names: tuple[str, str]) -> dict[int, float]:
    """The logarithm of the ratio of two goodputs."""
    rows = results.flows(study).filter(pl.col("control") == control)
    first, second = (rows.filter(pl.col("name") == name) for name in names)
    one, other = (dict(zip(chosen["seed"], chosen["goodput_bps"], strict=True)) for chosen in (first, second))
    return {seed: math.log(one[seed] / other[seed]) for seed in one}


def _deviation(results: Results, study: str, control: str, names: tuple[str, str]) -> dict[int, float]:
    """How far two goodputs are from equal."""
    return {seed: max(abs(ratio), LEAST) for seed, ratio in _pair(results, study, control, names).items()}


def rtt_cubic(results: Results) -> list[float]:
    """Deviation from equal goodputs of two Copa flows with 20 and 80 ms over that of two CUBIC flows."""
    names = ("long", "short")
    return _ratio(_deviation(results, "rtts", "Copa", names), _deviation(results, "rtts", "CUBIC", names))


def beside_bbr(results: Results) -> list[float]:
    """Deviation from an equal share beside CUBIC: of Copa over that of BBR version 1."""
    names = ("tested", "cubic")
    return _ratio(_deviation(results, "beside", "Copa", names), _deviation(results, "beside", "BBRv1", names))


def beside_vivace(results: Results) -> list[float]:
    """The same over Vivace."""
    names = ("tested", "cubic")
    return _ratio(_deviation(results, "beside", "Copa", names), _deviation(results, "beside", "Vivace", names))


def share_default(results: Results) -> list[float]:
    """Goodput of Copa in its default mode over that of the CUBIC flow beside it."""
    return list(_pair(results, "beside", "Copa, default mode", ("tested", "cubic")).values())


def switching(results: Results) -> list[float]:
    """Goodput of Copa that switches its mode beside CUBIC over that in the default mode."""
    rows = results.flows("beside").filter(pl.col("name") == "tested")

    def of(control: str) -> dict[int, float]:
        chosen = rows.filter(pl.col("control") == control)
        return dict(zip(chosen["seed"], chosen["goodput_bps"], strict=True))

    return _ratio(of("Copa"), of("Copa, default mode"))
