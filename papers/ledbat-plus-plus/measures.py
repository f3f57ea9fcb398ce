"""Delay and goodput of LEDBAT++ beside LEDBAT, paired by seed. Each function gives one logarithm of a ratio a seed."""

from __future__ import annotations

import math

import polars as pl

from ackclock.apps.papers.results import Results


def _ratio(above: dict[int, float], below: dict[int, float]) -> list[float]:
    return [math.log(above[seed] / below[seed]) for seed in sorted(above)]


def _wait(results: Results, control: str) -> dict[int, float]:
    """Mean wait behind four flows."""
    rows = results.links("flows").filter((pl.col("control") == control) & (pl.col("load") == "four"))
    rows = rows.filter(pl.col("name") == "a->b")
    return dict(zip(rows["seed"], rows["mean_sojourn_s"], strict=True))


def drift(results: Results) -> list[float]:
    """Mean wait behind four LEDBAT++ flows over that behind four LEDBAT flows."""
    return _ratio(_wait(results, "LEDBAT++"), _wait(results, "LEDBAT"))


def _late(results: Results, control: str) -> dict[int, float]:
    """Goodput of the second flow over that of the first."""
    rows = results.flows("late").filter(pl.col("control") == control)
    first, late = (rows.filter(pl.col("name") == name) for name in ("first", "late"))
    one, other = (dict(zip(chosen["seed"], chosen["goodput_bps"], strict=True)) for chosen in (first, late))
    return {seed: other[seed] / one[seed] for seed in one}


def latecomer(results: Results) -> list[float]:
    """The advantage of a latecomer: LEDBAT++ over LEDBAT."""
    return _ratio(_late(results, "LEDBAT++"), _late(results, "LEDBAT"))


def _spread(results: Results, control: str) -> dict[int, float]:
    rows = results.flows("flows").filter((pl.col("control") == control) & (pl.col("load") == "four"))
    goodput = pl.col("goodput_bps")
    spreads = rows.group_by("seed").agg((goodput.std() / goodput.mean()).alias("spread"))
    return dict(zip(spreads["seed"], spreads["spread"], strict=True))


def spread(results: Results) -> list[float]:
    """Relative spread of the goodputs of four LEDBAT++ flows over that of four LEDBAT flows."""
    return _ratio(_spread(results, "LEDBAT++"), _spread(results, "LEDBAT"))


def yields(results: Results) -> list[float]:
    """Goodput of Reno beside LEDBAT++ over that alone."""
    rows = results.flows("beside").filter(pl.col("name") == "reno")

    def of(control: str) -> dict[int, float]:
        chosen = rows.filter(pl.col("control") == control)
        return dict(zip(chosen["seed"], chosen["goodput_bps"], strict=True))

    return _ratio(of("LEDBAT++"), of("alone"))


def penalty(results: Results) -> list[float]:
    """Goodput of one LEDBAT++ flow over that of one LEDBAT flow."""
    rows = results.flows("flows").filter((pl.col("load") == "one") & (pl.col("name") == "f0"))

    def of(control: str) -> dict[int, float]:
        chosen = rows.filter(pl.col("control") == control)
        return dict(zip(chosen["seed"], chosen["goodput_bps"], strict=True))

    return _ratio(of("LEDBAT++"), of("LEDBAT"))
