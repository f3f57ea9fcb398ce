"""Losses, queues and shares of BBR, paired by seed. Each function gives one logarithm of a ratio a seed."""

from __future__ import annotations

import math

import polars as pl

from ackclock.papers.results import Results


def _drops(results: Results, control: str) -> dict[int, float]:
    rows = results.links("alone").filter(
        (pl.col("control") == control) & (pl.col("buffer") == "0.8 BDP") & (pl.col("load") == "six")
    )
    rows = rows.filter(pl.col("name") == "a->b")
    return dict(zip(rows["seed"], rows["dropped_packets"].struct.field("queue"), strict=True))


def _ratio(above: dict[int, float], below: dict[int, float]) -> list[float]:
    return [math.log(above[seed] / below[seed]) for seed in sorted(above)]


def loss_v1(results: Results) -> list[float]:
    """Packets that six flows of version 1 lose in a shallow buffer, over those that six CUBIC flows lose."""
    return _ratio(_drops(results, "BBRv1"), _drops(results, "CUBIC"))


def loss_v3(results: Results) -> list[float]:
    """The same for version 3."""
    return _ratio(_drops(results, "BBRv3"), _drops(results, "CUBIC"))


def queue_v1(results: Results) -> list[float]:
    """Mean wait behind six flows of version 1 in a deep buffer, over that behind one."""

    def wait(flows: str) -> dict[int, float]:
        rows = results.links("alone").filter(
            (pl.col("control") == "BBRv1") & (pl.col("buffer") == "8 BDP") & (pl.col("load") == flows)
        )
        rows = rows.filter(pl.col("name") == "a->b")
        return dict(zip(rows["seed"], rows["mean_sojourn_s"], strict=True))

    return _ratio(wait("six"), wait("one"))


def _by_rtt(results: Results, control: str) -> list[float]:
    rows = results.flows("rtts").filter(pl.col("control") == control)

    def of(name: str) -> dict[int, float]:
        own = rows.filter(pl.col("name") == name)
        return dict(zip(own["seed"], own["goodput_bps"], strict=True))

    return _ratio(of("long"), of("short"))


def rtt_v1(results: Results) -> list[float]:
    """Goodput of the flow with 40 ms over that of the flow with 20 ms, version 1."""
    return _by_rtt(results, "BBRv1")


def rtt_v3(results: Results) -> list[float]:
    """The same for version 3."""
    return _by_rtt(results, "BBRv3")


def share_v1(results: Results) -> list[float]:
    """Goodput of one flow of version 1 beside ten CUBIC flows over that beside one."""
    rows = results.flows("beside").filter((pl.col("control") == "BBRv1") & (pl.col("name") == "bbr"))

    def beside(others: str) -> dict[int, float]:
        own = rows.filter(pl.col("others") == others)
        return dict(zip(own["seed"], own["goodput_bps"], strict=True))

    return _ratio(beside("10 CUBIC"), beside("1 CUBIC"))
